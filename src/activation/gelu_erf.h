/* gelu_erf(x) = x * Phi(x) = max(x, 0) - g(|x|), g(a) = a/2 * erfc(a / sqrt 2). */
AN_INLINE vf act_gelu_erf(vf x, double p0, double p1) {
  (void)p0, (void)p1;
  const vf a = vf_max(vf_neg(vf_abs(x)), vf_set(-14.5f));
  const vf high = vm_upper(a);
  const vf half = vf_set(-0.5f);
  const vm_reduced e =
      vm_reduce(vf_mul(vf_mul(high, high), half), vf_mul(vf_mul(vf_sub(a, high), vf_add(a, high)), half));
  const vf u = vf_div(a, vf_sub(a, vf_set(4.0f)));
  vf p = vf_set(-0x1.0e84b8p-4f);
  p = vf_madd(p, u, vf_set(0x1.60663cp-2f));
  p = vf_madd(p, u, vf_set(-0x1.29ac5ap-1f));
  p = vf_madd(p, u, vf_set(0x1.8288e0p-4f));
  p = vf_madd(p, u, vf_set(0x1.476fb4p-1f));
  p = vf_madd(p, u, vf_set(0x1.3f4b92p-2f));
  p = vf_madd(p, u, vf_set(-0x1.98df12p+1f));
  p = vf_madd(p, u, vf_set(0x1.4ef956p+2f));
  p = vf_madd(p, u, vf_set(-0x1.18845ep+2f));
  p = vf_madd(p, u, vf_set(2.0f));
  p = vf_mul(p, u);
  return vf_sub(vf_max(x, vf_set(-0.0f)), vm_scale(vf_madd(p, vm_expm1_reduced(e.r), p), e.n));
}
