/* The activations by number, for the layers above: checked once at the ABI, applied to whole runs of elements. */
#ifndef AN_ACTIVATION_H
#define AN_ACTIVATION_H

#include "../include/addnorm.h"

enum {
#define AN_ACTIVATION(id, ...) AN_ACT_##id,
#include "activation/list.def"
#undef AN_ACTIVATION
  AN_ACTIVATION_COUNT
};

/* AN_OK, AN_UNKNOWN_OP, or AN_INVALID_VALUE for a parameter that is not finite or outside its domain. */
an_status activation_check(size_t activation, double p0, double p1);

/* As an_activation_fwd and an_glu_fwd, with arguments that have been checked. A matrix product calls these on a tile
 * that is still in cache; one more load and store a vector, against a copy of every activation in every kernel. */
void activation_apply(float *y, const float *x, size_t n, size_t activation, double p0, double p1);
void activation_apply_gated(float *y, const float *gate, const float *up, size_t n, size_t activation, double p0,
                            double p1);

/* As an_activation_bwd and an_glu_bwd. */
void activation_gradient(float *dx, const float *x, const float *dy, size_t n, size_t activation, double p0, double p1);
void activation_gradient_gated(float *dgate, float *dup, const float *gate, const float *up, const float *dy, size_t n,
                               size_t activation, double p0, double p1);

#endif
