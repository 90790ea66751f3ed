/* The linear layer: bit for bit the sums in the order of k, against a double reference with the bound of such a sum, in
 * buffers of exact size, for every number of rows. */
#include "test.h"

#if defined(AN_TEST_QUICK)
enum { QUICK = 1 };
#else
enum { QUICK = 0 };
#endif

static uint64_t state = 20;

static float *normals(size_t n, size_t shift) {
  float *x = guarded_alloc(n, shift);
  for (size_t i = 0; i < n; i++) x[i] = (float)test_normal(&state);
  return x;
}

static size_t activation_named(const char *name) {
  size_t a = 0;
  while (a < an_activation_count() && strcmp(an_activation_name(a), name) != 0) a++;
  CHECK(a < an_activation_count(), "no activation %s", name);
  return a;
}

static float multiply_add(float a, float b, float c) {
#if defined(AN_TEST_FUSED)
  return fmaf(a, b, c);
#else
  return a * b + c;
#endif
}

/* What the header promises, written down: sums over 256 neighbours in k, added in the order of k, then the bias. */
static float expected(const float *x, const float *weight, const float *bias, size_t in, size_t n) {
  float total = 0, sum = 0;
  for (size_t k = 0; k < in; k++) {
    sum = multiply_add(x[k], weight[n * in + k], sum);
    if (k % 256 == 255 || k == in - 1) {
      total = k < 256 ? sum : total + sum;
      sum = 0;
    }
  }
  return bias ? total + bias[n] : total;
}

/* |computed - true| <= (roundings of a term) 2^-24 / (1 - ...) * (sum |x w| + |bias|), Higham 2002, section 3.1. */
static int within_bound(float got, const float *x, const float *weight, const float *bias, size_t in, size_t n) {
  double sum = bias ? bias[n] : 0, size = fabs(sum);
  for (size_t k = 0; k < in; k++) {
    const double term = (double)x[k] * weight[n * in + k];
    sum += term, size += fabs(term);
  }
  return fabs(got - sum) <= (double)((in < 256 ? in : 256) + in / 256 + 3) * 0x1p-24 * size;
}

static float *packed_of(const float *weight, int layout, size_t in, size_t out, size_t shift) {
  float *packed = guarded_alloc(an_linear_packed_bytes(in, out) / sizeof(float), shift);
  CHECK(an_linear_pack(packed, weight, layout, in, out) == AN_OK, "pack %zu -> %zu", in, out);
  return packed;
}

static void free_packed(float *packed, size_t in, size_t out, size_t shift) {
  guarded_free(packed, an_linear_packed_bytes(in, out) / sizeof(float), shift, "packed weight");
}

static void test_shape(size_t rows, size_t in, size_t out) {
  const size_t identity = activation_named("identity");
  const size_t sx = rows % 4, sy = (rows / 2) % 4, sw = in % 4;
  float *x = normals(rows * in, sx), *weight = normals(in * out, 0), *bias = normals(out, out % 4);
  float *y = guarded_alloc(rows * out, sy), *packed = packed_of(weight, AN_OUT_IN, in, out, sw);

  for (int with_bias = 0; with_bias < 2; with_bias++) {
    const float *b = with_bias ? bias : NULL;
    CHECK(an_linear_fwd(y, x, packed, b, identity, 0, 0, rows, in, out) == AN_OK, "%zu x %zu -> %zu", rows, in, out);
    int same = 1, close = 1;
    for (size_t m = 0; m < rows; m++)
      for (size_t n = 0; n < out; n++) {
        same &= bits_from_float(y[m * out + n]) == bits_from_float(expected(x + m * in, weight, b, in, n));
        close &= within_bound(y[m * out + n], x + m * in, weight, b, in, n);
      }
    CHECK(same, "%zu x %zu -> %zu, bias %d: not the sums in the order of k", rows, in, out, with_bias);
    CHECK(close, "%zu x %zu -> %zu, bias %d: beyond the bound", rows, in, out, with_bias);
  }

  /* The other layout gives the same panels. */
  float *transposed = guarded_alloc(in * out, 0);
  for (size_t n = 0; n < out; n++)
    for (size_t k = 0; k < in; k++) transposed[k * out + n] = weight[n * in + k];
  float *again = packed_of(transposed, AN_IN_OUT, in, out, 0);
  CHECK(memcmp(packed, again, an_linear_packed_bytes(in, out)) == 0 || in * out == 0, "in_out %zu -> %zu", in, out);

  guarded_free(transposed, in * out, 0, "weight");
  free_packed(again, in, out, 0);
  free_packed(packed, in, out, sw);
  guarded_free(x, rows * in, sx, "x");
  guarded_free(y, rows * out, sy, "y");
  guarded_free(weight, in * out, 0, "weight");
  guarded_free(bias, out, out % 4, "bias");
}

