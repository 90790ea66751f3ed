// The block step by step through the package's public operations, to see what happens inside it. No DOM.
// The last step is compared with block.forward, so a wiring that is drawn wrongly cannot pass unseen.
import { summarize } from './numbers.js';

/** The places at which the signal is looked at, from bottom to top. A block has those of its placement. */
export const STAGES = ['x', 'norm', 'up', 'hidden', 'down', 'branch', 'sum', 'y'];

/**
 * @param an an instance; the caller's scope frees what is made here
 * @param block the block whose parameters are used
 * @param x tensor [1, rows, d_model]
 * @returns {{ stages: Record<string, Tensor>, y: Tensor }}
 */
export function trace(an, block, x) {
  const { parameters, buffers, config: values } = block;
  const { activation, placement, residual } = values;
  const stages = { x };

  const norm = (input, prefix) => {
    if (values.norm === 'none') return input;
    const { kind } = an.norms.find(({ name }) => name === values.norm);
    const options = { weight: parameters[`${prefix}_weight`], bias: parameters[`${prefix}_bias`] };
    if (values.norm === 'dyt') options.alpha = parameters[`${prefix}_alpha`];
    else options.eps = values.eps;
    if (values.weight_offset !== 0) options.weightOffset = values.weight_offset;
    if (kind === 'group') options.groups = values.groups;
    if (kind === 'batch') {
      options.runningMean = buffers[`${prefix}_running_mean`];
      options.runningVar = buffers[`${prefix}_running_var`];
    }
    return an.norm(values.norm, input, options);
  };
  const scaled = (input, factor) => an.add(input, an.zeros(input.shape), { alpha: factor });

  let branch = x;
  if (['pre', 'peri', 'lns', 'layer_scale'].includes(placement)) {
    branch = norm(branch, 'norm');
    if (placement === 'lns') branch = scaled(branch, 1 / Math.sqrt(values.layer));
    if (branch !== x) stages.norm = branch;
  }

  const { params } = an.activations.find(({ name }) => name === activation);
  const given = [values.activation_p0, values.activation_p1];
  const options = Object.fromEntries(params.map(({ name }, i) => [name, given[i]]));
  const up = an.linear(branch, parameters.up, { bias: parameters.up_bias });
  stages.up = up;
  if (values.gated) {
    const gate = an.linear(branch, parameters.gate, { bias: parameters.gate_bias });
    stages.hidden = an.glu(activation, gate, up, options);
  } else {
    stages.hidden = an.activation(activation, up, options);
  }
  branch = an.linear(stages.hidden, parameters.down, { bias: parameters.down_bias });
  stages.down = branch;

  if (placement === 'peri') branch = norm(branch, 'norm2');
  if (placement === 'output') branch = norm(branch, 'norm');
  if (placement === 'rezero') branch = scaled(branch, parameters.scale.toArray()[0]);
  if (placement === 'layer_scale') branch = timesRow(an, branch, parameters.scale);
  stages.branch = branch;

  let y = branch;
  if (residual) y = an.add(x, branch, { alpha: placement === 'deepnorm' ? values.alpha : 1 });
  if (placement === 'post' || placement === 'deepnorm') {
    stages.sum = y;
    y = norm(y, 'norm');
  }
  stages.y = y;
  return { stages, y };
}

// x * row for every row: the gate `identity` multiplies element by element.
function timesRow(an, x, row) {
  const { shape } = x;
  const d = shape[shape.length - 1];
  const one = row.toArray();
  const all = new Float32Array(x.size);
  for (let i = 0; i < all.length; i += d) all.set(one, i);
  return an.glu('identity', x, an.tensor(all, shape));
}

/** The largest |a - b| relative to the largest |b|; 0 where both are not finite alike. */
export function distance(a, b) {
  let worst = 0;
  let scale = 0;
  for (let i = 0; i < b.length; i++) {
    if (Object.is(a[i], b[i])) continue;
    worst = Math.max(worst, Number.isNaN(a[i] - b[i]) ? Infinity : Math.abs(a[i] - b[i]));
  }
  if (worst === 0) return 0;
  for (let i = 0; i < b.length; i++) if (Number.isFinite(b[i])) scale = Math.max(scale, Math.abs(b[i]));
  return worst / (scale || 1);
}

export const summarizeStages = (stages) =>
  Object.fromEntries(Object.entries(stages).map(([name, tensor]) => [name, summarize(tensor.toArray())]));
