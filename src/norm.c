/* Norms: a body each in src/norm/<id>.h for those over rows; the ones over channels are at the end of this file.
 *
 * An element becomes (x - mean) * factor, and how that is computed follows from what the elements are.
 *
 * near: in float, as ((x - near) - (mean - near)) * factor. `near` is the mean of the first elements, so x - near is
 * exact or nearly so wherever the mean is large against the spread. One pass gives the sums of x - near and of its
 * square. Their relative error is that of the variance times 1 + (mean - near)^2 / variance, so beyond NEAR_ENOUGH (an
 * outlier among the first elements) the pass is repeated around the mean that it found.
 *
 * exact: in double, in two passes, where float does not do: squares overflow or underflow, or the spread is far below
 * the mean's last place. NaN and infinity come here too, and make every element NaN.
 *
 * A divisor of 0 (no spread, and eps 0) counts as the factor 0: such elements become bias, as with any other eps.
 */
#include "norm.h"

#include "map.h"
#include "tensor.h"
#include "vmath.h"

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

/* ---- Loops ---- */

typedef struct affine {
  const float *weight, *bias; /* NULL: 1 and 0 */
  float offset;               /* added to weight */
} affine;

enum { WEIGHT = 1, BIAS = 2, OFFSET = 4 };

/* An element before weight and bias; p: its constants. */
typedef vf (*norm_op)(vf x, const vf *p);

AN_INLINE vf affine_vector(vf v, affine a, size_t i, int form) {
  if (!(form & WEIGHT)) return form & BIAS ? vf_add(v, vf_load(a.bias + i)) : v;
  vf w = vf_load(a.weight + i);
  if (form & OFFSET) w = vf_add(w, vf_set(a.offset));
  return form & BIAS ? vf_madd(v, w, vf_load(a.bias + i)) : vf_mul(v, w);
}

AN_INLINE void map_affine_form(float *y, const float *x, size_t n, norm_op op, const vf *p, affine a, int form) {
  size_t i = 0;
  for (; i + 2 * AN_LANES <= n; i += 2 * AN_LANES) {
    vf_store(y + i, affine_vector(op(vf_load(x + i), p), a, i, form));
    vf_store(y + i + AN_LANES, affine_vector(op(vf_load(x + i + AN_LANES), p), a, i + AN_LANES, form));
  }
  for (; i + AN_LANES <= n; i += AN_LANES) vf_store(y + i, affine_vector(op(vf_load(x + i), p), a, i, form));
  if (i < n) {
    float weight[AN_LANES], bias[AN_LANES];
    if (form & WEIGHT) vf_store(weight, vf_load_tail(a.weight + i, n - i, 0.0f));
    if (form & BIAS) vf_store(bias, vf_load_tail(a.bias + i, n - i, 0.0f));
    const vf v = op(vf_load_tail(x + i, n - i, 0.0f), p);
    vf_store_tail(y + i, n - i, affine_vector(v, (affine){weight, bias, a.offset}, 0, form));
  }
}

/* y[i] = op(x[i], p) * (weight[i] + offset) + bias[i]; y may equal x. */
AN_INLINE void map_affine(float *y, const float *x, size_t n, norm_op op, const vf *p, affine a) {
  switch ((a.weight ? WEIGHT : 0) | (a.bias ? BIAS : 0) | (a.weight && a.offset != 0 ? OFFSET : 0)) {
    case 0: map_affine_form(y, x, n, op, p, a, 0); break;
    case WEIGHT: map_affine_form(y, x, n, op, p, a, WEIGHT); break;
    case BIAS: map_affine_form(y, x, n, op, p, a, BIAS); break;
    case WEIGHT | BIAS: map_affine_form(y, x, n, op, p, a, WEIGHT | BIAS); break;
    case WEIGHT | OFFSET: map_affine_form(y, x, n, op, p, a, WEIGHT | OFFSET); break;
    default: map_affine_form(y, x, n, op, p, a, WEIGHT | BIAS | OFFSET);
  }
}

