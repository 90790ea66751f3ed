/* Some sequences at a time, about MATMUL_SUM rows: their queries, keys, values and results are kept for backward, the
 * probabilities are not. Those, length x length for every head, exist for QUERIES queries at a time, and backward
 * computes them anew.
 *
 * A position that is no s must not be felt even if it holds NaN: its score is replaced, and since 0 * NaN is NaN its
 * value becomes 0.
 *
 * The mean is taken of x, before the value layer: a row a sequence then goes through the layers, or with `causal` as
 * many as there are positions. Its sums are in double, so their error does not grow with the length.
 */
#include "mixing.h"

#include <string.h>

#include "matmul.h"
#include "norm.h"
#include "tensor.h"

#define EPS 1e-6

/* Rows of a sequence that differ, and so go through the layers. */
static size_t sequence_rows(const mixing *m, size_t length) { return m->query || m->causal ? length : 1; }

/* Sequences at a time. */
static size_t group_of(const mixing *m, size_t batch, size_t length) {
  const size_t rows = sequence_rows(m, length);
  return at_most(batch, rows < MATMUL_SUM ? MATMUL_SUM / rows : 1);
}

/* Matrices of (rows, d_model) that are kept: queries, keys, values, heads; or means, values. */
static size_t kept(const mixing *m) { return m->query ? 4 : 2; }

static int is_valid(const float *mask, size_t t) { return !mask || mask[t] != 0; }

/* ---- Mean ---- */

enum { COLUMNS = 64 }; /* summed side by side */

/* y: the mean of the valid x_s; with `causal` one for every t, over s <= t. 0 where there is none. */
static void average(float *y, const float *x, const float *mask, size_t length, size_t d, int causal) {
  for (size_t c = 0, n; c < d; c += n) {
    n = at_most(d - c, COLUMNS);
    double sum[COLUMNS] = {0};
    size_t count = 0;
    for (size_t t = 0; t < length; t++) {
      if (is_valid(mask, t)) {
        count++;
        for (size_t j = 0; j < n; j++) sum[j] += x[t * d + c + j];
      }
      if (!causal && t + 1 < length) continue;
      float *const row = y + (causal ? t * d : 0) + c;
      for (size_t j = 0; j < n; j++) row[j] = count ? (float)(sum[j] / (double)count) : 0.0f;
    }
  }
}

static void average_gradient(float *dx, const float *dy, const float *mask, size_t length, size_t d, int causal) {
  size_t valid = 0;
  for (size_t t = 0; t < length; t++) valid += (size_t)is_valid(mask, t);
  for (size_t c = 0, n; c < d; c += n) {
    n = at_most(d - c, COLUMNS);
    double sum[COLUMNS] = {0};
    size_t count = valid;
    for (size_t t = length; t-- > 0;) {
      const float *const row = dy + (causal ? t * d : 0) + c;
      if (count && (causal || t + 1 == length))
        for (size_t j = 0; j < n; j++) sum[j] += row[j] / (double)count;
      const int counts = is_valid(mask, t);
      for (size_t j = 0; j < n; j++) dx[t * d + c + j] = counts ? (float)sum[j] : 0.0f;
      if (causal && counts) count--;
    }
  }
}

/* Clears what the value layer has made of no s at all. */
static void clear_empty(float *y, const float *mask, const mixing *m, size_t sequences, size_t length) {
  const size_t rows = sequence_rows(m, length);
  for (size_t i = 0; i < sequences && mask; i++) {
    size_t first = 0;
    while (first < length && mask[i * length + first] == 0) first++;
    const size_t empty = m->causal ? first : first == length;
    memset(y + i * rows * m->d_model, 0, empty * m->d_model * sizeof(float));
  }
}

