// The kernels of a block as subjects for measure(): each alone, with the shapes that it has in the block. No DOM.
import { blockOf } from '../../fields.js';

const FFN = ['d_model', 'd_ff', 'gated', 'bias'];
const pick = (values, names) => Object.fromEntries(names.map((name) => [name, values[name]]));
const F32 = 4;
/** A block to be timed: its weights are of no account, and uniform ones are drawn several times as fast as normal ones. */
export const blockToTime = (an, fields) => an.block({ ...blockOf(fields), init: 'pytorch' }, { seed: 1 });

/**
 * @param an an instance, in whose scope all is made
 * @param fields a configuration's fields
 * @param {number} rows tokens of one sequence
 * @returns {{ name: string, run: () => void, calls: number, flops?: number, bytes?: number }[]}
 *   calls: how often it runs in the sublayer; the first is the whole block
 */
export function partsOf(an, fields, rows) {
  const block = blockToTime(an, fields);
  const values = block.config;
  const { d_model, d_ff, gated, mixing, residual, norm, placement } = values;
  const x = an.random([1, rows, d_model], { seed: 1 });
  const hidden = an.random([1, rows, d_ff], { seed: 2 });
  const narrow = F32 * rows * d_model;
  const wide = F32 * rows * d_ff;
  const forward = (module) => () => module.forward(x).dispose();
  const subjects = [{ name: 'block', run: forward(block), calls: 1 }];
  const add = (name, run, more) => subjects.push({ name, run, calls: 1, ...more });

  if (mixing !== 'none') add('unmixed', forward(blockToTime(an, { ...fields, mixing: 'none' })));
  const norms = norm === 'none' || ['none', 'rezero'].includes(placement) ? 0 : placement === 'peri' ? 2 : 1;
  if (norms > 0) add('norm', normRun(an, values, x), { calls: norms, bytes: 2 * narrow });
  const products = an.ffn({ ...pick(values, FFN), activation: 'identity', init: 'pytorch' }, { seed: 1 });
  add('products', forward(products), { flops: 2 * rows * d_model * d_ff * (gated ? 3 : 2) });
  add('activation', activationRun(an, values, hidden), { bytes: (gated ? 3 : 2) * wide });
  if (residual) add('add', () => an.add(x, x).dispose(), { bytes: 3 * narrow });
  return subjects;
}

function normRun(an, { norm, eps, groups, d_model }, x) {
  const { kind } = an.norms.find(({ name }) => name === norm);
  const row = () => an.tensor(new Float32Array(d_model).fill(1), [d_model]);
  const options = { weight: row(), ...(norm === 'dyt' ? {} : { eps }) };
  if (kind === 'group') options.groups = groups;
  if (kind === 'batch') Object.assign(options, { training: false, runningMean: row(), runningVar: row() });
  return () => an.norm(norm, x, options).dispose();
}

function activationRun(an, { activation, activation_p0, activation_p1, gated }, hidden) {
  const { params } = an.activations.find(({ name }) => name === activation);
  const given = [activation_p0, activation_p1];
  const options = Object.fromEntries(params.map(({ name }, i) => [name, given[i]]));
  return gated
    ? () => an.glu(activation, hidden, hidden, options).dispose()
    : () => an.activation(activation, hidden, options).dispose();
}

/** The two norms that are compared, at a shape. */
export function rivalsOf(an, rows, d) {
  const x = an.random([rows, d], { seed: 1 });
  const weight = an.tensor(new Float32Array(d).fill(1), [d]);
  const bias = an.zeros([d]);
  return [
    { name: 'layer_norm', run: () => an.norm('layer_norm', x, { weight, bias }).dispose() },
    { name: 'rms_norm', run: () => an.norm('rms_norm', x, { weight }).dispose() },
  ];
}

/**
 * What measure() gave, by part: { block, parts: [{ name, calls, flops, bytes, ...times of one call }] }. Mixing, the whole
 * sublayer before the FFN's, is what the block takes longer with it: a difference of medians, without a spread of its own, and
 * negative where it drowns in theirs.
 */
export function breakdown(subjects, times) {
  const all = subjects.map(({ run, ...subject }, i) => ({ ...subject, ...times[i] }));
  const [block, ...rest] = all;
  const unmixed = rest.find(({ name }) => name === 'unmixed');
  const parts = rest.filter(({ name }) => name !== 'unmixed');
  if (unmixed) parts.unshift({ name: 'mixing', calls: 1, median: block.median - unmixed.median, count: 0 });
  return { block, parts };
}
