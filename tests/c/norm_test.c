/* The norms against their formulas in double precision, over sizes, forms of weight and bias, masks, and the rows of
 * norm_data.h. */
#include "norm_data.h"

/* Bound of an element's error, whatever the row: in units of 2^-24, where a unit is max(1, |normalised|) * |weight| +
 * |bias|. So 6e-7 for a plain norm. */
static const double BOUND = 10;
static double worst; /* what came nearest to it, printed at the end */

/* got against z * (weight + offset) + bias. weight, bias in double. */
static void check_element(float got, double z, double weight, double bias, const char *what, size_t at) {
  const double want = z * weight + bias, unit = 0x1p-24 * (fmax(1, fabs(z)) * fabs(weight) + fabs(bias));
  if (isnan(want)) {
    CHECK(isnan(got), "%s [%zu]: got %g, want NaN", what, at, got);
    return;
  }
  if (fabs(z) > 3.402e38 || fabs(want) > 3.402e38) { /* an inference's x against statistics that are not its own */
    CHECK(isinf(got) ? (got > 0) == (want > 0) : fabs(want) < 3.403e38, "%s [%zu]: got %g, want %g", what, at, got,
          want);
    return;
  }
  const double error = fabs(got - want) / unit;
  CHECK(error <= BOUND, "%s [%zu]: got %.9g, want %.9g, %.1f units", what, at, got, want, error);
  if (error > worst) worst = error;
}

static const size_t sizes[] = {1,  2,  3,  4,  5,  6,  7,  8,   9,   10,  11,  12,  13,   14,   15,
                               16, 17, 18, 19, 63, 64, 65, 255, 511, 513, 767, 768, 1000, 4096, 66001};

/* ---- Row norms ---- */

static void check_rows(const char *name, size_t norm, double eps, int data, size_t d, size_t rows, int form,
                       double offset, size_t shift, uint64_t *state) {
  char what[160];
  snprintf(what, sizeof what, "%s, %s, d %zu, eps %g, form %d", name, data_names[data], d, eps, form);
  float *x = guarded_alloc(rows * d, shift), *y = guarded_alloc(rows * d, (shift + 1) % 4);
  float *weight = guarded_alloc(d, (shift + 2) % 4), *bias = guarded_alloc(d, (shift + 3) % 4);
  float *mean = guarded_alloc(rows, shift), *rstd = guarded_alloc(rows, shift);
  double *row = malloc(d * sizeof *row);
  fill_affine(weight, bias, d, state);
  for (size_t r = 0; r < rows; r++)
    for (size_t i = 0; i < d; i++) x[r * d + i] = sample(data, i, d, state);

  CHECK(an_norm_fwd(y, mean, rstd, x, form & 1 ? weight : NULL, form & 2 ? bias : NULL, NULL, norm, eps, offset, rows,
                    d) == AN_OK,
        "%s", what);
  for (size_t r = 0; r < rows; r++) {
    for (size_t i = 0; i < d; i++) row[i] = x[r * d + i];
    const statistics s = reference_statistics(name, row, d, eps);
    const double spread = s.factor > 0 ? 1 / s.factor : 0;
    CHECK(fabs(mean[r] - s.mean) <= 0x1p-24 * fabs(s.mean) + BOUND * 0x1p-24 * spread + 0x1p-149,
          "%s: mean %.9g, want %.9g", what, mean[r], s.mean);
    CHECK(s.factor > 3.4e38 ? isinf(rstd[r]) : fabs(rstd[r] - s.factor) <= BOUND * 0x1p-24 * s.factor + 0x1p-149,
          "%s: rstd %.9g, want %.9g", what, rstd[r], s.factor);
    for (size_t i = 0; i < d; i++)
      check_element(y[r * d + i], (row[i] - s.mean) * s.factor, (form & 1 ? weight[i] + offset : 1),
                    form & 2 ? bias[i] : 0, what, i);
  }

  /* The same bits in place, without the statistics, and for a row alone. */
  float *again = guarded_alloc(rows * d, (shift + 2) % 4);
  memcpy(again, x, rows * d * sizeof(float));
  an_norm_fwd(again, NULL, NULL, again, form & 1 ? weight : NULL, form & 2 ? bias : NULL, NULL, norm, eps, offset, rows,
              d);
  CHECK(memcmp(again, y, rows * d * sizeof(float)) == 0, "%s: in place", what);
  for (size_t r = 0; r < rows; r++) {
    an_norm_fwd(again, NULL, rstd, x + r * d, form & 1 ? weight : NULL, form & 2 ? bias : NULL, NULL, norm, eps, offset,
                1, d);
    CHECK(memcmp(again, y + r * d, d * sizeof(float)) == 0, "%s: row %zu alone", what, r);
  }
  free(row);
  guarded_free(again, rows * d, (shift + 2) % 4, what);
  guarded_free(x, rows * d, shift, what), guarded_free(y, rows * d, (shift + 1) % 4, what);
  guarded_free(weight, d, (shift + 2) % 4, what), guarded_free(bias, d, (shift + 3) % 4, what);
  guarded_free(mean, rows, shift, what), guarded_free(rstd, rows, shift, what);
}

