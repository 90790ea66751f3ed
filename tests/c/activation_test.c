/* The activations and gates: every one of the list against its double-precision reference. */
#include "reference.h"
#include "test.h"

#include <float.h>

#if defined(AN_TEST_QUICK)
enum { QUICK = 1 };
#else
enum { QUICK = 0 };
#endif

static const float specials[] = {0.0f,   -0.0f,   1e-45f,   -1e-45f, 0x1p-126f, -0x1p-126f,   1e-40f,      -1e-40f,
                                 0.5f,   -0.5f,   1.0f,     -1.0f,   2.5f,      -2.5f,        3.0f,        -3.0f,
                                 0.55f,  -0.55f,  -16.7f,   16.7f,   -14.4f,    -10.4f,       87.4f,       -87.4f,
                                 88.73f, -88.73f, -103.98f, -104.5f, 104.5f,    1e4f,         -1e4f,       1e19f,
                                 -1e19f, 1e30f,   -1e30f,   FLT_MAX, -FLT_MAX,  INFINITY,     -INFINITY,   NAN,
                                 -NAN,   0.01f,   -0.01f,   -108.0f, -64.5f,    -2.49999976f, -2.99999976f};
enum { SPECIALS = sizeof specials / sizeof specials[0] };

/* What is allowed at x with these parameters. */
static double allowed(const reference *r, double x, double p0, int is_default) {
  if (is_default || r->scale == 0 || !isfinite(x)) return r->bound;
  const double argument = r->scale > 0 ? p0 * x : x / p0;
  return r->bound + fabs(argument) / 2;
}

/* The error of one value; a zero's sign counts as well. */
static void check_value(const reference *r, float got, float x, double p0, double p1, int is_default) {
  const double want = r->value((double)x, p0, p1), error = ulp_error(got, want);
  const double bound = allowed(r, (double)x, p0, is_default);
  CHECK(error <= bound, "%s(%.9g = %08x; %g, %g): got %.9g, want %.17g, %.3f ULP, bound %.3f", r->name, (double)x,
        (unsigned)bits_from_float(x), p0, p1, (double)got, want, error, bound);
  if (!isnan(want))
    CHECK(!signbit(got) == !signbit(want), "%s(%.9g; %g, %g): got %g, want %g: sign", r->name, (double)x, p0, p1,
          (double)got, want);
}

static void check_sizes(size_t a, const reference *r, double p0, double p1) {
  size_t sizes[32], count = 0;
  for (size_t n = 0; n < 20; n++) sizes[count++] = n;
  for (size_t n = 63; n < 66; n++) sizes[count++] = n;
  sizes[count++] = 1000;
  uint64_t state = 7;
  for (size_t s = 0; s < count; s++) {
    const size_t n = sizes[s];
    for (size_t shift = 0; shift < 4; shift++) {
      /* x, y, gate's up, and both in place; each in a block of its exact size */
      float *x = guarded_alloc(n, shift), *up = guarded_alloc(n, (shift + 1) % 4),
            *y = guarded_alloc(n, (shift + 2) % 4);
      float *g = guarded_alloc(n, (shift + 3) % 4), *same = guarded_alloc(n, shift);
      for (size_t i = 0; i < n; i++)
        x[i] = same[i] = (float)(4 * test_normal(&state)), up[i] = (float)test_normal(&state);
      CHECK(an_activation_fwd(y, x, n, a, p0, p1) == AN_OK, "%s: %zu elements", r->name, n);
      for (size_t i = 0; i < n; i++) check_value(r, y[i], x[i], p0, p1, 1);

      CHECK(an_activation_fwd(same, same, n, a, p0, p1) == AN_OK, "%s in place", r->name);
      CHECK(n == 0 || !memcmp(same, y, n * sizeof(float)), "%s: in place differs, n = %zu", r->name, n);

      CHECK(an_glu_fwd(g, x, up, n, a, p0, p1) == AN_OK, "glu %s: %zu elements", r->name, n);
      for (size_t i = 0; i < n; i++) {
        /* one rounding after the activation, whose own error is checked above */
        const float want = y[i] * up[i];
        CHECK(bits_from_float(g[i]) == bits_from_float(want), "glu %s(%g, %g): %g", r->name, (double)x[i],
              (double)up[i], (double)g[i]);
      }
      memcpy(same, x, n * sizeof(float));
      an_glu_fwd(same, same, up, n, a, p0, p1);
      CHECK(n == 0 || !memcmp(same, g, n * sizeof(float)), "glu %s: y = gate differs", r->name);
      an_glu_fwd(up, x, up, n, a, p0, p1);
      CHECK(n == 0 || !memcmp(up, g, n * sizeof(float)), "glu %s: y = up differs", r->name);
      guarded_free(x, n, shift, r->name), guarded_free(up, n, (shift + 1) % 4, r->name);
      guarded_free(y, n, (shift + 2) % 4, r->name), guarded_free(g, n, (shift + 3) % 4, r->name);
      guarded_free(same, n, shift, r->name);
    }
  }
}

