/* Softmax and log-softmax along any axis.
 *
 *   softmax      e^(x - max) / sum(e^(x - max))
 *   log-softmax  (x - max) - log(sum(e^(x - max)))
 *
 * The logarithm is that of 1 + (the others than one of the largest), so log-softmax keeps its relative accuracy where a
 * class is nearly certain.
 *
 * The maximum is an element, never a floor. -inf gives exactly 0 (log: -inf). NaN and +inf make their row NaN by way of
 * x - max, and so does -inf alone unless AN_SOFTMAX_MASKED_ZERO is set.
 *
 * Gradients need the result alone. In double: of a class that is nearly certain little is left of dy less the sum.
 */
#include "../include/addnorm.h"

#include "map.h"
#include "vmath.h"

AN_INLINE vf keep(vf a, vi mask) { return vi_float_bits(vi_and(vf_bits(a), mask)); }

/* y[i] = 2^63 e^(x[i] - max), as good as nothing where x - max is below -126; n is a multiple of AN_LANES above 0.
 *
 * x - max alone, rounded, would cost an element up to |x - max| / 2 ULP; but x - (max + n ln 2) is small. max is taken
 * in two, the upper one a multiple of 2^-14, so that its sum with n times the upper part of ln 2, a multiple of 2^-15,
 * is exact up to 512. From 256 on x - max is exact itself where it counts, and takes x's place. */
AN_ONE_COPY static void exponentials(float *y, const float *x, size_t n, vf max) {
  const vi small = vf_lt(vf_abs(max), vf_set(256.0f));
  const vf top = keep(max, small), shift = keep(max, vi_not(small)), floor = vf_sub(top, vf_set(126.0f));
  const vf coarse = vf_set(0x1.8p9f), high = vf_sub(vf_add(top, coarse), coarse), low = vf_sub(top, high);
  if (vi_any(vi_not(small))) {
    for (size_t i = 0; i < n; i += AN_LANES) vf_store(y + i, vf_sub(vf_load(x + i), shift));
    x = y;
  }
  size_t i = 0;
  do {
    const vf v = vf_max(vf_load(x + i), floor);
    const vm_reduced e = vm_reduce_difference(v, high, low, vf_sub(v, top), vm_down());
    const vf power = vm_pow2_down(e);
    vf_store(y + i, vf_madd(power, vm_expm1_reduced(e.r), power));
  } while ((i += AN_LANES) < n);
}

/* ---- Pieces ----
 *
 * A row, or AN_LANES neighbouring columns at a time, goes through the loops in pieces that are in cache, of whole
 * groups of four vectors. What is left of a row at the end, and columns, are a copy of one group that is filled up.
 */
enum { GROUP = 4 * AN_LANES, PIECE = 64 * GROUP };

/* n elements of a row (lanes 0), or of each of `lanes` neighbouring columns, `stride` apart. */
typedef struct strip {
  size_t n, stride, lanes;
} strip;

/* The piece of x from `at` on, *size floats, and *next, where the next one starts. */
static const float *gather(float *piece, const float *x, size_t at, strip s, vf fill, size_t *size, size_t *next) {
  const size_t left = s.n - at, most = s.lanes ? PIECE / AN_LANES : PIECE;
  size_t n = left < most ? left : most;
  const int in_place = s.lanes == 0 && n >= GROUP;
  if (in_place) n -= n % GROUP;
  *next = at + n;
  *size = s.lanes ? n * AN_LANES : n;
  if (in_place) return x + at;
  for (size_t i = *size - *size % AN_LANES; i % GROUP != 0 || i < *size; i += AN_LANES) vf_store(piece + i, fill);
  if (s.lanes == 0) memcpy(piece, x + at, n * sizeof(float));
  for (size_t i = 0; i < n && s.lanes; i++)
    vf_store(piece + i * AN_LANES, vf_load_some(x + (at + i) * s.stride, s.lanes, 0.0f));
  *size += -*size % GROUP;
  return piece;
}
/* A copy back to where it belongs. */
static void scatter(float *y, const float *piece, size_t at, size_t next, strip s) {
  if (s.lanes == 0) memcpy(y + at, piece, (next - at) * sizeof(float));
  for (size_t i = at; i < next && s.lanes; i++)
    vf_store_some(y + i * s.stride, s.lanes, vf_load(piece + (i - at) * AN_LANES));
}

