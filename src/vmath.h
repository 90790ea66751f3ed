/* Elementary functions on vectors.
 *
 * All of them stand on one reduction, e^v = (1 + t) * 2^n with |t| < 0.42, whose parts are kept apart: what is near 1
 * is added last to what is small, and the power of two is multiplied in last, so that a result that is subnormal is
 * rounded once. No step needs a fused multiply-add or forbids one: products that have to be exact have factors of 12
 * bits.
 *
 * Bounds are in ULP of the true value (units of 2^-149 where that is subnormal), the larger of plain and fused, over
 * every float32 in the range named (tests/c/exhaustive.c; docs/accuracy.md). Coefficients are minimax, found by the
 * Remez exchange in 40 digits, then rounded to float one by one, the others fitted again after each; what that leaves
 * of the approximation is given as a power of two. Long polynomials are evaluated in pairs of coefficients: a loop
 * waits for the chain of products.
 */
#ifndef AN_VMATH_H
#define AN_VMATH_H

#include "simd.h"

/* Used so often that one copy is worth a name */
AN_INLINE vf vm_one(void) { return vf_set(1.0f); }

/* Parts of e^v: r = v - n ln 2, |r| < 0.35. n is kept in the low bits of `bits`, plus a bias that suits its use; the
 * upper bits are of no account. */
typedef struct vm_reduced {
  vf r;
  vi bits;
} vm_reduced;

/* 1.5 * 2^23, whose sum with a number rounds it to an integer and leaves that in the low bits, and the bias:
 *   plain   n + 128: shifted by 23 it is 2^(n + 1), for -127 <= n <= 126
 *   down    n + 190: shifted by 23 it is 2^(n + 63), for -189 <= n <= 64: vm_scale_down
 *   odds    n + 86: shifted by 23 it is 2^(n - 41), for -85 <= n <= 168: vm_odds
 *   halves  n + 254: 2^n in two factors, for -252 <= n <= 254: vm_scale */
AN_INLINE vf vm_plain(void) { return vf_set(0x1.8p23f + 128.0f); }
AN_INLINE vf vm_down(void) { return vf_set(0x1.8p23f + 190.0f); }
AN_INLINE vf vm_odds(void) { return vf_set(0x1.8p23f + 86.0f); }
AN_INLINE vf vm_halves(void) { return vf_set(0x1.8p23f + 254.0f); }

/* |v| <= 200. n * 0x1.62e4p-1 is exact (15 + 9 bits), and so is its difference from v, which is near it: all that is
 * rounded is r, once, and terms below 2^-10 of it. */
AN_INLINE vm_reduced vm_reduce(vf v, vf magic) {
  const vf z = vf_madd(v, vf_set(0x1.715476p+0f), magic); /* 1 / ln 2 */
  const vf n = vf_sub(z, magic);
  return (vm_reduced){vf_nmadd(n, vf_set(0x1.7f7d1cp-20f), vf_nmadd(n, vf_set(0x1.62e4p-1f), v)), vf_bits(z)};
}
/* Parts of e^-v, but r is v + n ln 2: of the other sign, to spare a negation. For vm_expm1_minus. */
AN_INLINE vm_reduced vm_reduce_minus(vf v, vf magic) {
  const vf z = vf_nmadd(v, vf_set(0x1.715476p+0f), magic);
  const vf n = vf_sub(z, magic);
  return (vm_reduced){vf_madd(n, vf_set(0x1.7f7d1cp-20f), vf_madd(n, vf_set(0x1.62e4p-1f), v)), vf_bits(z)};
}
/* v = high + low, |low| <= 2^-10 |high| */
AN_INLINE vm_reduced vm_reduce_sum(vf high, vf low, vf magic) {
  const vf z = vf_madd(high, vf_set(0x1.715476p+0f), magic);
  const vf n = vf_sub(z, magic);
  return (vm_reduced){vf_add(vf_nmadd(n, vf_set(0x1.62e4p-1f), high), vf_nmadd(n, vf_set(0x1.7f7d1cp-20f), low)),
                      vf_bits(z)};
}

/* v = x - (high + low), where n 0x1.62e4p-1 + high is exact and near x; hi is v as a float. v itself need not be one.
 */
