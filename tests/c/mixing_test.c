/* Mixing tokens, the mean and attention: forward and gradients against formulas in double precision, those in turn
 * against differences of a forward in double precision; what a mask or causality hides must not be felt, NaN included.
 */
#include "../../src/matmul.h"
#include "../../src/mixing.h"
#include "test.h"

#if defined(AN_TEST_QUICK)
enum { QUICK = 1 };
#else
enum { QUICK = 0 };
#endif

static uint64_t state = 23;

enum { QUERY, QUERY_BIAS, KEY, KEY_BIAS, VALUE, VALUE_BIAS, OUT, OUT_BIAS, QUERY_NORM, KEY_NORM, PARAMETERS };
enum { X = PARAMETERS, TENSORS };
static const char *const names[TENSORS] = {"query", "query_bias", "key",        "key_bias", "value", "value_bias",
                                           "out",   "out_bias",   "query_norm", "key_norm", "x"};

enum { MEAN = 0, ATTENTION = 1, CAUSAL = 2, NORM = 4, BIAS = 8 };   /* what a case has */
enum { NO_MASK, PADDED, RANDOM_MASK, LAST_SEQUENCE_HIDDEN, MASKS }; /* its mask */

/* A mixing with its input and the gradient of a loss by its output, in float and the same values in double. */
typedef struct problem {
  mixing m;
  size_t batch, length, rows, size[TENSORS];
  int form;
  float *value[TENSORS], *packed[OUT + 1], *packed_bwd[OUT + 1], *dy, *mask, *saved;
  double *exact[TENSORS], *gradient[TENSORS]; /* gradient: by the formulas */
  double *terms; /* of the norms' weights: the sizes of the terms that their gradients add up */
} problem;

static int is_matrix(int tensor) { return tensor <= OUT && tensor % 2 == 0; }

static int has(const problem *p, int tensor) {
  if (tensor == X) return 1;
  if (tensor >= QUERY_NORM) return (p->form & ATTENTION) && (p->form & NORM);
  return ((p->form & ATTENTION) || tensor >= VALUE) && (is_matrix(tensor) || (p->form & BIAS));
}

static double *zeros(size_t n) {
  double *x = n < SIZE_MAX / 32 ? calloc(n + 1, sizeof *x) : NULL;
  if (!x) abort();
  return x;
}

static int hidden(const problem *p, size_t row) { return p->mask && p->mask[row] == 0; }

static float *mask_of(size_t batch, size_t length, int kind) {
  if (kind == NO_MASK) return NULL;
  float *mask = guarded_alloc(batch * length, 1);
  for (size_t i = 0; i < batch * length; i++) {
    const size_t b = i / length, t = i % length;
    if (kind == PADDED) mask[i] = t <= length / (b + 2) ? 1 : 0;
    if (kind == RANDOM_MASK) mask[i] = test_uniform(&state) < 0.3 ? 0 : 0.5f;
    if (kind == LAST_SEQUENCE_HIDDEN) mask[i] = b == batch - 1 || t == 0 ? 0 : 1;
  }
  return mask;
}

static problem problem_of(size_t batch, size_t length, size_t d, size_t heads, int form, int mask) {
  problem p = {.batch = batch, .length = length, .rows = batch * length, .form = form};
  for (int i = 0; i < TENSORS; i++) {
    p.size[i] = i == X ? p.rows * d : i >= QUERY_NORM ? d / heads : is_matrix(i) ? d * d : d;
    p.exact[i] = zeros(p.size[i]), p.gradient[i] = zeros(p.size[i]);
    if (!has(&p, i)) continue;
    p.value[i] = guarded_alloc(p.size[i], (size_t)i % 4);
    const double scale = is_matrix(i) ? 1 / sqrt((double)d) : 1;
    for (size_t j = 0; j < p.size[i]; j++)
      p.exact[i][j] = p.value[i][j] = (float)(scale * test_normal(&state) + (i >= QUERY_NORM && i < X ? 1 : 0));
    if (!is_matrix(i)) continue;
    p.packed[i] = guarded_alloc(matmul_packed_size(d, d), 0),
    p.packed_bwd[i] = guarded_alloc(matmul_packed_size(d, d), 0);
    matmul_pack(p.packed[i], p.value[i], 1, d, d, d);
    matmul_pack(p.packed_bwd[i], p.value[i], d, 1, d, d);
  }
  float *const *const v = p.value, *const *const w = p.packed, *const *const b = p.packed_bwd;
  p.m = (mixing){w[QUERY],
                 v[QUERY_BIAS],
                 w[KEY],
                 v[KEY_BIAS],
                 w[VALUE],
                 v[VALUE_BIAS],
                 w[OUT],
                 v[OUT_BIAS],
                 b[QUERY],
                 b[KEY],
                 b[VALUE],
                 b[OUT],
                 v[QUERY_NORM],
                 v[KEY_NORM],
                 d,
                 heads,
                 (form & CAUSAL) != 0};
  p.dy = guarded_alloc(p.rows * d, 2);
  for (size_t i = 0; i < p.rows * d; i++) p.dy[i] = (float)test_normal(&state);
  p.terms = zeros(2);
  p.mask = mask_of(batch, length, mask);
  p.saved = guarded_alloc(mixing_saved_size(&p.m, batch, length), 3);
  return p;
}

