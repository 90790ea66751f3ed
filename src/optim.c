/* The optimisers' arguments: checked, and what follows from them and the step worked out in double. */
#include "tensor.h"

/* x^n by repeated squaring: the same bits everywhere, a relative error of about n * 2^-53. */
static double power(double x, uint32_t n) {
  double result = 1;
  for (; n; n >>= 1, x *= x)
    if (n & 1) result *= x;
  return result;
}

an_status an_sgd_step(float *value, float *velocity, const float *gradient, double gradient_scale, double rate,
                      double momentum, double dampening, double weight_decay, int flags, uint32_t step, size_t n) {
  if (flags & ~(AN_STEP_CHECK | AN_SGD_NESTEROV)) return AN_UNKNOWN_FLAG;
  if (!is_finite_float(gradient_scale) || !is_finite_float(rate) || !is_finite_float(dampening) ||
      !is_finite_float(weight_decay) || !(momentum >= 0 && momentum <= 1) || step == 0)
    return AN_INVALID_VALUE;
  if (n > SIZE_MAX / sizeof(float)) return AN_SIZE_OVERFLOW;
  if (n == 0) return AN_OK;
  if (!value || !gradient || (momentum != 0 && !velocity)) return AN_NULL_POINTER;
  const sgd_constants k = {.gradient_scale = (float)gradient_scale,
                           .rate = (float)rate,
                           .momentum = (float)momentum,
                           .fresh = (float)(1 - dampening),
                           .weight_decay = (float)weight_decay,
                           .nesterov = (flags & AN_SGD_NESTEROV) != 0,
                           .first = step == 1};
  const int finite = sgd_apply(value, momentum != 0 ? velocity : NULL, gradient, &k, flags & AN_STEP_CHECK, n);
  return finite ? AN_OK : AN_NOT_FINITE;
}

an_status an_adam_step(float *value, float *m, float *v, const float *gradient, double gradient_scale, double rate,
                       double beta1, double beta2, double eps, double weight_decay, int flags, uint32_t step,
                       size_t n) {
  if (flags & ~(AN_STEP_CHECK | AN_ADAM_DECOUPLED | AN_ADAM_EPSILON_FIRST)) return AN_UNKNOWN_FLAG;
  if (!is_finite_float(gradient_scale) || !is_finite_float(rate) || !is_finite_float(weight_decay) ||
      !is_finite_float(eps) || eps < 0 || !(beta1 >= 0 && beta1 < 1) || !(beta2 >= 0 && beta2 < 1) || step == 0)
    return AN_INVALID_VALUE;
  if (n > SIZE_MAX / sizeof(float)) return AN_SIZE_OVERFLOW;
  if (n == 0) return AN_OK;
  if (!value || !m || !v || !gradient) return AN_NULL_POINTER;
  const double unbias1 = 1 / (1 - power(beta1, step)), unbias2 = 1 / __builtin_sqrt(1 - power(beta2, step));
  const int decoupled = (flags & AN_ADAM_DECOUPLED) != 0, epsilon_first = (flags & AN_ADAM_EPSILON_FIRST) != 0;
  const adam_constants k = {.gradient_scale = (float)gradient_scale,
                            .beta1 = (float)beta1,
                            .rest1 = (float)(1 - beta1),
                            .beta2 = (float)beta2,
                            .rest2 = (float)(1 - beta2),
                            .weight_decay = (float)(decoupled ? 0 : weight_decay),
                            .decay = (float)(decoupled ? rate * weight_decay : 0),
                            .rate = (float)(rate * unbias1 / (epsilon_first ? unbias2 : 1)),
                            .root_scale = (float)(epsilon_first ? 1 : unbias2),
                            .eps = (float)eps};
  return adam_apply(value, m, v, gradient, &k, flags & AN_STEP_CHECK, n) ? AN_OK : AN_NOT_FINITE;
}
