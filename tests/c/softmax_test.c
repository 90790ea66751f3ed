/* Softmax and log-softmax against their formulas in double precision, along every axis, with masks. */
#include "test.h"

#ifdef AN_TEST_QUICK
enum { QUICK = 1 };
#else
enum { QUICK = 0 };
#endif

/* ULP of the element itself, for softmax of a result that is not subnormal: an element of 1e-30 has it as one of 1 has.
 */
static const double BOUND_ULP = 4;
static double worst[2]; /* softmax, log-softmax */

/* x at column i of (outer, n, inner) */
static void reference(double *y, const float *x, size_t n, size_t stride, int log_of_it) {
  double max = -INFINITY, sum = 0, others = 0;
  size_t largest = 0;
  for (size_t i = 0; i < n; i++) max = fmax(max, (double)x[i * stride]);
  for (size_t i = 0; i < n; i++) {
    sum += exp(x[i * stride] - max);
    if (largest == 0 && x[i * stride] == max)
      largest = 1;
    else
      others += exp(x[i * stride] - max);
  }
  for (size_t i = 0; i < n; i++)
    y[i * stride] = log_of_it ? x[i * stride] - max - log1p(others) : exp(x[i * stride] - max) / sum;
}

static void check(const float *x, const float *y, size_t outer, size_t n, size_t inner, int flags, const char *what) {
  double *want = malloc(outer * n * inner * sizeof *want);
  const int logged = flags & AN_SOFTMAX_LOG;
  for (size_t o = 0; o < outer; o++)
    for (size_t k = 0; k < inner; k++) reference(want + o * n * inner + k, x + o * n * inner + k, n, inner, logged);
  for (size_t i = 0; i < outer * n * inner; i++) {
    const double ulp = ulp_error(y[i], want[i]);
    CHECK(ulp <= BOUND_ULP, "%s%s (%zu, %zu, %zu) at %zu: got %.9g, want %.9g, %.2f ULP", logged ? "log " : "", what,
          outer, n, inner, i, y[i], want[i], ulp);
    if (ulp > worst[!!logged]) worst[!!logged] = ulp;
  }
  free(want);
}

enum {
  DATA_NORMAL,
  DATA_WIDE,
  DATA_EQUAL,
  DATA_CONFIDENT,
  DATA_NEGATIVE,
  DATA_LARGE,
  DATA_MASKED,
  DATA_TINY,
  DATA_SMALL_TERMS,
  DATA_COUNT
};
static const char *const data_names[] = {
    "normal",     "wide",   "equal", "one class nearly certain",          "all about -20000",
    "up to 8000", "masked", "tiny",  "terms below the largest's last bit"};
static float sample(int data, size_t i, size_t n, uint64_t *state) {
  const double z = test_normal(state), u = test_uniform(state);
  switch (data) {
    case DATA_WIDE: return (float)(30 * z);
    case DATA_EQUAL: return -3.7f;
    case DATA_CONFIDENT: return (float)(i == n / 2 ? 20 + z : -3 + z);
    case DATA_NEGATIVE: return (float)(-20000 + z);
    case DATA_LARGE: return (float)(8000 * u);
    case DATA_MASKED: return i == n / 3 || u < 0.5 ? (float)(3 * z) : -INFINITY;
    case DATA_SMALL_TERMS: return i < 16 ? 0.0f : -17.0f;
    case DATA_TINY: return (float)(1e-40 * z);
    default: return (float)(3 * z);
  }
}

