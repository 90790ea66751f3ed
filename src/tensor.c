/* The residual addition and the permutation of axes. */
#include "tensor.h"

#include "map.h"

typedef struct axis {
  size_t n, x, y; /* size, stride in x, stride in y */
} axis;

void add_apply(float *out, const float *x, const float *y, double alpha, size_t n) {
  const vf a = vf_set((float)alpha);
  size_t i = 0;
  for (; i + AN_LANES <= n; i += AN_LANES) vf_store(out + i, vf_add(vf_mul(a, vf_load(x + i)), vf_load(y + i)));
  if (i < n)
    vf_store_tail(out + i, n - i,
                  vf_add(vf_mul(a, vf_load_tail(x + i, n - i, 0.0f)), vf_load_tail(y + i, n - i, 0.0f)));
}

an_status an_add_fwd(float *out, const float *x, const float *y, double alpha, size_t n) {
  if (!(alpha >= -3.4e38 && alpha <= 3.4e38)) return AN_INVALID_VALUE;
  if (n > SIZE_MAX / sizeof(float)) return AN_SIZE_OVERFLOW;
  if (n == 0) return AN_OK;
  if (!out || !x || !y) return AN_NULL_POINTER;
  add_apply(out, x, y, alpha, n);
  return AN_OK;
}

/* Axis `row` of the list runs along memory in y, axis `col` in x. In squares of TILE, so that of both arrays a few
 * lines are in use at a time. row == col: both run along memory. */
static void permute_plane(float *y, const float *x, const axis *row, const axis *col) {
  enum { TILE = 16 };
  if (row == col) {
    memcpy(y, x, row->n * sizeof(float));
    return;
  }
  for (size_t c0 = 0; c0 < col->n; c0 += TILE) {
    const size_t c1 = col->n - c0 < TILE ? col->n : c0 + TILE;
    for (size_t r0 = 0; r0 < row->n; r0 += TILE) {
      const size_t r1 = row->n - r0 < TILE ? row->n : r0 + TILE;
      for (size_t c = c0; c < c1; c++)
        for (size_t r = r0; r < r1; r++) y[c * col->y + r] = x[r * row->x + c];
    }
  }
}

an_status an_permute(float *y, const float *x, const uint32_t *shape, const uint32_t *perm, size_t rank) {
  if (rank > 8) return AN_INVALID_SHAPE;
  if (rank > 0 && (!shape || !perm)) return AN_NULL_POINTER;
  unsigned seen = 0;
  for (size_t i = 0; i < rank; i++) {
    if (perm[i] >= rank || (seen >> perm[i] & 1)) return AN_INVALID_VALUE;
    seen |= 1u << perm[i];
  }
  size_t n = 1, bytes;
  for (size_t i = 0; i < rank; i++)
    if (shape[i] == 0) return AN_OK;
  for (size_t i = 0; i < rank; i++)
    if (__builtin_mul_overflow(n, (size_t)shape[i], &n)) return AN_SIZE_OVERFLOW;
  if (__builtin_mul_overflow(n, sizeof(float), &bytes)) return AN_SIZE_OVERFLOW;
  if (!y || !x) return AN_NULL_POINTER;

  /* x's axes with their strides; then axes of one element go, and neighbours in x that stay neighbours in y become one.
   */
  axis axes[8];
  for (size_t i = rank, stride = 1; i-- > 0; stride *= shape[i]) axes[i].n = shape[i], axes[i].x = stride;
  for (size_t i = rank, stride = 1; i-- > 0; stride *= shape[perm[i]]) axes[perm[i]].y = stride;
  size_t count = 0;
  for (size_t i = 0; i < rank; i++) {
    if (axes[i].n == 1) continue;
    if (count && axes[count - 1].x == axes[i].n * axes[i].x && axes[count - 1].y == axes[i].n * axes[i].y)
      axes[count - 1] = (axis){axes[count - 1].n * axes[i].n, axes[i].x, axes[i].y};
    else
      axes[count++] = axes[i];
  }
  if (count == 0) {
    y[0] = x[0];
    return AN_OK;
  }
  size_t row = 0;
  while (axes[row].y != 1) row++;
  const size_t col = count - 1;

  size_t index[8] = {0}, at_x = 0, at_y = 0;
  for (;;) {
    permute_plane(y + at_y, x + at_x, &axes[row], &axes[col]);
    size_t i = count; /* the next plane: an odometer over the other axes */
    while (i-- > 0) {
      if (i == row || i == col) continue;
      at_x += axes[i].x, at_y += axes[i].y;
      if (++index[i] < axes[i].n) break;
      at_x -= axes[i].n * axes[i].x, at_y -= axes[i].n * axes[i].y, index[i] = 0;
    }
    if (i == SIZE_MAX) return AN_OK;
  }
}
