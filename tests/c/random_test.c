/* The generator against Random123's known answers, the quantiles against erfc, the distributions and dropout by
 * statistics. */
#include "../../src/random.h"

#include "test.h"

#if defined(AN_TEST_QUICK)
enum { N = 20000 };
#else
enum { N = 1000000 };
#endif

/* Random123, tests/kat_vectors: "philox4x32 10", counter, key, result. */
static const uint32_t known[][10] = {
    {0, 0, 0, 0, 0, 0, 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8},
    {0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0x408f276d, 0x41c83b0e, 0xa20bc7c6,
     0x6d5451fd},
    {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344, 0xa4093822, 0x299f31d0, 0xd16cfe09, 0x94fdcceb, 0x5001e420,
     0x24126ea1},
};

static void test_known_answers(void) {
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    uint32_t out[4];
    philox4x32(out, known[i], known[i] + 4);
    for (int j = 0; j < 4; j++) CHECK(out[j] == known[i][6 + j], "vector %zu, word %d: %08x", i, j, out[j]);
  }
  float u[4];
  CHECK(an_random(u, 4, AN_RANDOM_UNIFORM, 0, 1, 0, 0) == AN_OK, "status");
  for (int j = 0; j < 4; j++) CHECK(u[j] == (float)(known[0][6 + j] >> 8) * 0x1p-24f, "uniform %d: %a", j, u[j]);
}

/* Phi(quantile(p)) = p, to first order in the distance from the true quantile; erfc is relatively exact there. */
static void test_quantile(void) {
  CHECK(normal_quantile(0.5) == 0, "median");
  double worst = 0;
  for (int i = 1; i < 20000; i++) {
    const double p = i < 10000 ? i / 20000.0 : ldexp(i - 9999.5, -33 - i % 300); /* down to 2^-330 */
    const double x = normal_quantile(p);
    const double density = exp(-x * x / 2) / 2.5066282746310002;
    const double error = fabs((0.5 * erfc(-x * 0.70710678118654757) - p) / density);
    if (error / (fabs(x) + 1e-3) > worst) worst = error / (fabs(x) + 1e-3);
    if (p >= 0x1p-40) CHECK(normal_quantile(1 - p) == -normal_quantile(1 - (1 - p)), "symmetry at %g", p);
  }
  CHECK(worst < 2e-15, "quantile: relative error %g", worst);
}

/* The largest distance of the empirical distribution from the true one; sorts x. */
static int compare(const void *a, const void *b) {
  const float x = *(const float *)a, y = *(const float *)b;
  return (x > y) - (x < y);
}
static double uniform_cdf(double x) { return (x + 2) / 5; }
static double normal_cdf(double x) { return 0.5 * erfc(-(x - 1) / 2 * 0.70710678118654757); }
static double kolmogorov(float *x, size_t n, double (*cdf)(double)) {
  qsort(x, n, sizeof *x, compare);
  double worst = 0;
  for (size_t i = 0; i < n; i++) {
    const double f = cdf(x[i]);
    worst = fmax(worst, fmax(f - (double)i / (double)n, (double)(i + 1) / (double)n - f));
  }
  return worst;
}

static double correlation(const float *x, const float *y, size_t n) {
  double sx = 0, sy = 0, sxx = 0, syy = 0, sxy = 0;
  for (size_t i = 0; i < n; i++) {
    sx += x[i], sy += y[i];
    sxx += (double)x[i] * x[i], syy += (double)y[i] * y[i], sxy += (double)x[i] * y[i];
  }
  const double m = (double)n;
  return (sxy - sx * sy / m) / sqrt((sxx - sx * sx / m) * (syy - sy * sy / m));
}