static void problem_free(problem *p) {
  for (int i = 0; i < TENSORS; i++) {
    free(p->exact[i]), free(p->gradient[i]);
    if (has(p, i)) guarded_free(p->value[i], p->size[i], (size_t)i % 4, names[i]);
    if (!is_matrix(i) || !has(p, i)) continue;
    guarded_free(p->packed[i], matmul_packed_size(p->m.d_model, p->m.d_model), 0, "packed");
    guarded_free(p->packed_bwd[i], matmul_packed_size(p->m.d_model, p->m.d_model), 0, "packed_bwd");
  }
  free(p->terms);
  guarded_free(p->dy, p->rows * p->m.d_model, 2, "dy");
  if (p->mask) guarded_free(p->mask, p->rows, 1, "mask");
  guarded_free(p->saved, mixing_saved_size(&p->m, p->batch, p->length), 3, "saved");
}

/* ---- In double precision ---- */

/* y (rows, d) of a linear layer of x. */
static double *linear(const problem *p, int matrix, const double *x) {
  const size_t d = p->m.d_model;
  double *y = zeros(p->rows * d);
  for (size_t i = 0; i < p->rows; i++)
    for (size_t j = 0; j < d; j++) {
      double sum = has(p, matrix + 1) ? p->exact[matrix + 1][j] : 0;
      for (size_t k = 0; k < d; k++) sum += p->exact[matrix][j * d + k] * x[i * d + k];
      y[i * d + j] = sum;
    }
  return y;
}
/* dx += what it is by dy; the matrix's and the bias's gradients too. */
static void linear_gradient(const problem *p, int matrix, double *dx, const double *x, const double *dy) {
  const size_t d = p->m.d_model;
  for (size_t i = 0; i < p->rows; i++)
    for (size_t j = 0; j < d; j++) {
      p->gradient[matrix + 1][j] += dy[i * d + j];
      for (size_t k = 0; k < d; k++) {
        p->gradient[matrix][j * d + k] += dy[i * d + j] * x[i * d + k];
        dx[i * d + k] += dy[i * d + j] * p->exact[matrix][j * d + k];
      }
    }
}

/* The root mean square of one head's part of a row. */
static double root(const double *x, size_t n) {
  double sum = 0;
  for (size_t i = 0; i < n; i++) sum += x[i] * x[i];
  return sqrt(sum / (double)n + 1e-6);
}
static double *normed(const problem *p, int weight, const double *x) {
  const size_t d = p->m.d_model, n = d / p->m.heads;
  double *y = zeros(p->rows * d);
  for (size_t i = 0; i < p->rows * d; i++)
    y[i] = has(p, weight) ? x[i] / root(x + i / n * n, n) * p->exact[weight][i % n] : x[i];
  return y;
}
static void normed_gradient(const problem *p, int weight, double *dx, const double *x, const double *dy) {
  const size_t d = p->m.d_model, n = d / p->m.heads;
  for (size_t i = 0; i < p->rows * d; i++) {
    if (!has(p, weight)) {
      dx[i] += dy[i];
      continue;
    }
    const size_t from = i / n * n;
    const double r = root(x + from, n);
    p->gradient[weight][i % n] += dy[i] * x[i] / r;
    p->terms[weight - QUERY_NORM] += fabs(dy[i] * x[i] / r) / (double)n;
    double along = 0;
    for (size_t j = 0; j < n; j++) along += dy[from + j] * p->exact[weight][j] * x[from + j];
    dx[i] += dy[i] * p->exact[weight][i % n] / r - x[i] * along / ((double)n * r * r * r);
  }
}

