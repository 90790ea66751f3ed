/* The norms by number, for the layers above: checked once at the ABI, applied to rows. */
#ifndef AN_NORM_H
#define AN_NORM_H

#include "../include/addnorm.h"

enum { AN_AFFINE_none, AN_AFFINE_weight, AN_AFFINE_weight_bias, AN_AFFINE_COUNT };

enum {
#define AN_NORM(id, ...) AN_NORM_##id,
#include "norm/list.def"
#undef AN_NORM
  AN_NORM_COUNT
};

/* AN_OK, or AN_INVALID_VALUE for an eps that is negative or not finite, or an offset that is not a finite float. */
an_status norm_check(double eps, double weight_offset);

/* As the functions of include/addnorm.h, with arguments that have been checked. */

/* an_norm_fwd, an_add_norm_fwd. norm is one of kind "row". */
void norm_apply(float *y, float *mean, float *rstd, const float *x, const float *weight, const float *bias,
                const float *alpha, size_t norm, double eps, double weight_offset, size_t rows, size_t d);
void norm_apply_add(float *sum, float *y, float *mean, float *rstd, const float *x, const float *residual,
                    const float *weight, const float *bias, const float *norm_alpha, size_t norm, double alpha,
                    double eps, double weight_offset, size_t rows, size_t d);

/* an_batch_norm_fwd, an_group_norm_fwd. */
void batch_norm_apply(float *y, float *mean, float *rstd, float *running_mean, float *running_var, const float *x,
                      const float *weight, const float *bias, const float *mask, double eps, double momentum,
                      double weight_offset, int training, int biased_running, size_t outer, size_t channels,
                      size_t inner);
void group_norm_apply(float *y, float *mean, float *rstd, const float *x, const float *weight, const float *bias,
                      double eps, double weight_offset, size_t groups, size_t batch, size_t length, size_t channels,
                      size_t inner);

/* an_norm_bwd, an_batch_norm_bwd, an_group_norm_bwd. */
void norm_gradient(float *dx, float *dweight, float *dbias, float *dalpha, const float *x, const float *dy,
                   const float *weight, const float *alpha, size_t norm, double eps, double weight_offset, size_t rows,
                   size_t d);
void batch_norm_gradient(float *dx, float *dweight, float *dbias, const float *x, const float *dy, const float *weight,
                         const float *mask, const float *running_mean, const float *running_var, double eps,
                         double weight_offset, int training, size_t outer, size_t channels, size_t inner);
void group_norm_gradient(float *dx, float *dweight, float *dbias, const float *x, const float *dy, const float *weight,
                         double eps, double weight_offset, size_t groups, size_t batch, size_t length, size_t channels,
                         size_t inner);

#endif