/* Limits at five standard deviations of each statistic (Kolmogorov: P(D > 2.4 / sqrt n) = 2e-5). */
static void test_distributions(void) {
  float *x = guarded_alloc(N, 0), *y = guarded_alloc(N, 0);
  const double root = sqrt((double)N);
  for (uint32_t seed = 0; seed < 3; seed++) {
    CHECK(an_random(x, N, AN_RANDOM_UNIFORM, -2, 3, seed, 7) == AN_OK, "status");
    double sum = 0;
    int inside = 1;
    for (size_t i = 0; i < N; i++) sum += x[i], inside &= x[i] >= -2 && x[i] < 3;
    CHECK(inside, "uniform outside [a, b)");
    CHECK(fabs(sum / N - 0.5) < 5 * 5 / sqrt(12) / root, "uniform: mean %g", sum / N);
    CHECK(fabs(correlation(x, x + 1, N - 1)) < 5 / root, "uniform: neighbours");
    CHECK(kolmogorov(x, N, uniform_cdf) < 2.4 / root, "uniform: distribution, seed %u", seed);

    CHECK(an_random(x, N, AN_RANDOM_NORMAL, 1, 2, seed, 7) == AN_OK, "status");
    double square = 0, cube = 0, fourth = 0;
    size_t tail = 0;
    sum = 0;
    for (size_t i = 0; i < N; i++) {
      const double z = (x[i] - 1) / 2;
      sum += z, square += z * z, cube += z * z * z, fourth += z * z * z * z;
      tail += fabs(z) > 3;
    }
    CHECK(fabs(sum / N) < 5 / root, "normal: mean %g", sum / N);
    CHECK(fabs(square / N - 1) < 5 * sqrt(2) / root, "normal: variance %g", square / N);
    CHECK(fabs(cube / N) < 5 * sqrt(15) / root, "normal: skewness %g", cube / N);
    CHECK(fabs(fourth / N - 3) < 5 * sqrt(96) / root, "normal: fourth moment %g", fourth / N);
    CHECK(fabs((double)tail / N - 0.0026998) < 5 * sqrt(0.0027) / root, "normal: beyond 3 sigma %zu", tail);
    CHECK(fabs(correlation(x, x + 1, N - 1)) < 5 / root, "normal: neighbours");

    an_random(y, N, AN_RANDOM_NORMAL, 1, 2, seed + 1, 7);
    CHECK(fabs(correlation(x, y, N)) < 5 / root, "normal: seeds %u and the next", seed);
    an_random(y, N, AN_RANDOM_NORMAL, 1, 2, seed, 8);
    CHECK(fabs(correlation(x, y, N)) < 5 / root, "normal: streams 7 and 8");
    an_random(y, N, AN_RANDOM_NORMAL, 1, 2, 7, seed);
    CHECK(fabs(correlation(x, y, N)) < 5 / root, "normal: seed and stream exchanged");
    CHECK(kolmogorov(x, N, normal_cdf) < 2.4 / root, "normal: distribution, seed %u", seed);
  }
  guarded_free(x, N, 0, "an_random");
  guarded_free(y, N, 0, "an_random");
}

/* An element depends on its index, not on how many are asked for or where they go. */
static void test_prefix(void) {
  float whole[64];
  for (int distribution = 0; distribution < 2; distribution++) {
    an_random(whole, 64, distribution, 0, 1, 123, 4);
    for (size_t n = 0; n <= 20; n++) {
      float *part = guarded_alloc(n, n % 4);
      CHECK(an_random(part, n, distribution, 0, 1, 123, 4) == AN_OK, "status");
      CHECK(memcmp(part, whole, n * sizeof(float)) == 0, "%zu elements are no prefix", n);
      guarded_free(part, n, n % 4, "an_random");
    }
  }
}

