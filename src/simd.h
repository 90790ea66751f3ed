/* The vector vocabulary: the only file that names wasm intrinsics.
 *
 * Two backends behind one set of names:
 *   4 lanes  wasm simd128; natively the same intrinsics come from SIMDe, so the code that ships is the code that
 *            runs under the sanitizers. Used when __wasm_simd128__ is set, and natively unless AN_SCALAR is.
 *   1 lane   plain float and double. Makes the scalar build of every kernel.
 *
 * vf: AN_LANES floats. vi: as many int32 lanes; comparisons return vi with all bits of a lane set or clear.
 * vd: AN_LANES / 2 doubles (at least one). A vf widens to AN_LANES / AN_DLANES vd's.
 *
 * vf_madd(a, b, c) is the only place where a product and a sum may be contracted:
 *   simd and scalar   round(round(a*b) + c)
 *   relaxed           wasm relaxed_madd: fused or not, the engine decides (relaxed-SIMD proposal)
 *   native tests      with AN_TEST_FUSED an fmaf per lane, so that both outcomes are tested
 * No algorithm may depend on which of the two it gets.
 */
#ifndef AN_SIMD_H
#define AN_SIMD_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__wasm__)
#if !defined(__wasm_simd128__)
#define AN_SCALAR 1
#endif
#endif

#define AN_INLINE static inline __attribute__((always_inline, unused))
/* Not copied into what calls it: the module stays small. */
#define AN_ONE_COPY __attribute__((noinline))

#if !defined(AN_SCALAR)

#if defined(__wasm__)
#include <wasm_simd128.h>
#else
#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#endif
#define SIMDE_ENABLE_NATIVE_ALIASES
#include <simde/wasm/simd128.h>
#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif
#endif

enum { AN_LANES = 4, AN_DLANES = 2 };
typedef v128_t vf;
typedef v128_t vi;
typedef v128_t vd;

/* Unaligned access is accepted everywhere: wasm's v128.load has no alignment requirement. */
AN_INLINE vf vf_load(const float *p) { return wasm_v128_load(p); }
AN_INLINE void vf_store(float *p, vf a) { wasm_v128_store(p, a); }
AN_INLINE vf vf_load_splat(const float *p) { return wasm_v128_load32_splat(p); }
/* In wasm a literal is read from memory where it stands: as an immediate V8 puts it together anew by three instructions
 * in every turn of a loop. The compiler must not know what is read, or it makes an immediate of it, but may know that
 * it never changes: it reads it once in front of a loop whose body runs in any case, do ... while. So the address has a
 * part that the compiler can't see, and the object room for more than what is read, or that part could only be 0. */
#if defined(__wasm__)
#define AN_IN_MEMORY(type, literal)                                                                             \
  ({                                                                                                            \
    static const type constant[2] = {__builtin_choose_expr(__builtin_constant_p(literal), (literal), (type)0)}; \
    size_t nothing = 0;                                                                                         \
    __asm__("" : "+r"(nothing));                                                                                \
    (const char *)constant + nothing;                                                                           \
  })
#define AN_SPLAT(type, a, splat, load_splat) \
  __builtin_choose_expr(__builtin_constant_p(a), (a) == 0 ? splat(a) : load_splat(AN_IN_MEMORY(type, a)), splat(a))
#define vf_set(a) AN_SPLAT(float, a, wasm_f32x4_splat, wasm_v128_load32_splat)
#define vi_set(a) AN_SPLAT(int32_t, a, wasm_i32x4_splat, wasm_v128_load32_splat)
#define vd_set(a) AN_SPLAT(double, a, wasm_f64x2_splat, wasm_v128_load64_splat)
#else
AN_INLINE vf vf_set(float a) { return wasm_f32x4_splat(a); }
AN_INLINE vi vi_set(int32_t a) { return wasm_i32x4_splat(a); }
AN_INLINE vd vd_set(double a) { return wasm_f64x2_splat(a); }
#endif

AN_INLINE vf vf_add(vf a, vf b) { return wasm_f32x4_add(a, b); }
AN_INLINE vf vf_sub(vf a, vf b) { return wasm_f32x4_sub(a, b); }
AN_INLINE vf vf_mul(vf a, vf b) { return wasm_f32x4_mul(a, b); }
AN_INLINE vf vf_div(vf a, vf b) { return wasm_f32x4_div(a, b); }
AN_INLINE vf vf_sqrt(vf a) { return wasm_f32x4_sqrt(a); }
AN_INLINE vf vf_neg(vf a) { return wasm_f32x4_neg(a); }
AN_INLINE vf vf_abs(vf a) { return wasm_f32x4_abs(a); }
AN_INLINE vf vf_nearest(vf a) { return wasm_f32x4_nearest(a); }

