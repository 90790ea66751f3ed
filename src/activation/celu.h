/* celu(x) = max(x, 0) + min(0, alpha * (e^(x / alpha) - 1)). */
AN_INLINE vf act_celu(vf x, double p0, double p1) {
  (void)p1;
  vf scale;
  const vf v = vf_max(vf_min(vf_div(x, vf_set((float)p0)), vf_set(120.0f)), vf_set(-26.0f));
  const vf m = vm_expm1_scaled(vm_exp_split(v, vf_set(0.0f)), &scale);
  return vf_select(vf_lt(x, vf_set(0.0f)), vf_mul(vf_mul(m, vf_set((float)p0)), scale), x);
}
