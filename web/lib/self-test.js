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
 * In double precision from the definitions, by tests/js/self-test-reference.js.
 * @type {Readonly<Record<string, readonly number[]>>}
 */
export const expected = {
  gelu_erf: [
    -0.00580789528, 1.25872213, -0.0081943489, 2.35416062, -0.166938584, -0.169970514, 2.74180565, -0.0356857762,
    2.22249494, -0.0701035245,
  ],
  gelu_tanh: [
    -0.00535726805, 1.25848855, -0.00772314407, 2.35454459, -0.167047319, -0.170039445, 2.74227686, -0.0354804005,
    2.22279867, -0.0702046177,
  ],
  silu: [
    -0.153534573, 1.09750682, -0.165238288, 2.17288977, -0.257438101, -0.240615976, 2.58476171, -0.226717512, 2.0354637,
    -0.259082597,
  ],
  softplus: [
    0.0548821792, 1.60041265, 0.061967589, 2.46393947, 0.348444581, 0.386871006, 2.81196759, 0.112822279, 2.35020656,
    0.16022415,
  ],
  tanh: [
    -0.993654634, 0.8798267, -0.991859725, 0.982845029, -0.703905604, -0.635148952, 0.991859725, -0.971872746,
    0.978026115, -0.941375538,
  ],
  softmax: [
    0.00370104601, 0.259463356, 0.00419383456, 0.705294527, 0.0273472366, 0.0182409494, 0.604057283, 0.00461203427,
    0.366379263, 0.00671047027,
  ],
  layer_norm: [
    -1.0932845, 0.90519254, -1.03450576, 1.37542243, -0.152824714, -0.40509812, 1.31349996, -1.08026165, 1.06798595,
    -0.896126144,
  ],
  rms_norm: [
    -1.30884779, 0.625970684, -1.25194137, 1.08122209, -0.398344981, -0.36802194, 1.34941378, -1.04272883, 1.10406582,
    -0.858717859,
  ],
  linear: [1.59283797, 0.580029486, 7.640625, 6.5625, 0.892378636, 2.62969898],
  layer_norm_backward: [
    -0.816260572, -1.23835147, 1.76688162, 1.37436664, -1.08663621, -1.53813625, -1.95778036, -0.232293532, 2.56526281,
    1.16294733,
  ],
  block: [
    -131.65346, -0.46326851, 238.281969, 41.1111369, -48.5046496, -183.172714, 9.9839893, 261.0435, 57.8873273,
    -87.3660381,
  ],
};

/** Of the largest expected value: a few float32 roundings of sums of seven products. */
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
