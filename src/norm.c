/* Norms. Bodies of the row norms: src/norm/<id>.h.
 *
 * An element is normalised as (x - mean) * factor, and how that is computed follows from what the elements are:
 *
 *   near   in float, as ((x - near) - (mean - near)) * factor. `near` is a float close to the mean, at first an element,
 *          so x - near is exact or nearly so wherever the mean is large against the spread. One pass gives the sums
 *          of x - near and of its square; the variance loses (mean - near)^2 / variance roundings, so beyond NEAR_ENOUGH
 *          (`near` was an outlier) the pass is repeated around the mean that it found.
 *   exact  in double, in two passes, where that does not help: sums that overflow or underflow float, and elements
 *          of which one pair differs by less than the mean's last place. Serves NaN and infinity as well.
 *
 * A divisor of 0 (no spread, and eps 0) gives the factor 0: such elements become bias.
 */
#include "norm.h"

#include "map.h"
#include "tensor.h"
#include "vmath.h"

/* Temporary, until vmath.h has it. */
AN_INLINE vf temporary_tanh(vf x) {
  float t[AN_LANES];
  vf_store(t, x);
  for (int i = 0; i < AN_LANES; i++) t[i] = (float)__builtin_tanh(t[i]);
  return vf_load(t);
}
#define vm_tanh temporary_tanh

static const struct {
  const char *name, *aliases, *kind;
  double eps;
  size_t affine;
  const char *formula, *source;
} list[] = {
#define AN_NORM(id, aliases, kind, eps, affine, formula, source) {#id, aliases, #kind, eps, affine, formula, source},
#include "norm/list.def"
#undef AN_NORM
};

size_t an_norm_count(void) { return AN_NORM_COUNT; }
const char *an_norm_name(size_t norm) { return norm < AN_NORM_COUNT ? list[norm].name : NULL; }
const char *an_norm_aliases(size_t norm) { return norm < AN_NORM_COUNT ? list[norm].aliases : NULL; }
const char *an_norm_kind(size_t norm) { return norm < AN_NORM_COUNT ? list[norm].kind : NULL; }
double an_norm_default_eps(size_t norm) { return norm < AN_NORM_COUNT ? list[norm].eps : 0; }
size_t an_norm_default_affine(size_t norm) { return norm < AN_NORM_COUNT ? list[norm].affine : 0; }
const char *an_norm_formula(size_t norm) { return norm < AN_NORM_COUNT ? list[norm].formula : NULL; }
const char *an_norm_source(size_t norm) { return norm < AN_NORM_COUNT ? list[norm].source : NULL; }

/* ---- Affine ---- */

typedef struct affine {
  const float *weight, *bias; /* NULL: 1 and 0 */
  float offset;               /* added to weight */
  size_t step;                /* 1, or 0: AN_LANES elements of weight and bias that serve all of x */
} affine;

AN_INLINE vf affine_vector(vf v, affine a, size_t i) {
  if (!a.weight) return a.bias ? vf_add(v, vf_load(a.bias + i)) : v;
  const vf w = vf_add(vf_load(a.weight + i), vf_set(a.offset));
  return a.bias ? vf_madd(v, w, vf_load(a.bias + i)) : vf_mul(v, w);
}

typedef vf (*norm_op)(vf x, vf p, vf q, vf r);

/* y[i] = op(x[i], p, q, r) * (weight[i] + offset) + bias[i]; y may equal x. */
AN_INLINE void map_affine(float *y, const float *x, size_t n, norm_op op, float p, float q, float r, affine a) {
  const vf vp = vf_set(p), vq = vf_set(q), vr = vf_set(r);
  size_t i = 0;
  for (; i + AN_LANES <= n; i += AN_LANES)
    vf_store(y + i, affine_vector(op(vf_load(x + i), vp, vq, vr), a, i * a.step));
  if (i < n) {
    float weight[AN_LANES], bias[AN_LANES];
    affine tail = a;
    if (a.weight) {
      vf_store(weight, vf_load_tail(a.weight + i * a.step, n - i, 0.0f));
      tail.weight = weight;
    }
    if (a.bias) {
      vf_store(bias, vf_load_tail(a.bias + i * a.step, n - i, 0.0f));
      tail.bias = bias;
    }
    vf_store_tail(y + i, n - i, affine_vector(op(vf_load_tail(x + i, n - i, p), vp, vq, vr), tail, 0));
  }
}

AN_INLINE vf op_near(vf x, vf near, vf rest, vf factor) { return vf_mul(vf_sub(vf_sub(x, near), rest), factor); }
AN_INLINE vf op_scale(vf x, vf factor, vf q, vf r) {
  (void)q, (void)r;
  return vf_mul(x, factor);
}

