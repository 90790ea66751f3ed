/* The sublayers of a block, forward and backward, for the stack above. */
#ifndef AN_BLOCK_H
#define AN_BLOCK_H

#include "plan.h"

/* A pass under way. */
typedef struct pass {
  const plan *p;
  float *packed; /* written where running statistics are */
  const float *packed_bwd;
  float *gradients;
  const float *mask;
  uint32_t seed;
  int training;
  size_t batch, length;
} pass;

/* A norm of the pass: weight, bias and alpha follow each other in the list of parameters. */
typedef struct norm_place {
  size_t layer;        /* from 0 */
  int weight, running; /* parameters */
} norm_place;

/* y = norm of x, rows being batch * length; y may equal x. mask: of these rows. */
void block_norm(const pass *s, norm_place at, float *y, const float *x, const float *mask, size_t batch, size_t length);
/* dx may equal x or dy; gradients of the parameters are added to. Over all rows of the pass. */
void block_norm_gradient(const pass *s, norm_place at, float *dx, const float *x, const float *dy);

/* Whether the norm's statistics go over the rows of a sequence, padding too. */
int block_norm_spans_sequence(const plan *p);

/* Sublayers are numbered through the layers. */
size_t block_sublayers(const plan *p);
int block_is_mixing(const plan *p, size_t sublayer);

/* Floats of workspace of a sublayer in inference, and of what it keeps in training. */
size_t block_inference_size(const plan *p, size_t batch, size_t length);
size_t block_saved_size(const plan *p, size_t sublayer, size_t batch, size_t length);
/* Of workspace of block_training and block_backward: for any sublayer. */
size_t block_training_size(const plan *p, size_t batch, size_t length);
size_t block_backward_size(const plan *p, size_t batch, size_t length);

/* y, x (batch, length, d_model); y must not overlap x. */
void block_inference(const pass *s, size_t sublayer, float *y, const float *x, float *workspace);
void block_training(const pass *s, size_t sublayer, float *y, const float *x, float *saved, float *workspace);

/* dy becomes dx. x, y: what entered and left. probe: one row of an_probe_count() doubles or NULL, of which the part
 * that the branch tells is written. */
void block_backward(const pass *s, size_t sublayer, float *dy, const float *x, const float *y, const float *saved,
                    float *workspace, double *probe);

/* The part that the stream tells, of what enters and its gradient. */
void block_probe_stream(const pass *s, const float *x, const float *gradient, double *probe);

/* What backward tells, in the order of an_probe_name. */
enum {
  PROBE_mean,
  PROBE_std,
  PROBE_rms,
  PROBE_gradient,
  PROBE_branch_rms,
  PROBE_cosine,
  PROBE_dead,
  PROBE_saturated,
  PROBE_nonfinite,
  PROBE_COUNT
};

#endif
