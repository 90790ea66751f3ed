// A small picture of one configuration on a canvas that is as sharp as the screen.
import { useEffect, useRef } from 'preact/hooks';
import { dark } from '../../session.js';
import { whenSeen } from '../../shell/seen.js';
import { later } from './later.js';

/**
 * @param {object} props
 * @param props.draw (context, width, height) in CSS pixels; the canvas is empty
 * @param props.tick a signal: whenever it changes, it is drawn once more, soon
 * @param props.deps what else draw depends on
 * @param props.label in words
 * @param props.canvas a ref that gets the element
 */
export function Canvas({ draw, tick, deps = [], label, class: look = '', canvas, ...rest }) {
  const own = useRef(null);
  const latest = useRef(draw);
  latest.current = draw;
  useEffect(() => {
    const element = own.current;
    if (canvas) canvas.current = element;
    const paint = () => {
      const { clientWidth, clientHeight } = element;
      if (clientWidth === 0) return;
      const [width, height] = [clientWidth, clientHeight].map((size) => Math.round(size * devicePixelRatio));
      if (element.width !== width) element.width = width;
      if (element.height !== height) element.height = height;
      const context = element.getContext('2d');
      context.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
      context.clearRect(0, 0, clientWidth, clientHeight);
      latest.current(context, clientWidth, clientHeight);
    };
    const { draw: repaint, end } = whenSeen(element, () => later(paint));
    const observer = new ResizeObserver(repaint);
    observer.observe(element);
    const forget = tick.subscribe(repaint);
    return () => {
      observer.disconnect();
      forget();
      end();
    };
  }, [tick, dark.value, ...deps]);
  return <canvas ref={own} class={look} role="img" aria-label={label} {...rest} />;
}

/** Draws RGBA cells over the whole of a context. */
export function paintCells(context, data, columns, rows, [left, top, width, height], smooth) {
  const cells = sheet(columns, rows);
  cells.getContext('2d').putImageData(new ImageData(data, columns, rows), 0, 0);
  context.imageSmoothingEnabled = Boolean(smooth);
  context.drawImage(cells, left, top, width, height);
}

// One for all, as large as the picture that it is for: making one takes longer than filling it.
let kept = null;
function sheet(columns, rows) {
  kept ??= new OffscreenCanvas(columns, rows);
  if (kept.width !== columns) kept.width = columns;
  if (kept.height !== rows) kept.height = rows;
  return kept;
}
