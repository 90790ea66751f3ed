/* The one file that is compiled for speed (docs/adr/0009): loops over what is in registers have to unroll. */
#include "tile.h"

#include "../include/addnorm.h"

enum { PANEL_VECTORS = TILE_PANEL / AN_LANES };

/* A tile of r rows and v vectors of columns, both constant at every call: the loops over them unroll. */
AN_INLINE void tile(float *y, size_t ldy, const float *x, const float *w, size_t panel, size_t apart, const float *bias,
                    int accumulate, size_t in, const size_t r, const size_t v) {
  enum { MAX_VECTORS = 8 };
  vf sum[TILE_ROWS][MAX_VECTORS], a[TILE_ROWS], b[MAX_VECTORS];
  for (size_t i = 0; i < r; i++)
    for (size_t j = 0; j < v; j++) sum[i][j] = vf_set(0);

  const size_t stride = apart / TILE_PANEL * panel;
  for (const float *const end = x + in * r; x < end; x += r, w += TILE_PANEL) {
    /* The longer side of the tile is read one vector at a time: it needs one
     * register. */
    if (r < v) {
      for (size_t i = 0; i < r; i++) a[i] = vf_load_splat(x + i);
      for (size_t j = 0; j < v; j++) {
        b[j] = vf_load(w + j / PANEL_VECTORS * stride + j % PANEL_VECTORS * AN_LANES);
        for (size_t i = 0; i < r; i++) sum[i][j] = vf_madd(a[i], b[j], sum[i][j]);
      }
    } else {
      for (size_t j = 0; j < v; j++) b[j] = vf_load(w + j / PANEL_VECTORS * stride + j % PANEL_VECTORS * AN_LANES);
      for (size_t i = 0; i < r; i++) {
        a[i] = vf_load_splat(x + i);
        for (size_t j = 0; j < v; j++) sum[i][j] = vf_madd(a[i], b[j], sum[i][j]);
      }
    }
  }

  for (size_t i = 0; i < r; i++)
    for (size_t j = 0; j < v; j++) {
      const size_t at = j / PANEL_VECTORS * apart + j % PANEL_VECTORS * AN_LANES;
      if (accumulate) sum[i][j] = vf_add(vf_load(y + i * ldy + at), sum[i][j]);
      if (bias) sum[i][j] = vf_add(sum[i][j], vf_load(bias + at));
      vf_store(y + i * ldy + at, sum[i][j]);
    }
}

void tile_of(size_t r, size_t columns, float *y, size_t ldy, const float *x, const float *w, size_t panel, size_t apart,
             const float *bias, int accumulate, size_t in) {
#define TILE(r, v)                                                                    \
  case r:                                                                             \
    if (r <= TILE_ROWS) tile(y, ldy, x, w, panel, apart, bias, accumulate, in, r, v); \
    break
  if (columns > TILE_COLUMNS) {
    switch (r) {
      TILE(1, 8);
      TILE(2, 4);
    }
  } else {
    switch (r) {
      TILE(1, TILE_COLUMNS / AN_LANES);
      TILE(2, TILE_COLUMNS / AN_LANES);
      TILE(3, TILE_COLUMNS / AN_LANES);
      TILE(4, TILE_COLUMNS / AN_LANES);
      TILE(5, TILE_COLUMNS / AN_LANES);
      TILE(6, TILE_COLUMNS / AN_LANES);
    }
  }
#undef TILE
}

/* ---- Limits ---- */

double an_limit_multiply_add(size_t steps) {
  enum {
    CHAINS = 12
  }; /* as many as the largest tile has: enough to hide the latency, and all fit
        in registers */
  vf sum[CHAINS], total = vf_set(0);
  static volatile const float given = 0.5f; /* of a constant that it knows V8 makes a new copy at every use */
  const vf half = vf_set(given);
  for (int i = 0; i < CHAINS; i++) sum[i] = total;
#pragma GCC unroll 1
  for (size_t k = 0; k < steps; k++)
    for (int i = 0; i < CHAINS; i++) sum[i] = vf_madd(sum[i], half, half); /* goes to 1: never subnormal, never large */
  for (int i = 0; i < CHAINS; i++) total = vf_add(total, sum[i]);
  /* The sum has no part in the result, but the compiler must not know. */
  return 2.0 * CHAINS * AN_LANES * (double)steps + (vf_sum(total) < 0);
}

double an_limit_read(const float *x, size_t n) {
  /* Several streams side by side: the memory answers more than one at a time. */
  enum { STREAMS = 8 };
  const size_t part = n / (STREAMS * AN_LANES) * AN_LANES;
  vf sum[STREAMS], total = vf_set(0);
  for (int i = 0; i < STREAMS; i++) sum[i] = total;
#pragma GCC unroll 1
  for (size_t k = 0; k < part; k += AN_LANES)
    for (size_t i = 0; i < STREAMS; i++) sum[i] = vf_add(sum[i], vf_load(x + i * part + k));
  for (int i = 0; i < STREAMS; i++) total = vf_add(total, sum[i]);
  for (size_t k = STREAMS * part; k < n; k += AN_LANES) total = vf_add(total, vf_load_some(x + k, n - k, 0.0f));
  return (double)vf_sum(total);
}
