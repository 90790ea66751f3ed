/* relu(x) = max(x, 0). Exact. NaN stays NaN; -0 stays -0 (the first operand of equal ones). */
AN_INLINE vf act_relu(vf x, double p0, double p1) {
  (void)p0, (void)p1;
  return vf_max(x, vf_set(0.0f));
}
/* relu'(x) = 1 for x > 0, else 0. */
AN_INLINE vf act_relu_grad(vf x, double p0, double p1) {
  (void)p0, (void)p1;
  return vm_unless_nan(x, vf_select(vf_gt(x, vf_set(0.0f)), vm_one(), vf_set(0.0f)));
}
