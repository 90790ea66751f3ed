/* gamma alpha as first * second: one factor, rounded once; two where it is beyond float's range, the larger first. */
typedef struct selu_factors {
  vf first, second;
} selu_factors;
AN_INLINE selu_factors selu_split(double alpha, double gamma) {
  const double product = alpha * gamma;
  if (__builtin_fabs(product) <= 0x1.fffffep127) return (selu_factors){vf_set((float)product), vm_one()};
  const int alpha_first = __builtin_fabs(alpha) > __builtin_fabs(gamma);
  return (selu_factors){vf_set((float)(alpha_first ? alpha : gamma)), vf_set((float)(alpha_first ? gamma : alpha))};
}
/* selu(x) = gamma x for x >= 0, gamma alpha (e^x - 1) below. */
AN_INLINE vf act_selu(vf x, double p0, double p1) {
  const selu_factors f = selu_split(p0, p1);
  const vf below = vf_mul(vf_mul(vm_expm1_negative(x), f.first), f.second);
  return vf_select(vf_lt(x, vf_set(0.0f)), below, vf_mul(x, vm_factor(p1)));
}
/* selu'(x) = gamma for x > 0, gamma alpha e^x up to 0. Each factor gets the root of the exponential: gamma alpha may be
 * 2^256, and then e^x counts down to 2^-276. */
AN_INLINE vf act_selu_grad(vf x, double p0, double p1) {
  const selu_factors f = selu_split(p0, p1);
  const vf root = vm_exp_low(vf_mul(x, vf_set(0.5f)));
  return vf_select(vf_gt(x, vf_set(0.0f)), vf_set((float)p1), vf_mul(vf_mul(root, f.first), vf_mul(root, f.second)));
}
