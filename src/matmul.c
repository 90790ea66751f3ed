/* y = activation(x W + b) on packed weights.
 *
 * The kernel holds a tile of y in registers, 6 rows x 8 columns: of the 15 vector registers that a wasm
 * engine has on x86-64, 12 accumulate, 2 hold a row of the panel, 1 an element of x. Where multiply-add is two
 * instructions the product needs one as well, hence 5 rows. With one or two rows the tile is wider instead, so that
 * there are enough sums under way to hide the latency of the addition.
 *
 * Every element of y is a sum of sums: over MATMUL_SUM neighbours in k each, added in the order of k. One long sum
 * loses accuracy with its length: with 2600 hidden units an FFN was off by 1.9e-6 of its largest output. Neither the
 * tile's shape nor the blocking can be seen in the result.
 *
 * x is packed too, the rows of a tile next to one another for each k, as much of it as one sum needs: the loop has one
 * pointer for it in place of six (27 instructions in place of 34 for 12 multiply-adds), and reads it as one stream. Not
 * unrolled in k: the compiler then keeps two steps' vectors alive, and the accumulators are spilled (half the speed).
 */
#include "matmul.h"

#include "activation.h"
#include "simd.h"
#include "tensor.h"
#include "tile.h"

_Static_assert((int)TILE_PANEL == (int)MATMUL_PANEL && MATMUL_ROWS % TILE_ROWS == 0, "tiles fit");

enum { GRADIENT_COLUMNS = 512 }; /* panels of 512 KB; the other factor is packed once more for each such block */

/* What one sum over k adds to a block of y. x is packed: its tiles one after the other. */
typedef struct block {
  float *y;
  size_t ldy;
  const float *x, *w;
  size_t panel;
  const float *bias;
  int accumulate;
  size_t rows, in, out;
} block;

/* The tile at row m and column n; the panels of a wide one are `apart` columns apart. */
static void block_tile(const block *p, size_t m, size_t n, size_t r, size_t columns, size_t apart) {
  float *const y = p->y + m * p->ldy + n;
  const float *const x = p->x + m * p->in;
  const float *const w = p->w + n / MATMUL_PANEL * p->panel + n % MATMUL_PANEL;
  const float *const bias = p->bias ? p->bias + n : NULL;
  if (p->out - n >= TILE_COLUMNS) {
    tile_of(r, columns, y, p->ldy, x, w, p->panel, apart, bias, p->accumulate, p->in);
    return;
  }
  /* The last columns, fewer than a tile has: on a padded copy. */
  float padded[TILE_ROWS * TILE_COLUMNS] = {0}, padded_bias[TILE_COLUMNS] = {0};
  const size_t bytes = (p->out - n) * sizeof(float);
  if (bias) memcpy(padded_bias, bias, bytes);
  for (size_t i = 0; i < r && p->accumulate; i++) memcpy(padded + i * TILE_COLUMNS, y + i * p->ldy, bytes);
  tile_of(r, columns, padded, TILE_COLUMNS, x, w, p->panel, 0, bias ? padded_bias : NULL, p->accumulate, p->in);
  for (size_t i = 0; i < r; i++) memcpy(y + i * p->ldy, padded + i * TILE_COLUMNS, bytes);
}

/* Lines of the next panel that each tile has read, where there are many rows, so that the first tile there finds them
 * in cache: most of a panel, and so few that the processor does not wait (docs/adr/0011). */
enum { LINE = 16, TOUCHED = 6 * LINE, MANY_ROWS = 96 };

/* Weights are read once, in the order in which they lie, and a panel stays in the first-level cache while the rows pass
 * by. One or two rows read several streams side by side, each through its share of the panels. */
static void by_panels(const block *p) {
  size_t n = 0;
  const size_t wide = 8 / p->rows * AN_LANES;
  if (wide > TILE_COLUMNS) {
    const size_t apart = p->out / wide * MATMUL_PANEL;
    for (; n < apart; n += MATMUL_PANEL) block_tile(p, 0, n, p->rows, wide, apart);
    n *= wide / MATMUL_PANEL;
  }
  for (; n < p->out; n += TILE_COLUMNS) {
    const float *next = p->w + at_most(n / MATMUL_PANEL + 1, (p->out - 1) / MATMUL_PANEL) * p->panel;
    const float *const end = next + (p->rows < MANY_ROWS ? 0 : p->in * MATMUL_PANEL);
    for (size_t m = 0, r; m < p->rows; m += r) {
      r = matmul_part(p->rows - m, TILE_ROWS);
      for (size_t i = 0; i < TOUCHED && next < end; i += LINE, next += LINE) (void)*(const volatile float *)next;
      block_tile(p, m, n, r, TILE_COLUMNS, 0);
    }
  }
}

