// Double-precision references, written from the definitions and from nothing in src/. A float32 kernel is compared with
// these; their own error, below 1e-12 relative, is a hundred-thousandth of a float32 unit in the last place.

const { abs, exp, expm1, fround, hypot, log, log1p, max, min, PI, sqrt, SQRT1_2, tanh } = Math;

// exp(x^2) erfc(x) for x >= 0.5: the trapezoidal rule on the integral of exp(-t^2) / (t^2 + x^2) with step 1/2, whose
// error is exp(-4 pi^2) = 7e-18, and the residue of the pole (Chiarella and Reichl 1968, Math. Comp. 22). Every term of
// the sum is positive, so nothing cancels, out to any x.
const step = 0.5;
const terms = Array.from({ length: 13 }, (_, i) => [((i + 1) * step) ** 2, exp(-(((i + 1) * step) ** 2))]);
export function erfcx(x) {
  let sum = 1 / (2 * x * x);
  for (const [square, weight] of terms) sum += weight / (square + x * x);
  const pole = x < PI / step ? (2 * exp(x * x)) / expm1((2 * PI * x) / step) : 0;
  return ((2 * step * x) / PI) * sum - pole;
}

// erf(x) for |x| < 0.5 by its Maclaurin series.
function erfSeries(x) {
  let term = x;
  let sum = x;
  for (let n = 1; abs(term) > 1e-18 * abs(sum); n++) {
    term *= (-x * x) / n;
    sum += term / (2 * n + 1);
  }
  return (2 / sqrt(PI)) * sum;
}

export function erfc(x) {
  if (abs(x) < 0.5) return 1 - erfSeries(x);
  if (x < 0) return 2 - erfc(-x);
  const high = fround(x); // its square is exact
  return exp(-high * high) * exp(-(x - high) * (x + high)) * erfcx(x);
}

// The normal distribution function. x is a float32, so x * x is exact and the exponential is right far into the tail.
function phi(x) {
  if (abs(x) === Infinity) return x < 0 ? 0 : 1;
  const z = abs(x) * SQRT1_2;
  const tail = z < 0.5 ? 0.5 * (1 - erfSeries(z)) : 0.5 * exp(-0.5 * x * x) * erfcx(z);
  return x < 0 ? tail : 1 - tail;
}

const sigmoid = (x) => (x >= 0 ? 1 / (1 + exp(-x)) : exp(x) / (1 + exp(x)));
const softplus = (x) => max(x, 0) + log1p(exp(-abs(x)));
// x * gate(x) with the limit -0 where x is -Infinity and the gate 0.
const gated = (x, gate) => (x === -Infinity && gate === 0 ? -0 : x * gate);
// What rounding a scaled argument z may cost: |z|/2 units, as far as exp(-|z|) is a float32 at all.
const scaling = (z) => min(abs(z), 110) / 2;
const clamp = (x, low, high) => (Number.isNaN(x) ? x : min(max(x, low), high));

// One entry an activation of src/activation/list.def. `f` takes x and the parameters; `params` are the defaults by name,
// from the papers (hard_sigmoid: from ONNX); `bound` is DESIGN's in units in the last place at default parameters (4 where it is not given);
// `tries` are other parameters to test, exact in float32, and `slack(x, ...parameters)` the units that they may cost more.
export const activations = {
  // biome-ignore lint/complexity/useMathMinMax: Math.max(-0, 0) is 0, the kernel's answer to -0 is -0
  relu: { f: (x) => (x < 0 ? 0 : x), bound: 0 },
  leaky_relu: {
    f: (x, slope) => (x > 0 ? x : slope * x),
    params: { negative_slope: 0.01 },
    tries: [[0.25], [-2], [3]],
  },
  relu_squared: { f: (x) => (x < 0 ? 0 : x * x) },
  elu: { f: (x, alpha) => (x > 0 ? x : alpha * expm1(x)), params: { alpha: 1 }, tries: [[0.5], [3]] },
  selu: {
    f: (x, alpha, gamma) => gamma * (x > 0 ? x : alpha * expm1(x)),
    params: { alpha: 1.6732632423543772, gamma: 1.0507009873554805 },
    tries: [[2, 3]],
  },
  celu: {
    f: (x, alpha) => (x > 0 ? x : alpha * expm1(x / alpha)),
    params: { alpha: 1 },
    tries: [[0.5], [3]],
    slack: (x, alpha) => scaling(x / alpha),
  },
  gelu_erf: { f: (x) => gated(x, phi(x)) },
  gelu_tanh: { f: (x) => gated(x, sigmoid(2 * sqrt(2 / PI) * (x + 0.044715 * x * x * x))) },
  gelu_quick: { f: (x) => gated(x, sigmoid(1.702 * x)) },
  silu: { f: (x) => gated(x, sigmoid(x)) },
  swish: {
    f: (x, beta) => gated(x, sigmoid(beta * x)),
    params: { beta: 1 },
    tries: [[0.5], [3]],
    slack: (x, beta) => scaling(beta * x),
  },
  mish: { f: (x) => gated(x, tanh(softplus(x))) },
  softplus: {
    f: (x, beta) => softplus(beta * x) / beta,
    params: { beta: 1 },
    tries: [[0.5], [3]],
    slack: (x, beta) => scaling(beta * x),
  },
  softsign: { f: (x) => (abs(x) === Infinity ? Math.sign(x) : x / (1 + abs(x))) },
  hard_sigmoid: {
    f: (x, alpha, beta) => clamp(alpha * x + beta, 0, 1),
    params: { alpha: 0.2, beta: 0.5 },
    tries: [
      [0.25, 0.5],
      [-0.5, 0.25],
    ],
  },
  hard_swish: { f: (x) => gated(x, clamp(x + 3, 0, 6) / 6) },
  sigmoid: { f: sigmoid, bound: 2 },
  log_sigmoid: { f: (x) => -softplus(-x) },
  tanh: { f: tanh, bound: 2 },
  identity: { f: (x) => x, bound: 0 },
  softcap: { f: (x, cap) => cap * tanh(x / cap), params: { cap: 30 }, tries: [[50]], slack: () => 1 },
};

