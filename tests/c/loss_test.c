/* Losses against the papers' formulas in double precision. The largest errors are printed. */
#include "test.h"

#if defined(AN_TEST_QUICK)
enum { LARGE = 515, ROUNDS = 1 };
#else
enum { LARGE = 50257, ROUNDS = 2 };
#endif

static double worst_term, worst_gradient;

/* ---- Mean squared error ---- */

static void test_mse(void) {
  uint64_t state = 1;
  for (size_t n = 1; n < 40; n++)
    for (int reduction = 0; reduction < 2; reduction++) {
      float *p = guarded_alloc(n, n % 4), *t = guarded_alloc(n, (n + 1) % 4);
      float *terms = guarded_alloc(n, (n + 2) % 4), *gradient = guarded_alloc(n, (n + 3) % 4);
      for (size_t i = 0; i < n; i++) p[i] = (float)test_normal(&state), t[i] = (float)(1 + test_normal(&state));
      double value = NAN, again = NAN, sum = 0;
      CHECK(an_mse(&value, terms, gradient, p, t, reduction, n) == AN_OK, "mse");
      const double divisor = reduction == AN_REDUCTION_MEAN ? (double)n : 1;
      for (size_t i = 0; i < n; i++) {
        const double difference = (double)p[i] - t[i];
        sum += difference * difference;
        CHECK(ulp_error(terms[i], difference * difference) <= 0.51, "term %zu", i);
        CHECK(ulp_error(gradient[i], 2 * difference / divisor) <= 0.51, "gradient %zu", i);
      }
      CHECK(fabs(value - sum / divisor) <= 1e-14 * value, "value %.17g, not %.17g", value, sum / divisor);
      CHECK(an_mse(&again, NULL, NULL, p, t, reduction, n) == AN_OK && again == value, "the value alone");
      float *in_place = guarded_alloc(n, 1);
      for (int in_target = 0; in_target < 2; in_target++) {
        memcpy(in_place, in_target ? t : p, n * sizeof(float));
        an_mse(&again, NULL, in_place, in_target ? p : in_place, in_target ? in_place : t, reduction, n);
        CHECK(memcmp(in_place, gradient, n * sizeof(float)) == 0, "in place of %s",
              in_target ? "target" : "prediction");
      }
      guarded_free(p, n, n % 4, "prediction"), guarded_free(t, n, (n + 1) % 4, "target");
      guarded_free(terms, n, (n + 2) % 4, "terms"), guarded_free(gradient, n, (n + 3) % 4, "gradient");
      guarded_free(in_place, n, 1, "in place");
    }

  const float p[4] = {3e38f, NAN, INFINITY, -3e38f}, t[4] = {-3e38f, 0, 0, -3e38f};
  float gradient[4];
  double value;
  an_mse(&value, NULL, gradient, p, t, AN_REDUCTION_MEAN, 4);
  CHECK(isnan(value) && isnan(gradient[1]) && gradient[2] == INFINITY && gradient[3] == 0, "NaN, infinity");
  CHECK(ulp_error(gradient[0], 0.5 * ((double)p[0] - t[0])) <= 0.51, "the difference overflows a float: %g",
        gradient[0]);
  an_mse(&value, NULL, NULL, p, t, AN_REDUCTION_SUM, 1);
  CHECK(fabs(value / 3.6e77 - 1) < 1e-6, "large terms: %g", value);

  value = 42;
  CHECK(an_mse(&value, NULL, NULL, NULL, NULL, AN_REDUCTION_MEAN, 0) == AN_OK && value == 0, "nothing");
  value = 42;
  CHECK(an_mse(&value, NULL, NULL, p, t, 2, 4) == AN_UNKNOWN_FLAG, "reduction");
  CHECK(an_mse(NULL, NULL, NULL, p, t, 0, 4) == AN_NULL_POINTER, "value");
  CHECK(an_mse(&value, NULL, NULL, NULL, t, 0, 4) == AN_NULL_POINTER, "prediction");
  CHECK(an_mse(&value, NULL, NULL, p, NULL, 0, 4) == AN_NULL_POINTER, "target");
  CHECK(an_mse(&value, NULL, NULL, p, t, 0, SIZE_MAX / 2) == AN_SIZE_OVERFLOW, "bytes");
  CHECK(value == 42, "written");
}

/* ---- Cross-entropy ---- */

typedef struct problem {
  const float *logits, *targets, *weights;
  const int32_t *labels;
  double smoothing;
  int32_t ignore_index;
  int flags;
  size_t rows, classes;
} problem;