AN_INLINE vm_reduced vm_reduce_difference(vf x, vf high, vf low, vf hi, vf magic) {
  const vf z = vf_madd(hi, vf_set(0x1.715476p+0f), magic), n = vf_sub(z, magic);
  const vf first = vf_sub(x, vf_madd(n, vf_set(0x1.62e4p-1f), high));
  return (vm_reduced){vf_sub(first, vf_madd(n, vf_set(0x1.7f7d1cp-20f), low)), vf_bits(z)};
}

/* The upper 12 bits of each lane: products of two such are exact, and x - vm_upper(x) too. */
AN_INLINE vf vm_upper(vf x) { return vi_float_bits(vi_and(vf_bits(x), vi_set(-4096))); }

/* Parts of e^(k x) for |k x| <= 200, k x being good to 2^-35 of itself. */
AN_INLINE vm_reduced vm_reduce_scaled(vf x, double k, vf magic) {
  const vf k_high = vm_upper(vf_set((float)k)), k_low = vf_set((float)(k - (double)vf_first(k_high)));
  const vf x_high = vm_upper(x);
  return vm_reduce_sum(vf_mul(x_high, k_high), vf_madd(vf_sub(x, x_high), k_high, vf_mul(x, k_low)), magic);
}

/* Parts of 2^(x y) for doubles, |x y| <= 252, biased as odds: for exponents that are not a float's multiple. */
AN_INLINE vd vm_pow2_round(vd x, vd y) { return vd_madd(x, y, vd_set(0x1.8p52 + 86.0)); }
AN_INLINE vd vm_pow2_rest(vd x, vd y, vd z) {
  return vd_mul(vd_madd(x, y, vd_sub(vd_set(0x1.8p52 + 86.0), z)), vd_set(0x1.62e42fefa39efp-1)); /* ln 2 */
}
AN_INLINE vm_reduced vm_reduce_pow2(vd x_low, vd x_high, vd y_low, vd y_high) {
  const vd z_low = vm_pow2_round(x_low, y_low), z_high = vm_pow2_round(x_high, y_high);
  return (vm_reduced){vf_from_vd(vm_pow2_rest(x_low, y_low, z_low), vm_pow2_rest(x_high, y_high, z_high)),
                      vi_from_vd_bits(z_low, z_high)};
}

/* q(r) of e^r = 1 + r + r^2 q(r), r2 = r^2. Relative error of e^r 2^-28.1 on |r| <= 0.35. */
AN_INLINE vf vm_expm1_tail(vf r, vf r2) {
  const vf low = vf_madd(r, vf_set(0x1.555482p-3f), vf_set(0x1.fffffcp-2f));
  const vf high = vf_madd(r, vf_set(0x1.12448ep-7f), vf_set(0x1.555826p-5f));
  return vf_madd(vf_madd(r2, vf_set(0x1.6afd8p-10f), high), r2, low);
}
/* t = e^r - 1 */
AN_INLINE vf vm_expm1_reduced(vf r) {
  const vf r2 = vf_mul(r, r);
  return vf_madd(r2, vm_expm1_tail(r, r2), r);
}

/* 1 - e^-r, bit for bit what the function above gives for -r, negated */
AN_INLINE vf vm_expm1_minus(vf r) {
  const vf r2 = vf_mul(r, r);
  const vf low = vf_nmadd(r, vf_set(0x1.555482p-3f), vf_set(0x1.fffffcp-2f));
  const vf high = vf_nmadd(r, vf_set(0x1.12448ep-7f), vf_set(0x1.555826p-5f));
  return vf_nmadd(r2, vf_madd(vf_madd(r2, vf_set(0x1.6afd8p-10f), high), r2, low), r);
}

/* 2^n in two factors, for -252 <= n <= 254: 2^floor(n/2) and the rest. */
AN_INLINE vf vm_pow2_low(vi n) { return vi_float_bits(vi_and(vi_shl(n, 22), vi_set(0x7f800000))); }
AN_INLINE vf vm_pow2_other(vi n, vf low) { return vi_float_bits(vi_sub(vi_shl(n, 23), vf_bits(low))); }
/* 1 / a for a power of two */
AN_INLINE vf vm_pow2_inverse(vf a) { return vi_float_bits(vi_sub(vi_set(254 << 23), vf_bits(a))); }
/* a * 2^n, rounded once if a is not tiny */
AN_INLINE vf vm_scale(vf a, vi n) {
  const vf low = vm_pow2_low(n);
  return vf_mul(vf_mul(a, low), vm_pow2_other(n, low));
}