/* y of x (outer, n, inner): against the reference, in place, and each row or column again by itself. */
static void check_shape(int data, size_t outer, size_t n, size_t inner, int flags, size_t shift, uint64_t *state) {
  const size_t size = outer * n * inner;
  float *x = guarded_alloc(size, shift), *y = guarded_alloc(size, (shift + 1) % 4), *again = guarded_alloc(size, 3);
  for (size_t i = 0; i < size; i++) x[i] = sample(data, i / inner % n, n, state);
  CHECK(an_softmax_fwd(y, x, outer, n, inner, flags) == AN_OK, "softmax");
  check(x, y, outer, n, inner, flags, data_names[data]);
  for (size_t i = 0; i < size; i++)
    if (x[i] == -INFINITY) CHECK(flags & AN_SOFTMAX_LOG ? y[i] == -INFINITY : y[i] == 0, "masked: %g", y[i]);
  memcpy(again, x, size * sizeof(float));
  an_softmax_fwd(again, again, outer, n, inner, flags);
  CHECK(memcmp(again, y, size * sizeof(float)) == 0, "%s (%zu, %zu, %zu): in place", data_names[data], outer, n, inner);
  if (inner == 1) {
    for (size_t o = 0; o < outer; o++) an_softmax_fwd(again + o * n, x + o * n, 1, n, 1, flags);
    CHECK(memcmp(again, y, size * sizeof(float)) == 0, "%s: a row alone", data_names[data]);
  } else {
    /* One column more or less moves the others to other lanes. */
    float *part = guarded_alloc(n * (inner - 1), 1), *result = guarded_alloc(n * (inner - 1), 2);
    for (size_t o = 0; o < outer; o++) {
      for (size_t i = 0; i < n; i++)
        memcpy(part + i * (inner - 1), x + (o * n + i) * inner + 1, (inner - 1) * sizeof *part);
      an_softmax_fwd(result, part, 1, n, inner - 1, flags);
      for (size_t i = 0; i < n; i++)
        if (inner > 2)
          CHECK(memcmp(result + i * (inner - 1), y + (o * n + i) * inner + 1, (inner - 1) * sizeof *part) == 0,
                "%s (%zu, %zu, %zu): other lanes", data_names[data], outer, n, inner);
    }
    guarded_free(part, n * (inner - 1), 1, "part"), guarded_free(result, n * (inner - 1), 2, "part's result");
  }
  guarded_free(x, size, shift, "x"), guarded_free(y, size, (shift + 1) % 4, "y"), guarded_free(again, size, 3, "again");
}

static void test_values(void) {
  uint64_t state = 1;
  const size_t sizes[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 15, 16, 17, 19, 63, 64, 65, 129, 513, 1000, 6625, 65536};
  const size_t inner[] = {1, 2, 3, 4, 5, 7, 8, 13};
  for (int flags = 0; flags < 4; flags++)
    for (int data = 0; data < DATA_COUNT; data++)
      for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (size_t k = 0; k < sizeof inner / sizeof *inner; k++) {
          if ((QUICK || k > 0 || flags > 1) && sizes[s] > (QUICK ? 65 : 1000)) continue;
          if (QUICK && ((size_t)data + s + k) % 2) continue;
          check_shape(data, 1 + s % 3, sizes[s], inner[k], flags, (s + k) % 4, &state);
        }
}

/* Rows that stop being numbers, or are masked altogether: alone, and their neighbours keep their bits. */
static void test_specials(void) {
  uint64_t state = 2;
  const float cases[][3] = {{NAN, 0, 0},
                            {INFINITY, 0, 0},
                            {-INFINITY, -INFINITY, -INFINITY},
                            {NAN, -INFINITY, -INFINITY},
                            {INFINITY, -INFINITY, 0},
                            {INFINITY, INFINITY, INFINITY}};
  for (int flags = 0; flags < 4; flags++)
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
      for (size_t n = 1; n < 40; n += n < 10 ? 1 : 9)
        for (size_t inner = 1; inner <= 6; inner++)
          for (size_t at = 0; at < n; at += 1 + n / 4) {
            float x[3 * 40 * 6], y[3 * 40 * 6], clean[3 * 40 * 6];
            const size_t size = 3 * n * inner, bad = inner / 2; /* column `bad` of the second of three */
            for (size_t i = 0; i < size; i++) x[i] = (float)test_normal(&state);
            an_softmax_fwd(clean, x, 3, n, inner, flags);
            const int uniform = cases[c][1] == cases[c][0] && cases[c][2] == cases[c][0];
            for (size_t i = 0; i < n; i++) {
              float *v = x + (n + i) * inner + bad;
              *v = i == at ? cases[c][0] : uniform ? cases[c][0] : cases[c][1] != 0 ? cases[c][1] : *v;
            }
            CHECK(an_softmax_fwd(y, x, 3, n, inner, flags) == AN_OK, "softmax");
            const int zeros = (flags & AN_SOFTMAX_MASKED_ZERO) && uniform && cases[c][0] == -INFINITY;
            for (size_t i = 0; i < size; i++) {
              if (i / (n * inner) == 1 && i % inner == bad) {
                if (zeros)
                  CHECK(flags & AN_SOFTMAX_LOG ? y[i] == -INFINITY : bits_from_float(y[i]) == 0, "masked row: %g",
                        y[i]);
                else
                  CHECK(isnan(y[i]), "case %zu, flags %d, n %zu, inner %zu: %g", c, flags, n, inner, y[i]);
              } else {
                CHECK(bits_from_float(y[i]) == bits_from_float(clean[i]),
                      "case %zu, flags %d, n %zu, inner %zu: a neighbour", c, flags, n, inner);
              }
            }
          }
  /* The whole range of floats at once. */
  float x[6] = {3.4e38f, -3.4e38f, 0, -INFINITY, 1e-45f, 3.3e38f}, y[6];
  an_softmax_fwd(y, x, 1, 6, 1, 0);
  CHECK(y[0] == 1 && y[1] == 0 && y[2] == 0 && y[3] == 0 && y[4] == 0 && y[5] == 0, "3.4e38: %g %g %g", y[0], y[1],
        y[5]);
  an_softmax_fwd(y, x, 1, 6, 1, AN_SOFTMAX_LOG);
  CHECK(y[0] == 0 && y[1] == -INFINITY && y[2] == -3.4e38f && y[3] == -INFINITY && y[4] == -3.4e38f,
        "log of 3.4e38: %g %g", y[0], y[1]);
}