static void test_rows(void) {
  uint64_t state = 1;
  for (size_t k = 0; k < sizeof row_norms / sizeof *row_norms; k++) {
    const size_t norm = norm_index(row_norms[k]);
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
      if (QUICK && sizes[s] > 65) continue;
      for (int data = 0; data < DATA_COUNT; data++) {
        if (QUICK && ((size_t)data + s + k) % 2) continue;
        const int form = (int)(s + (size_t)data) % 4;
        const size_t rows = sizes[s] > 5000 ? 1 : sizes[s] > 600 ? 2 : 5;
        check_rows(row_norms[k], norm, row_eps[k], data, sizes[s], rows, form, data % 3 ? 0 : 1, s % 4, &state);
        /* Without eps the answer does not depend on the size of x, so tiny rows are ordinary ones. */
        check_rows(row_norms[k], norm, 0, data, sizes[s], 1, (form + 1) % 4, 0, 0, &state);
        if (data == DATA_NORMAL)
          for (int f = 0; f < 4; f++)
            for (int offset = 0; offset < 2; offset++)
              check_rows(row_norms[k], norm, 1e-12, data, sizes[s], rows, f, offset, (size_t)f, &state);
      }
    }
  }
}

/* dyt and none have no statistics. */
static void test_elementwise(void) {
  uint64_t state = 2;
  for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
    const size_t d = sizes[s], rows = 2;
    if (d > 1000) continue;
    for (int form = 0; form < 4; form++) {
      float *x = guarded_alloc(rows * d, 1), *y = guarded_alloc(rows * d, 2), alpha = 0.75f, mean[2], rstd[2];
      float *weight = guarded_alloc(d, 3), *bias = guarded_alloc(d, 1);
      fill_affine(weight, bias, d, &state);
      for (size_t i = 0; i < rows * d; i++) x[i] = (float)(4 * test_normal(&state));
      for (int with_alpha = 0; with_alpha < 2; with_alpha++) {
        CHECK(an_norm_fwd(y, mean, rstd, x, form & 1 ? weight : NULL, form & 2 ? bias : NULL,
                          with_alpha ? &alpha : NULL, norm_index("dyt"), 0, 1, rows, d) == AN_OK,
              "dyt");
        CHECK(mean[1] == 0 && rstd[1] == 1, "dyt: statistics");
        for (size_t i = 0; i < rows * d; i++)
          check_element(y[i], tanh((with_alpha ? 0.75 : 0.5) * x[i]), form & 1 ? weight[i % d] + 1.0 : 1,
                        form & 2 ? bias[i % d] : 0, "dyt", i);
      }
      CHECK(an_norm_fwd(y, mean, rstd, x, form & 1 ? weight : NULL, form & 2 ? bias : NULL, NULL, norm_index("none"), 0,
                        0, rows, d) == AN_OK,
            "none");
      CHECK(mean[0] == 0 && rstd[0] == 1, "none: statistics");
      for (size_t i = 0; i < rows * d; i++) {
        if (form == 0)
          CHECK(y[i] == x[i], "none: %g for %g", y[i], x[i]);
        else
          check_element(y[i], x[i], form & 1 ? weight[i % d] : 1, form & 2 ? bias[i % d] : 0, "none", i);
      }
      guarded_free(x, rows * d, 1, "x"), guarded_free(y, rows * d, 2, "y");
      guarded_free(weight, d, 3, "weight"), guarded_free(bias, d, 1, "bias");
    }
  }
}

/* Rows without spread give bias, bit for bit, whatever eps; rows of zeros as well. */
static void test_no_spread(void) {
  const float values[] = {0.0f, -0.0f, 0.1f, -0.3f, 1e4f, 1e6f, 123456.7f, 3e38f, -3e38f, 1e-30f, 1e-42f, 1e19f};
  const double eps[] = {0, 1e-12, 1e-6, 1e-5, 1};
  uint64_t state = 3;
  for (size_t k = 0; k < 2; k++)
    for (size_t d = 1; d < 1200; d = d < 20 ? d + 1 : d * 2 - 3)
      for (size_t v = 0; v < sizeof values / sizeof *values; v++)
        for (size_t e = 0; e < sizeof eps / sizeof *eps; e++) {
          float *x = guarded_alloc(d, 0), *y = guarded_alloc(d, 0), *weight = guarded_alloc(d, 0),
                *bias = guarded_alloc(d, 0);
          fill_affine(weight, bias, d, &state);
          for (size_t i = 0; i < d; i++) x[i] = values[v];
          an_norm_fwd(y, NULL, NULL, x, weight, bias, NULL, norm_index(row_norms[k]), eps[e], 0, 1, d);
          CHECK(memcmp(y, bias, d * sizeof(float)) == 0, "%s of %zu times %g, eps %g: %g, bias %g", row_norms[k], d,
                values[v], eps[e], y[0], bias[0]);
          if (values[v] == 0) {
            an_norm_fwd(y, NULL, NULL, x, weight, bias, NULL, norm_index(row_norms[k + 2]), eps[e], 0, 1, d);
            CHECK(memcmp(y, bias, d * sizeof(float)) == 0, "%s of zeros, eps %g: %g", row_norms[k + 2], eps[e], y[0]);
          }
          guarded_free(x, d, 0, "x"), guarded_free(y, d, 0, "y");
          guarded_free(weight, d, 0, "weight"), guarded_free(bias, d, 0, "bias");
        }
}

