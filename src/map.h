/* Loop drivers: the body and the padded tail of an element-wise loop are written once, here; no formula is.
 *
 * An op comes as a function whose address is a compile-time constant of an always-inlined call, so nothing is left of
 * the indirection. Tails run the same vector body on a padded copy: a value does not depend on its position.
 */
#ifndef AN_MAP_H
#define AN_MAP_H

#include "simd.h"

typedef vf (*map_op)(vf x, double p0, double p1);

/* y[i] = op(x[i]); y may equal x. */
AN_INLINE void map(float *y, const float *x, size_t n, map_op op, double p0, double p1) {
  size_t i = 0;
  for (; i + AN_LANES <= n; i += AN_LANES) vf_store(y + i, op(vf_load(x + i), p0, p1));
  if (i < n) vf_store_tail(y + i, n - i, op(vf_load_tail(x + i, n - i, 0.0f), p0, p1));
}

/* y[i] = op(gate[i]) * up[i]; y may equal gate or up. */
AN_INLINE void map_gated(float *y, const float *gate, const float *up, size_t n, map_op op, double p0, double p1) {
  size_t i = 0;
  for (; i + AN_LANES <= n; i += AN_LANES)
    vf_store(y + i, vf_mul(op(vf_load(gate + i), p0, p1), vf_load(up + i)));
  if (i < n)
    vf_store_tail(y + i, n - i,
                  vf_mul(op(vf_load_tail(gate + i, n - i, 0.0f), p0, p1), vf_load_tail(up + i, n - i, 0.0f)));
}

#endif
