/* The feed-forward network on packed weights, for the layers above. */
#ifndef AN_FFN_H
#define AN_FFN_H

#include "../include/addnorm.h"

typedef struct ffn {
  const float *gate, *gate_bias; /* gate: NULL if there is none */
  const float *up, *up_bias;
  const float *down, *down_bias; /* biases: NULL if there are none */
  size_t d_model, d_ff, activation;
  double p0, p1;
} ffn;

/* Floats that ffn_fwd needs for itself: at most 2^16, however many rows there are. */
size_t ffn_workspace_size(size_t d_ff, int gated, size_t rows);

/* y = down(activation(up(x))), with a gate y = down(activation(gate(x)) * up(x)); x, y (rows, d_model). y must not
 * overlap x. workspace: ffn_workspace_size(...) floats. Arguments have been checked. */
void ffn_fwd(float *y, const float *x, float *workspace, const ffn *f, size_t rows);

#endif