static void test_shapes(void) {
  /* Every number of rows at a few widths, then odd widths at a few numbers of rows. */
  static const size_t rows[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 31, 32, 33, 119, 120, 121, 241};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    if (QUICK && rows[i] > 14) break;
    test_shape(rows[i], 19, 37);
    test_shape(rows[i], 64, 32);
  }
  for (size_t in = 1; in <= 20; in += QUICK ? 6 : 1)
    for (size_t out = 1; out <= 20; out++) {
      test_shape(1, in, out);
      test_shape(2, in, out);
      test_shape(8, in, out);
    }
  if (QUICK) return;
  static const size_t wide[][2] = {{127, 767}, {767, 127}, {768, 40}, {1100, 33}, {2049, 9}, {33, 520}, {512, 256}};
  for (size_t i = 0; i < sizeof wide / sizeof *wide; i++)
    for (size_t m = 1; m <= 13; m += 3) test_shape(m, wide[i][0], wide[i][1]);
  test_shape(97, 600, 45); /* enough rows for panels to be touched ahead */
}

/* A row's bits are the same alone, in any company and anywhere in it. */
static void test_row_independence(void) {
  const size_t rows = 33, in = QUICK ? 65 : 777, out = QUICK ? 43 : 299, gelu = activation_named("gelu_erf");
  float *x = normals(rows * in, 0), *weight = normals(in * out, 0), *bias = normals(out, 0);
  float *all = guarded_alloc(rows * out, 0), *part = guarded_alloc(rows * out, 0);
  float *packed = packed_of(weight, AN_OUT_IN, in, out, 0);
  an_linear_fwd(all, x, packed, bias, gelu, 0, 0, rows, in, out);
  for (size_t n = 1; n <= 14; n++)
    for (size_t first = 0; first + n <= rows; first += n) {
      an_linear_fwd(part, x + first * in, packed, bias, gelu, 0, 0, n, in, out);
      CHECK(memcmp(part, all + first * out, n * out * sizeof(float)) == 0, "rows %zu .. %zu differ", first, first + n);
    }
  guarded_free(x, rows * in, 0, "x");
  guarded_free(weight, in * out, 0, "weight");
  guarded_free(bias, out, 0, "bias");
  guarded_free(all, rows * out, 0, "y");
  guarded_free(part, rows * out, 0, "y");
  free_packed(packed, in, out, 0);
}

/* The fused activation is the activation of what the plain layer gives, bit for bit; columns beyond one block too. */
static void test_activations(void) {
  const size_t rows = 7, in = 5, out = 261, identity = activation_named("identity");
  float *x = normals(rows * in, 0), *weight = normals(in * out, 0), *bias = normals(out, 0);
  float *fused = guarded_alloc(rows * out, 1), *plain = guarded_alloc(rows * out, 0);
  float *packed = packed_of(weight, AN_OUT_IN, in, out, 0);
  for (size_t a = 0; a < an_activation_count(); a++) {
    const double p0 = an_activation_param_default(a, 0), p1 = an_activation_param_default(a, 1);
    CHECK(an_linear_fwd(fused, x, packed, bias, a, p0, p1, rows, in, out) == AN_OK, "%s", an_activation_name(a));
    an_linear_fwd(plain, x, packed, bias, identity, 0, 0, rows, in, out);
    an_activation_fwd(plain, plain, rows * out, a, p0, p1);
    CHECK(memcmp(fused, plain, rows * out * sizeof(float)) == 0, "%s: fused and apart differ", an_activation_name(a));
  }
  guarded_free(x, rows * in, 0, "x");
  guarded_free(weight, in * out, 0, "weight");
  guarded_free(bias, out, 0, "bias");
  guarded_free(fused, rows * out, 1, "y");
  guarded_free(plain, rows * out, 0, "y");
  free_packed(packed, in, out, 0);
}

