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
 *
 * Gradients stand on the same statistics, computed anew from x, and choose between float and double the same way.
 */
#include "norm.h"

#include "map.h"
#include "tensor.h"
#include "text.h"
#include "vmath.h"

enum { KIND_row, KIND_batch, KIND_group, KIND_instance };
static const struct {
  double eps;
  unsigned char affine, kind;
} list[] = {
#define AN_NORM(id, aliases, kind, eps, affine, formula, source) {eps, affine, KIND_##kind},
#include "norm/list.def"
#undef AN_NORM
};

static const char names[] =
#define AN_NORM(id, ...) #id "\0"
#include "norm/list.def"
#undef AN_NORM
    ;

enum { ALIASES, KIND, FORMULA, SOURCE, TEXTS };
static const char *text(size_t norm, size_t which) {
  static const char texts[] =
#define AN_NORM(id, aliases, kind, eps, affine, formula, source) aliases "\0" #kind "\0" formula "\0" source "\0"
#include "norm/list.def"
#undef AN_NORM
      ;
  return norm < AN_NORM_COUNT ? text_at(texts, norm * TEXTS + which) : NULL;
}

size_t an_norm_count(void) { return AN_NORM_COUNT; }
const char *an_norm_name(size_t norm) { return norm < AN_NORM_COUNT ? text_at(names, norm) : NULL; }
const char *an_norm_aliases(size_t norm) { return text(norm, ALIASES); }
const char *an_norm_kind(size_t norm) { return text(norm, KIND); }
double an_norm_default_eps(size_t norm) { return norm < AN_NORM_COUNT ? list[norm].eps : 0; }
size_t an_norm_default_affine(size_t norm) { return norm < AN_NORM_COUNT ? list[norm].affine : 0; }
const char *an_norm_formula(size_t norm) { return text(norm, FORMULA); }
const char *an_norm_source(size_t norm) { return text(norm, SOURCE); }

/* ---- Loops ---- */

/* One weight for each element, or AN_LANES copies of one for all; so may bias be. */
typedef struct weights {
  const float *w;
  size_t places; /* what is left of an index into w: all of it, or 0 */
  float offset;  /* added to each */
} weights;
static const float ones[4] = {1, 1, 1, 1}, nothing[4] = {-0.0f, -0.0f, -0.0f, -0.0f}; /* a + -0 is a, of zeros too */
/* w NULL: 1 */
AN_INLINE weights weights_of(const float *w, double offset) {
  return w ? (weights){w, SIZE_MAX, (float)offset} : (weights){ones, 0, 0};
}
AN_INLINE float weight_at(weights w, size_t i) { return w.w[i & w.places] + w.offset; }
AN_INLINE vf weight_lanes(weights w, size_t i, size_t n) { return vf_load_some(w.w + (i & w.places), n, 0.0f); }

/* What becomes of a normalised element: n (weight + offset) + bias. What is common has a loop of its own; OFFSET: and
 * whatever is not common; CHANNEL: one weight and bias for all; UNSHIFTED, beside WEIGHT: the mean is 0. */
enum { PLAIN, WEIGHT, WEIGHT_BIAS, OFFSET, CHANNEL, UNSHIFTED };
typedef struct affine {
  weights weight, bias;
  int form;
} affine;
static affine affine_of(const float *weight, const float *bias, double offset) {
  affine a = {weights_of(weight, offset), {bias ? bias : nothing, bias ? SIZE_MAX : 0, 0}, PLAIN};
  if (a.weight.offset != 0 || (bias && !weight))
    a.form = OFFSET;
  else if (weight)
    a.form = bias ? WEIGHT_BIAS : WEIGHT;
  return a;
}

/* An element before weight and bias: x's constants are near, mean - near, factor. */
AN_INLINE vf op_near(vf x, const vf *p) { return vf_mul(vf_sub(vf_sub(x, p[0]), p[1]), p[2]); }

/* ---- Statistics ---- */

/* Runs of n adjacent elements, `stride` apart: a row is one run. Where mask, runs * n, is 0 an element counts for
 * nothing; `count` of them count. With a residual, of a row, the elements are alpha x + residual, and are written to
 * sum when they are read first. */
typedef struct elements {
  const float *x;
  size_t runs, stride, n;
  const float *mask;
  size_t count;
  const float *residual;
  float *sum, alpha;
} elements;

/* Adjacent elements that count: n of them from x + at on. From {0} on, next_piece gives one after the other. */
typedef struct piece {
  size_t run, first, n, at;
} piece;
static int next_piece(piece *p, const elements *e) {
  for (size_t i = p->first + p->n; p->run < e->runs; p->run++, i = 0) {
    const float *mask = e->mask ? e->mask + p->run * e->n : NULL;
    while (mask && i < e->n && mask[i] == 0) i++;
    if (i == e->n) continue;
    size_t end = mask ? i + 1 : e->n;
    while (end < e->n && mask[end] != 0) end++;
    p->first = i, p->n = end - i, p->at = p->run * e->stride + i;
    return 1;
  }
  return 0;
}

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
/* Sum of (x - shift)^power, power 1 or 2. Four chains, so that additions need not wait for each other. */
AN_INLINE double exact_sum(const elements *e, double shift, int power) {
  double s0 = 0, s1 = 0, s2 = 0, s3 = 0;
  for (piece p = {0}; next_piece(&p, e);) {
    const float *x = e->x + p.at;
    size_t i = 0;
    for (; i + 4 <= p.n; i += 4) {
      const double a = x[i] - shift, b = x[i + 1] - shift, c = x[i + 2] - shift, d = x[i + 3] - shift;
      s0 += power == 1 ? a : a * a;
      s1 += power == 1 ? b : b * b;
      s2 += power == 1 ? c : c * c;
      s3 += power == 1 ? d : d * d;
    }
    for (; i < p.n; i++) {
      const double a = x[i] - shift;
      s0 += power == 1 ? a : a * a;
    }
  }
  return (s0 + s1) + (s2 + s3);
}

/* The first element as shift: the mean of equal elements is exact. */
static void exact_moments(moments *m, const elements *e) {
  piece p = {0};
  next_piece(&p, e);
  const double n = (double)e->count, first = e->x[p.at], mean = first + exact_sum(e, first, 1) / n;
  *m = (moments){mean, exact_sum(e, mean, 2) / n, 0, 1};
}

/* Moments from the sums of x - near and of its square; 0 if float does not do. eps tells how small a spread matters. */
AN_INLINE int near_moments(moments *m, float near, double sum, double squares, double share, double eps) {
  const double rest = sum * share, square = squares * share - rest * rest;
  *m = (moments){near + rest, square, near, 0};
  return squares < __builtin_inf() && rest * rest <= NEAR_ENOUGH * square && square + eps * eps >= SMALLEST_SQUARE;
}

/* The vector at place i, of which n elements are there, as it is or as the sum that it stands for. */
AN_INLINE vf first_vector(const elements *e, size_t i, size_t n) {
  const vf x = vf_load_some(e->x + i, n, 0.0f);
  return e->residual ? vf_add(vf_mul(vf_set(e->alpha), x), vf_load_some(e->residual + i, n, 0.0f)) : x;
}
/* And the sum is written. */
AN_INLINE vf next_vector(const elements *e, size_t i, int adds) {
  if (!adds) return vf_load(e->x + i);
  const vf x = vf_add(vf_mul(vf_set(e->alpha), vf_load(e->x + i)), vf_load(e->residual + i));
  vf_store(e->sum + i, x);
  return x;
}

