/* Parts of e^(x / alpha); with alpha 1 there is no product. */
AN_INLINE vm_reduced celu_reduce(vf x, double alpha) {
  return alpha == 1 ? vm_reduce(x, vm_halves()) : vm_reduce_scaled(x, 1 / alpha, vm_halves());
}
/* celu(x) = max(x, 0) + min(0, alpha (e^(x/alpha) - 1)): x for x >= 0, alpha (e^v - 1) below, v = x / alpha. A negative
 * alpha makes v positive and the result unbounded. Where v is small the result is x + x (v / 2 + ...): v itself may be
 * subnormal and have lost bits. */
AN_INLINE vf act_celu(vf x, double p0, double p1) {
  (void)p1;
  const double limit = (p0 > 0 ? 26 : 176.4) * __builtin_fabs(p0), largest = 0x1.fffffep127;
  const vf lowest = vf_set((float)(limit < largest ? -limit : -largest)), infinite = vf_set(-__builtin_inff());
  const vf alpha = vf_set((float)p0), zero = vf_set(0.0f), below = vf_min(x, zero);
  const vm_reduced e = celu_reduce(vf_max(below, lowest), p0);
  const vf r2 = vf_mul(e.r, e.r), q = vm_expm1_tail(e.r, r2), t = vf_madd(r2, q, e.r);
  const vf low = vm_pow2_low(e.bits), rest = vm_pow2_other(e.bits, low), inverse = vm_pow2_inverse(low);
  const vf m = vf_madd(rest, t, vf_sub(rest, inverse)); /* (e^v - 1) / low */
  /* For a negative alpha e^v may overflow where the product does not. */
  vf y = p0 > 0 ? vf_mul(vf_mul(m, low), alpha) : vf_mul(vf_mul(m, alpha), low);
  y = vf_select(vf_eq(rest, inverse), vf_madd(below, vf_mul(e.r, q), below), y); /* n = 0 */
  y = vf_select(vf_eq(x, infinite), p0 > 0 ? vf_neg(alpha) : infinite, y);
  return vf_select(vf_lt(x, zero), y, x);
}
/* celu'(x) = 1 for x > 0, e^(x/alpha) up to 0, which has no bound for a negative alpha. */
AN_INLINE vf act_celu_grad(vf x, double p0, double p1) {
  (void)p1;
  const double limit = (p0 > 0 ? 110 : 89) * __builtin_fabs(p0), largest = 0x1.fffffep127;
  const vf lowest = vf_set((float)(limit < largest ? -limit : -largest)), infinite = vf_set(-__builtin_inff());
  const vf zero = vf_set(0.0f), one = vm_one();
  const vm_reduced e = celu_reduce(vf_max(vf_min(x, zero), lowest), p0);
  const vf below = vm_scale(vf_add(vm_expm1_reduced(e.r), one), e.bits);
  const vf y = vf_select(vf_eq(x, infinite), p0 > 0 ? zero : vf_neg(infinite), below);
  return vf_select(vf_gt(x, zero), one, y);
}
