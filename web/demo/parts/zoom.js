// Zoom of a chart's x axis: a uPlot plugin and the arithmetic of ranges. Drag selects a range, the wheel zooms where the
// chart has the focus or Ctrl is held (else the page scrolls), + − 0 and Shift with the arrows do the same by keyboard.

/** Wider (factor > 1) or narrower around a point, which keeps its place. */
export const zoomed = ([low, high], factor, around = (low + high) / 2) => [
  around - (around - low) * factor,
  around + (high - around) * factor,
];
/** Moved by a share of its width. */
export const moved = ([low, high], share) => [low + share * (high - low), high + share * (high - low)];

export const FACTOR = 1.5;

/** What build() of a chart adds to its options' cursor: the drag, and one cursor for all charts of the same key. */
export const zoomCursor = (key) => ({
  drag: { x: true, y: false, setScale: false, dist: 6 },
  sync: { key, setSeries: false, filters: { pub: (type) => type === 'mousemove' || type === 'mouseleave' } },
});

/**
 * @param {() => [number, number]} rangeNow what is to be shown, which a chart that waits for its figures may not show yet
 * @param {(low: number, high: number) => void} onChange
 * @param {() => void} onReset
 */
export function zoomPlugin(rangeNow, onChange, onReset) {
  let box = null;
  let chart = null;
  let waiting = null; // a wheel sends more events than there are frames

  const onWheel = (event) => {
    if (!(event.ctrlKey || event.metaKey || document.activeElement === box)) return;
    event.preventDefault();
    const { factor = 1 } = waiting ?? {};
    if (!waiting) requestAnimationFrame(apply);
    const left = event.clientX - chart.over.getBoundingClientRect().left;
    waiting = { left, factor: factor * 1.0015 ** Math.max(-300, Math.min(300, event.deltaY)) };
  };
  const apply = () => {
    if (!box || !waiting) return;
    const { left, factor } = waiting;
    waiting = null;
    onChange(...zoomed(rangeNow(), factor, chart.posToVal(left, 'x')));
  };
  const onKey = (event) => {
    const shift = event.shiftKey ? { ArrowLeft: -0.2, ArrowRight: 0.2 }[event.key] : undefined;
    const next = {
      '+': () => zoomed(rangeNow(), 1 / FACTOR),
      '=': () => zoomed(rangeNow(), 1 / FACTOR),
      '-': () => zoomed(rangeNow(), FACTOR),
      0: () => null,
      ...(shift && { [event.key]: () => moved(rangeNow(), shift) }),
    }[event.key];
    if (!next || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopImmediatePropagation(); // an arrow alone reads values
    const found = next();
    if (found) onChange(...found);
    else onReset();
  };

  return {
    hooks: {
      // An export draws the chart once more, beside the one that is used.
      ready: (u) => {
        if (box || !u.root.parentElement) return;
        box = u.root.parentElement;
        chart = u;
        box.addEventListener('wheel', onWheel, { passive: false });
        box.addEventListener('keydown', onKey, { capture: true });
        u.over.addEventListener('dblclick', onReset);
      },
      setSelect: (u) => {
        const { left, width } = u.select;
        if (u === chart && width > 0) onChange(u.posToVal(left, 'x'), u.posToVal(left + width, 'x'));
      },
      destroy: (u) => {
        if (u !== chart) return;
        box?.removeEventListener('wheel', onWheel);
        box?.removeEventListener('keydown', onKey, { capture: true });
        box = null;
      },
    },
  };
}
