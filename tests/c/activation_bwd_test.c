/* The gradients of activations and gates: every one of the list against its double-precision derivative. */
#include "reference.h"
#include "test.h"

#include <float.h>

#if defined(AN_TEST_QUICK)
enum { QUICK = 1 };
#else
enum { QUICK = 0 };
#endif

/* Kinks, zeros of derivatives, where exponentials saturate, where a naive form multiplies 0 by infinity. */
static const float centres[] = {0.0f,   1e-45f, 0x1p-126f, 1e-20f, 0.5f,    0.55f,   1.0f,   1.278f, 1.7f,
                                2.5f,   3.0f,   8.664f,    11.0f,  14.5f,   16.7f,   17.33f, 20.0f,  26.0f,
                                40.0f,  52.0f,  87.33f,    88.73f, 100.0f,  103.97f, 104.0f, 110.0f, 120.0f,
                                200.0f, 1e4f,   1e19f,     1e30f,  1.7e38f, 3e38f};
enum { CENTRES = sizeof centres / sizeof centres[0], SIDE = 4, PLACES = 2 * CENTRES * (2 * SIDE + 1) + 6 };

/* Both signs of the centres with SIDE neighbours on each side (of 0 those above), and what has none. */
static size_t fill_places(float *x) {
  size_t n = 0;
  for (size_t c = 0; c < CENTRES; c++)
    for (int32_t k = -SIDE; k <= SIDE; k++) {
      const uint32_t bits = bits_from_float(centres[c]) + (uint32_t)k;
      if (bits >= 0x7f800000) continue;
      x[n++] = float_from_bits(bits), x[n++] = -float_from_bits(bits);
    }
  const float others[] = {FLT_MAX, -FLT_MAX, INFINITY, -INFINITY, NAN, -NAN};
  for (size_t i = 0; i < 6; i++) x[n++] = others[i];
  return n;
}

/* The error of one derivative, as a share of what is allowed. */
static double share(const reference *r, float got, double x, double want, double p0, int is_default) {
  const double units = ulp_error(got, want);
  if (!isfinite(units) || units == 0) return units;
  double ulps = 4;
  if (!is_default && r->scale != 0 && isfinite(x)) ulps += fabs(r->scale > 0 ? p0 * x : x / p0) / 2;
  const double error = fabs((double)got - want), ulp = error / units;
  return error / (1e-6 + ulps * ulp);
}
static void check_slope(const reference *r, float got, float x, double p0, double p1, int is_default) {
  const double want = r->slope((double)x, p0, p1), error = share(r, got, (double)x, want, p0, is_default);
  CHECK(error <= 1, "%s'(%.9g = %08x; %g, %g): got %.9g, want %.17g, %.3f of what is allowed", r->name, (double)x,
        (unsigned)bits_from_float(x), p0, p1, (double)got, want, error);
}

/* The derivatives alone: dy is 1. */
static void slopes(float *dx, const float *x, size_t n, size_t a, double p0, double p1) {
  float one[512];
  for (size_t i = 0; i < 512; i++) one[i] = 1;
  for (size_t i = 0; i < n; i += 512)
    CHECK(an_activation_bwd(dx + i, x + i, one, n - i < 512 ? n - i : 512, a, p0, p1) == AN_OK, "%zu(%g, %g)", a, p0,
          p1);
}

static void check_places(size_t a, const reference *r, double p0, double p1, int is_default) {
  static float x[PLACES], y[PLACES];
  const size_t n = fill_places(x);
  slopes(y, x, n, a, p0, p1);
  for (size_t i = 0; i < n; i++) check_slope(r, y[i], x[i], p0, p1, is_default);
}