static void map_exact(float *y, const float *x, size_t n, double mean, double factor, affine a) {
  for (size_t i = 0; i < n; i++) {
    float v = (float)(((double)x[i] - mean) * factor);
    if (a.weight) v *= a.weight[i * a.step] + a.offset;
    y[i] = a.bias ? v + a.bias[i * a.step] : v;
  }
}

/* ---- Statistics ---- */

/* Runs of n adjacent elements, `stride` apart: a row is one run. */
typedef struct elements {
  const float *x;
  size_t runs, stride, n;
} elements;

typedef struct moments {
  double mean, square; /* mean, and mean square about it */
  float near;
  int exact;
} moments;

/* What x - mean is divided by. square: mean square of n elements, about their mean where the norm centres. */
typedef double (*norm_divisor)(double square, size_t n, double eps);

/* Above: a float sum of squares is free of underflow down to 2^-126 an element, which is nothing beside 2^-90. */
#define SMALLEST_DIVISOR 0x1p-45
enum { NEAR_ENOUGH = 16 };

AN_INLINE void add_near(vf *sum, vf *squares, vf x, vf near) {
  const vf t = vf_sub(x, near);
  *sum = vf_add(*sum, t);
  *squares = vf_madd(t, t, *squares);
}
AN_INLINE void add_squares(vf *squares, vf *unused, vf x, vf unused2) {
  (void)unused, (void)unused2;
  *squares = vf_madd(x, x, *squares);
}

/* Four chains: additions do not wait for each other. */
static double exact_sum(elements e, double shift) {
  double s[4] = {0, 0, 0, 0};
  for (size_t r = 0; r < e.runs; r++)
    for (size_t i = 0; i < e.n; i++) s[i % 4] += (double)e.x[r * e.stride + i] - shift;
  return (s[0] + s[1]) + (s[2] + s[3]);
}
static double exact_squares(elements e, double shift) {
  double s[4] = {0, 0, 0, 0};
  for (size_t r = 0; r < e.runs; r++)
    for (size_t i = 0; i < e.n; i++) {
      const double t = (double)e.x[r * e.stride + i] - shift;
      s[i % 4] += t * t;
    }
  return (s[0] + s[1]) + (s[2] + s[3]);
}

static moments exact_moments(elements e) {
  const double n = (double)(e.runs * e.n), first = e.x[0];
  const double mean = first + exact_sum(e, first) / n; /* the shift: of equal elements it is the exact mean */
  return (moments){mean, exact_squares(e, mean) / n, 0, 1};
}

AN_INLINE moments centred_moments(elements e, double eps, norm_divisor divisor) {
  const size_t n = e.runs * e.n;
  const double share = 1.0 / (double)n;
  float near = e.x[0];
  for (int pass = 0; pass < 2; pass++) {
    double sum = 0, squares = 0;
    for (size_t r = 0; r < e.runs; r++) reduce(&sum, &squares, e.x + r * e.stride, e.n, add_near, near, near);
    if (!(squares < __builtin_inf())) break;
    const double rest = sum * share, square = squares * share - rest * rest;
    const moments m = {near + rest, square, near, 0};
    if (rest * rest <= NEAR_ENOUGH * square) {
      if (divisor(square, n, eps) < SMALLEST_DIVISOR) break;
      return m;
    }
    near = (float)m.mean;
  }
  return exact_moments(e);
}

/* 1 / divisor, and 0 for no spread at all. */
AN_INLINE double factor_of(double divisor) { return divisor == 0 ? 0 : 1 / divisor; }

AN_INLINE void write_centred(float *y, const float *x, size_t n, moments m, double factor, affine a) {
  if (m.exact)
    map_exact(y, x, n, m.mean, factor, a);
  else
    map_affine(y, x, n, op_near, m.near, (float)(m.mean - m.near), (float)factor, a);
}

/* ---- Row norms ---- */

typedef struct norm_rows {
  float *y, *mean, *rstd, *sum;
  const float *x, *residual, *alpha; /* residual NULL: no addition */
  affine affine;
  double residual_alpha, eps;
  size_t rows, d;
} norm_rows;

/* The row that is normalised: x's, or what the residual addition makes of it. */
AN_INLINE const float *norm_input(const norm_rows *a, size_t row) {
  const float *x = a->x + row * a->d;
  if (!a->residual) return x;
  float *sum = a->sum + row * a->d;
  add_apply(sum, x, a->residual + row * a->d, a->residual_alpha, a->d);
  return sum;
}
AN_INLINE void save_statistics(const norm_rows *a, size_t row, double mean, double factor) {
  if (a->mean) a->mean[row] = (float)mean;
  if (a->rstd) a->rstd[row] = (float)factor;
}

