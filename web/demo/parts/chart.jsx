// A uPlot chart with direct labels, markers, a read-out for pointer and keyboard, and the same figures as a table.
import { useSignal } from '@preact/signals';
import { useEffect, useRef, useState } from 'preact/hooks';
import uPlot from 'uplot';
import { axisNumber, number } from '../format.js';
import { dark, picks, pictured, text } from '../session.js';
import { useChartExport } from '../shell/export/chart-entry.js';
import { ExportChart } from '../shell/export-menu.jsx';
import { afterPaint, useAfterPaint, useGrowing } from '../shell/later.js';
import { whenSeen } from '../shell/seen.js';
import { colors as colorNumbers, colorOf, LETTERS } from './look.js';
import { drawMarker } from './marker.jsx';

export const FAMILY = 'system-ui, "Noto Sans", "Noto Sans CJK SC", sans-serif';

/** The theme's colours, as the canvas needs them; line and text by configuration. */
function palette() {
  const style = getComputedStyle(document.documentElement);
  const read = (name) => style.getPropertyValue(name).trim();
  return {
    line: [...LETTERS].map((_, i) => read(`--line-${colorOf(i)}`)),
    text: [...LETTERS].map((_, i) => read(`--text-${colorOf(i)}`)),
    ink: read('--ink'),
    edge: read('--edge'),
    muted: read('--muted'),
    grid: read('--hair'),
    surface: read('--surface'),
    error: read('--error'),
    size: Number.parseFloat(read('--small')),
  };
}

/**
 * @param {object} props
 * @param props.title @param props.note what is shown, with unit
 * @param props.empty whether there is nothing to draw yet, or why not
 * @param props.build (colors, width) => { options, data } as uPlot takes them, marks(u) drawn over the lines, and
 *   labels(u) → [{ index, name, align }] each with x, y on the scales, which are kept apart from each other, or with
 *   left, top in pixels of the plot, which stand; marked: with the configuration's marker before the name; backed: no line
 *   shows through. Without an index it is no configuration's
 * @param props.deps what build depends on
 * @param props.readout (position) => text of all values at a position of the x axis
 * @param props.table the same figures: { head: string[], rows: (number|string|node)[][] }, or a function that gives them when
 *   they are wanted. A number is saved with all its digits; on the page the first column's are the axis's, the others are
 *   written by format, or as usual. exact: () => what is saved in its place, as in exact-table.jsx
 * @param props.live { tick: a signal, data: () => uPlot's }: at every tick the same lines get new data
 * @param props.controls nodes in the card's head
 * @param props.small one of many: a low plot
 */
