// A chart of curves by layer, as Chart draws it.
import { axisNumber } from '../../format.js';
import { linearAxis, logAxis } from '../../parts/axes.js';
import { FAMILY, labelWidth, ROOMY, shortName } from '../../parts/chart.jsx';
import { curveData, curveSeries, markEnd, markLine } from '../../parts/curves.js';
import { LETTERS } from '../../parts/look.js';
import { text } from '../../session.js';
import { isBackward, isScaled, isZero } from './curves.js';
import { axis, broken, curvesOf, relationOf } from './view.js';

// All charts of the panel have one cursor.
const SYNC = { key: 'depth' };
// Sizes that differ by more than this factor are drawn on a logarithmic axis, ratios by the other.
const WIDE = 30;
const WIDE_RATIO = 10;
// What is predicted beyond all that is measured by more than this is not followed.
const FAR = 10;

/**
 * What is drawn of a quantity now: { list: of all curves, xs, curves: those that are drawn, logarithmic, values: those that
 * the axis has to hold, structure: with the same one the same lines get new data }.
 */
export function pictureOf(quantity) {
  const list = curvesOf(quantity);
  if (!pictures.has(list)) pictures.set(list, makePicture(quantity, list));
  return pictures.get(list);
}

const pictures = new WeakMap();

function makePicture(quantity, list) {
  const logarithmic = isLogarithmic(quantity, list);
  const shown = logarithmic ? list.filter((curve) => !isZero(curve)).map(positive) : list;
  const curves = shown.map((curve) => (curve.count > 1 ? curve : { ...curve, low: null, high: null }));
  const structure = JSON.stringify([
    logarithmic,
    curves.map(({ index, low, predicted }) => [index, Boolean(low), Boolean(predicted)]),
  ]);
  return { list, xs: axis.value, curves, logarithmic, values: extent(shown), structure };
}

// Gradients always, other sizes where they differ much.
function isLogarithmic({ show }, list) {
  if (isBackward(show)) return true;
  const known = measuredOf(list).filter((value) => value > 0);
  const wide = relationOf({ show }) ? WIDE_RATIO : WIDE;
  return isScaled(show) && Math.max(...known) > wide * Math.min(...known);
}

function positive(curve) {
  const kept = (values) => values?.map((value) => (value > 0 ? value : null)) ?? null;
  const { median, low, high, predicted } = curve;
  return { ...curve, median: kept(median), low: kept(low), high: kept(high), predicted: kept(predicted) };
}

const measuredOf = (list) => list.flatMap(({ low, high }) => [...low, ...high]).filter((value) => value !== null);

function extent(list) {
  const measured = measuredOf(list);
  const most = FAR * Math.max(...measured.map(Math.abs));
  const least = Math.min(...measured) > 0 ? Math.min(...measured) / FAR : -most;
  const predicted = list.flatMap((curve) => curve.predicted ?? []);
  return [...measured, ...predicted.filter((value) => value !== null && value >= least && value <= most)];
}

/** What Chart's build gives for a quantity, and next: its data once they have changed. */
export function drawing({ quantity, small, colors, width }) {
  const { show } = quantity;
  const first = pictureOf(quantity);
  let drawn = first;
  const dataOf = ({ xs, curves }) => [xs, ...curveData(curves)];
  const nameFor = (index) => (!small && width > ROOMY ? shortName(index) : LETTERS[index]);
  const room = 16 + Math.max(8, ...first.curves.map(({ index }) => labelWidth(nameFor(index), colors.size)));
  const depth = () => drawn.xs.at(-1);
  const { scale, axis: vertical } = verticalAxis(() => drawn.values, { show, logarithmic: first.logarithmic, small });
  return {
    data: dataOf(first),
    next: () => {
      const now = pictureOf(quantity);
      if (now.structure === first.structure) drawn = now; // else the chart is about to be built anew
      return dataOf(drawn);
    },
    options: {
      padding: [8, room, 0, 0],
      cursor: { sync: SYNC },
      scales: { x: { time: false, range: () => [0, Math.max(1, depth())] }, y: scale },
      axes: [layerAxis(depth, { show, small, colors }), { ...vertical, ...relationLabel(quantity, colors) }],
      ...curveSeries(first.curves, colors, { width: small ? 1.5 : 2 }),
    },
    marks: (u) => {
      for (const curve of drawn.curves) {
        markLine(u, drawn.xs, curve.median, curve.index, colors, { radius: small ? 2.5 : 3.5, count: small ? 0 : 5 });
        if (curve.broken) markBreak(u, drawn.xs, curve, show, colors);
      }
    },
    labels: () =>
      drawn.curves.map((curve) => {
        const short = nameFor(curve.index);
        return { ...labelOf(curve, drawn.xs, short + endOf(curve, show, small)), short };
      }),
  };
}

function verticalAxis(values, { show, logarithmic, small }) {
  const size = small ? 42 : 44;
  return logarithmic
    ? logAxis(values, { size, most: small ? 4 : 8 })
    : linearAxis(values, { size, space: small ? 28 : 40, most: show === 'cosine' ? 1.02 : undefined });
}

// At its side what the axis is of, where it is not the quantity itself.
function relationLabel(quantity, colors) {
  const relation = relationOf(quantity);
  return relation && axisLabel(text.value.depth.relative[relation], colors);
}

const axisLabel = (label, colors) => ({
  label,
  labelSize: 18,
  labelGap: 0,
  labelFont: `${colors.size}px ${FAMILY}`,
});

const layerAxis = (depth, { show, small, colors }) => ({
  size: 26,
  grid: { show: false },
  splits: () => layerTicks(depth(), small ? 3 : 5, ['rms', 'gradient'].includes(show)),
  values: (_, splits) => splits.map(axisNumber),
  ...(!small && axisLabel(text.value.depth.layer, colors)),
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