static void softmax(float *y, const float *x, strip s, int flags) {
  const int row = s.lanes == 0, logged = flags & AN_SOFTMAX_LOG;
  const vf lowest = vf_set(-__builtin_inff()), zero = vf_set(0.0f);
  float piece[PIECE], powers[PIECE];
  size_t size, next;

  vf max = lowest;
  for (size_t at = 0; at < s.n; at = next) {
    const float *v = gather(piece, x, at, s, lowest, &size, &next), *const end = v + size;
    for (; v < end; v += GROUP)
      max = vf_max(max, vf_max(vf_max(vf_load(v), vf_load(v + AN_LANES)),
                               vf_max(vf_load(v + 2 * AN_LANES), vf_load(v + 3 * AN_LANES))));
  }
  if (row) max = vf_set(vf_hmax(max));
  const vi no_max = vf_eq(max, lowest); /* nothing but -infinity and NaN */
  max = keep(max, vi_not(no_max));

  /* For a log-softmax the largest are counted, and the sum is that of the others. */
  vd low = vd_set(0.0), high = low, largest_low = low, largest_high = low;
  for (size_t at = 0; at < s.n; at = next) {
    const float *const in = gather(piece, x, at, s, lowest, &size, &next);
    float *const e = in != piece && !logged ? y + at : powers;
    exponentials(e, in, size, max);
    if (logged) {
      vf largest = zero;
      for (size_t i = 0; i < size; i += AN_LANES) {
        const vf power = vf_load(e + i);
        const vi is_largest = vf_eq(power, vf_set(0x1p63f));
        vf_store(e + i, keep(power, vi_not(is_largest)));
        largest = vf_add(largest, keep(vm_one(), is_largest));
      }
      largest_low = vd_add(largest_low, vd_low(largest)), largest_high = vd_add(largest_high, vd_high(largest));
    } else if (in == piece) {
      scatter(y, e, at, next, s);
    }
    /* Of a row four vectors are added in float, sums of those, and columns, in double. */
    const float *v = e, *const end = e + size;
    if (row)
      for (; v < end; v += GROUP) {
        const vf sum = vf_add(vf_add(vf_load(v), vf_load(v + AN_LANES)),
                              vf_add(vf_load(v + 2 * AN_LANES), vf_load(v + 3 * AN_LANES)));
        low = vd_add(low, vd_add(vd_low(sum), vd_high(sum)));
      }
    else
      for (; v < end; v += AN_LANES) low = vd_add(low, vd_low(vf_load(v))), high = vd_add(high, vd_high(vf_load(v)));
  }
  if (row) {
    low = high = vd_set(vd_sum(low));
    largest_low = largest_high = vd_set(vd_sum(vd_add(largest_low, largest_high)));
  }
  const vd one = vd_set(1.0), scale = vd_set(0x1p-63);
  const vf sum = vf_from_vd(low, high);
  vf by = vf_from_vd(vd_div(one, low), vd_div(one, high));
  /* One of the largest is the 1 of log1p. */
  if (logged)
    by = vm_log1p(vf_from_vd(vd_add(vd_mul(low, scale), vd_sub(largest_low, one)),
                             vd_add(vd_mul(high, scale), vd_sub(largest_high, one))));
  const vi masked = vi_and(no_max, vf_eq(sum, sum));
  by = vf_select(masked, vf_set(flags & AN_SOFTMAX_MASKED_ZERO ? 0.0f : __builtin_nanf("")), by);
  for (size_t at = 0; at < s.n; at = next) {
    const float *const in = gather(piece, logged ? x : y, at, s, zero, &size, &next);
    float *const out = in == piece ? piece : y + at;
    size_t i = 0;
    if (logged)
      for (; i < size; i += AN_LANES) vf_store(out + i, vf_sub(vf_sub(vf_load(in + i), max), by));
    else
      for (; i < size; i += AN_LANES) vf_store(out + i, vf_mul(vf_load(in + i), by));
    if (in == piece) scatter(y, piece, at, next, s);
  }
}