/* NaN and infinity: the row is NaN, its neighbours have the bits they have without it. */
static void test_specials(void) {
  uint64_t state = 4;
  const float specials[] = {NAN, INFINITY, -INFINITY};
  for (size_t k = 0; k < sizeof row_norms / sizeof *row_norms; k++)
    for (size_t d = 1; d <= 70; d += d < 20 ? 1 : 17)
      for (size_t v = 0; v < 3; v++)
        for (size_t at = 0; at < d; at += 1 + d / 5) {
          float x[3 * 70], y[3 * 70], clean[3 * 70];
          for (size_t i = 0; i < 3 * d; i++) x[i] = (float)test_normal(&state);
          const size_t norm = norm_index(row_norms[k]);
          an_norm_fwd(clean, NULL, NULL, x, NULL, NULL, NULL, norm, 1e-5, 0, 3, d);
          x[d + at] = specials[v];
          an_norm_fwd(y, NULL, NULL, x, NULL, NULL, NULL, norm, 1e-5, 0, 3, d);
          for (size_t i = 0; i < d; i++)
            CHECK(isnan(y[d + i]), "%s, %g at %zu: element %zu is %g", row_norms[k], specials[v], at, i, y[d + i]);
          CHECK(memcmp(y, clean, d * sizeof(float)) == 0 && memcmp(y + 2 * d, clean + 2 * d, d * sizeof(float)) == 0,
                "%s, %g: the neighbours changed", row_norms[k], specials[v]);
        }
  float x[5] = {NAN, INFINITY, -INFINITY, 1e30f, -1e-30f}, y[5];
  an_norm_fwd(y, NULL, NULL, x, NULL, NULL, NULL, norm_index("dyt"), 0, 0, 1, 5);
  CHECK(isnan(y[0]) && y[1] == 1 && y[2] == -1 && y[3] == 1 && y[4] == -5e-31f, "dyt: %g %g %g %g %g", y[0], y[1], y[2],
        y[3], y[4]);
}

/* Fused addition and norm: the bits of one after the other, sum in place of x or of the residual. */
static void test_add_norm(void) {
  uint64_t state = 5;
  for (size_t norm = 0; norm < an_norm_count(); norm++) {
    if (strcmp(an_norm_kind(norm), "row") != 0) continue;
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
      const size_t d = sizes[s], rows = 3, n = rows * d, bytes = n * sizeof(float);
      if (d > 1000) continue;
      float *x = guarded_alloc(n, 1), *residual = guarded_alloc(n, 2), *sum = guarded_alloc(n, 3),
            *y = guarded_alloc(n, 0), *want_sum = guarded_alloc(n, 0), *want = guarded_alloc(n, 0);
      float *weight = guarded_alloc(d, 0), *bias = guarded_alloc(d, 0), mean[3], rstd[3], want_mean[3], want_rstd[3];
      const double alpha = s % 2 ? 1 : 0.81;
      fill_affine(weight, bias, d, &state);
      for (size_t i = 0; i < n; i++)
        x[i] = sample((int)s % DATA_COUNT, i % d, d, &state), residual[i] = (float)test_normal(&state);
      CHECK(an_add_fwd(want_sum, x, residual, alpha, n) == AN_OK, "add");
      CHECK(an_norm_fwd(want, want_mean, want_rstd, want_sum, weight, bias, NULL, norm, 1e-5, 0, rows, d) == AN_OK,
            "norm");
      CHECK(
          an_add_norm_fwd(sum, y, mean, rstd, x, residual, weight, bias, NULL, norm, alpha, 1e-5, 0, rows, d) == AN_OK,
          "add_norm");
      CHECK(memcmp(sum, want_sum, bytes) == 0, "add_norm, %s, d %zu: sum", an_norm_name(norm), d);
      CHECK(memcmp(y, want, bytes) == 0, "add_norm, %s, d %zu: y", an_norm_name(norm), d);
      CHECK(memcmp(mean, want_mean, sizeof mean) == 0 && memcmp(rstd, want_rstd, sizeof rstd) == 0,
            "add_norm, %s, d %zu: statistics", an_norm_name(norm), d);
      for (int in_residual = 0; in_residual < 2; in_residual++) {
        float *in_place = in_residual ? residual : x;
        memcpy(sum, in_place, bytes);
        CHECK(an_add_norm_fwd(sum, y, NULL, NULL, in_residual ? x : sum, in_residual ? sum : residual, weight, bias,
                              NULL, norm, alpha, 1e-5, 0, rows, d) == AN_OK,
              "add_norm");
        CHECK(memcmp(sum, want_sum, bytes) == 0 && memcmp(y, want, bytes) == 0, "add_norm, %s, d %zu: in place of %s",
              an_norm_name(norm), d, in_residual ? "residual" : "x");
      }
      guarded_free(x, n, 1, "x"), guarded_free(residual, n, 2, "residual"), guarded_free(sum, n, 3, "sum");
      guarded_free(y, n, 0, "y"), guarded_free(want_sum, n, 0, "sum"), guarded_free(want, n, 0, "y");
      guarded_free(weight, d, 0, "weight"), guarded_free(bias, d, 0, "bias");
    }
  }
}

/* ---- Norms over channels ---- */

/* set[i]: the number, below count, of the set of elements that x[i] belongs to. */
static statistics *set_statistics(const float *x, const size_t *set, size_t n, size_t count, double eps) {
  statistics *s = malloc(count * sizeof *s);
  double *members = malloc(n * sizeof *members);
  size_t *end = calloc(count + 1, sizeof *end); /* set k: members[end[k - 1]..end[k]) */
  for (size_t i = 0; i < n; i++) end[set[i] + 1]++;
  for (size_t k = 0; k < count; k++) end[k + 1] += end[k];
  for (size_t i = 0; i < n; i++) members[end[set[i]]++] = x[i];
  for (size_t k = 0; k < count; k++) {
    const size_t begin = k ? end[k - 1] : 0;
    s[k] = reference_statistics("batch_norm", members + begin, end[k] - begin, eps);
  }
  free(members), free(end);
  return s;
}