/* A stride coprime to 2^32 meets every exponent. */
static void check_sweep(size_t a, const reference *r, double p0, double p1, int is_default, uint32_t stride) {
  enum { RUN = 512 };
  float x[RUN], y[RUN];
  uint32_t bits = 0;
  for (uint64_t left = (UINT64_C(1) << 32) / stride; left > 0;) {
    const size_t n = left < RUN ? left : RUN;
    for (size_t i = 0; i < n; i++, bits += stride) x[i] = float_from_bits(bits);
    slopes(y, x, n, a, p0, p1);
    for (size_t i = 0; i < n; i++) check_slope(r, y[i], x[i], p0, p1, is_default);
    left -= n;
  }
}

/* Parameters far from their defaults, those among them that make a naive form overflow, cancel or go subnormal. */
static void check_parameters(size_t a, const reference *r) {
  static const double any[] = {0, 1, 0.1, -0.25, 1.5, 2, 30, -3, 1e-3, 1e-20, 1e20, 1e-37, -1e-37, -1e-60, 3e38};
  enum { ANY = sizeof any / sizeof any[0] };
  const size_t count = an_activation_param_count(a);
  for (size_t i = 0; i < ANY && count > 0; i++)
    for (size_t k = 0; k < (count > 1 ? ANY : 1); k++) {
      const double p0 = any[i], p1 = count > 1 ? any[k] : 0;
      if (an_activation_bwd(NULL, NULL, NULL, 0, a, p0, p1) != AN_OK) continue; /* outside its domain */
      check_places(a, r, p0, p1, 0);
      if (QUICK || count == 1) check_sweep(a, r, p0, p1, 0, QUICK ? 200000033 : 1000003);
    }
}

/* The references themselves: central differences of the forward reference, where it is smooth. */
static void check_reference(const reference *r, double p0, double p1) {
  static const double kinks[] = {0, -2.5, 2.5, -3, 3};
  for (double x = -12; x <= 12; x += 0.0371) {
    const double h = 1e-5;
    int smooth = 1;
    for (size_t k = 0; k < sizeof kinks / sizeof kinks[0]; k++) smooth &= fabs(x - kinks[k]) > 2 * h;
    if (!smooth) continue;
    const double want = (r->value(x + h, p0, p1) - r->value(x - h, p0, p1)) / (2 * h), got = r->slope(x, p0, p1);
    CHECK(fabs(got - want) <= 1e-8 * fmax(1, fabs(want)), "reference of %s'(%g): %.12g, by differences %.12g", r->name,
          x, got, want);
  }
}

typedef struct buffers {
  float *gate, *up, *dy, *dgate, *dup; /* of n elements, in blocks of that size */
  size_t n, shift;
} buffers;
static buffers buffers_alloc(size_t n, size_t shift, uint64_t seed) {
  buffers b = {.n = n, .shift = shift};
  b.gate = guarded_alloc(n, shift), b.up = guarded_alloc(n, (shift + 1) % 4), b.dy = guarded_alloc(n, (shift + 2) % 4);
  b.dgate = guarded_alloc(n, (shift + 3) % 4), b.dup = guarded_alloc(n, shift);
  for (size_t i = 0; i < n; i++) {
    b.gate[i] = (float)(4 * test_normal(&seed));
    b.up[i] = (float)test_normal(&seed), b.dy[i] = (float)test_normal(&seed);
  }
  return b;
}
static void buffers_free(buffers b, const char *name) {
  guarded_free(b.gate, b.n, b.shift, name), guarded_free(b.up, b.n, (b.shift + 1) % 4, name);
  guarded_free(b.dy, b.n, (b.shift + 2) % 4, name), guarded_free(b.dgate, b.n, (b.shift + 3) % 4, name);
  guarded_free(b.dup, b.n, b.shift, name);
}
static int same_bits(const float *a, const float *b, size_t n) { return n == 0 || !memcmp(a, b, n * sizeof *a); }