/* Sums of x - near and of its square, or of x's square alone. */
typedef struct moment_terms {
  vf sum, squares;
} moment_terms;
AN_INLINE moment_terms add_terms(moment_terms t, vf x, vf near, int centred) {
  if (centred) {
    add_near(&t.sum, &t.squares, x, near);
  } else {
    t.squares = vf_madd(x, x, t.squares);
  }
  return t;
}
/* `count` times four vectors, each along a chain of its own. */
AN_INLINE void add_chains(moment_terms *t, const elements *e, size_t count, vf near, int centred, int adds) {
  for (size_t i = 0; i < count * 4 * AN_LANES; i += 4 * AN_LANES) {
    elements at = {.x = e->x + i, .alpha = e->alpha};
    if (adds) at.residual = e->residual + i, at.sum = e->sum + i;
    t[0] = add_terms(t[0], next_vector(&at, 0, adds), near, centred);
    t[1] = add_terms(t[1], next_vector(&at, AN_LANES, adds), near, centred);
    t[2] = add_terms(t[2], next_vector(&at, 2 * AN_LANES, adds), near, centred);
    t[3] = add_terms(t[3], next_vector(&at, 3 * AN_LANES, adds), near, centred);
  }
}
/* As `reduce`, in its order; the sums of a piece grow, from place `at` on. */
static AN_ONE_COPY void add_sums(double *sums, const elements *given, size_t at, size_t n, float near, int centred) {
  elements e = {.x = given->x + at, .residual = given->residual, .sum = given->sum, .alpha = given->alpha};
  const vf p = vf_set(near), zero = vf_set(0.0f);
  vd sum = vd_set(0.0), squares = vd_set(0.0);
  while (n > 0) {
    moment_terms t[4] = {{zero, zero}, {zero, zero}, {zero, zero}, {zero, zero}};
    const size_t all = n / (4 * AN_LANES), count = all < CHAIN ? all : CHAIN;
    const size_t used = count ? count * 4 * AN_LANES : n;
    if (count == 0) {
      size_t i = 0;
      for (; i + AN_LANES <= n; i += AN_LANES)
        t[0] = add_terms(t[0], next_vector(&e, i, e.residual != NULL), p, centred);
      if (i < n && e.residual) vf_store_tail(e.sum + i, n - i, first_vector(&e, i, n - i));
      if (i < n) t[1] = add_terms(t[1], vf_load_tail((e.residual ? e.sum : e.x) + i, n - i, near), p, centred);
    } else if (centred && e.residual) {
      add_chains(t, &e, count, p, 1, 1);
    } else if (centred) {
      add_chains(t, &e, count, p, 1, 0);
    } else if (e.residual) {
      add_chains(t, &e, count, p, 0, 1);
    } else {
      add_chains(t, &e, count, p, 0, 0);
    }
    const vf a = vf_add(vf_add(t[0].sum, t[1].sum), vf_add(t[2].sum, t[3].sum));
    const vf b = vf_add(vf_add(t[0].squares, t[1].squares), vf_add(t[2].squares, t[3].squares));
    sum = vd_add(sum, vd_add(vd_low(a), vd_high(a)));
    squares = vd_add(squares, vd_add(vd_low(b), vd_high(b)));
    n -= used, e.x += used;
    if (e.residual) e.residual += used, e.sum += used;
  }
  sums[0] += vd_sum(sum);
  sums[1] += vd_sum(squares);
}

/* The mean of the first four vectors: of equal elements it is the element itself. */
AN_INLINE float first_mean(const elements *e, size_t at, size_t n) {
  if (n < 4 * AN_LANES) return vf_first(first_vector(e, at, 1));
  const vf a = vf_add(first_vector(e, at, AN_LANES), first_vector(e, at + AN_LANES, AN_LANES));
  const vf b = vf_add(first_vector(e, at + 2 * AN_LANES, AN_LANES), first_vector(e, at + 3 * AN_LANES, AN_LANES));
  return vf_sum(vf_add(a, b)) * (0.25f / AN_LANES);
}

/* A row whose sum has been written. */
static elements written(const elements *e) { return (elements){e->sum, 1, 0, e->n, NULL, e->n, NULL, NULL, 0}; }

/* In place, not by value: what has just been stored in parts is not read as a whole. */
static void centred_moments(moments *m, const elements *e, double eps) {
  const int whole = e->runs == 1 && !e->mask;
  piece first = {.n = whole ? e->n : 0};
  if (!whole) next_piece(&first, e);
  float near = first_mean(e, first.at, first.n);
  elements again = {.residual = NULL};
  for (int pass = 0; pass < 2; pass++) {
    double sums[2] = {0, 0};
    if (whole)
      add_sums(sums, e, 0, e->n, near, 1);
    else
      for (piece p = {0}; next_piece(&p, e);) add_sums(sums, e, p.at, p.n, near, 1);
    if (near_moments(m, near, sums[0], sums[1], 1.0 / (double)e->count, eps)) return;
    near = (float)m->mean;
    if (e->residual) again = written(e), e = &again;
  }
  exact_moments(m, e);
}

/* Moments about 0. An infinite square comes from infinity in x alone. */
static void uncentred_moments(moments *m, const elements *e, double eps) {
  double sums[2] = {0, 0};
  add_sums(sums, e, 0, e->n, 0, 0);
  *m = (moments){0, sums[1] * (1.0 / (double)e->n), 0, 0};
  if (m->square < __builtin_inf() && m->square + eps * eps >= SMALLEST_SQUARE) return;
  const elements all = e->residual ? written(e) : *e;
  const double square = exact_sum(&all, 0.0, 2) / (double)e->n;
  *m = (moments){0, square < __builtin_inf() ? square : __builtin_nan(""), 0, 1};
}

/* What x - mean is divided by, and the derivative of its square by the mean square of that (the c of an_norm_bwd). */
typedef struct divisor {
  double value, slope;
} divisor;
/* square: the mean square of n elements. */
typedef divisor (*norm_divisor)(double square, size_t n, double eps);

/* How elements are normalised: n = (x - mean) * factor, and what their gradient needs. */
enum {
  GIVEN,
  UNCENTRED,
  CENTRED,
  TANH
}; /* mean and factor do not depend on x; factor does; both do; tanh(factor * x) */
typedef struct normaliser {
  moments m;
  double factor, slope;
  int kind;
} normaliser;

AN_INLINE void divide(normaliser *s, divisor by, int kind) {
  s->factor = by.value == 0 ? 0 : 1 / by.value, s->slope = by.slope, s->kind = kind;
}
AN_INLINE normaliser centred(const elements *e, double eps, norm_divisor by) {
  normaliser s;
  centred_moments(&s.m, e, eps);
  divide(&s, by(s.m.square, e->count, eps), CENTRED);
  return s;
}
AN_INLINE normaliser uncentred(const elements *e, double eps, norm_divisor by) {
  normaliser s;
  uncentred_moments(&s.m, e, eps);
  divide(&s, by(s.m.square, e->count, eps), UNCENTRED);
  return s;
}

/* ---- Row norms ---- */

#define AN_NORM_BODIES
#include "norm/list.def"
#undef AN_NORM_BODIES

AN_INLINE elements row_of(const float *x, size_t d) { return (elements){.x = x, .runs = 1, .n = d, .count = d}; }
static normaliser row_normaliser(const elements *e, size_t norm, double eps, const float *alpha) {
  switch (norm) {
#define NORM_row(id) \
  case AN_NORM_##id: \
    return norm_##id(e, eps, alpha);
#define NORM_batch(id)
#define NORM_group(id)
#define NORM_instance(id)
#define AN_NORM(id, aliases, kind, ...) NORM_##kind(id)
#include "norm/list.def"
#undef AN_NORM
  }
  __builtin_unreachable();
}

