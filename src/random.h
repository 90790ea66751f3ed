/* The counter-based generator, for tests of its known answers. */
#ifndef AN_RANDOM_H
#define AN_RANDOM_H

#include "../include/addnorm.h"

/* Philox4x32-10: 128 random bits that are a function of a 128-bit counter and a 64-bit key alone. */
void philox4x32(uint32_t out[4], const uint32_t counter[4], const uint32_t key[2]);

/* x with P(X <= x) = p for a standard normal X; p in (0, 1). Relative error of x below 2e-15. */
double normal_quantile(double p);

/* log(1 + x), x >= 0 and finite. Relative error below 1e-15. */
double log1p_series(double x);

/* an_dropout on n elements of a longer run, the first of which is the run's first-th. */
void dropout_apply(float *y, const float *x, double p, uint32_t seed, uint32_t stream, uint64_t first, size_t n);

#endif