/* The element-wise gradient: the derivative times dy, rounded once; in place over x, over dy. */
static void check_elementwise(size_t a, const reference *r, size_t n, size_t shift, double p0, double p1) {
  buffers b = buffers_alloc(n, shift, 7 * n + shift + 1);
  CHECK(an_activation_bwd(b.dgate, b.gate, b.dy, n, a, p0, p1) == AN_OK, "%s: %zu elements", r->name, n);
  slopes(b.dup, b.gate, n, a, p0, p1);
  for (size_t i = 0; i < n; i++) {
    check_slope(r, b.dup[i], b.gate[i], p0, p1, 1);
    const float want = b.dy[i] * b.dup[i];
    CHECK(bits_from_float(b.dgate[i]) == bits_from_float(want), "%s'(%g) * %g: got %g", r->name, (double)b.gate[i],
          (double)b.dy[i], (double)b.dgate[i]);
  }
  memcpy(b.dup, b.gate, n * sizeof(float));
  an_activation_bwd(b.dup, b.dup, b.dy, n, a, p0, p1);
  CHECK(same_bits(b.dup, b.dgate, n), "%s: dx = x differs, n = %zu", r->name, n);
  an_activation_bwd(b.dy, b.gate, b.dy, n, a, p0, p1);
  CHECK(same_bits(b.dy, b.dgate, n), "%s: dx = dy differs, n = %zu", r->name, n);
  buffers_free(b, r->name);
}

/* The gated one, then with both outputs on each of the inputs. */
static void check_gated(size_t a, const reference *r, size_t n, size_t shift, double p0, double p1) {
  const uint64_t seed = 11 * n + shift + 1;
  buffers b = buffers_alloc(n, shift, seed);
  float *slope = guarded_alloc(n, 0), *value = guarded_alloc(n, 0);
  slopes(slope, b.gate, n, a, p0, p1);
  an_activation_fwd(value, b.gate, n, a, p0, p1);
  CHECK(an_glu_bwd(b.dgate, b.dup, b.gate, b.up, b.dy, n, a, p0, p1) == AN_OK, "glu %s: %zu elements", r->name, n);
  for (size_t i = 0; i < n; i++) {
    const float by_gate = b.dy[i] * slope[i], dgate = by_gate * b.up[i], dup = b.dy[i] * value[i];
    CHECK(bits_from_float(b.dgate[i]) == bits_from_float(dgate), "glu %s: dgate[%zu] = %g, want %g", r->name, i,
          (double)b.dgate[i], (double)dgate);
    CHECK(bits_from_float(b.dup[i]) == bits_from_float(dup), "glu %s: dup[%zu] = %g, want %g", r->name, i,
          (double)b.dup[i], (double)dup);
  }
  for (int g = 0; g < 4; g++)
    for (int u = 0; u < 4; u++) {
      if (g == u && g > 0) continue;
      buffers c = buffers_alloc(n, shift, seed);
      float *const dgate[] = {c.dgate, c.gate, c.up, c.dy}, *const dup[] = {c.dup, c.gate, c.up, c.dy};
      an_glu_bwd(dgate[g], dup[u], c.gate, c.up, c.dy, n, a, p0, p1);
      CHECK(same_bits(dgate[g], b.dgate, n) && same_bits(dup[u], b.dup, n), "glu %s: n = %zu, outputs on %d and %d",
            r->name, n, g, u);
      buffers_free(c, r->name);
    }
  guarded_free(slope, n, 0, r->name), guarded_free(value, n, 0, r->name);
  buffers_free(b, r->name);
}

static void check_sizes(size_t a, const reference *r, double p0, double p1) {
  for (size_t n = 0; n < 10; n++)
    for (size_t shift = 0; shift < 4; shift++)
      check_elementwise(a, r, n, shift, p0, p1), check_gated(a, r, n, shift, p0, p1);
  static const size_t sizes[] = {255, 256, 257, 515, 1000}; /* about the pieces that the gated one is taken in */
  for (size_t i = 0; i < 5; i++)
    check_elementwise(a, r, sizes[i], i % 4, p0, p1), check_gated(a, r, sizes[i], i % 4, p0, p1);
}

