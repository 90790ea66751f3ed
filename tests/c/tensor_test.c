/* The loops over whole tensors, the residual addition and its gradient, the permutation of axes. */
#include "../../src/tensor.h"

#include "test.h"

#if defined(AN_TEST_QUICK)
enum { MANY_ROWS = 3000 };
#else
enum { MANY_ROWS = 100000 };
#endif

static void test_add(void) {
  uint64_t state = 1;
  const double alphas[] = {1, 0, -1, 0.5, 2.6321480259049848, 1e-3, 3e38};
  for (size_t n = 0; n < 70; n++)
    for (size_t a = 0; a < sizeof alphas / sizeof *alphas; a++) {
      float *x = guarded_alloc(n, n % 4), *y = guarded_alloc(n, (n + 1) % 4), *out = guarded_alloc(n, (n + 2) % 4);
      for (size_t i = 0; i < n; i++) x[i] = (float)test_normal(&state), y[i] = (float)(100 * test_normal(&state));
      CHECK(an_add_fwd(out, x, y, alphas[a], n) == AN_OK, "add");
      for (size_t i = 0; i < n; i++) {
        volatile float product = (float)alphas[a] * x[i]; /* rounded before the sum */
        CHECK(out[i] == product + y[i], "%g * %g + %g = %g", alphas[a], x[i], y[i], out[i]);
      }
      float *again = guarded_alloc(n, 0);
      for (int in_y = 0; in_y < 2; in_y++) {
        memcpy(again, in_y ? y : x, n * sizeof(float));
        an_add_fwd(again, in_y ? x : again, in_y ? again : y, alphas[a], n);
        CHECK(memcmp(again, out, n * sizeof(float)) == 0, "in place of %s", in_y ? "y" : "x");
      }
      guarded_free(x, n, n % 4, "x"), guarded_free(y, n, (n + 1) % 4, "y"), guarded_free(out, n, (n + 2) % 4, "out");
      guarded_free(again, n, 0, "again");
    }
  float x[5] = {NAN, INFINITY, 1, 3e38f, -0.0f}, y[5] = {1, -INFINITY, 2, 3e38f, -0.0f}, out[5];
  an_add_fwd(out, x, y, 1, 5);
  CHECK(isnan(out[0]) && isnan(out[1]) && out[2] == 3 && isinf(out[3]) && signbit(out[4]), "specials");
}

static float *normal_alloc(size_t n, size_t shift, uint64_t *state) {
  float *x = guarded_alloc(n, shift);
  for (size_t i = 0; i < n; i++) x[i] = (float)test_normal(state);
  return x;
}

static void test_add_gradient(void) {
  uint64_t state = 4;
  const double alphas[] = {1, 0, -2.5, 2.6321480259049848};
  for (size_t n = 0; n < 40; n++)
    for (size_t a = 0; a < sizeof alphas / sizeof *alphas; a++) {
      float *dout = normal_alloc(n, n % 4, &state), *dx = guarded_alloc(n, 1), *dy = guarded_alloc(n, 2);
      float *kept = guarded_alloc(n, 0);
      memcpy(kept, dout, n * sizeof(float));
      CHECK(an_add_bwd(dx, dy, dout, alphas[a], n) == AN_OK, "add gradient");
      CHECK(memcmp(dy, kept, n * sizeof(float)) == 0 && memcmp(dout, kept, n * sizeof(float)) == 0, "dy");
      for (size_t i = 0; i < n; i++) CHECK(dx[i] == (float)alphas[a] * kept[i], "dx %g", dx[i]);
      /* Each alone, and each in place of dout. */
      float *alone = guarded_alloc(n, 3);
      CHECK(an_add_bwd(alone, NULL, dout, alphas[a], n) == AN_OK, "dx alone");
      CHECK(memcmp(alone, dx, n * sizeof(float)) == 0, "dx alone");
      CHECK(an_add_bwd(NULL, alone, dout, alphas[a], n) == AN_OK, "dy alone");
      CHECK(memcmp(alone, dy, n * sizeof(float)) == 0, "dy alone");
      CHECK(an_add_bwd(alone, dout, dout, alphas[a], n) == AN_OK, "dy in place");
      CHECK(memcmp(alone, dx, n * sizeof(float)) == 0 && memcmp(dout, dy, n * sizeof(float)) == 0, "dy in place");
      CHECK(an_add_bwd(dout, alone, dout, alphas[a], n) == AN_OK, "dx in place");
      CHECK(memcmp(alone, dy, n * sizeof(float)) == 0 && memcmp(dout, dx, n * sizeof(float)) == 0, "dx in place");
      CHECK(an_add_bwd(NULL, NULL, kept, alphas[a], n) == AN_OK, "neither");
      guarded_free(dout, n, n % 4, "dout"), guarded_free(dx, n, 1, "dx"), guarded_free(dy, n, 2, "dy");
      guarded_free(kept, n, 0, "kept"), guarded_free(alone, n, 3, "alone");
    }
}