/* The share of position s in t, of one head: probabilities over the visible s of t's sequence. */
static void shares(const problem *p, double *share, const double *q, const double *k, size_t row, size_t h) {
  const size_t d = p->m.d_model, n = d / p->m.heads, first = row / p->length * p->length;
  double most = -INFINITY, sum = 0;
  for (size_t s = 0; s < p->length; s++) {
    share[s] = -INFINITY;
    if (hidden(p, first + s) || (p->m.causal && first + s > row)) continue;
    share[s] = 0;
    for (size_t j = h * n; j < (h + 1) * n && (p->form & ATTENTION); j++)
      share[s] += q[row * d + j] * k[(first + s) * d + j] / sqrt((double)n);
    most = fmax(most, share[s]);
  }
  for (size_t s = 0; s < p->length; s++) {
    share[s] = share[s] == -INFINITY ? 0 : exp(share[s] - most);
    sum += share[s];
  }
  for (size_t s = 0; s < p->length && sum > 0; s++) share[s] /= sum;
}

/* The mean is one head whose scores are all equal. y: the output, or NULL; the loss sum(dy * y). With `gradients` they
 * are computed too. */
static double reference(const problem *p, double *output, int gradients) {
  const size_t d = p->m.d_model, heads = p->form & ATTENTION ? p->m.heads : 1, n = d / heads, size = p->rows * d;
  const int attention = p->form & ATTENTION;
  double *q = attention ? linear(p, QUERY, p->exact[X]) : NULL, *k = attention ? linear(p, KEY, p->exact[X]) : NULL;
  double *qn = attention ? normed(p, QUERY_NORM, q) : NULL, *kn = attention ? normed(p, KEY_NORM, k) : NULL;
  double *v = linear(p, VALUE, p->exact[X]), *o = zeros(size), *share = zeros(p->length);
  for (size_t row = 0; row < p->rows; row++)
    for (size_t h = 0; h < heads; h++) {
      shares(p, share, qn, kn, row, h);
      for (size_t s = 0; s < p->length; s++)
        for (size_t j = h * n; j < (h + 1) * n && share[s] > 0; j++)
          o[row * d + j] += share[s] * v[(row / p->length * p->length + s) * d + j];
    }
  double *y = linear(p, OUT, o), loss = 0;
  for (size_t i = 0; i < size; i++) loss += y[i] * p->dy[i];
  if (output) memcpy(output, y, size * sizeof(double));

  if (gradients) {
    for (int i = 0; i < TENSORS; i++) memset(p->gradient[i], 0, p->size[i] * sizeof(double));
    p->terms[0] = p->terms[1] = 0;
    double *dy = zeros(size), *dout = zeros(size), *dq = zeros(size), *dk = zeros(size), *dv = zeros(size);
    double *dqn = zeros(size), *dkn = zeros(size), *dshare = zeros(p->length);
    for (size_t i = 0; i < size; i++) dy[i] = p->dy[i];
    linear_gradient(p, OUT, dout, o, dy);
    for (size_t row = 0; row < p->rows; row++)
      for (size_t h = 0; h < heads; h++) {
        const size_t first = row / p->length * p->length;
        double mean = 0;
        shares(p, share, qn, kn, row, h);
        for (size_t s = 0; s < p->length; s++) {
          dshare[s] = 0;
          for (size_t j = h * n; j < (h + 1) * n && share[s] > 0; j++) {
            dshare[s] += dout[row * d + j] * v[(first + s) * d + j];
            dv[(first + s) * d + j] += share[s] * dout[row * d + j];
          }
          mean += share[s] * dshare[s];
        }
        for (size_t s = 0; s < p->length && attention; s++)
          for (size_t j = h * n; j < (h + 1) * n; j++) {
            const double dscore = share[s] * (dshare[s] - mean) / sqrt((double)n);
            dqn[row * d + j] += dscore * kn[(first + s) * d + j];
            dkn[(first + s) * d + j] += dscore * qn[row * d + j];
          }
      }
    linear_gradient(p, VALUE, p->gradient[X], p->exact[X], dv);
    if (attention) {
      normed_gradient(p, QUERY_NORM, dq, q, dqn);
      normed_gradient(p, KEY_NORM, dk, k, dkn);
      linear_gradient(p, QUERY, p->gradient[X], p->exact[X], dq);
      linear_gradient(p, KEY, p->gradient[X], p->exact[X], dk);
    }
    free(dy), free(dout), free(dq), free(dk), free(dv), free(dqn), free(dkn), free(dshare);
  }
  free(q), free(k), free(qn), free(kn), free(v), free(o), free(share), free(y);
  return loss;
}

