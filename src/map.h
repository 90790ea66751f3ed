/* Loop drivers: the body and the padded tail of an element-wise loop are written once, here; no formula is.
 *
 * An op comes as a function whose address is a compile-time constant of an always-inlined call, so nothing is left of
 * the indirection. Tails run the same vector body on a padded copy: a value does not depend on its position.
 */
#ifndef AN_MAP_H
#define AN_MAP_H

#include "simd.h"

typedef vf (*map_op)(vf x, double p0, double p1);

/* y[i] = op(x[i]), n being a multiple of AN_LANES; y may equal x. */
AN_INLINE void map_vectors(float *y, const float *x, size_t n, map_op op, double p0, double p1) {
  for (size_t i = 0; i < n; i += AN_LANES) vf_store(y + i, op(vf_load(x + i), p0, p1));
}

/* The same for n > 0, with the constants in registers: a loop whose body runs in any case has them read in front of it.
 * A short formula takes 0.8 to 0.9 of the time, and some 50 bytes more, gzipped. */
AN_INLINE void map_held(float *y, const float *x, size_t n, map_op op, double p0, double p1) {
  size_t i = 0;
  do vf_store(y + i, op(vf_load(x + i), p0, p1));
  while ((i += AN_LANES) < n);
}

/* y[i] = op(x[i]) * factor[i], n being a multiple of AN_LANES; y may equal x or factor. */
AN_INLINE void map_product(float *y, const float *x, const float *factor, size_t n, map_op op, double p0, double p1) {
  for (size_t i = 0; i < n; i += AN_LANES) vf_store(y + i, vf_mul(op(vf_load(x + i), p0, p1), vf_load(factor + i)));
}

/* y[i] = op(x[i]) for any n; y may equal x. */
AN_INLINE void map(float *y, const float *x, size_t n, map_op op, double p0, double p1) {
  const size_t tail = n % AN_LANES, i = n - tail;
  map_vectors(y, x, i, op, p0, p1);
  if (tail) vf_store_tail(y + i, tail, op(vf_load_tail(x + i, tail, 0.0f), p0, p1));
}

/* ---- Row reductions ---- */

/* Adds a vector's terms to the running sums *a and *b. p is the op's parameter. */
typedef void (*reduce_op)(vf *a, vf *b, vf x, vf p);

/* *a and *b grow by the sums of op's terms over x[0..n). Terms are added in float along four chains of `chain` vectors
 * side by side, and what a block of chains gives is added in double: the error is that of a float sum of chain + 2
 * terms, however long the row is. Lanes of the tail beyond n see `neutral`, for which op must add 0.
 */
AN_INLINE void reduce(double *a, double *b, const float *x, size_t n, int chain, reduce_op op, float p, float neutral) {
  const vf vp = vf_set(p), zero = vf_set(0.0f);
  vd sum_a = vd_set(0.0), sum_b = vd_set(0.0);
  for (size_t i = 0; i < n;) {
    vf a0 = zero, a1 = zero, a2 = zero, a3 = zero, b0 = zero, b1 = zero, b2 = zero, b3 = zero;
    if (i + 4 * AN_LANES <= n) {
      for (int k = 0; k < chain && i + 4 * AN_LANES <= n; k++, i += 4 * AN_LANES) {
        op(&a0, &b0, vf_load(x + i), vp);
        op(&a1, &b1, vf_load(x + i + AN_LANES), vp);
        op(&a2, &b2, vf_load(x + i + 2 * AN_LANES), vp);
        op(&a3, &b3, vf_load(x + i + 3 * AN_LANES), vp);
      }
    } else {
      for (; i + AN_LANES <= n; i += AN_LANES) op(&a0, &b0, vf_load(x + i), vp);
      if (i < n) op(&a1, &b1, vf_load_tail(x + i, n - i, neutral), vp);
      i = n;
    }
    const vf va = vf_add(vf_add(a0, a1), vf_add(a2, a3)), vb = vf_add(vf_add(b0, b1), vf_add(b2, b3));
    sum_a = vd_add(sum_a, vd_add(vd_low(va), vd_high(va)));
    sum_b = vd_add(sum_b, vd_add(vd_low(vb), vd_high(vb)));
  }
  *a += vd_sum(sum_a);
  *b += vd_sum(sum_b);
}

#endif