static void check_saved(const float *mean, const float *rstd, const statistics *s, size_t count, const char *what) {
  for (size_t k = 0; k < count; k++) {
    const double spread = s[k].factor > 0 ? 1 / s[k].factor : 0;
    CHECK(fabs(mean[k] - s[k].mean) <= 0x1p-24 * fabs(s[k].mean) + BOUND * 0x1p-24 * spread + 0x1p-149,
          "%s: mean %g, want %g", what, mean[k], s[k].mean);
    CHECK(s[k].factor > 3.4e38 || fabs(rstd[k] - s[k].factor) <= BOUND * 0x1p-24 * s[k].factor + 0x1p-149,
          "%s: rstd %g, want %g", what, rstd[k], s[k].factor);
  }
}

static void check_batch(int data, size_t outer, size_t channels, size_t inner, int form, uint64_t *state) {
  char what[160];
  snprintf(what, sizeof what, "batch_norm (%zu, %zu, %zu), %s, form %d", outer, channels, inner, data_names[data],
           form);
  const size_t n = outer * channels * inner;
  const double eps = data % 2 ? 1e-5 : 1e-12, offset = form == 1 ? 1 : 0;
  float *x = guarded_alloc(n, 1), *y = guarded_alloc(n, 2), *weight = guarded_alloc(channels, 3),
        *bias = guarded_alloc(channels, 1), *mean = guarded_alloc(channels, 2), *rstd = guarded_alloc(channels, 3),
        *running_mean = guarded_alloc(channels, 1), *running_var = guarded_alloc(channels, 2),
        *old_mean = guarded_alloc(channels, 0), *old_var = guarded_alloc(channels, 0);
  size_t *set = malloc(n * sizeof *set);
  fill_affine(weight, bias, channels, state);
  for (size_t i = 0; i < n; i++) {
    set[i] = i / inner % channels;
    const size_t place = i / (inner * channels) * inner + i % inner;
    const int mixed = form == 3 ? (data + (int)set[i]) % DATA_COUNT : data; /* neighbours of another kind */
    x[i] = sample(mixed, place, outer * inner, state);
  }
  const float *const w = form & 1 ? weight : NULL, *const b = form & 2 ? bias : NULL;
  for (size_t c = 0; c < channels; c++) {
    running_mean[c] = old_mean[c] = (float)test_normal(state);
    running_var[c] = old_var[c] = (float)(0.5 + test_uniform(state));
  }

  const double momentum = 0.25;
  const int biased = form == 2;
  CHECK(an_batch_norm_fwd(y, mean, rstd, running_mean, running_var, x, w, b, NULL, eps, momentum, offset, 1, biased,
                          outer, channels, inner) == AN_OK,
        "%s", what);
  statistics *s = set_statistics(x, set, n, channels, eps);
  check_saved(mean, rstd, s, channels, what);
  for (size_t i = 0; i < n; i++)
    check_element(y[i], (x[i] - s[set[i]].mean) * s[set[i]].factor, w ? w[set[i]] + offset : 1, b ? b[set[i]] : 0, what,
                  i);
  for (size_t c = 0; c < channels; c++) {
    const double m = (double)(outer * inner), var = s[c].factor > 0 ? 1 / s[c].factor / s[c].factor - eps : 0;
    const double want_mean = 0.75 * old_mean[c] + 0.25 * s[c].mean;
    const double want_var = 0.75 * old_var[c] + 0.25 * var * (biased || m == 1 ? 1 : m / (m - 1));
    const double spread = s[c].factor > 0 ? 1 / s[c].factor : 0;
    CHECK(fabs(running_mean[c] - want_mean) <= 1e-6 * (fabs(want_mean) + 1 + spread), "%s: running mean %g, want %g",
          what, running_mean[c], want_mean);
    CHECK(want_var > 3.4e38 ? isinf(running_var[c]) : fabs(running_var[c] - want_var) <= 2e-6 * want_var + 1e-11,
          "%s: running var %g, want %g", what, running_var[c], want_var);
  }
  float *again = guarded_alloc(n, 3);
  memcpy(again, x, n * sizeof(float));
  an_batch_norm_fwd(again, NULL, NULL, NULL, NULL, again, w, b, NULL, eps, momentum, offset, 1, biased, outer, channels,
                    inner);
  CHECK(memcmp(again, y, n * sizeof(float)) == 0, "%s: in place, without statistics", what);

  /* Inference: the given statistics, which stay. */
  CHECK(an_batch_norm_fwd(y, mean, rstd, old_mean, old_var, x, w, b, NULL, eps, momentum, offset, 0, biased, outer,
                          channels, inner) == AN_OK,
        "%s", what);
  for (size_t c = 0; c < channels; c++)
    CHECK(mean[c] == old_mean[c] && fabs(rstd[c] * sqrt(old_var[c] + eps) - 1) < 1e-6, "%s: used statistics", what);
  for (size_t i = 0; i < n; i++) {
    const size_t c = set[i];
    check_element(y[i], (x[i] - (double)old_mean[c]) / sqrt(old_var[c] + eps), w ? w[c] + offset : 1, b ? b[c] : 0,
                  what, i);
  }
  free(s), free(set);
  guarded_free(x, n, 1, what), guarded_free(y, n, 2, what), guarded_free(again, n, 3, what);
  guarded_free(weight, channels, 3, what), guarded_free(bias, channels, 1, what);
  guarded_free(mean, channels, 2, what), guarded_free(rstd, channels, 3, what);
  guarded_free(running_mean, channels, 1, what), guarded_free(running_var, channels, 2, what);
  guarded_free(old_mean, channels, 0, what), guarded_free(old_var, channels, 0, what);
}