AN_INLINE void norm_centred(const norm_rows *a, norm_divisor divisor) {
  for (size_t r = 0; r < a->rows; r++) {
    const float *x = norm_input(a, r);
    const moments m = centred_moments((elements){x, 1, 0, a->d}, a->eps, divisor);
    const double factor = factor_of(divisor(m.square, a->d, a->eps));
    write_centred(a->y + r * a->d, x, a->d, m, factor, a->affine);
    save_statistics(a, r, m.mean, factor);
  }
}

AN_INLINE void norm_uncentred(const norm_rows *a, norm_divisor divisor) {
  const double share = 1.0 / (double)a->d;
  for (size_t r = 0; r < a->rows; r++) {
    const float *x = norm_input(a, r);
    float *y = a->y + r * a->d;
    double squares = 0, unused = 0;
    reduce(&squares, &unused, x, a->d, add_squares, 0.0f, 0.0f);
    double by = divisor(squares * share, a->d, a->eps), factor;
    if (by >= SMALLEST_DIVISOR && by < __builtin_inf()) {
      factor = 1 / by;
      map_affine(y, x, a->d, op_scale, (float)factor, 0.0f, 0.0f, a->affine);
    } else {
      squares = exact_squares((elements){x, 1, 0, a->d}, 0.0);
      by = divisor(squares / (double)a->d, a->d, a->eps);
      factor = squares < __builtin_inf() ? factor_of(by) : __builtin_nan("");
      map_exact(y, x, a->d, 0.0, factor, a->affine);
    }
    save_statistics(a, r, 0.0, factor);
  }
}

AN_INLINE void norm_elementwise(const norm_rows *a, norm_op op, float p) {
  for (size_t r = 0; r < a->rows; r++) {
    map_affine(a->y + r * a->d, norm_input(a, r), a->d, op, p, 0.0f, 0.0f, a->affine);
    save_statistics(a, r, 0.0, 1.0);
  }
}

#include "norm/dyt.h"
#include "norm/layer_norm.h"
#include "norm/layer_norm_std.h"
#include "norm/none.h"
#include "norm/rms_norm.h"
#include "norm/rms_norm_outside.h"

static void norm_run(const norm_rows *a, size_t norm) {
  switch (norm) {
#define NORM_row(id) \
  case AN_NORM_##id: norm_##id(a); break;
#define NORM_batch(id)
#define NORM_group(id)
#define NORM_instance(id)
#define AN_NORM(id, aliases, kind, ...) NORM_##kind(id)
#include "norm/list.def"
#undef AN_NORM
  }
}

void norm_apply(float *y, float *mean, float *rstd, const float *x, const float *weight, const float *bias,
                const float *alpha, size_t norm, double eps, double weight_offset, size_t rows, size_t d) {
  const norm_rows a = {.y = y, .mean = mean, .rstd = rstd, .x = x, .alpha = alpha, .eps = eps, .rows = rows, .d = d,
                       .affine = {weight, bias, (float)weight_offset, 1}};
  norm_run(&a, norm);
}

void norm_apply_add(float *sum, float *y, float *mean, float *rstd, const float *x, const float *residual,
                    const float *weight, const float *bias, const float *norm_alpha, size_t norm, double alpha,
                    double eps, double weight_offset, size_t rows, size_t d) {
  const norm_rows a = {.y = y, .mean = mean, .rstd = rstd, .sum = sum, .x = x, .residual = residual,
                       .alpha = norm_alpha, .residual_alpha = alpha, .eps = eps, .rows = rows, .d = d,
                       .affine = {weight, bias, (float)weight_offset, 1}};
  norm_run(&a, norm);
}

/* ---- Norms over channels ---- */

/* Statistics of `count` <= CHANNELS neighbouring channels whose elements lie one by one, `stride` apart: in the order of
 * memory, in double. */
enum { CHANNELS = 16 };
static void channel_moments(moments *m, const float *x, size_t rows, size_t stride, size_t count) {
  double mean[CHANNELS] = {0}, square[CHANNELS] = {0};
  const double n = (double)rows;
  for (size_t r = 0; r < rows; r++)
    for (size_t c = 0; c < count; c++) mean[c] += (double)x[r * stride + c] - (double)x[c];
  for (size_t c = 0; c < count; c++) mean[c] = (double)x[c] + mean[c] / n;
  for (size_t r = 0; r < rows; r++)
    for (size_t c = 0; c < count; c++) {
      const double t = (double)x[r * stride + c] - mean[c];
      square[c] += t * t;
    }
  for (size_t c = 0; c < count; c++) m[c] = (moments){mean[c], square[c] / n, 0, 1};
}