/* One element in double; weight and bias are applied to it in float, as in the vector loops. */
AN_INLINE float exact_element(float x, double mean, double factor, affine a, size_t i) {
  float v = (float)(((double)x - mean) * factor);
  if (a.weight) v *= a.weight[i] + a.offset;
  return a.bias ? v + a.bias[i] : v;
}

/* ---- Statistics ---- */

/* Runs of n adjacent elements, `stride` apart: a row is one run. */
typedef struct elements {
  const float *x;
  size_t runs, stride, n;
} elements;

typedef struct moments {
  double mean, square; /* the mean, and the mean square of x - mean */
  float near;
  int exact;
} moments;

enum { CHAIN = 32 };
#define NEAR_ENOUGH 0.5
/* What a square loses by underflow, 2^-149, is nothing beside this. */
#define SMALLEST_SQUARE 0x1p-90

AN_INLINE void add_near(vf *sum, vf *squares, vf x, vf near) {
  const vf t = vf_sub(x, near);
  *sum = vf_add(*sum, t);
  *squares = vf_madd(t, t, *squares);
}
AN_INLINE void add_squares(vf *squares, vf *unused, vf x, vf unused2) {
  (void)unused, (void)unused2;
  *squares = vf_madd(x, x, *squares);
}

/* Sum of (x - shift)^power, power 1 or 2. Four chains, so that additions need not wait for each other. */
AN_INLINE double exact_sum(elements e, double shift, int power) {
  double s0 = 0, s1 = 0, s2 = 0, s3 = 0;
  for (size_t r = 0; r < e.runs; r++) {
    const float *x = e.x + r * e.stride;
    size_t i = 0;
    for (; i + 4 <= e.n; i += 4) {
      const double a = x[i] - shift, b = x[i + 1] - shift, c = x[i + 2] - shift, d = x[i + 3] - shift;
      s0 += power == 1 ? a : a * a;
      s1 += power == 1 ? b : b * b;
      s2 += power == 1 ? c : c * c;
      s3 += power == 1 ? d : d * d;
    }
    for (; i < e.n; i++) {
      const double a = x[i] - shift;
      s0 += power == 1 ? a : a * a;
    }
  }
  return (s0 + s1) + (s2 + s3);
}

/* The first element as shift: the mean of equal elements is exact. */
static moments exact_moments(elements e) {
  const double n = (double)(e.runs * e.n), first = e.x[0], mean = first + exact_sum(e, first, 1) / n;
  return (moments){mean, exact_sum(e, mean, 2) / n, 0, 1};
}

/* The mean of the first four vectors: of equal elements it is the element itself. */
AN_INLINE float first_mean(const float *x, size_t n) {
  if (n < 4 * AN_LANES) return x[0];
  const vf a = vf_add(vf_load(x), vf_load(x + AN_LANES));
  const vf b = vf_add(vf_load(x + 2 * AN_LANES), vf_load(x + 3 * AN_LANES));
  return vf_sum(vf_add(a, b)) * (0.25f / AN_LANES);
}

/* Moments from the sums of x - near and of its square; 0 if float does not do. eps tells how small a spread matters. */
AN_INLINE int near_moments(moments *m, float near, double sum, double squares, double share, double eps) {
  const double rest = sum * share, square = squares * share - rest * rest;
  *m = (moments){near + rest, square, near, 0};
  return squares < __builtin_inf() && rest * rest <= NEAR_ENOUGH * square && square + eps * eps >= SMALLEST_SQUARE;
}

static moments centred_moments(elements e, double eps) {
  float near = first_mean(e.x, e.n);
  for (int pass = 0; pass < 2; pass++) {
    double sum = 0, squares = 0;
    moments m;
    for (size_t r = 0; r < e.runs; r++) reduce(&sum, &squares, e.x + r * e.stride, e.n, CHAIN, add_near, near, near);
    if (near_moments(&m, near, sum, squares, 1.0 / (double)(e.runs * e.n), eps)) return m;
    near = (float)m.mean;
  }
  return exact_moments(e);
}