static an_status run(double *value, float *terms, float *gradient, const problem *p) {
  return an_cross_entropy(value, terms, gradient, p->logits, p->labels, p->targets, p->weights, p->smoothing,
                          p->ignore_index, p->flags, p->rows, p->classes);
}

/* log p_c of a row of logits. The logarithm is log1p of the others than the largest: relatively exact where one class
 * is nearly certain. */
static void log_probabilities(double *out, const float *x, size_t classes) {
  size_t largest = 0;
  for (size_t c = 1; c < classes; c++)
    if (x[c] > x[largest]) largest = c;
  double others = 0;
  for (size_t c = 0; c < classes; c++)
    if (c != largest) others += exp((double)x[c] - x[largest]);
  for (size_t c = 0; c < classes; c++) out[c] = ((double)x[c] - x[largest]) - log1p(others);
}

/* terms: rows; gradient and its bound's unit, the larger of p_c sum(t w) and t_c w_c: rows * classes. With labels in
 * two parts, as PyTorch has it: (1 - s) nll + s / classes * smooth, each divided by the sum of the labels' weights. */
static double reference(double *terms, double *gradient, double *unit, const problem *p) {
  double *log_p = malloc(p->classes * sizeof(double)), divisor = 0, sum = 0;
  const double s = p->smoothing, share = s / (double)p->classes;
  for (size_t row = 0; row < p->rows; row++) {
    const float *x = p->logits + row * p->classes;
    double *g = gradient + row * p->classes, *u = unit + row * p->classes;
    if (p->flags & AN_LOG_PROBABILITIES)
      for (size_t c = 0; c < p->classes; c++) log_p[c] = x[c];
    else
      log_probabilities(log_p, x, p->classes);
    terms[row] = 0;
    for (size_t c = 0; c < p->classes; c++) g[c] = u[c] = 0;
    if (p->labels && p->labels[row] == p->ignore_index) continue;
    double total = 0;
    if (p->labels) {
      const size_t label = (size_t)p->labels[row];
      const double w = p->weights ? p->weights[label] : 1;
      double smooth = 0;
      for (size_t c = 0; c < p->classes; c++) smooth -= log_p[c] * (p->weights ? p->weights[c] : 1);
      terms[row] = (1 - s) * -log_p[label] * w + (s > 0 ? share * smooth : 0);
      divisor += w;
    } else {
      for (size_t c = 0; c < p->classes; c++) {
        const double t = p->targets[row * p->classes + c] * (1 - s) + share;
        if (t != 0) terms[row] -= t * log_p[c] * (p->weights ? p->weights[c] : 1);
      }
      divisor += 1;
    }
    for (size_t c = 0; c < p->classes; c++) {
      const double sharp = p->labels ? c == (size_t)p->labels[row] : p->targets[row * p->classes + c];
      g[c] = ((1 - s) * sharp + share) * (p->weights ? p->weights[c] : 1);
      total += g[c];
    }
    for (size_t c = 0; c < p->classes; c++) {
      const double own = g[c], others = p->flags & AN_LOG_PROBABILITIES ? 0 : exp(log_p[c]) * total;
      g[c] = others - own;
      u[c] = fmax(others, own);
    }
    sum += terms[row];
  }
  if (p->flags & AN_REDUCTION_SUM) divisor = 1;
  for (size_t i = 0; i < p->rows * p->classes; i++) gradient[i] /= divisor, unit[i] /= divisor;
  free(log_p);
  return sum / divisor;
}