static void test_products(void) {
  uint64_t state = 5;
  for (size_t n = 0; n < 70; n++) {
    float *x = normal_alloc(n, n % 4, &state), *z = normal_alloc(n, (n + 1) % 4, &state), *y = guarded_alloc(n, 2);
    scale_apply(y, x, -0.3, n);
    for (size_t i = 0; i < n; i++) CHECK(y[i] == -0.3f * x[i], "scale");
    multiply_apply(y, x, z, n);
    for (size_t i = 0; i < n; i++) CHECK(y[i] == x[i] * z[i], "product");
    float *in_place = guarded_alloc(n, 1);
    for (int second = 0; second < 2; second++) {
      memcpy(in_place, second ? z : x, n * sizeof(float));
      multiply_apply(in_place, second ? x : in_place, second ? in_place : z, n);
      CHECK(memcmp(in_place, y, n * sizeof(float)) == 0, "product in place of %d", second);
    }
    memcpy(in_place, x, n * sizeof(float));
    scale_apply(in_place, in_place, -0.3, n);
    for (size_t i = 0; i < n; i++) CHECK(in_place[i] == -0.3f * x[i], "scale in place");
    for (size_t d = 1; d <= n && n < 40; d++) {
      const size_t rows = n / d;
      multiply_columns(y, x, z, rows, d);
      for (size_t i = 0; i < rows * d; i++) CHECK(y[i] == x[i] * z[i % d], "columns, %zu x %zu", rows, d);
      memcpy(in_place, x, n * sizeof(float));
      multiply_columns(in_place, in_place, z, rows, d);
      CHECK(memcmp(in_place, y, rows * d * sizeof(float)) == 0, "columns in place");
    }
    guarded_free(x, n, n % 4, "x"), guarded_free(z, n, (n + 1) % 4, "z"), guarded_free(y, n, 2, "y");
    guarded_free(in_place, n, 1, "in place");
  }
}

/* sum_columns, or with `product` sum_columns_product, against a sum in double: one rounding, and those of the doubles.
 */
static void check_columns(size_t rows, size_t ld, size_t d, int product, double mean, uint64_t *state) {
  const size_t n = rows ? (rows - 1) * ld + d : 0; /* what lies beyond the last row is not read */
  float *x = normal_alloc(n, rows % 4, state), *y = normal_alloc(n, (rows + 1) % 4, state);
  float *sum = normal_alloc(d, d % 4, state);
  double *want = malloc(d * sizeof(double)), *size = malloc(d * sizeof(double));
  for (size_t i = 0; i < n; i++) x[i] += (float)mean;
  for (size_t c = 0; c < d; c++) {
    want[c] = sum[c], size[c] = fabs(sum[c]);
    for (size_t row = 0; row < rows; row++) {
      const double term = x[row * ld + c] * (product ? (double)y[row * ld + c] : 1);
      want[c] += term, size[c] += fabs(term);
    }
  }
  if (product)
    sum_columns_product(sum, x, y, rows, d);
  else
    sum_columns(sum, x, ld, rows, d);
  for (size_t c = 0; c < d; c++)
    CHECK(fabs(sum[c] - want[c]) <= 0x1.001p-24 * fabs(want[c]) + (double)rows * 0x1p-52 * size[c],
          "%zu rows, column %zu of %zu: %.9g, not %.17g", rows, c, d, sum[c], want[c]);
  guarded_free(x, n, rows % 4, "x"), guarded_free(y, n, (rows + 1) % 4, "y"), guarded_free(sum, d, d % 4, "sum");
  free(want), free(size);
}

