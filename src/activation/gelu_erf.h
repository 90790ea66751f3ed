/* gelu_erf(x) = x Phi(x) = x/2 erfc(-x / sqrt 2). gelu_erf(-inf) = -0.
 * With a = |x| and g(a) = a/2 erfc(a / sqrt 2) it is -g(a) for x < 0 and x - g(a) above, g never cancelling.
 * g(a) = h(a) e^(-a^2/2), a^2 in two floats: an error in it is multiplied by up to 104. h rises from 0 to 1 / sqrt(2
 * pi); u = a / (a + 3.25) makes h / u smooth and nowhere steep: minimax in u about a point that balances the rounding
 * errors of its two ends, and where the value is close to a float. Coefficients rounded, then improved one and two at a
 * time: relative error 2^-26.7. Beyond 14.5 the true g is less than 2^-150. */
AN_INLINE vf act_gelu_erf(vf x, double p0, double p1) {
  (void)p0, (void)p1;
  const vf half = vf_set(-0.5f), b = vf_max(vf_neg(vf_abs(x)), vf_set(-14.5f)); /* b = -a */
  const vf upper = vm_upper(b), rest = vf_mul(vf_sub(b, upper), vf_add(b, upper));
  const vm_reduced e = vm_reduce(vf_mul(vf_mul(upper, upper), half), vf_mul(rest, half));
  const vf u = vf_div(b, vf_sub(b, vf_set(3.25f))), q = vf_sub(u, vf_set(0x1.5fe6p-2f));
  const vf q2 = vf_mul(q, q);
  vf p = vf_madd(q, vf_set(0x1.0b73e2p-4f), vf_set(-0x1.c3d48ap-5f));
  p = vf_madd(p, q2, vf_madd(q, vf_set(-0x1.f82682p-4f), vf_set(0x1.3b61aep-4f)));
  p = vf_madd(p, q2, vf_madd(q, vf_set(0x1.0de8ecp-2f), vf_set(-0x1.96fe2ap-3f)));
  p = vf_madd(p, q2, vf_madd(q, vf_set(-0x1.2e698cp-1f), vf_set(0x1.64bc66p+0f)));
  p = vf_madd(p, q, vf_set(-0x1.781c56p+0f));
  p = vf_madd(p, q, vf_set(0x1.def0bcp-1f));
  const vf h = vf_mul(p, u), g = vm_scale(vf_madd(h, vm_expm1_reduced(e.r), h), e.n);
  return vf_sub(vf_max(x, vf_set(-0.0f)), g);
}