export function Chart({ title, note, build, deps, readout, table, live, controls, empty, small }) {
  const t = text.value;
  const [pressed, setPressed] = useState(false);
  const asTable = useAfterPaint(pressed);
  const said = useSignal('');
  const [focused, setFocused] = useState(false); // one that only follows another's cursor is not read aloud
  const place = useRef(null);
  const plot = useRef(null);
  const card = useRef(null);
  const drawn = useRef(null); // what export draws once more
  const isDark = dark.value;
  const [columns, setColumns] = useState(0); // changes where the width calls for other labels

  // deps is what build depends on. Each chart is made in a task of its own and drawn in another, since many at once would
  // hold up the page; the one before stands until then.
  const end = useRef(() => {});
  const replace = (next) => {
    end.current();
    end.current = next;
  };
  useEffect(() => {
    if (asTable || empty) {
      replace(() => {});
      return undefined;
    }
    let begin = null;
    let timer = setTimeout(() => {
      if (!place.current) return; // it may just have left the page
      begin = make();
      timer = setTimeout(() => {
        replace(begin());
        begin = null;
      });
    });
    return () => {
      clearTimeout(timer);
      begin?.(false);
    };
  }, [...deps, asTable, empty, isDark, columns, colorNumbers.value.join()]);
  useEffect(() => () => replace(() => {}), []);

  // Gives what draws it, or with false gives it up.
  const make = () => {
    const box = place.current;
    const colors = palette();
    const [width, height] = [atLeast(box.clientWidth), box.clientHeight];
    const { options, data, marks, labels } = build(colors, width);
    let begun = false; // till then no other chart's cursor is followed
    const sync = { ...options.cursor?.sync, filters: { pub: () => true, sub: () => begun } };
    const full = {
      ...options,
      width,
      height,
      legend: { show: false },
      cursor: { y: false, points: { show: false }, drag: { x: false, y: false }, ...options.cursor, sync },
      axes: options.axes.map((axis) => ({
        stroke: colors.muted,
        font: `${colors.size}px ${FAMILY}`,
        grid: { stroke: colors.grid, width: 1 },
        ticks: { show: false },
        border: { show: false },
        ...axis,
      })),
      hooks: {
        draw: [
          (self) => {
            marks?.(self);
            drawLabels(self, labels(self), colors);
          },
        ],
        setCursor: [
          (self) => {
            said.value = self.cursor.idx === null || self.cursor.left < 0 ? '' : readout(self.cursor.idx);
          },
        ],
      },
    };
    let init = null;
    const u = new uPlot(full, data, (_, start) => {
      init = start;
    });
    return (wanted = true) => {
      if (!wanted) return u.destroy();
      box.append(u.root);
      begun = true;
      init();
      plot.current = u;
      drawn.current = { u, options: full, data };
      if (!pictured.peek()) afterPaint(() => (pictured.value = true));
      return followSize(u, box);
    };
  };

  // In a task of its own: where the sidebar goes all charts are resized at once. Returns what ends the chart.
  const followSize = (u, box) => {
    let timer = 0;
    const observer = new ResizeObserver(([{ contentRect }]) => {
      // Asked of the box itself, the page would be laid out for it.
      const [width, height] = [atLeast(Math.round(contentRect.width)), Math.round(contentRect.height)];
      const wider = Math.abs(u.width - width) > 1;
      clearTimeout(timer);
      if (!wider && Math.abs(u.height - height) <= 1) return;
      timer = setTimeout(() => {
        u.setSize({ width, height });
        if (wider) setColumns(Math.round(width / 80)); // a read-out of two lines makes it lower only
      });
    });
    observer.observe(box);
    return () => {
      clearTimeout(timer);
      observer.disconnect();
      u.destroy();
      if (plot.current !== u) return; // another one has taken its place
      plot.current = null;
      drawn.current = null;
    };
  };

  const catchUp = useRef(() => {}); // brings one that is out of sight up to date
  const growing = useRef(live);
  growing.current = live;
  useEffect(() => {
    if (!live) return undefined;
    let timer = 0;
    const grow = () => {
      if (!plot.current) return;
      const data = growing.current.data();
      if (data.length !== plot.current.series.length) return; // of other lines: the chart is about to be made anew
      drawn.current.data = data;
      plot.current.setData(data);
    };
    const seen = whenSeen(card.current, () => {
      clearTimeout(timer);
      timer = setTimeout(grow);
    });
    const leave = live.tick.subscribe(seen.draw);
    catchUp.current = () => {
      if (seen.isDue()) grow();
    };
    return () => {
      clearTimeout(timer);
      leave();
      seen.end();
      catchUp.current = () => {};
    };
  }, [live?.tick]);

  // Keys come faster than frames while one is held down: the cursor goes as far as all of them say, once a frame.
  const ahead = useRef(0);
  const move = () => {
    const [u, step] = [plot.current, ahead.current];
    ahead.current = 0;
    if (!u || !step) return;
    const { length } = u.data[0];
    const from = u.cursor.idx ?? (step > 0 ? -1 : length);
    const next = Math.min(length - 1, Math.max(0, from + step));
    // Charts with the same cursor.sync.key follow.
    u.setCursor({ left: u.valToPos(u.data[0][next], 'x'), top: u.bbox.height / devicePixelRatio / 2 }, true, true);
  };
  const onKeyDown = (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1, PageDown: 10, PageUp: -10 }[event.key];
    if (event.key === 'Escape') plot.current?.setCursor({ left: -10, top: -10 }, true, true);
    if (!plot.current || !step) return;
    event.preventDefault();
    if (ahead.current === 0) requestAnimationFrame(move);
    ahead.current += step;
  };

  const entry = useChartExport({
    card,
    drawn,
    catchUp,
    title,
    note,
    table,
  });
  return (
    <section class={`card chart ${small ? 'small' : ''}`} ref={card}>
      <div class="card-head">
        <div>
          <h2>{title}</h2>
          <p class="note readout" aria-live={focused ? 'polite' : 'off'}>
            <Said words={said} note={note} />
          </p>
        </div>
        <div class="card-tools">
          {controls}
          <button
            type="button"
            class="quiet small"
            aria-pressed={pressed}
            aria-label={`${title}: ${t.chart.table}`}
            onClick={() => setPressed(!pressed)}
          >
            {pressed ? t.forward.asChart : t.forward.asTable}
          </button>
          <span class={empty ? 'to-come' : undefined}>
            <ExportChart entry={entry} />
          </span>
        </div>
      </div>
      {asTable ? (
        <Figures of={table} caption={title} tall most={READABLE} />
      ) : (
        <div
          class="plot"
          ref={place}
          role="img"
          aria-label={`${title}. ${t.chart.readout}`}
          // biome-ignore lint/a11y/noNoninteractiveTabindex: the arrow keys read values out
          tabIndex={0}
          onKeyDown={onKeyDown}
          onFocus={() => setFocused(true)}
          onBlur={() => setFocused(false)}
        >
          {empty && <p class="waiting">{empty === true ? t.run.waiting : empty}</p>}
        </div>
      )}
    </section>
  );
}