/* Sums to 1 within the rounding of the elements. */
static void test_sum(void) {
  uint64_t state = 3;
  const size_t sizes[] = {2, 768, 6625, 65536};
  for (size_t s = 0; s < (QUICK ? 2 : 4); s++) {
    const size_t n = sizes[s];
    float *x = guarded_alloc(n, 0);
    for (size_t i = 0; i < n; i++) x[i] = (float)test_normal(&state);
    an_softmax_fwd(x, x, 1, n, 1, 0);
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += x[i];
    CHECK(fabs(sum - 1) < 3e-7, "softmax of %zu sums to 1 + %g", n, sum - 1);
    guarded_free(x, n, 0, "x");
  }
}

/* ---- Gradient ---- */

/* The largest errors as parts of the bound: half a unit of dx (log-softmax: and one of e^y sum(dy)), beside what n
 * roundings of a sum in double leave. */
static double worst_gradient[2];

enum { DY_NORMAL, DY_EQUAL, DY_SPIKE, DY_SUBNORMAL, DY_HUGE, DY_MIXED, DY_COUNT };
static float upstream(int kind, size_t i, size_t n, uint64_t *state) {
  const double z = test_normal(state), u = test_uniform(state);
  switch (kind) {
    case DY_EQUAL: return -0.3f;
    case DY_SPIKE: return i == n / 2 ? -1000.0f : (float)(1e-3 * z);
    case DY_SUBNORMAL: return (float)(1e-42 * z);
    case DY_HUGE: return (float)(6e38 * (u - 0.5));
    case DY_MIXED: return (float)(z * pow(10, 30 * (u - 0.5)));
    default: return (float)z;
  }
}

/* A column of n elements `stride` apart, y as it is given: that is the function's argument. */
static void check_column(const float *dx, const float *y, const float *dy, size_t n, size_t stride, int flags,
                         const char *what) {
  const int logged = flags & AN_SOFTMAX_LOG;
  long double sum = 0;
  double size = 0, mass = 0;
  for (size_t i = 0; i < n * stride; i += stride) {
    const double p = logged ? exp(y[i]) : y[i];
    sum += logged ? dy[i] : p * dy[i], mass += p;
    size = logged ? size + fabs(dy[i]) : fmax(size, fabs((double)dy[i]));
  }
  if (logged && size > 3.4e38) return; /* the sum may be beyond float */
  for (size_t i = 0; i < n * stride; i += stride) {
    const double p = logged ? exp(y[i]) : y[i];
    const double want = mass == 0 ? 0 : (double)(logged ? dy[i] - p * sum : p * (dy[i] - sum));
    const double rest = (double)(n + 4) * 0x1p-53 * size * p + (logged ? 0x1p-23 * p * fabs((double)sum) : 0);
    const double error = fabs(dx[i] - want) / (0x1p-24 * fabs(want) + rest + 0x1p-150);
    CHECK(error <= 1, "%s%s, n %zu: dx %g, want %g, %.2f of the bound", logged ? "log " : "", what, n, dx[i], want,
          error);
    if (error > worst_gradient[!!logged]) worst_gradient[!!logged] = error;
  }
}