/* A value gives the same bits wherever it stands, and whatever stands beside it. */
static void check_positions(size_t a, const char *name, double p0, double p1) {
  enum { N = 11 };
  float x[N], y[N], first[1];
  for (size_t s = 0; s < SPECIALS; s++) {
    an_activation_fwd(first, &specials[s], 1, a, p0, p1);
    for (size_t at = 0; at < N; at++) {
      for (size_t i = 0; i < N; i++) x[i] = specials[(s + 5 * i + 3) % SPECIALS];
      x[at] = specials[s];
      an_activation_fwd(y, x, N, a, p0, p1);
      CHECK((isnan(y[at]) && isnan(first[0])) || bits_from_float(y[at]) == bits_from_float(first[0]),
            "%s(%g) at %zu: %a, alone %a", name, (double)specials[s], at, (double)y[at], (double)first[0]);
    }
  }
}

static void check_specials(size_t a, const reference *r, double p0, double p1, int is_default) {
  float y[SPECIALS];
  CHECK(an_activation_fwd(y, specials, SPECIALS, a, p0, p1) == AN_OK, "%s(%g, %g)", r->name, p0, p1);
  for (size_t i = 0; i < SPECIALS; i++) check_value(r, y[i], specials[i], p0, p1, is_default);
}

/* A stride coprime to 2^32 meets every exponent; the whole range is exhaustive.js's. */
static void check_sweep(size_t a, const reference *r, double p0, double p1, int is_default, uint32_t stride) {
  enum { RUN = 512 };
  float x[RUN], y[RUN];
  uint32_t bits = 0;
  for (uint64_t left = (UINT64_C(1) << 32) / stride; left > 0;) {
    const size_t n = left < RUN ? left : RUN;
    for (size_t i = 0; i < n; i++, bits += stride) x[i] = float_from_bits(bits);
    an_activation_fwd(y, x, n, a, p0, p1);
    for (size_t i = 0; i < n; i++) check_value(r, y[i], x[i], p0, p1, is_default);
    left -= n;
  }
}

/* Parameters far from their defaults, those among them that make a naive form overflow, cancel or go subnormal. */
static void check_parameters(size_t a, const reference *r) {
  static const double any[] = {0, 1, 0.1, -0.25, 1.5, 2, 30, -3, 1e-3, 1e-20, 1e20, 1e-37, -1e-37, 3e38};
  const size_t count = an_activation_param_count(a);
  for (size_t i = 0; count > 0 && i < sizeof any / sizeof any[0]; i++) {
    const double p0 = any[i], p1 = count > 1 ? an_activation_param_default(a, 1) : 0;
    if (an_activation_fwd(NULL, NULL, 0, a, p0, p1) != AN_OK) continue; /* check_errors tells which */
    check_specials(a, r, p0, p1, 0);
    check_sweep(a, r, p0, p1, 0, QUICK ? 200000033 : 1000003);
    check_positions(a, r->name, p0, p1);
  }
  for (size_t i = 0; count > 1 && i < sizeof any / sizeof any[0]; i++) {
    const double p0 = an_activation_param_default(a, 0), p1 = any[i];
    check_specials(a, r, p0, p1, 0);
    check_sweep(a, r, p0, p1, 0, QUICK ? 200000033 : 1000003);
  }
}

