// Lines with a band around them, and what is predicted dashed beside them, as uPlot takes them.
import { drawMarker } from './marker.jsx';

const DASH = [5, 4];

/** @typedef {{ index: number, median: number[], low?: number[], high?: number[], predicted?: number[] }} Curve null: a gap */

const banded = (list) => list.filter(({ low, high }) => low && high);
const foreseen = (list) => list.filter(({ predicted }) => predicted);

/** The data of curves() without the x axis. @param {Curve[]} list */
export const curveData = (list) => [
  ...banded(list).flatMap(({ high, low }) => [high, low]),
  ...list.map(({ median }) => median),
  ...foreseen(list).map(({ predicted }) => predicted),
];

/**
 * The series of curveData(), with that of the x axis, and the bands, which lie under all lines.
 * @param {Curve[]} list
 * @param {object} colors as Chart gives them
 */
export function curveSeries(list, colors, { width = 2 } = {}) {
  const line = (more) => ({ spanGaps: true, points: { show: false }, ...more });
  const alpha = list.length > 3 ? '1a' : '26';
  return {
    series: [
      {},
      ...banded(list).flatMap(() => [line({ width: 0 }), line({ width: 0 })]),
      ...list.map(({ index }) => line({ stroke: colors.line[index], width })),
      ...foreseen(list).map(({ index }) => line({ stroke: colors.text[index], width: 1.25, dash: DASH })),
    ],
    bands: banded(list).map(({ index }, i) => ({
      series: [2 * i + 1, 2 * i + 2],
      fill: `${colors.line[index]}${alpha}`,
    })),
  };
}

/** The configuration's marker at some points of its line, others than the other lines have theirs at, and at its end. */
export function markLine(u, xs, values, index, colors, { radius = 3.5, count = 5 } = {}) {
  const { ctx } = u;
  const scale = devicePixelRatio;
  const there = values.flatMap((value, i) => (value === null ? [] : [i]));
  const every = there.length / count;
  const chosen = new Set([there.length - 1]);
  for (let at = every * (0.3 + ((0.37 * index) % 1)); at < there.length - every / 2; at += every)
    chosen.add(Math.floor(at));
  ctx.save();
  ctx.setLineDash([]); // a dashed line may have been the last
  ctx.strokeStyle = colors.line[index];
  ctx.fillStyle = colors.surface;
  ctx.lineWidth = 1.5 * scale;
  for (const k of chosen) {
    const i = there[k];
    if (i === undefined) continue;
    drawMarker(ctx, index, u.valToPos(xs[i], 'x', true), u.valToPos(values[i], 'y', true), radius * scale);
  }
  ctx.restore();
}

/** A cross: from here on there is no number. */
export function markEnd(u, x, y, color) {
  const { ctx } = u;
  const scale = devicePixelRatio;
  const [left, top, r] = [u.valToPos(x, 'x', true), u.valToPos(y, 'y', true), 5 * scale];
  ctx.save();
  ctx.setLineDash([]);
  ctx.strokeStyle = color;
  ctx.lineWidth = 2 * scale;
  ctx.beginPath();
  ctx.moveTo(left - r, top - r);
  ctx.lineTo(left + r, top + r);
  ctx.moveTo(left + r, top - r);
  ctx.lineTo(left - r, top + r);
  ctx.stroke();
  ctx.restore();
}

/**
 * A histogram's outline: each bin flat from edge to edge (uPlot's own steps change at the points, half a bin aside), one with
 * nothing to draw on the ground.
 */
export function outline(u, values, low, width) {
  const stroke = new Path2D();
  const ground = u.bbox.top + u.bbox.height;
  const at = (edge) => Math.round(u.valToPos(low + edge * width, 'x', true));
  values.forEach((value, i) => {
    const y = value > 0 ? Math.round(u.valToPos(value, 'y', true)) : ground;
    stroke[i === 0 ? 'moveTo' : 'lineTo'](at(i), y);
    stroke.lineTo(at(i + 1), y);
  });
  const fill = new Path2D(stroke);
  fill.lineTo(at(values.length), ground);
  fill.lineTo(at(0), ground);
  fill.closePath();
  return { stroke, fill, clip: null, band: null, gaps: null, flags: 0 };
}