/* A derivative has the same bits wherever its x stands, and whatever stands beside it. */
static void check_positions(size_t a, const char *name, double p0, double p1) {
  enum { N = 7 };
  static float places[PLACES];
  const size_t count = fill_places(places);
  float x[N], y[N], first[1];
  for (size_t s = 0; s < count; s += 3) {
    slopes(first, &places[s], 1, a, p0, p1);
    for (size_t at = 0; at < N; at++) {
      for (size_t i = 0; i < N; i++) x[i] = places[(s + 5 * i + 3) % count];
      x[at] = places[s];
      slopes(y, x, N, a, p0, p1);
      CHECK((isnan(y[at]) && isnan(first[0])) || bits_from_float(y[at]) == bits_from_float(first[0]),
            "%s'(%g) at %zu: %a, alone %a", name, (double)places[s], at, (double)y[at], (double)first[0]);
    }
  }
}

static void check_errors(size_t a, const char *name) {
  float x[2] = {1, 2}, y[2] = {3, 4}, z[2] = {5, 6};
  const double p[2] = {an_activation_param_default(a, 0), an_activation_param_default(a, 1)};
  CHECK(an_activation_bwd(NULL, x, x, 2, a, p[0], p[1]) == AN_NULL_POINTER, "%s", name);
  CHECK(an_activation_bwd(y, NULL, x, 2, a, p[0], p[1]) == AN_NULL_POINTER, "%s", name);
  CHECK(an_activation_bwd(y, x, NULL, 2, a, p[0], p[1]) == AN_NULL_POINTER, "%s", name);
  CHECK(an_activation_bwd(NULL, NULL, NULL, 0, a, p[0], p[1]) == AN_OK, "%s", name);
  for (int missing = 0; missing < 5; missing++) {
    float *dgate = missing == 0 ? NULL : y, *dup = missing == 1 ? NULL : z;
    const float *gate = missing == 2 ? NULL : x, *up = missing == 3 ? NULL : x, *dy = missing == 4 ? NULL : x;
    CHECK(an_glu_bwd(dgate, dup, gate, up, dy, 2, a, p[0], p[1]) == AN_NULL_POINTER, "glu %s, %d", name, missing);
  }
  CHECK(an_glu_bwd(NULL, NULL, NULL, NULL, NULL, 0, a, p[0], p[1]) == AN_OK, "%s", name);
  for (size_t i = 0; i < an_activation_param_count(a); i++) {
    static const double never[] = {NAN, INFINITY, -INFINITY, 1e39, -1e39};
    for (size_t k = 0; k < sizeof never / sizeof never[0]; k++) {
      const double p0 = i == 0 ? never[k] : p[0], p1 = i == 1 ? never[k] : p[1];
      CHECK(an_activation_bwd(y, x, x, 2, a, p0, p1) == AN_INVALID_VALUE, "%s(%g, %g)", name, p0, p1);
      CHECK(an_glu_bwd(y, z, x, x, x, 2, a, p0, p1) == AN_INVALID_VALUE, "glu %s(%g, %g)", name, p0, p1);
    }
  }
  const size_t most = SIZE_MAX / sizeof(float), beyond = an_activation_count();
  CHECK(an_activation_bwd(y, x, x, most + 1, a, p[0], p[1]) == AN_SIZE_OVERFLOW, "%s", name);
  CHECK(an_glu_bwd(y, z, x, x, x, SIZE_MAX, a, p[0], p[1]) == AN_SIZE_OVERFLOW, "%s", name);
  CHECK(an_activation_bwd(y, x, x, 2, beyond, 1, 1) == AN_UNKNOWN_OP, "index beyond the list");
  CHECK(an_glu_bwd(y, z, x, x, x, 2, beyond, 1, 1) == AN_UNKNOWN_OP, "index beyond the list");
  CHECK(y[0] == 3.0f && y[1] == 4.0f && z[0] == 5.0f && z[1] == 6.0f, "%s: written in spite of an error", name);
}

