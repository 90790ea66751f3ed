// The activations as their formulas are usually written down, computed in float32: every operation is rounded by
// Math.fround. exp, log, erf and tanh are the rounded doubles, better than a float library has them, so what is lost is
// lost by the formula.
import { erf } from './reference.js';

const f = Math.fround;
const exp = (x) => f(Math.exp(x));
const log = (x) => f(Math.log(x));
const tanh = (x) => f(Math.tanh(x));
const plusOne = (x) => f(1 + x);

const c = { root: f(Math.SQRT2), outer: f(Math.sqrt(2 / Math.PI)), cubic: f(0.044715), quick: f(1.702) };
const [alpha, gamma] = [f(1.6732632423543772), f(1.0507009873554805)];

const overOne = (x) => f(1 / plusOne(exp(-x)));
const divided = (x, by) => f(x / plusOne(exp(-by)));
const expm1 = (x) => f(exp(x) - 1);
const elu = (x) => (x < 0 ? expm1(x) : x);

function tanhByExp(x) {
  const e = exp(f(2 * x));
  return f(f(e - 1) / plusOne(e));
}

function geluTanh(x) {
  const cube = f(f(x * x) * x);
  const inner = f(c.outer * f(x + f(c.cubic * cube)));
  return f(f(0.5 * x) * plusOne(tanh(inner)));
}

/** By activation: [the formula, its function of a float32]. What is not here has no step that loses digits. */
export const NAIVE = {
  elu: [['eˣ − 1', elu]],
  celu: [['eˣ − 1', elu]],
  selu: [['γα(eˣ − 1)', (x) => (x < 0 ? f(gamma * f(alpha * expm1(x))) : f(gamma * x))]],
  gelu_erf: [['½x(1 + erf(x/√2))', (x) => f(f(0.5 * x) * plusOne(f(erf(f(x / c.root)))))]],
  gelu_tanh: [['½x(1 + tanh(…))', geluTanh]],
  gelu_quick: [['x/(1 + exp(−1.702x))', (x) => divided(x, f(c.quick * x))]],
  silu: [['x/(1 + e⁻ˣ)', (x) => divided(x, x)]],
  swish: [['x/(1 + e⁻ˣ)', (x) => divided(x, x)]],
  mish: [['x·tanh(log(1 + eˣ))', (x) => f(x * tanh(log(plusOne(exp(x)))))]],
  softplus: [['log(1 + eˣ)', (x) => log(plusOne(exp(x)))]],
  sigmoid: [
    ['1/(1 + e⁻ˣ)', overOne],
    ['eˣ/(1 + eˣ)', (x) => f(exp(x) / plusOne(exp(x)))],
  ],
  log_sigmoid: [
    ['−log(1 + e⁻ˣ)', (x) => -log(plusOne(exp(-x)))],
    ['log(1/(1 + e⁻ˣ))', (x) => log(overOne(x))],
  ],
  tanh: [
    ['(e²ˣ − 1)/(e²ˣ + 1)', tanhByExp],
    ['1 − 2/(e²ˣ + 1)', (x) => f(1 - f(2 / plusOne(exp(f(2 * x)))))],
  ],
  softcap: [['30 tanh(x/30) by exp', (x) => f(30 * tanhByExp(f(x / 30)))]],
};
