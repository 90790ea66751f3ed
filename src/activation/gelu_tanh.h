/* gelu_tanh(x) = x/2 (1 + tanh u) = x sigmoid(2u), u = sqrt(2/pi) (x + 0.044715 x^3). gelu_tanh(-inf) = -0.
 * An error of one ULP in 2u is multiplied by |2u|, up to 104, so the exponent is computed in double precision.
 * Below -11 the true value is less than 2^-150. */
AN_INLINE vf act_gelu_tanh(vf x, double p0, double p1) {
  (void)p0, (void)p1;
  x = vf_max(x, vf_set(-11.0f));
  const vf c = vf_min(x, vf_set(6.25f));
  /* -2u / ln 2 = x (a + b x^2) */
  const vd a = vd_set(-2.302208198145525), b = vd_set(-0.10294323958007217);
  const vd low = vd_low(c), high = vd_high(c);
  const vd y_low = vd_madd(vd_mul(low, low), b, a), y_high = vd_madd(vd_mul(high, high), b, a);
  return vm_gate(x, vm_one_more(vm_reduce_pow2(low, high, y_low, y_high)));
}
/* gelu_tanh'(x) = sigmoid(v) + x v' sigmoid'(v), v = 2u. At 11 it is 1, at -11 it is 0. */
AN_INLINE vf act_gelu_tanh_grad(vf x, double p0, double p1) {
  (void)p0, (void)p1;
  x = vf_min(vf_max(x, vf_set(-11.0f)), vf_set(11.0f));
  /* 2 sqrt(2/pi), and that times 0.044715 */
  const vf a = vf_set(0x1.988454p+0f), b = vf_mul(vf_mul(x, x), vf_set(0x1.2444f2p-4f));
  return vm_gate_slope(vf_mul(x, vf_add(a, b)), vf_mul(x, vf_madd(b, vf_set(3.0f), a)));
}