static void mean_fwd(float *y, const float *x, const float *mask, float *keep, float *workspace, const mixing *m,
                     size_t sequences, size_t length) {
  const size_t d = m->d_model, each = sequence_rows(m, length), rows = sequences * each;
  float *const mean = keep, *const value = mean + rows * d, *const out = m->causal ? y : workspace;
  for (size_t i = 0; i < sequences; i++)
    average(mean + i * each * d, x + i * length * d, mask ? mask + i * length : NULL, length, d, m->causal);
  matmul_rows(value, mean, m->value, m->value_bias, 0, rows, d, d);
  clear_empty(value, mask, m, sequences, length);
  matmul_rows(out, value, m->out, m->out_bias, 0, rows, d, d);
  if (m->causal) return;
  for (size_t i = 0; i < sequences; i++)
    for (size_t t = 0; t < length; t++) memcpy(y + (i * length + t) * d, out + i * d, d * sizeof(float));
}

static void mean_bwd(float *dx, const mixing_gradients *g, const float *dy, const float *mask, const float *keep,
                     float *workspace, const mixing *m, size_t sequences, size_t length) {
  const size_t d = m->d_model, each = sequence_rows(m, length), rows = sequences * each;
  const float *const mean = keep, *const value = mean + rows * d, *dout = dy;
  float *const dvalue = workspace, *const dmean = dvalue + rows * d, *rest = dmean + rows * d;
  if (!m->causal) {
    memset(rest, 0, rows * d * sizeof(float));
    for (size_t i = 0; i < sequences; i++) sum_columns(rest + i * d, dy + i * length * d, d, length, d);
    dout = rest;
    rest += rows * d;
  }
  matmul_gradients(g->out, g->out_bias, value, dout, rows, d, d, rest);
  matmul_rows(dvalue, dout, m->out_bwd, NULL, 0, rows, d, d);
  clear_empty(dvalue, mask, m, sequences, length);
  matmul_gradients(g->value, g->value_bias, mean, dvalue, rows, d, d, rest);
  matmul_rows(dmean, dvalue, m->value_bwd, NULL, 0, rows, d, d);
  for (size_t i = 0; i < sequences; i++)
    average_gradient(dx + i * length * d, dmean + i * each * d, mask ? mask + i * length : NULL, length, d, m->causal);
}

/* ---- Attention ---- */

/* One head of one sequence. Matrices (length, d_head) lie within others, row stride d. */
typedef struct head {
  const float *mask;
  size_t length, d, d_head;
  int causal, whole; /* whole: no value is NaN or infinite, which is felt through a probability of 0 too */
  double scale;
} head;

/* All squares of floats are finite in double, and so is their sum. */
static int is_finite(const float *x, size_t n) { return dot_apply(x, x, n) < __builtin_inf(); }

static head head_of(const mixing *m, const float *mask, const float *v, size_t length) {
  const size_t d_head = m->d_model / m->heads;
  const int whole = !m->causal || is_finite(v, length * m->d_model);
  return (head){mask, length, m->d_model, d_head, m->causal, whole, 1 / __builtin_sqrt((double)d_head)};
}

/* At most MATMUL_ROWS. A key's gradient is a sum of sums over so many: the number is seen in its last bits. */
enum { QUERIES = 120 };
static size_t queries_at_a_time(size_t length) { return at_most(length, QUERIES); }

/* Keys that r queries from t on see, if only in part. */
static size_t seen(const head *h, size_t t, size_t r) { return h->causal ? t + r : h->length; }

static int is_seen(const head *h, size_t t, size_t s) { return is_valid(h->mask, s) && !(h->causal && s > t); }

/* If a score p[s] of query t is not finite: the scores less the largest one, whose softmax is the same. */
static void mend_scores(float *p, const float *q, const float *k, const head *h, size_t t, size_t n) {
  double max = -__builtin_inf();
  for (int pass = 0, passes = 1; pass < passes; pass++)
    for (size_t s = 0; s < n; s++) {
      if (!is_seen(h, t, s)) continue;
      double score = 0;
      for (size_t i = 0; i < h->d_head; i++) score += (double)q[i] * k[s * h->d + i];
      if (!(p[s] - p[s] == 0)) passes = 2;
      if (pass)
        p[s] = (float)((score - max) * h->scale);
      else if (score > max)
        max = score;
    }
}

