/* hard_swish(x) = x max(0, min(6, x + 3)) / 6: x from 3 on, -0 up to -3. */
AN_INLINE vf act_hard_swish(vf x, double p0, double p1) {
  (void)p0, (void)p1;
  x = vf_max(x, vf_set(-3.0f));
  return vf_mul(x, vf_mul(vf_min(vf_add(x, vf_set(3.0f)), vf_set(6.0f)), vf_set(0x1.555556p-3f)));
}
