/* Elementary functions on vectors. */
#ifndef AN_VMATH_H
#define AN_VMATH_H

#include "simd.h"

/* e^v = (1 + t) * 2^n, |t| < 0.42; n is kept as n + 254 in the low nine bits. */
typedef struct vm_exp_parts {
  vf t;
  vi n;
} vm_exp_parts;

/* t of e^r = 1 + t, |r| <= ln(2)/2 * 1.01. Minimax for e^r's relative error, 2^-28.1. */
AN_INLINE vf vm_expm1_reduced(vf r) {
  vf q = vf_set(0x1.6afd8p-10f);
  q = vf_madd(q, r, vf_set(0x1.12448ep-7f));
  q = vf_madd(q, r, vf_set(0x1.555826p-5f));
  q = vf_madd(q, r, vf_set(0x1.555482p-3f));
  q = vf_madd(q, r, vf_set(0x1.fffffcp-2f));
  return vf_madd(vf_mul(r, r), q, r);
}

/* e^(hi + lo) for |hi| <= 174, |lo| < 2^-10 |hi|. The constants split ln 2 so that n * ln2_hi is exact. */
AN_INLINE vm_exp_parts vm_exp_split(vf hi, vf lo) {
  const vf magic = vf_set(0x1.8p23f + 254.0f);
  const vf z = vf_madd(hi, vf_set(0x1.715476p+0f), magic);
  const vf n = vf_sub(z, magic);
  const vf r = vf_add(vf_nmadd(n, vf_set(0x1.62e4p-1f), hi), vf_nmadd(n, vf_set(0x1.7f7d1cp-20f), lo));
  return (vm_exp_parts){vm_expm1_reduced(r), vf_bits(z)};
}

/* 2^floor(n/2) and 2^(n - floor(n/2)). */
AN_INLINE vf vm_pow2_low(vi n) { return vi_float_bits(vi_and(vi_shl(n, 22), vi_set(0x7f800000))); }
AN_INLINE vf vm_pow2_high(vi n, vf low) { return vi_float_bits(vi_sub(vi_shl(n, 23), vf_bits(low))); }
AN_INLINE vf vm_pow2_inverse(vf a) { return vi_float_bits(vi_sub(vi_set(254 << 23), vf_bits(a))); }

/* a * 2^n, rounded once. */
AN_INLINE vf vm_scale(vf a, vi n) {
  const vf low = vm_pow2_low(n);
  return vf_mul(vf_mul(a, low), vm_pow2_high(n, low));
}

/* e^x */
AN_INLINE vf vm_exp(vf x) {
  x = vf_min(vf_max(x, vf_set(-104.0f)), vf_set(89.0f));
  const vm_exp_parts e = vm_exp_split(x, vf_set(0.0f));
  return vm_scale(vf_add(e.t, vf_set(1.0f)), e.n);
}

/* e^v - 1 for v <= 0 */
AN_INLINE vf vm_expm1_scaled(vm_exp_parts e, vf *scale) {
  const vf low = vm_pow2_low(e.n), high = vm_pow2_high(e.n, low);
  *scale = low;
  return vf_madd(high, e.t, vf_sub(high, vm_pow2_inverse(low)));
}

/* log1p(z)/z on [0, 1] */
AN_INLINE vf vm_log1p_ratio(vf z) {
  vf p = vf_set(-0x1.af49cep-9f);
  p = vf_madd(p, z, vf_set(0x1.4917cep-6f));
  p = vf_madd(p, z, vf_set(-0x1.d6b08cp-5f));
  p = vf_madd(p, z, vf_set(0x1.b4ae08p-4f));
  p = vf_madd(p, z, vf_set(-0x1.3a435ep-3f));
  p = vf_madd(p, z, vf_set(0x1.934b54p-3f));
  p = vf_madd(p, z, vf_set(-0x1.ff23e6p-3f));
  p = vf_madd(p, z, vf_set(0x1.554dd0p-2f));
  p = vf_madd(p, z, vf_set(-0x1.ffffd2p-2f));
  return vf_madd(p, z, vf_set(1.0f));
}