/* ---- Gradient ---- */

/* Of half a vector; p is the probability. */
AN_INLINE vd gradient(vd p, vd dy, vd sum, int logged) {
  return logged ? vd_sub(dy, vd_mul(p, sum)) : vd_mul(p, vd_sub(dy, sum));
}

/* A row of n elements (lanes 0), or `lanes` neighbouring columns of n elements `stride` apart: the same loops, in steps
 * of a vector. */
static void softmax_gradient(float *dx, const float *y, const float *dy, size_t n, size_t stride, size_t lanes,
                             int flags) {
  const int row = lanes == 0, logged = flags & AN_SOFTMAX_LOG;
  const size_t step = row ? AN_LANES : 1;
  const float nothing = logged ? -__builtin_inff() : 0.0f;
  vd low = vd_set(0.0), high = low;
  vi some = vi_set(flags & AN_SOFTMAX_MASKED_ZERO ? 0 : -1); /* a probability that is not 0 */
  for (int writing = 0; writing < 2; writing++) {
    for (size_t i = 0; i < n; i += step) {
      const size_t at = i * stride, count = !row ? lanes : n - i < AN_LANES ? n - i : AN_LANES;
      const vf p = vf_load_some(y + at, count, nothing);
      const vf g = vf_load_some(dy + at, count, 0.0f);
      if (writing) {
        const vf e = logged ? vm_exp(p) : p;
        const vd front = gradient(vd_low(e), vd_low(g), low, logged);
        const vd back = gradient(vd_high(e), vd_high(g), high, logged);
        vf_store_some(dx + at, count, keep(vf_from_vd(front, back), some));
        continue;
      }
      some = vi_or(some, vf_ne(p, vf_set(nothing)));
      low = vd_add(low, logged ? vd_low(g) : vd_mul(vd_low(p), vd_low(g)));
      high = vd_add(high, logged ? vd_high(g) : vd_mul(vd_high(p), vd_high(g)));
    }
    if (writing || !row) continue;
    low = high = vd_set(vd_sum(vd_add(low, high)));
    some = vi_set(-vi_any(some));
  }
}

/* ---- ABI ---- */

static an_status check_softmax(size_t outer, size_t n, size_t inner, int flags) {
  if (flags & ~(AN_SOFTMAX_LOG | AN_SOFTMAX_MASKED_ZERO)) return AN_UNKNOWN_FLAG;
  if (n == 0) return AN_INVALID_SHAPE;
  size_t size;
  if (outer > 0 && inner > 0 &&
      (__builtin_mul_overflow(outer, n, &size) || __builtin_mul_overflow(size, inner, &size) ||
       __builtin_mul_overflow(size, sizeof(float), &size)))
    return AN_SIZE_OVERFLOW;
  return AN_OK;
}

an_status an_softmax_fwd(float *y, const float *x, size_t outer, size_t n, size_t inner, int flags) {
  const an_status status = check_softmax(outer, n, inner, flags);
  if (status || outer == 0 || inner == 0) return status;
  if (!y || !x) return AN_NULL_POINTER;
  for (size_t o = 0; o < outer; o++)
    for (size_t i = 0; i < inner; i += AN_LANES) {
      const size_t at = o * n * inner + i, lanes = inner - i < AN_LANES ? inner - i : AN_LANES;
      softmax(y + at, x + at, (strip){n, inner, inner == 1 ? 0 : lanes}, flags);
    }
  return AN_OK;
}

an_status an_softmax_bwd(float *dx, const float *y, const float *dy, size_t outer, size_t n, size_t inner, int flags) {
  const an_status status = check_softmax(outer, n, inner, flags);
  if (status || outer == 0 || inner == 0) return status;
  if (!dx || !y || !dy) return AN_NULL_POINTER;
  for (size_t o = 0; o < outer; o++)
    for (size_t i = 0; i < inner; i += AN_LANES) {
      const size_t at = o * n * inner + i, lanes = inner - i < AN_LANES ? inner - i : AN_LANES;
      softmax_gradient(dx + at, y + at, dy + at, n, inner, inner == 1 ? 0 : lanes, flags);
    }
  return AN_OK;
}
