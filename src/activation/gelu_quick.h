/* gelu_quick(x) = x sigmoid(1.702 x). gelu_quick(-inf) = -0. Below -65 the true value is less than 2^-150. */
AN_INLINE vf act_gelu_quick(vf x, double p0, double p1) {
  (void)p0, (void)p1;
  x = vf_max(x, vf_set(-65.0f));
  return vm_gate(x, vm_one_more(vm_reduce_scaled(vf_min(x, vf_set(26.0f)), -1.702, vm_odds())));
}
/* gelu_quick'(x) = silu'(1.702 x). */
AN_INLINE vf act_gelu_quick_grad(vf x, double p0, double p1) {
  (void)p0, (void)p1;
  return vm_silu_slope(vf_mul(x, vf_set(1.702f)));
}
