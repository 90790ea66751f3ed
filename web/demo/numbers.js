// Statistics over arrays of numbers, and seeded input. No DOM.

/** Moments of the finite values, and how many are not finite. Two passes in double precision. */
export function summarize(data) {
  let nan = 0;
  let plusInfinity = 0;
  let minusInfinity = 0;
  let min = Infinity;
  let max = -Infinity;
  let sum = 0;
  let finite = 0;
  for (let i = 0; i < data.length; i++) {
    const value = data[i];
    if (Number.isFinite(value)) {
      finite++;
      sum += value;
      if (value < min) min = value;
      if (value > max) max = value;
    } else if (Number.isNaN(value)) nan++;
    else if (value > 0) plusInfinity++;
    else minusInfinity++;
  }
  const mean = sum / finite;
  let variance = 0;
  let square = 0;
  for (let i = 0; i < data.length; i++) {
    const value = data[i];
    if (!Number.isFinite(value)) continue;
    variance += (value - mean) ** 2;
    square += value * value;
  }
  const known = finite > 0;
  return {
    count: data.length,
    finite,
    nan,
    plusInfinity,
    minusInfinity,
    mean: known ? mean : null,
    std: known ? Math.sqrt(variance / finite) : null,
    rms: known ? Math.sqrt(square / finite) : null,
    min: known ? min : null,
    max: known ? max : null,
  };
}

const REACH = 6; // standard deviations that the shared axis shows at most

// More values carry finer bins (Rice's rule).
const binsFor = (count) => Math.min(72, Math.max(24, Math.round(2 * Math.cbrt(count))));

/**
 * Counts of several arrays over the same bins. `below` and `above` are the finite values outside the axis.
 * @param arrays @param summaries of each, null where there is none
 * @param {{ bins?: number, sigma?: boolean }} options sigma: each array's values as (value - mean) / std of its own
 */
export function histograms(arrays, summaries, { bins, sigma = false } = {}) {
  const known = summaries.filter((summary) => summary?.finite > 0);
  if (known.length === 0) return null;
  bins ??= binsFor(Math.max(...known.map(({ finite }) => finite)));
  const unit = ({ mean, std }) => (sigma ? { shift: mean, scale: std || 1 } : { shift: 0, scale: 1 });
  let low = Infinity;
  let high = -Infinity;
  for (const summary of known) {
    const { mean, std, min, max } = summary;
    const { shift, scale } = unit(summary);
    low = Math.min(low, (Math.max(min, mean - REACH * std) - shift) / scale);
    high = Math.max(high, (Math.min(max, mean + REACH * std) - shift) / scale);
  }
  if (!(high - low > 1e-12 * Math.max(Math.abs(low), Math.abs(high)))) {
    const pad = Math.max(Math.abs(low) * 0.1, 0.5); // all values equal
    low -= pad;
    high += pad;
  }
  const width = (high - low) / bins;
  const series = arrays.map((data, k) => {
    if (!data) return null;
    const { shift, scale } = summaries[k]?.finite > 0 ? unit(summaries[k]) : { shift: 0, scale: 1 };
    const counts = new Float64Array(bins);
    let below = 0;
    let above = 0;
    for (let i = 0; i < data.length; i++) {
      if (!Number.isFinite(data[i])) continue;
      const value = (data[i] - shift) / scale;
      if (value < low) below++;
      else if (value > high) above++;
      else counts[Math.min(bins - 1, Math.floor((value - low) / width))]++;
    }
    return { counts: Array.from(counts), below, above, total: data.length };
  });
  return { low, high, bins, series };
}

/** Median, quartiles, and half the distance between these. */
export function medianSpread(samples) {
  const sorted = Float64Array.from(samples).sort();
  const at = (share) => {
    const position = share * (sorted.length - 1);
    const below = Math.floor(position);
    return sorted[below] + (position - below) * ((sorted[below + 1] ?? sorted[below]) - sorted[below]);
  };
  const [low, median, high] = [0.25, 0.5, 0.75].map(at);
  return { median, low, high, half: (high - low) / 2, count: sorted.length };
}

/** Whether two measurements of one thing are within a tenth of each other. */
export const agree = (a, b) => Math.abs(a - b) <= 0.1 * Math.max(a, b);

/** `count` normal numbers from a seed: the i-th depends on seed and i alone (Box–Muller over a 32-bit mixer). */
export function seededNormal(seed, count, mean, std) {
  const out = new Float32Array(count);
  for (let i = 0; i < count; i++) {
    const u = (mix(seed, 2 * i) + 1) / 4294967297; // within (0, 1)
    const v = mix(seed, 2 * i + 1) / 4294967296;
    out[i] = mean + std * Math.sqrt(-2 * Math.log(u)) * Math.cos(2 * Math.PI * v);
  }
  return out;
}

// murmur3's finaliser over a Weyl sequence; twice, so that neighbouring seeds share nothing.
function mix(seed, counter) {
  return scramble(scramble((counter * 0x9e3779b1) ^ 0x5bd1e995) ^ scramble(seed + 0x7f4a7c15));
}

function scramble(value) {
  let x = value >>> 0;
  x = Math.imul(x ^ (x >>> 16), 0x85ebca6b);
  x = Math.imul(x ^ (x >>> 13), 0xc2b2ae35);
  return (x ^ (x >>> 16)) >>> 0;
}
