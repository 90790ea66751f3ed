/* Loops over whole tensors, for the layers above: sums, products, the optimisers' updates. */
#ifndef AN_TENSOR_H
#define AN_TENSOR_H

#include "../include/addnorm.h"

/* As an_add_fwd, with arguments that have been checked. */
void add_apply(float *out, const float *x, const float *y, double alpha, size_t n);

/* y[i] = factor * x[i]; y may equal x. */
void scale_apply(float *y, const float *x, double factor, size_t n);

/* y[i] = x[i] * z[i]; y may equal either. */
void multiply_apply(float *y, const float *x, const float *z, size_t n);

/* y (rows, d) = x (rows, d) times w (d), column by column; y may equal x. */
void multiply_columns(float *y, const float *x, const float *w, size_t rows, size_t d);

/* sum (d) += the columns of x (rows, d; row stride ld), in double or in sums of 32 rows: the error is that of
 * rows / 32 + 34 additions. */
void sum_columns(float *sum, const float *x, size_t ld, size_t rows, size_t d);
/* sum (d) += the columns of x * y (rows, d each). */
void sum_columns_product(float *sum, const float *x, const float *y, size_t rows, size_t d);

/* The sum of x[i] * y[i], in double. */
double dot_apply(const float *x, const float *y, size_t n);

/* an_sgd_step and an_adam_step, with arguments that have been checked; what follows from step is worked out. Return 0 if,
 * with `check`, something would not be finite. */
typedef struct sgd_constants {
  float gradient_scale, rate, momentum, fresh, weight_decay; /* fresh: 1 - dampening, 1 in step 1 */
  int nesterov, first;                                       /* first: the velocity is g */
} sgd_constants;
int sgd_apply(float *value, float *velocity, const float *gradient, const sgd_constants *k, int check, size_t n);
typedef struct adam_constants {
  float gradient_scale, beta1, rest1, beta2, rest2; /* rest: 1 - beta */
  float keep, weight_decay;                         /* decoupled decay: value *= keep; else g += weight_decay * value */
  float rate, root_scale, eps;                      /* value -= rate * m / (sqrt(v) * root_scale + eps) */
} adam_constants;
int adam_apply(float *value, float *m, float *v, const float *gradient, const adam_constants *k, int check, size_t n);

#endif
