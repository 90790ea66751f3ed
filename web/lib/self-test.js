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
 * The sum of all numbers, each with its weight: a wrong one changes it, and so do two that have changed places.
 * @param {ArrayLike<number>} values
 * @returns {number}
 */
export const checksum = (values) => Array.from(values).reduce((sum, value, i) => sum + (i + 10) * value, 0);

/** @typedef {import('./core.js').Addnorm} Addnorm */
/** @typedef {[name: string, sum: number, run: (an: Addnorm) => Float32Array]} Case */

const data = numbers(10);
const x = { data, shape: [2, 5] };
/** @type {(name: import('./types.js').ActivationName, sum: number) => Case} */
const activation = (name, sum) => [name, sum, (an) => an.activation(name, data)];

/**
 * Operations with the weighted sums of their results, in double precision from the definitions, by
 * tests/js/self-test-reference.js.
 * @type {readonly Case[]}
 */
export const cases = [
  activation('gelu_erf', 121.342097),
  activation('gelu_tanh', 121.3667),
  activation('silu', 98.8063308),
  activation('softplus', 153.866911),
  activation('tanh', -19.699443),
  ['softmax', 29.2323846, (an) => an.softmax(x)],
  ['layer_norm', 1.12357939, (an) => an.norm('layer_norm', x)],
  ['rms_norm', -10.8455927, (an) => an.norm('rms_norm', x)],
  [
    'linear',
    251.24749,
    (an) => an.linear(x, { data: numbers(15, 3), shape: [3, 5] }, { bias: numbers(3, 5), activation: 'gelu_erf' }),
  ],
  [
    'layer_norm_backward',
    11.9971771,
    (an) => an.normBackward('layer_norm', x, numbers(10, 2), { weight: numbers(5, 6) }).dx,
  ],
  ['block', 2625.04254, runBlock],
];

/** Of the sum of magnitudes: a few float32 roundings of sums of seven products. */
const TOLERANCE = 3e-7;

/**
 * @param {Addnorm} an
 * @returns {import('./types.js').SelfTestReport}
 */
export function selfTest(an) {
  const checks = cases.map(([name, sum, run]) => {
    const results = run(an);
    const error = Math.abs(checksum(results) - sum);
    const tolerance = TOLERANCE * checksum(results.map(Math.abs));
    // Neither NaN nor Infinity passes.
    if (!(error < tolerance)) {
      throw new AddnormError(
        'SELF_TEST',
        `${name} is off by ${error}, more than ${tolerance}: variant '${an.variant}'`,
      );
    }
    return Object.freeze({ name, error, tolerance });
  });
  return Object.freeze({ variant: an.variant, checks: Object.freeze(checks) });
}

/** @param {Addnorm} an */
function runBlock(an) {
  const weights = { gate: numbers(35, 1), up: numbers(35, 2), down: numbers(35, 4), norm_weight: numbers(5, 6) };
  const block = an.block(
    { d_model: 5, d_ff: 7, activation: 'silu', gated: true, bias: false, norm: 'rms_norm' },
    { weights },
  );
  try {
    return block.forward(x);
  } finally {
    block.dispose();
  }
}