static void check_gradient(int data, int kind, size_t outer, size_t n, size_t inner, int flags, uint64_t *state) {
  const size_t size = outer * n * inner;
  float *y = guarded_alloc(size, 1), *dy = guarded_alloc(size, 2), *dx = guarded_alloc(size, 3),
        *again = guarded_alloc(size, 0);
  for (size_t i = 0; i < size; i++) {
    y[i] = data == DATA_COUNT ? -INFINITY : sample(data, i / inner % n, n, state);
    dy[i] = upstream(kind, i / inner % n, n, state);
  }
  an_softmax_fwd(y, y, outer, n, inner, flags);
  CHECK(an_softmax_bwd(dx, y, dy, outer, n, inner, flags) == AN_OK, "softmax_bwd");
  for (size_t o = 0; o < outer; o++)
    for (size_t k = 0; k < inner; k++) {
      const size_t at = o * n * inner + k;
      check_column(dx + at, y + at, dy + at, n, inner, flags, data == DATA_COUNT ? "masked row" : data_names[data]);
    }
  for (int in_dy = 0; in_dy < 2; in_dy++) {
    memcpy(again, in_dy ? dy : y, size * sizeof(float));
    an_softmax_bwd(again, in_dy ? y : again, in_dy ? again : dy, outer, n, inner, flags);
    CHECK(memcmp(again, dx, size * sizeof(float)) == 0, "%zu, %zu, %zu: in place", outer, n, inner);
  }
  guarded_free(y, size, 1, "y"), guarded_free(dy, size, 2, "dy"), guarded_free(dx, size, 3, "dx");
  guarded_free(again, size, 0, "again");
}

static void test_gradient(void) {
  uint64_t state = 4;
  const size_t sizes[] = {1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 63, 65, 513, 1000, 6625};
  const size_t inner[] = {1, 2, 3, 4, 5, 9};
  for (int flags = 0; flags < 4; flags++)
    for (int data = 0; data < DATA_COUNT + (flags & AN_SOFTMAX_MASKED_ZERO ? 1 : 0); data++)
      for (int kind = 0; kind < DY_COUNT; kind++)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
          for (size_t k = 0; k < sizeof inner / sizeof *inner; k++)
            if (sizes[s] <= (QUICK ? 17 : k > 0 ? 65 : 6625) && !(QUICK && ((size_t)(data + kind) + s + k) % 3))
              check_gradient(data, kind, 1 + s % 3, sizes[s], inner[k], flags, &state);
}

/* Against central differences of the loss sum(dy softmax(x)) in double. */
static void test_differences(void) {
  uint64_t state = 5;
  for (int flags = 0; flags < 2; flags++)
    for (size_t n = 1; n < 30; n++) {
      float x[30], y[30], dy[30], dx[30];
      for (size_t i = 0; i < n; i++) x[i] = (float)test_normal(&state), dy[i] = (float)test_normal(&state);
      an_softmax_fwd(y, x, 1, n, 1, flags);
      an_softmax_bwd(dx, y, dy, 1, n, 1, flags);
      for (size_t i = 0; i < n; i++) {
        double loss[2] = {0, 0};
        const double h = 1e-5;
        for (int side = 0; side < 2; side++) {
          double e[30], sum = 0;
          for (size_t j = 0; j < n; j++) sum += e[j] = exp(x[j] + (j == i ? (side ? h : -h) : 0));
          for (size_t j = 0; j < n; j++) loss[side] += dy[j] * (flags ? log(e[j] / sum) : e[j] / sum);
        }
        const double difference = (loss[1] - loss[0]) / (2 * h);
        CHECK(fabs(dx[i] - difference) <= 3e-6, "flags %d, n %zu: %g, by differences %g", flags, n, dx[i], difference);
      }
    }
}

