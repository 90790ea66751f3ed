// The charts of function and derivative; under the function what the configurations' blocks put into it.
import { axisNumber, number, percent } from '../../format.js';
import { Chart } from '../../parts/chart.jsx';
import { LETTERS } from '../../parts/look.js';
import { nameCurves } from '../../parts/name-curves.js';
import { zoomCursor, zoomPlugin } from '../../parts/zoom.js';
import { text } from '../../session.js';
import { drawLanes, lanesShare } from './lanes.js';
import { drawable, pointed, rangeNow, resetRange, setRange, strokeOf } from './view.js';

export const SYNC = 'activations';
const TABLE_STEP = 12;

/** The axes, cursor and zoom that all charts over x have in common. */
export const overX = (range) => ({
  scales: { x: { time: false, range } },
  axis: { size: 30, space: 60, values: (_, splits) => splits.map(axisNumber) },
  cursor: zoomCursor(SYNC),
  plugins: [zoomPlugin(rangeNow, setRange, resetRange)],
});

// Of several curves one that grows fast, as a square does, leaves the axis: else the others were flat lines.
function heightOf(lists, x, [low, high]) {
  const shown = lists.map((list) => list.filter((y, i) => y !== null && x[i] >= low && x[i] <= high));
  const all = shown.flat();
  if (all.length === 0) return [0, 1];
  const limit = shown.length > 1 ? Math.max(Math.abs(low), Math.abs(high), 1.2) : Infinity;
  let [bottom, top] = [Math.max(Math.min(...all), -limit), Math.min(Math.max(...all), limit)];
  if (!(top > bottom)) [bottom, top] = [Math.min(...all), Math.max(...all)];
  const pad = (top - bottom) * 0.06 || Math.max(Math.abs(top) * 0.1, 1e-6);
  return [bottom - pad, top + pad];
}

export function FunctionChart({ view }) {
  const t = text.value.activations;
  const lanes = (view.value.entries ?? [])
    .map((entry, index) => ({ ...entry, index }))
    .filter(({ histogram }) => histogram);
  return <CurveChart view={view} of="y" title={t.function} note={t.functionNote} symbol="φ" lanes={lanes} />;
}

export function DerivativeChart({ view }) {
  const t = text.value.activations;
  return <CurveChart view={view} of="slope" title={t.derivative} note={t.derivativeNote} symbol="φ′" lanes={[]} />;
}

function CurveChart({ view, of, title, note, symbol, lanes }) {
  const t = text.value;
  const { range, value, curves } = view;
  const drawn = curves.filter(({ result }) => result?.x);
  const x = drawn[0]?.result.x ?? [];
  const lists = drawn.map(({ result }) => drawable(result[of]));

  const readout = (i) => {
    const parts = drawn.map(({ label }, c) => `${label} ${number(lists[c][i])}`);
    const shares = lanes.map(({ index, histogram }) => {
      const own = histogram.range;
      const bin = Math.floor(((x[i] - own[0]) / (own[1] - own[0])) * histogram.counts.length);
      return `${LETTERS[index]} ${percent((histogram.counts[bin] ?? 0) / (histogram.total || 1))}`;
    });
    return [`x ${axisNumber(x[i])}`, parts.join('   '), shares.length > 0 && `▂ ${shares.join('  ')}`]
      .filter(Boolean)
      .join('   ');
  };

  return (
    <Chart
      title={title}
      note={note}
      empty={curves.length === 0 ? t.activations.noFunctions : drawn.length === 0}
      build={(colors) => buildCurves({ range, drawn, x, lists, lanes }, colors)}
      deps={[
        value.curves,
        drawn.some(({ name }) => name === pointed.value) && pointed.value,
        lanes.length > 0 && value.entries,
        range.join(),
        curves.map(({ id, label }) => `${id} ${label}`).join('\n'),
        t,
      ]}
      readout={readout}
      table={() => ({
        head: [t.activations.x, ...drawn.map(({ label }) => `${label} ${symbol}`)],
        rows: Array.from(x)
          .map((_, i) => i)
          .filter((i) => i % TABLE_STEP === 0)
          .map((i) => [x[i], ...drawn.map(({ result }) => result[of][i])]),
      })}
    />
  );
}

// An activation of several configurations has the colours of all in turns.
function linesOf(curve, colors) {
  const [, ...more] = curve.owners;
  const others = more.map((owner, i) => {
    const dash = [12 * (more.length - i), 12 * (i + 1)];
    return { stroke: colors.line[owner], width: 2, dash };
  });
  return [strokeOf(curve, colors), ...others];
}

function buildCurves({ range, drawn, x, lists, lanes }, colors) {
  const common = overX(range);
  const [bottom, top] = heightOf(lists, x, range);
  const share = lanesShare(lanes.length);
  const ground = top - (top - bottom) / (1 - share);
  const series = drawn.flatMap((curve, list) => linesOf(curve, colors).map((line) => ({ ...line, list })));
  return {
    data: [Array.from(x), ...series.map(({ list }) => lists[list])],
    options: {
      ...common,
      scales: { ...common.scales, y: { range: [ground, top] } },
      axes: [
        common.axis,
        {
          size: 44,
          space: 48,
          filter: (_, splits) => splits.map((split) => (split >= bottom ? split : null)),
          values: (_, splits) => splits.map((split) => (split === null ? '' : axisNumber(split))),
        },
      ],
      series: [{}, ...series.map(({ list: _, ...look }) => ({ ...look, points: { show: false } }))],
    },
    marks: (u) => lanes.length > 0 && drawLanes(u, lanes, { bottom, ground }, colors, text.value.activations),
    labels: (u) =>
      nameCurves(
        u,
        drawn.map(({ label, owners }, c) => ({
          name: label,
          index: owners[0],
          series: 1 + series.findIndex(({ list }) => list === c),
        })),
        colors.size,
        { floor: u.valToPos(bottom, 'y') },
      ),
  };
}