static void check_problem(const problem *p, const char *what) {
  const size_t n = p->rows * p->classes;
  float *terms = guarded_alloc(p->rows, 1), *gradient = guarded_alloc(n, 3), *in_place = guarded_alloc(n, 2);
  double *want_terms = malloc((p->rows + 1) * sizeof(double)), *want = malloc((n + 1) * sizeof(double));
  double *unit = malloc((n + 1) * sizeof(double)), value = 0, again = 0;
  CHECK(run(&value, terms, gradient, p) == AN_OK, "%s", what);
  const double want_value = reference(want_terms, want, unit, p);
  double sum = 0, want_sum = 0;
  for (size_t row = 0; row < p->rows; row++) {
    const double size = fabs(want_terms[row]), error = fabs(terms[row] - want_terms[row]);
    sum += size, want_sum += want_terms[row];
    if (size > 1e-37) worst_term = fmax(worst_term, error / size);
    CHECK(error <= 1e-6 * size + 1e-44, "%s: term %zu is %.9g, not %.17g", what, row, terms[row], want_terms[row]);
  }
  for (size_t i = 0; i < n; i++) {
    const double error = fabs(gradient[i] - want[i]);
    if (unit[i] > 1e-30) worst_gradient = fmax(worst_gradient, error / unit[i]);
    CHECK(error <= 1e-6 * unit[i] + 1e-44, "%s: gradient %zu is %.9g, not %.17g", what, i, gradient[i], want[i]);
  }
  CHECK(isnan(want_value)
            ? isnan(value)
            : fabs(value - want_value) <= 1e-6 * (want_sum == 0 ? sum : sum * fabs(want_value / want_sum)),
        "%s: value %.17g, not %.17g", what, value, want_value);

  /* The value does not depend on what else is asked for, nor the gradient on where it goes. */
  CHECK(run(&again, NULL, NULL, p) == AN_OK, "%s: the value alone", what);
  CHECK(memcmp(&again, &value, sizeof value) == 0, "%s: the value alone is %.17g, not %.17g", what, again, value);
  if (n > 0) memcpy(in_place, p->logits, n * sizeof(float));
  problem q = *p;
  q.logits = in_place;
  CHECK(run(&again, NULL, in_place, &q) == AN_OK && memcmp(&again, &value, sizeof value) == 0, "%s: in place", what);
  CHECK(memcmp(in_place, gradient, n * sizeof(float)) == 0, "%s: gradient in place", what);
  guarded_free(terms, p->rows, 1, "terms"), guarded_free(gradient, n, 3, "gradient");
  guarded_free(in_place, n, 2, "in place");
  free(want_terms), free(want), free(unit);
}

/* Every combination of targets, weights, smoothing, reduction and given log-probabilities. */
static void check_all(const float *logits, size_t rows, size_t classes, uint64_t *state, const char *what) {
  int32_t *labels = malloc((rows + 1) * sizeof *labels);
  float *targets = guarded_alloc(rows * classes, 1), *weights = guarded_alloc(classes, 2);
  for (size_t row = 0; row < rows; row++) {
    labels[row] = row % 4 == 3 ? -100 : (int32_t)(test_next(state) % classes);
    double sum = 0;
    for (size_t c = 0; c < classes; c++)
      sum += targets[row * classes + c] = test_next(state) % 3 ? (float)test_uniform(state) : 0;
    for (size_t c = 0; c < classes && sum > 0; c++) targets[row * classes + c] /= (float)sum;
  }
  for (size_t c = 0; c < classes; c++) weights[c] = (float)(0.1 + test_uniform(state));
  const double smoothing[] = {0, 0.1, 1};
  for (int i = 0; i < 2 * 2 * 3 * 2 * 2; i++) {
    const int dense = i & 1, weighted = i >> 1 & 1, flags = (i >> 2 & 1) | (i >> 3 & 1) * AN_LOG_PROBABILITIES;
    const problem p = {logits,
                       dense ? targets : NULL,
                       weighted ? weights : NULL,
                       dense ? NULL : labels,
                       smoothing[i >> 4],
                       -100,
                       flags,
                       rows,
                       classes};
    char text[120];
    snprintf(text, sizeof text, "%s, %zu x %zu%s%s, smoothing %g, flags %d", what, rows, classes,
             dense ? ", targets" : ", labels", weighted ? ", weights" : "", p.smoothing, flags);
    check_problem(&p, text);
  }
  free(labels), guarded_free(targets, rows * classes, 1, "targets"), guarded_free(weights, classes, 2, "weights");
}

static void test_cross_entropy(void) {
  uint64_t state = 2;
  const size_t sizes[] = {1, 2, 3, 5, 16, 17, 100, 254, 255, 256, 257, 510, 511, 515};
  const double scales[] = {0, 1, 30, 1e4, 3e38};
  for (int round = 0; round < ROUNDS; round++)
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
      for (size_t k = 0; k < sizeof scales / sizeof *scales; k++) {
        const size_t classes = sizes[s], rows = 1 + (s + k + (size_t)round) % 5;
        float *x = guarded_alloc(rows * classes, s % 4);
        for (size_t i = 0; i < rows * classes; i++)
          x[i] = (float)(scales[k] * (scales[k] > 1e30 ? 2 * test_uniform(&state) - 1 : test_normal(&state)));
        /* Terms of 1e38 and more do not fit in a float: the value alone is looked at, below. */
        if (scales[k] < 1e30) check_all(x, rows, classes, &state, "logits");
        guarded_free(x, rows * classes, s % 4, "logits");
      }
  float *x = guarded_alloc(2 * LARGE, 1);
  for (size_t i = 0; i < 2 * LARGE; i++) x[i] = (float)(3 * test_normal(&state));
  const int32_t labels[2] = {LARGE - 1, 3};
  problem p = {x, NULL, NULL, labels, 0, -100, 0, 2, LARGE};
  check_problem(&p, "many classes");
  p.smoothing = 0.1;
  check_problem(&p, "many classes, smoothing");
  guarded_free(x, 2 * LARGE, 1, "logits");
}