/* One element in double; weight and bias are applied to it in float, as in the vector loops. */
AN_INLINE float exact_element(float x, const normaliser *s, const affine *a, size_t i) {
  return (float)(((double)x - s->m.mean) * s->factor) * weight_at(a->weight, i) + a->bias.w[i & a->bias.places];
}

AN_INLINE void affine_vector(float *y, const float *x, const vf *p, weights w, weights b, size_t i, int form) {
  vf v = form == UNSHIFTED ? vf_mul(vf_load(x), p[2]) : op_near(vf_load(x), p);
  if (form == WEIGHT || form == UNSHIFTED) v = vf_mul(v, vf_load(w.w + i));
  if (form == WEIGHT_BIAS) v = vf_madd(v, vf_load(w.w + i), vf_load(b.w + i));
  if (form == OFFSET)
    v = vf_madd(v, vf_add(vf_load(w.w + (i & w.places)), vf_set(w.offset)), vf_load(b.w + (i & b.places)));
  if (form == CHANNEL) v = vf_madd(v, p[3], p[4]);
  vf_store(y, v);
}
AN_INLINE void affine_form(float *y, const float *x, size_t n, const vf *p, weights w, weights b, int form) {
  size_t i = 0;
  for (; form != OFFSET && i + 4 * AN_LANES <= n; i += 4 * AN_LANES) {
    float *const yi = y + i;
    const float *const xi = x + i;
    const weights wi = {w.w + i, 0, 0}, bi = {b.w + i, 0, 0};
    affine_vector(yi, xi, p, wi, bi, 0, form);
    affine_vector(yi + AN_LANES, xi + AN_LANES, p, wi, bi, AN_LANES, form);
    affine_vector(yi + 2 * AN_LANES, xi + 2 * AN_LANES, p, wi, bi, 2 * AN_LANES, form);
    affine_vector(yi + 3 * AN_LANES, xi + 3 * AN_LANES, p, wi, bi, 3 * AN_LANES, form);
  }
  for (; i < n; i += AN_LANES) affine_vector(y + i, x + i, p, w, b, i, form);
}
/* Of whole vectors; `at` is the first one's place among the weights. */
static void affine_vectors(float *y, const float *x, size_t n, const normaliser *s, const affine *a, size_t at) {
  const weights w = {a->weight.w + (at & a->weight.places), a->weight.places, a->weight.offset};
  const weights b = {a->bias.w + (at & a->bias.places), a->bias.places, 0};
  const vf p[] = {vf_set(s->m.near + 0.0f), vf_set((float)(s->m.mean - s->m.near)), vf_set((float)s->factor),
                  vf_add(vf_load(w.w), vf_set(w.offset)), vf_load(b.w)};
  switch (a->form == WEIGHT && s->m.mean == 0 && s->m.near == 0 ? UNSHIFTED : a->form) {
    case PLAIN: affine_form(y, x, n, p, w, b, PLAIN); break;
    case WEIGHT: affine_form(y, x, n, p, w, b, WEIGHT); break;
    case WEIGHT_BIAS: affine_form(y, x, n, p, w, b, WEIGHT_BIAS); break;
    case UNSHIFTED: affine_form(y, x, n, p, w, b, UNSHIFTED); break;
    case CHANNEL: affine_form(y, x, n, p, w, b, CHANNEL); break;
    default: affine_form(y, x, n, p, w, b, OFFSET);
  }
}
/* The last vector overlaps the one before it, whose place in x y may have taken by then. */
static void map_affine(float *y, const float *x, size_t n, const normaliser *s, const affine *a) {
  const size_t tail = n % AN_LANES;
  float last[3][AN_LANES];
  if (n < AN_LANES) {
    vf_store(last[0], vf_load_tail(x, n, 0.0f));
    vf_store(last[1], weight_lanes(a->weight, 0, n));
    vf_store(last[2], weight_lanes(a->bias, 0, n));
    const affine own = {{last[1], 0, a->weight.offset}, {last[2], 0, 0}, a->form};
    affine_vectors(last[0], last[0], AN_LANES, s, &own, 0);
    memcpy(y, last[0], n * sizeof(float));
    return;
  }
  if (tail) vf_store(last[0], vf_load(x + n - AN_LANES));
  affine_vectors(y, x, n - tail, s, a, 0);
  if (tail) affine_vectors(y + n - AN_LANES, last[0], AN_LANES, s, a, n - AN_LANES);
}

/* y of n elements by one normaliser, with a weight and a bias each. y may equal x. */
static void normalise(float *y, const float *x, size_t n, const normaliser *s, const affine *a) {
  static const normaliser done = {.factor = 1};
  if (s->kind == TANH) { /* weight and bias in a second pass over the row, which is in cache: one copy of the op */
    map(y, x, n, op_dyt, s->factor, 0);
    if (a->form != PLAIN) map_affine(y, y, n, &done, a);
  } else if (s->m.exact) {
    for (size_t i = 0; i < n; i++) y[i] = exact_element(x[i], s, a, i);
  } else {
    map_affine(y, x, n, s, a);
  }
}

typedef struct norm_rows {
  float *y, *mean, *rstd, *sum;
  const float *x, *residual, *alpha; /* residual NULL: no addition */
  affine affine;
  double residual_alpha, eps;
  size_t rows, d;
} norm_rows;

static void norm_run(const norm_rows *a, size_t norm) {
  for (size_t r = 0; r < a->rows; r++) {
    elements e = row_of(a->x + r * a->d, a->d);
    if (a->residual) e.residual = a->residual + r * a->d, e.sum = a->sum + r * a->d, e.alpha = (float)a->residual_alpha;
    const normaliser s = row_normaliser(&e, norm, a->eps, a->alpha);
    if (e.residual && (s.kind == GIVEN || s.kind == TANH)) /* it has not been read */
      add_apply(e.sum, e.x, e.residual, a->residual_alpha, a->d);
    normalise(a->y + r * a->d, e.residual ? e.sum : e.x, a->d, &s, &a->affine);
    if (a->mean) a->mean[r] = (float)s.m.mean;
    if (a->rstd) a->rstd[r] = s.kind == TANH ? 1.0f : (float)s.factor;
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
                       .affine = affine_of(weight, bias, weight_offset)};
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
                       .affine = affine_of(weight, bias, weight_offset)};
  norm_run(&a, norm);
}

/* ---- Norms over channels ---- */

/* Channels that are treated together where they are neighbours in memory; a row's chunk of them is read in one go, and
 * the wider it is the fewer pages each pass touches. The module's stack is 256 KB, most of it for the product: half as
 * many where gradients need more numbers of each, and what needs most has frames of its own. A chain is shorter than in
 * a row, where sixteen of them share the rounding. */
enum { STRIP = 512, GRADIENT_STRIP = 256, COLUMN_CHAIN = 8 };

/* A strip's constants: those of p[i] of the ops stand at k + i * width. */
AN_INLINE void set_column(float *k, size_t width, const normaliser *s) {
  k[0] = s->m.near, k[width] = (float)(s->m.mean - s->m.near), k[2 * width] = (float)s->factor;
}

AN_INLINE float channel_bias(const affine *a, size_t c) { return a->bias.places ? a->bias.w[c] : 0.0f; }