/* From the words of the generator: dropped where word / 2^32 < p. Any split of a run at any place gives the same. */
static void test_dropout_words(void) {
  const double ps[] = {0x1p-32, 0.1, 0.25, 0.5, 0.9, 1 - 0x1p-32, 1 - 0x1p-53};
  enum { COUNT = 61 };
  uint64_t state = 9;
  const uint64_t firsts[] = {0, 1, 2, 3, 4, 0x3fffffffeu, 0xffffffffffffff00u};
  for (size_t k = 0; k < sizeof ps / sizeof *ps; k++)
    for (size_t f = 0; f < sizeof firsts / sizeof *firsts; f++) {
      const double p = ps[k];
      float *x = guarded_alloc(COUNT, k % 4), *y = guarded_alloc(COUNT, f % 4), *part = guarded_alloc(COUNT, 1);
      for (size_t i = 0; i < COUNT; i++) x[i] = (float)test_normal(&state);
      dropout_apply(y, x, p, 11, 12, firsts[f], COUNT);
      for (size_t i = 0; i < COUNT; i++) {
        const uint64_t index = firsts[f] + i;
        const uint32_t counter[4] = {(uint32_t)(index / 4), (uint32_t)(index / 4 >> 32), 0, 0}, key[2] = {11, 12};
        uint32_t word[4];
        philox4x32(word, counter, key);
        const double u = word[index % 4] * 0x1p-32;
        /* A p between two multiples of 2^-32 counts as the lower. */
        if (u < floor(p * 0x1p32) * 0x1p-32)
          CHECK(bits_from_float(y[i]) == 0, "element %zu of p %g: %g", i, p, y[i]);
        else
          CHECK(ulp_error(y[i], x[i] / (1 - p)) <= 0.5001, "element %zu of p %g: %g", i, p, y[i]);
      }
      for (size_t split = 0; split <= COUNT; split++) {
        memcpy(part, x, COUNT * sizeof(float)); /* in place */
        dropout_apply(part + split, part + split, p, 11, 12, firsts[f] + split, COUNT - split);
        dropout_apply(part, part, p, 11, 12, firsts[f], split);
        CHECK(memcmp(part, y, COUNT * sizeof(float)) == 0, "split at %zu of a run from %llu", split,
              (unsigned long long)firsts[f]);
      }
      guarded_free(x, COUNT, k % 4, "x"), guarded_free(y, COUNT, f % 4, "y"), guarded_free(part, COUNT, 1, "part");
    }
}

static void test_dropout(void) {
  float *x = guarded_alloc(N, 1), *y = guarded_alloc(N, 2), *other = guarded_alloc(N, 3);
  const double ps[] = {0.01, 0.1, 0.5, 0.9};
  for (size_t i = 0; i < N; i++) x[i] = 1;
  for (size_t k = 0; k < 4; k++) {
    const double p = ps[k], sigma = sqrt(p * (1 - p) / N);
    CHECK(an_dropout(y, x, p, 5, 6, N) == AN_OK, "status");
    double mean = 0, kept = 0, pairs = 0;
    for (size_t i = 0; i < N; i++) mean += y[i] / N, kept += y[i] != 0, pairs += i > 0 && y[i] != 0 && y[i - 1] != 0;
    CHECK(fabs(kept / N - (1 - p)) < 4 * sigma, "p %g: kept %g", p, kept / N);
    CHECK(fabs(mean - 1) < 4 * sigma / (1 - p) + 1e-7, "p %g: mean %g", p, mean);
    CHECK(fabs(pairs / (N - 1) - (1 - p) * (1 - p)) < 8 * sigma, "p %g: neighbours %g", p, pairs / (N - 1));
    for (int which = 0; which < 2; which++) {
      an_dropout(other, x, p, which ? 5 : 6, which ? 7 : 6, N);
      double both = 0;
      for (size_t i = 0; i < N; i++) both += y[i] != 0 && other[i] != 0;
      CHECK(fabs(both / N - (1 - p) * (1 - p)) < 8 * sigma, "p %g: another %s", p, which ? "stream" : "seed");
    }
  }
  guarded_free(x, N, 1, "x"), guarded_free(y, N, 2, "y"), guarded_free(other, N, 3, "other");

  float odd[4] = {NAN, INFINITY, -0.0f, 3e38f}, out[4] = {42, 42, 42, 42};
  CHECK(an_dropout(out, odd, 0, 1, 2, 4) == AN_OK && memcmp(out, odd, sizeof odd) == 0, "p 0 copies");
  CHECK(an_dropout(odd, odd, 0, 1, 2, 4) == AN_OK && memcmp(out, odd, sizeof odd) == 0, "p 0 in place");
  /* All but one of 2^32 are dropped. */
  CHECK(an_dropout(out, odd, 1 - 0x1p-32, 1, 2, 4) == AN_OK, "status");
  for (int i = 0; i < 4; i++) CHECK(bits_from_float(out[i]) == 0, "a dropped %g is %g", odd[i], out[i]);
  /* A word of p * 2^32 itself is kept, the one below is not. */
  const float one = 1;
  CHECK(an_dropout(out, &one, known[0][6] * 0x1p-32, 0, 0, 1) == AN_OK && out[0] > 1, "the least word that is kept");
  CHECK(an_dropout(out, &one, (known[0][6] + 1) * 0x1p-32, 0, 0, 1) == AN_OK && out[0] == 0,
        "the last that is dropped");
  CHECK(an_dropout(out, odd, 1, 1, 2, 4) == AN_INVALID_VALUE, "p 1");
  CHECK(an_dropout(out, odd, -0.1, 1, 2, 4) == AN_INVALID_VALUE, "p < 0");
  CHECK(an_dropout(out, odd, NAN, 1, 2, 0) == AN_INVALID_VALUE, "NaN");
  CHECK(an_dropout(out, odd, 0.5, 1, 2, SIZE_MAX / 2) == AN_SIZE_OVERFLOW, "bytes");
  CHECK(an_dropout(NULL, odd, 0.5, 1, 2, 4) == AN_NULL_POINTER, "y");
  CHECK(an_dropout(out, NULL, 0.5, 1, 2, 4) == AN_NULL_POINTER, "x");
  CHECK(an_dropout(NULL, NULL, 0.5, 1, 2, 0) == AN_OK, "nothing to do");
}