AN_INLINE vf vf_madd(vf a, vf b, vf c) {
#if defined(__wasm_relaxed_simd__)
  return wasm_f32x4_relaxed_madd(a, b, c);
#elif defined(AN_TEST_FUSED)
  float x[4], y[4], z[4];
  wasm_v128_store(x, a), wasm_v128_store(y, b), wasm_v128_store(z, c);
  for (int i = 0; i < 4; i++) z[i] = __builtin_fmaf(x[i], y[i], z[i]);
  return wasm_v128_load(z);
#else
  return wasm_f32x4_add(wasm_f32x4_mul(a, b), c);
#endif
}
/* c - a*b */
AN_INLINE vf vf_nmadd(vf a, vf b, vf c) {
#if defined(__wasm_relaxed_simd__)
  return wasm_f32x4_relaxed_nmadd(a, b, c);
#elif defined(AN_TEST_FUSED)
  return vf_madd(vf_neg(a), b, c);
#else
  return wasm_f32x4_sub(c, wasm_f32x4_mul(a, b));
#endif
}

/* vf_min: b < a ? b : a. vf_max: a < b ? b : a. So a NaN in `a` comes through, a NaN in `b` does not, and of two
 * zeros the first is returned. Never wasm f32x4.min/max: SIMDe and V8 differ on the sign of zero. */
AN_INLINE vf vf_min(vf a, vf b) { return wasm_f32x4_pmin(a, b); }
AN_INLINE vf vf_max(vf a, vf b) { return wasm_f32x4_pmax(a, b); }

AN_INLINE vi vf_lt(vf a, vf b) { return wasm_f32x4_lt(a, b); }
AN_INLINE vi vf_le(vf a, vf b) { return wasm_f32x4_le(a, b); }
AN_INLINE vi vf_gt(vf a, vf b) { return wasm_f32x4_gt(a, b); }
AN_INLINE vi vf_ge(vf a, vf b) { return wasm_f32x4_ge(a, b); }
AN_INLINE vi vf_eq(vf a, vf b) { return wasm_f32x4_eq(a, b); }
AN_INLINE vi vf_ne(vf a, vf b) { return wasm_f32x4_ne(a, b); }
/* mask ? a : b, lane by lane (every bit of a mask lane is the same) */
AN_INLINE vf vf_select(vi mask, vf a, vf b) {
#if defined(__wasm_relaxed_simd__)
  return wasm_i32x4_relaxed_laneselect(a, b, mask); /* one instruction of the machine, not three */
#else
  return wasm_v128_bitselect(a, b, mask);
#endif
}
AN_INLINE int vi_any(vi mask) { return wasm_v128_any_true(mask); }

AN_INLINE vi vf_bits(vf a) { return a; }
AN_INLINE vf vi_float_bits(vi a) { return a; }
AN_INLINE vi vi_and(vi a, vi b) { return wasm_v128_and(a, b); }
AN_INLINE vi vi_or(vi a, vi b) { return wasm_v128_or(a, b); }
AN_INLINE vi vi_xor(vi a, vi b) { return wasm_v128_xor(a, b); }
AN_INLINE vi vi_not(vi a) { return wasm_v128_not(a); }
AN_INLINE vi vi_add(vi a, vi b) { return wasm_i32x4_add(a, b); }
AN_INLINE vi vi_sub(vi a, vi b) { return wasm_i32x4_sub(a, b); }
AN_INLINE vi vi_shl(vi a, int n) { return wasm_i32x4_shl(a, (uint32_t)n); }
AN_INLINE vi vi_sar(vi a, int n) { return wasm_i32x4_shr(a, (uint32_t)n); }
AN_INLINE vf vi_to_float(vi a) { return wasm_f32x4_convert_i32x4(a); }
/* towards zero, saturating, NaN to 0 */
AN_INLINE vi vf_to_int(vf a) { return wasm_i32x4_trunc_sat_f32x4(a); }