/* 2^(n + 63), of parts biased down, and with it (a + a t) 2^n, rounded to a float and, where that is subnormal, once
 * more. */
AN_INLINE vf vm_pow2_down(vm_reduced e) { return vi_float_bits(vi_shl(e.bits, 23)); }
AN_INLINE vf vm_scale_down(vf a, vf t, vf power) {
  const vf scaled = vf_mul(a, power);
  return vf_mul(vf_madd(scaled, t, scaled), vf_set(0x1p-63f));
}
AN_INLINE vf vm_exp_down(vf t, vf power) { return vf_mul(vf_madd(power, t, power), vf_set(0x1p-63f)); }
/* e^v of parts biased down */
AN_INLINE vf vm_exp_parts(vm_reduced e) { return vm_exp_down(vm_expm1_reduced(e.r), vm_pow2_down(e)); }

/* e^x <= 1.1 ULP everywhere: 0 below -104, infinity above 88.7228, NaN for NaN. */
AN_INLINE vf vm_exp(vf x) {
  const vm_reduced e = vm_reduce(vf_min(vf_max(x, vf_set(-104.0f)), vf_set(89.0f)), vm_halves());
  return vm_scale(vf_add(vm_expm1_reduced(e.r), vm_one()), e.bits);
}
/* The same for x <= 43; above it a meaningless number. */
AN_INLINE vf vm_exp_low(vf x) { return vm_exp_parts(vm_reduce(vf_max(x, vf_set(-104.0f)), vm_down())); }

/* e^x - 1 for x <= 0 <= 1.0 ULP; a positive x gives 0, NaN gives NaN. 2^n t + (2^n - 1): both are exact for n >= -24,
 * and -1 is what rounding leaves below. */
AN_INLINE vf vm_expm1_negative(vf x) {
  const vm_reduced e = vm_reduce(vf_max(vf_min(x, vf_set(0.0f)), vf_set(-26.0f)), vm_plain());
  const vf twice = vi_float_bits(vi_shl(e.bits, 23));
  return vf_mul(vf_madd(twice, vm_expm1_reduced(e.r), vf_sub(twice, vf_set(2.0f))), vf_set(0.5f));
}

/* log(1 + z) / z for 0 <= z <= 1. Relative error 2^-27.5. */
AN_INLINE vf vm_log1p_ratio(vf z) {
  const vf z2 = vf_mul(z, z);
  vf p = vf_madd(z, vf_set(-0x1.af49cep-9f), vf_set(0x1.4917cep-6f));
  p = vf_madd(p, z2, vf_madd(z, vf_set(-0x1.d6b08cp-5f), vf_set(0x1.b4ae08p-4f)));
  p = vf_madd(p, z2, vf_madd(z, vf_set(-0x1.3a435ep-3f), vf_set(0x1.934b54p-3f)));
  p = vf_madd(p, z2, vf_madd(z, vf_set(-0x1.ff23e6p-3f), vf_set(0x1.554dd0p-2f)));
  p = vf_madd(p, z, vf_set(-0x1.ffffd2p-2f));
  return vf_madd(p, z, vm_one());
}

/* log(1 + z) / z * z 2^-b * factor, z 2^-b = 2^n (1 + t) being given by parts whose n has had b taken off; power is
 * 2^b. What softplus adds to its ramp. The power of two is multiplied in last, and nothing but the result may be
 * subnormal. */
AN_INLINE vf vm_log1p_exp_scaled(vm_reduced e, vf power, vf factor) {
  const vf t = vm_expm1_reduced(e.r), z = vf_mul(vm_scale(vf_add(t, vm_one()), e.bits), power);
  const vf ratio = vf_mul(vm_log1p_ratio(z), factor);
  return vm_scale(vf_madd(ratio, t, ratio), e.bits);
}
/* log(1 + e^v), v <= 0: without b */
AN_INLINE vf vm_log1p_exp(vf v) {
  const vm_reduced e = vm_reduce(vf_max(v, vf_set(-110.0f)), vm_down());
  const vf t = vm_expm1_reduced(e.r), power = vm_pow2_down(e);
  return vm_scale_down(vm_log1p_ratio(vm_exp_down(t, power)), t, power);
}

