/* selu(x) = gamma * x for x >= 0, gamma * alpha * (e^x - 1) below. */
AN_INLINE vf act_selu(vf x, double p0, double p1) {
  vf scale;
  const vf m = vm_expm1_scaled(vm_exp_split(vf_max(vf_min(x, vf_set(0.0f)), vf_set(-26.0f)), vf_set(0.0f)), &scale);
  return vf_select(vf_lt(x, vf_set(0.0f)), vf_mul(vf_mul(m, scale), vf_set((float)(p0 * p1))),
                   vf_mul(x, vf_set((float)p1)));
}