AN_INLINE double factor_of(double divisor) { return divisor == 0 ? 0 : 1 / divisor; }

/* ---- Row norms ---- */

typedef struct norm_rows {
  float *y, *mean, *rstd, *sum;
  const float *x, *residual, *alpha; /* residual NULL: no addition */
  affine affine;
  double residual_alpha, eps;
  size_t rows, d;
} norm_rows;

/* What x - mean, or x, is divided by. square: the mean square of that, of n elements. */
typedef double (*norm_divisor)(double square, size_t n, double eps);

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

AN_INLINE vf op_near(vf x, const vf *p) { return vf_mul(vf_sub(vf_sub(x, p[0]), p[1]), p[2]); }
AN_INLINE vf op_channel(vf x, const vf *p) { return vf_madd(op_near(x, p), p[3], p[4]); }
AN_INLINE vf op_scale(vf x, const vf *p) { return vf_mul(x, p[0]); }

static void write_near(float *y, const float *x, size_t n, moments m, double factor, affine a) {
  const vf p[] = {vf_set(m.near), vf_set((float)(m.mean - m.near)), vf_set((float)factor)};
  map_affine(y, x, n, op_near, p, a);
}
static void write_scaled(float *y, const float *x, size_t n, double factor, affine a) {
  const vf p[] = {vf_set((float)factor)};
  map_affine(y, x, n, op_scale, p, a);
}
static void write_exact(float *y, const float *x, size_t n, double mean, double factor, affine a) {
  for (size_t i = 0; i < n; i++) y[i] = exact_element(x[i], mean, factor, a, i);
}
AN_INLINE void write_centred(float *y, const float *x, size_t n, moments m, double factor, affine a) {
  if (m.exact)
    write_exact(y, x, n, m.mean, factor, a);
  else
    write_near(y, x, n, m, factor, a);
}

AN_INLINE void norm_centred(const norm_rows *a, norm_divisor divisor) {
  for (size_t r = 0; r < a->rows; r++) {
    const float *x = norm_input(a, r);
    const moments m = centred_moments((elements){x, 1, 0, a->d}, a->eps);
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
    double square = 0, unused = 0, factor;
    reduce(&square, &unused, x, a->d, CHAIN, add_squares, 0.0f, 0.0f);
    square *= share;
    if (square < __builtin_inf() && square + a->eps * a->eps >= SMALLEST_SQUARE) {
      factor = 1 / divisor(square, a->d, a->eps);
      write_scaled(y, x, a->d, factor, a->affine);
    } else {
      square = exact_sum((elements){x, 1, 0, a->d}, 0.0, 2) / (double)a->d;
      factor = square < __builtin_inf() ? factor_of(divisor(square, a->d, a->eps)) : __builtin_nan("");
      write_exact(y, x, a->d, 0.0, factor, a->affine);
    }
    save_statistics(a, r, 0.0, factor);
  }
}

/* Norms without statistics: mean 0 and factor 1 are saved. Weight and bias in a second pass over the row, which is in
 * cache: one copy of the op. */
AN_INLINE void norm_elementwise(const norm_rows *a, map_op op, double p0) {
  for (size_t r = 0; r < a->rows; r++) {
    float *y = a->y + r * a->d;
    map(y, norm_input(a, r), a->d, op, p0, 0);
    if (a->affine.weight || a->affine.bias) write_scaled(y, y, a->d, 1.0, a->affine);
    save_statistics(a, r, 0.0, 1.0);
  }
}

#define AN_NORM_BODIES
#include "norm/list.def"
#undef AN_NORM_BODIES

