/* The feed-forward network on packed weights, for the layers above. */
#ifndef AN_FFN_H
#define AN_FFN_H

#include "../include/addnorm.h"

typedef struct ffn {
  const float *gate, *gate_bias; /* gate: NULL if there is none */
  const float *up, *up_bias;
  const float *down, *down_bias;             /* biases: NULL if there are none */
  const float *gate_bwd, *up_bwd, *down_bwd; /* packed for backward: each matrix the other way round */
  size_t d_model, d_ff, activation;
  double p0, p1;
  double dropout; /* in training, of the hidden units */
  uint32_t seed, stream;
} ffn;

/* Where gradients are added; NULL where there is no such parameter. Matrices are [out, in]. */
typedef struct ffn_gradients {
  float *gate, *gate_bias, *up, *up_bias, *down, *down_bias;
} ffn_gradients;

/* Floats that ffn_fwd needs for itself: at most 2^16, however many rows there are. */
size_t ffn_workspace_size(size_t d_ff, int gated, size_t rows);

/* y = down(activation(up(x))), with a gate y = down(activation(gate(x)) * up(x)); x, y (rows, d_model). y must not
 * overlap x. workspace: ffn_workspace_size(...) floats. Arguments have been checked. */
void ffn_fwd(float *y, const float *x, float *workspace, const ffn *f, size_t rows);

/* What ffn_fwd_training keeps, (rows, d_ff) each: the activation's input, with a gate what it is multiplied by, and
 * what goes into `down`. SIZE_TOO_LARGE (matmul.h) if that overflows. */
size_t ffn_saved_size(size_t d_ff, int gated, size_t rows);
typedef struct ffn_saved {
  float *activation_input, *up, *hidden; /* up: NULL without a gate */
} ffn_saved;
ffn_saved ffn_saved_parts(float *saved, size_t d_ff, int gated, size_t rows);

/* As ffn_fwd, with dropout; saved: ffn_saved_size(...) floats. */
void ffn_fwd_training(float *y, const float *x, float *saved, const ffn *f, size_t rows);

/* dx (rows, d_model) overwritten, gradients added to: the sums over rows as matmul_transposed makes them. dx may equal
 * dy, not x. workspace: ffn_bwd_workspace_size(...) floats, those of 256 rows at most. */
size_t ffn_bwd_workspace_size(size_t d_model, size_t d_ff, int gated, size_t rows);
void ffn_bwd(float *dx, const ffn_gradients *gradients, const float *x, const float *dy, const float *saved,
             float *workspace, const ffn *f, size_t rows);

#endif
