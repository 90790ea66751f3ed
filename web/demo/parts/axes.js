// The ends of charts' axes and what stands at them. No DOM.
import { axisNumber, power } from '../format.js';

const STEPS = [1, 2, 3, 5, 7];
const scaleOf = (value) => 10 ** Math.floor(Math.log10(value));

// The next of 1, 2, 3, 5, 7 × 10ⁿ on both sides.
function outward(low, high) {
  const below = STEPS.findLast((step) => step * scaleOf(low) <= low * (1 + 1e-9)) ?? 1;
  const above = [...STEPS, 10].find((step) => step * scaleOf(high) >= high * (1 - 1e-9)) ?? 10;
  return [below * scaleOf(low), above * scaleOf(high)];
}

// 0.1 0.2 0.5 1 ...; over few only nearer ones, over many decades only powers
function ticks(low, high, most) {
  const decades = Math.log10(high / low);
  const steps = decades > 3 ? [1] : decades > most / 3 ? [1, 3] : decades < 0.25 * most - 1 ? STEPS : [1, 2, 5];
  const every = Math.max(1, Math.ceil(decades / most));
  const list = [];
  for (let exponent = Math.floor(Math.log10(low)); 10 ** exponent <= high * 1.001; exponent++) {
    if (exponent % every !== 0) continue;
    for (const step of steps) list.push(Number((step * 10 ** exponent).toPrecision(1)));
  }
  return list.filter((value) => value >= low * 0.999 && value <= high * 1.001);
}

/**
 * A logarithmic y axis for positive values: { scale, axis } as uPlot takes them. Over more than three decades only powers
 * of ten have labels, and as powers.
 * @param {number[]} values null and what is not positive aside
 */
export function logAxis(values, { size = 44, most = 8 } = {}) {
  const known = values.filter((value) => value > 0 && Number.isFinite(value));
  const low = known.length > 0 ? Math.min(...known) : 1;
  const high = known.length > 0 ? Math.max(...known) : 1;
  const range = outward(low, high * 1.0001);
  const many = range[1] / range[0] > 1000;
  const label = (value) => (many || value < 1e-3 || value >= 1e4 ? powerOf(value) : axisNumber(value));
  return {
    scale: { distr: 3, range },
    axis: {
      size,
      splits: () => ticks(...range, most),
      filter: (_, splits) => splits, // uPlot's own drops what is no power of ten
      values: (_, splits) => splits.map(label),
    },
  };
}

// 10³, 2·10³
function powerOf(value) {
  const exponent = 10 ** Math.floor(Math.log10(value) + 1e-9);
  const factor = Math.round(value / exponent);
  return `${factor === 1 ? '' : `${factor}·`}${power(exponent)}`;
}

/** A linear y axis over these values: from 0 where they are all above, and near it. */
export function linearAxis(values, { size = 44, space = 40, least, most } = {}) {
  const known = values.filter(Number.isFinite);
  let low = known.length > 0 ? Math.min(...known) : 0;
  let high = known.length > 0 ? Math.max(...known) : 1;
  if (low >= 0 && low < 0.7 * high) low = 0;
  const pad = 0.06 * (high - low || Math.abs(high) || 1);
  low = low === 0 ? 0 : low - pad;
  high += pad;
  const range = [Math.max(low, least ?? low), Math.min(high, most ?? high)];
  return {
    scale: { range },
    axis: { size, space, values: (_, splits) => splits.map(axisNumber) },
  };
}
