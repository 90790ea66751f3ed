/* hard_sigmoid(x) = max(0, min(1, alpha x + beta)), ONNX's HardSigmoid. The sum cancels near -beta / alpha, so it is
 * taken in double precision. alpha 0 gives NaN for infinite x, the product 0 * infinity. */
AN_INLINE vf act_hard_sigmoid(vf x, double p0, double p1) {
  const vd alpha = vd_set(p0), beta = vd_set(p1);
  const vf v = vf_from_vd(vd_add(vd_mul(vd_low(x), alpha), beta), vd_add(vd_mul(vd_high(x), alpha), beta));
  return vf_abs(vf_min(vf_max(v, vf_set(0.0f)), vm_one())); /* -0, what is left of a tiny negative v, becomes 0 */
}
/* hard_sigmoid'(x) = alpha where 0 < alpha x + beta < 1, else 0; at both kinks 0, as in PyTorch. Only the signs of the
 * sum and of what 1 has above it count; the factor keeps the first from being lost on the way to float. */
AN_INLINE vf act_hard_sigmoid_grad(vf x, double p0, double p1) {
  const vd alpha = vd_set(p0), beta = vd_set(p1), far = vd_set(0x1p700), minus = vd_set(-1.0), one = vd_set(1.0);
  const vd low = vd_add(vd_mul(vd_low(x), alpha), beta), high = vd_add(vd_mul(vd_high(x), alpha), beta);
  const vf above = vf_from_vd(vd_mul(low, far), vd_mul(high, far));
  const vf below = vf_from_vd(vd_add(vd_mul(low, minus), one), vd_add(vd_mul(high, minus), one));
  const vf zero = vf_set(0.0f);
  const vi inside = vi_and(vf_gt(above, zero), vf_gt(below, zero));
  return vm_unless_nan(x, vf_select(inside, vf_set((float)p0), zero));
}
