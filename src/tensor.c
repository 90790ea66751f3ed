/* Loops over whole tensors: sums, products, the optimisers' updates; the permutation of axes. */
#include "tensor.h"

#include "map.h"

/* ---- Element by element ---- */

/* out[i] = op(x[i], y[i], k); out may equal x or y. */
typedef vf (*pair_op)(vf x, vf y, vf k);
AN_INLINE void map_pairs(float *out, const float *x, const float *y, size_t n, pair_op op, vf k) {
  size_t i = 0;
  for (; i + AN_LANES <= n; i += AN_LANES) vf_store(out + i, op(vf_load(x + i), vf_load(y + i), k));
  if (i < n) vf_store_tail(out + i, n - i, op(vf_load_tail(x + i, n - i, 0.0f), vf_load_tail(y + i, n - i, 0.0f), k));
}

/* The product is rounded before the sum. */
AN_INLINE vf op_add(vf x, vf y, vf alpha) { return vf_add(vf_mul(alpha, x), y); }
AN_INLINE vf op_multiply(vf x, vf y, vf unused) {
  (void)unused;
  return vf_mul(x, y);
}
AN_INLINE vf op_scale(vf x, double factor, double unused) {
  (void)unused;
  return vf_mul(vf_set((float)factor), x);
}

AN_ONE_COPY void add_apply(float *out, const float *x, const float *y, double alpha, size_t n) {
  map_pairs(out, x, y, n, op_add, vf_set((float)alpha));
}

AN_ONE_COPY void scale_apply(float *y, const float *x, double factor, size_t n) { map(y, x, n, op_scale, factor, 0); }

AN_ONE_COPY void multiply_apply(float *y, const float *x, const float *z, size_t n) {
  map_pairs(y, x, z, n, op_multiply, vf_set(0.0f));
}

void multiply_columns(float *y, const float *x, const float *w, size_t rows, size_t d) {
  for (size_t row = 0; row < rows; row++) multiply_apply(y + row * d, x + row * d, w, d);
}

an_status an_add_fwd(float *out, const float *x, const float *y, double alpha, size_t n) {
  if (!is_finite_float(alpha)) return AN_INVALID_VALUE;
  if (n > SIZE_MAX / sizeof(float)) return AN_SIZE_OVERFLOW;
  if (n == 0) return AN_OK;
  if (!out || !x || !y) return AN_NULL_POINTER;
  add_apply(out, x, y, alpha, n);
  return AN_OK;
}

an_status an_add_bwd(float *dx, float *dy, const float *dout, double alpha, size_t n) {
  if (!is_finite_float(alpha)) return AN_INVALID_VALUE;
  if (n > SIZE_MAX / sizeof(float)) return AN_SIZE_OVERFLOW;
  if (n == 0) return AN_OK;
  if (!dout) return AN_NULL_POINTER;
  if (dy && dy != dout) memcpy(dy, dout, n * sizeof(float)); /* first: dx may take dout's place */
  if (dx) scale_apply(dx, dout, alpha, n);
  return AN_OK;
}

/* ---- Sums, in double: a product of two floats is exact there ---- */

/* sum[c] += the column c of x * y, where y NULL is a 1 in every element; all rows of STRIP columns at a time. */
AN_ONE_COPY static void add_columns(float *sum, const float *x, const float *y, size_t ld, size_t rows, size_t d) {
  enum { VECTORS = 4, STRIP = VECTORS * AN_LANES };
  float ones[STRIP], part[STRIP] = {0}, part_y[STRIP] = {0};
  for (int i = 0; i < STRIP; i++) ones[i] = 1.0f;
  for (size_t c = 0; c < d; c += STRIP) {
    const size_t width = d - c < STRIP ? d - c : STRIP, ld_y = y ? ld : 0;
    const float *first_y = y ? y + c : ones;
    vd low[VECTORS], high[VECTORS];
    for (int v = 0; v < VECTORS; v++) low[v] = high[v] = vd_set(0.0);
    for (size_t row = 0; row < rows; row++) {
      const float *a = x + row * ld + c, *b = first_y + row * ld_y;
      if (width < STRIP) a = memcpy(part, a, width * sizeof(float)), b = memcpy(part_y, b, width * sizeof(float));
      for (int v = 0; v < VECTORS; v++) {
        const vf va = vf_load(a + v * AN_LANES), vb = vf_load(b + v * AN_LANES);
        low[v] = vd_add(low[v], vd_mul(vd_low(va), vd_low(vb)));
        high[v] = vd_add(high[v], vd_mul(vd_high(va), vd_high(vb)));
      }
    }
    memcpy(part, sum + c, width * sizeof(float));
    for (int v = 0; v < VECTORS; v++) {
      const vf a = vf_load(part + v * AN_LANES);
      vf_store(part + v * AN_LANES, vf_from_vd(vd_add(vd_low(a), low[v]), vd_add(vd_high(a), high[v])));
    }
    memcpy(sum + c, part, width * sizeof(float));
  }
}

