/* The linear layer's gradients: bit for bit the sums that the headers promise, against a double reference with the
 * bound of such sums, in buffers of exact size; and the packing and the transposed product that they are made of. */
#include "../../src/matmul.h"
#include "test.h"

#if defined(AN_TEST_QUICK)
enum { QUICK = 1 };
#else
enum { QUICK = 0 };
#endif

#define UNIT 0x1p-24

static uint64_t state = 21;

static float *normals(size_t n, size_t shift) {
  float *x = guarded_alloc(n, shift);
  for (size_t i = 0; i < n; i++) x[i] = (float)test_normal(&state);
  return x;
}

static float *copy_of(const float *x, size_t n, size_t shift) {
  float *y = guarded_alloc(n, shift);
  memcpy(y, x, n * sizeof(float));
  return y;
}

static int same_bits(const float *a, const float *b, size_t n) { return memcmp(a, b, n * sizeof(float)) == 0; }

static float multiply_add(float a, float b, float c) {
#if defined(AN_TEST_FUSED)
  return fmaf(a, b, c);
#else
  return a * b + c;
#endif
}

/* start + the sums over 256 neighbours in k of a[k lda] b[k ldb], one after the other. *error: |computed - true| in
 * units of 2^-24 of the sum of the sizes. */
static float dot(float start, int overwrite, const float *a, size_t lda, const float *b, size_t ldb, size_t k,
                 double *error) {
  float total = start, sum = 0;
  double exact = overwrite ? 0 : start, size = fabs(exact);
  for (size_t i = 0; i < k; i++) {
    const double term = (double)a[i * lda] * b[i * ldb];
    exact += term, size += fabs(term);
    sum = multiply_add(a[i * lda], b[i * ldb], sum);
    if (i % 256 == 255 || i == k - 1) {
      total = overwrite && i < 256 ? sum : total + sum;
      sum = 0;
    }
  }
  *error = size > 0 ? fabs(total - exact) / (UNIT * size) : 0;
  return overwrite && k == 0 ? 0 : total;
}

static double bound(size_t k) { return (double)((k < 256 ? k : 256) + k / 256 + 3); }

/* ---- Packing ---- */

static void test_pack(size_t in, size_t out, size_t row_stride, size_t column_stride) {
  const size_t n = (in - 1) * row_stride + (out - 1) * column_stride + 1, size = matmul_packed_size(in, out);
  const size_t columns = (out + 7) / 8 * 8;
  CHECK(size == columns * in, "size of %zu -> %zu", in, out);
  float *w = normals(n, in % 4), *packed = guarded_alloc(size, out % 4);
  matmul_pack(packed, w, row_stride, column_stride, in, out);
  int same = 1;
  for (size_t i = 0; i < size; i++) {
    /* Blocks of 256 rows, the last one lower, each of panels of 8 columns. */
    const size_t first = i / (256 * columns) * 256, height = in - first < 256 ? in - first : 256;
    const size_t at = i - first * columns, column = at / (8 * height) * 8 + at % 8, row = first + at / 8 % height;
    same &= packed[i] == (column < out ? w[row * row_stride + column * column_stride] : 0);
  }
  CHECK(same, "pack %zu -> %zu, strides %zu, %zu", in, out, row_stride, column_stride);
  guarded_free(w, n, in % 4, "w");
  guarded_free(packed, size, out % 4, "packed");
}

static void test_packing(void) {
  for (size_t in = 1; in <= 20; in += QUICK ? 5 : 1)
    for (size_t out = 1; out <= 20; out++) {
      test_pack(in, out, out, 1);
      test_pack(in, out, 1, in);
      test_pack(in, out, out + 5, 1);
      test_pack(in, out, 1, in + 3);
    }
  for (size_t in = 255; in <= 600; in += 115) { /* several blocks */
    test_pack(in, 19, 19, 1);
    test_pack(in, 19, 1, in);
  }
  CHECK(matmul_packed_size(3, SIZE_MAX) == SIZE_TOO_LARGE, "overflow");
  CHECK(matmul_packed_size(SIZE_MAX / 4, 9) == SIZE_TOO_LARGE, "overflow");
}

