/* celu(x) = max(x, 0) + min(0, alpha (e^(x/alpha) - 1)): x for x >= 0, alpha (e^v - 1) below, v = x / alpha. A negative
 * alpha makes v positive and the result unbounded. Where v is small the result is x + x * (v / 2 + ...): v itself may
 * have lost its last bits as a subnormal. */
AN_INLINE vf act_celu(vf x, double p0, double p1) {
  (void)p1;
  const double k = 1 / p0, limit = (p0 > 0 ? 26 : 176.4) * __builtin_fabs(p0);
  const vf lowest = vf_set((float)(limit < 0x1.fffffep127 ? -limit : -0x1.fffffep127));
  const vf alpha = vf_set((float)p0), zero = vf_set(0.0f), below = vf_min(x, zero);
  const vm_reduced e = vm_reduce_scaled(vf_max(below, lowest), k);
  const vf q = vm_expm1_tail(e.r), t = vf_madd(vf_mul(e.r, e.r), q, e.r);
  const vf low = vm_pow2_low(e.n), rest = vm_pow2_rest(e.n, low);
  const vf m = vf_madd(rest, t, vf_sub(rest, vm_pow2_inverse(low))); /* (e^v - 1) / low */
  /* low is at most 1 for positive alpha; for a negative one alpha goes first, or e^v alone would overflow */
  const vf y = p0 > 0 ? vf_mul(vf_mul(m, low), alpha) : vf_mul(vf_mul(m, alpha), low);
  const vf small = vf_madd(below, vf_mul(e.r, q), below);
  return vf_select(vf_lt(x, zero), vf_select(vf_eq(rest, vm_pow2_inverse(low)), small, y), x);
}