/* p (r, seen): the probabilities of the queries from t on. keys: k packed, (d_head, length). */
static void probabilities(float *p, const float *q, const float *k, const float *keys, const head *h, size_t t,
                          size_t r) {
  const size_t n = seen(h, t, r);
  matmul(p, n, q + t * h->d, h->d, keys, h->d_head, h->length, 0, NULL, 0, r, h->d_head, n);
  scale_apply(p, p, h->scale, r * n);
  for (size_t i = 0; i < r; i++) {
    float *const row = p + i * n;
    if (!is_finite(row, n)) mend_scores(row, q + (t + i) * h->d, k, h, t + i, n);
    for (size_t s = 0; s < n && h->mask; s++)
      if (h->mask[s] == 0) row[s] = -__builtin_inff();
    for (size_t s = t + i + 1; s < n && h->causal; s++) row[s] = -__builtin_inff();
  }
  an_softmax_fwd(p, p, r, n, 1, AN_SOFTMAX_MASKED_ZERO);
}

static size_t head_fwd_size(const mixing *m, size_t length) {
  const size_t d_head = m->d_model / m->heads;
  return size_plus(size_plus(matmul_packed_size(d_head, length), matmul_packed_size(length, d_head)),
                   size_times(queries_at_a_time(length), length));
}

static void head_fwd(float *o, const float *q, const float *k, const float *v, float *workspace, const head *h) {
  const size_t length = h->length, d = h->d, d_head = h->d_head;
  float *const keys = workspace, *const values = keys + matmul_packed_size(d_head, length);
  float *const p = values + matmul_packed_size(length, d_head);
  matmul_pack(keys, k, 1, d, d_head, length);
  matmul_pack(values, v, d, 1, length, d_head);
  for (size_t t = 0, r; t < length; t += r) {
    r = matmul_part(length - t, QUERIES);
    const size_t n = seen(h, t, r);
    probabilities(p, q, k, keys, h, t, r);
    if (h->whole) matmul(o + t * d, d, p, n, values, length, d_head, 0, NULL, 0, r, n, d_head);
    for (size_t i = 0; i < r && !h->whole; i++)
      matmul(o + (t + i) * d, d, p + i * n, n, values, length, d_head, 0, NULL, 0, 1, t + i + 1, d_head);
  }
}

static size_t head_bwd_size(const mixing *m, size_t length) {
  const size_t d_head = m->d_model / m->heads, queries = queries_at_a_time(length);
  const size_t more = size_plus(matmul_packed_size(d_head, length), size_times(queries, length));
  return size_plus(size_plus(head_fwd_size(m, length), more), matmul_transposed_size(d_head, queries));
}

/* dk and dv are added to, dq is overwritten. */
static void head_bwd(float *dq, float *dk, float *dv, const float *dout, const float *q, const float *k, const float *v,
                     float *workspace, const head *h) {
  const size_t length = h->length, d = h->d, d_head = h->d_head, packed = matmul_packed_size(d_head, length);
  const size_t scores = queries_at_a_time(length) * length;
  float *const keys = workspace, *const values = keys + packed, *const keys_bwd = values + packed;
  float *const p = keys_bwd + matmul_packed_size(length, d_head), *const dp = p + scores, *const rest = dp + scores;
  matmul_pack(keys, k, 1, d, d_head, length);
  matmul_pack(values, v, 1, d, d_head, length);
  matmul_pack(keys_bwd, k, d, 1, length, d_head);
  for (size_t t = 0, r; t < length; t += r) {
    r = matmul_part(length - t, QUERIES);
    const size_t n = seen(h, t, r);
    probabilities(p, q, k, keys, h, t, r);
    matmul_transposed(dv, d, p, n, dout + t * d, d, n, d_head, r, rest);
    matmul(dp, n, dout + t * d, d, values, d_head, length, 0, NULL, 0, r, d_head, n);
    an_softmax_bwd(dp, p, dp, r, n, 1, AN_SOFTMAX_MASKED_ZERO);
    scale_apply(dp, dp, h->scale, r * n);
    matmul(dq + t * d, d, dp, n, keys_bwd, length, d_head, 0, NULL, 0, r, n, d_head);
    matmul_transposed(dk, d, dp, n, q + t * d, d, n, d_head, r, rest);
  }
}

