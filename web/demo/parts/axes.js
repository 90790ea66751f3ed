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
 * @param {() => number[]} current the values that are drawn now
 */
export function logAxis(current, { size = 44, most = 8 } = {}) {
  const range = () => {
    const known = current().filter((value) => value > 0 && Number.isFinite(value));
    return known.length > 0 ? outward(Math.min(...known), Math.max(...known) * 1.0001) : [1, 10];
  };
  const label = ([low, high], value) =>
    high / low > 1000 || value < 1e-3 || value >= 1e4 ? powerOf(value) : axisNumber(value);
  return {
    scale: { distr: 3, range },
    axis: {
      size,
      incrs: (_u, _axis, min, max) => [Math.max(5, max - min)], // uPlot's own end at 5e32, above which it would draw no axis
      splits: () => ticks(...range(), most),
      filter: (_, splits) => splits, // uPlot's own drops what is no power of ten
      values: (_, splits) => splits.map((value) => label(range(), value)),
    },
  };
}

// 10³, 2·10³
function powerOf(value) {
  const below = 10 ** Math.floor(Math.log10(value) + 1e-9);
  const factor = Math.round(value / below);
  return `${factor === 1 ? '' : `${factor}·`}${power(below)}`;
}

/**
 * A linear y axis, from 0 where all values are above and near it.
 * @param {() => number[]} current the values that are drawn now
 */
export function linearAxis(current, { size = 44, space = 48, most = Infinity } = {}) {
  const range = () => {
    const known = current().filter(Number.isFinite);
    if (known.length === 0) return [0, 1];
    const [low, high] = [Math.min(...known), Math.max(...known)];
    const pad = 0.06 * (high - low || Math.abs(high) || 1);
    return [low >= 0 && low < 0.7 * high ? 0 : low - pad, Math.min(high + pad, most)];
  };
  return {
    scale: { range },
    axis: { size, space, values: (_, splits) => splits.map(axisNumber) },
  };
}
