/* hard_sigmoid(x) = max(0, min(1, alpha x + beta)), ONNX's HardSigmoid. The sum cancels near -beta / alpha, so it is
 * taken in double precision. Infinities count as the largest float, so that alpha 0 gives beta. */
AN_INLINE vf act_hard_sigmoid(vf x, double p0, double p1) {
  x = vf_min(vf_max(x, vf_set(-0x1.fffffep127f)), vf_set(0x1.fffffep127f));
  const vd alpha = vd_set(p0), beta = vd_set(p1);
  const vf v = vf_from_vd(vd_add(vd_mul(vd_low(x), alpha), beta), vd_add(vd_mul(vd_high(x), alpha), beta));
  return vf_min(vf_max(v, vf_set(0.0f)), vf_set(1.0f));
}