AN_INLINE int counts(const float *mask, size_t i) { return !mask || mask[i] != 0; }
static size_t count_of(const float *mask, size_t n) {
  size_t count = 0;
  for (size_t i = 0; i < n; i++) count += (size_t)counts(mask, i);
  return count;
}

/* centred_moments of `width` <= STRIP columns of x (rows, stride), of whose rows `count` > 0 count. */
AN_INLINE void add_column(float *sum, float *squares, const float *x, const float *near, size_t lanes) {
  vf s = vf_load(sum), q = vf_load(squares);
  add_near(&s, &q, vf_load_some(x, lanes, 0.0f), vf_load(near));
  vf_store(sum, s);
  vf_store(squares, q);
}
static AN_ONE_COPY void column_moments(normaliser *s, const float *x, const float *mask, size_t rows, size_t stride,
                                       size_t count, size_t width, double eps) {
  size_t first_rows = 16; /* a power of two: the mean of equal elements is exact */
  while (first_rows > count) first_rows /= 2;
  float near[STRIP] = {0};
  double sum[STRIP] = {0}, squares[STRIP] = {0};
  for (size_t r = 0, k = 0; k < first_rows; r++) {
    if (!counts(mask, r)) continue;
    for (size_t c = 0; c < width; c++) near[c] += x[r * stride + c];
    k++;
  }
  for (size_t c = 0; c < width; c++) near[c] /= (float)first_rows;

  for (size_t r = 0; r < rows;) {
    float terms[STRIP] = {0}, squared[STRIP] = {0};
    for (int k = 0; k < COLUMN_CHAIN && r < rows; r++) {
      if (!counts(mask, r)) continue;
      k++;
      const float *row = x + r * stride;
      size_t c = 0;
      for (; c + AN_LANES <= width; c += AN_LANES) add_column(terms + c, squared + c, row + c, near + c, AN_LANES);
      if (c < width) add_column(terms + c, squared + c, row + c, near + c, width - c);
    }
    for (size_t c = 0; c < width; c++) sum[c] += terms[c], squares[c] += squared[c];
  }
  for (size_t c = 0; c < width; c++)
    if (!near_moments(&s[c].m, near[c], sum[c], squares[c], 1.0 / (double)count, eps)) {
      const elements e = {x + c, rows, stride, 1, mask, count, NULL, NULL, 0};
      exact_moments(&s[c].m, &e);
    }
}

/* y, x (rows, stride): `width` <= STRIP columns, each by its own normaliser. */
AN_INLINE void write_column(float *y, const float *x, const float *k, size_t lanes) {
  const vf p[] = {vf_load(k), vf_load(k + STRIP), vf_load(k + 2 * STRIP), vf_load(k + 3 * STRIP),
                  vf_load(k + 4 * STRIP)};
  vf_store_some(y, lanes, vf_madd(op_near(vf_load_some(x, lanes, 0.0f), p), p[3], p[4]));
}
static AN_ONE_COPY void write_columns(float *y, const float *x, size_t rows, size_t stride, size_t width,
                                      const normaliser *s, const affine *a) {
  float k[5][STRIP] = {{0}};
  size_t exact[STRIP], exact_count = 0;
  for (size_t c = 0; c < width; c++) {
    set_column(k[0] + c, STRIP, s + c);
    k[3][c] = weight_at(a->weight, c), k[4][c] = channel_bias(a, c);
    if (s[c].m.exact) exact[exact_count++] = c;
  }
  for (size_t r = 0; r < rows; r++, x += stride, y += stride) {
    float kept[STRIP]; /* y may equal x */
    for (size_t i = 0; i < exact_count; i++) kept[i] = exact_element(x[exact[i]], s + exact[i], a, exact[i]);
    size_t c = 0;
    for (; c + AN_LANES <= width; c += AN_LANES) write_column(y + c, x + c, k[0] + c, AN_LANES);
    if (c < width) write_column(y + c, x + c, k[0] + c, width - c);
    for (size_t i = 0; i < exact_count; i++) y[exact[i]] = kept[i];
  }
}

/* n elements of one channel. */
static void write_channel(float *y, const float *x, size_t n, const normaliser *s, const affine *a, size_t channel) {
  float weight[AN_LANES], bias[AN_LANES];
  vf_store(weight, vf_set(weight_at(a->weight, channel)));
  vf_store(bias, vf_set(channel_bias(a, channel)));
  const affine own = {{weight, 0, 0}, {bias, 0, 0}, CHANNEL};
  if (s->m.exact)
    for (size_t i = 0; i < n; i++) y[i] = exact_element(x[i], s, a, channel);
  else
    map_affine(y, x, n, s, &own);
}

/* 0 where there is padding. */
static void write_padding(float *y, const float *mask, size_t outer, size_t channels, size_t inner) {
  if (!mask) return;
  for (size_t o = 0; o < outer; o++, mask += inner)
    for (size_t c = 0; c < channels; c++, y += inner)
      for (size_t i = 0; i < inner; i++)
        if (mask[i] == 0) y[i] = 0;
}

/* Part of a batch norm's argument: neighbouring channels, `width` <= STRIP, of x (outer, channels, inner), of which
 * outer * inner elements each `count` > 0 count. */
typedef struct strip {
  const float *x, *mask;
  size_t outer, channels, inner, count, first, width;
} strip;

AN_INLINE elements strip_channel(const strip *p, size_t c) {
  return (elements){
      p->x + (p->first + c) * p->inner, p->outer, p->channels * p->inner, p->inner, p->mask, p->count, NULL, NULL, 0};
}

/* The normalisers of a strip. running_mean NULL: by its own statistics. A given mean is itself near, and x - mean can't
 * overflow unless that is far beyond 2^100. That the variance is 0 does not promise that x is the mean. */
static void strip_normalisers(normaliser *s, const strip *p, const float *running_mean, const float *running_var,
                              double eps) {
  if (!running_mean && p->inner == 1)
    column_moments(s, p->x + p->first, p->mask, p->outer, p->channels, p->count, p->width, eps);
  for (size_t i = 0; i < p->width; i++) {
    const elements e = strip_channel(p, i);
    if (running_mean) {
      const float mean = running_mean[p->first + i], var = running_var[p->first + i];
      s[i].m = (moments){mean, var, mean, !(mean > -0x1p100f && mean < 0x1p100f)};
    } else if (p->inner > 1) {
      centred_moments(&s[i].m, &e, eps);
    }
    const divisor by = divisor_layer_norm(s[i].m.square, p->count, eps);
    divide(s + i, by, CENTRED);
    if (running_mean) s[i].factor = 1 / by.value, s[i].slope = 0, s[i].kind = GIVEN;
  }
}