/* ---- a^T b ---- */

static void test_transposed(size_t m, size_t n, size_t k, size_t gap) {
  const size_t ldy = n + gap, lda = m + 2 * gap, ldb = n + 3 * gap, size = matmul_transposed_size(n, k);
  const size_t y_size = (m - 1) * ldy + n;
  float *a = normals(k ? (k - 1) * lda + m : 0, m % 4), *b = normals(k ? (k - 1) * ldb + n : 0, n % 4);
  float *y = normals(y_size, k % 4), *before = copy_of(y, y_size, 0), *workspace = guarded_alloc(size, 1);
  matmul_transposed(y, ldy, a, lda, b, ldb, m, n, k, workspace);
  int same = 1;
  double worst = 0, error;
  for (size_t i = 0; i < y_size; i++) {
    const size_t row = i / ldy, column = i % ldy;
    const float want = column < n ? dot(before[i], 0, a + row, lda, b + column, ldb, k, &error) : before[i];
    same &= bits_from_float(y[i]) == bits_from_float(want);
    if (column < n && error > worst) worst = error;
  }
  CHECK(same, "(%zu, %zu)^T (%zu, %zu), gap %zu", k, m, k, n, gap);
  CHECK(worst <= bound(k), "(%zu, %zu)^T (%zu, %zu): %g units", k, m, k, n, worst);
  guarded_free(a, k ? (k - 1) * lda + m : 0, m % 4, "a");
  guarded_free(b, k ? (k - 1) * ldb + n : 0, n % 4, "b");
  guarded_free(y, y_size, k % 4, "y");
  guarded_free(before, y_size, 0, "y");
  guarded_free(workspace, size, 1, "workspace");
}

static void test_products(void) {
  static const size_t sizes[] = {1, 2, 3, 5, 7, 8, 9, 13, 17};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i += QUICK ? 3 : 1)
    for (size_t j = 0; j < sizeof sizes / sizeof *sizes; j++) {
      test_transposed(sizes[i], sizes[j], 1 + 3 * j, i % 3);
      test_transposed(sizes[j], sizes[i], 0, 1);
    }
  test_transposed(3, 9, 257, 2);
  if (QUICK) return;
  static const size_t k[] = {255, 256, 257, 511, 512, 513, 600};
  for (size_t i = 0; i < sizeof k / sizeof *k; i++) {
    test_transposed(11, 21, k[i], 1);
    test_transposed(121, 8, k[i], 0);
  }
  test_transposed(245, 37, 300, 0);
  test_transposed(7, 1030, 30, 0); /* two blocks of columns */
  test_transposed(2, 2049, 260, 3);
  CHECK(matmul_transposed_size(1 << 20, SIZE_MAX) <= 131072, "the workspace is bounded");
}

/* ---- The layer ---- */

typedef struct problem {
  size_t rows, in, out, shift, bytes;
  int layout;
  float *x, *dy, *weight, *packed; /* weight: in `layout` */
  float *dx, *dweight, *dbias, *workspace;
} problem;

static problem problem_of(size_t rows, size_t in, size_t out, int layout) {
  problem p = {.rows = rows, .in = in, .out = out, .shift = (rows + in) % 4, .layout = layout};
  p.x = normals(rows * in, p.shift), p.dy = normals(rows * out, in % 4), p.weight = normals(in * out, 0);
  p.packed = guarded_alloc(an_linear_packed_bytes(out, in) / sizeof(float), 0);
  CHECK(an_linear_pack(p.packed, p.weight, layout == AN_OUT_IN ? AN_IN_OUT : AN_OUT_IN, out, in) == AN_OK, "pack");
  p.dx = normals(rows * in, p.shift), p.dweight = normals(in * out, p.shift), p.dbias = normals(out, p.shift);
  p.bytes = an_linear_bwd_workspace_bytes(rows, in, out);
  p.workspace = guarded_alloc(p.bytes / sizeof(float), 1);
  return p;
}