void sum_columns(float *sum, const float *x, size_t ld, size_t rows, size_t d) {
  add_columns(sum, x, NULL, ld, rows, d);
}

void sum_columns_product(float *sum, const float *x, const float *y, size_t rows, size_t d) {
  add_columns(sum, x, y, d, rows, d);
}

AN_ONE_COPY double dot_apply(const float *x, const float *y, size_t n) {
  vd low = vd_set(0.0), high = vd_set(0.0);
  for (size_t i = 0; i < n; i += AN_LANES) {
    const vf a = vf_load_some(x + i, n - i, 0.0f), b = vf_load_some(y + i, n - i, 0.0f);
    low = vd_add(low, vd_mul(vd_low(a), vd_low(b)));
    high = vd_add(high, vd_mul(vd_high(a), vd_high(b)));
  }
  return vd_sum(vd_add(low, high));
}

an_status an_sum_squares(double *sum, const float *x, size_t n) {
  if (n > SIZE_MAX / sizeof(float)) return AN_SIZE_OVERFLOW;
  if (n == 0) return AN_OK;
  if (!sum || !x) return AN_NULL_POINTER;
  *sum += dot_apply(x, x, n);
  return AN_OK;
}

/* ---- Optimisers ---- */

/* Lanes beyond the end repeat an element: they are finite if it is. */
AN_INLINE vf load_again(const float *p, size_t n) { return vf_load_some(p, n, *p); }

/* Asked of values and second moments: a velocity or first moment that is not finite makes the value so. */
AN_INLINE vi not_finite(vf a) { return vi_not(vf_le(vf_abs(a), vf_set(0x1.fffffep127f))); }

int sgd_apply(float *value, float *velocity, const float *gradient, const sgd_constants *k, int check, size_t n) {
  const vf scale = vf_set(k->gradient_scale), decay = vf_set(k->weight_decay), rate = vf_set(k->rate);
  const vf momentum = vf_set(k->momentum), fresh = vf_set(k->fresh);
  vi bad = vi_set(0);
  for (size_t i = 0; i < n; i += AN_LANES) {
    const size_t left = n - i;
    vf w = load_again(value + i, left);
    vf g = vf_madd(decay, w, vf_mul(scale, load_again(gradient + i, left)));
    if (velocity) {
      const vf u = k->first ? g : vf_madd(momentum, load_again(velocity + i, left), vf_mul(fresh, g));
      if (!check) vf_store_some(velocity + i, left, u);
      g = k->nesterov ? vf_madd(momentum, u, g) : u;
    }
    w = vf_nmadd(rate, g, w);
    bad = vi_or(bad, not_finite(w));
    if (!check) vf_store_some(value + i, left, w);
  }
  return !check || !vi_any(bad);
}

int adam_apply(float *value, float *m, float *v, const float *gradient, const adam_constants *k, int check, size_t n) {
  const vf scale = vf_set(k->gradient_scale), weight_decay = vf_set(k->weight_decay);
  const vf beta1 = vf_set(k->beta1), rest1 = vf_set(k->rest1), beta2 = vf_set(k->beta2), rest2 = vf_set(k->rest2);
  const vf rate = vf_set(k->rate), root_scale = vf_set(k->root_scale), eps = vf_set(k->eps), decay = vf_set(k->decay);
  vi bad = vi_set(0);
  for (size_t i = 0; i < n; i += AN_LANES) {
    const size_t left = n - i;
    vf w = load_again(value + i, left);
    const vf g = vf_madd(weight_decay, w, vf_mul(scale, load_again(gradient + i, left)));
    const vf m1 = vf_madd(beta1, load_again(m + i, left), vf_mul(rest1, g));
    const vf v1 = vf_madd(beta2, load_again(v + i, left), vf_mul(vf_mul(rest2, g), g));
    const vf root = vf_madd(vf_sqrt(v1), root_scale, eps);
    /* Not w * (1 - decay): 1 - 1e-5 as a float is off by 0.1 % of the decay. */
    w = vf_sub(w, vf_madd(rate, vf_div(m1, root), vf_mul(decay, w)));
    bad = vi_or(bad, vi_or(not_finite(w), not_finite(v1))); /* an infinite v gives a step of 0 */
    if (check) continue;
    vf_store_some(value + i, left, w);
    vf_store_some(m + i, left, m1);
    vf_store_some(v + i, left, v1);
  }
  return !check || !vi_any(bad);
}

/* ---- Permutation of axes ---- */

typedef struct axis {
  size_t n, x, y; /* size, stride in x, stride in y */
} axis;

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
