// @ts-check
// A small workload with known results: an engine that compiles SIMD wrongly, as one phone once did, shows here.
import { AddnormError } from './errors.js';

/**
 * n numbers of both signs that are exact in float32.
 * @param {number} n
 * @param {number} [start]
 */
export const numbers = (n, start = 0) =>
  Float32Array.from({ length: n }, (_, i) => (((i + start) * (i + start + 5) * 37) % 47) / 8 - 2.875);

/**
 * In double precision from the definitions, by tests/js/self-test-reference.js; each with seven digits of its largest.
 * @type {Readonly<Record<string, readonly number[]>>}
 */
export const expected = {
  gelu_erf: [-0.005808, 1.258722, -0.008194, 2.354161, -0.166939, -0.169971, 2.741806, -0.035686, 2.222495, -0.070104],
  gelu_tanh: [-0.005357, 1.258489, -0.007723, 2.354545, -0.167047, -0.170039, 2.742277, -0.03548, 2.222799, -0.070205],
  silu: [-0.153535, 1.097507, -0.165238, 2.17289, -0.257438, -0.240616, 2.584762, -0.226718, 2.035464, -0.259083],
  softplus: [0.054882, 1.600413, 0.061968, 2.463939, 0.348445, 0.386871, 2.811968, 0.112822, 2.350207, 0.160224],
  tanh: [
    -0.9936546, 0.8798267, -0.9918597, 0.982845, -0.7039056, -0.635149, 0.9918597, -0.9718727, 0.9780261, -0.9413755,
  ],
  softmax: [0.003701, 0.2594634, 0.0041938, 0.7052945, 0.0273472, 0.0182409, 0.6040573, 0.004612, 0.3663793, 0.0067105],
  layer_norm: [-1.093284, 0.905193, -1.034506, 1.375422, -0.152825, -0.405098, 1.3135, -1.080262, 1.067986, -0.896126],
  rms_norm: [-1.308848, 0.625971, -1.251941, 1.081222, -0.398345, -0.368022, 1.349414, -1.042729, 1.104066, -0.858718],
  linear: [1.592838, 0.580029, 7.640625, 6.5625, 0.892379, 2.629699],
  layer_norm_backward: [
    -0.816261, -1.238351, 1.766882, 1.374367, -1.086636, -1.538136, -1.95778, -0.232294, 2.565263, 1.162947,
  ],
  block: [-131.6535, -0.4633, 238.282, 41.1111, -48.5046, -183.1727, 9.984, 261.0435, 57.8873, -87.366],
};

/** Of the largest expected value: a few float32 roundings of sums of seven products, and that of the literals. */
const TOLERANCE = 1e-6;

/**
 * @param {import('./index.js').Addnorm} an
 * @returns {import('./types.js').SelfTestReport}
 */
export function selfTest(an) {
  const data = numbers(10);
  const x = { data, shape: [2, 5] };
  /** @type {[string, () => Float32Array][]} */
  const runs = [
    .../** @type {const} */ (['gelu_erf', 'gelu_tanh', 'silu', 'softplus', 'tanh']).map(
      (name) => /** @type {[string, () => Float32Array]} */ ([name, () => an.activation(name, data)]),
    ),
    ['softmax', () => an.softmax(x)],
    ['layer_norm', () => an.norm('layer_norm', x)],
    ['rms_norm', () => an.norm('rms_norm', x)],
    [
      'linear',
      () => an.linear(x, { data: numbers(15, 3), shape: [3, 5] }, { bias: numbers(3, 5), activation: 'gelu_erf' }),
    ],
    ['layer_norm_backward', () => an.normBackward('layer_norm', x, numbers(10, 2), { weight: numbers(5, 6) }).dx],
    ['block', () => runBlock(an, x)],
  ];
  const checks = runs.map(([name, run]) => {
    const want = expected[name];
    const tolerance = TOLERANCE * Math.max(...want.map(Math.abs));
    const error = run().reduce((most, got, i) => Math.max(most, Math.abs(got - want[i])), 0);
    // A NaN is carried through the maximum and must not pass either.
    if (!(error <= tolerance)) {
      throw new AddnormError(
        'SELF_TEST',
        `${name} is off by ${error}, more than ${tolerance}: variant '${an.variant}'`,
      );
    }
    return Object.freeze({ name, error, tolerance });
  });
  return Object.freeze({ variant: an.variant, checks: Object.freeze(checks) });
}

/**
 * @param {import('./index.js').Addnorm} an
 * @param {import('./types.js').Shaped} x
 */
function runBlock(an, x) {
  const config = /** @type {const} */ ({
    d_model: 5,
    d_ff: 7,
    activation: 'silu',
    gated: true,
    bias: false,
    norm: 'rms_norm',
  });
  const [gate, up, down] = [numbers(35, 1), numbers(35, 2), numbers(35, 4)];
  const block = an.block(config, { weights: { gate, up, down, norm_weight: numbers(5, 6) } });
  try {
    return block.forward(x);
  } finally {
    block.dispose();
  }
}
