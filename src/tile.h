/* The tile of a matrix product that is held in registers. */
#ifndef AN_TILE_H
#define AN_TILE_H

#include "simd.h"

enum { TILE_PANEL = 8 };

/* The largest tile, TILE_COLUMNS wide unless it has one or two rows. */
#if defined(AN_SCALAR)
enum { TILE_ROWS = 2, TILE_COLUMNS = 4 };
#elif defined(__wasm_relaxed_simd__) || defined(AN_TEST_FUSED)
enum { TILE_ROWS = 6, TILE_COLUMNS = 8 };
#else
enum { TILE_ROWS = 5, TILE_COLUMNS = 8 };
#endif

/* y (r, columns; row stride ldy) = the product over k of x (in, r) and w (in, columns) + bias, or += with `accumulate`:
 * one sum in the order of k, added last. r <= TILE_ROWS; TILE_COLUMNS columns, or 8 vectors of them in one row, 4 in
 * two: then from panels that are `apart` columns apart in y, bias (or NULL) and w, where two neighbours are `panel`
 * elements apart. */
void tile_of(size_t r, size_t columns, float *y, size_t ldy, const float *x, const float *w, size_t panel, size_t apart,
             const float *bias, int accumulate, size_t in);

#endif
