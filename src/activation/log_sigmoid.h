/* log_sigmoid(x) = -log(1 + e^-x) = min(x, 0) - log1p(e^-|x|). */
AN_INLINE vf act_log_sigmoid(vf x, double p0, double p1) {
  (void)p0, (void)p1;
  const vm_exp_parts e = vm_exp_split(vf_max(vf_neg(vf_abs(x)), vf_set(-110.0f)), vf_set(0.0f));
  const vf m = vm_log1p_ratio(vm_scale(vf_add(e.t, vf_set(1.0f)), e.n));
  return vf_sub(vf_min(x, vf_set(-0.0f)), vm_scale(vf_madd(m, e.t, m), e.n));
}