static void check_errors(size_t a, const char *name) {
  float x[2] = {1, 2}, y[2] = {3, 4};
  const double p[2] = {an_activation_param_default(a, 0), an_activation_param_default(a, 1)};
  CHECK(an_activation_fwd(NULL, x, 2, a, p[0], p[1]) == AN_NULL_POINTER, "%s", name);
  CHECK(an_activation_fwd(y, NULL, 2, a, p[0], p[1]) == AN_NULL_POINTER, "%s", name);
  CHECK(an_activation_fwd(NULL, NULL, 0, a, p[0], p[1]) == AN_OK, "%s", name);
  CHECK(an_glu_fwd(NULL, x, x, 2, a, p[0], p[1]) == AN_NULL_POINTER, "%s", name);
  CHECK(an_glu_fwd(y, NULL, x, 2, a, p[0], p[1]) == AN_NULL_POINTER, "%s", name);
  CHECK(an_glu_fwd(y, x, NULL, 2, a, p[0], p[1]) == AN_NULL_POINTER, "%s", name);
  CHECK(an_glu_fwd(NULL, NULL, NULL, 0, a, p[0], p[1]) == AN_OK, "%s", name);
  for (size_t i = 0; i < 2; i++) {
    static const double never[] = {NAN, INFINITY, -INFINITY, 1e39, -1e39};
    for (size_t k = 0; k < sizeof never / sizeof never[0]; k++) {
      const double p0 = i == 0 ? never[k] : p[0], p1 = i == 1 ? never[k] : p[1];
      /* a parameter that the activation does not have is ignored */
      const an_status want = i < an_activation_param_count(a) ? AN_INVALID_VALUE : AN_OK;
      CHECK(an_activation_fwd(y, x, 2, a, p0, p1) == want, "%s(%g, %g)", name, p0, p1);
      CHECK(an_glu_fwd(y, x, x, 2, a, p0, p1) == want, "glu %s(%g, %g)", name, p0, p1);
      if (want == AN_OK) y[0] = 3, y[1] = 4;
    }
  }
  CHECK(y[0] == 3.0f && y[1] == 4.0f, "%s: written in spite of an error", name);
}

static size_t index_of(const char *name) {
  for (size_t a = 0; a < an_activation_count(); a++)
    if (!strcmp(an_activation_name(a), name)) return a;
  CHECK(0, "%s is not in the list", name);
  return 0;
}
static float value_of(const char *name, float x, double p0, double p1) {
  float y = 0;
  an_activation_fwd(&y, &x, 1, index_of(name), p0, p1);
  return y;
}

