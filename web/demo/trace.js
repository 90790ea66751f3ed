// The block step by step through the package's public operations, to see what happens inside it, and the way of a
// gradient back through the same steps. No DOM. What they end in is compared with block.forward and block.backward, so a
// wiring that is drawn wrongly cannot pass unseen.
//
// Batch norm takes the batch's own statistics here, as in training: a block that has learned nothing has no others, its
// running mean and variance are still 0 and 1, and no file brings any. There is no dropout.
import { usesBatch } from './fields.js';
import { attention, chain, mean, repeated } from './mixing.js';
import { summarize } from './numbers.js';

/** The places at which the signal is looked at, from bottom to top. A block has those of its mixing and placement. */
export const STAGES = [
  'x',
  'mixing_norm',
  'mixed',
  'out',
  'mixing_branch',
  'mixing_sum',
  'middle',
  'norm',
  'up',
  'hidden',
  'down',
  'branch',
  'sum',
  'y',
];

/** The block's own output for x, under the same statistics. The block must be without dropout, as makeBlock makes it. */
export const outputOf = (block, x) => block.forward(x, { train: usesBatch(block.config) });

/**
 * The steps and what they end in, which is the block's output.
 * @returns {{ stages: Record<string, Tensor>, y: Float32Array }} y: of the block itself
 */
export function traced(an, block, x) {
  const y = outputOf(block, x).toArray();
  const { stages, amplified } = trace(an, block, x);
  const { error, largest } = apart(stages.y.toArray(), y);
  if (!(error <= SAME * (largest + amplified)))
    throw new Error(`the steps do not give the block's output (off by ${error})`);
  return { stages, y };
}

// The steps and the block add in the same order, but fuse differently.
const SAME = 1e-5;
// What enters a norm is a sum of larger terms, whose rounding it has.
const TERMS = 4;

/**
 * @param an an instance; the caller's scope frees what is made here
 * @param block the block whose parameters are used
 * @param x tensor [1, rows, d_model]
 * @returns {{ stages: Record<string, Tensor>, y: Tensor, amplified: number, back: (dy: Tensor) =>
 *   { edges: Record<string, number>, dx: Tensor } }} amplified: of how large a number the result has the rounding, where a
 *   norm over tokens has divided by the little that sets them apart; edges: the gradient's Euclidean norm by every stage,
 *   and where the branches leave the stream (enter, mixing_enter), along the stream beside them (skip, mixing_skip), by
 *   gate, query, key and others between
 */
export function trace(an, block, x) {
  const stages = { x };
  const edges = {};
  const noted = (name, gradient) => {
    edges[name] = normOf(gradient);
    return gradient;
  };
  // Where the gradient is looked at on its way back, and where the signal is too.
  const note = (name) => (signal) => ({ y: signal, back: (gradient) => noted(name, gradient) });
  const look = (name) => (signal) => {
    stages[name] = signal;
    return note(name)(signal);
  };
  let amplified = 0;
  const divided = (by, values) => {
    const before = amplified;
    const of = (value, i) => (before + TERMS * Math.abs(value)) * by[i % by.length];
    const sizes = Array.from(values, of).filter(Number.isFinite); // NaN in the input has no rounding
    amplified = sizes.reduce((most, size) => Math.max(most, size), 0);
  };
  const make = stepsOf(an, block, { note, noted, look, divided });

  const sublayer = (prefix, branch, leaves) => (input) => {
    const { before, after, alpha, post } = make.around(prefix);
    const added = chain(...before.flatMap((step) => [step, look(`${prefix}norm`)]), branch, ...after);
    const looked = chain(added, look(`${prefix}branch`))(input);
    const sum = block.config.residual ? an.add(input, looked.y, { alpha }) : looked.y;
    const rest = chain(...(post ? [look(`${prefix}sum`), post] : []), look(leaves))(sum);
    const back = (dy) => {
      const dSum = rest.back(dy);
      const enter = noted(`${prefix}enter`, looked.back(dSum));
      if (!block.config.residual) return enter;
      const skip = noted(`${prefix}skip`, alpha === 1 ? dSum : make.times(alpha)(input).back(dSum));
      return an.add(skip, enter);
    };
    return { y: rest.y, back };
  };

  const mixes = block.config.mixing !== 'none';
  const layers = [...(mixes ? [sublayer('mixing_', make.mixing(), 'middle')] : []), sublayer('', make.ffn(), 'y')];
  const whole = chain(...layers)(x);
  return {
    stages,
    y: whole.y,
    amplified,
    back: (dy) => {
      const dx = noted('x', whole.back(dy));
      return { edges, dx };
    },
  };
}

function normOf(tensor) {
  let sum = 0;
  for (const value of tensor.toArray()) sum += value * value;
  return Math.sqrt(sum);
}

