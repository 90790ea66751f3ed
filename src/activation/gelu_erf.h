/* For a > 0 let Q(a) = erfc(a / sqrt 2) / 2 = e^(-a^2/2) h(a) / a. h rises from 0 to 1 / sqrt(2 pi); u = a / (a + 3.25)
 * makes h / u, which this is, smooth and nowhere steep: minimax in u about a point that balances the rounding errors of
 * its two ends, and where the value is close to a float. Coefficients rounded, then improved one and two at a time:
 * relative error 2^-26.7. */
AN_INLINE vf gelu_erf_ratio(vf u) {
  const vf q = vf_sub(u, vf_set(0x1.5fe6p-2f)), q2 = vf_mul(q, q);
  vf p = vf_madd(q, vf_set(0x1.0b73e2p-4f), vf_set(-0x1.c3d48ap-5f));
  p = vf_madd(p, q2, vf_madd(q, vf_set(-0x1.f82682p-4f), vf_set(0x1.3b61aep-4f)));
  p = vf_madd(p, q2, vf_madd(q, vf_set(0x1.0de8ecp-2f), vf_set(-0x1.96fe2ap-3f)));
  p = vf_madd(p, q2, vf_madd(q, vf_set(-0x1.2e698cp-1f), vf_set(0x1.64bc66p+0f)));
  p = vf_madd(p, q, vf_set(-0x1.781c56p+0f));
  return vf_madd(p, q, vf_set(0x1.def0bcp-1f));
}
/* gelu_erf(x) = x Phi(x) = x/2 erfc(-x / sqrt 2). gelu_erf(-inf) = -0.
 * With a = |x| and g(a) = a Q(a) = h(a) e^(-a^2/2) it is -g(a) for x < 0 and x - g(a) above, g never cancelling. a^2 is
 * taken in two floats: an error in it is multiplied by up to 104. Beyond 14.5 the true g is less than 2^-150. */
AN_INLINE vf act_gelu_erf(vf x, double p0, double p1) {
  (void)p0, (void)p1;
  const vf half = vf_set(-0.5f), b = vf_max(vm_minus_abs(x), vf_set(-14.5f)); /* b = -a */
  const vf upper = vm_upper(b), rest = vf_mul(vf_sub(b, upper), vf_add(b, upper));
  const vm_reduced e = vm_reduce_sum(vf_mul(vf_mul(upper, upper), half), vf_mul(rest, half), vm_down());
  const vf u = vf_div(b, vf_sub(b, vf_set(3.25f)));
  const vf h = vf_mul(gelu_erf_ratio(u), u), g = vm_scale_down(h, vm_expm1_reduced(e.r), vm_pow2_down(e));
  return vf_sub(vf_max(x, vm_minus_zero()), g);
}
/* gelu_erf'(x) = Phi(x) + x phi(x): w = Q(a) - a phi(a) for x < 0, 1 - w above. Q(a) = e^(-a^2/2) (h/u) / (a + 3.25),
 * and 1 / (a + 3.25) = (1 - u) / 3.25. */
AN_INLINE vf act_gelu_erf_grad(vf x, double p0, double p1) {
  (void)p0, (void)p1;
  const vf one = vm_one(), b = vf_max(vm_minus_abs(x), vf_set(-14.5f)); /* b = -a */
  const vf u = vf_div(b, vf_sub(b, vf_set(3.25f))), e = vm_exp_low(vf_mul(vf_mul(b, b), vf_set(-0.5f)));
  const vf q = vf_mul(gelu_erf_ratio(u), vf_mul(vf_sub(one, u), vf_set(0x1.3b13b2p-2f)));
  const vf w = vf_mul(vf_madd(b, vf_set(0x1.988454p-2f), q), e); /* 1 / sqrt(2 pi) */
  return vf_select(vf_gt(x, vf_set(0.0f)), vf_sub(one, w), w);
}