static void test_sums(void) {
  uint64_t state = 6;
  const size_t heights[] = {0, 1, 2, 31, 32, 33, 100};
  for (size_t d = 1; d < 50; d++)
    for (size_t h = 0; h < sizeof heights / sizeof *heights; h++) {
      check_columns(heights[h], d, d, 0, 0, &state);
      check_columns(heights[h], d + 1 + h, d, 0, 0, &state);
      check_columns(heights[h], d, d, 1, 0, &state);
    }
  /* Many rows of one sign: a running sum in float would be off by hundreds of its roundings. */
  check_columns(MANY_ROWS, 5, 5, 0, 100, &state);
  check_columns(MANY_ROWS, 5, 5, 1, 100, &state);
  check_columns(MANY_ROWS, 19, 17, 0, -3, &state);

  float x[6] = {1, NAN, 1, INFINITY, 1, 3e38f}, sum[2] = {0, 0};
  sum_columns(sum, x, 2, 3, 2);
  CHECK(sum[0] == 3 && isnan(sum[1]), "a NaN stays in its column");
  sum[1] = 0, x[1] = 1;
  sum_columns(sum, x, 2, 3, 2);
  CHECK(sum[1] == INFINITY, "infinity comes through");
  float large[3] = {3e38f, 3e38f, -3e38f}, one = 0;
  sum_columns(&one, large, 1, 3, 1);
  CHECK(one == 3e38f, "a sum that overflows on its way: %g", one);

  for (size_t n = 0; n < 70; n++) {
    float *a = normal_alloc(n, n % 4, &state), *b = normal_alloc(n, (n + 1) % 4, &state);
    double want = 0, squares = 0, size = 0, got = 1.5;
    for (size_t i = 0; i < n; i++) {
      want += (double)a[i] * b[i], squares += (double)a[i] * a[i], size += fabs((double)a[i] * b[i]);
    }
    CHECK(fabs(dot_apply(a, b, n) - want) <= 1e-14 * size, "dot product of %zu", n);
    CHECK(an_sum_squares(&got, a, n) == AN_OK && fabs(got - (1.5 + squares)) <= 1e-14 * (1.5 + squares),
          "sum of %zu squares", n);
    guarded_free(a, n, n % 4, "a"), guarded_free(b, n, (n + 1) % 4, "b");
  }
  for (size_t at = 0; at < 9; at++) {
    float a[9] = {3e38f, 3e38f, 1, 1, 1, 1, 1, 1, 1};
    double got = 0;
    an_sum_squares(&got, a, 9);
    CHECK(fabs(got / (2 * (double)3e38f * 3e38f) - 1) < 1e-15, "squares beyond float");
    a[at] = -INFINITY;
    an_sum_squares(&got, a, 9);
    CHECK(got == INFINITY, "infinity at %zu", at);
    a[at] = NAN;
    an_sum_squares(&got, a, 9);
    CHECK(isnan(got), "NaN at %zu", at);
  }
}

/* Every element against its index: y[j] = x[i] where axis k of j is axis perm[k] of i. */
static void check_permute(const uint32_t *shape, const uint32_t *perm, size_t rank) {
  size_t n = 1;
  for (size_t k = 0; k < rank; k++) n *= shape[k];
  float *x = guarded_alloc(n, 1), *y = guarded_alloc(n, 2);
  for (size_t i = 0; i < n; i++) x[i] = (float)i, y[i] = -1;
  CHECK(an_permute(y, x, shape, perm, rank) == AN_OK, "permute");
  int right = 1;
  for (size_t i = 0; i < n; i++) {
    size_t index[8] = {0}, at = i, j = 0;
    for (size_t k = rank; k-- > 0;) index[k] = at % shape[k], at /= shape[k];
    for (size_t k = 0; k < rank; k++) j = j * shape[perm[k]] + index[perm[k]];
    right &= y[j] == (float)i;
  }
  CHECK(right, "permute rank %zu, shape %u %u %u .., perm %u %u %u ..", rank, shape[0], shape[1], shape[2], perm[0],
        perm[1], perm[2]);
  guarded_free(x, n, 1, "x"), guarded_free(y, n, 2, "y");
}

/* All permutations of perm[done..rank) behind perm[0..done). */
static void every_permutation(const uint32_t *shape, uint32_t *perm, size_t done, size_t rank) {
  if (done == rank) {
    check_permute(shape, perm, rank);
    return;
  }
  for (size_t k = done; k < rank; k++) {
    const uint32_t kept = perm[done];
    perm[done] = perm[k], perm[k] = kept;
    every_permutation(shape, perm, done + 1, rank);
    perm[k] = perm[done], perm[done] = kept;
  }
}

static void test_permute(void) {
  static const uint32_t shapes[][8] = {
      {2, 3, 4, 2, 3}, {17, 1, 33, 2, 1}, {1, 1, 1, 1, 1}, {40, 19, 2, 1, 3}, {3, 1, 2, 5, 4}};
  for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
    for (size_t rank = 0; rank <= 5; rank++) {
      uint32_t perm[8] = {0, 1, 2, 3, 4, 5, 6, 7};
      every_permutation(shapes[s], perm, 0, rank);
    }
  /* Up to eight axes: random shapes and permutations. */
  uint64_t state = 2;
  for (int run = 0; run < 300; run++) {
    uint32_t shape[8] = {0}, perm[8] = {0, 1, 2, 3, 4, 5, 6, 7};
    const size_t rank = 6 + (size_t)run % 3;
    for (size_t k = 0; k < rank; k++) {
      shape[k] = 1 + (uint32_t)(test_next(&state) % 4);
      const size_t other = k + test_next(&state) % (rank - k);
      const uint32_t kept = perm[k];
      perm[k] = perm[other], perm[other] = kept;
    }
    check_permute(shape, perm, rank);
  }
}