/** The default parameters of an activation as a list. */
export const defaults = (name) => Object.values(activations[name].params ?? {});

const bits = new DataView(new ArrayBuffer(8));
/** The unit in the last place of float32 at a double's magnitude; 2^-149 where it is subnormal. */
export function unit(want) {
  bits.setFloat64(0, want);
  const exponent = ((bits.getUint32(0) >>> 20) & 0x7ff) - 1023;
  return 2 ** (min(max(exponent, -126), 127) - 23);
}

/**
 * |got - want| in units in the last place. Infinity where only one is NaN, where the sign is wrong, or where a value that
 * float32 can represent came as an infinity.
 */
export function ulps(got, want) {
  if (Number.isNaN(want)) return Number.isNaN(got) ? 0 : Infinity;
  if (Number.isNaN(got)) return Infinity;
  if (got === want) return 0;
  if (abs(want) === Infinity) return Infinity;
  if (abs(got) === Infinity) return abs(want) >= 0x1ffffff * 2 ** 103 && got > 0 === want > 0 ? 0 : Infinity;
  if (fround(want) !== 0 && got !== 0 && got > 0 !== want > 0) return Infinity;
  return abs(got - want) / unit(want);
}

const sum = (values) => values.reduce((a, b) => a + b, 0);

/** Mean and biased variance of a list of float32 values, in two passes. */
export function moments(values) {
  const mean = sum(values) / values.length;
  return { mean, variance: sum(values.map((x) => (x - mean) ** 2)) / values.length };
}

// Row norms without weight and bias: row -> { y, mean, rstd }, rstd being the factor that x - mean was multiplied by.
const normalise = (row, mean, rstd) => ({ y: row.map((x) => (x - mean) * rstd), mean, rstd });
export const rowNorms = {
  layer_norm(row, eps) {
    const { mean, variance } = moments(row);
    return normalise(row, mean, 1 / sqrt(variance + eps));
  },
  // One element has no unbiased deviation (0 / 0): 0 is taken, so that it gives bias as in layer_norm.
  layer_norm_std(row, eps) {
    const { mean, variance } = moments(row);
    const n = row.length;
    return normalise(row, mean, 1 / (sqrt(n > 1 ? (variance * n) / (n - 1) : 0) + eps));
  },
  rms_norm: (row, eps) => normalise(row, 0, 1 / sqrt(sum(row.map((x) => x * x)) / row.length + eps)),
  rms_norm_outside: (row, eps) => normalise(row, 0, 1 / (hypot(...row) / sqrt(row.length) + eps)),
  // These two have no statistics.
  dyt: (row, _eps, alpha = 0.5) => ({ y: row.map((x) => tanh(alpha * x)), mean: 0, rstd: 1 }),
  none: (row) => ({ y: [...row], mean: 0, rstd: 1 }),
};

/** Rows of a flat array of rows x d values, as plain arrays of doubles. */
export const rowsOf = (data, d) =>
  Array.from({ length: data.length / d }, (_, i) => Array.from(data.slice(i * d, (i + 1) * d)));

/** A row norm over the last axis: rows of doubles in, rows of doubles out. */
export const norm = (name, rows, { weight, bias, eps, alpha, weightOffset = 0 }) =>
  rows.map((row) =>
    rowNorms[name](row, eps, alpha).y.map(
      (y, j) => y * ((weight ? weight[j] : 1) + (weight ? weightOffset : 0)) + (bias ? bias[j] : 0),
    ),
  );

