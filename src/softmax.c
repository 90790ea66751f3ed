/* Softmax and log-softmax along any axis.
 *
 *   softmax      e^(x - max) / sum(e^(x - max))
 *   log-softmax  (x - max) - log(sum(e^(x - max)))
 *
 * x - max is carried in two floats: alone its rounding would cost an element up to |x - max| / 2 ULP. The logarithm is
 * that of 1 + (the others than one of the largest), so log-softmax keeps its relative accuracy where a class is nearly
 * certain.
 *
 * The maximum is an element, never a floor. -inf gives exactly 0 (log: -inf). NaN and +inf make their row NaN by way of
 * x - max, and so does -inf alone unless AN_SOFTMAX_MASKED_ZERO is set.
 *
 * Gradients need the result alone. In double: of a class that is nearly certain little is left of dy less the sum.
 */
#include "../include/addnorm.h"

#include "map.h"
#include "vmath.h"

/* x - max = hi + error (two-sum); the error is NaN where hi is not finite. */
AN_INLINE vf minus_max(vf x, vf max, vf *error) {
  const vf hi = vf_sub(x, max), m = vf_sub(hi, x);
  *error = vf_sub(vf_sub(x, vf_sub(hi, m)), vf_add(max, m));
  return hi;
}
AN_INLINE vf keep(vf a, vi mask) { return vi_float_bits(vi_and(vf_bits(a), mask)); }

/* e^(x - max), 0 below -104. NaN in, NaN out. */
AN_INLINE vf exp_minus_max(vf x, vf max) {
  vf error;
  const vf hi = minus_max(x, max, &error), bounded = vf_max(hi, vf_set(-110.0f));
  return vm_exp_sum(bounded, keep(error, vf_eq(hi, bounded)));
}

AN_INLINE vf log_softmax(vf x, vf max, vf log_sum) {
  vf error;
  const vf hi = minus_max(x, max, &error);
  return vf_add(vf_sub(hi, log_sum), keep(error, vf_eq(error, error)));
}

/* Terms of a log-softmax's sum: the largest elements are counted, e^(x - max) of the others is added. */
AN_INLINE void add_terms(vf *others, vf *largest, vf x, vf max) {
  const vi is_largest = vf_eq(vf_sub(x, max), vf_set(0.0f)); /* not x == max: infinity must become NaN */
  *others = vf_add(*others, keep(exp_minus_max(x, max), vi_not(is_largest)));
  *largest = vf_add(*largest, keep(vf_set(1.0f), is_largest));
}

/* ---- Rows ---- */

AN_INLINE vf op_exp(vf x, double max, double unused) {
  (void)unused;
  return exp_minus_max(x, vf_set((float)max));
}
AN_INLINE vf op_divide(vf x, double by, double unused) {
  (void)unused;
  return vf_div(x, vf_set((float)by));
}
AN_INLINE vf op_log_softmax(vf x, double max, double log_sum) {
  return log_softmax(x, vf_set((float)max), vf_set((float)log_sum));
}
AN_INLINE void add_element(vf *sum, vf *unused, vf x, vf unused2) {
  (void)unused, (void)unused2;
  *sum = vf_add(*sum, x);
}
AN_INLINE void count_nan(vf *count, vf *unused, vf x, vf unused2) {
  (void)unused, (void)unused2;
  *count = vf_add(*count, keep(vf_set(1.0f), vf_ne(x, x)));
}

static void softmax_row(float *y, const float *x, size_t n, int flags) {
  const float max = reduce_max(x, n);
  double sum = 0, largest = 0;
  if ((flags & AN_SOFTMAX_MASKED_ZERO) && max == -__builtin_inff()) {
    double nans = 0;
    reduce(&nans, &largest, x, n, 1, count_nan, 0.0f, 0.0f);
    if (nans == 0) {
      for (size_t i = 0; i < n; i++) y[i] = flags & AN_SOFTMAX_LOG ? max : 0.0f;
      return;
    }
  }
  if (flags & AN_SOFTMAX_LOG) {
    reduce(&sum, &largest, x, n, 1, add_terms, max, -__builtin_inff());
    map(y, x, n, op_log_softmax, max, vf_first(vm_log1p(vf_set((float)(sum + (largest - 1))))));
  } else {
    map(y, x, n, op_exp, max, 0);
    reduce(&sum, &largest, y, n, 1, add_element, 0.0f, 0.0f);
    map(y, y, n, op_divide, sum, 0);
  }
}

/* ---- Columns ---- */

AN_INLINE vf load_lanes(const float *x, size_t lanes) {
  return lanes == AN_LANES ? vf_load(x) : vf_load_tail(x, lanes, 0.0f);
}
AN_INLINE void store_lanes(float *y, size_t lanes, vf v) {
  if (lanes == AN_LANES)
    vf_store(y, v);
  else
    vf_store_tail(y, lanes, v);
}

/* `lanes` neighbouring columns, a lane each, of n elements `stride` apart. */
static void softmax_columns(float *y, const float *x, size_t n, size_t stride, size_t lanes, int flags) {
  const vf lowest = vf_set(-__builtin_inff());
  vf max = lowest;
  vi nan = vi_set(0);
  for (size_t i = 0; i < n; i++) {
    const vf v = load_lanes(x + i * stride, lanes);
    max = vf_max(max, v);
    nan = vi_or(nan, vf_ne(v, v));
  }
  const vi masked = flags & AN_SOFTMAX_MASKED_ZERO ? vi_and(vf_eq(max, lowest), vi_not(nan)) : vi_set(0);

  /* In double: a lane has one chain, as long as the column. One of the largest is the 1 of log1p. */
  vd low = vd_set(0.0), high = low, largest_low = vd_set(-1.0), largest_high = largest_low;
  for (size_t i = 0; i < n; i++) {
    const vf v = load_lanes(x + i * stride, lanes);
    vf sum = vf_set(0.0f), largest = sum;
    if (flags & AN_SOFTMAX_LOG) {
      add_terms(&sum, &largest, v, max);
      largest_low = vd_add(largest_low, vd_low(largest));
      largest_high = vd_add(largest_high, vd_high(largest));
    } else {
      sum = exp_minus_max(v, max);
      store_lanes(y + i * stride, lanes, sum);
    }
    low = vd_add(low, vd_low(sum));
    high = vd_add(high, vd_high(sum));
  }

  if (flags & AN_SOFTMAX_LOG) {
    const vf log_sum = vm_log1p(vf_from_vd(vd_add(largest_low, low), vd_add(largest_high, high)));
    for (size_t i = 0; i < n; i++) {
      const vf v = log_softmax(load_lanes(x + i * stride, lanes), max, log_sum);
      store_lanes(y + i * stride, lanes, vf_select(masked, lowest, v));
    }
  } else {
    const vf sum = vf_from_vd(low, high);
    for (size_t i = 0; i < n; i++) {
      const vf v = vf_div(load_lanes(y + i * stride, lanes), sum);
      store_lanes(y + i * stride, lanes, keep(v, vi_not(masked)));
    }
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
      const vf p = count < AN_LANES ? vf_load_tail(y + at, count, nothing) : vf_load(y + at);
      const vf g = load_lanes(dy + at, count);
      if (writing) {
        const vf e = logged ? vm_exp(p) : p;
        const vd front = gradient(vd_low(e), vd_low(g), low, logged);
        const vd back = gradient(vd_high(e), vd_high(g), high, logged);
        store_lanes(dx + at, count, keep(vf_from_vd(front, back), some));
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
