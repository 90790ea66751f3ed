/* Random numbers from (seed, stream, index) alone: Philox4x32-10 (Salmon et al. 2011, "Parallel random numbers: as easy
 * as 1, 2, 3", SC11; Random123), key (seed, stream), counter index / 4, one 32-bit word an element.
 *
 * Everything is integer arithmetic and + - * / sqrt in double, which IEEE 754 rounds correctly: the same bits in every
 * build. That rules out libm's log and cos, hence the normal distribution by its quantile function.
 */
#include "random.h"

#include <string.h>

void philox4x32(uint32_t out[4], const uint32_t counter[4], const uint32_t key[2]) {
  uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3], k0 = key[0], k1 = key[1];
  for (int round = 0; round < 10; round++) {
    const uint64_t p0 = (uint64_t)0xd2511f53u * c0, p1 = (uint64_t)0xcd9e8d57u * c2;
    c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
    c1 = (uint32_t)p1;
    c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
    c3 = (uint32_t)p0;
    k0 += 0x9e3779b9u; /* golden ratio */
    k1 += 0xbb67ae85u; /* sqrt(3) - 1 */
  }
  out[0] = c0, out[1] = c1, out[2] = c2, out[3] = c3;
}

/* 2 atanh(s), |s| <= 0.1716: the first term left out of the series is below 1e-17 of the sum. */
static double atanh_series(double s) {
  const double s2 = s * s;
  double sum = 0;
  for (int n = 19; n >= 1; n -= 2) sum = sum * s2 + 1.0 / n;
  return 2 * s * sum;
}

/* log(x), x positive and normal: x = 2^e m with m in [sqrt(1/2), sqrt(2)), log m = 2 atanh((m - 1) / (m + 1)). */
static double log_series(double x) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  int e = (int)(bits >> 52) - 1023;
  bits = (bits & 0x000fffffffffffffu) | 0x3ff0000000000000u;
  double m;
  memcpy(&m, &bits, sizeof m);
  if (m > 0x1.6a09e667f3bcdp+0) m *= 0.5, e++;
  return e * 0x1.62e42fefa39efp-1 + atanh_series((m - 1) / (m + 1));
}

double log1p_series(double x) { return x < 0.375 ? atanh_series(x / (2 + x)) : log_series(1 + x); }

static double polynomial(const double c[8], double r) {
  double sum = c[7];
  for (int i = 6; i >= 0; i--) sum = sum * r + c[i];
  return sum;
}

/* Wichura 1988, algorithm AS 241, PPND16 (Applied Statistics 37, 477-484). */
double normal_quantile(double p) {
  static const double a[8] = {3.3871328727963666080e0, 1.3314166789178437745e2, 1.9715909503065514427e3,
                              1.3731693765509461125e4, 4.5921953931549871457e4, 6.7265770927008700853e4,
                              3.3430575583588128105e4, 2.5090809287301226727e3};
  static const double b[8] = {1.0,
                              4.2313330701600911252e1,
                              6.8718700749205790830e2,
                              5.3941960214247511077e3,
                              2.1213794301586595867e4,
                              3.9307895800092710610e4,
                              2.8729085735721942674e4,
                              5.2264952788528545610e3};
  static const double c[8] = {1.42343711074968357734e0,  4.63033784615654529590e0, 5.76949722146069140550e0,
                              3.64784832476320460504e0,  1.27045825245236838258e0, 2.41780725177450611770e-1,
                              2.27238449892691845833e-2, 7.74545014278341407640e-4};
  static const double d[8] = {1.0,
                              2.05319162663775882187e0,
                              1.67638483018380384940e0,
                              6.89767334985100004550e-1,
                              1.48103976427480074590e-1,
                              1.51986665636164571966e-2,
                              5.47593808499534494600e-4,
                              1.05075007164441684324e-9};
  static const double e[8] = {6.65790464350110377720e0,  5.46378491116411436990e0,  1.78482653991729133580e0,
                              2.96560571828504891230e-1, 2.65321895265761230930e-2, 1.24266094738807843860e-3,
                              2.71155556874348757815e-5, 2.01033439929228813265e-7};
  static const double f[8] = {1.0,
                              5.99832206555887937690e-1,
                              1.36929880922735805310e-1,
                              1.48753612908506148525e-2,
                              7.86869131145613259100e-4,
                              1.84631831751005468180e-5,
                              1.42151175831644588870e-7,
                              2.04426310338993978564e-15};
  const double q = p - 0.5;
  if (q >= -0.425 && q <= 0.425) {
    const double r = 0.180625 - q * q;
    return q * polynomial(a, r) / polynomial(b, r);
  }
  const double r = __builtin_sqrt(-log_series(q < 0 ? p : 1 - p));
  const double x =
      r <= 5 ? polynomial(c, r - 1.6) / polynomial(d, r - 1.6) : polynomial(e, r - 5) / polynomial(f, r - 5);
  return q < 0 ? -x : x;
}

