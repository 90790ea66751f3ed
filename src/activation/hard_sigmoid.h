/* hard_sigmoid(x) = max(0, min(1, alpha x + beta)), ONNX's HardSigmoid. The sum cancels near -beta / alpha, so it is
 * taken in double precision. alpha 0 gives NaN for infinite x, the product 0 * infinity. */
AN_INLINE vf act_hard_sigmoid(vf x, double p0, double p1) {
  const vd alpha = vd_set(p0), beta = vd_set(p1);
  const vf v = vf_from_vd(vd_add(vd_mul(vd_low(x), alpha), beta), vd_add(vd_mul(vd_high(x), alpha), beta));
  return vf_abs(vf_min(vf_max(v, vf_set(0.0f)), vf_set(1.0f))); /* -0, what is left of a tiny negative v, becomes 0 */
}
