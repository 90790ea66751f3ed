/* Modules: a stack of blocks with its ends, or one block, forward and backward. Vector code stands below this file.
 *
 * In inference two streams take turns. In training all are kept, one behind each sublayer, and backward goes through
 * them in the other order with one gradient, that of the stream of the moment.
 */
#include <string.h>

#include "activation.h"
#include "block.h"
#include "norm.h"
#include "tensor.h"
#include "text.h"

size_t an_probe_count(void) { return PROBE_COUNT; }

const char *an_probe_name(size_t value) {
  static const char names[] = "mean\0std\0rms\0gradient\0branch_rms\0cosine\0dead\0saturated\0nonfinite";
  return value < PROBE_COUNT ? text_at(names, value) : NULL;
}

size_t an_module_probe_count(const double *config) {
  plan p;
  return plan_make(&p, config) ? 0 : block_sublayers(&p) + 1;
}

/* ---- Ends ---- */

static int has_final_norm(const plan *p) {
  return p->whole_stack && plan_option(p, AN_FIELD_norm) != AN_NORM_none && plan_option(p, AN_FIELD_final_norm);
}
/* The stream at the start is made from x, not x itself (where a norm sees padding, that is cleared first); and y from
 * the stream at the end. */
static int has_start(const plan *p) { return p->d_in > 0 || p->positions > 0 || block_norm_spans_sequence(p); }
static int has_end(const plan *p) { return p->d_out > 0 || has_final_norm(p); }
static size_t width_in(const plan *p) { return p->d_in ? p->d_in : p->d_model; }
static size_t width_out(const plan *p) { return p->d_out ? p->d_out : p->d_model; }

static const norm_place final_norm = {0, P_final_norm_weight, P_final_norm_running_mean};

static float *own(const layout *l, const plan *p, const float *buffer, int id) {
  return plan_find(p, l, (float *)buffer, 0, id);
}

/* Padding counts as 0, whatever stands there: a norm over the sequence sees it, and 0 * NaN would reach the gradients
 * of the weights. */
static void clear_padding(const pass *s, float *x, size_t width) {
  for (size_t r = 0; s->mask && r < s->batch * s->length; r++)
    if (s->mask[r] == 0) memset(x + r * width, 0, width * sizeof(float));
}

static void start(const pass *s, float *stream, const float *x) {
  const plan *p = s->p;
  const size_t d = p->d_model, rows = s->batch * s->length;
  if (p->d_in)
    an_linear_fwd(stream, x, own(&p->packed, p, s->packed, P_input), own(&p->packed, p, s->packed, P_input_bias),
                  AN_ACT_identity, 0, 0, rows, p->d_in, d);
  else
    memcpy(stream, x, rows * d * sizeof(float));
  const float *const position = own(&p->packed, p, s->packed, P_position);
  for (size_t b = 0; b < s->batch && position; b++) {
    float *const sequence = stream + b * s->length * d;
    add_apply(sequence, sequence, position, 1, s->length * d);
  }
  clear_padding(s, stream, d);
}

/* stream: becomes its norm if a head comes behind that and there is no room for it elsewhere. */
static void end(const pass *s, float *y, const float *stream, float *normed) {
  const plan *p = s->p;
  if (has_final_norm(p)) {
    float *const to = p->d_out ? normed : y;
    block_norm(s, final_norm, to, stream, s->mask, s->batch, s->length);
    stream = to;
  }
  if (p->d_out)
    an_linear_fwd(y, stream, own(&p->packed, p, s->packed, P_head), own(&p->packed, p, s->packed, P_head_bias),
                  AN_ACT_identity, 0, 0, s->batch * s->length, p->d_model, p->d_out);
}

/* ---- Sizes ---- */

static size_t align4(size_t floats) { return (floats + 3) / 4 * 4; }

/* The rows, if their sizes can be told: below the bound no sum of a sublayer's sizes overflows, and what is beyond it
 * has no room in memory, being needed many times. A row norm in inference works on a few rows at a time. */
static an_status measure(const plan *p, int training, size_t batch, size_t length, size_t *rows) {
  const int whole = training || p->sublayers == 2 || p->whole_stack;
  size_t widest = width_in(p) > width_out(p) ? width_in(p) : width_out(p);
  if (whole && p->d_ff > widest) widest = p->d_ff;
  const size_t most = SIZE_MAX / (whole ? 16 : sizeof(float)) / widest;
  return __builtin_mul_overflow(batch, length, rows) || *rows > most ? AN_SIZE_OVERFLOW : AN_OK;
}

/* 0 if that overflows. */
static size_t bytes_of(double floats) {
  return floats * sizeof(float) > (double)SIZE_MAX ? 0 : (size_t)floats * sizeof(float);
}

/* What a module keeps: x where it is projected, the stream at the start, and of each sublayer what it keeps and the
 * stream behind it; then the last norm's result where a head comes behind that. */
