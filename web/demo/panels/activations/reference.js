// The activations in double precision, at default parameters: what errors of float32 are measured against. Forms that
// cancel are avoided; their own error is below a millionth of a float32's last place. Independent of the package.

const { abs, exp, expm1, log1p, max, min, PI, sqrt, tanh } = Math;

const ROOT_2_PI = sqrt(2 * PI);
const density = (x) => exp(-0.5 * x * x) / ROOT_2_PI;
const FROM = 3; // where the fraction takes over from the series

// P(0 < normal < x): x³/3, x⁵/15, ...: all terms of one sign, nothing cancels.
function middle(x) {
  let term = x;
  let sum = x;
  for (let n = 3; abs(term) > 1e-18 * abs(sum); n += 2) {
    term *= (x * x) / n;
    sum += term;
  }
  return density(x) * sum;
}

// P(normal > x) for x >= 3: Laplace's continued fraction, exact to the last bits after 60 steps.
function tail(x) {
  let fraction = x;
  for (let n = 60; n > 0; n--) fraction = x + n / fraction;
  return density(x) / fraction;
}

/** P(normal < x). x * x is exact for a float32, so the exponential is right far into the tail. */
export function normal(x) {
  if (abs(x) < FROM) return 0.5 + middle(x);
  return x < 0 ? tail(-x) : 1 - tail(x);
}

/** erf in double precision, for a double. */
export function erf(z) {
  const x = z * Math.SQRT2;
  if (abs(x) < FROM) return 2 * middle(x);
  return z < 0 ? 2 * tail(-x) - 1 : 1 - 2 * tail(x);
}

const sigmoid = (x) => (x >= 0 ? 1 / (1 + exp(-x)) : exp(x) / (1 + exp(x)));
const softplus = (x) => max(x, 0) + log1p(exp(-abs(x)));
const negative = (x, below) => (x < 0 ? below : x);

function mish(x) {
  if (x > 40) return x; // 1 - tanh is below 2^-110
  const n = exp(x) * (exp(x) + 2);
  return x * (n / (n + 2));
}

/** x·Φ(x), what the others approximate. */
export const gelu = (x) => x * normal(x);

const ALPHA = 1.6732632423543772;
const GAMMA = 1.0507009873554805;

/** By activation: a function of a finite float32. */
export const REFERENCE = {
  relu: (x) => negative(x, 0),
  leaky_relu: (x) => negative(x, 0.01 * x),
  relu_squared: (x) => negative(x, 0) * x,
  elu: (x) => negative(x, expm1(x)),
  selu: (x) => GAMMA * negative(x, ALPHA * expm1(x)),
  celu: (x) => negative(x, expm1(x)),
  gelu_erf: gelu,
  gelu_tanh: (x) => x * sigmoid(2 * sqrt(2 / PI) * (x + 0.044715 * x * x * x)),
  gelu_quick: (x) => x * sigmoid(1.702 * x),
  silu: (x) => x * sigmoid(x),
  swish: (x) => x * sigmoid(x),
  mish,
  softplus,
  softsign: (x) => x / (1 + abs(x)),
  hard_sigmoid: (x) => max(0, min(1, 0.2 * x + 0.5)),
  hard_swish: (x) => (x <= -3 ? -0 : x >= 3 ? x : (x * (x + 3)) / 6),
  sigmoid,
  log_sigmoid: (x) => -softplus(-x),
  tanh,
  identity: (x) => x,
  softcap: (x) => 30 * tanh(x / 30),
};
