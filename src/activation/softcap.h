/* softcap(x) = cap tanh(x / cap). Where x / cap is small the result is x + x * (...): the quotient may be subnormal. */
AN_INLINE vf act_softcap(vf x, double p0, double p1) {
  (void)p1;
  const vf cap = vf_set((float)p0), a = vf_abs(x), v = vf_div(a, cap);
  const vf small = vf_madd(a, vm_tanh_small(v), a), large = vf_mul(cap, vm_tanh_large(v));
  return vm_copysign(vf_select(vf_lt(v, vf_set(0.55f)), small, large), x);
}
/* softcap'(x) = 1 - tanh^2(x / cap). */
AN_INLINE vf act_softcap_grad(vf x, double p0, double p1) {
  (void)p1;
  return vm_sech2(vf_div(x, vf_set((float)p0)));
}
