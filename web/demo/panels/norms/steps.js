// The four steps of each norm in double precision, and the same by the package. No DOM: `an` is an instance of the package.

export const NORMS = ['layer_norm', 'rms_norm', 'batch_norm', 'group_norm', 'instance_norm'];
/** The package's bound: so many units of 2⁻²⁴, a unit being max(1, |n|)·|γ| + |β| (include/addnorm.h). */
export const BOUND = 10;
const MOMENTUM = 0.1; // PyTorch's default

/** Which cells share their statistics: the number of a cell's group, by sequence s, token t and feature c. */
export const groupOf = {
  layer_norm:
    ({ l }) =>
    (s, t) =>
      s * l + t,
  rms_norm:
    ({ l }) =>
    (s, t) =>
      s * l + t,
  batch_norm: () => (_s, _t, c) => c,
  group_norm:
    ({ d, groups }) =>
    (s, _t, c) =>
      s * groups + Math.floor((c * groups) / d),
  instance_norm:
    ({ d }) =>
    (s, _t, c) =>
      s * d + c,
};

/** What the state gives a norm: { b, l, d, data: Float32Array, padding, weight, bias, eps, groups }. */
export const takes = ({ data, weight, bias, ...rest }) => ({
  ...rest,
  data: Float32Array.from(data),
  weight: Float32Array.from(weight),
  bias: Float32Array.from(bias),
});

const sum = (values) => values.reduce((a, b) => a + b, 0);

/** { mean, variance, factor, count } of the values that share them; an RMSNorm has no mean. */
export function statistics(values, eps, withMean) {
  const count = values.length;
  const mean = withMean ? sum(values) / count : 0;
  const variance = sum(values.map((x) => (x - mean) ** 2)) / count;
  // Without spread the result is the bias, eps or not.
  return { mean, variance, factor: variance === 0 ? 0 : 1 / Math.sqrt(variance + eps), count };
}

/**
 * The four steps in double precision.
 * @param name of the norm @param input as takes() gives it
 * @param {boolean} masked whether padding is left out: of batch norm alone
 * @returns {{ groups: number[], stats: object[], normalised: number[], y: number[] }} groups: of each cell its group's
 *   number, -1 of padding that is left out, whose result is 0
 */
export function walk(name, input, masked) {
  const { b, l, d, data, padding, weight, bias, eps } = input;
  const place = groupOf[name](input);
  const isOut = (cell) => masked && name === 'batch_norm' && padding[Math.floor(cell / d)];
  const groups = Array.from({ length: b * l * d }, (_, cell) => {
    const token = Math.floor(cell / d);
    return isOut(cell) ? -1 : place(Math.floor(token / l), token % l, cell % d);
  });
  const members = [];
  for (const [cell, group] of groups.entries()) {
    if (group < 0) continue;
    members[group] ??= [];
    members[group].push(data[cell]);
  }
  const stats = Array.from(members, (values) => values && statistics(values, eps, name !== 'rms_norm'));
  const normalised = groups.map((group, cell) =>
    group < 0 ? 0 : (data[cell] - stats[group].mean) * stats[group].factor,
  );
  const biasOf = (cell) => (name === 'rms_norm' ? 0 : bias[cell % d]);
  const y = groups.map((group, cell) => (group < 0 ? 0 : normalised[cell] * weight[cell % d] + biasOf(cell)));
  return { groups, stats, normalised, y };
}

/** The largest |got - y| in units of the bound. */
export function inUnits(got, { normalised, y }, { weight, bias, d }) {
  const unit = (cell) =>
    2 ** -24 * (Math.max(1, Math.abs(normalised[cell])) * Math.abs(weight[cell % d]) + Math.abs(bias[cell % d]));
  return Math.max(...y.map((want, cell) => (got[cell] === want ? 0 : Math.abs(got[cell] - want) / unit(cell))));
}

/** E[x²] − E[x]² in float32, one value after the other: what a norm in one pass would take for the variance. */
export function onePass(values) {
  const f = Math.fround;
  let [total, squares] = [0, 0];
  for (const x of values) {
    total = f(total + x);
    squares = f(squares + f(x * x));
  }
  const mean = f(total / values.length);
  return f(f(squares / values.length) - f(mean * mean));
}

// ---- The package

const tensor = ({ b, l, d, data }) => ({ data, shape: [b, l, d] });
const maskOf = ({ b, l, padding }) => ({ data: Float32Array.from(padding, (is) => (is ? 0 : 1)), shape: [b, l] });

/** Each norm's { y, mean, rstd } by the package, or { error }. */
export function byPackage(an, input, masked) {
  const { weight, bias, eps, groups } = input;
  const options = (name) => ({
    weight,
    eps,
    stats: true,
    ...(name !== 'rms_norm' && { bias }),
    ...(name === 'group_norm' && { groups }),
    ...(name === 'batch_norm' && masked && { mask: maskOf(input) }),
  });
  return Object.fromEntries(
    NORMS.map((name) => {
      try {
        return [name, an.norm(name, tensor(input), options(name))];
      } catch (error) {
        return [name, { error: { code: error.code ?? error.name, message: error.message } }];
      }
    }),
  );
}

/**
 * Batch norm of one batch in three ways, by the package: training with the padding left out, with it counted, and
 * inference by the running statistics after `seen` batches like this one.
 * @returns {{ way: string, y: Float32Array, mean: Float32Array, variance: Float32Array | null, rstd }[]}
 */
export function batchNormWays(an, input, seen) {
  const { d, weight, bias, eps } = input;
  const mask = maskOf(input);
  const common = { weight, bias, eps, stats: true };
  const runningMean = new Float32Array(d);
  const runningVar = new Float32Array(d).fill(1);
  for (let i = 0; i < seen; i++) {
    an.norm('batch_norm', tensor(input), {
      ...common,
      mask,
      runningMean,
      runningVar,
      training: true,
      momentum: MOMENTUM,
    });
  }
  return [
    { way: 'masked', ...an.norm('batch_norm', tensor(input), { ...common, mask }) },
    { way: 'counted', ...an.norm('batch_norm', tensor(input), common) },
    {
      way: 'inference',
      ...an.norm('batch_norm', tensor(input), { ...common, mask, runningMean, runningVar, training: false }),
      runningVar,
    },
  ];
}

/** The largest difference of two results in tokens that are no padding. */
export const realDifference = (a, b, { d, padding }) =>
  Math.max(0, ...Array.from(a, (y, cell) => (padding[Math.floor(cell / d)] ? 0 : Math.abs(y - b[cell]))));

/** How many values a channel's statistics are of. */
export const channelCount = ({ padding }, masked) => padding.filter((is) => !(is && masked)).length;