const atLeast = (width) => Math.max(120, width);

// By itself: a cursor that moves over many charts draws these words anew and nothing else.
const Said = ({ words, note }) => words.value || note;

/** About the width of a label in the charts' bold type; a CJK sign is as wide as one and a half others. */
export const labelWidth = (name, size) =>
  size * [...name].reduce((sum, sign) => sum + (sign > '\u2e80' ? 1.02 : 0.66), 0);

/** From this width on configurations are labelled with names, below with letters. */
export const ROOMY = 380;

export const nameOf = (index) => `${LETTERS[index]} ${picks.configs[index]?.name ?? ''}`;

/** At most as wide as 16 Latin letters. */
export function shortName(index) {
  const name = [...nameOf(index)];
  if (labelWidth(name.join(''), 1) <= 11) return name.join('');
  while (labelWidth(name.join(''), 1) > 10) name.pop();
  return `${name.join('').trim()}…`;
}

// Labels do not cover each other: those that would are moved apart, the order is kept.
function drawLabels(u, labels, colors) {
  const { ctx, bbox } = u;
  const scale = devicePixelRatio;
  const line = 1.25 * colors.size * scale;
  ctx.save();
  ctx.font = `600 ${colors.size * scale}px ${FAMILY}`;
  ctx.textBaseline = 'middle';
  const placed = labels
    .filter(({ left }) => left === undefined)
    .map((label) => {
      const left = u.valToPos(label.x, 'x', true) + ({ left: 10, right: -10 }[label.align] ?? 0) * scale;
      const top = u.valToPos(label.y, 'y', true);
      return {
        ...label,
        ...fitting(u, label, left),
        left,
        top: Math.min(bbox.top + bbox.height - line / 2, Math.max(bbox.top + line / 2, top)),
      };
    })
    .sort((a, b) => a.top - b.top);

  for (let pass = 0; pass < 40; pass++) {
    for (let i = 1; i < placed.length; i++) {
      for (let j = 0; j < i; j++) {
        const [a, b] = [placed[j], placed[i]];
        const apart = extent(a)[1] + 8 * scale < extent(b)[0] || extent(b)[1] + 8 * scale < extent(a)[0];
        const overlap = line - (b.top - a.top);
        if (apart || overlap <= 0) continue;
        a.top = Math.max(bbox.top + line / 2, a.top - overlap / 2);
        b.top = a.top + line;
      }
    }
  }
  const fixed = labels
    .filter(({ left }) => left !== undefined)
    .map((label) => ({ ...label, left: bbox.left + label.left * scale, top: bbox.top + label.top * scale }));
  for (const { index, name, left, top, align, width, marked, backed } of [...placed, ...fixed]) {
    ctx.textAlign = align;
    ctx.lineWidth = 4 * scale;
    ctx.lineJoin = 'round';
    ctx.strokeStyle = colors.surface;
    if (backed) {
      const [start, end] = extent({ left, width, align });
      ctx.fillStyle = colors.surface;
      ctx.fillRect(start - 3 * scale, top - line / 2, end - start + 6 * scale, line);
    } else ctx.strokeText(name, left, top);
    ctx.fillStyle = colors.text[index] ?? colors.muted;
    ctx.fillText(name, left, top);
    if (!marked) continue;
    ctx.lineWidth = 2 * scale;
    ctx.strokeStyle = colors.line[index];
    ctx.fillStyle = colors.surface;
    drawMarker(ctx, index, left - 12 * scale, top, 4 * scale);
  }
  ctx.restore();
}

