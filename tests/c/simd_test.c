/* Every function of the vector vocabulary against the same operation on single floats, NaN, infinities and signed zeros
 * included. Built with and without AN_SCALAR, so each backend is held to one meaning. */
#if defined(__clang__)
#pragma clang diagnostic ignored "-Wpass-failed" /* SIMDe asks for the vectorising of its loops; at -O1 there is none \
                                                  */
#endif

#include "../../src/simd.h"
#include "test.h"

static const float values[] = {
    0.0f,     -0.0f,     1.0f,  -1.0f,           0.5f,        1.5f,       2.5f,          -2.5f,          3.0f, -0.3f,
    1e-40f,   -1e-45f,   1e30f, -3e38f,          16777216.0f, 8388609.0f, 2147483520.0f, -2147483648.0f, 4e9f, -4e9f,
    INFINITY, -INFINITY, NAN,   0x1.fffffep127f, 0x1p-126f};
enum { COUNT = sizeof values / sizeof values[0] };

/* The same bits, or both NaN (payloads are not specified). */
static int same(float a, float b) { return (isnan(a) && isnan(b)) || bits_from_float(a) == bits_from_float(b); }

/* Vectors whose lanes differ, so that a lane that goes astray is seen. */
static void rotate(float *lanes, int first) {
  for (int i = 0; i < AN_LANES; i++) lanes[i] = values[(first + i) % COUNT];
}
static int32_t int_of(float f) {
  int32_t i;
  memcpy(&i, &f, sizeof i);
  return i;
}

#define EACH_LANE for (int lane = 0; lane < AN_LANES; lane++)
#define CHECK_LANES(what, got, expected)                                                                    \
  do {                                                                                                      \
    float y[AN_LANES];                                                                                      \
    vf_store(y, got);                                                                                       \
    EACH_LANE {                                                                                             \
      const float want = (expected);                                                                        \
      CHECK(same(y[lane], want), "%s(%g, %g, %g): got %a, want %a", what, (double)a[lane], (double)b[lane], \
            (double)c[lane], (double)y[lane], (double)want);                                                \
    }                                                                                                       \
  } while (0)
#define CHECK_MASK(what, got, condition)                                                                              \
  do {                                                                                                                \
    float y[AN_LANES];                                                                                                \
    vf_store(y, vi_float_bits(got));                                                                                  \
    EACH_LANE CHECK(int_of(y[lane]) == ((condition) ? -1 : 0), "%s(%g, %g)", what, (double)a[lane], (double)b[lane]); \
  } while (0)
#define CHECK_INTS(what, got, expected)                                                                  \
  do {                                                                                                   \
    float y[AN_LANES];                                                                                   \
    vf_store(y, vi_float_bits(got));                                                                     \
    EACH_LANE CHECK(int_of(y[lane]) == (int32_t)(expected), "%s(%g, %g): got %d", what, (double)a[lane], \
                    (double)b[lane], (int)int_of(y[lane]));                                              \
  } while (0)

static uint32_t bits(float a) { return bits_from_float(a); }

static int32_t saturated(float a) {
  if (isnan(a)) return 0;
  if (a >= 0x1p31f) return INT32_MAX;
  return a < -0x1p31f ? INT32_MIN : (int32_t)a;
}
static float madd(float a, float b, float c) {
#if defined(AN_TEST_FUSED)
  return fmaf(a, b, c);
#else
  const volatile float product = a * b; /* through memory, so that nothing contracts it */
  return product + c;
#endif
}

