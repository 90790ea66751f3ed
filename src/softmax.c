/* Softmax and log-softmax along any axis.
 *
 *   softmax      exp(x - max) / sum(exp(x - max))
 *   log-softmax  (x - max) - log(sum(exp(x - max))), the logarithm as log1p of the sum without one of the largest: the
 *                result keeps its relative accuracy where a class is nearly certain.
 *
 * The maximum is the largest element itself, never a floor. -inf gives exactly 0 (log: -inf). A NaN or +inf makes its row
 * NaN by x - max, a row of -inf alone likewise unless AN_SOFTMAX_MASKED_ZERO is set.
 */
#include "../include/addnorm.h"

#include "map.h"
#include "vmath.h"

/* Temporary, until vmath.h has them. */
AN_INLINE vf temporary_exp(vf x) {
  float t[AN_LANES];
  vf_store(t, x);
  for (int i = 0; i < AN_LANES; i++) t[i] = (float)__builtin_exp(t[i]);
  return vf_load(t);
}
AN_INLINE vf temporary_log1p(vf x) {
  float t[AN_LANES];
  vf_store(t, x);
  for (int i = 0; i < AN_LANES; i++) t[i] = (float)__builtin_log1p(t[i]);
  return vf_load(t);
}
#define vm_exp temporary_exp
#define vm_log1p temporary_log1p

AN_INLINE vf shifted_exp(vf x, double max, double unused) {
  (void)unused;
  return vm_exp(vf_sub(x, vf_set((float)max)));
}
AN_INLINE vf divide(vf x, double by, double unused) {
  (void)unused;
  return vf_div(x, vf_set((float)by));
}
AN_INLINE vf subtract_twice(vf x, double max, double log_sum) {
  return vf_sub(vf_sub(x, vf_set((float)max)), vf_set((float)log_sum));
}
AN_INLINE vf fill(vf x, double value, double unused) {
  (void)x, (void)unused;
  return vf_set((float)value);
}

AN_INLINE void add_itself(vf *sum, vf *unused, vf x, vf unused2) {
  (void)unused, (void)unused2;
  *sum = vf_add(*sum, x);
}
/* The largest are counted, the others' exponentials added. */
AN_INLINE void add_shifted_exp(vf *sum, vf *largest, vf x, vf max) {
  const vf t = vf_sub(x, max), zero = vf_set(0.0f);
  const vi is_largest = vf_eq(t, zero);
  *sum = vf_add(*sum, vf_select(is_largest, zero, vm_exp(t)));
  *largest = vf_add(*largest, vf_select(is_largest, vf_set(1.0f), zero));
}
AN_INLINE void add_not_a_number(vf *count, vf *unused, vf x, vf unused2) {
  (void)unused, (void)unused2;
  *count = vf_add(*count, vf_select(vf_ne(x, x), vf_set(1.0f), vf_set(0.0f)));
}

static void softmax_row(float *y, const float *x, size_t n, int flags) {
  const float max = reduce_max(x, n);
  double sum = 0, other = 0;
  if ((flags & AN_SOFTMAX_MASKED_ZERO) && max == -__builtin_inff()) {
    reduce(&sum, &other, x, n, add_not_a_number, 0.0f, 0.0f);
    if (sum == 0) {
      map(y, x, n, fill, flags & AN_SOFTMAX_LOG ? max : 0.0f, 0);
      return;
    }
  }
  if (flags & AN_SOFTMAX_LOG) {
    reduce(&sum, &other, x, n, add_shifted_exp, max, -__builtin_inff());
    map(y, x, n, subtract_twice, max, vf_first(vm_log1p(vf_set((float)(other - 1 + sum)))));
  } else {
    map(y, x, n, shifted_exp, max, 0);
    reduce(&sum, &other, y, n, add_itself, 0.0f, 0.0f);
    map(y, y, n, divide, sum, 0);
  }
}