static void problem_free(problem *p) {
  guarded_free(p->x, p->rows * p->in, p->shift, "x");
  guarded_free(p->dy, p->rows * p->out, p->in % 4, "dy");
  guarded_free(p->weight, p->in * p->out, 0, "weight");
  guarded_free(p->packed, an_linear_packed_bytes(p->out, p->in) / sizeof(float), 0, "packed");
  guarded_free(p->dx, p->rows * p->in, p->shift, "dx");
  guarded_free(p->dweight, p->in * p->out, p->shift, "dweight");
  guarded_free(p->dbias, p->out, p->shift, "dbias");
  guarded_free(p->workspace, p->bytes / sizeof(float), 1, "workspace");
}

static an_status run(const problem *p, float *dx, float *dweight, float *dbias) {
  return an_linear_bwd(dx, dweight, dbias, p->x, p->dy, dx ? p->packed : NULL, dweight ? p->workspace : NULL,
                       dweight ? p->bytes : 0, p->layout, p->rows, p->in, p->out);
}

/* Steps from a weight to its neighbours: along the inputs, along the outputs. */
static size_t along_in(const problem *p) { return p->layout == AN_OUT_IN ? 1 : p->out; }
static size_t along_out(const problem *p) { return p->layout == AN_OUT_IN ? p->in : 1; }

static double worst_dx, worst_dweight, worst_dbias; /* as shares of their bounds */

static void note(double *worst, double share) {
  if (share > *worst) *worst = share;
}

static void test_shape(size_t rows, size_t in, size_t out, int layout) {
  problem p = problem_of(rows, in, out, layout);
  /* Twice: the second call adds. */
  for (int call = 0; call < 2; call++) {
    float *weight_before = copy_of(p.dweight, in * out, 0), *bias_before = copy_of(p.dbias, out, 0);
    CHECK(run(&p, p.dx, p.dweight, p.dbias) == AN_OK, "%zu x %zu -> %zu", rows, in, out);
    int same = 1;
    double error, dx = 0, dweight = 0, dbias = 0;
    for (size_t m = 0; m < rows; m++)
      for (size_t k = 0; k < in; k++) {
        const float want = dot(0, 1, p.dy + m * out, 1, p.weight + k * along_in(&p), along_out(&p), out, &error);
        same &= bits_from_float(p.dx[m * in + k]) == bits_from_float(want);
        note(&dx, error / bound(out));
      }
    CHECK(same, "dx of %zu x %zu -> %zu: not the sums in the order of k", rows, in, out);
    same = 1;
    for (size_t n = 0; n < out; n++) {
      for (size_t k = 0; k < in; k++) {
        const size_t at = n * along_out(&p) + k * along_in(&p);
        /* The factors as the layout has them: NaNs apart, their order is of no account. */
        const float want = dot(weight_before[at], 0, p.dy + n, out, p.x + k, in, rows, &error);
        same &= bits_from_float(p.dweight[at]) == bits_from_float(want);
        note(&dweight, error / bound(rows));
      }
      double sum = bias_before[n], size = fabs(sum);
      for (size_t m = 0; m < rows; m++) sum += p.dy[m * out + n], size += fabs(p.dy[m * out + n]);
      note(&dbias, fabs(p.dbias[n] - sum) / (UNIT * size * ((double)rows / 32 + 34)));
    }
    CHECK(same, "dweight of %zu x %zu -> %zu, layout %d: not the sums in the order of rows", rows, in, out, layout);
    CHECK(dx <= 1 && dweight <= 1 && dbias <= 1, "%zu x %zu -> %zu: %g, %g, %g of the bounds", rows, in, out, dx,
          dweight, dbias);
    note(&worst_dx, dx), note(&worst_dweight, dweight), note(&worst_dbias, dbias);
    guarded_free(weight_before, in * out, 0, "dweight");
    guarded_free(bias_before, out, 0, "dbias");
  }
  problem_free(&p);
}