/* The same affine for n neighbours of one channel. */
typedef struct channel_affine {
  float weight[AN_LANES], bias[AN_LANES];
} channel_affine;
AN_INLINE affine affine_of_channel(channel_affine *store, affine a, size_t channel) {
  if (a.weight) vf_store(store->weight, vf_load_splat(a.weight + channel));
  if (a.bias) vf_store(store->bias, vf_load_splat(a.bias + channel));
  return (affine){a.weight ? store->weight : NULL, a.bias ? store->bias : NULL, a.offset, 0};
}

/* x (outer, channels, inner), each channel by its own moments and factor. */
static void write_channels(float *y, const float *x, const moments *m, const double *factor, affine a, size_t first,
                           size_t count, size_t outer, size_t channels, size_t inner) {
  for (size_t o = 0; o < outer; o++)
    for (size_t c = 0; c < count; c++) {
      const size_t at = (o * channels + first + c) * inner;
      channel_affine store;
      write_centred(y + at, x + at, inner, m[c], factor[c], affine_of_channel(&store, a, first + c));
    }
}

void batch_norm_apply(float *y, float *mean, float *rstd, float *running_mean, float *running_var, const float *x,
                      const float *weight, const float *bias, double eps, double momentum, double weight_offset,
                      int training, int biased_running, size_t outer, size_t channels, size_t inner) {
  const affine a = {weight, bias, (float)weight_offset, 1};
  const double n = (double)outer * (double)inner, unbiased = !biased_running && n > 1 ? n / (n - 1) : 1;
  for (size_t first = 0; first < channels; first += CHANNELS) {
    const size_t count = channels - first < CHANNELS ? channels - first : CHANNELS;
    moments m[CHANNELS];
    double factor[CHANNELS];
    if (!training)
      for (size_t c = 0; c < count; c++) m[c] = (moments){running_mean[first + c], running_var[first + c], 0, 1};
    else if (inner == 1)
      channel_moments(m, x + first, outer, channels, count);
    else
      for (size_t c = 0; c < count; c++)
        m[c] = centred_moments((elements){x + (first + c) * inner, outer, channels * inner, inner}, eps,
                               divisor_layer_norm);
    for (size_t c = 0; c < count; c++) {
      const double divisor = divisor_layer_norm(m[c].square, 0, eps);
      /* Given statistics do not promise that no spread means x == mean. */
      factor[c] = training ? factor_of(divisor) : 1 / divisor;
      if (mean) mean[first + c] = (float)m[c].mean;
      if (rstd) rstd[first + c] = (float)factor[c];
      if (training && running_mean) {
        float *old_mean = running_mean + first + c, *old_var = running_var + first + c;
        *old_mean = (float)((1 - momentum) * *old_mean + momentum * m[c].mean);
        *old_var = (float)((1 - momentum) * *old_var + momentum * m[c].square * unbiased);
      }
    }
    write_channels(y, x, m, factor, a, first, count, outer, channels, inner);
  }
}

void group_norm_apply(float *y, float *mean, float *rstd, const float *x, const float *weight, const float *bias,
                      double eps, double weight_offset, size_t groups, size_t batch, size_t length, size_t channels,
                      size_t inner) {
  const size_t size = channels / groups, entry = length * channels * inner;
  for (size_t b = 0; b < batch; b++) {
    if (groups == channels) { /* instance norm: a batch norm of each entry */
      batch_norm_apply(y + b * entry, mean ? mean + b * groups : NULL, rstd ? rstd + b * groups : NULL, NULL, NULL,
                       x + b * entry, weight, bias, eps, 0, weight_offset, 1, 0, length, channels, inner);
      continue;
    }
    for (size_t g = 0; g < groups; g++) {
      const size_t first = g * size, at = b * entry + first * inner;
      const elements e = {x + at, length, channels * inner, size * inner};
      const moments m = centred_moments(e, eps, divisor_layer_norm);
      const double factor = factor_of(divisor_layer_norm(m.square, 0, eps));
      if (mean) mean[b * groups + g] = (float)m.mean;
      if (rstd) rstd[b * groups + g] = (float)factor;
      for (size_t l = 0; l < length; l++) {
        const size_t row = at + l * channels * inner;
        if (inner == 1) {
          const affine a = {weight ? weight + first : NULL, bias ? bias + first : NULL, (float)weight_offset, 1};
          write_centred(y + row, x + row, size, m, factor, a);
          continue;
        }
        for (size_t c = 0; c < size; c++) {
          const affine a = {weight, bias, (float)weight_offset, 1};
          channel_affine store;
          write_centred(y + row + c * inner, x + row + c * inner, inner, m, factor,
                        affine_of_channel(&store, a, first + c));
        }
      }
    }
  }
}

