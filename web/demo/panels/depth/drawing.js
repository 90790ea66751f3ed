// A chart of curves by layer, as Chart draws it.
import { axisNumber } from '../../format.js';
import { linearAxis, logAxis } from '../../parts/axes.js';
import { FAMILY, labelWidth, ROOMY, shortName } from '../../parts/chart.jsx';
import { curves, markEnd, markLine } from '../../parts/curves.js';
import { LETTERS } from '../../parts/look.js';
import { text } from '../../session.js';
import { isBackward, isScaled } from './curves.js';
import { broken } from './view.js';

// All charts of the panel have one cursor.
const SYNC = { key: 'depth' };
// Sizes that differ by more than this factor are drawn on a logarithmic axis, ratios by the other.
const WIDE = 30;
const WIDE_RATIO = 10;
// What is predicted beyond all that is measured by more than this is not followed.
const FAR = 10;

/** Gradients always, other sizes where they differ much. */
export function isLogarithmic(show, list, byA) {
  if (isBackward(show)) return true;
  const known = measuredOf(list).filter((value) => value > 0);
  return isScaled(show) && Math.max(...known) > (byA ? WIDE_RATIO : WIDE) * Math.min(...known);
}

const measuredOf = (list) => list.flatMap(({ low, high }) => [...low, ...high]).filter((value) => value !== null);

/** What Chart's build gives, for the curves of a quantity. */
export function drawing({ show, xs, list, logarithmic, small, colors, width }) {
  const shown = logarithmic ? list.map(positive) : list;
  const banded = shown.map((curve) => (curve.count > 1 ? curve : { ...curve, low: null, high: null }));
  const { data, series, bands } = curves(banded, colors, { width: small ? 1.5 : 2 });
  const nameFor = (index) => (!small && width > ROOMY ? shortName(index) : LETTERS[index]);
  const room = 16 + Math.max(8, ...shown.map(({ index }) => labelWidth(nameFor(index), colors.size)));
  const { scale, axis } = verticalAxis(extent(shown), { show, logarithmic, small });
  return {
    data: [xs, ...data],
    options: {
      padding: [8, room, 0, 0],
      cursor: { sync: SYNC },
      scales: { x: { time: false, range: [0, Math.max(1, xs.at(-1))] }, y: scale },
      axes: [layerAxis(xs.at(-1), { show, small, colors }), axis],
      series,
      bands,
    },
    marks: (u) => {
      for (const curve of shown) {
        markLine(u, xs, curve.median, curve.index, colors, { radius: small ? 2.5 : 3.5, count: small ? 0 : 5 });
        if (curve.broken) markBreak(u, xs, curve, show, colors);
      }
    },
    labels: () => shown.map((curve) => labelOf(curve, xs, nameFor(curve.index) + endOf(curve, show, small))),
  };
}

function positive(curve) {
  const kept = (values) => values?.map((value) => (value > 0 ? value : null)) ?? null;
  const { median, low, high, predicted } = curve;
  return { ...curve, median: kept(median), low: kept(low), high: kept(high), predicted: kept(predicted) };
}

function extent(list) {
  const measured = measuredOf(list);
  const most = FAR * Math.max(...measured.map(Math.abs));
  const least = Math.min(...measured) > 0 ? Math.min(...measured) / FAR : -most;
  const predicted = list.flatMap((curve) => curve.predicted ?? []);
  return [...measured, ...predicted.filter((value) => value !== null && value >= least && value <= most)];
}

function verticalAxis(values, { show, logarithmic, small }) {
  const size = small ? 42 : 44;
  return logarithmic
    ? logAxis(values, { size, most: small ? 4 : 8 })
    : linearAxis(values, { size, space: small ? 28 : 40, most: show === 'cosine' ? 1.02 : undefined });
}

const layerAxis = (depth, { show, small, colors }) => ({
  size: 26,
  grid: { show: false },
  splits: () => layerTicks(depth, small ? 3 : 5, ['rms', 'gradient'].includes(show)),
  values: (_, splits) => splits.map(axisNumber),
  ...(!small && {
    label: text.value.depth.layer,
    labelSize: 18,
    labelGap: 0,
    labelFont: `${colors.size}px ${FAMILY}`,
  }),
});

// 1 6 12 18 24: about as many as asked for; 0 is the stream before the first block.
function layerTicks(depth, most, fromZero) {
  const step = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48].find((every) => depth / every <= most) ?? depth;
  const ticks = [];
  for (let x = step; x <= depth; x += step) ticks.push(x);
  if (fromZero) return [0, ...ticks];
  return step > 1 ? [1, ...ticks] : ticks;
}

// A curve that ends on its way says where, if it ends at its name.
function endOf({ index, broken: ends }, show, small) {
  const d = text.value.depth;
  if (!ends || small || isBackward(show)) return '';
  const { layer, sublayer } = broken.value[index] ?? {};
  return layer ? d.endsAt(layer, d.sublayers[sublayer]) : '';
}

function labelOf({ index, median }, xs, name) {
  const i = median.findLastIndex((value) => value !== null);
  return { index, name, x: xs[i], y: median[i], align: 'left' };
}

// Gradients come from the right and end at their first point, others at their last.
function markBreak(u, xs, { median }, show, colors) {
  const known = (value) => value !== null;
  const i = isBackward(show) ? median.findIndex(known) : median.findLastIndex(known);
  markEnd(u, xs[i], median[i], colors.error);
}