AN_INLINE vd vd_add(vd a, vd b) { return wasm_f64x2_add(a, b); }
AN_INLINE vd vd_sub(vd a, vd b) { return wasm_f64x2_sub(a, b); }
AN_INLINE vd vd_mul(vd a, vd b) { return wasm_f64x2_mul(a, b); }
AN_INLINE vd vd_div(vd a, vd b) { return wasm_f64x2_div(a, b); }
AN_INLINE vd vd_madd(vd a, vd b, vd c) {
#if defined(__wasm_relaxed_simd__)
  return wasm_f64x2_relaxed_madd(a, b, c);
#elif defined(AN_TEST_FUSED)
  double x[2], y[2], z[2];
  wasm_v128_store(x, a), wasm_v128_store(y, b), wasm_v128_store(z, c);
  for (int i = 0; i < 2; i++) z[i] = __builtin_fma(x[i], y[i], z[i]);
  return wasm_v128_load(z);
#else
  return wasm_f64x2_add(wasm_f64x2_mul(a, b), c);
#endif
}
AN_INLINE vd vd_low(vf a) { return wasm_f64x2_promote_low_f32x4(a); }
AN_INLINE vd vd_high(vf a) { return wasm_f64x2_promote_low_f32x4(wasm_i32x4_shuffle(a, a, 2, 3, 2, 3)); }
AN_INLINE vf vf_from_vd(vd low, vd high) {
  return wasm_i32x4_shuffle(wasm_f32x4_demote_f64x2_zero(low), wasm_f32x4_demote_f64x2_zero(high), 0, 1, 4, 5);
}
/* The low 32 bits of each double */
AN_INLINE vi vi_from_vd_bits(vd low, vd high) { return wasm_i32x4_shuffle(low, high, 0, 2, 4, 6); }
AN_INLINE double vd_sum(vd a) { return wasm_f64x2_extract_lane(a, 0) + wasm_f64x2_extract_lane(a, 1); }

/* Horizontal, always in this order: (0 + 2) + (1 + 3). */
AN_INLINE float vf_sum(vf a) {
  const vf b = wasm_f32x4_add(a, wasm_i32x4_shuffle(a, a, 2, 3, 0, 1));
  return wasm_f32x4_extract_lane(b, 0) + wasm_f32x4_extract_lane(b, 1);
}
/* The largest lane; NaN if a lane is NaN in the operand order of vf_max only, so test for NaN apart. */
AN_INLINE float vf_hmax(vf a) {
  const vf b = wasm_f32x4_pmax(a, wasm_i32x4_shuffle(a, a, 2, 3, 0, 1));
  const vf c = wasm_f32x4_pmax(b, wasm_i32x4_shuffle(b, b, 1, 0, 3, 2));
  return wasm_f32x4_extract_lane(c, 0);
}
AN_INLINE float vf_first(vf a) { return wasm_f32x4_extract_lane(a, 0); }
/* Rows and columns of the square that the vectors make change places. */
AN_INLINE void vf_transpose(vf v[4]) {
  const vf a = wasm_i32x4_shuffle(v[0], v[1], 0, 4, 1, 5), b = wasm_i32x4_shuffle(v[2], v[3], 0, 4, 1, 5);
  const vf c = wasm_i32x4_shuffle(v[0], v[1], 2, 6, 3, 7), d = wasm_i32x4_shuffle(v[2], v[3], 2, 6, 3, 7);
  v[0] = wasm_i32x4_shuffle(a, b, 0, 1, 4, 5), v[1] = wasm_i32x4_shuffle(a, b, 2, 3, 6, 7);
  v[2] = wasm_i32x4_shuffle(c, d, 0, 1, 4, 5), v[3] = wasm_i32x4_shuffle(c, d, 2, 3, 6, 7);
}

#else /* one lane */

enum { AN_LANES = 1, AN_DLANES = 1 };
typedef float vf;
typedef int32_t vi;
typedef double vd;

AN_INLINE vi vf_bits(vf a) {
  vi i;
  memcpy(&i, &a, sizeof i);
  return i;
}
AN_INLINE vf vi_float_bits(vi a) {
  vf f;
  memcpy(&f, &a, sizeof f);
  return f;
}

AN_INLINE vf vf_load(const float *p) { return *p; }
AN_INLINE void vf_store(float *p, vf a) { *p = a; }
AN_INLINE vf vf_load_splat(const float *p) { return *p; }
AN_INLINE vf vf_set(float a) { return a; }
AN_INLINE vi vi_set(int32_t a) { return a; }
AN_INLINE vd vd_set(double a) { return a; }

AN_INLINE vf vf_add(vf a, vf b) { return a + b; }
AN_INLINE vf vf_sub(vf a, vf b) { return a - b; }
AN_INLINE vf vf_mul(vf a, vf b) { return a * b; }
AN_INLINE vf vf_div(vf a, vf b) { return a / b; }
AN_INLINE vf vf_sqrt(vf a) { return __builtin_sqrtf(a); }
AN_INLINE vf vf_neg(vf a) { return -a; }
AN_INLINE vf vf_abs(vf a) { return __builtin_fabsf(a); }
/* to even, as f32x4.nearest: both builtins are one wasm instruction, and natively rint in the default mode */
AN_INLINE vf vf_nearest(vf a) { return __builtin_rintf(a); }

