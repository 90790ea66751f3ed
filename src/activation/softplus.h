/* softplus(x) = log(1 + e^(beta x)) / beta = max(x, 0) + log1p(e^-|beta x|) / beta. */
AN_INLINE vf act_softplus(vf x, double p0, double p1) {
  (void)p1;
  const vf v = vf_max(vf_mul(vf_abs(x), vf_set((float)-p0)), vf_set(-110.0f));
  const vm_exp_parts e = vm_exp_split(v, vf_set(0.0f));
  const vf m = vf_mul(vm_log1p_ratio(vm_scale(vf_add(e.t, vf_set(1.0f)), e.n)), vf_set((float)(1 / p0)));
  return vf_add(vf_max(x, vf_set(0.0f)), vm_scale(vf_madd(m, e.t, m), e.n));
}
