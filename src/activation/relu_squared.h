/* relu_squared(x) = max(x, 0)^2, rounded once. */
AN_INLINE vf act_relu_squared(vf x, double p0, double p1) {
  (void)p0, (void)p1;
  const vf r = vf_max(x, vf_set(0.0f));
  return vf_mul(r, r);
}
/* relu_squared'(x) = 2 max(x, 0). Exact. */
AN_INLINE vf act_relu_squared_grad(vf x, double p0, double p1) {
  (void)p0, (void)p1;
  const vf r = vf_max(x, vf_set(0.0f));
  return vf_add(r, r);
}