/* NaN and infinity go where IEEE 754 sends them, and nowhere else; in tails too, which run on padded copies. */
static void test_specials(void) {
  const size_t in = 11, out = 13, identity = activation_named("identity");
  for (size_t rows = 1; rows <= 9; rows++) {
    float *x = normals(rows * in, 0), *weight = normals(in * out, 0);
    float *clean = guarded_alloc(rows * out, 0), *y = guarded_alloc(rows * out, 0);
    float *packed = packed_of(weight, AN_OUT_IN, in, out, 0);
    an_linear_fwd(clean, x, packed, NULL, identity, 0, 0, rows, in, out);

    const size_t bad = rows / 2;
    x[bad * in + 4] = NAN;
    an_linear_fwd(y, x, packed, NULL, identity, 0, 0, rows, in, out);
    for (size_t m = 0; m < rows; m++)
      for (size_t n = 0; n < out; n++)
        CHECK(m == bad ? isnan(y[m * out + n]) : y[m * out + n] == clean[m * out + n],
              "NaN in row %zu of %zu: (%zu, %zu)", bad, rows, m, n);

    /* 0 * NaN and 0 * infinity are NaN: a zero in x skips nothing. x infinite: the sign of the weight decides. */
    for (size_t i = 0; i < rows * in; i++) x[i] = 0;
    x[bad * in + 4] = INFINITY;
    weight[2 * in + 3] = NAN;
    weight[12 * in + 3] = -INFINITY;
    an_linear_pack(packed, weight, AN_OUT_IN, in, out);
    an_linear_fwd(y, x, packed, NULL, identity, 0, 0, rows, in, out);
    for (size_t m = 0; m < rows; m++)
      for (size_t n = 0; n < out; n++) {
        const float want = n == 2 || n == 12 ? NAN : m != bad ? 0 : copysignf(INFINITY, weight[n * in + 4]);
        CHECK(ulp_error(y[m * out + n], want) == 0, "infinity in row %zu of %zu: (%zu, %zu) is %g", bad, rows, m, n,
              y[m * out + n]);
      }
    guarded_free(x, rows * in, 0, "x");
    guarded_free(weight, in * out, 0, "weight");
    guarded_free(clean, rows * out, 0, "y");
    guarded_free(y, rows * out, 0, "y");
    free_packed(packed, in, out, 0);
  }
}

static void test_no_inputs(void) {
  const size_t relu = activation_named("relu");
  float *y = guarded_alloc(3 * 9, 0), *bias = normals(9, 0);
  CHECK(an_linear_packed_bytes(0, 9) > 0, "an empty weight is no overflow");
  CHECK(an_linear_pack(NULL, NULL, AN_OUT_IN, 0, 9) == AN_OK, "an empty weight");
  CHECK(an_linear_fwd(y, NULL, NULL, bias, relu, 0, 0, 3, 0, 9) == AN_OK, "in = 0");
  for (int i = 0; i < 27; i++) CHECK(y[i] == fmaxf(bias[i % 9], 0), "the bias alone: %d", i);
  CHECK(an_linear_fwd(y, NULL, NULL, NULL, relu, 0, 0, 3, 0, 9) == AN_OK, "in = 0, no bias");
  for (int i = 0; i < 27; i++) CHECK(bits_from_float(y[i]) == 0, "zeros: %d", i);
  guarded_free(y, 27, 0, "y");
  guarded_free(bias, 9, 0, "bias");
}

