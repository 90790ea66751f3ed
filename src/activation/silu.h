/* silu(x) = x sigmoid(x). silu(-inf) = -0. Below -110 the true value is less than 2^-150. */
AN_INLINE vf act_silu(vf x, double p0, double p1) {
  (void)p0, (void)p1;
  x = vf_max(x, vf_set(-110.0f));
  return vm_gate(x, vm_one_more_minus(vm_reduce_minus(vf_min(x, vf_set(26.0f)), vm_odds())));
}
/* silu'(x) = sigmoid(x) + x sigmoid'(x). */
AN_INLINE vf act_silu_grad(vf x, double p0, double p1) {
  (void)p0, (void)p1;
  return vm_silu_slope(x);
}