void batch_norm_apply(float *y, float *mean, float *rstd, float *running_mean, float *running_var, const float *x,
                      const float *weight, const float *bias, const float *mask, double eps, double momentum,
                      double weight_offset, int training, int biased_running, size_t outer, size_t channels,
                      size_t inner) {
  strip p = {x, mask, outer, channels, inner, count_of(mask, outer * inner), 0, 0};
  const double n = (double)p.count, unbiased = !biased_running && n > 1 ? n / (n - 1) : 1;
  for (; p.count > 0 && p.first < channels; p.first += p.width) {
    p.width = channels - p.first < STRIP ? channels - p.first : STRIP;
    normaliser s[STRIP];
    strip_normalisers(s, &p, training ? NULL : running_mean, running_var, eps);
    for (size_t i = 0; i < p.width; i++) {
      const size_t c = p.first + i;
      if (mean) mean[c] = (float)s[i].m.mean;
      if (rstd) rstd[c] = (float)s[i].factor;
      if (training && running_mean) {
        running_mean[c] = (float)((1 - momentum) * running_mean[c] + momentum * s[i].m.mean);
        running_var[c] = (float)((1 - momentum) * running_var[c] + momentum * s[i].m.square * unbiased);
      }
    }
    const affine a = affine_of(weight ? weight + p.first : NULL, bias ? bias + p.first : NULL, weight_offset);
    if (inner == 1) {
      write_columns(y + p.first, x + p.first, outer, channels, p.width, s, &a);
      continue;
    }
    for (size_t o = 0; o < outer; o++)
      for (size_t i = 0; i < p.width; i++) {
        const size_t at = (o * channels + p.first + i) * inner;
        write_channel(y + at, x + at, inner, s + i, &a, i);
      }
  }
  write_padding(y, mask, outer, channels, inner);
}

void group_norm_apply(float *y, float *mean, float *rstd, const float *x, const float *weight, const float *bias,
                      double eps, double weight_offset, size_t groups, size_t batch, size_t length, size_t channels,
                      size_t inner) {
  const size_t size = channels / groups, row = channels * inner, n = size * inner;
  for (size_t b = 0; b < batch; b++, x += length * row, y += length * row) {
    float *const entry_mean = mean ? mean + b * groups : NULL, *const entry_rstd = rstd ? rstd + b * groups : NULL;
    if (groups == channels) { /* instance norm: a batch norm of each entry */
      batch_norm_apply(y, entry_mean, entry_rstd, NULL, NULL, x, weight, bias, NULL, eps, 0, weight_offset, 1, 0,
                       length, channels, inner);
      continue;
    }
    for (size_t g = 0; g < groups; g++) {
      const size_t first = g * size;
      const affine a = affine_of(weight ? weight + first : NULL, bias ? bias + first : NULL, weight_offset);
      const elements e = {x + first * inner, length, row, n, NULL, length * n, NULL, NULL, 0};
      const normaliser s = centred(&e, eps, divisor_layer_norm);
      if (mean) entry_mean[g] = (float)s.m.mean;
      if (rstd) entry_rstd[g] = (float)s.factor;
      for (size_t l = 0; l < length; l++) {
        const size_t at = l * row + first * inner;
        if (inner == 1)
          normalise(y + at, x + at, size, &s, &a);
        else
          for (size_t c = 0; c < size; c++) write_channel(y + at + c * inner, x + at + c * inner, inner, &s, &a, c);
      }
    }
  }
}

/* ---- Gradients ----
 *
 * Of elements that share their statistics, g being dy * (weight + offset) and n the normalised element:
 *   dx = factor * (g - mean(g) - slope * n * mean(g n))
 * without mean(g) where no mean is taken off, and dx = factor * g where the statistics are given. Sums of g and g n are
 * near or exact as the statistics are, and exact too where float is too coarse or too narrow for g.
 */

enum { G, GN, SIZE, SUMS }; /* sums of g, g n, |g| */
/* x's constants as op_near has them, then mean(g) and slope * mean(g n). */
typedef struct shares {
  double g, gn;
} shares;
AN_INLINE void near_constants(vf *p, const normaliser *s, shares k) {
  p[0] = vf_set(s->m.near), p[1] = vf_set((float)(s->m.mean - s->m.near)), p[2] = vf_set((float)s->factor);
  p[3] = vf_set((float)k.g), p[4] = vf_set((float)k.gn);
}

typedef struct gradient_terms {
  vf g, gn, size;
} gradient_terms;
AN_INLINE void add_gradient_terms(gradient_terms *sum, vf x, vf dy, vf w, const vf *p) {
  const vf g = vf_mul(dy, w);
  sum->g = vf_add(sum->g, g);
  sum->gn = vf_madd(g, op_near(x, p), sum->gn);
  sum->size = vf_add(sum->size, vf_abs(g));
}
AN_INLINE double lanes_sum(vf a, vf b) {
  const vf v = vf_add(a, b);
  return vd_sum(vd_add(vd_low(v), vd_high(v)));
}
/* n is of no account where its share is 0, infinite or not. */
AN_INLINE vf gradient_vector(vf x, vf dy, vf w, const vf *p) {
  const vf n = vf_select(vf_ne(p[4], vf_set(0.0f)), op_near(x, p), p[4]);
  return vf_mul(p[2], vf_nmadd(n, p[4], vf_sub(vf_mul(dy, w), p[3])));
}

/* The vectors of a gradient at place i, `left` elements from the end: those beyond it are the mean, dy 0. */
typedef struct gradient_input {
  vf x, dy, w;
} gradient_input;
AN_INLINE gradient_input load_gradient(const float *x, const float *dy, weights w, size_t i, size_t left, vf near) {
  return (gradient_input){left < AN_LANES ? vf_load_tail(x + i, left, vf_first(near)) : vf_load(x + i),
                          vf_load_some(dy + i, left, 0.0f), vf_add(weight_lanes(w, i, left), vf_set(w.offset))};
}

/* Two chains of CHAIN vectors side by side, as `reduce` has four. */
static void near_sums(double *sum, const float *x, const float *dy, size_t n, weights w, const normaliser *s) {
  vf p[5];
  near_constants(p, s, (shares){0, 0});
  for (size_t i = 0; i < n;) {
    const vf zero = vf_set(0.0f);
    gradient_terms even = {zero, zero, zero}, odd = even;
    if (i + 2 * AN_LANES <= n) {
      for (int k = 0; k < CHAIN && i + 2 * AN_LANES <= n; k++, i += 2 * AN_LANES) {
        const gradient_input a = load_gradient(x, dy, w, i, AN_LANES, p[0]);
        const gradient_input b = load_gradient(x, dy, w, i + AN_LANES, AN_LANES, p[0]);
        add_gradient_terms(&even, a.x, a.dy, a.w, p);
        add_gradient_terms(&odd, b.x, b.dy, b.w, p);
      }
    } else {
      for (; i < n; i += AN_LANES) {
        const gradient_input a = load_gradient(x, dy, w, i, n - i, p[0]);
        add_gradient_terms(&even, a.x, a.dy, a.w, p);
      }
    }
    sum[G] += lanes_sum(even.g, odd.g);
    sum[GN] += lanes_sum(even.gn, odd.gn);
    sum[SIZE] += lanes_sum(even.size, odd.size);
  }
}
static void near_gradient(float *dx, const float *x, const float *dy, size_t n, weights w, const normaliser *s,
                          shares k) {
  vf p[5];
  near_constants(p, s, k);
  size_t i = 0;
  for (; i + AN_LANES <= n; i += AN_LANES) {
    const gradient_input a = load_gradient(x, dy, w, i, AN_LANES, p[0]);
    vf_store(dx + i, gradient_vector(a.x, a.dy, a.w, p));
  }
  if (i < n) {
    const gradient_input a = load_gradient(x, dy, w, i, n - i, p[0]);
    vf_store_tail(dx + i, n - i, gradient_vector(a.x, a.dy, a.w, p));
  }
}