// The steps of a block with its parameters.
function stepsOf(an, block, { note, noted, look, divided }) {
  const { parameters, config: values } = block;
  const { placement, d_model } = values;
  const alone = (make) => an.scope(make);

  const linear = (name) => {
    const weight = parameters[name];
    const options = { bias: parameters[`${name}_bias`] };
    return (x) => ({
      y: an.linear(x, weight, options),
      back: (dy) => alone(() => an.linearBackward(x, weight, dy, options).dx),
    });
  };
  const norm = (prefix) => {
    const options = normOptions(an, values, prefix, parameters);
    const back = (x) => (dy) => alone(() => an.normBackward(values.norm, x, dy, options).dx);
    if (!OVER_TOKENS.includes(values.norm)) return (x) => ({ y: an.norm(values.norm, x, options), back: back(x) });
    return (x) => {
      const { y, rstd } = an.norm(values.norm, x, { ...options, stats: true });
      divided(rstd.toArray(), x.toArray());
      return { y, back: back(x) };
    };
  };
  const times = (factor) => {
    const scaled = (x) => alone(() => an.add(x, an.zeros(x.shape), { alpha: factor }));
    return (x) => ({ y: scaled(x), back: scaled });
  };
  // The gate `identity` multiplies element by element.
  const timesRow = (row) => {
    const product = (x) => alone(() => an.glu('identity', x, an.tensor(repeated(row.toArray(), x.size), x.shape)));
    return (x) => ({ y: product(x), back: product });
  };

  /** What a placement has before and behind the branch, and on the stream. */
  const around = (prefix) => {
    const has = values.norm !== 'none';
    const is = (...placements) => placements.includes(placement);
    const scale = parameters[`${prefix}scale`];
    const before = has && is('pre', 'peri', 'lns', 'layer_scale') ? [norm(`${prefix}norm`)] : [];
    if (placement === 'lns') before.push(note(`${prefix}unscaled`), times(1 / Math.sqrt(values.layer)));
    const after = [];
    if (has && is('peri')) after.push(norm(`${prefix}norm2`));
    if (has && is('output')) after.push(norm(`${prefix}norm`));
    if (is('rezero')) after.push(times(scale.toArray()[0]));
    if (is('layer_scale')) after.push(timesRow(scale));
    return {
      before: before.length > 1 ? [chain(...before)] : before,
      after,
      alpha: is('deepnorm') ? values.alpha : 1,
      post: is('post', 'deepnorm') && (has ? norm(`${prefix}norm`) : (x) => ({ y: x, back: (dy) => dy })),
    };
  };

  const activationOptions = () => {
    const { params } = an.activations.find(({ name }) => name === values.activation);
    const given = [values.activation_p0, values.activation_p1];
    return Object.fromEntries(params.map(({ name }, i) => [name, given[i]]));
  };

  const ffn = () => {
    const options = activationOptions();
    const name = values.activation;
    const dense = chain(linear('up'), look('up'), (up) => ({
      y: an.activation(name, up, options),
      back: (dy) => an.activationBackward(name, up, dy, options),
    }));
    const gated = (x) => {
      const up = chain(linear('up'), look('up'))(x);
      const gate = linear('gate')(x);
      const back = (dy) => {
        const { dGate, dUp } = an.gluBackward(name, gate.y, up.y, dy, options);
        noted('activated', an.glu('identity', up.y, dy));
        return an.add(gate.back(noted('gate', dGate)), up.back(dUp));
      };
      return { y: an.glu(name, gate.y, up.y, options), back };
    };
    return chain(values.gated ? gated : dense, look('hidden'), linear('down'), look('down'));
  };

  const mixing = () => {
    const last = [look('mixed'), linear('out'), look('out')];
    if (values.mixing === 'attention') return chain(attention(an, block, linear, note), ...last);
    return chain(mean(an, values.causal, d_model), note('mean'), linear('value'), ...last);
  };

  return { around, ffn, mixing, times };
}

// Norms whose statistics are of a feature's tokens.
const OVER_TOKENS = ['batch_norm', 'instance_norm'];

function normOptions(an, values, prefix, parameters) {
  const { kind } = an.norms.find(({ name }) => name === values.norm);
  const options = { weight: parameters[`${prefix}_weight`], bias: parameters[`${prefix}_bias`] };
  if (values.norm === 'dyt') options.alpha = parameters[`${prefix}_alpha`];
  else options.eps = values.eps;
  if (values.weight_offset !== 0) options.weightOffset = values.weight_offset;
  if (kind === 'group') options.groups = values.groups;
  if (kind === 'batch') options.training = true;
  return options;
}

/** The largest |a - b|, 0 where both are not finite alike, and the largest finite |b|. */
function apart(a, b) {
  let error = 0;
  let largest = 0;
  for (let i = 0; i < b.length; i++) {
    if (Number.isFinite(b[i])) largest = Math.max(largest, Math.abs(b[i]));
    if (Object.is(a[i], b[i])) continue;
    error = Math.max(error, Number.isNaN(a[i] - b[i]) ? Infinity : Math.abs(a[i] - b[i]));
  }
  return { error, largest };
}

/** The largest |a - b| relative to the largest |b|. */
export function distance(a, b) {
  const { error, largest } = apart(a, b);
  return error === 0 ? 0 : error / (largest || 1);
}

export const summarizeStages = (stages) =>
  Object.fromEntries(Object.entries(stages).map(([name, tensor]) => [name, summarize(tensor.toArray())]));