/* What is known without a reference. */
static void test_known(void) {
  const float two[2] = {5, 5}, one[3] = {-3, 1e30f, -1e30f};
  const int32_t zero[3] = {0, 0, 0};
  float gradient[3];
  double value;
  an_cross_entropy(&value, NULL, gradient, two, zero, NULL, NULL, 0, -100, 0, 1, 2);
  CHECK(fabs(value - 0.69314718055994531) < 1e-7 && gradient[0] == -0.5f && gradient[1] == 0.5f, "log 2: %.17g", value);
  an_cross_entropy(&value, NULL, gradient, one, zero, NULL, NULL, 0, -100, 0, 3, 1);
  CHECK(value == 0 && gradient[0] == 0 && gradient[1] == 0 && gradient[2] == 0, "one class: %g", value);
  /* Softmax cross-entropy with the softmax itself as target is the entropy, its gradient 0. */
  float x[4] = {logf(1), logf(2), logf(3), logf(4)}, t[4] = {0.1f, 0.2f, 0.3f, 0.4f}, g[4];
  an_cross_entropy(&value, NULL, g, x, NULL, t, NULL, 0, 0, 0, 1, 4);
  CHECK(fabs(value - 1.2798542258336676) < 3e-7, "entropy of 0.1, 0.2, 0.3, 0.4: %.17g", value);
  for (int c = 0; c < 4; c++) CHECK(fabs(g[c]) < 1e-7, "at the minimum: %g", g[c]);
}

static void test_differences(void) {
  enum { ROWS = 3, CLASSES = 7 };
  uint64_t state = 3;
  float x[ROWS * CLASSES], targets[ROWS * CLASSES], weights[CLASSES], gradient[ROWS * CLASSES];
  for (int i = 0; i < ROWS * CLASSES; i++) x[i] = (float)test_normal(&state), targets[i] = (float)test_uniform(&state);
  for (int c = 0; c < CLASSES; c++) weights[c] = (float)(0.2 + test_uniform(&state));
  const int32_t labels[ROWS] = {2, -1, 6};
  for (int dense = 0; dense < 2; dense++)
    for (int flags = 0; flags < 4; flags++) {
      const problem p = {x, dense ? targets : NULL, weights, dense ? NULL : labels, 0.2, -1, flags, ROWS, CLASSES};
      double value, above, below;
      run(&value, NULL, gradient, &p);
      for (int i = 0; i < ROWS * CLASSES; i++) {
        const float kept = x[i], h = 0x1p-6f;
        x[i] = kept + h;
        const double up = (double)x[i] - kept;
        run(&above, NULL, NULL, &p);
        x[i] = kept - h;
        const double step = up + kept - x[i];
        run(&below, NULL, NULL, &p);
        x[i] = kept;
        const double difference = (above - below) / step;
        CHECK(fabs(difference - gradient[i]) < 1e-4, "flags %d, element %d: %g, by differences %g", flags, i,
              gradient[i], difference);
      }
    }
}