/* What other runtimes get wrong, and what the list promises by name. */
static void check_known_cases(void) {
  static const char *const gates[] = {"gelu_erf", "gelu_tanh", "gelu_quick", "silu", "mish"};
  for (size_t i = 0; i < sizeof gates / sizeof gates[0]; i++) {
    CHECK(value_of(gates[i], INFINITY, 0, 0) == INFINITY, "%s(inf)", gates[i]);
    const float y = value_of(gates[i], -INFINITY, 0, 0);
    CHECK(y == 0 && signbit(y), "%s(-inf) = %g", gates[i], (double)y);
  }
  CHECK(isnan(value_of("relu", NAN, 0, 0)), "relu(NaN)");
  CHECK(value_of("leaky_relu", -2, 3, 0) == -6.0f && value_of("leaky_relu", 2, 3, 0) == 2.0f, "slope above 1");
  CHECK(value_of("leaky_relu", -2, -1, 0) == 2.0f && value_of("leaky_relu", 2, -1, 0) == 2.0f, "slope below 0");
  static const struct {
    const char *name;
    double p0, p1;
    int domain_ok;
  } domains[] = {{"celu", 0, 0, 0},        {"celu", -1, 0, 1},    {"celu", 1e-39, 0, 0}, {"softplus", 0, 0, 0},
                 {"softplus", -1, 0, 0},   {"softplus", 2, 0, 1}, {"softcap", 0, 0, 0},  {"softcap", -30, 0, 0},
                 {"softcap", 1e-39, 0, 0}, {"swish", 0, 0, 1},    {"elu", 0, 0, 1},      {"hard_sigmoid", 0, -1, 1}};
  for (size_t i = 0; i < sizeof domains / sizeof domains[0]; i++)
    CHECK((an_activation_fwd(NULL, NULL, 0, index_of(domains[i].name), domains[i].p0, domains[i].p1) == AN_OK) ==
              domains[i].domain_ok,
          "%s(%g)", domains[i].name, domains[i].p0);

  /* the largest x whose product is still finite: a factor rounded upwards would make it infinite */
  CHECK(isfinite(value_of("selu", 0x1.e74b3p127f, 1.6732632423543772, 1.0507009873554805)), "selu near FLT_MAX");

  /* swish with beta 1 is silu, bit for bit */
  for (size_t i = 0; i < SPECIALS; i++) {
    const float silu = value_of("silu", specials[i], 0, 0), swish = value_of("swish", specials[i], 1, 0);
    CHECK((isnan(silu) && isnan(swish)) || bits_from_float(silu) == bits_from_float(swish), "swish(%g)",
          (double)specials[i]);
  }

  const size_t beyond = an_activation_count();
  float x = 1, y = 5;
  CHECK(an_activation_fwd(&y, &x, 1, beyond, 1, 1) == AN_UNKNOWN_OP && y == 5.0f, "index beyond the list");
  CHECK(an_glu_fwd(&y, &x, &x, 1, beyond, 1, 1) == AN_UNKNOWN_OP && y == 5.0f, "index beyond the list");
  const size_t most = SIZE_MAX / sizeof(float);
  CHECK(an_activation_fwd(&y, &x, most + 1, 0, 1, 1) == AN_SIZE_OVERFLOW && y == 5.0f, "bytes overflow");
  CHECK(an_glu_fwd(&y, &x, &x, SIZE_MAX, 0, 1, 1) == AN_SIZE_OVERFLOW && y == 5.0f, "bytes overflow");
  CHECK(!an_activation_name(beyond) && !an_activation_aliases(beyond) && !an_activation_formula(beyond) &&
            !an_activation_source(beyond) && an_activation_param_count(beyond) == 0 &&
            !an_activation_param_name(beyond, 0) && an_activation_param_default(beyond, 0) == 0,
        "strings beyond the list");
}

int main(void) {
  for (size_t a = 0; a < an_activation_count(); a++) {
    const char *name = an_activation_name(a);
    const reference *r = reference_find(name);
    CHECK(r, "%s has no reference in tests/c/reference.h", name);
    if (!r) continue;
    CHECK(*an_activation_formula(a) && an_activation_aliases(a) && an_activation_source(a), "%s: list entry", name);
    for (size_t p = 0; p < an_activation_param_count(a); p++)
      CHECK(*an_activation_param_name(a, p), "%s: parameter", name);
    const double p0 = an_activation_param_default(a, 0), p1 = an_activation_param_default(a, 1);
    check_sizes(a, r, p0, p1);
    check_positions(a, name, p0, p1);
    check_specials(a, r, p0, p1, 1);
    check_sweep(a, r, p0, p1, 1, QUICK ? 20000003 : 4001);
    check_parameters(a, r);
    check_errors(a, name);
  }
  CHECK(sizeof references / sizeof references[0] == an_activation_count(), "a reference without an activation");
  check_known_cases();
  return test_report("activation");
}
