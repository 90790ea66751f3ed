/* gelu_quick(x) = x * sigmoid(1.702 x). */
AN_INLINE vf act_gelu_quick(vf x, double p0, double p1) {
  (void)p0, (void)p1;
  x = vf_max(x, vf_set(-65.0f));
  const vf v = vf_mul(vf_min(x, vf_set(26.0f)), vf_set(-1.702f));
  const vm_sigmoid_parts s = vm_sigmoid_split(vm_exp_split(v, vf_set(0.0f)));
  return vf_mul(vf_div(x, s.denominator), s.inverse);
}