export function softmax(row, logarithm = false) {
  const top = max(...row);
  const total = sum(row.map((x) => exp(x - top)));
  return row.map((x) => (logarithm ? x - top - log(total) : exp(x - top) / total));
}

/** x W^T + b with W given as `out` rows of `in` values. */
export const linear = (rows, weight, bias) =>
  rows.map((row) => weight.map((w, o) => row.reduce((acc, x, k) => acc + x * w[k], 0) + (bias ? bias[o] : 0)));

export const transpose = (rows) => rows[0].map((_, j) => rows.map((row) => row[j]));

export const add = (a, b, alpha = 1) => a.map((row, i) => row.map((x, j) => alpha * x + b[i][j]));

export const map = (rows, f) => rows.map((row) => row.map(f));

/**
 * The gradient of a number f(x) by x, by differences of fourth order in doubles: for smooth functions right to about 1e-11.
 */
export function gradient(f, at, step = 1e-3) {
  const x = Float64Array.from(at);
  return Array.from(x, (v, i) => {
    const value = (offset) => {
      x[i] = v + offset * step;
      const result = f(x);
      x[i] = v;
      return result;
    };
    return (8 * (value(1) - value(-1)) - (value(2) - value(-2))) / (12 * step);
  });
}

/** The indices along each axis of the i-th element of a shape. */
export function indices(i, shape) {
  const result = [];
  let rest = i;
  for (const size of shape.toReversed()) {
    result.unshift(rest % size);
    rest = Math.floor(rest / size);
  }
  return result;
}

/**
 * Any norm of one shape as `norm` has it, a function of x, weight, bias and alpha, in doubles: the elements are sorted
 * into those that share a statistic, each knowing its place in weight and bias. Where the mask is 0 an element takes no
 * part and gives 0.
 */
export function normOf(name, shape, options = {}) {
  const { axes = [-1], channelAxis = -1, groups = 1, eps, weightOffset = 0, mask, runningMean, runningVar } = options;
  const positive = (axis) => (axis < 0 ? axis + shape.length : axis);
  const channel = positive(channelAxis);
  const over = axes.map(positive);
  const at = (where, list) => list.reduce((place, axis) => place * shape[axis] + where[axis], 0);
  const others = [...shape.keys()].filter((axis) => axis !== channel);
  const sharing = {
    batch_norm: (where) => `${where[channel]}`,
    group_norm: (where) => `${where[0]},${Math.floor((where[channel] * groups) / shape[channel])}`,
    instance_norm: (where) => `${where[0]},${where[channel]}`,
  }[name];
  const sets = new Map();
  const size = shape.reduce((a, b) => a * b, 1);
  for (let i = 0; i < size; i++) {
    const where = indices(i, shape);
    if (mask && mask[at(where, others)] === 0) continue;
    const key = sharing ? sharing(where) : where.filter((_, axis) => !over.includes(axis)).join();
    if (!sets.has(key)) sets.set(key, []);
    sets.get(key).push({ i, place: sharing ? where[channel] : at(where, over) });
  }
  return (x, weight, bias, alpha) => {
    const y = Array(size).fill(0);
    for (const set of sets.values()) {
      const values = set.map(({ i }) => x[i]);
      const c = set[0].place;
      const result = runningMean
        ? normalise(values, runningMean[c], 1 / sqrt(runningVar[c] + eps))
        : rowNorms[sharing ? 'layer_norm' : name](values, eps, alpha);
      for (const [k, { i, place }] of set.entries()) {
        y[i] = result.y[k] * (weight ? weight[place] + weightOffset : 1) + (bias ? bias[place] : 0);
      }
    }
    return y;
  };
}

/**
 * Cross-entropy of rows of logits, or of log-probabilities: PyTorch's definition. A target is a label or a list of
 * probabilities. Gives the terms and what their sum is divided by for the mean.
 */
export function crossEntropy(
  rows,
  targets,
  { weights, smoothing = 0, ignoreIndex = -100, probabilities = false } = {},
) {
  let divisor = 0;
  const terms = rows.map((row, i) => {
    const target = targets[i];
    if (target === ignoreIndex) return 0;
    const classes = row.length;
    const w = weights ?? Array(classes).fill(1);
    divisor += typeof target === 'number' ? w[target] : 1;
    const hard = typeof target === 'number' ? row.map((_, c) => Number(c === target)) : target;
    const t = hard.map((share) => (1 - smoothing) * share + smoothing / classes);
    const logs = probabilities ? row : softmax(row, true);
    return -sum(logs.map((value, c) => t[c] * value * w[c]));
  });
  return { terms, total: sum(terms), divisor };
}