/* y is read and written once, row by row: it is what is large, and the panels are in the second-level cache. */
static void by_rows(const block *p) {
  for (size_t m = 0, r; m < p->rows; m += r) {
    r = matmul_part(p->rows - m, TILE_ROWS);
    for (size_t n = 0; n < p->out; n += TILE_COLUMNS) block_tile(p, m, n, r, TILE_COLUMNS, 0);
  }
}

/* ---- Packing x ---- */

enum { PACKED = MATMUL_ROWS * MATMUL_SUM + 2 * AN_LANES };

/* y (n, rows) = x (rows, n; row stride ldx) transposed, rows <= 2 * AN_LANES. Vectors are written whole, in the order
 * of y: what lies beyond a row the next one overwrites, and there is room beyond the last. */
AN_ONE_COPY static void interleave(float *y, const float *x, size_t ldx, size_t rows, size_t n) {
  const float *row[2 * AN_LANES];
  for (size_t i = 0; i < 2 * AN_LANES; i++) row[i] = x + (i < rows ? i : rows - 1) * ldx;
  size_t k = 0;
  for (; k + AN_LANES <= n; k += AN_LANES) {
    vf low[AN_LANES], high[AN_LANES];
    for (size_t i = 0; i < AN_LANES; i++) low[i] = vf_load(row[i] + k), high[i] = vf_load(row[AN_LANES + i] + k);
    vf_transpose(low);
    vf_transpose(high);
    for (size_t i = 0; i < AN_LANES; i++, y += rows) {
      vf_store(y, low[i]);
      if (rows > AN_LANES) vf_store(y + AN_LANES, high[i]);
    }
  }
  for (; k < n; k++)
    for (size_t i = 0; i < rows; i++) *y++ = row[i][k];
}

/* The same of x transposed, (n, rows). */
static void gather(float *y, const float *x, size_t ldx, size_t rows, size_t n) {
  for (size_t k = 0; k < n; k++, x += ldx)
    for (size_t i = 0; i < rows; i++) *y++ = x[i];
}

static void pack_tiles(float *packed, const float *x, size_t ldx, int transposed, size_t rows, size_t n) {
  for (size_t m = 0, r; m < rows; m += r, packed += r * n) {
    r = matmul_part(rows - m, TILE_ROWS);
    if (transposed)
      gather(packed, x + m, ldx, r, n);
    else
      interleave(packed, x + m * ldx, ldx, r, n);
  }
}

void matmul(float *y, size_t ldy, const float *x, size_t ldx, const float *w, size_t w_in, size_t w_out, size_t n0,
            const float *bias, int accumulate, size_t rows, size_t in, size_t out) {
  float tiles[PACKED];
  block p = {y, ldy, tiles, NULL, 0, NULL, accumulate, rows, 0, out};
  w_out = matmul_columns(w_out);
  size_t k = 0;
  do {
    const size_t height = at_most(w_in - k, MATMUL_SUM);
    p.in = at_most(in - k, MATMUL_SUM), p.panel = height * MATMUL_PANEL;
    p.w = w + k * w_out + n0 * height;
    pack_tiles(tiles, x + k, ldx, 0, rows, p.in);
    if (k + p.in == in) p.bias = bias;
    by_panels(&p);
    p.accumulate = 1, k += p.in;
  } while (k < in);
}

void matmul_rows(float *y, const float *x, const float *w, const float *bias, int accumulate, size_t rows, size_t in,
                 size_t out) {
  for (size_t m = 0, r; m < rows; m += r) {
    r = matmul_part(rows - m, MATMUL_ROWS);
    matmul(y + m * out, out, x + m * in, in, w, in, out, 0, bias, accumulate, r, in, out);
  }
}

/* ---- Sizes ---- */

size_t size_times(size_t a, size_t b) {
  size_t c;
  return __builtin_mul_overflow(a, b, &c) || c > SIZE_TOO_LARGE ? SIZE_TOO_LARGE : c;
}

size_t size_plus(size_t a, size_t b) {
  size_t c;
  return __builtin_add_overflow(a, b, &c) || c > SIZE_TOO_LARGE ? SIZE_TOO_LARGE : c;
}

