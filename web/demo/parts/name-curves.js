// Where the names of curves stand in a chart: at the curve, where it is farthest from the others and the name covers none.
import { labelWidth } from './chart.jsx';

const NEAR = 3; // pixels between a name and its curve
const ENOUGH = 6; // a curve that is nearer to another one than this is not told apart

/**
 * @param u the chart
 * @param items [{ name, series, index }] series: its place in u.data
 * @param size of the type
 * @param {{ floor?: number, reserved?: object[] }} options floor: no name stands below this pixel; reserved: places that are
 *   taken already, { from, to, top }
 * @returns labels as Chart takes them. What finds no place is listed in the emptiest corner, each with a piece of its line
 */
export function nameCurves(u, items, size, { floor = Infinity, reserved = [] } = {}) {
  const xs = u.data[0];
  const scale = devicePixelRatio;
  const width = u.bbox.width / scale;
  const bottom = Math.min(u.bbox.height / scale, floor);
  const px = Array.from(xs, (x) => u.valToPos(x, 'x'));
  const curves = items.map(({ series }) => Array.from(u.data[series], (y) => (y === null ? null : u.valToPos(y, 'y'))));
  const half = 0.65 * size;
  const taken = [...reserved];
  const step = Math.max(1, Math.round(px.length / 80));

  // The smallest vertical distance of a box to any curve; negative where one runs through it.
  const clearance = ({ from, to, top }, own) => {
    let least = Infinity;
    for (const [c, curve] of curves.entries()) {
      for (let i = 1; i < px.length; i++) {
        if (px[i] < from - 2 || px[i - 1] > to + 2 || curve[i] === null || curve[i - 1] === null) continue;
        const above = top - half - Math.max(curve[i], curve[i - 1]);
        const below = Math.min(curve[i], curve[i - 1]) - top - half;
        if (above < 0 && below < 0) return -1;
        if (c !== own) least = Math.min(least, Math.max(above, below));
      }
    }
    return least;
  };
  const separation = (own, i) =>
    Math.min(
      40,
      ...curves.map((curve, c) => (c === own || curve[i] === null ? Infinity : Math.abs(curve[i] - curves[own][i]))),
    );

  const find = (own) => {
    const room = labelWidth(items[own].name, size) + 6;
    let best = null;
    for (let i = 0; i < px.length; i += step) {
      const y = curves[own][i];
      if (y === null || y < 0 || y > bottom) continue;
      const apart = separation(own, i);
      if (apart < ENOUGH) continue;
      for (const side of [-1, 1]) {
        const place = { from: px[i] - room / 2, to: px[i] + room / 2, top: y + side * (half + NEAR) };
        if (place.from < 0 || place.to > width || place.top - half < 0 || place.top + half > bottom) continue;
        if (taken.some((o) => place.to > o.from && o.to > place.from && Math.abs(o.top - place.top) < 2 * half))
          continue;
        const score = apart + 0.002 * px[i];
        if ((!best || score > best.score) && clearance(place, own) >= Math.min(NEAR, apart / 2))
          best = { ...place, score };
      }
    }
    return best;
  };

  const labels = [];
  const homeless = [];
  for (const [own, { name, index }] of items.entries()) {
    const place = find(own);
    if (!place) {
      homeless.push(own);
      continue;
    }
    taken.push(place);
    labels.push({ index, name, left: (place.from + place.to) / 2, top: place.top, align: 'center' });
  }
  return [
    ...labels,
    ...listed(
      u,
      homeless.map((own) => items[own]),
      size,
      { clearance, taken, width, bottom },
    ),
  ];
}

const SAMPLE = 24; // length of a piece of line

// In columns, where one would be higher than half the plot.
function listed(u, items, size, { clearance, taken, width, bottom }) {
  if (items.length === 0) return [];
  const pitch = 1.35 * size;
  const rows = Math.min(items.length, Math.max(4, Math.floor(bottom / 2 / pitch)));
  const columns = Math.ceil(items.length / rows);
  const perColumn = Math.ceil(items.length / columns);
  const room = SAMPLE + 20 + Math.max(...items.map(({ name }) => labelWidth(name, size)));
  const right = width - room * columns - 6;
  const low = bottom - pitch * perColumn;
  // At the edge, or a little away from what stands there.
  const firsts = [0.8 * size, 0.8 * size + 2 * pitch, low, low - 2 * pitch];
  const corners = [6, right].flatMap((from) => firsts.map((first) => ({ from, first })));
  const placeOf = (corner, i) => {
    const from = corner.from + room * Math.floor(i / perColumn);
    return { from, to: from + room, top: corner.first + (i % perColumn) * pitch };
  };
  // Rather over a curve than over a name.
  const cost = (place) => {
    const isTaken = taken.some(
      ({ from, to, top }) => place.to > from && to > place.from && Math.abs(top - place.top) < 1.4 * size,
    );
    if (isTaken) return 100;
    const free = clearance(place);
    return free < 0 ? 1 : 1 / (10 + free);
  };
  const costOf = (corner) => items.reduce((total, _, i) => total + cost(placeOf(corner, i)), 0);
  const best = corners.reduce((a, b) => (costOf(b) < costOf(a) ? b : a));
  return items.map(({ name, index, series }, i) => {
    const { from, top } = placeOf(best, i);
    drawSample(u, u.series[series], from, top);
    return { index, name, left: from + SAMPLE + 8, top, align: 'left' };
  });
}

function drawSample(u, { stroke, width, dash }, left, top) {
  const { ctx, bbox } = u;
  const scale = devicePixelRatio;
  ctx.save();
  ctx.strokeStyle = typeof stroke === 'function' ? stroke(u) : stroke;
  ctx.lineWidth = width * scale;
  ctx.setLineDash((dash ?? []).map((length) => length * scale));
  ctx.beginPath();
  ctx.moveTo(bbox.left + left * scale, bbox.top + top * scale);
  ctx.lineTo(bbox.left + (left + SAMPLE) * scale, bbox.top + top * scale);
  ctx.stroke();
  ctx.restore();
}