/* A head whose queries or keys are nearly 0 has a direction that float does not know: such rows are drawn anew. */
static void keep_from_zero(problem *p) {
  const size_t d = p->m.d_model, n = d / p->m.heads;
  for (int again = has(p, QUERY_NORM); again;) {
    double *q = linear(p, QUERY, p->exact[X]), *k = linear(p, KEY, p->exact[X]);
    again = 0;
    for (size_t i = 0; i < p->rows * d; i += n) {
      if (root(q + i, n) > 0.3 && root(k + i, n) > 0.3) continue;
      again = 1;
      for (size_t j = i / d * d; j < (i / d + 1) * d; j++) p->exact[X][j] = p->value[X][j] = (float)test_normal(&state);
    }
    free(q), free(k);
  }
}

static double largest(const double *x, size_t n) {
  double most = 0;
  for (size_t i = 0; i < n; i++) most = fmax(most, fabs(x[i]));
  return most;
}

static void check_formulas(problem *p) {
  const double h = 1e-4;
  for (int i = 0; i < TENSORS; i++)
    for (size_t at = 0; at < p->size[i] && has(p, i); at += p->size[i] / 7 + 1) {
      double *const x = &p->exact[i][at], was = *x;
      *x = was + h;
      const double above = reference(p, NULL, 0);
      *x = was - h;
      const double below = reference(p, NULL, 0);
      *x = was;
      const double error = fabs((above - below) / (2 * h) - p->gradient[i][at]);
      CHECK(error <= 1e-5 * (1 + largest(p->gradient[i], p->size[i])), "form %d: d%s[%zu] of the formula is off by %g",
            p->form, names[i], at, error);
    }
}

/* ---- The kernels ---- */

/* Mean, attention, attention with norms; of the largest element. */
static const char *const kinds[] = {"mean", "attention", "attention with norms"};
static double worst[3][TENSORS], worst_y[3];
static int kind_of(int form) { return form & ATTENTION ? (form & NORM ? 2 : 1) : 0; }

static void forward(const problem *p, float *y, const float *x, float *saved) {
  const size_t size = mixing_workspace_size(&p->m, p->batch, p->length);
  float *workspace = guarded_alloc(size, 1);
  mixing_fwd(y, x, p->mask, saved, workspace, &p->m, p->batch, p->length);
  guarded_free(workspace, size, 1, "workspace");
}

static float *copy_of(const float *x, size_t n, size_t shift) {
  float *y = guarded_alloc(n, shift);
  memcpy(y, x, n * sizeof(float));
  return y;
}

static int same_bits(const float *a, const float *b, size_t n) { return memcmp(a, b, n * sizeof(float)) == 0; }