static void test_batch(void) {
  uint64_t state = 6;
  const size_t outer[] = {1, 2, 7, 40}, channels[] = {1, 3, 21, 530}, inner[] = {1, 2, 5, 33};
  for (int data = 0; data < DATA_COUNT; data++)
    for (size_t o = 0; o < (QUICK ? 3 : 4); o++)
      for (size_t c = 0; c < (QUICK ? 3 : 4); c++)
        for (size_t i = 0; i < (c == 3 ? 2 : 4); i++)
          check_batch(data, outer[o], channels[c], inner[i], (int)(o + c + i + (size_t)data) % 4, &state);
}

/* Padding: NaN in x counts for nothing, y is 0 there, and what is left is as if it were all. */
static void check_mask(int data, size_t outer, size_t channels, size_t inner, double share, int training,
                       uint64_t *state) {
  char what[160];
  snprintf(what, sizeof what, "batch_norm (%zu, %zu, %zu), %s, %g of it, training %d", outer, channels, inner,
           data_names[data], share, training);
  const size_t positions = outer * inner, n = positions * channels;
  float *x = guarded_alloc(n, 1), *y = guarded_alloc(n, 2), *again = guarded_alloc(n, 0),
        *mask = guarded_alloc(positions, 3), *weight = guarded_alloc(channels, 0), *bias = guarded_alloc(channels, 1);
  float *saved = guarded_alloc(4 * channels, 0), *want_saved = guarded_alloc(4 * channels, 0);
  float *const packed = guarded_alloc(n, 1); /* the valid positions alone, (valid, channels) */
  size_t valid = 0;
  fill_affine(weight, bias, channels, state);
  for (size_t i = 0; i < positions; i++)
    mask[i] = test_uniform(state) < share ? (float)(1 + i % 3) : 0, valid += mask[i] != 0;
  for (size_t i = 0; i < n; i++) x[i] = sample(data, i / (inner * channels) * inner + i % inner, positions, state);
  for (size_t p = 0, k = 0; p < positions; p++) {
    for (size_t c = 0; c < channels; c++) {
      float *at = x + (p / inner * channels + c) * inner + p % inner;
      if (mask[p] != 0)
        packed[k * channels + c] = *at;
      else
        *at = p % 2 ? NAN : INFINITY;
    }
    k += mask[p] != 0;
  }
  for (size_t i = 0; i < 4 * channels; i++) saved[i] = want_saved[i] = (float)(0.5 + test_uniform(state));
#define SAVED(s) s, s + channels, s + 2 * channels, s + 3 * channels
  const double eps = data % 2 ? 1e-5 : 1e-12;
  CHECK(an_batch_norm_fwd(y, SAVED(saved), x, weight, bias, mask, eps, 0.25, 0, training, 0, outer, channels, inner) ==
            AN_OK,
        "%s", what);
  an_batch_norm_fwd(packed, SAVED(want_saved), packed, weight, bias, NULL, eps, 0.25, 0, training, 0, valid, channels,
                    1);
  for (size_t p = 0, k = 0; p < positions; p++) {
    for (size_t c = 0; c < channels; c++) {
      const float got = y[(p / inner * channels + c) * inner + p % inner], want = packed[k * channels + c];
      if (mask[p] == 0)
        CHECK(bits_from_float(got) == 0, "%s: %g under the mask", what, got);
      else if (inner == 1)
        CHECK(bits_from_float(got) == bits_from_float(want), "%s: %g, of the valid rows alone %g", what, got, want);
      else /* other sums of the same elements, each within the bound */
        check_element(got, (want - (double)bias[c]) / weight[c], weight[c], bias[c], what, c);
    }
    k += mask[p] != 0;
  }
  for (size_t i = 0; i < 4 * channels; i++) {
    if (inner == 1 || valid == 0)
      CHECK(memcmp(saved + i, want_saved + i, sizeof(float)) == 0, "%s: statistics", what);
    else if (i % channels == 0 && data == DATA_NORMAL)
      CHECK(fabsf(saved[i] - want_saved[i]) <= 2e-6f * (1 + fabsf(want_saved[i])), "%s: %g, %g", what, saved[i],
            want_saved[i]);
  }
  memcpy(again, x, n * sizeof(float));
  an_batch_norm_fwd(again, NULL, NULL, training ? NULL : want_saved + 2 * channels,
                    training ? NULL : want_saved + 3 * channels, again, weight, bias, mask, eps, 0.25, 0, training, 0,
                    outer, channels, inner);
  CHECK(memcmp(again, y, n * sizeof(float)) == 0, "%s: in place", what);
  guarded_free(x, n, 1, what), guarded_free(y, n, 2, what), guarded_free(again, n, 0, what);
  guarded_free(mask, positions, 3, what), guarded_free(weight, channels, 0, what),
      guarded_free(bias, channels, 1, what);
  guarded_free(saved, 4 * channels, 0, what), guarded_free(want_saved, 4 * channels, 0, what);
  guarded_free(packed, n, 1, what);
}

static void test_mask(void) {
  uint64_t state = 9;
  const size_t outer[] = {1, 2, 7, 40}, channels[] = {1, 3, 21, 259}, inner[] = {1, 2, 5, 33};
  const double share[] = {0, 0.2, 0.7, 1};
  for (int data = 0; data <= DATA_LAST_BIT; data++)
    for (size_t o = 0; o < (QUICK ? 3 : 4); o++)
      for (size_t c = 0; c < (QUICK ? 3 : 4); c++)
        for (size_t i = 0; i < (c == 3 ? 2 : 4); i++)
          for (size_t k = 0; k < 4; k++)
            if (inner[i] == 1 || data < DATA_STEP)
              check_mask(data, outer[o], channels[c], inner[i], share[k], (int)(o + c + i + k) % 3 != 0, &state);
}

