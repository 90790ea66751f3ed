/* leaky_relu(x) = x for x >= 0, negative_slope * x below. Chosen by the sign of x, not as a maximum: slopes above 1, 0
 * and below 0 are right. Slope 0 gives NaN at -infinity, the product 0 * infinity, as in PyTorch; relu gives 0.
 */
AN_INLINE vf act_leaky_relu(vf x, double p0, double p1) {
  (void)p1;
  return vf_select(vf_lt(x, vf_set(0.0f)), vf_mul(x, vm_factor(p0)), x);
}
/* leaky_relu'(x) = 1 for x > 0, else negative_slope. */
AN_INLINE vf act_leaky_relu_grad(vf x, double p0, double p1) {
  (void)p1;
  return vm_unless_nan(x, vf_select(vf_gt(x, vf_set(0.0f)), vm_one(), vf_set((float)p0)));
}
