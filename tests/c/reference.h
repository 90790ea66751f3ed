/* The activations and their derivatives in double precision, written from their formulas and not from src/, with the
 * bound of each.
 *
 * Naive forms are avoided where they cancel (erfc, expm1 and log1p in their place). An error of d in the argument of an
 * exponential costs |v| * d, v being the exponent: with |v| <= 190 and d = 2^-52 that is 2^-20 ULP of a float at most.
 * Parameters are exact decimals, as a caller gives them, not what is left of them in a float.
 */
#ifndef AN_REFERENCE_H
#define AN_REFERENCE_H

#include <math.h>
#include <stddef.h>
#include <string.h>

static inline double reference_sigmoid(double v) {
  if (v >= 0) return 1 / (1 + exp(-v));
  const double e = exp(v);
  return e / (1 + e);
}
/* x * sigmoid(v), and the limit -0 or 0 where x is infinite and sigmoid vanishes faster. */
static inline double reference_gate(double x, double v) {
  if (isinf(x) && isinf(v) && v < 0) return copysign(0, x);
  return x * reference_sigmoid(v);
}

static inline double reference_relu(double x, double p0, double p1) {
  (void)p0, (void)p1;
  return x < 0 ? 0 : x;
}
static inline double reference_leaky_relu(double x, double p0, double p1) {
  (void)p1;
  return x < 0 ? p0 * x : x;
}
static inline double reference_relu_squared(double x, double p0, double p1) {
  (void)p0, (void)p1;
  return x < 0 ? 0 : x * x;
}
static inline double reference_elu(double x, double p0, double p1) {
  (void)p1;
  return x < 0 ? p0 * expm1(x) : x;
}
static inline double reference_selu(double x, double p0, double p1) { return p1 * (x < 0 ? p0 * expm1(x) : x); }
static inline double reference_celu(double x, double p0, double p1) {
  (void)p1;
  return x < 0 ? p0 * expm1(x / p0) : x; /* for x > 0 the second term of the formula is 0, whatever alpha's sign */
}
static inline double reference_gelu_erf(double x, double p0, double p1) {
  (void)p0, (void)p1;
  return isinf(x) ? (x > 0 ? x : -0.0) : 0.5 * x * erfc(-x * 0.70710678118654752440);
}
static inline double reference_gelu_tanh(double x, double p0, double p1) {
  (void)p0, (void)p1;
  const double root_2_over_pi = 0.79788456080286535588;
  return reference_gate(x, 2 * root_2_over_pi * (x + 0.044715 * x * x * x));
}
static inline double reference_gelu_quick(double x, double p0, double p1) {
  (void)p0, (void)p1;
  return reference_gate(x, 1.702 * x);
}
static inline double reference_silu(double x, double p0, double p1) {
  (void)p0, (void)p1;
  return reference_gate(x, x);
}
static inline double reference_swish(double x, double p0, double p1) {
  (void)p1;
  return p0 == 0 ? 0.5 * x : reference_gate(x, p0 * x);
}
static inline double reference_mish(double x, double p0, double p1) {
  (void)p0, (void)p1;
  if (x > 40) return x; /* 1 - tanh is below 2^-110 */
  if (isinf(x)) return -0.0;
  const double e = exp(x), n = e * (e + 2);
  return x * (n / (n + 2));
}
static inline double reference_softplus(double x, double p0, double p1) {
  (void)p1;
  const double v = p0 * x;
  return (fmax(v, 0) + log1p(exp(-fabs(v)))) / p0 + (isnan(x) ? x : 0);
}
static inline double reference_softsign(double x, double p0, double p1) {
  (void)p0, (void)p1;
  return isinf(x) ? copysign(1, x) : x / (1 + fabs(x));
}
static inline double reference_hard_sigmoid(double x, double p0, double p1) {
  /* fma: the sum may cancel to 2^-24, and then the product's rounding would be most of it */
  const double v = fma(p0, x, p1);
  return isnan(v) ? v : v <= 0 ? 0 : v >= 1 ? 1 : v;
}
static inline double reference_hard_swish(double x, double p0, double p1) {
  (void)p0, (void)p1;
  return x <= -3 ? -0.0 : x >= 3 ? x : x * (x + 3) / 6;
}
static inline double reference_act_sigmoid(double x, double p0, double p1) {
  (void)p0, (void)p1;
  return reference_sigmoid(x);
}
static inline double reference_log_sigmoid(double x, double p0, double p1) {
  (void)p0, (void)p1;
  return x < 0 ? x - log1p(exp(x)) : -log1p(exp(-x));
}
static inline double reference_tanh(double x, double p0, double p1) {
  (void)p0, (void)p1;
  return tanh(x);
}
static inline double reference_identity(double x, double p0, double p1) {
  (void)p0, (void)p1;
  return x;
}
static inline double reference_softcap(double x, double p0, double p1) {
  (void)p1;
  return p0 * tanh(x / p0);
}