static void check_vectors(const float *a, const float *b, const float *c) {
  const vf va = vf_load(a), vb = vf_load(b), vc = vf_load(c);
  CHECK_LANES("load", va, a[lane]);
  CHECK_LANES("load_splat", vf_load_splat(a), a[0]);
  CHECK_LANES("set", vf_set(a[0]), a[0]);
  CHECK_LANES("add", vf_add(va, vb), a[lane] + b[lane]);
  CHECK_LANES("sub", vf_sub(va, vb), a[lane] - b[lane]);
  CHECK_LANES("mul", vf_mul(va, vb), a[lane] * b[lane]);
  CHECK_LANES("div", vf_div(va, vb), a[lane] / b[lane]);
  CHECK_LANES("sqrt", vf_sqrt(va), sqrtf(a[lane]));
  CHECK_LANES("neg", vf_neg(va), -a[lane]);
  CHECK_LANES("abs", vf_abs(va), fabsf(a[lane]));
  CHECK_LANES("nearest", vf_nearest(va), nearbyintf(a[lane])); /* to even in the default mode */
  CHECK_LANES("madd", vf_madd(va, vb, vc), madd(a[lane], b[lane], c[lane]));
  CHECK_LANES("nmadd", vf_nmadd(va, vb, vc), madd(-a[lane], b[lane], c[lane]));
  CHECK_LANES("min", vf_min(va, vb), b[lane] < a[lane] ? b[lane] : a[lane]);
  CHECK_LANES("max", vf_max(va, vb), a[lane] < b[lane] ? b[lane] : a[lane]);

  CHECK_MASK("lt", vf_lt(va, vb), a[lane] < b[lane]);
  CHECK_MASK("le", vf_le(va, vb), a[lane] <= b[lane]);
  CHECK_MASK("gt", vf_gt(va, vb), a[lane] > b[lane]);
  CHECK_MASK("ge", vf_ge(va, vb), a[lane] >= b[lane]);
  CHECK_MASK("eq", vf_eq(va, vb), a[lane] == b[lane]);
  CHECK_MASK("ne", vf_ne(va, vb), a[lane] != b[lane]);
  CHECK_LANES("select", vf_select(vf_lt(va, vb), va, vc), a[lane] < b[lane] ? a[lane] : c[lane]);
  int any = 0;
  EACH_LANE any |= a[lane] < b[lane];
  CHECK(!!vi_any(vf_lt(va, vb)) == any, "any");

  const vi ia = vf_bits(va), ib = vf_bits(vb);
  CHECK_INTS("vi_set", vi_set(-7), -7);
  CHECK_INTS("and", vi_and(ia, ib), bits(a[lane]) & bits(b[lane]));
  CHECK_INTS("or", vi_or(ia, ib), bits(a[lane]) | bits(b[lane]));
  CHECK_INTS("xor", vi_xor(ia, ib), bits(a[lane]) ^ bits(b[lane]));
  CHECK_INTS("not", vi_not(ia), ~bits(a[lane]));
  CHECK_INTS("vi_add", vi_add(ia, ib), bits(a[lane]) + bits(b[lane]));
  CHECK_INTS("vi_sub", vi_sub(ia, ib), bits(a[lane]) - bits(b[lane]));
  CHECK_INTS("shl", vi_shl(ia, 23), bits(a[lane]) << 23);
  CHECK_INTS("sar", vi_sar(ia, 23), (int64_t)int_of(a[lane]) >> 23);
  CHECK_LANES("to_float", vi_to_float(ia), (float)int_of(a[lane]));
  CHECK_INTS("to_int", vf_to_int(va), saturated(a[lane]));

  /* Doubles: a pair holds the lanes of one vf; the way there and back is exact, and each half has its place. */
  const vd low = vd_low(va), high = vd_high(va);
  CHECK_LANES("from_vd", vf_from_vd(low, high), a[lane]);
  CHECK_LANES("vd_add", vf_from_vd(vd_add(low, vd_low(vb)), vd_add(high, vd_high(vb))),
              (float)((double)a[lane] + (double)b[lane]));
  CHECK_LANES("vd_sub", vf_from_vd(vd_sub(low, vd_low(vb)), vd_sub(high, vd_high(vb))),
              (float)((double)a[lane] - (double)b[lane]));
  CHECK_LANES("vd_mul", vf_from_vd(vd_mul(low, vd_low(vb)), vd_mul(high, vd_high(vb))),
              (float)((double)a[lane] * (double)b[lane]));
  CHECK_LANES("vd_set", vf_from_vd(vd_set(0.1), vd_set(0.1)), 0.1f);
  const vd magic = vd_set(0x1.8p52);
  CHECK_INTS("from_vd_bits", vi_from_vd_bits(vd_add(vd_mul(low, vd_set(0)), magic), vd_add(vd_set(7), magic)),
             isfinite(a[lane]) ? (lane < AN_DLANES ? 0 : 7) : int_of(y[lane]));

  /* The order of horizontal sums is part of the vocabulary: (0 + 2) + (1 + 3). */
  const float sum = AN_LANES == 1 ? a[0] : (a[0] + a[2 % AN_LANES]) + (a[1 % AN_LANES] + a[3 % AN_LANES]);
  CHECK(same(vf_sum(va), sum), "sum of %g...: %g", (double)a[0], (double)vf_sum(va));
  const double wide = AN_LANES == 1 ? (double)a[0] : (double)a[0] + (double)a[1 % AN_LANES];
  CHECK(vd_sum(low) == wide || (isnan(wide) && isnan(vd_sum(low))), "vd_sum");
  CHECK(same(vf_first(va), a[0]), "first");
  float largest = a[0];
  int has_nan = 0;
  EACH_LANE {
    if (a[lane] > largest) largest = a[lane];
    has_nan |= isnan(a[lane]);
  }
  if (!has_nan) CHECK(vf_hmax(va) == largest, "hmax: %g, want %g", (double)vf_hmax(va), (double)largest);
}

