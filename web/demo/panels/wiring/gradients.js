// How large the gradient is at every line of a block's drawing. No DOM.
import { estimate, makeBlock, makeInput, rowsWithin } from '../../compute.js';
import { completed } from '../../fields.js';
import { trace } from '../../trace.js';

/** Bytes of weights up to which gradients are measured: they are held several times for that. */
export const MAX_BYTES = 64e6;
const MAX_ROWS = 256;
const MAX_FLOPS = 1.5e8; // of a forward
// The output's gradient is drawn apart from weights and inputs.
const STREAM = 3001;
// The steps and the block's backward add in other orders, and both lose digits where large numbers cancel.
const SAME = 1e-4;
const CANCELLED = 1e-6;

/**
 * @param an an instance
 * @param {object} fields of the block
 * @param {{ rows: number, seed: number, inputMean: number, inputStd: number, file: object | null }} input
 * @param {object[]} [trained] weights that replace the seeded ones
 * @returns {{ edges: Record<string, number>, rows: number }} norms relative to that of the output's gradient
 */
export function gradientsOf(an, fields, input, trained) {
  const size = estimate(completed(fields, an.fields));
  if (size.bytes > MAX_BYTES) throw tooLarge(size.bytes);
  const { block } = makeBlock(an, fields, input.seed, trained);
  try {
    const d = block.config.d_model;
    const most = rowsWithin(MAX_ROWS, size, MAX_FLOPS);
    const given = makeInput(block.config, input);
    const rows = Math.min(most, given.rows);
    const shape = [1, rows, d];
    return an.scope(() => {
      const x = an.tensor(given.data.slice(0, rows * d), shape);
      const dy = an.random(shape, { seed: input.seed, stream: STREAM });
      const { amplified, back } = trace(an, block, x);
      const { edges, dx } = back(dy);
      block.forward(x, { train: true });
      check(dx.toArray(), block.backward(dy).toArray(), edges, amplified);
      const whole = edges.y;
      return { edges: Object.fromEntries(Object.entries(edges).map(([name, norm]) => [name, norm / whole])), rows };
    });
  } finally {
    block.dispose();
  }
}

const tooLarge = (bytes) => Object.assign(new Error('too large'), { code: 'TOO_LARGE', detail: { bytes } });

function check(dx, want, edges, amplified) {
  const largest = (values) => values.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
  const error = largest(dx.map((value, i) => value - want[i]));
  const allowed = (SAME + CANCELLED * amplified) * largest(want) + CANCELLED * largest(Object.values(edges));
  if (error > allowed) throw new Error(`the steps do not give the block's gradient (off by ${error})`);
}
