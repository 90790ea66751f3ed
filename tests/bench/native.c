// The multiply-add rate of the processor with vectors of 128 bits, as WebAssembly's are: fused, and as a product and a sum.
// Prints the best of ten samples of each in operations a second.
#include <immintrin.h>
#include <stdio.h>
#include <time.h>

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static volatile float sink;

#define RATE(name, step)                                                                  \
  static double name(void) {                                                              \
    enum { CHAINS = 12, SAMPLES = 10 };                                                   \
    const long steps = 3000000;                                                           \
    const __m128 half = _mm_set1_ps(0.5f);                                                \
    double best = 0;                                                                      \
    for (int sample = 0; sample < SAMPLES; sample++) {                                    \
      __m128 s[CHAINS];                                                                   \
      for (int i = 0; i < CHAINS; i++) s[i] = half;                                       \
      const double start = now();                                                         \
      for (long k = 0; k < steps; k++) {                                                  \
        _Pragma("GCC unroll 12") for (int i = 0; i < CHAINS; i++) s[i] = step;            \
      }                                                                                   \
      const double rate = 8.0 * CHAINS * (double)steps / (now() - start);                 \
      if (rate > best) best = rate;                                                       \
      for (int i = 1; i < CHAINS; i++) s[0] = _mm_add_ps(s[0], s[i]);                     \
      sink = _mm_cvtss_f32(s[0]);                                                         \
    }                                                                                     \
    return best;                                                                          \
  }

RATE(fused, _mm_fmadd_ps(s[i], half, half))
RATE(separate, _mm_add_ps(_mm_mul_ps(s[i], half), half))

int main(void) {
  printf("{ \"fused\": %.0f, \"separate\": %.0f }\n", fused(), separate());
  return 0;
}