int main(void) {
  float a[AN_LANES], b[AN_LANES], c[AN_LANES];
  for (int i = 0; i < COUNT; i++)
    for (int j = 0; j < COUNT; j++)
      for (int k = 0; k < COUNT; k += 3) {
        rotate(a, i), rotate(b, j), rotate(c, k);
        check_vectors(a, b, c);
      }

  /* What callers build on: a NaN comes through min and max in the first operand alone, and of two zeros the first does.
   */
  CHECK(isnan(vf_first(vf_max(vf_set(NAN), vf_set(0.0f)))), "max(NaN, 0)");
  CHECK(vf_first(vf_max(vf_set(0.0f), vf_set(NAN))) == 0.0f, "max(0, NaN)");
  CHECK(isnan(vf_first(vf_min(vf_set(NAN), vf_set(0.0f)))), "min(NaN, 0)");
  CHECK(signbit(vf_first(vf_max(vf_set(-0.0f), vf_set(0.0f)))), "max(-0, 0)");
  CHECK(!signbit(vf_first(vf_min(vf_set(0.0f), vf_set(-0.0f)))), "min(0, -0)");

  vf square[AN_LANES];
  float number[AN_LANES * AN_LANES];
  for (size_t i = 0; i < AN_LANES * AN_LANES; i++) number[i] = (float)i;
  for (size_t i = 0; i < AN_LANES; i++) square[i] = vf_load(number + i * AN_LANES);
  vf_transpose(square);
  for (size_t i = 0; i < AN_LANES; i++) vf_store(number + i * AN_LANES, square[i]);
  for (size_t i = 0; i < AN_LANES * AN_LANES; i++)
    CHECK(number[i] == (float)(i % AN_LANES * AN_LANES + i / AN_LANES), "transpose: place %zu has %g", i,
          (double)number[i]);

  /* Tails: every length, at every alignment, in blocks of their exact size. */
  for (size_t n = 0; n < AN_LANES; n++)
    for (size_t shift = 0; shift < 4; shift++) {
      float *p = guarded_alloc(n, shift), lanes[AN_LANES];
      for (size_t i = 0; i < n; i++) p[i] = (float)i + 1;
      vf_store(lanes, vf_load_tail(p, n, -5.0f));
      for (size_t i = 0; i < AN_LANES; i++) CHECK(lanes[i] == (i < n ? (float)i + 1 : -5.0f), "load_tail(%zu)", n);
      vf_store_tail(p, n, vf_set(9.0f));
      for (size_t i = 0; i < n; i++) CHECK(p[i] == 9.0f, "store_tail(%zu)", n);
      guarded_free(p, n, shift, "store_tail");
    }
  return test_report("simd");
}
