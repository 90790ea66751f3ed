/* The residual addition and the permutation of axes. */
#include "test.h"

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
  test_permute();
  test_errors();
  return test_report("tensor");
}