static void test_log1p(void) {
  CHECK(log1p_series(0) == 0, "0");
  double worst = 0;
  for (int i = -1000; i < 2000; i++) {
    const double x = exp2(i / 40.0), error = fabs(log1p_series(x) / log1p(x) - 1);
    worst = fmax(worst, error);
  }
  CHECK(worst < 1e-15, "log1p: %g", worst);
}

static void test_edges(void) {
  /* One float wide: rounding may not reach the open end. */
  float x[4096];
  an_random(x, 4096, AN_RANDOM_UNIFORM, 1, 1 + 0x1p-23, 5, 0);
  for (int i = 0; i < 4096; i++) CHECK(x[i] == 1, "[1, next): %a", x[i]);
  an_random(x, 4096, AN_RANDOM_UNIFORM, -0x1p-149, 0, 5, 0);
  for (int i = 0; i < 4096; i++) CHECK(x[i] == -0x1p-149f, "[below 0, 0): %a", x[i]);
  an_random(x, 4096, AN_RANDOM_UNIFORM, -2 - 0x1p-22, -2, 5, 0);
  for (int i = 0; i < 4096; i++) CHECK(x[i] == -2 - 0x1p-22f, "[below -2, -2): %a", x[i]);
  an_random(x, 4096, AN_RANDOM_UNIFORM, 3, 3, 5, 0);
  for (int i = 0; i < 4096; i++) CHECK(x[i] == 3, "[3, 3]: %a", x[i]);
  an_random(x, 4096, AN_RANDOM_NORMAL, 3, 0, 5, 0);
  for (int i = 0; i < 4096; i++) CHECK(x[i] == 3, "sigma 0: %a", x[i]);

  CHECK(an_random(x, 4, 2, 0, 1, 0, 0) == AN_UNKNOWN_OP, "distribution");
  CHECK(an_random(x, 4, AN_RANDOM_UNIFORM, 1, 0, 0, 0) == AN_INVALID_VALUE, "a > b");
  CHECK(an_random(x, 4, AN_RANDOM_NORMAL, 0, -1, 0, 0) == AN_INVALID_VALUE, "sigma < 0");
  CHECK(an_random(x, 4, AN_RANDOM_NORMAL, NAN, 1, 0, 0) == AN_INVALID_VALUE, "NaN");
  CHECK(an_random(x, 4, AN_RANDOM_UNIFORM, 0, 1e39, 0, 0) == AN_INVALID_VALUE, "beyond float");
  CHECK(an_random(x, SIZE_MAX, AN_RANDOM_UNIFORM, 0, 1, 0, 0) == AN_SIZE_OVERFLOW, "bytes overflow");
  CHECK(an_random(NULL, 4, AN_RANDOM_UNIFORM, 0, 1, 0, 0) == AN_NULL_POINTER, "NULL");
  CHECK(an_random(NULL, 0, AN_RANDOM_UNIFORM, 0, 1, 0, 0) == AN_OK, "nothing to do");
}

int main(void) {
  test_known_answers();
  test_quantile();
  test_distributions();
  test_prefix();
  test_dropout_words();
  test_dropout();
  test_log1p();
  test_edges();
  return test_report("random");
}