static void test_sizes_and_errors(void) {
  CHECK(an_linear_packed_bytes(768, 3072) == 768 * 3072 * sizeof(float), "whole panels");
  CHECK(an_linear_packed_bytes(3, 9) == 3 * 16 * sizeof(float), "the last panel is filled up");
  CHECK(an_linear_packed_bytes(SIZE_MAX / 16, 8) == 0, "overflow");
  CHECK(an_linear_packed_bytes(1, SIZE_MAX) == 0, "overflow by filling up");
  CHECK(an_linear_packed_bytes(4, SIZE_MAX / 4) == 0, "overflow");

  float y[16], x[16], w[64], p[64];
  for (int i = 0; i < 64; i++) w[i] = x[i % 16] = 1;
  const size_t count = an_activation_count(), softcap = activation_named("softcap");
  CHECK(an_linear_pack(p, w, 2, 4, 4) == AN_UNKNOWN_FLAG, "layout");
  CHECK(an_linear_pack(p, w, AN_OUT_IN, SIZE_MAX / 8, 8) == AN_SIZE_OVERFLOW, "overflow");
  CHECK(an_linear_pack(NULL, w, AN_OUT_IN, 4, 4) == AN_NULL_POINTER, "packed");
  CHECK(an_linear_pack(p, NULL, AN_OUT_IN, 4, 4) == AN_NULL_POINTER, "weight");
  CHECK(an_linear_pack(p, w, AN_OUT_IN, 4, 4) == AN_OK, "pack");
  CHECK(an_linear_fwd(y, x, p, NULL, count, 0, 0, 4, 4, 4) == AN_UNKNOWN_OP, "activation");
  CHECK(an_linear_fwd(y, x, p, NULL, softcap, -1, 0, 4, 4, 4) == AN_INVALID_VALUE, "parameter");
  CHECK(an_linear_fwd(NULL, x, p, NULL, 0, 0, 0, 4, 4, 4) == AN_NULL_POINTER, "y");
  CHECK(an_linear_fwd(y, NULL, p, NULL, 0, 0, 0, 4, 4, 4) == AN_NULL_POINTER, "x");
  CHECK(an_linear_fwd(y, x, NULL, NULL, 0, 0, 0, 4, 4, 4) == AN_NULL_POINTER, "packed");
  CHECK(an_linear_fwd(y, x, p, NULL, 0, 0, 0, SIZE_MAX / 4, 4, 4) == AN_SIZE_OVERFLOW, "rows");
  CHECK(an_linear_fwd(NULL, NULL, NULL, NULL, 0, 0, 0, 0, 4, 4) == AN_OK, "no rows");
  CHECK(an_linear_fwd(NULL, NULL, NULL, NULL, 0, 0, 0, 4, 4, 0) == AN_OK, "no columns");
}

/* The limits count what they say, and read what they say: a guarded buffer of any length, each element once. */
static void test_limits(void) {
  const size_t lanes = an_limit_multiply_add(1) / 24 > 1 ? 4 : 1;
  CHECK(an_limit_multiply_add(1) == 24.0 * (double)lanes, "twelve vectors, two operations each");
  CHECK(an_limit_multiply_add(1000) == 24000.0 * (double)lanes, "as often as there are steps");
  CHECK(an_limit_multiply_add(0) == 0 && an_limit_read(NULL, 0) == 0, "nothing");
  for (size_t n = 1; n < 80; n++) {
    float *x = guarded_alloc(n, n % 4);
    for (size_t i = 0; i < n; i++) x[i] = (float)(i + 1);
    CHECK(an_limit_read(x, n) == (double)(n * (n + 1) / 2), "%zu elements", n);
    guarded_free(x, n, n % 4, "an_limit_read");
  }
}

int main(void) {
  test_limits();
  test_shapes();
  test_row_independence();
  test_activations();
  test_specials();
  test_no_inputs();
  test_sizes_and_errors();
  return test_report("matmul");
}