static void norm_run(const norm_rows *a, size_t norm) {
  switch (norm) {
#define NORM_row(id) \
  case AN_NORM_##id: \
    norm_##id(a);    \
    break;
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
  const norm_rows a = {.y = y,
                       .mean = mean,
                       .rstd = rstd,
                       .x = x,
                       .alpha = alpha,
                       .eps = eps,
                       .rows = rows,
                       .d = d,
                       .affine = {weight, bias, (float)weight_offset}};
  norm_run(&a, norm);
}

void norm_apply_add(float *sum, float *y, float *mean, float *rstd, const float *x, const float *residual,
                    const float *weight, const float *bias, const float *norm_alpha, size_t norm, double alpha,
                    double eps, double weight_offset, size_t rows, size_t d) {
  const norm_rows a = {.y = y,
                       .mean = mean,
                       .rstd = rstd,
                       .sum = sum,
                       .x = x,
                       .residual = residual,
                       .alpha = norm_alpha,
                       .residual_alpha = alpha,
                       .eps = eps,
                       .rows = rows,
                       .d = d,
                       .affine = {weight, bias, (float)weight_offset}};
  norm_run(&a, norm);
}

/* ---- Norms over channels ---- */

/* Channels that are treated together where they are neighbours in memory; a row's chunk of them is read in one go. A
 * chain is shorter than in a row, where sixteen of them share the rounding. */
enum { STRIP = 512, COLUMN_CHAIN = 8 };

AN_INLINE void add_near_to(float *sum, float *squares, vf x, const float *near) {
  vf s = vf_load(sum), q = vf_load(squares);
  add_near(&s, &q, x, vf_load(near));
  vf_store(sum, s);
  vf_store(squares, q);
}

/* centred_moments of `count` <= STRIP columns of x (rows, stride). */
static void column_moments(moments *m, const float *x, size_t rows, size_t stride, size_t count, double eps) {
  size_t first_rows = 16; /* a power of two: the mean of equal elements is exact */
  while (first_rows > rows) first_rows /= 2;
  float near[STRIP] = {0};
  double sum[STRIP] = {0}, squares[STRIP] = {0};
  for (size_t r = 0; r < first_rows; r++)
    for (size_t c = 0; c < count; c++) near[c] += x[r * stride + c];
  for (size_t c = 0; c < count; c++) near[c] /= (float)first_rows;

  for (size_t r = 0; r < rows;) {
    const size_t end = rows - r < COLUMN_CHAIN ? rows : r + COLUMN_CHAIN;
    float terms[STRIP] = {0}, squared[STRIP] = {0};
    for (; r < end; r++) {
      const float *row = x + r * stride;
      size_t c = 0;
      for (; c + AN_LANES <= count; c += AN_LANES) add_near_to(terms + c, squared + c, vf_load(row + c), near + c);
      if (c < count) add_near_to(terms + c, squared + c, vf_load_tail(row + c, count - c, 0.0f), near + c);
    }
    for (size_t c = 0; c < count; c++) sum[c] += terms[c], squares[c] += squared[c];
  }
  for (size_t c = 0; c < count; c++)
    if (!near_moments(m + c, near[c], sum[c], squares[c], 1.0 / (double)rows, eps))
      m[c] = exact_moments((elements){x + c, rows, stride, 1});
}

/* A strip's constants as op_channel takes them. */
typedef struct columns {
  float near[STRIP], rest[STRIP], factor[STRIP], weight[STRIP], bias[STRIP];
} columns;
AN_INLINE vf column_vector(vf x, const columns *k, size_t c) {
  const vf p[] = {vf_load(k->near + c), vf_load(k->rest + c), vf_load(k->factor + c), vf_load(k->weight + c),
                  vf_load(k->bias + c)};
  return op_channel(x, p);
}

/* y, x (rows, stride): `count` <= STRIP columns, each by its own moments and factor. */
static void write_columns(float *y, const float *x, size_t rows, size_t stride, size_t count, const moments *m,
                          const double *factor, affine a) {
  columns k = {0};
  size_t exact[STRIP], exact_count = 0;
  for (size_t c = 0; c < count; c++) {
    k.near[c] = m[c].near, k.rest[c] = (float)(m[c].mean - m[c].near), k.factor[c] = (float)factor[c];
    k.weight[c] = a.weight ? a.weight[c] + a.offset : 1.0f, k.bias[c] = a.bias ? a.bias[c] : 0.0f;
    if (m[c].exact) exact[exact_count++] = c;
  }
  for (size_t r = 0; r < rows; r++, x += stride, y += stride) {
    float kept[STRIP]; /* y may equal x */
    for (size_t i = 0; i < exact_count; i++)
      kept[i] = exact_element(x[exact[i]], m[exact[i]].mean, factor[exact[i]], a, exact[i]);
    size_t c = 0;
    for (; c + AN_LANES <= count; c += AN_LANES) vf_store(y + c, column_vector(vf_load(x + c), &k, c));
    if (c < count) vf_store_tail(y + c, count - c, column_vector(vf_load_tail(x + c, count - c, 0.0f), &k, c));
    for (size_t i = 0; i < exact_count; i++) y[exact[i]] = kept[i];
  }
}

/* n elements of one channel. */
static void write_channel(float *y, const float *x, size_t n, moments m, double factor, affine a, size_t channel) {
  const float weight = a.weight ? a.weight[channel] + a.offset : 1.0f, bias = a.bias ? a.bias[channel] : 0.0f;
  const vf p[] = {vf_set(m.near), vf_set((float)(m.mean - m.near)), vf_set((float)factor), vf_set(weight),
                  vf_set(bias)};
  if (m.exact)
    for (size_t i = 0; i < n; i++) y[i] = exact_element(x[i], m.mean, factor, a, channel);
  else
    map_affine_form(y, x, n, op_channel, p, a, 0);
}

/* Given statistics: the mean itself is near, and x - mean can't overflow unless that is far beyond 2^100. */
AN_INLINE moments given_moments(float mean, float var) {
  return (moments){mean, var, mean, !(mean > -0x1p100f && mean < 0x1p100f)};
}

void batch_norm_apply(float *y, float *mean, float *rstd, float *running_mean, float *running_var, const float *x,
                      const float *weight, const float *bias, const float *mask, double eps, double momentum,
                      double weight_offset, int training, int biased_running, size_t outer, size_t channels,
                      size_t inner) {
  (void)mask;
  const double n = (double)outer * (double)inner, unbiased = !biased_running && n > 1 ? n / (n - 1) : 1;
  for (size_t first = 0; first < channels; first += STRIP) {
    const size_t count = channels - first < STRIP ? channels - first : STRIP;
    moments m[STRIP];
    double factor[STRIP];
    if (training && inner == 1) column_moments(m, x + first, outer, channels, count, eps);
    for (size_t i = 0; i < count; i++) {
      const size_t c = first + i;
      if (!training)
        m[i] = given_moments(running_mean[c], running_var[c]);
      else if (inner > 1)
        m[i] = centred_moments((elements){x + c * inner, outer, channels * inner, inner}, eps);
      /* Given statistics do not promise that no spread means x == mean. */
      const double divisor = divisor_layer_norm(m[i].square, 1, eps);
      factor[i] = training ? factor_of(divisor) : 1 / divisor;
      if (mean) mean[c] = (float)m[i].mean;
      if (rstd) rstd[c] = (float)factor[i];
      if (training && running_mean) {
        running_mean[c] = (float)((1 - momentum) * running_mean[c] + momentum * m[i].mean);
        running_var[c] = (float)((1 - momentum) * running_var[c] + momentum * m[i].square * unbiased);
      }
    }
    const affine strip = {weight ? weight + first : NULL, bias ? bias + first : NULL, (float)weight_offset};
    if (inner == 1) {
      write_columns(y + first, x + first, outer, channels, count, m, factor, strip);
      continue;
    }
    for (size_t o = 0; o < outer; o++)
      for (size_t i = 0; i < count; i++) {
        const size_t at = (o * channels + first + i) * inner;
        write_channel(y + at, x + at, inner, m[i], factor[i], strip, i);
      }
  }
}

void group_norm_apply(float *y, float *mean, float *rstd, const float *x, const float *weight, const float *bias,
                      double eps, double weight_offset, size_t groups, size_t batch, size_t length, size_t channels,
                      size_t inner) {
  const size_t size = channels / groups, row = channels * inner;
  for (size_t b = 0; b < batch; b++, x += length * row, y += length * row) {
    float *const entry_mean = mean ? mean + b * groups : NULL, *const entry_rstd = rstd ? rstd + b * groups : NULL;
    if (groups == channels) { /* instance norm: a batch norm of each entry */
      batch_norm_apply(y, entry_mean, entry_rstd, NULL, NULL, x, weight, bias, NULL, eps, 0, weight_offset, 1, 0,
                       length, channels, inner);
      continue;
    }
    for (size_t g = 0; g < groups; g++) {
      const size_t first = g * size;
      const affine a = {weight ? weight + first : NULL, bias ? bias + first : NULL, (float)weight_offset};
      const moments m = centred_moments((elements){x + first * inner, length, row, size * inner}, eps);
      const double factor = factor_of(divisor_layer_norm(m.square, 1, eps));
      if (mean) entry_mean[g] = (float)m.mean;
      if (rstd) entry_rstd[g] = (float)factor;
      for (size_t l = 0; l < length; l++) {
        const size_t at = l * row + first * inner;
        if (inner == 1)
          write_centred(y + at, x + at, size, m, factor, a);
        else
          for (size_t c = 0; c < size; c++)
            write_channel(y + at + c * inner, x + at + c * inner, inner, m, factor, a, c);
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

static an_status check_rows(size_t norm, double alpha, double eps, double weight_offset, size_t rows, size_t d) {
  if (norm >= AN_NORM_COUNT || list[norm].kind[0] != 'r') return AN_UNKNOWN_OP;
  const an_status status = norm_check(eps, weight_offset);
  if (status) return status;
  if (!(alpha >= -3.4e38 && alpha <= 3.4e38)) return AN_INVALID_VALUE;
  if (d == 0) return AN_INVALID_SHAPE;
  return size_fits(rows, d, 1, 1) ? AN_OK : AN_SIZE_OVERFLOW;
}

an_status an_norm_fwd(float *y, float *mean, float *rstd, const float *x, const float *weight, const float *bias,
                      const float *alpha, size_t norm, double eps, double weight_offset, size_t rows, size_t d) {
  const an_status status = check_rows(norm, 1, eps, weight_offset, rows, d);
  if (status || rows == 0) return status;
  if (!y || !x) return AN_NULL_POINTER;
  norm_apply(y, mean, rstd, x, weight, bias, alpha, norm, eps, weight_offset, rows, d);
  return AN_OK;
}

an_status an_add_norm_fwd(float *sum, float *y, float *mean, float *rstd, const float *x, const float *residual,
                          const float *weight, const float *bias, const float *norm_alpha, size_t norm, double alpha,
                          double eps, double weight_offset, size_t rows, size_t d) {
  const an_status status = check_rows(norm, alpha, eps, weight_offset, rows, d);
  if (status || rows == 0) return status;
  if (!sum || !y || !x || !residual) return AN_NULL_POINTER;
  norm_apply_add(sum, y, mean, rstd, x, residual, weight, bias, norm_alpha, norm, alpha, eps, weight_offset, rows, d);
  return AN_OK;
}

an_status an_batch_norm_fwd(float *y, float *mean, float *rstd, float *running_mean, float *running_var, const float *x,
                            const float *weight, const float *bias, const float *mask, double eps, double momentum,
                            double weight_offset, int training, int biased_running, size_t outer, size_t channels,
                            size_t inner) {
  const an_status status = norm_check(eps, weight_offset);
  if (status) return status;
  if (!(momentum >= 0 && momentum <= 1)) return AN_INVALID_VALUE;
  if (channels == 0) return AN_INVALID_SHAPE;
  if (!size_fits(outer, channels, inner, 1)) return AN_SIZE_OVERFLOW;
  if (outer == 0 || inner == 0) return AN_OK;
  if (!y || !x || !running_mean != !running_var || (!training && !running_mean)) return AN_NULL_POINTER;
  batch_norm_apply(y, mean, rstd, running_mean, running_var, x, weight, bias, mask, eps, momentum, weight_offset,
                   training, biased_running, outer, channels, inner);
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