static void test_errors(void) {
  float x[6] = {1, 2, 3, 4, 5, 6}, y[6] = {42, 42, 42, 42, 42, 42};
  const float before[6] = {42, 42, 42, 42, 42, 42};
  const size_t huge = SIZE_MAX / 2;
#define REFUSED(status, call)                                         \
  do {                                                                \
    const an_status got = call;                                       \
    CHECK(got == (status), "got %s for " #call, an_status_name(got)); \
    CHECK(memcmp(y, before, sizeof y) == 0, "written by " #call);     \
  } while (0)
  REFUSED(AN_INVALID_VALUE, an_add_fwd(y, x, x, NAN, 0));
  REFUSED(AN_INVALID_VALUE, an_add_fwd(y, x, x, -INFINITY, 6));
  REFUSED(AN_INVALID_VALUE, an_add_fwd(y, x, x, 1e39, 6));
  REFUSED(AN_SIZE_OVERFLOW, an_add_fwd(y, x, x, 1, huge));
  REFUSED(AN_NULL_POINTER, an_add_fwd(NULL, x, x, 1, 6));
  REFUSED(AN_NULL_POINTER, an_add_fwd(y, NULL, x, 1, 6));
  REFUSED(AN_NULL_POINTER, an_add_fwd(y, x, NULL, 1, 6));
  REFUSED(AN_OK, an_add_fwd(NULL, NULL, NULL, 1, 0));
  REFUSED(AN_INVALID_VALUE, an_add_bwd(y, NULL, x, NAN, 0));
  REFUSED(AN_INVALID_VALUE, an_add_bwd(y, NULL, x, 1e39, 6));
  REFUSED(AN_SIZE_OVERFLOW, an_add_bwd(y, NULL, x, 1, huge));
  REFUSED(AN_NULL_POINTER, an_add_bwd(y, NULL, NULL, 1, 6));
  REFUSED(AN_OK, an_add_bwd(NULL, NULL, NULL, 1, 0));
  double sum = 42;
  REFUSED(AN_SIZE_OVERFLOW, an_sum_squares(&sum, x, huge));
  REFUSED(AN_NULL_POINTER, an_sum_squares(&sum, NULL, 6));
  REFUSED(AN_NULL_POINTER, an_sum_squares(NULL, x, 6));
  REFUSED(AN_OK, an_sum_squares(NULL, NULL, 0));
  CHECK(sum == 42, "a refused sum");

  const uint32_t shape[9] = {2, 3, 1, 1, 1, 1, 1, 1, 1}, perm[9] = {1, 0, 2, 3, 4, 5, 6, 7, 8};
  const uint32_t twice[2] = {1, 1}, beyond[2] = {0, 2}, empty[2] = {2, 0};
  const uint32_t large[8] = {UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX, 1, 1, 1, 1};
  const uint32_t bytes_too_many[2] = {UINT32_MAX, (uint32_t)(SIZE_MAX / UINT32_MAX / 2)};
  REFUSED(AN_INVALID_SHAPE, an_permute(y, x, shape, perm, 9));
  REFUSED(AN_INVALID_VALUE, an_permute(y, x, shape, twice, 2));
  REFUSED(AN_INVALID_VALUE, an_permute(y, x, shape, beyond, 2));
  REFUSED(AN_SIZE_OVERFLOW, an_permute(y, x, large, perm, 8));
  REFUSED(AN_SIZE_OVERFLOW, an_permute(y, x, bytes_too_many, perm, 2));
  REFUSED(AN_NULL_POINTER, an_permute(NULL, x, shape, perm, 2));
  REFUSED(AN_NULL_POINTER, an_permute(y, NULL, shape, perm, 2));
  REFUSED(AN_NULL_POINTER, an_permute(y, x, NULL, perm, 2));
  REFUSED(AN_NULL_POINTER, an_permute(y, x, shape, NULL, 2));
  REFUSED(AN_OK, an_permute(NULL, NULL, empty, perm, 2));
  CHECK(an_permute(y, x, NULL, NULL, 0) == AN_OK && y[0] == 1 && y[1] == 42, "a scalar is copied");
}

int main(void) {
  test_add();
  test_add_gradient();
  test_products();
  test_sums();
  test_permute();
  test_errors();
  return test_report("tensor");
}
