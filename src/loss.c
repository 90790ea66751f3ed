/* Losses: the value in double, the gradient by the prediction in float.
 *
 * Cross-entropy of one row, k_c = t_c w_c, M the largest logit, S = sum of e^(x_c - M):
 *   term      -sum k_c log p_c = log(S) sum(k_c) - sum k_c (x_c - M)
 *   gradient  p_c sum(k_c) - k_c,  p_c = e^(x_c - M) / S
 * In double x_c - M is exact, and neither sum cancels: a term is as good as log(S), which is log1p of the sum of the
 * others than one of the largest. So no log-probabilities are stored, and nothing but a piece of the row on the stack.
 */
#include "random.h"

#include <string.h>

/* Compiled for size: a loss takes little time next to the products that lead to it, and a loop is not to be written out
 * for each argument that may be NULL. */
#define SMALL __attribute__((cold))

SMALL an_status an_mse(double *value, float *terms, float *gradient, const float *prediction, const float *target,
                       int reduction, size_t n) {
  if (reduction != AN_REDUCTION_MEAN && reduction != AN_REDUCTION_SUM) return AN_UNKNOWN_FLAG;
  if (n > SIZE_MAX / sizeof(float)) return AN_SIZE_OVERFLOW;
  if (!value || (n > 0 && (!prediction || !target))) return AN_NULL_POINTER;
  const double divisor = reduction == AN_REDUCTION_MEAN && n > 0 ? (double)n : 1, factor = 2 / divisor;
  double sum = 0;
  for (size_t i = 0; i < n; i++) {
    const double difference = (double)prediction[i] - target[i], term = difference * difference;
    sum += term;
    if (terms) terms[i] = (float)term;
    if (gradient) gradient[i] = (float)(factor * difference);
  }
  *value = sum / divisor;
  return AN_OK;
}

/* ---- Cross-entropy ---- */

/* k_c = (sharp * probability + share) * weight; not 0 for c in first .. last - 1 alone. */
typedef struct row_target {
  const float *probabilities, *weights; /* NULL: the label's is 1; 1 */
  double sharp, share;                  /* 1 - smoothing, smoothing / classes */
  size_t label, classes, first, last;
} row_target;

static double weight(const float *weights, size_t c) { return weights ? weights[c] : 1; }

static double coefficient(const row_target *t, size_t c) {
  const double probability = t->probabilities ? t->probabilities[c] : c == t->label;
  return (t->sharp * probability + t->share) * weight(t->weights, c);
}

/* *total = sum of k_c, *inner = sum of k_c (x_c - max), where 0 times -infinity is 0. */
SMALL static void sum_coefficients(double *total, double *inner, const float *x, double max, const row_target *t) {
  *total = *inner = 0;
  for (size_t c = t->first; c < t->last; c++) {
    const double k = coefficient(t, c);
    *total += k;
    if (k != 0 || x[c] != -__builtin_inff()) *inner += k * (x[c] - max);
  }
}

/* The sum of e^(x_c - max) but for one of the largest; y (may be x, or NULL) gets each e^(x_c - max). By an_softmax_fwd
 * on pieces of the row, each led by the largest: ratios of its results. NaN if the row has a NaN, +infinity, or nothing
 * but -infinity. */
SMALL static double sum_others(float *y, const float *x, size_t largest, size_t classes) {
  enum { PIECE = 255 };
  float piece[1 + PIECE];
  const float max = x[largest];
  double sum = 0;
  for (size_t begin = 0; begin < classes; begin += PIECE) {
    const size_t n = classes - begin < PIECE ? classes - begin : PIECE;
    piece[0] = max;
    for (size_t i = 0; i < n; i++) piece[1 + i] = x[begin + i];
    an_softmax_fwd(piece, piece, 1, 1 + n, 1, 0);
    const double scale = 1.0 / piece[0];
    for (size_t i = 0; i < n; i++) {
      const double e = piece[1 + i] * scale;
      if (begin + i != largest) sum += e;
      if (y) y[begin + i] = (float)e;
    }
  }
  return sum;
}

/* The row's term; its gradient, where wanted, times factor. */
SMALL static double row_cross_entropy(float *gradient, const float *x, const row_target *t, double factor,
                                      int log_given) {
  size_t largest = 0;
  for (size_t c = 1; c < t->classes; c++)
    if (x[c] > x[largest]) largest = c;
  double total, inner, log_sum = 0, scale = 0;
  sum_coefficients(&total, &inner, x, log_given ? 0 : x[largest], t);
  if (!log_given) {
    const double others = sum_others(gradient, x, largest, t->classes);
    log_sum = others == others ? log1p_series(others) : others;
    scale = factor * total / (1 + others);
  }
  for (size_t c = 0; gradient && c < t->classes; c++)
    gradient[c] = (float)((log_given ? 0 : gradient[c] * scale) - factor * coefficient(t, c));
  return log_sum * total - inner;
}

SMALL an_status an_cross_entropy(double *value, float *terms, float *gradient, const float *logits,
                                 const int32_t *labels, const float *targets, const float *weights, double smoothing,
                                 int32_t ignore_index, int flags, size_t rows, size_t classes) {
  if (flags & ~(AN_REDUCTION_SUM | AN_LOG_PROBABILITIES)) return AN_UNKNOWN_FLAG;
  if (!(smoothing >= 0 && smoothing <= 1)) return AN_INVALID_VALUE;
  if (classes == 0) return AN_INVALID_SHAPE;
  size_t bytes;
  if (__builtin_mul_overflow(rows, classes, &bytes) || __builtin_mul_overflow(bytes, sizeof(float), &bytes))
    return AN_SIZE_OVERFLOW;
  if (!value || (rows > 0 && (!logits || (!labels && !targets)))) return AN_NULL_POINTER;
  if (labels && targets) return AN_INVALID_VALUE;
  double divisor = (double)rows;
  if (labels) {
    divisor = 0;
    for (size_t row = 0; row < rows; row++) {
      if (labels[row] == ignore_index) continue;
      if ((size_t)labels[row] >= classes) return AN_INVALID_VALUE; /* below 0 too */
      divisor += weight(weights, (size_t)labels[row]);
    }
  }
  if (flags & AN_REDUCTION_SUM) divisor = 1;

  double sum = 0;
  for (size_t row = 0; row < rows; row++) {
    float *row_gradient = gradient ? gradient + row * classes : NULL;
    double term = 0;
    if (labels && labels[row] == ignore_index) {
      if (gradient) memset(row_gradient, 0, classes * sizeof(float));
    } else {
      row_target t = {.probabilities = targets ? targets + row * classes : NULL,
                      .weights = weights,
                      .sharp = 1 - smoothing,
                      .share = smoothing / (double)classes,
                      .label = labels ? (size_t)labels[row] : 0,
                      .classes = classes,
                      .last = classes};
      if (labels && smoothing == 0) t.first = t.label, t.last = t.label + 1;
      term = row_cross_entropy(row_gradient, logits + row * classes, &t, 1 / divisor, flags & AN_LOG_PROBABILITIES);
    }
    sum += term;
    if (terms) terms[row] = (float)term;
  }
  *value = sum / divisor;
  return AN_OK;
}
