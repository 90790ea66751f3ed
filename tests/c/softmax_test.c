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
}

int main(void) {
  test_values();
  test_specials();
  test_sum();
  test_errors();
  printf("softmax: largest error %.2f ULP, log-softmax %.2f, bound %g\n", worst[0], worst[1], BOUND_ULP);
  return test_report("softmax");
}