/* log(1 + x) for x >= 0 <= 1.1 ULP; infinity and NaN give themselves, x < 0 a meaningless number.
 * u = 1 + x = 2^n m, m in [sqrt(1/2), sqrt 2): log m = f - f^2/2 + f^3 p(f), f = m - 1, relative error 2^-26.1; what
 * the sum lost in rounding comes back as lost / u. */
AN_INLINE vf vm_log1p(vf x) {
  const vf one = vm_one(), u = vf_add(x, one), lost = vf_sub(x, vf_sub(u, one));
  const vi root_half = vi_set(0x3f3504f3);
  const vi bits = vi_sub(vf_bits(u), root_half);
  const vf n = vi_to_float(vi_sar(bits, 23));
  const vf f = vf_sub(vi_float_bits(vi_add(vi_and(bits, vi_set(0x007fffff)), root_half)), one);
  vf p = vf_set(-0x1.384692p-4f);
  p = vf_madd(p, f, vf_set(0x1.054b52p-3f));
  p = vf_madd(p, f, vf_set(-0x1.0d8380p-3f));
  p = vf_madd(p, f, vf_set(0x1.22d5c0p-3f));
  p = vf_madd(p, f, vf_set(-0x1.54719ap-3f));
  p = vf_madd(p, f, vf_set(0x1.99a036p-3f));
  p = vf_madd(p, f, vf_set(-0x1.000228p-2f));
  p = vf_madd(p, f, vf_set(0x1.555554p-2f));
  const vf tail = vf_madd(vf_mul(f, f), vf_madd(p, f, vf_set(-0.5f)), vf_div(lost, u));
  const vf y = vf_madd(n, vf_set(0x1.62e4p-1f), vf_add(f, vf_madd(n, vf_set(0x1.7f7d1cp-20f), tail)));
  return vf_select(vf_le(x, vf_set(0x1.fffffep127f)), y, x);
}

/* x sigmoid(v), the denominator being 2^-41 (1 + e^-v), rounded thrice and last where it may be subnormal. What the
 * quotient is from 2^88 on, where it may be infinite, the result is x. */
AN_INLINE vf vm_gate(vf x, vf denominator) {
  const vf y = vf_mul(vf_div(x, denominator), vf_set(0x1p-41f));
  return vf_min(y, vf_max(x, vf_set(0.0f)));
}
/* 2^-41 (1 + e^v), of parts biased so: 1 + e^v may be 2^162. One addition is rounded, 1 + 2^n being exact up to n = 23.
 */
AN_INLINE vf vm_one_more(vm_reduced e) {
  const vf power = vi_float_bits(vi_shl(e.bits, 23));
  return vf_madd(power, vm_expm1_reduced(e.r), vf_add(power, vf_set(0x1p-41f)));
}
/* 2^-41 (1 + e^-v), of vm_reduce_minus(v) */
AN_INLINE vf vm_one_more_minus(vm_reduced e) {
  const vf power = vi_float_bits(vi_shl(e.bits, 23));
  return vf_nmadd(power, vm_expm1_minus(e.r), vf_add(power, vf_set(0x1p-41f)));
}

/* 1 / (1 + e^-x) <= 1.8 ULP everywhere; never above 1 or below 0. As vm_one_more, with the error of 1 + 2^n put back:
 * at n = 24 it is a whole ULP. */
AN_INLINE vf vm_sigmoid(vf x) {
  const vf one = vf_set(0x1p-41f);
  const vm_reduced e = vm_reduce_minus(vf_min(vf_max(x, vf_set(-104.0f)), vf_set(26.0f)), vm_odds());
  const vf power = vi_float_bits(vi_shl(e.bits, 23)), sum = vf_add(power, one), lost = vf_sub(one, vf_sub(sum, power));
  return vf_div(one, vf_add(sum, vf_nmadd(power, vm_expm1_minus(e.r), lost)));
}