static void check_group(int data, size_t groups, size_t batch, size_t length, size_t channels, size_t inner, int form,
                        uint64_t *state) {
  char what[160];
  snprintf(what, sizeof what, "group_norm %zu of (%zu, %zu, %zu, %zu), %s, form %d", groups, batch, length, channels,
           inner, data_names[data], form);
  const size_t n = batch * length * channels * inner, size = channels / groups, members = length * size * inner;
  const double eps = data % 2 ? 1e-5 : 1e-12, offset = form == 3 ? 1 : 0;
  float *x = guarded_alloc(n, 3), *y = guarded_alloc(n, 1), *again = guarded_alloc(n, 2),
        *weight = guarded_alloc(channels, 1), *bias = guarded_alloc(channels, 2),
        *mean = guarded_alloc(batch * groups, 1), *rstd = guarded_alloc(batch * groups, 2);
  size_t *set = malloc(n * sizeof *set);
  fill_affine(weight, bias, channels, state);
  for (size_t i = 0; i < n; i++) {
    const size_t c = i / inner % channels, b = i / (inner * channels * length), l = i / (inner * channels) % length;
    set[i] = b * groups + c / size;
    x[i] = sample(data, (l * size + c % size) * inner + i % inner, members, state);
  }
  const float *const w = form & 1 ? weight : NULL, *const b = form & 2 ? bias : NULL;
  CHECK(an_group_norm_fwd(y, mean, rstd, x, w, b, eps, offset, groups, batch, length, channels, inner) == AN_OK, "%s",
        what);
  statistics *s = set_statistics(x, set, n, batch * groups, eps);
  check_saved(mean, rstd, s, batch * groups, what);
  for (size_t i = 0; i < n; i++) {
    const size_t c = i / inner % channels;
    check_element(y[i], (x[i] - s[set[i]].mean) * s[set[i]].factor, w ? w[c] + offset : 1, b ? b[c] : 0, what, i);
  }
  memcpy(again, x, n * sizeof(float));
  an_group_norm_fwd(again, NULL, NULL, again, w, b, eps, offset, groups, batch, length, channels, inner);
  CHECK(memcmp(again, y, n * sizeof(float)) == 0, "%s: in place, without statistics", what);
  free(s), free(set);
  guarded_free(x, n, 3, what), guarded_free(y, n, 1, what), guarded_free(again, n, 2, what);
  guarded_free(weight, channels, 1, what), guarded_free(bias, channels, 2, what);
  guarded_free(mean, batch * groups, 1, what), guarded_free(rstd, batch * groups, 2, what);
}

static void test_group(void) {
  uint64_t state = 7;
  const size_t length[] = {1, 3, 10}, channels[] = {1, 4, 6, 48}, inner[] = {1, 2, 9};
  for (int data = 0; data < DATA_COUNT; data++)
    for (size_t batch = 1; batch <= 2; batch++)
      for (size_t l = 0; l < 3; l++)
        for (size_t c = 0; c < (QUICK ? 3 : 4); c++)
          for (size_t i = 0; i < 3; i++)
            for (size_t groups = 1; groups <= channels[c]; groups++)
              if (channels[c] % groups == 0 && (groups < 4 || groups > 23))
                check_group(data, groups, batch, length[l], channels[c], inner[i], (int)(l + c + i + groups) % 4,
                            &state);
}

/* Channels without spread give bias exactly; NaN and infinity stay in their channel or group. */
static void test_channels_exact(void) {
  float x[2 * 5 * 3], y[2 * 5 * 3], bias[5] = {1, -2, 0.25f, 3, 0.1f};
  for (int layout = 0; layout < 2; layout++) {
    const size_t outer = layout ? 6 : 2, inner = layout ? 1 : 3;
    for (size_t i = 0; i < 30; i++) x[i] = 0.1f * (float)(1 + i / inner % 5);
    CHECK(an_batch_norm_fwd(y, NULL, NULL, NULL, NULL, x, NULL, bias, NULL, 1e-12, 0.1, 0, 1, 0, outer, 5, inner) ==
              AN_OK,
          "constant channels");
    for (size_t i = 0; i < 30; i++) CHECK(y[i] == bias[i / inner % 5], "constant channel: %g", y[i]);
    CHECK(an_batch_norm_fwd(y, NULL, NULL, NULL, NULL, x, NULL, bias, NULL, 0, 0.1, 0, 1, 0, outer, 5, inner) == AN_OK,
          "constant channels");
    for (size_t i = 0; i < 30; i++) CHECK(y[i] == bias[i / inner % 5], "constant channel, eps 0: %g", y[i]);
    uint64_t state = 8;
    for (size_t i = 0; i < 30; i++) x[i] = (float)test_normal(&state);
    x[2 * inner] = layout ? NAN : INFINITY; /* channel 2 of the first entry */
    an_batch_norm_fwd(y, NULL, NULL, NULL, NULL, x, NULL, bias, NULL, 1e-5, 0.1, 0, 1, 0, outer, 5, inner);
    for (size_t i = 0; i < 30; i++) CHECK(isnan(y[i]) == (i / inner % 5 == 2), "NaN outside its channel, or not in it");
    an_group_norm_fwd(y, NULL, NULL, x, NULL, bias, 1e-5, 0, 5, 2, outer / 2, 5, inner);
    for (size_t i = 0; i < 30; i++)
      CHECK(isnan(y[i]) == (i < 15 && i / inner % 5 == 2), "NaN outside its instance, or not in it");
  }
  /* Inference divides by what it is given. */
  float one = 2, mean = 1, var = 0;
  an_batch_norm_fwd(&one, NULL, NULL, &mean, &var, &one, NULL, NULL, NULL, 0, 0.1, 0, 0, 0, 1, 1, 1);
  CHECK(isinf(one), "given variance 0, eps 0: %g", one);
}

