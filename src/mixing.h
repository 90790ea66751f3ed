/* What mixes tokens before the FFN: the mean over the sequence, or attention; on packed weights, for the layers above.
 *
 *   mean       y_t = out(mean over s of value(x_s)): attention whose scores are all equal, as at the initialisation of
 *              Xiong et al. 2020, arXiv 2002.04745
 *   attention  y = out(concat over heads of softmax(q k^T / sqrt(d_head)) v): Vaswani et al. 2017, section 3.2; with
 *              query and key norm q and k are RMS-normed over each head first (eps 1e-6)
 *
 * causal: s <= t. Positions where mask is 0 are no s; a t that has no s gets the out layer's bias, or 0.
 */
#ifndef AN_MIXING_H
#define AN_MIXING_H

#include "../include/addnorm.h"

typedef struct mixing {
  const float *query, *query_bias, *key, *key_bias, *value, *value_bias, *out, *out_bias; /* query: NULL for the mean */
  const float *query_bwd, *key_bwd, *value_bwd, *out_bwd;
  const float *query_norm_weight, *key_norm_weight; /* NULL: no query and key norm */
  size_t d_model, heads;
  int causal;
} mixing;

typedef struct mixing_gradients {
  float *query, *query_bias, *key, *key_bias, *value, *value_bias, *out, *out_bias, *query_norm_weight,
      *key_norm_weight;
} mixing_gradients;

/* y, x (batch, length, d_model); y must not overlap x. mask: batch * length elements or NULL. saved:
 * mixing_saved_size(...) floats, or NULL in inference. workspace: mixing_workspace_size(...) floats. A size that
 * overflows is SIZE_TOO_LARGE (matmul.h). Arguments have been checked. */
size_t mixing_workspace_size(const mixing *m, size_t batch, size_t length);
size_t mixing_saved_size(const mixing *m, size_t batch, size_t length);
void mixing_fwd(float *y, const float *x, const float *mask, float *saved, float *workspace, const mixing *m,
                size_t batch, size_t length);

/* dx overwritten, gradients added to. dx may equal dy, not x. */
size_t mixing_bwd_workspace_size(const mixing *m, size_t batch, size_t length);
void mixing_bwd(float *dx, const mixing_gradients *gradients, const float *x, const float *dy, const float *mask,
                const float *saved, float *workspace, const mixing *m, size_t batch, size_t length);

#endif