static void check_forward(const problem *p, double bound) {
  const size_t size = p->size[X], each = p->length * p->m.d_model;
  float *y = guarded_alloc(size, 2), *again = guarded_alloc(size, 0);
  forward(p, y, p->value[X], p->saved);
  double *exact = zeros(size), error = 0;
  reference(p, exact, 0);
  for (size_t i = 0; i < size; i++) error = worse(error, fabs(y[i] - exact[i]));
  error /= fmax(largest(exact, size), 1e-6); /* 0 where nothing is visible and there is no bias */
  CHECK(error <= bound, "form %d, %zu x %zu x %zu, %zu heads: y is off by %g", p->form, p->batch, p->length,
        p->m.d_model, p->m.heads, error);
  worst_y[kind_of(p->form)] = fmax(worst_y[kind_of(p->form)], error);

  forward(p, again, p->value[X], NULL);
  CHECK(same_bits(y, again, size), "form %d: inference differs from training", p->form);
  for (size_t b = 0; b < p->batch && b < 5; b++) {
    problem one = *p;
    one.batch = 1, one.mask = p->mask ? p->mask + b * p->length : NULL;
    forward(&one, again, p->value[X] + b * each, NULL);
    CHECK(same_bits(again, y + b * each, each), "form %d: sequence %zu depends on the others", p->form, b);
  }
  free(exact);
  guarded_free(y, size, 2, "y");
  guarded_free(again, size, 0, "y");
}

/* Twice, the second call adding to what the first one gave; apart from dy and in place of it. */
static void check_backward(const problem *p, double bound) {
  const size_t workspace_size = mixing_bwd_workspace_size(&p->m, p->batch, p->length);
  float *got[TENSORS] = {NULL}, *workspace = guarded_alloc(workspace_size, 3);
  for (int i = 0; i < TENSORS; i++)
    if (has(p, i)) got[i] = guarded_alloc(p->size[i], 2), memset(got[i], 0, p->size[i] * sizeof(float));
  const mixing_gradients g = {got[QUERY],      got[QUERY_BIAS], got[KEY],      got[KEY_BIAS],   got[VALUE],
                              got[VALUE_BIAS], got[OUT],        got[OUT_BIAS], got[QUERY_NORM], got[KEY_NORM]};
  float *in_place = copy_of(p->dy, p->size[X], 1);
  for (int call = 1; call <= 2; call++) {
    float *const dx = call == 1 ? got[X] : in_place;
    mixing_bwd(dx, &g, p->value[X], call == 1 ? p->dy : in_place, p->mask, p->saved, workspace, &p->m, p->batch,
               p->length);
    for (int i = 0; i < TENSORS; i++) {
      if (!has(p, i)) continue;
      const float *const gradient = i == X ? dx : got[i];
      const double times = i == X ? 1 : call;
      double error = 0, size = largest(p->gradient[i], p->size[i]);
      /* What comes through the softmax is a difference of terms as large as those of the value's gradient. */
      if (i == QUERY_NORM || i == KEY_NORM) size = p->terms[i - QUERY_NORM];
      if (i < VALUE || (i >= QUERY_NORM && i < X)) {
        const int value = is_matrix(i) ? VALUE : VALUE_BIAS;
        size = fmax(size, largest(p->gradient[value], p->size[value]));
      }
      for (size_t j = 0; j < p->size[i]; j++) error = worse(error, fabs(gradient[j] - times * p->gradient[i][j]));
      error /= times * fmax(size, 1e-6); /* 0 where nothing is visible */
      CHECK(error <= bound, "form %d, %zu x %zu x %zu, %zu heads, call %d: d%s is off by %g of %g", p->form, p->batch,
            p->length, p->m.d_model, p->m.heads, call, names[i], error, size);
      worst[kind_of(p->form)][i] = fmax(worst[kind_of(p->form)][i], error);
    }
  }
  CHECK(same_bits(got[X], in_place, p->size[X]), "form %d: dx in place of dy", p->form);
  for (int i = 0; i < TENSORS; i++)
    if (has(p, i)) guarded_free(got[i], p->size[i], 2, "gradient");
  guarded_free(in_place, p->size[X], 1, "dx");
  guarded_free(workspace, workspace_size, 3, "workspace");
}

static void test(size_t batch, size_t length, size_t d, size_t heads, int form, int mask) {
  problem p = problem_of(batch, length, d, heads, form, mask);
  keep_from_zero(&p);
  reference(&p, NULL, 1);
  if (p.rows <= 12) check_formulas(&p);
  check_forward(&p, 2e-6);
  check_backward(&p, 2e-6);
  problem_free(&p);
}