int matmul_overflows(size_t a, size_t b) {
  size_t bytes;
  return __builtin_mul_overflow(a, b, &bytes) || __builtin_mul_overflow(bytes, sizeof(float), &bytes);
}

/* ---- Packing ---- */

/* y (columns, rows; row stride ldy) = x (rows, columns; row stride ldx) transposed, by squares. */
AN_ONE_COPY static void transpose(float *y, size_t ldy, const float *x, size_t ldx, size_t rows, size_t columns) {
  for (size_t i = 0, n; i < rows; i += n) {
    n = at_most(rows - i, AN_LANES);
    size_t j = 0;
    for (; j + AN_LANES <= columns && n == AN_LANES; j += AN_LANES) {
      vf v[AN_LANES];
      for (size_t k = 0; k < AN_LANES; k++) v[k] = vf_load(x + (i + k) * ldx + j);
      vf_transpose(v);
      for (size_t k = 0; k < AN_LANES; k++) vf_store(y + (j + k) * ldy + i, v[k]);
    }
    for (; j < columns; j++)
      for (size_t k = i; k < i + n; k++) y[j * ldy + k] = x[k * ldx + j];
  }
}

size_t matmul_packed_size(size_t in, size_t out) {
  return size_times(size_plus(out, MATMUL_PANEL - 1) / MATMUL_PANEL * MATMUL_PANEL, in);
}

/* Rows of w at a time: no more than a processor knows pages of. */
enum { PACK_ROWS = 64 };

void matmul_pack(float *packed, const float *w, size_t row_stride, size_t column_stride, size_t in, size_t out) {
  /* w is read in the order in which it lies: where columns are contiguous, one panel after the other. */
  const int columns_lie = column_stride > 1;
  const size_t height = columns_lie ? MATMUL_SUM : PACK_ROWS, width = columns_lie ? MATMUL_PANEL : out;
  for (size_t n0 = 0; n0 < out; n0 += width)
    for (size_t k0 = 0, rows; k0 < in; k0 += rows) {
      rows = at_most(in - k0, height);
      const size_t first = k0 / MATMUL_SUM * MATMUL_SUM, sum = at_most(in - first, MATMUL_SUM);
      float *to = packed + first * matmul_columns(out) + n0 * sum + (k0 - first) * MATMUL_PANEL;
      for (size_t n = n0; n < n0 + width && n < out; n += MATMUL_PANEL, to += sum * MATMUL_PANEL) {
        const size_t columns = at_most(out - n, MATMUL_PANEL);
        const float *from = w + k0 * row_stride + n * column_stride;
        if (columns < MATMUL_PANEL) memset(to, 0, rows * MATMUL_PANEL * sizeof(float));
        if (columns_lie) {
          transpose(to, MATMUL_PANEL, from, column_stride, columns, rows);
          continue;
        }
        for (size_t k = 0; k < rows; k++, from += row_stride)
          for (size_t j = 0; j < columns; j += AN_LANES)
            vf_store_some(to + k * MATMUL_PANEL + j, columns - j, vf_load_some(from + j, columns - j, 0.0f));
      }
    }
}

/* ---- Gradients ---- */

size_t matmul_transposed_size(size_t n, size_t k) {
  return matmul_packed_size(at_most(k, MATMUL_SUM), at_most(n, GRADIENT_COLUMNS));
}

void matmul_transposed(float *y, size_t ldy, const float *a, size_t lda, const float *b, size_t ldb, size_t m, size_t n,
                       size_t k, float *workspace) {
  float packed[PACKED];
  block p = {.ldy = ldy, .x = packed, .w = workspace, .accumulate = 1};
  for (size_t k0 = 0; k0 < k; k0 += p.in) {
    p.in = at_most(k - k0, MATMUL_SUM), p.panel = p.in * MATMUL_PANEL;
    for (size_t n0 = 0; n0 < n; n0 += p.out) {
      p.out = at_most(n - n0, GRADIENT_COLUMNS);
      matmul_pack(workspace, b + k0 * ldb + n0, ldb, 1, p.in, p.out);
      for (size_t m0 = 0; m0 < m; m0 += p.rows) {
        p.rows = matmul_part(m - m0, MATMUL_ROWS);
        pack_tiles(packed, a + k0 * lda + m0, lda, 1, p.rows, p.in);
        p.y = y + m0 * ldy + n0;
        by_rows(&p);
      }
    }
  }
}