/* ---- ABI ---- */

an_status norm_check(double eps, double weight_offset) {
  if (!(eps >= 0 && eps < __builtin_inf())) return AN_INVALID_VALUE;
  return weight_offset >= -3.4e38 && weight_offset <= 3.4e38 ? AN_OK : AN_INVALID_VALUE;
}

/* Whether a * b * c * d floats can be addressed. */
static int size_fits(size_t a, size_t b, size_t c, size_t d) {
  size_t n;
  if (a == 0 || b == 0 || c == 0 || d == 0) return 1;
  return !__builtin_mul_overflow(a, b, &n) && !__builtin_mul_overflow(n, c, &n) && !__builtin_mul_overflow(n, d, &n) &&
         !__builtin_mul_overflow(n, sizeof(float), &n);
}

static an_status check_rows(size_t norm, double eps, double weight_offset, size_t rows, size_t d) {
  if (norm >= AN_NORM_COUNT || list[norm].kind[0] != 'r') return AN_UNKNOWN_OP;
  const an_status status = norm_check(eps, weight_offset);
  if (status) return status;
  if (d == 0) return AN_INVALID_SHAPE;
  return size_fits(rows, d, 1, 1) ? AN_OK : AN_SIZE_OVERFLOW;
}

an_status an_norm_fwd(float *y, float *mean, float *rstd, const float *x, const float *weight, const float *bias,
                      const float *alpha, size_t norm, double eps, double weight_offset, size_t rows, size_t d) {
  const an_status status = check_rows(norm, eps, weight_offset, rows, d);
  if (status || rows == 0) return status;
  if (!y || !x) return AN_NULL_POINTER;
  norm_apply(y, mean, rstd, x, weight, bias, alpha, norm, eps, weight_offset, rows, d);
  return AN_OK;
}

an_status an_add_norm_fwd(float *sum, float *y, float *mean, float *rstd, const float *x, const float *residual,
                          const float *weight, const float *bias, const float *norm_alpha, size_t norm, double alpha,
                          double eps, double weight_offset, size_t rows, size_t d) {
  if (norm < AN_NORM_COUNT && !(alpha >= -3.4e38 && alpha <= 3.4e38)) return AN_INVALID_VALUE;
  const an_status status = check_rows(norm, eps, weight_offset, rows, d);
  if (status || rows == 0) return status;
  if (!sum || !y || !x || !residual) return AN_NULL_POINTER;
  norm_apply_add(sum, y, mean, rstd, x, residual, weight, bias, norm_alpha, norm, alpha, eps, weight_offset, rows, d);
  return AN_OK;
}

an_status an_batch_norm_fwd(float *y, float *mean, float *rstd, float *running_mean, float *running_var, const float *x,
                            const float *weight, const float *bias, double eps, double momentum, double weight_offset,
                            int training, int biased_running, size_t outer, size_t channels, size_t inner) {
  const an_status status = norm_check(eps, weight_offset);
  if (status) return status;
  if (!(momentum >= 0 && momentum <= 1)) return AN_INVALID_VALUE;
  if (channels == 0) return AN_INVALID_SHAPE;
  if (!size_fits(outer, channels, inner, 1)) return AN_SIZE_OVERFLOW;
  if (outer == 0 || inner == 0) return AN_OK;
  if (!y || !x || !running_mean != !running_var || (!training && !running_mean)) return AN_NULL_POINTER;
  batch_norm_apply(y, mean, rstd, running_mean, running_var, x, weight, bias, eps, momentum, weight_offset, training,
                   biased_running, outer, channels, inner);
  return AN_OK;
}

an_status an_group_norm_fwd(float *y, float *mean, float *rstd, const float *x, const float *weight, const float *bias,
                            double eps, double weight_offset, size_t groups, size_t batch, size_t length,
                            size_t channels, size_t inner) {
  const an_status status = norm_check(eps, weight_offset);
  if (status) return status;
  if (groups == 0 || channels == 0 || channels % groups) return AN_INVALID_SHAPE;
  if (!size_fits(batch, length, channels, inner)) return AN_SIZE_OVERFLOW;
  if (batch == 0 || length == 0 || inner == 0) return AN_OK;
  if (!y || !x) return AN_NULL_POINTER;
  group_norm_apply(y, mean, rstd, x, weight, bias, eps, weight_offset, groups, batch, length, channels, inner);
  return AN_OK;
}