AN_INLINE vf load_some(const float *x, size_t lanes) {
  return lanes == AN_LANES ? vf_load(x) : vf_load_tail(x, lanes, 0.0f);
}
AN_INLINE void store_some(float *y, size_t lanes, vf v) {
  if (lanes == AN_LANES)
    vf_store(y, v);
  else
    vf_store_tail(y, lanes, v);
}

/* `lanes` neighbouring columns of n elements, `stride` apart: a column a lane. */
static void softmax_columns(float *y, const float *x, size_t n, size_t stride, size_t lanes, int flags) {
  enum { CHAIN = 32 };
  const vf lowest = vf_set(-__builtin_inff());
  vf max = lowest;
  vi nan = vi_set(0);
  for (size_t i = 0; i < n; i++) {
    const vf v = load_some(x + i * stride, lanes);
    max = vf_max(max, v);
    nan = vi_or(nan, vf_ne(v, v));
  }
  const vi masked = flags & AN_SOFTMAX_MASKED_ZERO ? vi_and(vf_eq(max, lowest), vi_not(nan)) : vi_set(0);

  vd low = vd_set(0.0), high = low, largest_low = low, largest_high = low;
  for (size_t i = 0; i < n;) {
    const size_t end = n - i < CHAIN ? n : i + CHAIN;
    vf sum = vf_set(0.0f), largest = sum;
    for (; i < end; i++) {
      const vf v = load_some(x + i * stride, lanes);
      if (flags & AN_SOFTMAX_LOG) {
        add_shifted_exp(&sum, &largest, v, max);
      } else {
        const vf e = vm_exp(vf_sub(v, max));
        store_some(y + i * stride, lanes, e);
        sum = vf_add(sum, e);
      }
    }
    low = vd_add(low, vd_low(sum)), high = vd_add(high, vd_high(sum));
    largest_low = vd_add(largest_low, vd_low(largest)), largest_high = vd_add(largest_high, vd_high(largest));
  }

  if (flags & AN_SOFTMAX_LOG) {
    const vd one = vd_set(1.0);
    const vf log_sum = vm_log1p(
        vf_from_vd(vd_add(vd_sub(largest_low, one), low), vd_add(vd_sub(largest_high, one), high)));
    for (size_t i = 0; i < n; i++) {
      const vf v = vf_sub(vf_sub(load_some(x + i * stride, lanes), max), log_sum);
      store_some(y + i * stride, lanes, vf_select(masked, lowest, v));
    }
  } else {
    const vf sum = vf_from_vd(low, high);
    for (size_t i = 0; i < n; i++) {
      const vf v = vf_div(load_some(y + i * stride, lanes), sum);
      store_some(y + i * stride, lanes, vf_select(masked, vf_set(0.0f), v));
    }
  }
}

an_status an_softmax_fwd(float *y, const float *x, size_t outer, size_t n, size_t inner, int flags) {
  if (flags & ~(AN_SOFTMAX_LOG | AN_SOFTMAX_MASKED_ZERO)) return AN_UNKNOWN_FLAG;
  if (n == 0) return AN_INVALID_SHAPE;
  if (outer == 0 || inner == 0) return AN_OK;
  size_t size;
  if (__builtin_mul_overflow(outer, n, &size) || __builtin_mul_overflow(size, inner, &size) ||
      __builtin_mul_overflow(size, sizeof(float), &size))
    return AN_SIZE_OVERFLOW;
  if (!y || !x) return AN_NULL_POINTER;
  for (size_t o = 0; o < outer; o++) {
    const size_t at = o * n * inner;
    if (inner == 1) {
      softmax_row(y + at, x + at, n, flags);
      continue;
    }
    for (size_t i = 0; i < inner; i += AN_LANES)
      softmax_columns(y + at + i, x + at + i, n, inner, inner - i < AN_LANES ? inner - i : AN_LANES, flags);
  }
  return AN_OK;
}
