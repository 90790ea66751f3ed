/* The native tests' own tools. A test is a program: it prints what failed and exits with 1 if anything did. */
#ifndef AN_TEST_H
#define AN_TEST_H

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../include/addnorm.h"

static int test_checks, test_failures;

/* CHECK(condition, "what %s", ...): counts, and prints the first 40 failures. */
#define CHECK(condition, ...)                                  \
  do {                                                         \
    test_checks++;                                             \
    if (!(condition) && test_failures++ < 40) {                \
      printf("FAIL %s:%d %s: ", __FILE__, __LINE__, #condition); \
      printf(__VA_ARGS__);                                     \
      printf("\n");                                            \
    }                                                          \
  } while (0)

/* The larger of two errors. NaN is worse than all: fmax would take it for none. */
static inline double worse(double a, double b) { return b <= a || a != a ? a : b; }

/* Last line of every test; the value of main. */
static inline int test_report(const char *name) {
  printf("%s: %d checks, %d failed\n", name, test_checks, test_failures);
  return test_failures > 0 || test_checks == 0;
}

/* A heap block of exactly n floats that starts `shift` floats (0..3) off 16-byte alignment, with guard words before and
 * behind for builds without AddressSanitizer. guarded_free checks the guards. */
enum { TEST_GUARD = 16 };
static inline float *guarded_alloc(size_t n, size_t shift) {
  float *base = NULL;
  if (posix_memalign((void **)&base, 64, (n + shift + 2 * TEST_GUARD) * sizeof(float))) abort();
  for (size_t i = 0; i < n + shift + 2 * TEST_GUARD; i++) base[i] = 12345.678f;
  return base + TEST_GUARD + shift;
}
static inline void guarded_free(float *p, size_t n, size_t shift, const char *what) {
  float *base = p - TEST_GUARD - shift;
  int whole = 1;
  for (size_t i = 0; i < TEST_GUARD + shift; i++) whole &= base[i] == 12345.678f;
  for (size_t i = 0; i < TEST_GUARD; i++) whole &= p[n + i] == 12345.678f;
  CHECK(whole, "%s: written outside its buffer", what);
  free(base);
}

/* splitmix64: the tests' own randomness, never the library's. */
static inline uint64_t test_next(uint64_t *state) {
  uint64_t z = (*state += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}
static inline double test_uniform(uint64_t *state) { return (double)(test_next(state) >> 11) * 0x1p-53; }
static inline double test_normal(uint64_t *state) {
  const double u = 1.0 - test_uniform(state), v = test_uniform(state);
  return sqrt(-2 * log(u)) * cos(6.283185307179586 * v);
}

static inline float float_from_bits(uint32_t bits) {
  float f;
  memcpy(&f, &bits, sizeof f);
  return f;
}
static inline uint32_t bits_from_float(float f) {
  uint32_t bits;
  memcpy(&bits, &f, sizeof bits);
  return bits;
}

/* |got - want| in units in the last place of the float nearest to want (2^-149 where that is subnormal). 0 if both are
 * NaN or the same infinity; infinity if just one is, or if the sign is wrong where want rounds to a float other than 0.
 * A true value that rounds to infinity may come as infinity too. */
static inline double ulp_error(float got, double want) {
  if (isnan(want)) return isnan(got) ? 0 : INFINITY;
  if (isnan(got)) return INFINITY;
  if (isinf(want)) return got == (float)want ? 0 : INFINITY;
  if (isinf(got)) return fabs(want) >= 0x1.ffffffp127 && (got > 0) == (want > 0) ? 0 : INFINITY;
  if ((float)want != 0 && got != 0 && !!signbit(got) != (want < 0)) return INFINITY;
  int e;
  frexp(want, &e); /* |want| in [2^(e-1), 2^e) */
  if (want == 0 || e < -125) e = -125;
  if (e > 128) e = 128;
  return fabs((double)got - want) / ldexp(1.0, e - 24);
}

#endif