/* Derivatives. At a kink they are what PyTorch has: its derivative from below for the relu family and the elu family, 0
 * at both ends of hard_sigmoid's ramp, 0 and 1 at those of hard_swish's. At infinity they are the limit. */

/* d/dx of x sigmoid(v(x)), w = x v'(x): beyond 800 nothing is left of the second term. */
static inline double slope_gate(double v, double w) {
  if (fabs(v) > 800) return v > 0;
  return reference_sigmoid(v) + w * reference_sigmoid(v) * reference_sigmoid(-v);
}
static inline double slope_relu(double x, double p0, double p1) {
  (void)p0, (void)p1;
  return isnan(x) ? x : x > 0;
}
static inline double slope_leaky_relu(double x, double p0, double p1) {
  (void)p1;
  return isnan(x) ? x : x > 0 ? 1 : p0;
}
static inline double slope_relu_squared(double x, double p0, double p1) {
  (void)p0, (void)p1;
  return x <= 0 ? 0 : 2 * x;
}
static inline double slope_elu(double x, double p0, double p1) {
  (void)p1;
  return x > 0 ? 1 : p0 * exp(x);
}
static inline double slope_selu(double x, double p0, double p1) { return p1 * (x > 0 ? 1 : p0 * exp(x)); }
static inline double slope_celu(double x, double p0, double p1) {
  (void)p1;
  return x > 0 ? 1 : exp(x / p0);
}
static inline double slope_gelu_erf(double x, double p0, double p1) {
  (void)p0, (void)p1;
  const double normal = isinf(x) ? 0 : x * exp(-0.5 * x * x) * 0.39894228040143267794; /* x phi(x) */
  return 0.5 * erfc(-x * 0.70710678118654752440) + normal;
}
static inline double slope_gelu_tanh(double x, double p0, double p1) {
  (void)p0, (void)p1;
  const double twice_root_2_over_pi = 2 * 0.79788456080286535588;
  const double v = twice_root_2_over_pi * (x + 0.044715 * x * x * x);
  return slope_gate(v, twice_root_2_over_pi * (x + 3 * 0.044715 * x * x * x));
}
static inline double slope_gelu_quick(double x, double p0, double p1) {
  (void)p0, (void)p1;
  return slope_gate(1.702 * x, 1.702 * x);
}
static inline double slope_silu(double x, double p0, double p1) {
  (void)p0, (void)p1;
  return slope_gate(x, x);
}
static inline double slope_swish(double x, double p0, double p1) {
  (void)p1;
  return p0 == 0 ? (isnan(x) ? x : 0.5) : slope_gate(p0 * x, p0 * x);
}
static inline double slope_mish(double x, double p0, double p1) {
  (void)p0, (void)p1;
  if (x > 40) return 1; /* 1 - tanh is below 2^-110 */
  if (isinf(x)) return 0;
  const double v = log1p(exp(x)), c = cosh(v);
  return tanh(v) + x * reference_sigmoid(x) / (c * c);
}
static inline double slope_softplus(double x, double p0, double p1) {
  (void)p1;
  return reference_sigmoid(p0 * x);
}
static inline double slope_softsign(double x, double p0, double p1) {
  (void)p0, (void)p1;
  return 1 / ((1 + fabs(x)) * (1 + fabs(x)));
}
static inline double slope_hard_sigmoid(double x, double p0, double p1) {
  const double v = p0 * x + p1;
  return isnan(x) ? x : v > 0 && v < 1 ? p0 : 0;
}
static inline double slope_hard_swish(double x, double p0, double p1) {
  (void)p0, (void)p1;
  return x <= -3 ? 0 : x >= 3 ? 1 : x / 3 + 0.5;
}
static inline double slope_sigmoid(double x, double p0, double p1) {
  (void)p0, (void)p1;
  return reference_sigmoid(x) * reference_sigmoid(-x);
}
static inline double slope_log_sigmoid(double x, double p0, double p1) {
  (void)p0, (void)p1;
  return reference_sigmoid(-x);
}
static inline double slope_tanh(double x, double p0, double p1) {
  (void)p0, (void)p1;
  return 1 / (cosh(x) * cosh(x));
}
static inline double slope_identity(double x, double p0, double p1) {
  (void)p0, (void)p1;
  return isnan(x) ? x : 1;
}
static inline double slope_softcap(double x, double p0, double p1) {
  (void)p1;
  return slope_tanh(x / p0, 0, 0);
}

