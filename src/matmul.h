/* Matrix products on packed weights, for the layers above. */
#ifndef AN_MATMUL_H
#define AN_MATMUL_H

#include "../include/addnorm.h"

/* Rows of one pass over the weights: their part of x (at most 768 columns: 360 KB) stays in the second-level cache. A
 * multiple of the tile's rows, 5 or 6. */
enum { MATMUL_ROWS = 120 };

/* n in parts of at most `max`, all about equal: the size of the next part. 13 in parts of 6: 5, 4, 4. */
static inline size_t matmul_part(size_t n, size_t max) {
  const size_t parts = n / max + (n % max != 0);
  return parts > 1 ? n / parts + (n % parts != 0) : n;
}

/* 1 if the bytes of a * b floats overflow size_t. */
int matmul_overflows(size_t a, size_t b);

/* y (rows, out; row stride ldy) = x (rows, in; row stride ldx) W + bias, or += with `accumulate`: then y holds the sum
 * of the k before these, and the sum goes on from there. Any split of k into calls at multiples of MATMUL_SUM, and of
 * rows into calls, gives the same bits. w: panels, `panel` elements apart, of which rows 0 .. in-1 are read: those from k0 on of a packed weight
 * of panel / 8 rows are at w + 8 k0. bias: out elements or NULL; only for the last part of k. y must not overlap the
 * rest. */
enum { MATMUL_PANEL = 8, MATMUL_SUM = 256 };
void matmul(float *y, size_t ldy, const float *x, size_t ldx, const float *w, size_t panel, const float *bias,
            int accumulate, size_t rows, size_t in, size_t out);

#endif
