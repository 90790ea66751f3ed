// The stack that stands for a configuration: its block, as many times as the panel says, narrower where it is too wide for
// a browser to hold so many; and the tokens that go through. No DOM.
import { rowsWithin } from '../../compute.js';
import { completed, STACK_FIELDS, stackOf } from '../../fields.js';

/** Weights of one stack: with gradients and packed copies about 21 bytes each, 170 MB. */
export const MAX_WEIGHTS = 2 ** 23;
/**
 * Operations of one pass there and back. It is one call, which nothing interrupts: 0.2 to 0.3 s where products of
 * matrices reach 30 GFLOP/s.
 */
export const MAX_WORK = 6e9;
// What is done beside those to each weight, to each element, and with attention to each pair of tokens in each head: in
// operations of a product that take as long.
const WEIGHT = 200;
const ELEMENT = 1000;
const SCORE = 1000;
// How much slower a build is.
const SLOWER = { scalar: 4 };
// What acts in training alone.
const TRAINING = ['dropout', 'residual_dropout', 'momentum'];
const MIXING_MATRICES = { none: 0, mean: 2, attention: 4 };

/**
 * @param {object} own the configuration's fields
 * @param {{ depth: number, width: number, residual: string, mixing: string }} job
 * @param {object[]} fields an.fields
 * @returns {{ config: object, d_model: number, d_ff: number, full: { d_model: number, d_ff: number }, weights: number,
 *   rescaled: boolean, held: boolean }} config for an.stack and an.theory; rescaled: init_std is that of the narrower
 *   block; held: or as near to it as the field's range allows
 */
export function fitted(own, { depth, width, residual, mixing }, fields) {
  const values = { ...completed(own, fields), depth };
  if (residual !== 'own') values.residual = residual === 'on';
  if (mixing !== 'own') values.mixing = mixing;
  const full = { d_model: values.d_model, d_ff: values.d_ff ?? 4 * values.d_model };
  const d_model = fittingWidth(values, full, width);
  const d_ff = d_model === full.d_model ? full.d_ff : Math.max(1, Math.round((full.d_ff * d_model) / full.d_model));
  const rescaled = d_model !== full.d_model && ['normal', 'gpt2'].includes(values.init);
  const changed = { d_model, d_ff, groups: fittingGroups(values, d_model), heads: fittingHeads(values, d_model) };
  // Pre-activations keep their size: their variance is d_model times that of the weights.
  const std = rescaled && rescaledStd(values.init_std, full.d_model / d_model, fields);
  if (rescaled) changed.init_std = std.value;
  const given = Object.entries({ ...values, ...changed }).filter(
    // The stream itself is the input; null is AUTO.
    ([name, value]) =>
      value !== null && !TRAINING.includes(name) && (name === 'final_norm' || !STACK_FIELDS.includes(name)),
  );
  const config = stackOf(Object.fromEntries(given));
  return {
    config,
    d_model,
    d_ff,
    full,
    weights: depth * layerWeights(values, { d_model, d_ff }),
    rescaled,
    held: rescaled && std.held,
  };
}

// One that is out of range stays as it is, and the stack says why.
function rescaledStd(own, ratio, fields) {
  const { min, max } = fields.find(({ name }) => name === 'init_std');
  if (own < min || own > max) return { value: own, held: false };
  const wanted = own * Math.sqrt(ratio);
  return { value: Math.min(max, wanted), held: wanted > max };
}

/**
 * The tokens that every stack gets: as many sequences as asked for, fewer where one pass of the largest stack would take
 * too long, and shorter ones where even one would.
 * @param {{ sequences: number, length: number }} asked
 * @param {{ config: object, d_model: number, d_ff: number, weights: number }[]} plan as fitted() gives them
 * @param {string} [variant] the build that runs
 */
export function tokensWithin({ sequences, length }, plan, variant) {
  const most = (of) => Math.max(0, ...plan.map(of).filter(Number.isFinite)); // what has no size is refused by itself
  const left = MAX_WORK - WEIGHT * most(({ weights }) => weights);
  const limit = Math.max(0, left) / (SLOWER[variant] ?? 1);
  const flopsPerRow = most(
    ({ config, d_model, d_ff, weights }) => 6 * weights + ELEMENT * config.depth * (d_model + d_ff),
  );
  const flopsPerPair = most(pairWork);
  const fitting = Math.floor(limit / (length * (flopsPerRow + flopsPerPair * length)));
  if (fitting >= 1) return { sequences: Math.min(sequences, fitting), length };
  return { sequences: 1, length: rowsWithin(length, { flopsPerRow, flopsPerPair }, limit) };
}

function pairWork({ config: { mixing, depth, heads }, d_model }) {
  if (mixing !== 'attention') return 0;
  const count = heads ?? (d_model % 64 === 0 ? d_model / 64 : 1); // as AUTO has it
  return depth * (12 * d_model + SCORE * count);
}

const layerWeights = ({ gated, mixing }, { d_model, d_ff }) =>
  d_model * d_ff * (gated ? 3 : 2) + d_model * d_model * (MIXING_MATRICES[mixing] ?? 0);

/** The width asked for, the block's own if that is less, and less still where so many blocks would not fit. */
function fittingWidth(values, full, width) {
  const wanted = Math.min(full.d_model, width);
  const perSquare = layerWeights(values, full) / full.d_model ** 2;
  const most = Math.sqrt(MAX_WEIGHTS / (values.depth * perSquare));
  if (!(wanted > most)) return wanted; // also where there is no telling, since the stack refuses these sizes
  return Math.max(1, most >= 16 ? 8 * Math.floor(most / 8) : Math.floor(most));
}

const divisorBelow = (d, limit) => {
  for (let n = Math.min(d, Math.floor(limit)); n > 1; n--) if (d % n === 0) return n;
  return 1;
};

// As many groups as divide the width. What does not divide the block's own width is an error, which the stack reports.
function fittingGroups({ d_model, groups }, d) {
  return d === d_model || d_model % groups !== 0 ? groups : divisorBelow(d, groups);
}

// Heads as wide as they are.
function fittingHeads({ d_model, heads }, d) {
  return heads === null || d === d_model || d_model % heads !== 0 ? heads : divisorBelow(d, d / (d_model / heads));
}
