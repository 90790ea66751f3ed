/* swish(x) = x * sigmoid(beta x). */
AN_INLINE vf act_swish(vf x, double p0, double p1) {
  (void)p1;
  const vf v = vf_max(vf_min(vf_mul(x, vf_set((float)-p0)), vf_set(110.0f)), vf_set(-26.0f));
  const vm_sigmoid_parts s = vm_sigmoid_split(vm_exp_split(v, vf_set(0.0f)));
  return vf_mul(vf_div(x, s.denominator), s.inverse);
}
