/* hard_swish(x) = x max(0, min(6, x + 3)) / 6: x from 3 on, -0 up to -3. */
AN_INLINE vf act_hard_swish(vf x, double p0, double p1) {
  (void)p0, (void)p1;
  x = vf_max(x, vf_set(-3.0f));
  return vf_mul(x, vf_mul(vf_min(vf_add(x, vf_set(3.0f)), vf_set(6.0f)), vf_set(0x1.555556p-3f)));
}
/* hard_swish'(x) = x/3 + 1/2 between -3 and 3, 0 from -3 down, 1 from 3 up: at the kinks as PyTorch since its change of
 * 2025 (pull request 148049). */
AN_INLINE vf act_hard_swish_grad(vf x, double p0, double p1) {
  (void)p0, (void)p1;
  const vf three = vf_set(3.0f), one = vm_one();
  const vf inner = vf_madd(x, vf_set(0x1.555556p-2f), vf_set(0.5f));
  const vf outer = vf_select(vf_gt(x, vf_set(0.0f)), one, vf_set(0.0f));
  return vm_unless_nan(x, vf_select(vf_lt(vf_abs(x), three), inner, outer));
}
