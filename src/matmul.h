/* Matrix products on packed weights, for the layers above. */
#ifndef AN_MATMUL_H
#define AN_MATMUL_H

#include "../include/addnorm.h"

/* Rows of one pass over the weights: what a sum needs of x, 180 KB, stays in the second-level cache, and weights that
 * no cache holds are read as seldom as can be. A multiple of the tile's rows, 5 or 6. */
enum { MATMUL_ROWS = 180 };

/* n in parts of at most `max`, all about equal: the size of the next part. 13 in parts of 6: 5, 4, 4. */
static inline size_t matmul_part(size_t n, size_t max) {
  const size_t parts = n / max + (n % max != 0);
  return parts > 1 ? n / parts + (n % parts != 0) : n;
}

static inline size_t at_most(size_t n, size_t max) { return n < max ? n : max; }

/* Sizes of buffers in floats. What overflows is SIZE_TOO_LARGE: no memory has it, and a sum of it and a few sizes that
 * there are does not wrap around. */
#define SIZE_TOO_LARGE (SIZE_MAX / 2)
size_t size_times(size_t a, size_t b);
size_t size_plus(size_t a, size_t b);

/* 1 if the bytes of a * b floats overflow size_t. */
int matmul_overflows(size_t a, size_t b);

/* A packed weight W (in, out): blocks of MATMUL_SUM neighbours in k, each of panels of MATMUL_PANEL columns, each panel
 * row by row, the last one filled up with zeros. That is the order in which a product reads it. */
enum { MATMUL_PANEL = 8, MATMUL_SUM = 256 };

/* n columns filled up to whole panels: k rows of W before a block are k * matmul_columns(out) floats. */
static inline size_t matmul_columns(size_t n) { return (n + MATMUL_PANEL - 1) / MATMUL_PANEL * MATMUL_PANEL; }

/* Of at most MATMUL_ROWS rows: y (rows, out; row stride ldy) = x (rows, in; row stride ldx) W + bias, or += with
 * `accumulate`: then y holds the sum of the k before these, and the sum goes on from there. Any split of k into calls
 * at multiples of MATMUL_SUM, and of rows into calls, gives the same bits. W: rows 0 .. in-1 and columns n0 .. n0+out-1
 * of w, packed (w_in, w_out), n0 a multiple of MATMUL_PANEL; from a block on what is packed is itself a packed weight.
 * bias: out elements or NULL; only for the last part of k. y must not overlap the rest. */
void matmul(float *y, size_t ldy, const float *x, size_t ldx, const float *w, size_t w_in, size_t w_out, size_t n0,
            const float *bias, int accumulate, size_t rows, size_t in, size_t out);

/* The same on matrices without strides, in blocks of MATMUL_ROWS. */
void matmul_rows(float *y, const float *x, const float *w, const float *bias, int accumulate, size_t rows, size_t in,
                 size_t out);

/* Packs a matrix w (in, out) that lies at strides of its own, one of which is 1: matmul_columns(out) * in floats;
 * SIZE_TOO_LARGE if that overflows. */
void matmul_pack(float *packed, const float *w, size_t row_stride, size_t column_stride, size_t in, size_t out);
size_t matmul_packed_size(size_t in, size_t out);

/* y (m, n; row stride ldy) += a^T b, a (k, m; row stride lda), b (k, n; row stride ldb): sums over MATMUL_SUM
 * neighbours in k, added to y in their order. workspace: matmul_transposed_size(n, k) floats, at most 131,072 however
 * large n and k are. y must not overlap the rest. */
void matmul_transposed(float *y, size_t ldy, const float *a, size_t lda, const float *b, size_t ldb, size_t m, size_t n,
                       size_t k, float *workspace);
size_t matmul_transposed_size(size_t n, size_t k);

/* Of y = x W^T + b: dweight (out, in) += dy^T x, dbias += sum over rows of dy; either may be NULL. x (rows, in), dy
 * (rows, out). workspace: matmul_transposed_size(in, rows) floats. */
void matmul_gradients(float *dweight, float *dbias, const float *x, const float *dy, size_t rows, size_t in, size_t out,
                      float *workspace);

#endif