static size_t kept_input(const plan *p, size_t rows) { return p->d_in ? align4(rows * p->d_in) : 0; }
static size_t kept_normed(const plan *p, size_t rows) {
  return has_final_norm(p) && p->d_out ? align4(rows * p->d_model) : 0;
}
static size_t kept_step(const plan *p, size_t sublayer, size_t batch, size_t length) {
  return align4(block_saved_size(p, sublayer, batch, length)) + align4(batch * length * p->d_model);
}

static size_t saved_bytes(const plan *p, size_t batch, size_t length, size_t rows) {
  double layer = 0;
  for (int i = 0; i < p->sublayers; i++) layer += (double)kept_step(p, (size_t)i, batch, length);
  return bytes_of((double)kept_input(p, rows) + (double)align4(rows * p->d_model) + (double)p->layers * layer +
                  (double)kept_normed(p, rows));
}

size_t an_module_saved_bytes(const double *config, size_t batch, size_t length) {
  plan p;
  size_t rows;
  if (plan_make(&p, config) || measure(&p, 1, batch, length, &rows) || rows == 0) return 0;
  return saved_bytes(&p, batch, length, rows);
}

/* Streams that inference needs beside x and y: every step writes one, the last one y. */
static size_t steps_of(const plan *p) { return block_sublayers(p) + (size_t)has_start(p) + (size_t)has_end(p); }
static size_t streams_of(const plan *p) { return steps_of(p) < 3 ? steps_of(p) - 1 : 2; }

enum { INFERENCE, TRAINING, BACKWARD };

static size_t workspace_bytes_of(const plan *p, int kind, size_t batch, size_t length, size_t rows) {
  if (rows == 0) return 0;
  const size_t d = p->d_model;
  /* Never none: a pointer is asked for. */
  if (kind == TRAINING) return bytes_of((double)block_training_size(p, batch, length) + 4);
  const double stream = (double)align4(rows * d);
  if (kind == INFERENCE)
    return bytes_of((double)block_inference_size(p, batch, length) + stream * (double)streams_of(p));
  size_t most = block_backward_size(p, batch, length);
  const size_t input = p->d_in ? an_linear_bwd_workspace_bytes(rows, p->d_in, d) / sizeof(float) : 0;
  const size_t head = p->d_out ? an_linear_bwd_workspace_bytes(rows, d, p->d_out) / sizeof(float) : 0;
  if (most < input) most = input;
  if (most < head) most = head;
  return bytes_of(stream + (double)most);
}

size_t an_module_workspace_bytes(const double *config, int training, size_t batch, size_t length) {
  plan p;
  size_t rows;
  if (training < INFERENCE || training > BACKWARD) return 0;
  if (plan_make(&p, config) || measure(&p, training != INFERENCE, batch, length, &rows)) return 0;
  return workspace_bytes_of(&p, training, batch, length, rows);
}

/* ---- Forward ---- */

static void infer(const pass *s, float *y, const float *x, float *workspace) {
  const plan *p = s->p;
  const size_t stream = align4(s->batch * s->length * p->d_model), sublayers = block_sublayers(p);
  float *const streams[2] = {workspace, workspace + stream};
  float *const rest = workspace + streams_of(p) * stream;
  size_t left = steps_of(p);
#define NEXT (--left ? streams[left % streams_of(p)] : y)
  if (has_start(p)) {
    float *const to = NEXT;
    start(s, to, x);
    x = to;
  }
  for (size_t i = 0; i < sublayers; i++) {
    float *const to = NEXT;
    block_inference(s, i, to, x, rest);
    x = to;
  }
#undef NEXT
  if (has_end(p)) end(s, y, x, (float *)x);
}

static void train(const pass *s, float *y, const float *x, float *saved, float *workspace) {
  const plan *p = s->p;
  const size_t rows = s->batch * s->length, stream = align4(rows * p->d_model), sublayers = block_sublayers(p);
  float *at = saved + kept_input(p, rows);
  if (p->d_in) {
    memcpy(saved, x, rows * p->d_in * sizeof(float));
    clear_padding(s, saved, p->d_in);
    x = saved;
  }
  start(s, at, x);
  for (size_t i = 0; i < sublayers; i++) {
    const float *const in = at;
    float *const kept = at + stream;
    at += kept_step(p, i, s->batch, s->length);
    block_training(s, i, at, in, kept, workspace);
  }
  if (has_end(p))
    end(s, y, at, at + stream);
  else
    memcpy(y, at, rows * p->d_model * sizeof(float));
}

/* What is common to forward and backward: AN_OK with *rows == 0 if there is nothing to do. */
static an_status prepare(plan *p, const double *config, int kind, size_t workspace_bytes, size_t batch, size_t length,
                         size_t *rows) {
  an_status status = plan_make(p, config);
  if (status) return status;
  if (p->positions && length > p->positions) return AN_INVALID_SHAPE;
  status = measure(p, kind != INFERENCE, batch, length, rows);
  if (status || *rows == 0) return status;
  const size_t bytes = workspace_bytes_of(p, kind, batch, length, *rows);
  if (!bytes || !p->packed.bytes || (kind == BACKWARD && (!p->packed_bwd.bytes || !p->values.bytes)) ||
      (kind != INFERENCE && !saved_bytes(p, batch, length, *rows)))
    return AN_SIZE_OVERFLOW;
  return workspace_bytes < bytes ? AN_WORKSPACE_TOO_SMALL : AN_OK;
}

