/* leaky_relu(x) = x for x >= 0, negative_slope * x below. Chosen by the sign of x, not as a maximum: slopes above 1, 0
 * and below 0 are right. Slope 0 is relu at -infinity too, where the product would be NaN. */
AN_INLINE vf act_leaky_relu(vf x, double p0, double p1) {
  (void)p1;
  const vf lowest = vf_set(p0 == 0 ? -0x1.fffffep127f : -__builtin_inff());
  return vf_select(vf_lt(x, vf_set(0.0f)), vf_mul(vf_max(x, lowest), vf_set((float)p0)), x);
}
