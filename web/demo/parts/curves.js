// Lines with a band around them, and what is predicted dashed beside them, as uPlot takes them.
import { drawMarker } from './marker.jsx';

const DASH = [5, 4];

/**
 * @param {{ index: number, median: number[], low?: number[], high?: number[], predicted?: number[] }[]} list null is a gap
 * @param {object} colors as Chart gives them
 * @returns {{ data: number[][], series: object[], bands: object[] }} data without the x axis, series with its
 */
export function curves(list, colors, { width = 2 } = {}) {
  const data = [];
  const series = [{}];
  const add = (values, more) => {
    data.push(values);
    return series.push({ spanGaps: true, points: { show: false }, ...more }) - 1;
  };
  // The bands lie under all lines.
  const bands = list
    .filter(({ low, high }) => low && high)
    .map(({ index, low, high }) => ({
      series: [add(high, { width: 0 }), add(low, { width: 0 })],
      fill: `${colors.line[index]}${list.length > 3 ? '1a' : '26'}`,
    }));
  for (const { index, median } of list) add(median, { stroke: colors.line[index], width });
  for (const { index, predicted } of list) {
    if (predicted) add(predicted, { stroke: colors.text[index], width: 1.25, dash: DASH });
  }
  return { data, series, bands };
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