/* bound: ULP over every float32, at default parameters. scale: how parameter 0 scales the argument of an exponential,
 * as p0 * x (1) or x / p0 (-1); half of that product's magnitude is allowed on top where the parameter is not the
 * default. The derivative's bound is the same for all: 1e-6 absolute plus 4 ULP. */
typedef struct reference {
  const char *name;
  double (*value)(double x, double p0, double p1), (*slope)(double x, double p0, double p1);
  double bound;
  int scale;
} reference;

static const reference references[] = {
    {"relu", reference_relu, slope_relu, 0, 0},
    {"leaky_relu", reference_leaky_relu, slope_leaky_relu, 4, 0},
    {"relu_squared", reference_relu_squared, slope_relu_squared, 4, 0},
    {"elu", reference_elu, slope_elu, 4, 0},
    {"selu", reference_selu, slope_selu, 4, 0},
    {"celu", reference_celu, slope_celu, 4, -1},
    {"gelu_erf", reference_gelu_erf, slope_gelu_erf, 4, 0},
    {"gelu_tanh", reference_gelu_tanh, slope_gelu_tanh, 4, 0},
    {"gelu_quick", reference_gelu_quick, slope_gelu_quick, 4, 0},
    {"silu", reference_silu, slope_silu, 4, 0},
    {"swish", reference_swish, slope_swish, 4, 1},
    {"mish", reference_mish, slope_mish, 4, 0},
    {"softplus", reference_softplus, slope_softplus, 4, 1},
    {"softsign", reference_softsign, slope_softsign, 4, 0},
    {"hard_sigmoid", reference_hard_sigmoid, slope_hard_sigmoid, 4, 0},
    {"hard_swish", reference_hard_swish, slope_hard_swish, 4, 0},
    {"sigmoid", reference_act_sigmoid, slope_sigmoid, 2, 0},
    {"log_sigmoid", reference_log_sigmoid, slope_log_sigmoid, 4, 0},
    {"tanh", reference_tanh, slope_tanh, 2, 0},
    {"identity", reference_identity, slope_identity, 0, 0},
    {"softcap", reference_softcap, slope_softcap, 4, -1},
};

/* NULL if there is none: an activation without a reference is a failure of the tests. */
static inline const reference *reference_find(const char *name) {
  for (size_t i = 0; i < sizeof references / sizeof references[0]; i++)
    if (!strcmp(references[i].name, name)) return &references[i];
  return NULL;
}

#endif
