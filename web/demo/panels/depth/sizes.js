// The stack that stands for a configuration: its block, as many times as the panel says, narrower where it is too wide for
// a browser to hold so many. No DOM.
import { completed, STACK_FIELDS, stackOf } from '../../fields.js';

/** Weights of one stack: with gradients and packed copies about 21 bytes each, 170 MB. */
export const MAX_WEIGHTS = 2 ** 23;
// What acts in training alone.
const TRAINING = ['dropout', 'residual_dropout', 'momentum'];
const MIXING_MATRICES = { none: 0, mean: 2, attention: 4 };

/**
 * @param {object} own the configuration's fields
 * @param {{ depth: number, width: number, residual: string, mixing: string }} job
 * @param {object[]} fields an.fields
 * @returns {{ config: object, d_model: number, d_ff: number, full: { d_model: number, d_ff: number }, weights: number,
 *   rescaled: boolean }} config for an.stack and an.theory; rescaled: init_std is that of the narrower block
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
  if (rescaled) changed.init_std = values.init_std * Math.sqrt(full.d_model / d_model);
  const given = Object.entries({ ...values, ...changed }).filter(
    // The stream itself is the input; null is AUTO.
    ([name, value]) =>
      value !== null && !TRAINING.includes(name) && (name === 'final_norm' || !STACK_FIELDS.includes(name)),
  );
  const config = stackOf(Object.fromEntries(given));
  return { config, d_model, d_ff, full, weights: depth * layerWeights(values, { d_model, d_ff }), rescaled };
}

const layerWeights = ({ gated, mixing }, { d_model, d_ff }) =>
  d_model * d_ff * (gated ? 3 : 2) + d_model * d_model * MIXING_MATRICES[mixing];

/** The width asked for, the block's own if that is less, and less still where so many blocks would not fit. */
function fittingWidth(values, full, width) {
  const wanted = Math.min(full.d_model, width);
  const perSquare = layerWeights(values, full) / full.d_model ** 2;
  const most = Math.sqrt(MAX_WEIGHTS / (values.depth * perSquare));
  if (wanted <= most) return wanted;
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