/* NaN stays in its row or column; a masked row gives zeros whatever comes from above. */
static void test_gradient_specials(void) {
  uint64_t state = 6;
  for (int flags = 0; flags < 4; flags++)
    for (size_t n = 1; n < 20; n++)
      for (size_t inner = 1; inner <= 6; inner++)
        for (int which = 0; which < 3; which++) { /* NaN in y, in dy, a masked row under infinity */
          float y[20 * 6], dy[20 * 6], dx[20 * 6], clean[20 * 6];
          const size_t size = n * inner, bad = inner / 2;
          for (size_t i = 0; i < size; i++) y[i] = (float)test_normal(&state), dy[i] = (float)test_normal(&state);
          an_softmax_fwd(y, y, 1, n, inner, flags);
          an_softmax_bwd(clean, y, dy, 1, n, inner, flags);
          const int masked = which == 2 && (flags & AN_SOFTMAX_MASKED_ZERO);
          for (size_t i = 0; masked && i < n; i++) y[i * inner + bad] = flags & AN_SOFTMAX_LOG ? -INFINITY : 0;
          (which ? dy : y)[(n / 2) * inner + bad] = masked ? INFINITY : NAN;
          an_softmax_bwd(dx, y, dy, 1, n, inner, flags);
          for (size_t i = 0; i < size; i++) {
            if (i % inner != bad)
              CHECK(bits_from_float(dx[i]) == bits_from_float(clean[i]), "flags %d, n %zu: a neighbour", flags, n);
            else if (masked)
              CHECK(bits_from_float(dx[i]) == 0, "flags %d, n %zu: masked row, %g", flags, n, dx[i]);
            else if (which == 1 || !(flags & AN_SOFTMAX_LOG) || i / inner == n / 2) /* log: y counts for itself alone */
              CHECK(isnan(dx[i]), "flags %d, n %zu: %g in place of NaN", flags, n, dx[i]);
          }
        }
}

static void test_errors(void) {
  float x[4] = {1, 2, 3, 4}, y[4] = {42, 42, 42, 42};
  const float before[4] = {42, 42, 42, 42};
  const size_t huge = SIZE_MAX / 2;
#define REFUSED(status, ...)                                                 \
  do {                                                                       \
    const an_status got = an_softmax_fwd(__VA_ARGS__);                       \
    CHECK(got == (status), "got %s for " #__VA_ARGS__, an_status_name(got)); \
    CHECK(memcmp(y, before, sizeof y) == 0, "written by " #__VA_ARGS__);     \
  } while (0)
  REFUSED(AN_UNKNOWN_FLAG, y, x, 1, 0, 1, 4);
  REFUSED(AN_UNKNOWN_FLAG, y, x, 1, 4, 1, -1);
  REFUSED(AN_INVALID_SHAPE, y, x, 1, 0, 1, 0);
  REFUSED(AN_INVALID_SHAPE, NULL, NULL, 0, 0, 0, 0);
  REFUSED(AN_SIZE_OVERFLOW, y, x, huge, 4, 1, 0);
  REFUSED(AN_SIZE_OVERFLOW, y, x, 2, 2, huge, 0);
  REFUSED(AN_SIZE_OVERFLOW, NULL, x, 1, huge, 1, 0);
  REFUSED(AN_NULL_POINTER, NULL, x, 1, 4, 1, 0);
  REFUSED(AN_NULL_POINTER, y, NULL, 1, 4, 1, 0);
  REFUSED(AN_OK, NULL, NULL, 0, 4, 1, 0);
  REFUSED(AN_OK, NULL, NULL, 3, 4, 0, 0);
#undef REFUSED
#define REFUSED(status, ...)                                                 \
  do {                                                                       \
    const an_status got = an_softmax_bwd(__VA_ARGS__);                       \
    CHECK(got == (status), "got %s for " #__VA_ARGS__, an_status_name(got)); \
    CHECK(memcmp(y, before, sizeof y) == 0, "written by " #__VA_ARGS__);     \
  } while (0)
  REFUSED(AN_UNKNOWN_FLAG, y, x, x, 1, 0, 1, 4);
  REFUSED(AN_INVALID_SHAPE, y, x, x, 1, 0, 1, 0);
  REFUSED(AN_SIZE_OVERFLOW, y, x, x, huge, 4, 1, 0);
  REFUSED(AN_NULL_POINTER, NULL, x, x, 1, 4, 1, 0);
  REFUSED(AN_NULL_POINTER, y, NULL, x, 1, 4, 1, 0);
  REFUSED(AN_NULL_POINTER, y, x, NULL, 1, 4, 1, 0);
  REFUSED(AN_OK, NULL, NULL, NULL, 0, 4, 1, 0);
}

int main(void) {
  test_values();
  test_specials();
  test_sum();
  test_gradient();
  test_differences();
  test_gradient_specials();
  test_errors();
  printf("softmax gradient: largest error %.2f of the bound, log-softmax %.2f\n", worst_gradient[0], worst_gradient[1]);
  printf("softmax: largest error %.2f ULP, log-softmax %.2f, bound %g\n", worst[0], worst[1], BOUND_ULP);
  return test_report("softmax");
}
