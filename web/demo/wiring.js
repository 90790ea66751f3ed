// The drawing of a block as a plain structure: what follows what, from bottom to top. No DOM.
//
// A step is { id, shape, field, label, edge }: id is its own in a block, so that two blocks can be compared; edge is what
// trace.js calls the gradient by its result, which is the line above it.
import { hasNorm } from './fields.js';
import { fieldValue } from './format.js';
import { activationName, normName } from './names.js';

const NORMS_INPUT = ['pre', 'peri', 'lns', 'layer_scale'];

// 2.21, 1e-4
export const short = (value) => fieldValue(Number(value.toPrecision(3)));

/**
 * @param {object} values every field, with what auto stands for
 * @param {object} words texts.wiring
 * @returns {{ prefix: string, branch: object[], stream: object[], alpha: object | null, residual: object | null,
 *   leaves: string }[]} the sublayers, from bottom to top. leaves: the edge above it
 */
export function diagramOf(values, words) {
  const mixes = values.mixing !== 'none';
  const one = (prefix, leaves, branch) => ({ prefix, leaves, ...around(values, words, prefix, branch) });
  return [
    ...(mixes ? [one('mixing_', 'middle', mixing(values, words))] : []),
    one('', 'y', feedForward(values, words)),
  ];
}

// What a placement has before and behind the branch, on the stream and beside it.
function around(values, words, prefix, inner) {
  const { placement } = values;
  const at = (...placements) => placements.includes(placement);
  const has = hasNorm(values);
  const norm = (id, edge, suffix = '') => ({
    id: `${prefix}${id}`,
    shape: 'box',
    field: 'norm',
    label: `${normName(values.norm)}${suffix}`,
    edge: `${prefix}${edge}`,
  });
  const scale = (id, field, label, edge) => ({
    id: `${prefix}${id}`,
    shape: 'scale',
    field,
    label,
    edge: `${prefix}${edge}`,
  });
  const before = [];
  if (has && NORMS_INPUT.includes(placement)) {
    before.push(norm('norm', at('lns') ? 'unscaled' : 'norm', at('peri') ? ' 1' : ''));
  }
  if (at('lns')) before.push(scale('lns', 'layer', `÷ √${values.layer}`, 'norm'));

  const after = [];
  if (values.residual_dropout > 0) {
    const label = words.dropout(short(values.residual_dropout));
    after.push({ id: `${prefix}drop`, shape: 'dashed', field: 'residual_dropout', label, edge: inner.at(-1).edge });
  }
  if (has && at('peri')) after.push(norm('norm2', 'branch', ' 2'));
  if (has && at('output')) after.push(norm('norm', 'branch'));
  if (at('rezero')) after.push(scale('scale', 'alpha', `× a = ${short(values.alpha)}`, 'branch'));
  if (at('layer_scale')) after.push(scale('scale', 'alpha', `⊙ γ = ${short(values.alpha)}`, 'branch'));
  return {
    branch: [...before, ...inner, ...after],
    // Its edge is the sublayer's own.
    stream: has && at('post', 'deepnorm') ? [norm('stream_norm', '')] : [],
    alpha: at('deepnorm') && values.residual ? scale('alpha', 'alpha', `× α = ${short(values.alpha)}`, 'sum') : null,
    residual: values.residual ? { id: `${prefix}residual`, field: 'residual', label: '+' } : null,
  };
}

// Matrices whose initial weights are scaled.
const byBeta = ({ beta }) => (beta === 1 ? '' : ' ×β');

function feedForward(values, words) {
  const { d_model: d, d_ff: ff, gated } = values;
  const scaled = byBeta(values);
  const name = activationName(values.activation);
  const act = { id: 'activation', field: 'activation', label: name, edge: 'hidden' };
  const sizes = `${d}→${ff}`;
  const matrix = (id, label, edge) => ({
    id,
    field: gated ? 'gated' : 'd_ff',
    label,
    edge,
    ...(gated && { full: sizes }),
  });
  const steps = gated
    ? [
        {
          id: 'gates',
          shape: 'gates',
          gate: matrix('gate', `${words.gate}${scaled}`, 'gate'),
          up: matrix('up', `${words.up}${scaled}`, 'up'),
          activation: act,
          edge: 'hidden',
        },
      ]
    : [
        { ...matrix('up', `${words.up} ${d}→${ff}${scaled}`, 'up'), shape: 'widen' },
        { ...act, shape: 'box', wide: true },
      ];
  if (values.dropout > 0) {
    const label = words.dropout(short(values.dropout));
    steps.push({ id: 'hidden_drop', shape: 'dashed', wide: true, field: 'dropout', label, edge: 'hidden' });
  }
  steps.push({ id: 'down', shape: 'narrow', field: 'd_ff', label: `${words.down} ${ff}→${d}${scaled}`, edge: 'down' });
  return steps;
}

function mixing(values, words) {
  const { d_model: d, heads, causal, qk_norm } = values;
  const scaled = byBeta(values);
  const out = { id: 'out', shape: 'box', field: 'mixing', label: `${words.out} ${d}→${d}${scaled}`, edge: 'out' };
  if (values.mixing === 'mean') {
    return [
      { id: 'mean', shape: 'box', field: 'mixing', label: words.mean, causal, edge: 'mean' },
      { id: 'value', shape: 'box', field: 'mixing', label: `${words.value} ${d}→${d}${scaled}`, edge: 'mixed' },
      out,
    ];
  }
  const lane = (id, label, edge) => ({ id, field: 'mixing', label, edge, full: `${d}→${d}` });
  return [
    {
      id: 'heads',
      shape: 'heads',
      lanes: [lane('query', 'Q', 'query'), lane('key', 'K', 'key'), lane('value', `V${scaled}`, 'value')],
      norm: qk_norm ? { id: 'qk_norm', field: 'qk_norm', label: 'RMS' } : null,
      attention: { id: 'attention', field: 'heads', label: words.heads(heads), causal },
      edge: 'mixed',
    },
    out,
  ];
}

/** Every part of a drawing that can be looked at by itself. */
export const partsOf = (sublayers) =>
  sublayers.flatMap(({ branch, stream, alpha, residual }) =>
    [...branch, ...stream, alpha, residual].filter(Boolean).flatMap((step) => {
      if (step.shape === 'gates') return [step.gate, step.up, step.activation];
      if (step.shape === 'heads') return [...step.lanes, step.norm, step.attention].filter(Boolean);
      return [step];
    }),
  );

const signature = ({ label, full, causal }) => JSON.stringify([label, full, Boolean(causal)]);

/**
 * What is other in a drawing than in the one that it is compared with.
 * @returns {{ changed: Set<string>, gone: string[] }} ids of the parts that are new or other, labels of those that
 *   are nowhere: a norm at another place has moved
 */
export function compare(drawing, reference) {
  const former = new Map(partsOf(reference).map((part) => [part.id, part]));
  const parts = partsOf(drawing);
  const own = new Set(parts.flatMap(({ id, label }) => [id, label]));
  return {
    changed: new Set(
      parts
        .filter(({ id, ...part }) => !former.has(id) || signature(former.get(id)) !== signature(part))
        .map(({ id }) => id),
    ),
    gone: [...former.values()].filter(({ id, label }) => !own.has(id) && !own.has(label)).map(({ label }) => label),
  };
}