const extent = ({ left, width, align }) => {
  const start = left - { left: 0, center: 0.5, right: 1 }[align] * width;
  return [start, start + width];
};

/** The name, or where the chart's edge would cut it the short one, or the letter. */
function fitting(u, { index, name, short = name, align }, left) {
  const names = index === undefined ? [name] : [name, short, LETTERS[index]];
  const sizes = names.map((one) => ({ name: one, width: u.ctx.measureText(one).width }));
  const isWithin = ({ width }) => {
    const [start, end] = extent({ left, width, align });
    return start >= 0 && end <= u.width * devicePixelRatio;
  };
  return sizes.find(isWithin) ?? sizes.at(-1);
}

// Rows that somebody reads; a browser takes seconds for thousands that change. Saved are all.
const READABLE = 100;
const AT_ONCE = 20; // all hundred would hold the page up

/** The table of a chart; of more rows than `most` every second, third, ... and the last. */
function Figures({ of: table, most = Infinity, ...rest }) {
  const { head, rows, format = number } = typeof table === 'function' ? table() : table;
  const stride = Math.ceil(rows.length / most) || 1;
  const some = rows.filter((_, i) => i % stride === 0 || i === rows.length - 1);
  const shown = useGrowing(some.length, Number.isFinite(most) ? AT_ONCE : some.length);
  return (
    <>
      {stride > 1 && <p class="note">{text.value.chart.everyNth(stride)}</p>}
      <Table
        head={head}
        rows={some.slice(0, shown).map((cells) => written(cells, format))}
        busy={shown < some.length}
        {...rest}
      />
    </>
  );
}

const written = (cells, format) =>
  cells.map((cell, column) => {
    if (typeof cell !== 'number') return cell ?? number(cell);
    return column === 0 ? axisNumber(cell) : format(cell);
  });

/** A table in a box of its own, so that the page never scrolls sideways. */
export function Table({ head, rows, caption, tall, busy }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable by keyboard
    <section class={`table-box ${tall ? 'tall' : ''}`} aria-label={caption} aria-busy={busy} tabIndex={0}>
      <table aria-label={caption}>
        <thead>
          <tr>
            {head.map((cell, i) => (
              <th key={i} scope="col">
                {cell}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((cells, i) => (
            <tr key={i}>
              {cells.map((cell, j) =>
                j === 0 ? (
                  <th key={j} scope="row">
                    {cell}
                  </th>
                ) : (
                  <td key={j}>{cell}</td>
                ),
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