/* The words of the elements index / 4 * 4 and the next three. */
static void four_words(uint32_t word[4], uint64_t index, uint32_t seed, uint32_t stream) {
  const uint32_t counter[4] = {(uint32_t)(index >> 2), (uint32_t)(index >> 34), 0, 0}, key[2] = {seed, stream};
  philox4x32(word, counter, key);
}

/* The float below x; x is finite. */
static float float_below(float x) {
  if (x == 0) return -0x1p-149f;
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  bits += x > 0 ? -1u : 1u;
  memcpy(&x, &bits, sizeof x);
  return x;
}

an_status an_random(float *out, size_t n, int distribution, double a, double b, uint32_t seed, uint32_t stream) {
  if (distribution != AN_RANDOM_UNIFORM && distribution != AN_RANDOM_NORMAL) return AN_UNKNOWN_OP;
  const double largest = 0x1.fffffep127;
  if (!(a >= -largest && a <= largest && b >= -largest && b <= largest)) return AN_INVALID_VALUE;
  if (distribution == AN_RANDOM_UNIFORM ? a > b : b < 0) return AN_INVALID_VALUE;
  if (n > SIZE_MAX / sizeof(float)) return AN_SIZE_OVERFLOW;
  if (n == 0) return AN_OK;
  if (!out) return AN_NULL_POINTER;

  const float low = (float)a, high = (float)b;
  for (size_t i = 0; i < n; i += 4) {
    uint32_t word[4];
    four_words(word, i, seed, stream);
    for (size_t j = 0; j < 4 && i + j < n; j++) {
      if (distribution == AN_RANDOM_UNIFORM) {
        const float x = (float)(low + ((double)high - low) * ((word[j] >> 8) * 0x1p-24));
        /* Rounded up to the end of a half-open range. */
        out[i + j] = x < high || low == high ? x : float_below(high);
      } else {
        out[i + j] = (float)(a + b * normal_quantile((word[j] + 0.5) * 0x1p-32));
      }
    }
  }
  return AN_OK;
}

/* An element is dropped where its word is below p * 2^32. */
void dropout_apply(float *y, const float *x, double p, uint32_t seed, uint32_t stream, uint64_t first, size_t n) {
  if (p == 0) {
    if (y != x) memcpy(y, x, n * sizeof(float));
    return;
  }
  const uint32_t dropped = (uint32_t)(p * 0x1p32);
  const double scale = 1 / (1 - p);
  uint32_t word[4];
  for (size_t i = 0; i < n; i++) {
    const uint64_t index = first + i;
    if (i == 0 || index % 4 == 0) four_words(word, index, seed, stream);
    y[i] = word[index % 4] < dropped ? 0.0f : (float)(x[i] * scale);
  }
}

an_status an_dropout(float *y, const float *x, double p, uint32_t seed, uint32_t stream, size_t n) {
  if (!(p >= 0 && p < 1)) return AN_INVALID_VALUE;
  if (n > SIZE_MAX / sizeof(float)) return AN_SIZE_OVERFLOW;
  if (n == 0) return AN_OK;
  if (!y || !x) return AN_NULL_POINTER;
  dropout_apply(y, x, p, seed, stream, 0, n);
  return AN_OK;
}