an_status an_module_fwd(float *y, const float *x, const float *mask, float *packed, void *saved, void *workspace,
                        size_t workspace_bytes, const double *config, uint32_t seed, size_t batch, size_t length) {
  plan p;
  size_t rows = 0;
  const an_status status = prepare(&p, config, saved ? TRAINING : INFERENCE, workspace_bytes, batch, length, &rows);
  if (rows == 0 || (status && status != AN_WORKSPACE_TOO_SMALL)) return status;
  if (!y || !x || !packed || !workspace) return AN_NULL_POINTER;
  if (status) return status;
  const pass s = {.p = &p,
                  .packed = packed,
                  .mask = mask,
                  .seed = seed,
                  .training = saved != NULL,
                  .batch = batch,
                  .length = length};
  if (saved)
    train(&s, y, x, saved, workspace);
  else
    infer(&s, y, x, workspace);
  return AN_OK;
}

/* ---- Backward ---- */

/* g: the gradient by the stream behind the last sublayer. */
static void end_backward(const pass *s, float *g, const float *dy, const float *stream, const float *normed,
                         float *workspace, size_t bytes) {
  const plan *p = s->p;
  const size_t d = p->d_model, rows = s->batch * s->length;
  if (p->d_out)
    an_linear_bwd(g, own(&p->values, p, s->gradients, P_head), own(&p->values, p, s->gradients, P_head_bias),
                  has_final_norm(p) ? normed : stream, dy, own(&p->packed_bwd, p, s->packed_bwd, P_head), workspace,
                  bytes, AN_OUT_IN, rows, d, p->d_out);
  else
    memcpy(g, dy, rows * d * sizeof(float));
  if (has_final_norm(p)) block_norm_gradient(s, final_norm, g, stream, g);
}

static void start_backward(const pass *s, float *dx, const float *g, const float *x, float *workspace, size_t bytes) {
  const plan *p = s->p;
  const size_t d = p->d_model, rows = s->batch * s->length;
  float *const dposition = own(&p->values, p, s->gradients, P_position);
  for (size_t b = 0; b < s->batch && dposition; b++)
    add_apply(dposition, g + b * s->length * d, dposition, 1, s->length * d);
  if (p->d_in)
    an_linear_bwd(dx, own(&p->values, p, s->gradients, P_input), own(&p->values, p, s->gradients, P_input_bias), x, g,
                  own(&p->packed_bwd, p, s->packed_bwd, P_input), workspace, bytes, AN_OUT_IN, rows, p->d_in, d);
  else if (dx)
    memcpy(dx, g, rows * d * sizeof(float));
}

static void backward(const pass *s, float *dx, const float *dy, const float *saved, float *workspace, size_t bytes,
                     double *probe) {
  const plan *p = s->p;
  const size_t rows = s->batch * s->length, stream = align4(rows * p->d_model), sublayers = block_sublayers(p);
  float *const g = workspace, *const rest = workspace + stream;
  const size_t rest_bytes = bytes - stream * sizeof(float);
  const float *at = saved + kept_input(p, rows);
  for (size_t i = 0; i < sublayers; i++) at += kept_step(p, i, s->batch, s->length);
  if (probe) memset(probe, 0, (sublayers + 1) * PROBE_COUNT * sizeof(double));

  end_backward(s, g, dy, at, at + stream, rest, rest_bytes);
  if (probe) block_probe_stream(s, at, g, probe + sublayers * PROBE_COUNT);
  for (size_t i = sublayers; i-- > 0;) {
    const float *const out = at;
    at -= kept_step(p, i, s->batch, s->length);
    double *const row = probe ? probe + i * PROBE_COUNT : NULL;
    block_backward(s, i, g, at, out, at + stream, rest, row);
    if (row) block_probe_stream(s, at, g, row);
  }
  start_backward(s, dx, g, saved, rest, rest_bytes);
}

an_status an_module_bwd(float *dx, float *gradients, const float *dy, const float *mask, const float *packed,
                        const float *packed_bwd, const void *saved, void *workspace, size_t workspace_bytes,
                        const double *config, uint32_t seed, size_t batch, size_t length, double *probe) {
  plan p;
  size_t rows = 0;
  const an_status status = prepare(&p, config, BACKWARD, workspace_bytes, batch, length, &rows);
  if (rows == 0 || (status && status != AN_WORKSPACE_TOO_SMALL)) return status;
  if (!gradients || !dy || !packed || !packed_bwd || !saved || !workspace) return AN_NULL_POINTER;
  if (status) return status;
  const pass s = {.p = &p,
                  .packed = (float *)packed,
                  .packed_bwd = packed_bwd,
                  .gradients = gradients,
                  .mask = mask,
                  .seed = seed,
                  .training = 1,
                  .batch = batch,
                  .length = length};
  backward(&s, dx, dy, saved, workspace, workspace_bytes, probe);
  return AN_OK;
}