void matmul_gradients(float *dweight, float *dbias, const float *x, const float *dy, size_t rows, size_t in, size_t out,
                      float *workspace) {
  if (dweight) matmul_transposed(dweight, in, dy, out, x, in, out, in, rows, workspace);
  if (dbias) sum_columns(dbias, dy, out, rows, out);
}

/* ---- The linear layer ---- */

size_t an_linear_packed_bytes(size_t in, size_t out) {
  /* An empty weight takes a row of a panel all the same: 0 is overflow alone. */
  if (in == 0) in = 1;
  const size_t panels = out ? (out - 1) / MATMUL_PANEL + 1 : 1;
  if (panels > SIZE_MAX / MATMUL_PANEL || matmul_overflows(panels * MATMUL_PANEL, in)) return 0;
  return panels * MATMUL_PANEL * in * sizeof(float);
}

an_status an_linear_pack(float *packed, const float *weight, int layout, size_t in, size_t out) {
  if (layout != AN_OUT_IN && layout != AN_IN_OUT) return AN_UNKNOWN_FLAG;
  if (!an_linear_packed_bytes(in, out)) return AN_SIZE_OVERFLOW;
  if (in == 0 || out == 0) return AN_OK;
  if (!packed || !weight) return AN_NULL_POINTER;
  matmul_pack(packed, weight, layout == AN_OUT_IN ? 1 : out, layout == AN_OUT_IN ? in : 1, in, out);
  return AN_OK;
}

static int linear_overflows(size_t rows, size_t in, size_t out) {
  return matmul_overflows(rows, in) || matmul_overflows(rows, out) || !an_linear_packed_bytes(in, out) ||
         !an_linear_packed_bytes(out, in);
}

an_status an_linear_fwd(float *y, const float *x, const float *packed, const float *bias, size_t activation, double p0,
                        double p1, size_t rows, size_t in, size_t out) {
  const an_status status = activation_check(activation, p0, p1);
  if (status) return status;
  if (linear_overflows(rows, in, out)) return AN_SIZE_OVERFLOW;
  if (rows == 0 || out == 0) return AN_OK;
  if (!y || (in > 0 && (!x || !packed))) return AN_NULL_POINTER;
  if (in == 0) x = packed = y; /* pointers to add 0 to; nothing is read */
  for (size_t m = 0, r; m < rows; m += r) {
    r = matmul_part(rows - m, MATMUL_ROWS);
    float *const part = y + m * out;
    matmul_rows(part, x + m * in, packed, bias, 0, r, in, out);
    if (activation != AN_ACT_identity) activation_apply(part, part, r * out, activation, p0, p1);
  }
  return AN_OK;
}

size_t an_linear_bwd_workspace_bytes(size_t rows, size_t in, size_t out) {
  if (linear_overflows(rows, in, out)) return 0;
  return matmul_transposed_size(in > out ? in : out, rows) * sizeof(float);
}

an_status an_linear_bwd(float *dx, float *dweight, float *dbias, const float *x, const float *dy,
                        const float *packed_bwd, void *workspace, size_t workspace_bytes, int layout, size_t rows,
                        size_t in, size_t out) {
  if (layout != AN_OUT_IN && layout != AN_IN_OUT) return AN_UNKNOWN_FLAG;
  if (linear_overflows(rows, in, out)) return AN_SIZE_OVERFLOW;
  if (rows == 0) return AN_OK;
  if (in == 0) dx = NULL;
  if (in == 0 || out == 0) dweight = NULL;
  if (out == 0) {
    dbias = NULL;
    if (dx) dy = packed_bwd = dx; /* pointers to add 0 to; nothing is read */
  }
  if ((dx && !packed_bwd) || (dweight && (!x || !workspace)) || ((dx || dweight || dbias) && !dy))
    return AN_NULL_POINTER;
  if (dweight && workspace_bytes < an_linear_bwd_workspace_bytes(rows, in, out)) return AN_WORKSPACE_TOO_SMALL;
  if (dx) matmul_rows(dx, dy, packed_bwd, NULL, 0, rows, out, in);
  if (layout == AN_OUT_IN) {
    matmul_gradients(dweight, dbias, x, dy, rows, in, out, workspace);
  } else {
    if (dweight) matmul_transposed(dweight, out, x, in, dy, out, in, out, rows, workspace);
    matmul_gradients(NULL, dbias, x, dy, rows, in, out, workspace);
  }
  return AN_OK;
}
