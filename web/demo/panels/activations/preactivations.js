// What enters a configuration's activation: of its block, with its input, up to the first matrix. No DOM.
import { estimate, makeBlock, makeInput } from '../../compute.js';
import { completed } from '../../fields.js';
import { summarize } from '../../numbers.js';
import { distance, trace } from '../../trace.js';

/** So many values tell a share to a hundredth of a percent, and are sorted within a frame. */
export const MAX_VALUES = 1 << 18;
const MAX_BYTES = 128e6; // of weights; the steps of a larger block would hold them a second time
const SAME = 1e-5; // the steps and the block add in the same order, but fuse differently

/**
 * @param an an instance
 * @param {{ fields, trained }} config its fields, and the parameters of a trained model or undefined
 * @param {{ rows, seed, inputMean, inputStd, file }} given the input, as the other panels have it
 * @returns {{ sorted: Float32Array, summary, rows, gate: boolean, units: number }} the finite values in order
 */
export function preactivations(an, { fields, trained }, given) {
  const values = completed(fields, an.fields);
  const size = estimate(values);
  if (size.bytes > MAX_BYTES) throw Object.assign(new Error('too large'), { code: 'TOO_LARGE', bytes: size.bytes });
  const units = values.d_ff ?? 4 * values.d_model;
  const most = Math.max(1, Math.floor(MAX_VALUES / units));
  const input = makeInput(values, { ...given, rows: Math.min(given.rows, most) });
  const rows = Math.min(input.rows, most);
  const x = input.data.subarray(0, rows * values.d_model);
  const { block } = makeBlock(an, fields, given.seed, trained);
  try {
    const { data, gate } = traced(an, block, x.slice(), [1, rows, values.d_model]);
    const summary = summarize(data);
    const sorted = data.filter(Number.isFinite).sort();
    return { sorted, summary, rows, gate, units };
  } finally {
    block.dispose();
  }
}

// The steps are those of the block if they give its output.
function traced(an, block, data, shape) {
  return an.scope(() => {
    const x = an.tensor(data, shape);
    const { stages, y } = trace(an, block, x);
    const error = distance(y.toArray(), block.forward(x).toArray());
    if (error > SAME) throw new Error(`the steps do not give the block's output (distance ${error})`);
    const { gate, gate_bias: bias } = block.parameters;
    if (!gate) return { data: stages.up.toArray(), gate: false };
    const enters = stages.norm ?? stages.middle ?? stages.x; // the branch
    return { data: an.linear(enters, gate, { bias }).toArray(), gate: true };
  });
}