static void test_shapes(void) {
  static const size_t rows[] = {1, 2, 3, 4, 5, 6, 7, 11, 12, 13, 31, 119, 120, 121, 255, 256, 257, 600};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    if (QUICK && rows[i] > 13) break;
    test_shape(rows[i], 19, 37, AN_OUT_IN);
    test_shape(rows[i], 32, 16, AN_IN_OUT);
  }
  for (size_t in = 1; in <= 20; in += QUICK ? 6 : 1)
    for (size_t out = 1; out <= 20; out++) {
      test_shape(3, in, out, AN_OUT_IN);
      test_shape(8, in, out, AN_IN_OUT);
    }
  if (QUICK) return;
  static const size_t wide[][2] = {{127, 767}, {767, 127}, {1100, 33}, {9, 1030}, {257, 512}};
  for (size_t i = 0; i < sizeof wide / sizeof *wide; i++)
    for (int layout = 0; layout < 2; layout++) test_shape(13, wide[i][0], wide[i][1], layout);
}

/* A row of dx has the same bits in any company; rows that come in several calls, split at multiples of 256, give
 * dweight the same bits. */
static void test_splits(void) {
  const size_t rows = QUICK ? 20 : 600, step = QUICK ? 7 : 256;
  problem p = problem_of(rows, 21, 35, AN_OUT_IN);
  float *dx = guarded_alloc(rows * p.in, 0), *dweight = copy_of(p.dweight, p.in * p.out, 0);
  run(&p, p.dx, p.dweight, NULL);
  for (size_t m = 0; m < rows; m += step) {
    problem part = p;
    part.rows = rows - m < step ? rows - m : step;
    part.x = p.x + m * p.in, part.dy = p.dy + m * p.out;
    run(&part, dx + m * p.in, dweight, NULL);
  }
  CHECK(same_bits(dx, p.dx, rows * p.in), "dx depends on the company");
  if (!QUICK) CHECK(same_bits(dweight, p.dweight, p.in * p.out), "dweight depends on the split");
  for (size_t n = 1; n <= 14; n++) {
    problem part = p;
    part.rows = n;
    run(&part, dx, NULL, NULL);
    CHECK(same_bits(dx, p.dx, n * p.in), "dx of the first %zu rows", n);
  }
  guarded_free(dx, rows * p.in, 0, "dx");
  guarded_free(dweight, p.in * p.out, 0, "dweight");
  problem_free(&p);
}

/* Each gradient alone, the others NULL: the same bits, and nothing needed for the others. */
static void test_wanted(void) {
  for (int layout = 0; layout < 2; layout++)
    for (int wanted = 0; wanted < 8; wanted++) {
      problem p = problem_of(9, 11, 13, layout);
      float *dx = copy_of(p.dx, 9 * 11, 0), *dweight = copy_of(p.dweight, 11 * 13, 0), *dbias = copy_of(p.dbias, 13, 0);
      run(&p, p.dx, p.dweight, p.dbias);
      CHECK(run(&p, wanted & 1 ? dx : NULL, wanted & 2 ? dweight : NULL, wanted & 4 ? dbias : NULL) == AN_OK, "wanted");
      CHECK(!(wanted & 1) || same_bits(dx, p.dx, 9 * 11), "dx of %d", wanted);
      CHECK(!(wanted & 2) || same_bits(dweight, p.dweight, 11 * 13), "dweight of %d", wanted);
      CHECK(!(wanted & 4) || same_bits(dbias, p.dbias, 13), "dbias of %d", wanted);
      guarded_free(dx, 9 * 11, 0, "dx");
      guarded_free(dweight, 11 * 13, 0, "dweight");
      guarded_free(dbias, 13, 0, "dbias");
      problem_free(&p);
    }
}

/* NaN goes where the products carry it, and nowhere else; 0 * NaN is NaN. */
static void test_specials(void) {
  for (int layout = 0; layout < 2; layout++)
    for (size_t rows = 1; rows <= 9; rows++) {
      problem p = problem_of(rows, 11, 13, layout);
      const size_t bad = rows / 2;
      for (size_t i = 0; i < rows * p.in; i++) p.x[i] = 0;
      p.dy[bad * p.out + 4] = NAN;
      run(&p, p.dx, p.dweight, p.dbias);
      for (size_t m = 0; m < rows; m++)
        for (size_t k = 0; k < p.in; k++)
          CHECK(!isnan(p.dx[m * p.in + k]) == (m != bad), "dx (%zu, %zu), rows %zu", m, k, rows);
      for (size_t n = 0; n < p.out; n++) {
        CHECK(!isnan(p.dbias[n]) == (n != 4), "dbias %zu, rows %zu", n, rows);
        for (size_t k = 0; k < p.in; k++)
          CHECK(!isnan(p.dweight[n * along_out(&p) + k * along_in(&p)]) == (n != 4), "dweight (%zu, %zu)", n, k);
      }
      problem_free(&p);
    }
}