/* Queries or keys as the heads see them: normed, if they are, into *rest, which moves on. */
static const float *normed(float **rest, const float *x, const float *weight, const mixing *m, size_t rows) {
  if (!weight) return x;
  float *const y = *rest;
  *rest += rows * m->d_model;
  norm_apply(y, NULL, NULL, x, weight, NULL, NULL, AN_NORM_rms_norm, EPS, 0, rows * m->heads, m->d_model / m->heads);
  return y;
}
static void normed_gradient(float *dx, float *dweight, const float *x, const float *weight, const mixing *m,
                            size_t rows) {
  if (!weight) return;
  norm_gradient(dx, dweight, NULL, NULL, x, dx, weight, NULL, AN_NORM_rms_norm, EPS, 0, rows * m->heads,
                m->d_model / m->heads);
}

static void attention_fwd(float *y, const float *x, const float *mask, float *keep, float *workspace, const mixing *m,
                          size_t sequences, size_t length) {
  const size_t d = m->d_model, rows = sequences * length, size = rows * d;
  float *const q = keep, *const k = q + size, *const v = k + size, *const o = v + size;
  matmul_rows(q, x, m->query, m->query_bias, 0, rows, d, d);
  matmul_rows(k, x, m->key, m->key_bias, 0, rows, d, d);
  matmul_rows(v, x, m->value, m->value_bias, 0, rows, d, d);
  for (size_t i = 0; i < rows; i++)
    if (!is_valid(mask, i)) memset(v + i * d, 0, d * sizeof(float));
  const float *const qn = normed(&workspace, q, m->query_norm_weight, m, rows);
  const float *const kn = normed(&workspace, k, m->key_norm_weight, m, rows);
  for (size_t i = 0; i < sequences; i++) {
    const head h = head_of(m, mask ? mask + i * length : NULL, v + i * length * d, length);
    for (size_t at = i * length * d, end = at + d; at < end; at += h.d_head)
      head_fwd(o + at, qn + at, kn + at, v + at, workspace, &h);
  }
  matmul_rows(y, o, m->out, m->out_bias, 0, rows, d, d);
}

static void attention_bwd(float *dx, const mixing_gradients *g, const float *x, const float *dy, const float *mask,
                          const float *keep, float *workspace, const mixing *m, size_t sequences, size_t length) {
  const size_t d = m->d_model, rows = sequences * length, size = rows * d;
  const float *const q = keep, *const k = q + size, *const v = k + size, *const o = v + size;
  float *const dout = workspace, *const dq = dout + size, *const dk = dq + size, *const dv = dk + size;
  float *rest = dv + size;
  const float *const qn = normed(&rest, q, m->query_norm_weight, m, rows);
  const float *const kn = normed(&rest, k, m->key_norm_weight, m, rows);

  matmul_gradients(g->out, g->out_bias, o, dy, rows, d, d, rest);
  matmul_rows(dout, dy, m->out_bwd, NULL, 0, rows, d, d);
  memset(dk, 0, 2 * size * sizeof(float)); /* and dv */
  for (size_t i = 0; i < sequences; i++) {
    const head h = head_of(m, mask ? mask + i * length : NULL, v + i * length * d, length);
    for (size_t at = i * length * d, end = at + d; at < end; at += h.d_head)
      head_bwd(dq + at, dk + at, dv + at, dout + at, qn + at, kn + at, v + at, rest, &h);
  }
  normed_gradient(dq, g->query_norm_weight, q, m->query_norm_weight, m, rows);
  normed_gradient(dk, g->key_norm_weight, k, m->key_norm_weight, m, rows);

  matmul_gradients(g->query, g->query_bias, x, dq, rows, d, d, rest);
  matmul_gradients(g->key, g->key_bias, x, dk, rows, d, d, rest);
  matmul_gradients(g->value, g->value_bias, x, dv, rows, d, d, rest);
  matmul_rows(dx, dq, m->query_bwd, NULL, 0, rows, d, d);
  matmul_rows(dx, dk, m->key_bwd, NULL, 1, rows, d, d);
  matmul_rows(dx, dv, m->value_bwd, NULL, 1, rows, d, d);
}

