// Under the curves a lane for each configuration: what enters its activation, as a histogram over the same x axis.
import { roughPercent } from '../../format.js';
import { FAMILY } from '../../parts/chart.jsx';
import { LETTERS } from '../../parts/look.js';

/** What part of the plot's height the lanes take. */
export const lanesShare = (count) => (count === 0 ? 0 : Math.min(0.5, 0.06 + 0.085 * count));

/** @param {{ bottom: number, ground: number }} between the values of y between which the lanes lie */
export function drawLanes(u, lanes, { bottom, ground }, colors, t) {
  const { ctx, bbox } = u;
  const scale = devicePixelRatio;
  const top = u.valToPos(bottom, 'y', true) + 4 * scale;
  const height = (u.valToPos(ground, 'y', true) - top) / lanes.length;
  ctx.save();
  ctx.setLineDash([]);
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  for (const [i, lane] of lanes.entries()) {
    const floor = top + (i + 1) * height - 2 * scale;
    drawHistogram(u, lane, floor, height - 0.45 * colors.size * scale, colors);
    drawText(u, lane, floor - height, colors, t);
  }
  ctx.restore();
}

function drawHistogram(u, { index, histogram, tails }, floor, height, colors) {
  const { ctx, bbox } = u;
  const scale = devicePixelRatio;
  const { counts, range } = histogram;
  const peak = Math.max(1, ...counts);
  const at = (x) => u.valToPos(x, 'x', true);
  const edge = (bin) => range[0] + ((range[1] - range[0]) * bin) / counts.length;
  const shape = new Path2D();
  shape.moveTo(at(range[0]), floor);
  for (const [bin, count] of counts.entries()) {
    const y = floor - (height * count) / peak;
    shape.lineTo(at(edge(bin)), y);
    shape.lineTo(at(edge(bin + 1)), y);
  }
  shape.lineTo(at(range[1]), floor);
  ctx.fillStyle = `${colors.line[index]}2e`;
  ctx.fill(shape);
  // Where it is flat, in the full colour, on a ground that shows how far the tail goes.
  for (const [from, to] of flatParts(tails, at, bbox)) {
    ctx.save();
    ctx.beginPath();
    ctx.rect(from, floor - height, to - from, height);
    ctx.clip();
    ctx.fillStyle = `${colors.edge}2a`;
    ctx.fillRect(from, floor - height, to - from, height);
    ctx.fillStyle = colors.line[index];
    ctx.fill(shape);
    ctx.restore();
  }
  ctx.strokeStyle = colors.line[index];
  ctx.lineWidth = scale;
  ctx.stroke(shape);
}

function flatParts({ left, right }, at, bbox) {
  const [start, end] = [bbox.left, bbox.left + bbox.width];
  const within = (x) => Math.min(end, Math.max(start, x));
  const parts = [];
  if (left) parts.push([start, left.at === Infinity ? end : within(at(left.at))]);
  if (right && Number.isFinite(right.at)) parts.push([within(at(right.at)), end]);
  return parts.filter(([from, to]) => to > from);
}

// The letter at the left, the shares at the right.
function drawText(u, { index, shares, tails }, top, colors, t) {
  const { ctx, bbox } = u;
  const scale = devicePixelRatio;
  const middle = top + 0.85 * colors.size * scale;
  const kinds = ['dead', 'saturated'].filter((kind) => [tails.left?.kind, tails.right?.kind].includes(kind));
  const said = kinds.map((kind) => `${t[kind]} ${roughPercent(shares[kind])}`).join('  ') || t.neverFlat;
  ctx.font = `600 ${colors.size * scale}px ${FAMILY}`;
  ctx.textBaseline = 'middle';
  ctx.lineWidth = 4 * scale;
  ctx.lineJoin = 'round';
  ctx.strokeStyle = colors.surface;
  ctx.fillStyle = colors.text[index];
  for (const [label, left, align] of [
    [LETTERS[index], bbox.left + 4 * scale, 'left'],
    [said, bbox.left + bbox.width - 4 * scale, 'right'],
  ]) {
    ctx.textAlign = align;
    ctx.strokeText(label, left, middle);
    ctx.fillText(label, left, middle);
  }
}