AN_INLINE vf vf_madd(vf a, vf b, vf c) {
#if defined(AN_TEST_FUSED)
  return __builtin_fmaf(a, b, c);
#else
  return a * b + c;
#endif
}
AN_INLINE vf vf_nmadd(vf a, vf b, vf c) {
#if defined(AN_TEST_FUSED)
  return vf_madd(-a, b, c);
#else
  return c - a * b;
#endif
}

AN_INLINE vf vf_min(vf a, vf b) { return b < a ? b : a; }
AN_INLINE vf vf_max(vf a, vf b) { return a < b ? b : a; }

AN_INLINE vi vf_lt(vf a, vf b) { return -(vi)(a < b); }
AN_INLINE vi vf_le(vf a, vf b) { return -(vi)(a <= b); }
AN_INLINE vi vf_gt(vf a, vf b) { return -(vi)(a > b); }
AN_INLINE vi vf_ge(vf a, vf b) { return -(vi)(a >= b); }
AN_INLINE vi vf_eq(vf a, vf b) { return -(vi)(a == b); }
AN_INLINE vi vf_ne(vf a, vf b) { return -(vi)(a != b); }
AN_INLINE vf vf_select(vi mask, vf a, vf b) { return mask ? a : b; }
AN_INLINE int vi_any(vi mask) { return mask != 0; }

AN_INLINE vi vi_and(vi a, vi b) { return a & b; }
AN_INLINE vi vi_or(vi a, vi b) { return a | b; }
AN_INLINE vi vi_xor(vi a, vi b) { return a ^ b; }
AN_INLINE vi vi_not(vi a) { return ~a; }
AN_INLINE vi vi_add(vi a, vi b) { return (vi)((uint32_t)a + (uint32_t)b); }
AN_INLINE vi vi_sub(vi a, vi b) { return (vi)((uint32_t)a - (uint32_t)b); }
AN_INLINE vi vi_shl(vi a, int n) { return (vi)((uint32_t)a << n); }
AN_INLINE vi vi_sar(vi a, int n) { return a >> n; }
AN_INLINE vf vi_to_float(vi a) { return (vf)a; }
AN_INLINE vi vf_to_int(vf a) {
  if (!(a >= -2147483648.0f)) return a != a ? 0 : INT32_MIN;
  return a >= 2147483648.0f ? INT32_MAX : (vi)a;
}

AN_INLINE vd vd_add(vd a, vd b) { return a + b; }
AN_INLINE vd vd_sub(vd a, vd b) { return a - b; }
AN_INLINE vd vd_mul(vd a, vd b) { return a * b; }
AN_INLINE vd vd_div(vd a, vd b) { return a / b; }
AN_INLINE vd vd_madd(vd a, vd b, vd c) {
#if defined(AN_TEST_FUSED)
  return __builtin_fma(a, b, c);
#else
  return a * b + c;
#endif
}
AN_INLINE vd vd_low(vf a) { return (vd)a; }
/* One lane has no upper half: 0 is neutral in sums. */
AN_INLINE vd vd_high(vf a) {
  (void)a;
  return 0.0;
}
AN_INLINE vf vf_from_vd(vd low, vd high) {
  (void)high;
  return (vf)low;
}
AN_INLINE vi vi_from_vd_bits(vd low, vd high) {
  uint64_t bits;
  (void)high;
  memcpy(&bits, &low, sizeof bits);
  return (vi)(uint32_t)bits;
}
AN_INLINE double vd_sum(vd a) { return a; }

AN_INLINE float vf_sum(vf a) { return a; }
AN_INLINE float vf_hmax(vf a) { return a; }
AN_INLINE float vf_first(vf a) { return a; }
AN_INLINE void vf_transpose(vf v[1]) { (void)v; }

#endif

/* n < AN_LANES floats, the other lanes set to `fill`: what a tail runs the vector body on. */
static AN_ONE_COPY __attribute__((unused)) vf vf_load_tail(const float *p, size_t n, float fill) {
  float t[AN_LANES];
  for (size_t i = 0; i < AN_LANES; i++) t[i] = fill;
  memcpy(t, p, n * sizeof(float));
  return vf_load(t);
}
static AN_ONE_COPY __attribute__((unused)) void vf_store_tail(float *p, size_t n, vf a) {
  float t[AN_LANES];
  vf_store(t, a);
  memcpy(p, t, n * sizeof(float));
}

/* A vector of which n elements are there, or more. */
AN_INLINE vf vf_load_some(const float *p, size_t n, float fill) {
  return n < AN_LANES ? vf_load_tail(p, n, fill) : vf_load(p);
}
AN_INLINE void vf_store_some(float *p, size_t n, vf a) {
  if (n < AN_LANES)
    vf_store_tail(p, n, a);
  else
    vf_store(p, a);
}

#endif
