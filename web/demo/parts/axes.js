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

/** The least and the largest of those values that are finite, and positive if only these count; null without any. */
function extentOf(values, positive) {
  let [low, high] = [Infinity, -Infinity];
  for (const value of values) {
    if (value === null || !Number.isFinite(value) || (positive && value <= 0)) continue;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return low > high ? null : [low, high];
}

// A function of an array, computed once as long as it is the same array: a chart asks for the range of its axis many times.
function once(compute) {
  let [known, result] = [null, null];
  return (values) => {
    if (values !== known) [known, result] = [values, compute(values)];
    return result;
  };
}

/**
 * A logarithmic y axis for positive values: { scale, axis } as uPlot takes them. Over more than three decades only powers
 * of ten have labels, and as powers.
 * @param {() => number[]} current the values that are drawn now
 */
export function logAxis(current, { size = 44, most = 8 } = {}) {
  const rangeOf = once((values) => {
    const known = extentOf(values, true);
    return known ? outward(known[0], known[1] * 1.0001) : [1, 10];
  });
  const range = () => rangeOf(current());
  const label = ([low, high], value) =>
    high / low > 1000 || value < 1e-3 || value >= 1e4 ? powerOf(value) : axisNumber(value);
  return {
    scale: { distr: 3, range },
    axis: {
      size,
      incrs: (_u, _axis, min, max) => [Math.max(5, max - min)], // uPlot's own end at 5e32, above which it would draw no axis
      splits: () => ticks(...range(), most),
      filter: (_, splits) => splits, // uPlot's own drops what is no power of ten
      values: (_, splits) => {
        const ends = range();
        return splits.map((value) => label(ends, value));
      },
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
  const range = once((values) => {
    const known = extentOf(values, false);
    if (!known) return [0, 1];
    const [low, high] = known;
    const pad = 0.06 * (high - low || Math.abs(high) || 1);
    return [low >= 0 && low < 0.7 * high ? 0 : low - pad, Math.min(high + pad, most)];
  });
  return {
    scale: { range: () => range(current()) },
    axis: { size, space, values: (_, splits) => splits.map(axisNumber) },
  };
}