static void test_empty_and_errors(void) {
  float dx[12] = {7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7}, dw[16] = {0}, db[4] = {1, 2, 3, 4}, x[16] = {0}, w[32] = {0};
  float dy[16] = {1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4}, ws[256];
  CHECK(an_linear_bwd(NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, AN_OUT_IN, 3, 4, 4) == AN_OK, "nothing wanted");
  CHECK(an_linear_bwd(dx, dw, db, NULL, NULL, NULL, NULL, 0, AN_OUT_IN, 0, 4, 4) == AN_OK, "no rows");
  CHECK(dx[0] == 7 && db[3] == 4, "no rows, nothing written");
  CHECK(an_linear_bwd(dx, dw, db, x, NULL, NULL, NULL, 0, AN_OUT_IN, 3, 4, 0) == AN_OK, "out = 0");
  for (int i = 0; i < 12; i++) CHECK(bits_from_float(dx[i]) == 0, "out = 0: dx is 0");
  CHECK(an_linear_bwd(dx, dw, db, NULL, dy, NULL, NULL, 0, AN_IN_OUT, 4, 0, 4) == AN_OK, "in = 0");
  for (int i = 0; i < 4; i++) CHECK(db[i] == (float)(5 * (i + 1)), "in = 0: dbias all the same");

  const size_t bytes = an_linear_bwd_workspace_bytes(4, 4, 4);
  CHECK(bytes > 0 && bytes <= sizeof ws, "bytes");
  CHECK(an_linear_bwd_workspace_bytes(0, 4, 4) == 0, "no rows need none");
  CHECK(an_linear_bwd_workspace_bytes(SIZE_MAX / 8, 4, 4) == 0, "overflow");
  CHECK(an_linear_bwd_workspace_bytes(1 << 20, 1 << 10, 1 << 12) <= 524288, "bounded");
  CHECK(an_linear_bwd(dx, dw, db, x, dy, w, ws, bytes, 2, 3, 4, 4) == AN_UNKNOWN_FLAG, "layout");
  CHECK(an_linear_bwd(dx, dw, db, x, dy, w, ws, bytes, 0, SIZE_MAX / 4, 4, 4) == AN_SIZE_OVERFLOW, "rows");
  CHECK(an_linear_bwd(dx, dw, db, x, dy, w, ws, bytes, 0, 1, SIZE_MAX / 8, 8) == AN_SIZE_OVERFLOW, "weight");
  CHECK(an_linear_bwd(dx, NULL, NULL, x, dy, NULL, NULL, 0, 0, 3, 4, 4) == AN_NULL_POINTER, "packed_bwd");
  CHECK(an_linear_bwd(dx, NULL, NULL, x, NULL, w, NULL, 0, 0, 3, 4, 4) == AN_NULL_POINTER, "dy");
  CHECK(an_linear_bwd(NULL, dw, NULL, NULL, dy, NULL, ws, bytes, 0, 3, 4, 4) == AN_NULL_POINTER, "x");
  CHECK(an_linear_bwd(NULL, dw, NULL, x, dy, NULL, NULL, bytes, 0, 3, 4, 4) == AN_NULL_POINTER, "workspace");
  CHECK(an_linear_bwd(NULL, dw, NULL, x, dy, NULL, ws, bytes - 1, 0, 4, 4, 4) == AN_WORKSPACE_TOO_SMALL, "workspace");
  for (int i = 0; i < 16; i++) CHECK(dw[i] == 0, "an error wrote to dweight");
}

int main(void) {
  test_packing();
  test_products();
  test_shapes();
  test_splits();
  test_wanted();
  test_specials();
  test_empty_and_errors();
  printf("worst errors, of their bounds: dx %.3f, dweight %.3f, dbias %.3f\n", worst_dx, worst_dweight, worst_dbias);
  return test_report("linear_bwd");
}