/* Scores beyond the largest float, of either sign; their softmax is as good as one of the largest alone. */
static void test_large_scores(int form, int mask) {
  problem p = problem_of(3, 17, 6, 2, form, mask);
  for (size_t i = 0; i < p.size[X]; i++) p.exact[X][i] = p.value[X][i] *= 0x1p70f;
  reference(&p, NULL, 1);
  check_forward(&p, 2e-6);
  check_backward(&p, 2e-6);
  problem_free(&p);
}

/* ---- What must not be felt ---- */

static void test_hidden(int form, int kind, size_t length) {
  static const float bad[] = {NAN, INFINITY, -INFINITY, 3e38f};
  const size_t d = 6, batch = 3;
  problem p = problem_of(batch, length, d, 2, form, kind);
  float *y = guarded_alloc(p.rows * d, 0), *x = copy_of(p.value[X], p.rows * d, 0),
        *again = guarded_alloc(p.rows * d, 0);
  forward(&p, y, x, p.saved);
  for (size_t i = 0; i < p.rows * d; i++)
    if (hidden(&p, i / d)) x[i] = bad[i / d % 4];
  forward(&p, again, x, p.saved);
  for (size_t i = 0; i < p.rows; i++) {
    const size_t first = i / length * length;
    int sees = 0;
    for (size_t s = first; s < first + length; s++) sees |= !hidden(&p, s) && !((form & CAUSAL) && s > i);
    if (!hidden(&p, i) || !(form & ATTENTION) || !sees)
      CHECK(same_bits(again + i * d, y + i * d, d), "form %d, mask %d: row %zu feels a hidden one", form, kind, i);
    for (size_t j = 0; j < d && !sees; j++)
      CHECK(y[i * d + j] == (form & BIAS ? p.value[OUT_BIAS][j] : 0), "form %d: row %zu sees nothing", form, i);
  }
  guarded_free(y, p.rows * d, 0, "y");
  guarded_free(x, p.rows * d, 0, "x");
  guarded_free(again, p.rows * d, 0, "y");
  problem_free(&p);
}

static void test_causal(int form, size_t length) {
  const size_t d = 6, at = 2 * length / 3;
  problem p = problem_of(2, length, d, 3, form | CAUSAL, NO_MASK);
  float *y = guarded_alloc(p.rows * d, 0), *x = copy_of(p.value[X], p.rows * d, 0),
        *again = guarded_alloc(p.rows * d, 0);
  forward(&p, y, x, p.saved);
  static const float later[] = {-7, NAN, INFINITY};
  for (int k = 0; k < 3; k++) {
    x[at * d + 2] = later[k];
    forward(&p, again, x, p.saved);
    CHECK(same_bits(y, again, at * d), "form %d: a row before %zu of %zu feels %g there", form, at, length, later[k]);
    CHECK(!same_bits(y + at * d, again + at * d, d), "form %d: row %zu does not feel itself", form, at);
    CHECK(same_bits(y + length * d, again + length * d, length * d), "form %d: the next sequence feels it", form);
  }
  guarded_free(y, p.rows * d, 0, "y");
  guarded_free(x, p.rows * d, 0, "x");
  guarded_free(again, p.rows * d, 0, "y");
  problem_free(&p);
}

/* The mean of a long sequence far from 0: its error does not grow with the length. */
static void test_long(int form) {
  const size_t length = QUICK ? 500 : 20000, d = 3;
  problem p = problem_of(1, length, d, 1, form, NO_MASK);
  for (size_t i = 0; i < length * d; i++) p.exact[X][i] = p.value[X][i] += 1000;
  float *y = guarded_alloc(length * d, 0);
  forward(&p, y, p.value[X], p.saved);
  double mean[3] = {0}, error = 0;
  for (size_t t = 0; t < length; t++) {
    double v[3], want[3];
    for (size_t j = 0; j < d; j++) mean[j] += (p.exact[X][t * d + j] - mean[j]) / (double)(t + 1);
    if (!(form & CAUSAL) && t + 1 < length) continue;
    for (size_t j = 0; j < d; j++) {
      v[j] = 0;
      for (size_t k = 0; k < d; k++) v[j] += p.exact[VALUE][j * d + k] * mean[k];
    }
    for (size_t j = 0; j < d; j++) {
      want[j] = 0;
      for (size_t k = 0; k < d; k++) want[j] += p.exact[OUT][j * d + k] * v[k];
      error = worse(error, fabs(y[t * d + j] - want[j]));
    }
  }
  CHECK(error <= 1000 * 10 * 0x1p-24, "form %d: the mean over %zu is off by %g", form, length, error);
  guarded_free(y, length * d, 0, "y");
  problem_free(&p);
}