AN_INLINE double exact_g(const float *dy, weights w, size_t i) {
  return (double)dy[i] * ((double)w.w[i & w.places] + w.offset);
}
static void exact_sums(double *sum, const float *x, const float *dy, size_t n, weights w, const normaliser *s) {
  for (size_t i = 0; i < n; i++) {
    const double g = exact_g(dy, w, i);
    sum[G] += g;
    sum[GN] += g * ((x[i] - s->m.mean) * s->factor);
    sum[SIZE] += __builtin_fabs(g);
  }
}
static void exact_gradient(float *dx, const float *x, const float *dy, size_t n, weights w, const normaliser *s,
                           shares k) {
  for (size_t i = 0; i < n; i++) {
    const double n_share = k.gn == 0 ? 0 : (x[i] - s->m.mean) * s->factor * k.gn;
    dx[i] = (float)(s->factor * (exact_g(dy, w, i) - k.g - n_share));
  }
}

/* Whether float holds g, its products with n (at most the root of their number) and their sums. A sum of 0 is exact if
 * no weight underflowed. */
AN_INLINE int float_does(const double *sum) {
  return (sum[SIZE] >= 0x1p-100 && sum[SIZE] <= 0x1p100 && sum[GN] - sum[GN] == 0) || sum[SIZE] == 0;
}

/* The sums over elements that count; w is for each run alike. dy lies as x does. */
static void gradient_sums(double *sum, const elements *e, const float *dy, weights w, const normaliser *s) {
  for (int exact = s->m.exact; exact < 2; exact++) {
    for (int j = 0; j < SUMS; j++) sum[j] = 0;
    for (piece p = {0}; next_piece(&p, e);) {
      const weights part = {w.w + (p.first & w.places), w.places, w.offset};
      if (exact)
        exact_sums(sum, e->x + p.at, dy + p.at, p.n, part, s);
      else
        near_sums(sum, e->x + p.at, dy + p.at, p.n, part, s);
    }
    if (exact || (float_does(sum) && (sum[SIZE] != 0 || !w.places))) return;
  }
}

/* What the statistics' dependence on x takes from each g; n elements have these sums. */
static shares shares_of(const double *sum, const normaliser *s, size_t n) {
  const double share = 1.0 / (double)n;
  return (shares){s->kind == CENTRED ? sum[G] * share : 0, s->slope == 0 ? 0 : s->slope * (sum[GN] * share)};
}

/* dx = g alpha tanh'(alpha x). Returns the sum of g x tanh'(alpha x), dyt's gradient by alpha; tanh' makes a term 0 at
 * infinity. */
static double dyt_gradient(float *dx, const float *x, const float *dy, size_t n, weights w, double alpha) {
  const vf a = vf_set((float)alpha), largest = vf_set(0x1.fffffep127f);
  vd low = vd_set(0.0), high = low;
  for (size_t i = 0; i < n; i += AN_LANES) {
    const gradient_input in = load_gradient(x, dy, w, i, n - i, vf_set(0.0f));
    const vf t = vf_mul(in.dy, slope_dyt(in.x, a)), bounded = vf_min(vf_max(in.x, vf_neg(largest)), largest);
    low = vd_add(low, vd_mul(vd_mul(vd_low(t), vd_low(in.w)), vd_low(bounded)));
    high = vd_add(high, vd_mul(vd_mul(vd_high(t), vd_high(in.w)), vd_high(bounded)));
    vf_store_some(dx + i, n - i, vf_mul(vf_mul(t, a), in.w));
  }
  return vd_sum(vd_add(low, high));
}

/* dx = added + the gradient of n elements; added may be NULL. dx may equal any input. dyt's gradient by alpha is added
 * to *dalpha. */
static void write_gradient(float *dx, const float *added, double *dalpha, const float *x, const float *dy, size_t n,
                           weights w, const normaliser *s, shares k, int exact) {
  enum { PART = 256 };
  float buffer[PART];
  for (size_t i = 0; i < n; i += PART) {
    const size_t count = n - i < PART ? n - i : PART;
    const weights part = {w.w + (i & w.places), w.places, w.offset};
    float *const out = added || !dx ? buffer : dx + i;
    if (s->kind == TANH)
      *dalpha += dyt_gradient(out, x + i, dy + i, count, part, s->factor);
    else if (exact)
      exact_gradient(out, x + i, dy + i, count, part, s, k);
    else
      near_gradient(out, x + i, dy + i, count, part, s, k);
    if (added && dx) add_apply(dx + i, buffer, added + i, 1.0, count);
  }
}

AN_INLINE void add_product(float *sum, const float *dy, const float *n, size_t lanes) {
  vf_store(sum, vf_madd(vf_load_some(dy, lanes, 0.0f), vf_load_some(n, lanes, 0.0f), vf_load(sum)));
}
/* dweight (d) += the columns of dy n, x and dy being (rows, d; row stride ld) and s[r * step] what normalises row r. */
static void weight_gradient(float *dweight, const float *x, const float *dy, size_t ld, size_t rows, size_t d,
                            const normaliser *s, size_t step) {
  enum { PART = 256 };
  const affine plain = affine_of(NULL, NULL, 0);
  for (size_t first = 0; first < rows; first += CHAIN)
    for (size_t i = 0; i < d; i += PART) {
      const size_t count = d - i < PART ? d - i : PART;
      float n[PART], sum[PART] = {0};
      for (size_t r = first; r < rows && r < first + CHAIN; r++) {
        normalise(n, x + r * ld + i, count, s + r * step, &plain);
        const float *g = dy + r * ld + i;
        size_t c = 0;
        for (; c + AN_LANES <= count; c += AN_LANES) add_product(sum + c, g + c, n + c, AN_LANES);
        if (c < count) add_product(sum + c, g + c, n + c, count - c);
      }
      add_apply(dweight + i, sum, dweight + i, 1.0, count);
    }
}

/* ---- Gradients of row norms ---- */

/* an_norm_bwd, with `added` (rows, d) or NULL added to dx. */
static void rows_gradient(float *dx, const float *added, float *dweight, float *dbias, float *dalpha, const float *x,
                          const float *dy, const float *weight, const float *alpha, size_t norm, double eps,
                          double weight_offset, size_t rows, size_t d) {
  const weights w = weights_of(weight, weight_offset);
  double sum_alpha = 0;
  for (size_t first = 0; first < rows; first += CHAIN) {
    const size_t count = rows - first < CHAIN ? rows - first : CHAIN, at = first * d;
    normaliser s[CHAIN];
    for (size_t r = 0; r < count; r++) {
      const elements e = row_of(x + at + r * d, d);
      s[r] = row_normaliser(&e, norm, eps, alpha);
    }
    if (dweight) weight_gradient(dweight, x + at, dy + at, d, count, d, s, 1);
    if (dbias) sum_columns(dbias, dy + at, d, count, d);
    for (size_t r = 0; r < count && (dx || (dalpha && s[r].kind == TANH)); r++) {
      const size_t row = at + r * d;
      const elements e = row_of(x + row, d);
      double sum[SUMS] = {0};
      if (s[r].kind == CENTRED || s[r].kind == UNCENTRED) gradient_sums(sum, &e, dy + row, w, s + r);
      write_gradient(dx ? dx + row : NULL, added ? added + row : NULL, &sum_alpha, x + row, dy + row, d, w, s + r,
                     shares_of(sum, s + r, d), s[r].m.exact || !float_does(sum));
    }
  }
  if (dalpha) *dalpha += (float)sum_alpha;
}

void norm_gradient(float *dx, float *dweight, float *dbias, float *dalpha, const float *x, const float *dy,
                   const float *weight, const float *alpha, size_t norm, double eps, double weight_offset, size_t rows,
                   size_t d) {
  rows_gradient(dx, NULL, dweight, dbias, dalpha, x, dy, weight, alpha, norm, eps, weight_offset, rows, d);
}

