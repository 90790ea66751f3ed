// Figures of trained weights, of how often hidden units are active, and of how far two outputs are apart. No DOM.

const PIECE = 1 << 20; // numbers between two breaths
/** Beyond this many times the RMS a weight counts as an outlier: of a normal distribution 2 in 10⁹ are. */
export const OUTLIER = 6;

/** RMS, extremes, zeros, outliers and kurtosis (3 for a normal distribution) of a tensor's finite numbers. */
export async function describeTensor(data, breathe = async () => {}) {
  const sums = { finite: 0, zeros: 0, sum: 0, square: 0, largest: 0 };
  await inPieces(data, breathe, (piece) => addMoments(piece, sums));
  const { finite, zeros, sum, square, largest } = sums;
  if (finite === 0) {
    return { count: data.length, finite, mean: null, rms: null, largest: null, zeros, outliers: 0, kurtosis: null };
  }
  const mean = sum / finite;
  const rms = Math.sqrt(square / finite);
  const central = { outliers: 0, second: 0, fourth: 0 };
  await inPieces(data, breathe, (piece) => addCentral(piece, mean, OUTLIER * rms, central));
  const { outliers, second, fourth } = central;
  const kurtosis = second > 0 ? (fourth * finite) / second ** 2 : null;
  return { count: data.length, finite, mean, rms, largest, zeros, outliers, kurtosis };
}

async function inPieces(data, breathe, see) {
  for (let start = 0; start < data.length; start += PIECE) {
    see(data.subarray(start, start + PIECE));
    await breathe();
  }
}

// Over a hundred million numbers: sums stay in variables of the loop. value - value is 0 for what is finite.
function addMoments(piece, sums) {
  let [finite, zeros, sum, square, largest] = [0, 0, 0, 0, sums.largest];
  for (let i = 0; i < piece.length; i++) {
    const value = piece[i];
    if (value - value !== 0) continue;
    finite++;
    sum += value;
    square += value * value;
    if (value === 0) zeros++;
    const size = Math.abs(value);
    if (size > largest) largest = size;
  }
  sums.finite += finite;
  sums.zeros += zeros;
  sums.sum += sum;
  sums.square += square;
  sums.largest = largest;
}

function addCentral(piece, mean, limit, sums) {
  let [outliers, second, fourth] = [0, 0, 0];
  for (let i = 0; i < piece.length; i++) {
    const value = piece[i];
    if (value - value !== 0) continue;
    if (value > limit || value < -limit) outliers++;
    const off = (value - mean) * (value - mean);
    second += off;
    fourth += off * off;
  }
  sums.outliers += outliers;
  sums.second += second;
  sums.fourth += fourth;
}

// More numbers carry finer bins (Rice's rule).
const binsFor = (count) => Math.min(96, Math.max(24, 2 * Math.round(Math.cbrt(count))));
const REACH = { least: 4, most: 16 }; // times the RMS

/**
 * Counts of several tensors, each in units of its RMS, over the same bins around 0.
 * @param tensors [{ data, figures: of describeTensor }]
 */
export async function spreadOf(tensors, breathe = async () => {}) {
  const reaches = tensors.map(({ figures: { largest, rms } }) => (rms > 0 ? largest / rms : 0));
  const reach = Math.min(REACH.most, Math.max(REACH.least, ...reaches));
  const bins = binsFor(Math.min(...tensors.map(({ data }) => data.length)));
  const width = (2 * reach) / bins;
  const series = [];
  for (const { data, figures } of tensors) {
    const counts = new Uint32Array(bins);
    await inPieces(data, breathe, (piece) => addCounts(piece, figures.rms > 0 ? 1 / figures.rms : 0, reach, counts));
    const inside = counts.reduce((a, b) => a + b, 0);
    series.push({ counts: Array.from(counts), outside: figures.finite - inside });
  }
  return { reach, bins, width, series };
}

function addCounts(piece, unit, reach, counts) {
  const last = counts.length - 1;
  const perUnit = counts.length / (2 * reach);
  for (let i = 0; i < piece.length; i++) {
    const at = piece[i] * unit;
    if (at >= -reach && at <= reach) counts[Math.min(last, Math.floor((at + reach) * perUnit))]++;
  }
}

/** The share of a standard normal distribution in each of those bins, by its density at the middle. */
export const normalShares = ({ reach, bins, width }) =>
  Array.from({ length: bins }, (_, i) => {
    const x = (i + 0.5) * width - reach;
    return (width * Math.exp(-0.5 * x * x)) / Math.sqrt(2 * Math.PI);
  });

// Functions that are zero or nearly so on the negative side: of others no unit is inactive.
const ONE_SIDED = [
  'relu',
  'leaky_relu',
  'relu_squared',
  'elu',
  'selu',
  'celu',
  'gelu_erf',
  'gelu_tanh',
  'gelu_quick',
  'silu',
  'swish',
  'mish',
  'hard_swish',
];
export const isOneSided = (activation) => ONE_SIDED.includes(activation);

const SHARES = 20; // bins

/**
 * How often each hidden unit is active, which means: its pre-activation is above 0.
 * @param {Float32Array} pre of all tokens, units the last axis @param {number} units
 * @returns { units, tokens, never, always, counts: units by the share of tokens, in 20 bins }
 */
export function activity(pre, units) {
  const active = new Uint32Array(units);
  for (let i = 0; i < pre.length; i++) if (pre[i] > 0) active[i % units]++;
  const tokens = pre.length / units;
  const counts = new Array(SHARES).fill(0);
  let never = 0;
  let always = 0;
  for (const n of active) {
    if (n === 0) never++;
    if (n === tokens) always++;
    counts[Math.min(SHARES - 1, Math.floor((SHARES * n) / tokens))]++;
  }
  return { units, tokens, never, always, counts };
}

/**
 * |a - b| / |b| and the cosine of the angle between a and b, as vectors of all their numbers; null where one is 0, which
 * has no direction and no share.
 */
export function apart(a, b) {
  let difference = 0;
  let product = 0;
  let left = 0;
  let right = 0;
  for (let i = 0; i < b.length; i++) {
    difference += (a[i] - b[i]) ** 2;
    product += a[i] * b[i];
    left += a[i] * a[i];
    right += b[i] * b[i];
  }
  return {
    relative: difference === 0 ? 0 : right === 0 ? null : Math.sqrt(difference / right),
    cosine: left === 0 || right === 0 ? null : product / Math.sqrt(left * right),
    rms: Math.sqrt(left / b.length),
  };
}