static void test_extremes(void) {
  const float inf = INFINITY;
  double value;
  float gradient[6], terms[2];
  const int32_t first[2] = {0, 0}, second[2] = {1, 1};

  const float far[3] = {1e4f, -1e4f, 0};
  an_cross_entropy(&value, NULL, gradient, far, first, NULL, NULL, 0, -100, 0, 1, 3);
  CHECK(value == 0 && gradient[0] == 0 && gradient[1] == 0 && gradient[2] == 0, "certain and right: %g", value);
  an_cross_entropy(&value, NULL, gradient, far, second, NULL, NULL, 0, -100, 0, 1, 3);
  CHECK(value == 2e4 && gradient[0] == 1 && gradient[1] == -1 && gradient[2] == 0, "certain and wrong: %g", value);
  const float near[2] = {40, 0};
  an_cross_entropy(&value, NULL, gradient, near, first, NULL, NULL, 0, -100, 0, 1, 2);
  CHECK(fabs(value / exp(-40) - 1) < 1e-6 && fabs(gradient[1] / exp(-40) - 1) < 1e-6, "nearly certain: %g", value);
  const float huge[2] = {3e38f, -3e38f};
  an_cross_entropy(&value, terms, gradient, huge, second, NULL, NULL, 0, -100, 0, 1, 2);
  CHECK(value == 2 * (double)3e38f && terms[0] == inf && gradient[0] == 1 && gradient[1] == -1, "3e38: %g", value);

  /* 0 log 0 = 0 */
  const float masked[4] = {-inf, 1, 2, -inf}, target[4] = {0, 0.25f, 0.75f, 0}, zero_weight[4] = {0, 1, 1, 0};
  for (int log_given = 0; log_given < 2; log_given++) {
    an_cross_entropy(&value, NULL, gradient, masked, NULL, target, NULL, 0, -100, log_given * AN_LOG_PROBABILITIES, 1,
                     4);
    const double sum = log_given ? 0 : log(exp(1) + exp(2));
    CHECK(fabs(value - (sum - 1.75)) < 1e-6 && gradient[0] == 0 && gradient[3] == 0, "-inf, no target: %g", value);
    an_cross_entropy(&value, NULL, gradient, masked, second, NULL, NULL, 0, -100, log_given * AN_LOG_PROBABILITIES, 1,
                     4);
    CHECK(fabs(value - (sum - 1)) < 1e-6 && gradient[0] == 0, "-inf, another label: %g", value);
    an_cross_entropy(&value, NULL, gradient, masked, second, NULL, zero_weight, 0.5, -100,
                     log_given * AN_LOG_PROBABILITIES, 1, 4);
    CHECK(fabs(value - (0.625 * (sum - 1) + 0.125 * (sum - 2))) < 1e-6, "-inf without weight: %g", value);
    an_cross_entropy(&value, NULL, gradient, masked, first, NULL, NULL, 0, -100, log_given * AN_LOG_PROBABILITIES, 1,
                     4);
    CHECK(value == inf && gradient[0] == -1, "-inf as label: %g", value);
    an_cross_entropy(&value, NULL, gradient, masked, second, NULL, NULL, 0.1, -100, log_given * AN_LOG_PROBABILITIES, 1,
                     4);
    CHECK(value == inf && isfinite(gradient[0]) && isfinite(gradient[1]), "-inf, smoothing: %g", value);
  }

  /* A row that has no loss, and one that has. */
  const float bad[][3] = {{NAN, 0, 1}, {0, NAN, 1},   {0, 1, NAN},       {inf, 0, 0},
                          {0, inf, 0}, {inf, inf, 0}, {-inf, -inf, -inf}};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    for (int dense = 0; dense < 2; dense++) {
      const float x[6] = {bad[i][0], bad[i][1], bad[i][2], 1, 2, 3}, t[6] = {1, 0, 0, 1, 0, 0};
      an_cross_entropy(&value, terms, gradient, x, dense ? NULL : first, dense ? t : NULL, NULL, 0, -100, 0, 2, 3);
      CHECK(isnan(value) && isnan(terms[0]) && fabs(terms[1] - 2.40760596444438) < 1e-6, "row %zu: %g, %g", i, terms[0],
            terms[1]);
      for (int c = 0; c < 3; c++) CHECK(isnan(gradient[c]) && isfinite(gradient[3 + c]), "row %zu, class %d", i, c);
    }
  const float alone[3] = {NAN, inf, -inf};
  for (int i = 0; i < 3; i++) {
    an_cross_entropy(&value, NULL, gradient, alone + i, first, NULL, NULL, 0, -100, 0, 1, 1);
    CHECK(isnan(value) && isnan(gradient[0]), "one class of %g: %g", alone[i], value);
  }
}