/* tanh(x) / x - 1 for |x| <= 0.55. Relative error of tanh 2^-29.8. */
AN_INLINE vf vm_tanh_small(vf x) {
  const vf s = vf_mul(x, x);
  vf p = vf_set(-0x1.9c9490p-8f);
  p = vf_madd(p, s, vf_set(0x1.598276p-6f));
  p = vf_madd(p, s, vf_set(-0x1.b931fcp-5f));
  p = vf_madd(p, s, vf_set(0x1.110d6ap-3f));
  p = vf_madd(p, s, vf_set(-0x1.55554cp-2f));
  return vf_mul(p, s);
}
/* tanh(x) = 1 - 2 / (1 + e^2x) for x >= 0.55; above 12 it is 1. */
AN_INLINE vf vm_tanh_large(vf x) {
  const vf v = vf_min(x, vf_set(12.0f));
  const vm_reduced e = vm_reduce(vf_add(v, v), vm_plain());
  const vf twice = vi_float_bits(vi_shl(e.bits, 23));
  const vf denominator = vf_madd(twice, vm_expm1_reduced(e.r), vf_add(twice, vf_set(2.0f)));
  return vf_sub(vm_one(), vf_div(vf_set(4.0f), denominator));
}

AN_INLINE vf vm_minus_zero(void) { return vi_float_bits(vi_set(INT32_MIN)); }
/* -|x| */
AN_INLINE vf vm_minus_abs(vf x) { return vi_float_bits(vi_or(vf_bits(x), vf_bits(vm_minus_zero()))); }

/* A parameter as the factor of x: the nearest float, but towards 0 where it is above 1 in magnitude, lest a product be
 * infinite whose true value is not. */
AN_INLINE vf vm_factor(double p) {
  const vf nearest = vf_set((float)p);
  const double magnitude = __builtin_fabs(p);
  const int too_large = magnitude > 1 && __builtin_fabs((double)vf_first(nearest)) > magnitude;
  return vi_float_bits(vi_sub(vf_bits(nearest), vi_set(too_large)));
}

/* The sign of `sign` on a magnitude that is positive or has that sign already */
AN_INLINE vf vm_copysign(vf magnitude, vf sign) {
  return vi_float_bits(vi_or(vf_bits(magnitude), vi_and(vf_bits(sign), vi_set(INT32_MIN))));
}

/* tanh x <= 1.4 ULP everywhere */
AN_INLINE vf vm_tanh(vf x) {
  const vf a = vf_abs(x);
  return vm_copysign(vf_select(vf_lt(a, vf_set(0.55f)), vf_madd(a, vm_tanh_small(a), a), vm_tanh_large(a)), x);
}

/* sigmoid'(x) = sigmoid (1 - sigmoid) = e / (1 + e)^2 with e = e^-|x|, which does not cancel, <= 2.9 ULP everywhere.
 * The square is 1 + e (e + 2): with (1 + e) rounded and then squared it would be 4.2. */
AN_INLINE vf vm_sigmoid_slope(vf x) {
  const vf one = vm_one(), e = vm_exp_low(vm_minus_abs(x));
  return vf_div(e, vf_madd(e, vf_add(e, vf_set(2.0f)), one));
}
/* tanh'(x) = 1 - tanh^2 x = 4 sigmoid'(2x) <= 2.9 ULP everywhere */
AN_INLINE vf vm_sech2(vf x) { return vf_mul(vf_set(4.0f), vm_sigmoid_slope(vf_add(x, x))); }

/* d/dx of x sigmoid(v(x)) = sigmoid(v) + w sigmoid'(v), w = x v', |v| and |w| finite. */
AN_INLINE vf vm_gate_slope(vf v, vf w) {
  const vf one = vm_one(), e = vm_exp_low(vm_minus_abs(v)), r = vf_div(one, vf_add(e, one));
  const vf value = vf_select(vf_lt(v, vf_set(0.0f)), e, one); /* over 1 + e */
  return vf_mul(vf_madd(vf_mul(w, e), r, value), r);
}
/* d/dv of v sigmoid(v); from 104 on it is 1, up to -104 it is 0. */
AN_INLINE vf vm_silu_slope(vf v) {
  v = vf_min(vf_max(v, vf_set(-104.0f)), vf_set(104.0f));
  return vm_gate_slope(v, v);
}

/* y, but NaN where x is NaN */
AN_INLINE vf vm_unless_nan(vf x, vf y) { return vf_select(vf_eq(x, x), y, x); }

#endif