/* log x for positive finite x that is not subnormal; anything else gives a meaningless number. */
AN_INLINE vf vm_log(vf x) {
  const vi bits = vi_sub(vf_bits(x), vi_set(0x3f3504f3));
  const vf n = vi_to_float(vi_sar(bits, 23));
  const vf f = vf_sub(vi_float_bits(vi_add(vi_and(bits, vi_set(0x007fffff)), vi_set(0x3f3504f3))), vf_set(1.0f));
  const vf f2 = vf_mul(f, f);
  vf p = vf_set(-0x1.384692p-4f);
  p = vf_madd(p, f, vf_set(0x1.054b52p-3f));
  p = vf_madd(p, f, vf_set(-0x1.0d8380p-3f));
  p = vf_madd(p, f, vf_set(0x1.22d5c0p-3f));
  p = vf_madd(p, f, vf_set(-0x1.54719ap-3f));
  p = vf_madd(p, f, vf_set(0x1.99a036p-3f));
  p = vf_madd(p, f, vf_set(-0x1.000228p-2f));
  p = vf_madd(p, f, vf_set(0x1.555554p-2f));
  const vf q = vf_mul(f2, vf_madd(p, f, vf_set(-0.5f)));
  return vf_madd(n, vf_set(0x1.62e4p-1f), vf_add(f, vf_madd(n, vf_set(0x1.7f7d1cp-20f), q)));
}

/* 1 / (1 + e^-v) = inverse / denominator: e = e^-v in parts. */
typedef struct vm_sigmoid_parts {
  vf inverse, denominator;
} vm_sigmoid_parts;
AN_INLINE vm_sigmoid_parts vm_sigmoid_split(vm_exp_parts e) {
  const vf low = vm_pow2_low(e.n), high = vm_pow2_high(e.n, low), inverse = vm_pow2_inverse(low);
  return (vm_sigmoid_parts){inverse, vf_madd(high, e.t, vf_add(high, inverse))};
}

AN_INLINE vf vm_sigmoid(vf x) {
  x = vf_min(vf_max(x, vf_set(-104.0f)), vf_set(26.0f));
  const vm_sigmoid_parts s = vm_sigmoid_split(vm_exp_split(vf_neg(x), vf_set(0.0f)));
  return vf_div(s.inverse, s.denominator);
}

/* tanh(x)/x - 1 for |x| < 0.55 */
AN_INLINE vf vm_tanh_small(vf x) {
  const vf s = vf_mul(x, x);
  vf p = vf_set(-0x1.9c9490p-8f);
  p = vf_madd(p, s, vf_set(0x1.598276p-6f));
  p = vf_madd(p, s, vf_set(-0x1.b931fcp-5f));
  p = vf_madd(p, s, vf_set(0x1.110d6ap-3f));
  p = vf_madd(p, s, vf_set(-0x1.55554cp-2f));
  return vf_mul(p, s);
}
/* tanh |x| for |x| >= 0.55 */
AN_INLINE vf vm_tanh_large(vf x) {
  const vf v = vf_min(vf_abs(x), vf_set(12.0f));
  const vm_exp_parts e = vm_exp_split(vf_add(v, v), vf_set(0.0f));
  const vf s = vi_float_bits(vi_shl(vi_sub(e.n, vi_set(127)), 23));
  return vf_sub(vf_set(1.0f), vf_div(vf_set(2.0f), vf_madd(s, e.t, vf_add(s, vf_set(1.0f)))));
}
AN_INLINE vf vm_copysign(vf magnitude, vf sign) {
  return vi_float_bits(vi_or(vf_bits(magnitude), vi_and(vf_bits(sign), vi_set(INT32_MIN))));
}
AN_INLINE vf vm_tanh(vf x) {
  const vf a = vf_abs(x);
  return vm_copysign(vf_select(vf_lt(a, vf_set(0.55f)), vf_madd(a, vm_tanh_small(a), a), vm_tanh_large(a)), x);
}

#endif