/* ---- Both ---- */

static size_t matrices_size(const mixing *m, size_t count, size_t sequences, size_t length) {
  return size_times(count, size_times(size_times(sequences, sequence_rows(m, length)), m->d_model));
}

size_t mixing_saved_size(const mixing *m, size_t batch, size_t length) {
  return length ? matrices_size(m, kept(m), batch, length) : 0;
}

size_t mixing_workspace_size(const mixing *m, size_t batch, size_t length) {
  if (batch == 0 || length == 0) return 0;
  const size_t more = m->query ? (m->query_norm_weight ? 2 : 0) : (m->causal ? 0 : 1);
  return size_plus(matrices_size(m, kept(m) + more, group_of(m, batch, length), length),
                   m->query ? head_fwd_size(m, length) : 0);
}

size_t mixing_bwd_workspace_size(const mixing *m, size_t batch, size_t length) {
  if (batch == 0 || length == 0) return 0;
  const size_t group = group_of(m, batch, length), more = m->query ? (m->query_norm_weight ? 6 : 4) : m->causal ? 2 : 3;
  const size_t sums = matmul_transposed_size(m->d_model, group * sequence_rows(m, length));
  const size_t heads = m->query ? head_bwd_size(m, length) : 0;
  return size_plus(matrices_size(m, more, group, length), sums > heads ? sums : heads);
}

void mixing_fwd(float *y, const float *x, const float *mask, float *saved, float *workspace, const mixing *m,
                size_t batch, size_t length) {
  if (length == 0) return;
  const size_t group = group_of(m, batch, length), size = length * m->d_model;
  for (size_t b = 0, n; b < batch; b += n) {
    n = at_most(batch - b, group);
    float *const keep = saved ? saved + matrices_size(m, kept(m), b, length) : workspace;
    float *const rest = saved ? workspace : workspace + matrices_size(m, kept(m), group, length);
    const float *const valid = mask ? mask + b * length : NULL;
    if (m->query)
      attention_fwd(y + b * size, x + b * size, valid, keep, rest, m, n, length);
    else
      mean_fwd(y + b * size, x + b * size, valid, keep, rest, m, n, length);
  }
}

void mixing_bwd(float *dx, const mixing_gradients *gradients, const float *x, const float *dy, const float *mask,
                const float *saved, float *workspace, const mixing *m, size_t batch, size_t length) {
  if (length == 0) return;
  const size_t group = group_of(m, batch, length), size = length * m->d_model;
  for (size_t b = 0, n; b < batch; b += n) {
    n = at_most(batch - b, group);
    const float *const keep = saved + matrices_size(m, kept(m), b, length);
    const float *const valid = mask ? mask + b * length : NULL;
    if (m->query)
      attention_bwd(dx + b * size, gradients, x + b * size, dy + b * size, valid, keep, workspace, m, n, length);
    else
      mean_bwd(dx + b * size, gradients, dy + b * size, valid, keep, workspace, m, n, length);
  }
}