/* ---- Errors ---- */

static void test_errors(void) {
  enum { N = 12 };
  float x[N] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, out[6][N], before[6][N], running[2][N], running_before[2][N];
  for (int i = 0; i < 6; i++)
    for (int j = 0; j < N; j++) out[i][j] = before[i][j] = 42;
  for (int i = 0; i < N; i++) running[0][i] = running[1][i] = running_before[0][i] = running_before[1][i] = 1;
  float *const y = out[0], *const mean = out[1], *const rstd = out[2], *const sum = out[3];
  const size_t huge = SIZE_MAX / 2, ln = norm_index("layer_norm"), bn = norm_index("batch_norm");
#define REFUSED(status, call)                                                                           \
  do {                                                                                                  \
    const an_status got = call;                                                                         \
    CHECK(got == (status), "got %s for " #call, an_status_name(got));                                   \
    CHECK(memcmp(out, before, sizeof out) == 0 && memcmp(running, running_before, sizeof running) == 0, \
          "written by " #call);                                                                         \
  } while (0)

#define NORM(y, x, norm, eps, offset, rows, d) \
  an_norm_fwd(y, mean, rstd, x, NULL, NULL, NULL, norm, eps, offset, rows, d)
  REFUSED(AN_UNKNOWN_OP, NORM(y, x, an_norm_count(), NAN, 0, 0, 0));
  REFUSED(AN_UNKNOWN_OP, NORM(y, x, SIZE_MAX, 1e-5, 0, 3, 4));
  REFUSED(AN_UNKNOWN_OP, NORM(y, x, bn, 1e-5, 0, 3, 4)); /* not a row norm */
  REFUSED(AN_INVALID_VALUE, NORM(y, x, ln, NAN, 0, 3, 0));
  REFUSED(AN_INVALID_VALUE, NORM(y, x, ln, -1e-9, 0, 3, 4));
  REFUSED(AN_INVALID_VALUE, NORM(y, x, ln, INFINITY, 0, 3, 4));
  REFUSED(AN_INVALID_VALUE, NORM(y, x, ln, 1e-5, NAN, 3, 4));
  REFUSED(AN_INVALID_VALUE, NORM(y, x, ln, 1e-5, 1e39, 3, 4));
  REFUSED(AN_INVALID_SHAPE, NORM(y, x, ln, 1e-5, 0, 3, 0));
  REFUSED(AN_INVALID_SHAPE, NORM(NULL, NULL, ln, 1e-5, 0, 0, 0));
  REFUSED(AN_SIZE_OVERFLOW, NORM(NULL, NULL, ln, 1e-5, 0, huge, 4));
  REFUSED(AN_SIZE_OVERFLOW, NORM(y, x, ln, 1e-5, 0, 1, huge));
  REFUSED(AN_NULL_POINTER, NORM(NULL, x, ln, 1e-5, 0, 3, 4));
  REFUSED(AN_NULL_POINTER, NORM(y, NULL, ln, 1e-5, 0, 3, 4));
  REFUSED(AN_OK, NORM(NULL, NULL, ln, 1e-5, 0, 0, 4));
  REFUSED(AN_OK, NORM(y, x, ln, 1e-5, 0, 0, 4));

#define ADD_NORM(sum, y, x, residual, norm, alpha, eps, rows, d) \
  an_add_norm_fwd(sum, y, mean, rstd, x, residual, NULL, NULL, NULL, norm, alpha, eps, 0, rows, d)
  REFUSED(AN_UNKNOWN_OP, ADD_NORM(sum, y, x, x, an_norm_count(), NAN, 1e-5, 3, 4));
  REFUSED(AN_UNKNOWN_OP, ADD_NORM(sum, y, x, x, bn, 1, 1e-5, 3, 4));
  REFUSED(AN_INVALID_VALUE, ADD_NORM(sum, y, x, x, ln, NAN, 1e-5, 3, 4));
  REFUSED(AN_INVALID_VALUE, ADD_NORM(sum, y, x, x, ln, 1, -1, 3, 0));
  REFUSED(AN_INVALID_SHAPE, ADD_NORM(sum, y, x, x, ln, 1, 1e-5, 3, 0));
  REFUSED(AN_SIZE_OVERFLOW, ADD_NORM(sum, y, x, x, ln, 1, 1e-5, huge, 4));
  REFUSED(AN_NULL_POINTER, ADD_NORM(NULL, y, x, x, ln, 1, 1e-5, 3, 4));
  REFUSED(AN_NULL_POINTER, ADD_NORM(sum, NULL, x, x, ln, 1, 1e-5, 3, 4));
  REFUSED(AN_NULL_POINTER, ADD_NORM(sum, y, NULL, x, ln, 1, 1e-5, 3, 4));
  REFUSED(AN_NULL_POINTER, ADD_NORM(sum, y, x, NULL, ln, 1, 1e-5, 3, 4));
  REFUSED(AN_OK, ADD_NORM(NULL, NULL, NULL, NULL, ln, 1, 1e-5, 0, 4));

#define BATCH(y, rm, rv, x, eps, momentum, training, outer, channels, inner) \
  an_batch_norm_fwd(y, mean, rstd, rm, rv, x, NULL, NULL, NULL, eps, momentum, 0, training, 0, outer, channels, inner)
  float *const rm = running[0], *const rv = running[1];
  REFUSED(AN_INVALID_VALUE, BATCH(y, rm, rv, x, NAN, 0.1, 1, 2, 0, 2));
  REFUSED(AN_INVALID_VALUE, BATCH(y, rm, rv, x, 1e-5, NAN, 1, 2, 3, 2));
  REFUSED(AN_INVALID_VALUE, BATCH(y, rm, rv, x, 1e-5, 1.5, 1, 2, 3, 2));
  REFUSED(AN_INVALID_VALUE, BATCH(y, rm, rv, x, 1e-5, -0.5, 1, 2, 3, 2));
  REFUSED(AN_INVALID_SHAPE, BATCH(y, rm, rv, x, 1e-5, 0.1, 1, 2, 0, 2));
  REFUSED(AN_SIZE_OVERFLOW, BATCH(y, rm, rv, x, 1e-5, 0.1, 1, huge, 3, 2));
  REFUSED(AN_SIZE_OVERFLOW, BATCH(y, rm, rv, x, 1e-5, 0.1, 1, 2, 3, huge));
  REFUSED(AN_NULL_POINTER, BATCH(NULL, rm, rv, x, 1e-5, 0.1, 1, 2, 3, 2));
  REFUSED(AN_NULL_POINTER, BATCH(y, rm, rv, NULL, 1e-5, 0.1, 1, 2, 3, 2));
  REFUSED(AN_NULL_POINTER, BATCH(y, rm, NULL, x, 1e-5, 0.1, 1, 2, 3, 2));
  REFUSED(AN_NULL_POINTER, BATCH(y, NULL, rv, x, 1e-5, 0.1, 1, 2, 3, 2));
  REFUSED(AN_NULL_POINTER, BATCH(y, NULL, NULL, x, 1e-5, 0.1, 0, 2, 3, 2));
  REFUSED(AN_OK, BATCH(NULL, NULL, NULL, NULL, 1e-5, 0.1, 1, 0, 3, 2));
  REFUSED(AN_OK, BATCH(y, rm, rv, x, 1e-5, 0.1, 1, 2, 3, 0));

#define GROUP(y, x, eps, groups, batch, length, channels, inner) \
  an_group_norm_fwd(y, mean, rstd, x, NULL, NULL, eps, 0, groups, batch, length, channels, inner)
  REFUSED(AN_INVALID_VALUE, GROUP(y, x, -1, 0, 1, 1, 6, 2));
  REFUSED(AN_INVALID_SHAPE, GROUP(y, x, 1e-5, 0, 1, 1, 6, 2));
  REFUSED(AN_INVALID_SHAPE, GROUP(y, x, 1e-5, 4, 1, 1, 6, 2));
  REFUSED(AN_INVALID_SHAPE, GROUP(y, x, 1e-5, 12, 1, 1, 6, 2));
  REFUSED(AN_INVALID_SHAPE, GROUP(y, x, 1e-5, 2, 1, 1, 0, 2));
  REFUSED(AN_SIZE_OVERFLOW, GROUP(y, x, 1e-5, 2, huge, 1, 6, 2));
  REFUSED(AN_SIZE_OVERFLOW, GROUP(y, x, 1e-5, 2, 1, huge, 6, 2));
  REFUSED(AN_NULL_POINTER, GROUP(NULL, x, 1e-5, 2, 1, 1, 6, 2));
  REFUSED(AN_NULL_POINTER, GROUP(y, NULL, 1e-5, 2, 1, 1, 6, 2));
  REFUSED(AN_OK, GROUP(NULL, NULL, 1e-5, 2, 0, 1, 6, 2));
  REFUSED(AN_OK, GROUP(NULL, NULL, 1e-5, 2, 1, 0, 6, 2));
  REFUSED(AN_OK, GROUP(NULL, NULL, 1e-5, 2, 1, 1, 6, 0));
}

static void test_lists(void) {
  const char *const names[] = {"layer_norm", "layer_norm_std", "rms_norm",      "rms_norm_outside",
                               "batch_norm", "group_norm",     "instance_norm", "dyt",
                               "none"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    CHECK(i < an_norm_count() && strcmp(an_norm_name(i), names[i]) == 0, "number %zu is not %s any more", i, names[i]);
  for (size_t i = 0; i < an_norm_count(); i++) {
    const char *kind = an_norm_kind(i);
    CHECK(!strcmp(kind, "row") || !strcmp(kind, "batch") || !strcmp(kind, "group") || !strcmp(kind, "instance"), "%s",
          kind);
    CHECK(an_norm_aliases(i) && an_norm_formula(i)[0] && an_norm_source(i), "%s", an_norm_name(i));
    CHECK(an_norm_default_eps(i) >= 0 && an_norm_default_eps(i) < 1e-4 && an_norm_default_affine(i) < 3, "%s",
          an_norm_name(i));
  }
  CHECK(an_norm_default_eps(0) == 1e-5 && an_norm_default_affine(0) == 2 && an_norm_default_affine(2) == 1, "defaults");
  const size_t beyond = an_norm_count();
  CHECK(!an_norm_name(beyond) && !an_norm_aliases(beyond) && !an_norm_kind(beyond) && !an_norm_formula(beyond) &&
            !an_norm_source(beyond) && an_norm_default_eps(beyond) == 0 && an_norm_default_affine(SIZE_MAX) == 0,
        "beyond the list");
}

int main(void) {
  test_lists();
  test_rows();
  test_elementwise();
  test_no_spread();
  test_specials();
  test_add_norm();
  test_batch();
  test_mask();
  test_group();
  test_channels_exact();
  test_errors();
  printf("norm: largest error %.2f units of 2^-24, bound %g\n", worst, BOUND);
  return test_report("norm");
}