/* ---- Gradients of norms over channels ---- */

AN_INLINE double channel_weight(weights w, size_t c) { return (double)w.w[c & w.places] + w.offset; }
static void add_channel(float *dweight, float *dbias, size_t c, const double *sum) {
  if (dweight) dweight[c] += (float)sum[GN];
  if (dbias) dbias[c] += (float)sum[G];
}
/* The sums of g from those of dy. */
static void weigh(double *sum, double weight) {
  sum[G] *= weight, sum[GN] *= weight, sum[SIZE] *= __builtin_fabs(weight);
}

/* `channels` neighbours of a weight each that share their statistics: e is the first, the next is e.n elements on. dy
 * and dx lie as x does. */
static void channels_gradient(float *dx, float *dweight, float *dbias, const elements *e, const float *dy,
                              size_t channels, weights a, const normaliser *s) {
  double sum[SUMS] = {0};
  for (size_t c = 0; c < channels; c++) {
    elements channel = *e;
    channel.x += c * e->n;
    double own[SUMS];
    gradient_sums(own, &channel, dy + c * e->n, (weights){ones, 0, 0}, s);
    add_channel(dweight, dbias, c, own);
    weigh(own, channel_weight(a, c));
    for (int j = 0; j < SUMS; j++) sum[j] += own[j];
  }
  if (!dx) return;
  const shares k = shares_of(sum, s, e->count * channels);
  const int exact = s->m.exact || !float_does(sum);
  for (size_t c = 0; c < channels; c++) {
    float w[AN_LANES];
    vf_store(w, vf_set((float)channel_weight(a, c)));
    for (size_t r = 0; r < e->runs; r++) {
      const size_t at = r * e->stride + c * e->n;
      write_gradient(dx + at, NULL, NULL, e->x + at, dy + at, e->n, (weights){w, 0, 0}, s, k, exact);
    }
  }
}

/* Sums of dy, dy n, |dy| for each column of a strip, inner being 1; k: the columns' constants. */
AN_INLINE void add_column_gradient(float *terms, const float *x, const float *dy, const float *k, size_t lanes) {
  enum { W = GRADIENT_STRIP };
  const vf p[] = {vf_load(k), vf_load(k + W), vf_load(k + 2 * W)};
  gradient_terms sum = {vf_load(terms + G * W), vf_load(terms + GN * W), vf_load(terms + SIZE * W)};
  add_gradient_terms(&sum, vf_load_some(x, lanes, 0.0f), vf_load_some(dy, lanes, 0.0f), vf_set(1.0f), p);
  vf_store(terms + G * W, sum.g), vf_store(terms + GN * W, sum.gn), vf_store(terms + SIZE * W, sum.size);
}
static void column_sums(double (*sum)[GRADIENT_STRIP], const strip *p, const float *dy, const float *k) {
  const float *x = p->x + p->first;
  for (size_t r = 0; r < p->outer;) {
    float terms[SUMS][GRADIENT_STRIP] = {{0}};
    for (int row = 0; row < COLUMN_CHAIN && r < p->outer; r++) {
      if (!counts(p->mask, r)) continue;
      row++;
      const float *xr = x + r * p->channels, *dyr = dy + r * p->channels;
      size_t c = 0;
      for (; c + AN_LANES <= p->width; c += AN_LANES)
        add_column_gradient(terms[0] + c, xr + c, dyr + c, k + c, AN_LANES);
      if (c < p->width) add_column_gradient(terms[0] + c, xr + c, dyr + c, k + c, p->width - c);
    }
    for (int j = 0; j < SUMS; j++)
      for (size_t c = 0; c < p->width; c++) sum[j][c] += terms[j][c];
  }
}

AN_INLINE void write_column_gradient(float *dx, const float *x, const float *dy, const float *k, size_t lanes) {
  enum { W = GRADIENT_STRIP };
  const vf p[] = {vf_load(k), vf_load(k + W), vf_load(k + 2 * W), vf_load(k + 3 * W), vf_load(k + 4 * W)};
  const vf w = vf_load(k + 5 * W);
  vf_store_some(dx, lanes, gradient_vector(vf_load_some(x, lanes, 0.0f), vf_load_some(dy, lanes, 0.0f), w, p));
}
/* A strip of columns, inner being 1; dy and dx point at its first element. */
static AN_ONE_COPY void columns_gradient(float *dx, float *dweight, float *dbias, const strip *p, const float *dy,
                                         weights a, const normaliser *s) {
  float k[6][GRADIENT_STRIP] = {{0}};
  double sum[SUMS][GRADIENT_STRIP] = {{0}};
  shares taken[GRADIENT_STRIP];
  size_t exact[GRADIENT_STRIP], exact_count = 0;
  for (size_t c = 0; c < p->width; c++) set_column(k[0] + c, GRADIENT_STRIP, s + c);
  column_sums(sum, p, dy, k[0]);
  for (size_t c = 0; c < p->width; c++) {
    double own[SUMS] = {sum[G][c], sum[GN][c], sum[SIZE][c]};
    if (s[c].m.exact || !float_does(own)) {
      const elements e = strip_channel(p, c);
      normaliser in_double = s[c];
      in_double.m.exact = 1;
      gradient_sums(own, &e, dy + c, (weights){ones, 0, 0}, &in_double);
    }
    add_channel(dweight, dbias, c, own);
    weigh(own, channel_weight(a, c));
    taken[c] = shares_of(own, s + c, p->count);
    k[3][c] = (float)taken[c].g, k[4][c] = (float)taken[c].gn, k[5][c] = (float)channel_weight(a, c);
    if (s[c].m.exact || !float_does(own)) exact[exact_count++] = c;
  }
  const float *x = p->x + p->first;
  for (size_t r = 0; r < p->outer && dx; r++, x += p->channels, dy += p->channels, dx += p->channels) {
    float kept[GRADIENT_STRIP]; /* dx may equal x or dy */
    for (size_t i = 0; i < exact_count; i++) {
      const size_t e = exact[i];
      exact_gradient(kept + i, x + e, dy + e, 1, (weights){k[5] + e, 0, 0}, s + e, taken[e]);
    }
    size_t c = 0;
    for (; c + AN_LANES <= p->width; c += AN_LANES) write_column_gradient(dx + c, x + c, dy + c, k[0] + c, AN_LANES);
    if (c < p->width) write_column_gradient(dx + c, x + c, dy + c, k[0] + c, p->width - c);
    for (size_t i = 0; i < exact_count; i++) dx[exact[i]] = kept[i];
  }
}

void batch_norm_gradient(float *dx, float *dweight, float *dbias, const float *x, const float *dy, const float *weight,
                         const float *mask, const float *running_mean, const float *running_var, double eps,
                         double weight_offset, int training, size_t outer, size_t channels, size_t inner) {
  strip p = {x, mask, outer, channels, inner, count_of(mask, outer * inner), 0, 0};
  for (; p.count > 0 && p.first < channels; p.first += p.width) {
    p.width = channels - p.first < GRADIENT_STRIP ? channels - p.first : GRADIENT_STRIP;
    normaliser s[GRADIENT_STRIP];
    strip_normalisers(s, &p, training ? NULL : running_mean, running_var, eps);
    for (size_t i = 0; i < p.width; i += inner == 1 ? p.width : 1) {
      const size_t c = p.first + i, at = c * inner;
      const weights a = weights_of(weight ? weight + c : NULL, weight_offset);
      float *const w = dweight ? dweight + c : NULL, *const b = dbias ? dbias + c : NULL,
                   *const d = dx ? dx + at : NULL;
      const elements e = strip_channel(&p, i);
      if (inner == 1)
        columns_gradient(d, w, b, &p, dy + at, a, s);
      else
        channels_gradient(d, w, b, &e, dy + at, 1, a, s + i);
    }
  }
  if (dx) write_padding(dx, mask, outer, channels, inner);
}

