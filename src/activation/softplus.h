/* softplus(x) = log(1 + e^(beta x)) / beta = max(x, 0) + log(1 + e^-|beta x|) / beta.
 * The power of two in beta is taken out of the exponential, which need not be in range without it. */
AN_INLINE vf act_softplus(vf x, double p0, double p1) {
  (void)p1;
  const vf a = vm_minus_abs(x), ramp = vf_max(x, vf_set(0.0f));
  if (p0 == 1) return vf_add(ramp, vm_log1p_exp(a));

  const vi exponent = vi_and(vf_bits(vf_set((float)p0)), vi_set(0x7f800000)); /* of 2^b, beta = 2^b beta' */
  const vf power = vi_float_bits(exponent), factor = vf_set((float)((double)vf_first(power) / p0));
  const vi b = vi_sub(vi_sar(exponent, 23), vi_set(127));
  /* below this the result is less than 2^-150 */
  const double far = (111 - 0.6931471805599453 * (double)vf_first(vi_to_float(b))) / p0;
  const vf lowest = vf_set((float)(far < 0x1.fffffep127 ? -far : -0x1.fffffep127));
  vm_reduced e = vm_reduce_scaled(vf_max(a, lowest), p0, vm_halves());
  e.bits = vi_sub(e.bits, b);
  const vf tail = vm_log1p_exp_scaled(e, power, factor);
  return vf_add(ramp, vf_select(vf_eq(a, vf_set(-__builtin_inff())), vf_set(0.0f), tail));
}
/* softplus'(x) = sigmoid(beta x). */
AN_INLINE vf act_softplus_grad(vf x, double p0, double p1) {
  (void)p1;
  return vm_sigmoid(vf_mul(x, vf_set((float)p0)));
}
