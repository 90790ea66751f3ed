/* Loops over whole tensors, for the layers above: sums, products, the optimisers' updates. */
#ifndef AN_TENSOR_H
#define AN_TENSOR_H

#include "../include/addnorm.h"

/* 1 if x is a number that a float can hold. */
static inline int is_finite_float(double x) { return x >= -3.4e38 && x <= 3.4e38; }

/* As an_add_fwd, with arguments that have been checked. */
void add_apply(float *out, const float *x, const float *y, double alpha, size_t n);

/* y[i] = factor * x[i]; y may equal x. */
void scale_apply(float *y, const float *x, double factor, size_t n);

/* y[i] = x[i] * z[i]; y may equal either. */
void multiply_apply(float *y, const float *x, const float *z, size_t n);

/* y (rows, d) = x (rows, d) times w (d), column by column; y may equal x. */
void multiply_columns(float *y, const float *x, const float *w, size_t rows, size_t d);

/* sum (d) += the columns of x (rows, d; row stride ld), summed in double and rounded once. */
void sum_columns(float *sum, const float *x, size_t ld, size_t rows, size_t d);
/* sum (d) += the columns of x * y (rows, d each). */
void sum_columns_product(float *sum, const float *x, const float *y, size_t rows, size_t d);

/* The sum of x[i] * y[i], in double. */
double dot_apply(const float *x, const float *y, size_t n);

/* an_sgd_step (velocity NULL: no momentum) and an_adam_step, with arguments that have been checked; what follows from
 * step is worked out. Return 0 if, with `check`, something would not be finite. */
typedef struct sgd_constants {
  float gradient_scale, rate, momentum, fresh, weight_decay; /* fresh: 1 - dampening, 1 in step 1 */
  int nesterov, first;                                       /* first: the velocity is g */
} sgd_constants;
int sgd_apply(float *value, float *velocity, const float *gradient, const sgd_constants *k, int check, size_t n);
typedef struct adam_constants {
  float gradient_scale, beta1, rest1, beta2, rest2; /* rest: 1 - beta */
  float weight_decay;                               /* g += weight_decay * value */
  float rate, root_scale, eps, decay; /* value -= rate * m / (sqrt(v) * root_scale + eps) + decay * value */
} adam_constants;
int adam_apply(float *value, float *m, float *v, const float *gradient, const adam_constants *k, int check, size_t n);

#endif