/* Kinks as PyTorch has them, and limits, to the bit. */
static void check_known_cases(void) {
  static const struct {
    const char *name;
    double p0, p1;
    float x, slope;
  } cases[] = {
      {"relu", 0, 0, 0.0f, 0.0f},          {"relu", 0, 0, -0.0f, 0.0f},          {"relu", 0, 0, 1e-45f, 1.0f},
      {"leaky_relu", 3, 0, 0.0f, 3.0f},    {"leaky_relu", 3, 0, -0.0f, 3.0f},    {"leaky_relu", -1, 0, -5.0f, -1.0f},
      {"relu_squared", 0, 0, 0.0f, 0.0f},  {"relu_squared", 0, 0, 3.0f, 6.0f},   {"elu", 2, 0, 0.0f, 2.0f},
      {"elu", 2, 0, -0.0f, 2.0f},          {"elu", 2, 0, 1e-45f, 1.0f},          {"selu", 2, 3, 0.0f, 6.0f},
      {"selu", 2, 3, 1.0f, 3.0f},          {"celu", 2, 0, 0.0f, 1.0f},           {"celu", -2, 0, -INFINITY, INFINITY},
      {"celu", 2, 0, -INFINITY, 0.0f},     {"hard_swish", 0, 0, -3.0f, 0.0f},    {"hard_swish", 0, 0, 3.0f, 1.0f},
      {"hard_swish", 0, 0, 0.0f, 0.5f},    {"hard_sigmoid", .2, .5, -2.5f, 0},   {"hard_sigmoid", .2, .5, 2.5f, 0},
      {"hard_sigmoid", .2, .5, 0, .2f},    {"gelu_erf", 0, 0, 0.0f, 0.5f},       {"gelu_tanh", 0, 0, 0.0f, 0.5f},
      {"silu", 0, 0, INFINITY, 1.0f},      {"silu", 0, 0, -INFINITY, 0.0f},      {"mish", 0, 0, INFINITY, 1.0f},
      {"mish", 0, 0, -INFINITY, 0.0f},     {"gelu_erf", 0, 0, INFINITY, 1.0f},   {"gelu_erf", 0, 0, -INFINITY, 0.0f},
      {"gelu_tanh", 0, 0, INFINITY, 1.0f}, {"gelu_tanh", 0, 0, -INFINITY, 0.0f}, {"swish", -2, 0, -INFINITY, 1.0f},
      {"swish", 0, 0, INFINITY, 0.5f},     {"softplus", 1, 0, 3e38f, 1.0f},      {"softplus", 1, 0, -3e38f, 0.0f},
      {"softsign", 0, 0, INFINITY, 0.0f},  {"softcap", 30, 0, 0.0f, 1.0f},       {"tanh", 0, 0, 0.0f, 1.0f},
      {"sigmoid", 0, 0, 0.0f, 0.25f},      {"log_sigmoid", 0, 0, 0.0f, 0.5f},    {"identity", 0, 0, INFINITY, 1.0f},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    size_t a = 0;
    while (a < an_activation_count() && strcmp(an_activation_name(a), cases[i].name)) a++;
    float got = NAN;
    slopes(&got, &cases[i].x, 1, a, cases[i].p0, cases[i].p1);
    CHECK(got == cases[i].slope, "%s'(%g; %g, %g): got %.9g, want %.9g", cases[i].name, (double)cases[i].x, cases[i].p0,
          cases[i].p1, (double)got, (double)cases[i].slope);
  }
}

int main(void) {
  for (size_t a = 0; a < an_activation_count(); a++) {
    const char *name = an_activation_name(a);
    const reference *r = reference_find(name);
    CHECK(r && r->slope, "%s has no derivative in tests/c/reference.h", name);
    if (!r || !r->slope) continue;
    const double p0 = an_activation_param_default(a, 0), p1 = an_activation_param_default(a, 1);
    check_reference(r, p0, p1);
    check_sizes(a, r, p0, p1);
    check_positions(a, name, p0, p1);
    check_places(a, r, p0, p1, 1);
    check_sweep(a, r, p0, p1, 1, QUICK ? 20000003 : 8009);
    check_parameters(a, r);
    check_errors(a, name);
  }
  check_known_cases();
  return test_report("activation_bwd");
}