void group_norm_gradient(float *dx, float *dweight, float *dbias, const float *x, const float *dy, const float *weight,
                         double eps, double weight_offset, size_t groups, size_t batch, size_t length, size_t channels,
                         size_t inner) {
  const size_t size = channels / groups, row = channels * inner, n = size * inner;
  for (size_t entry = 0; entry < batch; entry++, x += length * row, dy += length * row) {
    float *const entry_dx = dx ? dx + entry * length * row : NULL;
    if (groups == channels) { /* instance norm: a batch norm of each entry */
      batch_norm_gradient(entry_dx, dweight, dbias, x, dy, weight, NULL, NULL, NULL, eps, weight_offset, 1, length,
                          channels, inner);
      continue;
    }
    for (size_t g = 0; g < groups; g++) {
      const size_t first = g * size, at = first * inner;
      const weights a = weights_of(weight ? weight + first : NULL, weight_offset);
      float *const w = dweight ? dweight + first : NULL, *const b = dbias ? dbias + first : NULL;
      float *const d = entry_dx ? entry_dx + at : NULL;
      const elements e = {x + at, length, row, n, NULL, length * n, NULL, NULL, 0};
      const normaliser s = centred(&e, eps, divisor_layer_norm);
      if (inner > 1) {
        const elements channel = {x + at, length, row, inner, NULL, length * inner, NULL, NULL, 0};
        channels_gradient(d, w, b, &channel, dy + at, size, a, &s);
        continue;
      }
      if (w) weight_gradient(w, x + at, dy + at, row, length, size, &s, 0);
      if (b) sum_columns(b, dy + at, row, length, size);
      if (!d) continue;
      double sum[SUMS];
      gradient_sums(sum, &e, dy + at, a, &s);
      for (size_t l = 0; l < length; l++)
        write_gradient(d + l * row, NULL, NULL, e.x + l * row, dy + at + l * row, size, a, &s,
                       shares_of(sum, &s, e.count), s.m.exact || !float_does(sum));
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
  if (norm >= AN_NORM_COUNT || list[norm].kind != KIND_row) return AN_UNKNOWN_OP;
  const an_status status = norm_check(eps, weight_offset);
  if (status) return status;
  if (!(alpha >= -3.4e38 && alpha <= 3.4e38)) return AN_INVALID_VALUE;
  if (d == 0) return AN_INVALID_SHAPE;
  return size_fits(rows, d, 1, 1) ? AN_OK : AN_SIZE_OVERFLOW;
}

static an_status check_batch(double eps, double momentum, double weight_offset, size_t outer, size_t channels,
                             size_t inner) {
  const an_status status = norm_check(eps, weight_offset);
  if (status) return status;
  if (!(momentum >= 0 && momentum <= 1)) return AN_INVALID_VALUE;
  if (channels == 0) return AN_INVALID_SHAPE;
  return size_fits(outer, channels, inner, 1) ? AN_OK : AN_SIZE_OVERFLOW;
}

static an_status check_group(double eps, double weight_offset, size_t groups, size_t batch, size_t length,
                             size_t channels, size_t inner) {
  const an_status status = norm_check(eps, weight_offset);
  if (status) return status;
  if (groups == 0 || channels == 0 || channels % groups) return AN_INVALID_SHAPE;
  return size_fits(batch, length, channels, inner) ? AN_OK : AN_SIZE_OVERFLOW;
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
  const an_status status = check_batch(eps, momentum, weight_offset, outer, channels, inner);
  if (status || outer == 0 || inner == 0) return status;
  if (!y || !x || !running_mean != !running_var || (!training && !running_mean)) return AN_NULL_POINTER;
  batch_norm_apply(y, mean, rstd, running_mean, running_var, x, weight, bias, mask, eps, momentum, weight_offset,
                   training, biased_running, outer, channels, inner);
  return AN_OK;
}

an_status an_group_norm_fwd(float *y, float *mean, float *rstd, const float *x, const float *weight, const float *bias,
                            double eps, double weight_offset, size_t groups, size_t batch, size_t length,
                            size_t channels, size_t inner) {
  const an_status status = check_group(eps, weight_offset, groups, batch, length, channels, inner);
  if (status || batch == 0 || length == 0 || inner == 0) return status;
  if (!y || !x) return AN_NULL_POINTER;
  group_norm_apply(y, mean, rstd, x, weight, bias, eps, weight_offset, groups, batch, length, channels, inner);
  return AN_OK;
}

/* ---- ABI, gradients ---- */

an_status an_norm_bwd(float *dx, float *dweight, float *dbias, float *dalpha, const float *x, const float *dy,
                      const float *weight, const float *alpha, size_t norm, double eps, double weight_offset,
                      size_t rows, size_t d) {
  const an_status status = check_rows(norm, 1, eps, weight_offset, rows, d);
  if (status || rows == 0) return status;
  if (!x || !dy) return AN_NULL_POINTER;
  norm_gradient(dx, dweight, dbias, dalpha, x, dy, weight, alpha, norm, eps, weight_offset, rows, d);
  return AN_OK;
}

an_status an_add_norm_bwd(float *dx, float *dresidual, float *dweight, float *dbias, float *dalpha, const float *sum,
                          const float *dsum, const float *dy, const float *weight, const float *norm_alpha, size_t norm,
                          double alpha, double eps, double weight_offset, size_t rows, size_t d) {
  const an_status status = check_rows(norm, alpha, eps, weight_offset, rows, d);
  if (status || rows == 0) return status;
  if (!sum || !dy) return AN_NULL_POINTER;
  float *const both = dresidual ? dresidual : dx;
  rows_gradient(both, dsum, dweight, dbias, dalpha, sum, dy, weight, norm_alpha, norm, eps, weight_offset, rows, d);
  if (dx) scale_apply(dx, both, alpha, rows * d);
  return AN_OK;
}

an_status an_batch_norm_bwd(float *dx, float *dweight, float *dbias, const float *x, const float *dy,
                            const float *weight, const float *mask, const float *running_mean, const float *running_var,
                            double eps, double weight_offset, int training, size_t outer, size_t channels,
                            size_t inner) {
  const an_status status = check_batch(eps, 0, weight_offset, outer, channels, inner);
  if (status || outer == 0 || inner == 0) return status;
  if (!x || !dy || !running_mean != !running_var || (!training && !running_mean)) return AN_NULL_POINTER;
  batch_norm_gradient(dx, dweight, dbias, x, dy, weight, mask, running_mean, running_var, eps, weight_offset, training,
                      outer, channels, inner);
  return AN_OK;
}

an_status an_group_norm_bwd(float *dx, float *dweight, float *dbias, const float *x, const float *dy,
                            const float *weight, double eps, double weight_offset, size_t groups, size_t batch,
                            size_t length, size_t channels, size_t inner) {
  const an_status status = check_group(eps, weight_offset, groups, batch, length, channels, inner);
  if (status || batch == 0 || length == 0 || inner == 0) return status;
  if (!x || !dy) return AN_NULL_POINTER;
  group_norm_gradient(dx, dweight, dbias, x, dy, weight, eps, weight_offset, groups, batch, length, channels, inner);
  return AN_OK;
}