static void test_sizes(void) {
  static const float there;
  mixing m = {.query = &there, .query_norm_weight = &there, .d_model = 768, .heads = 12};
  CHECK(mixing_saved_size(&m, 0, 7) == 0 && mixing_saved_size(&m, 7, 0) == 0, "nothing to keep");
  CHECK(mixing_workspace_size(&m, 0, 7) == 0 && mixing_bwd_workspace_size(&m, 7, 0) == 0, "nothing to do");
  CHECK(mixing_saved_size(&m, 8, 128) == 4 * 8 * 128 * 768, "no probabilities are kept");
  CHECK(mixing_bwd_workspace_size(&m, 1000, 128) == mixing_bwd_workspace_size(&m, 2, 128), "bounded in the batch");
  CHECK(mixing_saved_size(&m, SIZE_MAX / 64, 1) == SIZE_TOO_LARGE, "overflow");
  CHECK(mixing_workspace_size(&m, 1, SIZE_MAX / 64) == SIZE_TOO_LARGE, "overflow");
  CHECK(mixing_bwd_workspace_size(&m, 1, SIZE_MAX / 64) == SIZE_TOO_LARGE, "overflow");
  mixing_fwd(NULL, NULL, NULL, NULL, NULL, &m, 0, 7);
  mixing_fwd(NULL, NULL, NULL, NULL, NULL, &m, 7, 0);
  mixing_bwd(NULL, NULL, NULL, NULL, NULL, NULL, NULL, &m, 0, 7);
  mixing_bwd(NULL, NULL, NULL, NULL, NULL, NULL, NULL, &m, 7, 0);
}

int main(void) {
  static const int forms[] = {
      MEAN, MEAN | CAUSAL, ATTENTION, ATTENTION | CAUSAL, ATTENTION | NORM, ATTENTION | NORM | CAUSAL};
  for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
    for (int mask = 0; mask < MASKS; mask++) {
      const int form = forms[i] | (mask % 2 ? 0 : BIAS), other = forms[i] | (mask % 2 ? BIAS : 0);
      test(3, 1, 5, 1, form, mask);
      test(3, 2, 6, 3, form, mask);
      test(2, 5, 6, 2, other, mask);
      test(3, 17, 6, 1 + (size_t)mask % 3, form, mask);
      test_hidden(form, mask, 17);
      if (form & ATTENTION) test_large_scores(form, mask);
      if (QUICK) continue;
      test(70, 7, 6, 2, other, mask); /* more rows than go together */
      test(2, 120, 8, 4, form, mask);
      if (mask % 2) test(2, 257, 6, 3, other, mask); /* several blocks of queries, of sums */
      test_hidden(form, mask, 130);
    }
  if (!QUICK) {
    test(600, 1, 5, 1, MEAN | BIAS, NO_MASK);
    test(1, 600, 9, 1, ATTENTION | CAUSAL, RANDOM_MASK);
    test(2, 33, 130, 2, ATTENTION | NORM | BIAS, PADDED);
    test(3, 20, 70, 1, MEAN | CAUSAL | BIAS, PADDED);
  }
  for (size_t length = 3; length <= (QUICK ? 17 : 150); length += 14) {
    test_causal(MEAN, length);
    test_causal(ATTENTION | BIAS, length);
    test_causal(ATTENTION | NORM, length);
  }
  test_long(MEAN);
  test_long(MEAN | CAUSAL);
  test_sizes();
  for (int a = 0; a < 3; a++) {
    printf("%s, worst errors, of the largest element: y %.2e", kinds[a], worst_y[a]);
    for (int i = a ? QUERY : VALUE; i < TENSORS; i++)
      if (i == X || i < QUERY_NORM || a == 2) printf(", d%s %.2e", names[i], worst[a][i]);
    printf("\n");
  }
  return test_report("mixing");
}
