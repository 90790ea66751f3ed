/* swish(x) = x sigmoid(beta x); with beta 1 it is silu, bit for bit, with beta 0 x / 2. Infinities give the limit.
 * A negative beta is the positive one of -x, negated. Where beta is tiny x may be 2^128 and the sigmoid 2^-278, so 2^n,
 * of e^-(beta x), is taken in four factors, 2^floor(n/4) thrice and the rest, none of them out of range. For n < 0 it
 * is one factor, lest a small x lose bits. */
AN_INLINE vf act_swish(vf x, double p0, double p1) {
  (void)p1;
  const double beta = __builtin_fabs(p0), largest = 0x1.fffffep127;
  const vf lowest = vf_set((float)(194 < largest * beta ? -194 / beta : -largest));
  const vf highest = vf_set((float)(26 < largest * beta ? 26 / beta : largest));
  const vi flip = vi_set(p0 < 0 ? INT32_MIN : 0);
  x = vi_float_bits(vi_xor(vf_bits(x), flip));

  const vm_reduced e = vm_reduce_scaled(vf_min(vf_max(x, lowest), highest), -beta, vm_halves());
  const vi quarter = vi_and(vi_shl(vi_add(e.bits, vi_set(254)), 21), vi_set(0x7f800000));
  const vf low = vf_max(vi_float_bits(quarter), vm_one()), inverse = vm_pow2_inverse(low);
  const vi low3 = vi_add(vf_bits(low), vi_add(vf_bits(low), vf_bits(low)));
  const vf rest = vi_float_bits(vi_sub(vi_add(vi_shl(e.bits, 23), vi_set(254 << 23)), low3));
  const vf inverse3 = vf_mul(vf_mul(inverse, inverse), inverse);
  const vf denominator = vf_madd(rest, vm_expm1_reduced(e.r), vf_add(rest, inverse3));

  const vf vanishes = vf_set(beta > 0 ? -__builtin_inff() : __builtin_nanf("")); /* equal to nothing for beta 0 */
  const vf numerator = vf_select(vf_eq(x, vanishes), vf_set(-0.0f), x);
  const vf y = vf_mul(vf_mul(vf_mul(vf_div(numerator, denominator), inverse), inverse), inverse);
  return vi_float_bits(vi_xor(vf_bits(y), flip));
}
/* swish'(x) = silu'(beta x). With beta 0 it is 1/2, at infinity too; no other beta becomes 0 by rounding. */
AN_INLINE vf act_swish_grad(vf x, double p0, double p1) {
  (void)p1;
  const float nearest = (float)p0, tiny = p0 > 0 ? 0x1p-149f : -0x1p-149f;
  if (p0 == 0) x = vf_min(vf_max(x, vf_set(-1.0f)), vm_one());
  return vm_silu_slope(vf_mul(x, vf_set(p0 != 0 && nearest == 0 ? tiny : nearest)));
}
