/* selu(x) = gamma x for x >= 0, gamma alpha (e^x - 1) below. gamma alpha is rounded once; beyond float's range it is
 * the largest float. */
AN_INLINE vf act_selu(vf x, double p0, double p1) {
  const double product = p0 * p1, largest = 0x1.fffffep127;
  const vf gamma_alpha = vf_set((float)(product > largest ? largest : product < -largest ? -largest : product));
  return vf_select(vf_lt(x, vf_set(0.0f)), vf_mul(vm_expm1_negative(x), gamma_alpha), vf_mul(x, vf_set((float)p1)));
}