static void test_ignored(void) {
  const float x[6] = {1, 2, 3, NAN, INFINITY, 0}, weights[3] = {1, 2, 3};
  const int32_t none[2] = {7, 7}, one[2] = {2, 7}, within[2] = {0, 0};
  float gradient[6], terms[2];
  for (int flags = 0; flags < 4; flags++) {
    double value = 42;
    CHECK(an_cross_entropy(&value, terms, gradient, x, none, NULL, weights, 0.1, 7, flags, 2, 3) == AN_OK, "status");
    CHECK(flags & AN_REDUCTION_SUM ? value == 0 : isnan(value), "all rows ignored: %g", value);
    for (int i = 0; i < 6; i++) CHECK(gradient[i] == 0, "gradient %d of an ignored row", i);
    CHECK(terms[0] == 0 && terms[1] == 0, "terms of ignored rows");
    double whole, part;
    an_cross_entropy(&whole, NULL, NULL, x, one, NULL, weights, 0.1, 7, flags, 1, 3);
    an_cross_entropy(&part, terms, gradient, x, one, NULL, weights, 0.1, 7, flags, 2, 3);
    CHECK(whole == part && isfinite(part), "an ignored row counts: %g, without it %g", part, whole);
    /* ignore_index may be a class. */
    an_cross_entropy(&value, NULL, NULL, x, within, NULL, NULL, 0, 0, flags, 2, 3);
    CHECK(flags & AN_REDUCTION_SUM ? value == 0 : isnan(value), "class 0 ignored: %g", value);
    /* Without rows the same. */
    CHECK(an_cross_entropy(&value, NULL, NULL, NULL, NULL, NULL, NULL, 0, -100, flags, 0, 3) == AN_OK, "no rows");
    CHECK(flags & AN_REDUCTION_SUM ? value == 0 : isnan(value), "no rows: %g", value);
  }
}

static void test_errors(void) {
  const float x[6] = {1, 2, 3, 4, 5, 6}, t[6] = {0, 1, 0, 1, 0, 0};
  const int32_t labels[2] = {0, 2};
  double value = 42;
  float gradient[6] = {42, 42, 42, 42, 42, 42}, terms[2] = {42, 42};
  const float before[6] = {42, 42, 42, 42, 42, 42};
#define REFUSED(status, ...)                                                                                 \
  do {                                                                                                       \
    const an_status got = an_cross_entropy(__VA_ARGS__);                                                     \
    CHECK(got == (status), "got %s for " #__VA_ARGS__, an_status_name(got));                                 \
    CHECK(value == 42 && memcmp(gradient, before, sizeof gradient) == 0 && terms[0] == 42 && terms[1] == 42, \
          "written: " #__VA_ARGS__);                                                                         \
  } while (0)
  const int32_t wrong[][2] = {{0, 3}, {0, -1}, {3, 0}, {0, INT32_MIN}, {INT32_MAX, 0}, {0, -101}};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
    REFUSED(AN_INVALID_VALUE, &value, terms, gradient, x, wrong[i], NULL, NULL, 0, -100, 0, 2, 3);
  REFUSED(AN_UNKNOWN_FLAG, &value, terms, gradient, x, labels, NULL, NULL, 0, -100, 4, 2, 3);
  REFUSED(AN_INVALID_VALUE, &value, terms, gradient, x, labels, NULL, NULL, -0.1, -100, 0, 2, 3);
  REFUSED(AN_INVALID_VALUE, &value, terms, gradient, x, labels, NULL, NULL, 1.1, -100, 0, 2, 3);
  REFUSED(AN_INVALID_VALUE, &value, terms, gradient, x, labels, NULL, NULL, NAN, -100, 0, 2, 3);
  REFUSED(AN_INVALID_VALUE, &value, terms, gradient, x, labels, t, NULL, 0, -100, 0, 2, 3);
  REFUSED(AN_INVALID_SHAPE, &value, terms, gradient, x, labels, NULL, NULL, 0, -100, 0, 2, 0);
  REFUSED(AN_SIZE_OVERFLOW, &value, terms, gradient, x, labels, NULL, NULL, 0, -100, 0, SIZE_MAX / 2, 3);
  REFUSED(AN_SIZE_OVERFLOW, &value, terms, gradient, x, labels, NULL, NULL, 0, -100, 0, SIZE_MAX / 8, 3);
  REFUSED(AN_NULL_POINTER, NULL, terms, gradient, x, labels, NULL, NULL, 0, -100, 0, 2, 3);
  REFUSED(AN_NULL_POINTER, &value, terms, gradient, NULL, labels, NULL, NULL, 0, -100, 0, 2, 3);
  REFUSED(AN_NULL_POINTER, &value, terms, gradient, x, NULL, NULL, NULL, 0, -100, 0, 2, 3);
}

int main(void) {
  test_mse();
  test_cross_entropy();
  test_known();
  test_differences();
  test_extremes();
  test_ignored();
  test_errors();
  printf("cross-entropy: terms within %.2g, gradients within %.2g\n", worst_term, worst_gradient);
  return test_report("loss");
}
