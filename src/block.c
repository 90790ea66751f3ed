/* One sublayer: in which order norm, branch, dropout and residual act on the rows, and back. The branch is the FFN or
 * what mixes tokens. Vector code stands below this file.
 *
 * In training a sublayer keeps, one after the other, what the branch was given where that is not the stream itself,
 * what the branch gave where a norm or a scale comes behind it (with post and deepnorm the sum that is normed), and
 * what the branch keeps.
 */
#include "block.h"

#include <string.h>

#include "activation.h"
#include "ffn.h"
#include "matmul.h"
#include "mixing.h"
#include "norm.h"
#include "random.h"
#include "tensor.h"

/* ---- What a placement needs ---- */

static int placement_of(const plan *p) { return plan_option(p, AN_FIELD_placement); }
static int is_post(const plan *p) {
  return placement_of(p) == AN_PLACEMENT_post || placement_of(p) == AN_PLACEMENT_deepnorm;
}
/* A norm at the start of the branch. */
static int norms_input(const plan *p) {
  switch (placement_of(p)) {
    case AN_PLACEMENT_pre:
    case AN_PLACEMENT_peri:
    case AN_PLACEMENT_lns:
    case AN_PLACEMENT_layer_scale: return 1;
    default: return 0;
  }
}
/* A norm, a gate or a scale behind the branch, whose gradient needs what the branch gave. */
static int needs_branch(const plan *p) {
  switch (placement_of(p)) {
    case AN_PLACEMENT_pre:
    case AN_PLACEMENT_none:
    case AN_PLACEMENT_lns: return 0;
    default: return 1;
  }
}
/* The norm's statistics go over the rows of a sequence, or of all. */
int block_norm_spans_sequence(const plan *p) {
  const int norm = plan_option(p, AN_FIELD_norm);
  return p->norms > 0 && (norm == AN_NORM_group_norm || norm == AN_NORM_instance_norm);
}
static int norm_spans_batch(const plan *p) {
  return p->norms > 0 && plan_option(p, AN_FIELD_norm) == AN_NORM_batch_norm;
}
static double stream_scale(const plan *p) {
  return placement_of(p) == AN_PLACEMENT_deepnorm ? p->config[AN_FIELD_alpha] : 1;
}
static double input_scale(const plan *p, size_t layer) {
  if (placement_of(p) != AN_PLACEMENT_lns) return 1;
  return 1 / __builtin_sqrt((double)(p->first_layer + layer + 1));
}

size_t block_sublayers(const plan *p) { return p->layers * (size_t)p->sublayers; }
int block_is_mixing(const plan *p, size_t sublayer) { return p->sublayers == 2 && sublayer % 2 == 0; }

/* The sublayer's place among the parameters. i: its first or second norm. */
static size_t layer_of(const plan *p, size_t sublayer) { return sublayer / (size_t)p->sublayers; }
static norm_place norm_of(const plan *p, size_t sublayer, int i) {
  const int is_mixing = block_is_mixing(p, sublayer);
  return (norm_place){layer_of(p, sublayer), (is_mixing ? P_mixing_norm_weight : P_norm_weight) + 3 * i,
                      (is_mixing ? P_mixing_norm_running_mean : P_norm_running_mean) + 2 * i};
}
static int scale_of(const plan *p, size_t sublayer) { return block_is_mixing(p, sublayer) ? P_mixing_scale : P_scale; }

static float *packed_at(const pass *s, size_t layer, int id) {
  return plan_find(s->p, &s->p->packed, s->packed, layer, id);
}
static const float *packed_bwd_at(const pass *s, size_t layer, int id) {
  return plan_find(s->p, &s->p->packed_bwd, (float *)s->packed_bwd, layer, id);
}
static float *gradient_at(const pass *s, size_t layer, int id) {
  return plan_find(s->p, &s->p->values, s->gradients, layer, id);
}

/* ---- Norms ---- */

void block_norm(const pass *s, norm_place at, float *y, const float *x, const float *mask, size_t batch,
                size_t length) {
  const plan *p = s->p;
  const int norm = plan_option(p, AN_FIELD_norm);
  const size_t d = p->d_model;
  const float *weight = packed_at(s, at.layer, at.weight), *bias = packed_at(s, at.layer, at.weight + 1);
  const double eps = p->config[AN_FIELD_eps], offset = p->config[AN_FIELD_weight_offset];
  switch (norm) {
    case AN_NORM_batch_norm:
      batch_norm_apply(y, NULL, NULL, packed_at(s, at.layer, at.running), packed_at(s, at.layer, at.running + 1), x,
                       weight, bias, mask, eps, p->config[AN_FIELD_momentum], offset, s->training, 0, batch * length, d,
                       1);
      break;
    case AN_NORM_group_norm:
    case AN_NORM_instance_norm:
      group_norm_apply(y, NULL, NULL, x, weight, bias, eps, offset,
                       norm == AN_NORM_instance_norm ? d : (size_t)p->config[AN_FIELD_groups], batch, length, d, 1);
      break;
    default:
      norm_apply(y, NULL, NULL, x, weight, bias, packed_at(s, at.layer, at.weight + 2), (size_t)norm, eps, offset,
                 batch * length, d);
  }
}

void block_norm_gradient(const pass *s, norm_place at, float *dx, const float *x, const float *dy) {
  const plan *p = s->p;
  const int norm = plan_option(p, AN_FIELD_norm);
  const size_t d = p->d_model, rows = s->batch * s->length;
  const float *weight = packed_at(s, at.layer, at.weight);
  float *const dweight = gradient_at(s, at.layer, at.weight), *const dbias = gradient_at(s, at.layer, at.weight + 1);
  const double eps = p->config[AN_FIELD_eps], offset = p->config[AN_FIELD_weight_offset];
  switch (norm) {
    case AN_NORM_batch_norm:
      batch_norm_gradient(dx, dweight, dbias, x, dy, weight, s->mask, NULL, NULL, eps, offset, 1, rows, d, 1);
      break;
    case AN_NORM_group_norm:
    case AN_NORM_instance_norm:
      group_norm_gradient(dx, dweight, dbias, x, dy, weight, eps, offset,
                          norm == AN_NORM_instance_norm ? d : (size_t)p->config[AN_FIELD_groups], s->batch, s->length,
                          d, 1);
      break;
    default:
      norm_gradient(dx, dweight, dbias, gradient_at(s, at.layer, at.weight + 2), x, dy, weight,
                    packed_at(s, at.layer, at.weight + 2), (size_t)norm, eps, offset, rows, d);
  }
}

/* ---- Branches ---- */

/* Streams of random numbers for dropout: four to a layer, apart from those of initial values. */
enum { DROP_HIDDEN, DROP_FFN, DROP_MIXING };
static uint32_t dropout_stream(const plan *p, size_t layer, int which) {
  return 0x80000000u + (uint32_t)(4 * (p->first_layer + layer)) + (uint32_t)which;
}

static ffn ffn_of(const pass *s, size_t layer) {
  const plan *p = s->p;
  return (ffn){.gate = packed_at(s, layer, P_gate),
               .gate_bias = packed_at(s, layer, P_gate_bias),
               .up = packed_at(s, layer, P_up),
               .up_bias = packed_at(s, layer, P_up_bias),
               .down = packed_at(s, layer, P_down),
               .down_bias = packed_at(s, layer, P_down_bias),
               .gate_bwd = packed_bwd_at(s, layer, P_gate),
               .up_bwd = packed_bwd_at(s, layer, P_up),
               .down_bwd = packed_bwd_at(s, layer, P_down),
               .d_model = p->d_model,
               .d_ff = p->d_ff,
               .activation = (size_t)plan_option(p, AN_FIELD_activation),
               .p0 = p->config[AN_FIELD_activation_p0],
               .p1 = p->config[AN_FIELD_activation_p1],
               .dropout = p->config[AN_FIELD_dropout],
               .seed = s->seed,
               .stream = dropout_stream(p, layer, DROP_HIDDEN)};
}

static mixing mixing_of(const pass *s, size_t layer) {
  const plan *p = s->p;
  return (mixing){.query = packed_at(s, layer, P_query),
                  .query_bias = packed_at(s, layer, P_query_bias),
                  .key = packed_at(s, layer, P_key),
                  .key_bias = packed_at(s, layer, P_key_bias),
                  .value = packed_at(s, layer, P_value),
                  .value_bias = packed_at(s, layer, P_value_bias),
                  .out = packed_at(s, layer, P_out),
                  .out_bias = packed_at(s, layer, P_out_bias),
                  .query_bwd = packed_bwd_at(s, layer, P_query),
                  .key_bwd = packed_bwd_at(s, layer, P_key),
                  .value_bwd = packed_bwd_at(s, layer, P_value),
                  .out_bwd = packed_bwd_at(s, layer, P_out),
                  .query_norm_weight = packed_at(s, layer, P_query_norm_weight),
                  .key_norm_weight = packed_at(s, layer, P_key_norm_weight),
                  .d_model = p->d_model,
                  .heads = (size_t)p->config[AN_FIELD_heads],
                  .causal = plan_option(p, AN_FIELD_causal)};
}

/* What the sizes follow from, before there are weights: a mixing asks its query whether it is attention. */
static mixing mixing_shape(const plan *p) {
  static const float there;
  const int attention = p->cols[P_query] > 0;
  const float *const norm = p->cols[P_query_norm_weight] ? &there : NULL;
  return (mixing){.query = attention ? &there : NULL,
                  .key = attention ? &there : NULL,
                  .query_norm_weight = norm,
                  .key_norm_weight = norm,
                  .d_model = p->d_model,
                  .heads = (size_t)p->config[AN_FIELD_heads],
                  .causal = plan_option(p, AN_FIELD_causal)};
}

static void branch_backward(const pass *s, size_t sublayer, float *dx, const float *x, const float *dy,
                            const float *saved, float *workspace) {
  const size_t layer = layer_of(s->p, sublayer);
#define GRADIENT(id) gradient_at(s, layer, P_##id)
  if (block_is_mixing(s->p, sublayer)) {
    const mixing m = mixing_of(s, layer);
    const mixing_gradients g = {GRADIENT(query),
                                GRADIENT(query_bias),
                                GRADIENT(key),
                                GRADIENT(key_bias),
                                GRADIENT(value),
                                GRADIENT(value_bias),
                                GRADIENT(out),
                                GRADIENT(out_bias),
                                GRADIENT(query_norm_weight),
                                GRADIENT(key_norm_weight)};
    mixing_bwd(dx, &g, x, dy, s->mask, saved, workspace, &m, s->batch, s->length);
  } else {
    const ffn f = ffn_of(s, layer);
    const ffn_gradients g = {GRADIENT(gate),    GRADIENT(gate_bias), GRADIENT(up),
                             GRADIENT(up_bias), GRADIENT(down),      GRADIENT(down_bias)};
    ffn_bwd(dx, &g, x, dy, saved, workspace, &f, s->batch * s->length);
  }
#undef GRADIENT
}

/* ---- Forward ---- */

/* What stands around the branch. given: what the branch gave, which becomes the sum where that is normed; y may equal
 * it unless needs_branch. */
static void finish(const pass *s, size_t sublayer, float *y, const float *x, float *given, const float *mask,
                   size_t batch, size_t length) {
  const plan *p = s->p;
  const size_t d = p->d_model, rows = batch * length, n = rows * d;
  const int residual = plan_option(p, AN_FIELD_residual);
  const norm_place first = norm_of(p, sublayer, 0);
  const float *const scale = packed_at(s, layer_of(p, sublayer), scale_of(p, sublayer));
  switch (placement_of(p)) {
    case AN_PLACEMENT_post:
    case AN_PLACEMENT_deepnorm:
      if (residual && !norm_spans_batch(p) && !block_norm_spans_sequence(p)) {
        norm_apply_add(given, y, NULL, NULL, x, given, packed_at(s, first.layer, first.weight),
                       packed_at(s, first.layer, first.weight + 1), packed_at(s, first.layer, first.weight + 2),
                       (size_t)plan_option(p, AN_FIELD_norm), stream_scale(p), p->config[AN_FIELD_eps],
                       p->config[AN_FIELD_weight_offset], rows, d);
        return;
      }
      if (residual) add_apply(given, x, given, stream_scale(p), n);
      block_norm(s, first, y, given, mask, batch, length);
      return;
    case AN_PLACEMENT_peri: block_norm(s, norm_of(p, sublayer, 1), y, given, mask, batch, length); break;
    case AN_PLACEMENT_output: block_norm(s, first, y, given, mask, batch, length); break;
    case AN_PLACEMENT_rezero: scale_apply(y, given, *scale, n); break;
    case AN_PLACEMENT_layer_scale: multiply_columns(y, given, scale, rows, d); break;
    default: break; /* given is y */
  }
  if (residual) add_apply(y, x, y, 1, n);
}

/* What the branch is given: x, or its norm, which is written to normed. */
static const float *branch_input(const pass *s, size_t sublayer, float *normed, const float *x, const float *mask,
                                 size_t batch, size_t length) {
  const plan *p = s->p;
  if (!norms_input(p)) return x;
  const double scale = input_scale(p, layer_of(p, sublayer));
  block_norm(s, norm_of(p, sublayer, 0), normed, x, mask, batch, length);
  if (scale != 1) scale_apply(normed, normed, scale, batch * length * p->d_model);
  return normed;
}

/* Rows that are treated together in inference, where batch norm takes running statistics: as many as the cache holds,
 * and whole sequences where the sublayer sees those. */
static int sees_sequences(const plan *p, int is_mixing) { return is_mixing || block_norm_spans_sequence(p); }
static size_t chunk_rows(const plan *p, int is_mixing, size_t batch, size_t length) {
  const size_t rows = batch * length, most = rows < MATMUL_ROWS ? rows : MATMUL_ROWS;
  if (!sees_sequences(p, is_mixing)) return most;
  return length < most ? most / length * length : length;
}

static size_t inference_size(const plan *p, int is_mixing, size_t batch, size_t length) {
  const size_t rows = chunk_rows(p, is_mixing, batch, length), chunk = rows * p->d_model;
  const mixing m = mixing_shape(p);
  return chunk + (is_mixing ? mixing_workspace_size(&m, rows / length, length)
                            : ffn_workspace_size(p->d_ff, plan_option(p, AN_FIELD_gated), rows));
}
size_t block_inference_size(const plan *p, size_t batch, size_t length) {
  const size_t ffn_size = inference_size(p, 0, batch, length);
  const size_t mixing_size = p->sublayers == 2 ? inference_size(p, 1, batch, length) : 0;
  return ffn_size > mixing_size ? ffn_size : mixing_size;
}

/* On the rows of a chunk. chunk holds the branch's input or what it gave: the one is not needed where the other is. */
static void infer(const pass *s, size_t sublayer, float *y, const float *x, const float *mask, float *chunk,
                  float *workspace, size_t batch, size_t length) {
  const plan *p = s->p;
  const size_t layer = layer_of(p, sublayer);
  const float *const in = branch_input(s, sublayer, chunk, x, mask, batch, length);
  float *const given = is_post(p) ? chunk : y;
  if (block_is_mixing(p, sublayer)) {
    const mixing m = mixing_of(s, layer);
    mixing_fwd(given, in, mask, NULL, workspace, &m, batch, length);
  } else {
    const ffn f = ffn_of(s, layer);
    ffn_fwd(given, in, workspace, &f, batch * length);
  }
  finish(s, sublayer, y, x, given, mask, batch, length);
}

void block_inference(const pass *s, size_t sublayer, float *y, const float *x, float *workspace) {
  const plan *p = s->p;
  const size_t d = p->d_model, rows = s->batch * s->length;
  const int is_mixing = block_is_mixing(p, sublayer);
  const size_t most = chunk_rows(p, is_mixing, s->batch, s->length);
  const size_t length = sees_sequences(p, is_mixing) ? s->length : 1;
  for (size_t m = 0, r; m < rows; m += r) {
    r = matmul_part((rows - m) / length, most / length) * length;
    infer(s, sublayer, y + m * d, x + m * d, s->mask ? s->mask + m : NULL, workspace, workspace + most * d, r / length,
          length);
  }
}

/* Floats of a stream in a buffer: the next one starts at 16 bytes. */
static size_t stream_size(const plan *p, size_t batch, size_t length) {
  return (batch * length * p->d_model + 3) / 4 * 4;
}

/* What a sublayer keeps. */
typedef struct saved_parts {
  float *normed, *given, *inner; /* NULL where the stream itself does */
} saved_parts;
static saved_parts parts_of(const pass *s, float *saved) {
  const size_t n = stream_size(s->p, s->batch, s->length);
  saved_parts parts = {NULL, NULL, saved};
  if (norms_input(s->p)) parts.normed = parts.inner, parts.inner += n;
  if (needs_branch(s->p)) parts.given = parts.inner, parts.inner += n;
  return parts;
}

size_t block_saved_size(const plan *p, size_t sublayer, size_t batch, size_t length) {
  const size_t rows = batch * length, n = stream_size(p, batch, length);
  const mixing m = mixing_shape(p);
  return (norms_input(p) ? n : 0) + (needs_branch(p) ? n : 0) +
         (block_is_mixing(p, sublayer) ? mixing_saved_size(&m, batch, length)
                                       : ffn_saved_size(p->d_ff, plan_option(p, AN_FIELD_gated), rows));
}

size_t block_training_size(const plan *p, size_t batch, size_t length) {
  const mixing m = mixing_shape(p);
  return p->sublayers == 2 ? mixing_workspace_size(&m, batch, length) : 0;
}

static void drop(const pass *s, size_t sublayer, float *y) {
  const plan *p = s->p;
  const double probability = p->config[AN_FIELD_residual_dropout];
  const int which = block_is_mixing(p, sublayer) ? DROP_MIXING : DROP_FFN;
  if (probability > 0)
    dropout_apply(y, y, probability, s->seed, dropout_stream(p, layer_of(p, sublayer), which), 0,
                  s->batch * s->length * p->d_model);
}

void block_training(const pass *s, size_t sublayer, float *y, const float *x, float *saved, float *workspace) {
  const plan *p = s->p;
  const size_t layer = layer_of(p, sublayer);
  const saved_parts parts = parts_of(s, saved);
  const float *const in = branch_input(s, sublayer, parts.normed, x, s->mask, s->batch, s->length);
  float *const given = parts.given ? parts.given : y;
  if (block_is_mixing(p, sublayer)) {
    const mixing m = mixing_of(s, layer);
    mixing_fwd(given, in, s->mask, parts.inner, workspace, &m, s->batch, s->length);
  } else {
    const ffn f = ffn_of(s, layer);
    ffn_fwd_training(given, in, parts.inner, &f, s->batch * s->length);
  }
  drop(s, sublayer, given);
  finish(s, sublayer, y, x, given, s->mask, s->batch, s->length);
}

/* ---- Backward ---- */

/* The gradient by what the branch gave, in dgiven, from dy. */
static void finish_backward(const pass *s, size_t sublayer, float *dgiven, const float *dy, const float *given) {
  const plan *p = s->p;
  const size_t d = p->d_model, rows = s->batch * s->length, n = rows * d, layer = layer_of(p, sublayer);
  const float *const scale = packed_at(s, layer, scale_of(p, sublayer));
  float *const dscale = gradient_at(s, layer, scale_of(p, sublayer));
  switch (placement_of(p)) {
    case AN_PLACEMENT_post:
    case AN_PLACEMENT_deepnorm:
    case AN_PLACEMENT_output: block_norm_gradient(s, norm_of(p, sublayer, 0), dgiven, given, dy); break;
    case AN_PLACEMENT_peri: block_norm_gradient(s, norm_of(p, sublayer, 1), dgiven, given, dy); break;
    case AN_PLACEMENT_rezero:
      *dscale = (float)(*dscale + dot_apply(dy, given, n));
      scale_apply(dgiven, dy, *scale, n);
      break;
    case AN_PLACEMENT_layer_scale:
      sum_columns_product(dscale, dy, given, rows, d);
      multiply_columns(dgiven, dy, scale, rows, d);
      break;
    default: memcpy(dgiven, dy, n * sizeof(float));
  }
}

size_t block_backward_size(const plan *p, size_t batch, size_t length) {
  const size_t rows = batch * length;
  const mixing m = mixing_shape(p);
  size_t most = ffn_bwd_workspace_size(p->d_model, p->d_ff, plan_option(p, AN_FIELD_gated), rows);
  const size_t mixing_size = p->sublayers == 2 ? mixing_bwd_workspace_size(&m, batch, length) : 0;
  if (most < mixing_size) most = mixing_size;
  if (most < p->d_ff) most = p->d_ff; /* the probe's row of the hidden layer */
  return stream_size(p, batch, length) + most;
}

static void probe_branch(const pass *s, size_t sublayer, const float *x, const float *y, saved_parts parts, float *row,
                         float *hidden, double *probe);

void block_backward(const pass *s, size_t sublayer, float *dy, const float *x, const float *y, const float *saved,
                    float *workspace, double *probe) {
  const plan *p = s->p;
  const size_t n = s->batch * s->length * p->d_model, layer = layer_of(p, sublayer);
  const saved_parts parts = parts_of(s, (float *)saved);
  float *const g = workspace, *const rest = workspace + stream_size(p, s->batch, s->length);
  if (probe) probe_branch(s, sublayer, x, y, parts, g, rest, probe);

  finish_backward(s, sublayer, g, dy, parts.given);
  float *const dx = dy;
  if (!plan_option(p, AN_FIELD_residual))
    memset(dx, 0, n * sizeof(float));
  else if (is_post(p)) /* the sum is normed: its gradient is that of the stream too */
    scale_apply(dx, g, stream_scale(p), n);

  drop(s, sublayer, g);
  branch_backward(s, sublayer, g, parts.normed ? parts.normed : x, g, parts.inner, rest);
  if (parts.normed) {
    const double scale = input_scale(p, layer);
    if (scale != 1) scale_apply(g, g, scale, n);
    block_norm_gradient(s, norm_of(p, sublayer, 0), g, x, g);
  }
  add_apply(dx, dx, g, 1, n);
}

/* ---- Probe ---- */

static int valid(const pass *s, size_t row) { return !s->mask || s->mask[row] != 0; }

/* The stream's part of a probe's row. */
void block_probe_stream(const pass *s, const float *x, const float *gradient, double *probe) {
  const size_t d = s->p->d_model, rows = s->batch * s->length;
  double sum = 0, squares = 0, gradients = 0, count = 0;
  for (size_t r = 0; r < rows; r++) {
    if (!valid(s, r)) continue;
    for (size_t i = r * d; i < (r + 1) * d; i++) {
      sum += x[i], squares += (double)x[i] * x[i], gradients += (double)gradient[i] * gradient[i];
      if (!(x[i] - x[i] == 0)) probe[PROBE_nonfinite]++;
    }
    count += (double)d;
  }
  if (count == 0) return;
  const double mean = sum / count;
  double variance = 0;
  for (size_t r = 0; r < rows; r++)
    for (size_t i = r * d; valid(s, r) && i < (r + 1) * d; i++) variance += (x[i] - mean) * (x[i] - mean);
  probe[PROBE_mean] = mean;
  probe[PROBE_std] = __builtin_sqrt(variance / count);
  probe[PROBE_rms] = __builtin_sqrt(squares / count);
  probe[PROBE_gradient] = __builtin_sqrt(gradients);
}

static int saturates(size_t activation) { return activation == AN_ACT_sigmoid || activation == AN_ACT_tanh; }

/* Share of the hidden units that are 0 in all rows. unit: room for d_ff floats. */
static double dead_share(const pass *s, const float *hidden, float *unit) {
  const size_t d_ff = s->p->d_ff, rows = s->batch * s->length;
  size_t dead = 0;
  memset(unit, 0, d_ff * sizeof(float));
  for (size_t r = 0; r < rows; r++)
    for (size_t i = 0; i < d_ff && valid(s, r); i++)
      if (hidden[r * d_ff + i] != 0) unit[i] = 1;
  for (size_t i = 0; i < d_ff; i++) dead += unit[i] == 0;
  return (double)dead / (double)d_ff;
}

/* Counts elements near the end of tanh's or sigmoid's range. */
static void count_saturated(double *saturated, double *all, const float *y, size_t n, int is_sigmoid) {
  for (size_t i = 0; i < n; i++)
    *saturated += is_sigmoid ? y[i] < 0.01f || y[i] > 0.99f : y[i] > 0.99f || y[i] < -0.99f;
  *all += (double)n;
}

/* The branch's part of a probe's row. row, hidden: room for d_model and d_ff floats. */
static void probe_branch(const pass *s, size_t sublayer, const float *x, const float *y, saved_parts parts, float *row,
                         float *hidden, double *probe) {
  const plan *p = s->p;
  const size_t d = p->d_model, rows = s->batch * s->length, layer = layer_of(p, sublayer);
  const int is_mixing = block_is_mixing(p, sublayer);
  const double alpha = plan_option(p, AN_FIELD_residual) ? stream_scale(p) : 0;
  const float *const out = is_post(p) ? parts.given : y;
  double squares = 0, cosines = 0, count = 0;
  for (size_t r = 0; r < rows; r++) {
    if (!valid(s, r)) continue;
    double xx = 0, yy = 0, xy = 0;
    for (size_t i = r * d; i < (r + 1) * d; i++) {
      const double branch = out[i] - alpha * x[i];
      squares += branch * branch;
      xx += (double)x[i] * x[i], yy += (double)y[i] * y[i], xy += (double)x[i] * y[i];
    }
    if (xx > 0 && yy > 0) cosines += xy / __builtin_sqrt(xx * yy);
    count++;
  }
  if (count == 0) return;
  probe[PROBE_branch_rms] = __builtin_sqrt(squares / (count * (double)d));
  probe[PROBE_cosine] = cosines / count;

  const size_t activation = (size_t)plan_option(p, AN_FIELD_activation);
  double saturated = 0, all = 0;
  if (!is_mixing) {
    const ffn_saved f = ffn_saved_parts(parts.inner, p->d_ff, plan_option(p, AN_FIELD_gated), rows);
    probe[PROBE_dead] = dead_share(s, f.hidden, hidden);
    for (size_t r = 0; r < rows && saturates(activation); r++) {
      activation_apply(hidden, f.activation_input + r * p->d_ff, p->d_ff, activation, 0, 0);
      if (valid(s, r)) count_saturated(&saturated, &all, hidden, p->d_ff, activation == AN_ACT_sigmoid);
    }
  }
  if (all == 0 && p->norms && plan_option(p, AN_FIELD_norm) == AN_NORM_dyt) {
    const float *const normed = norms_input(p) ? x : parts.given;
    const float *const dyt_alpha = packed_at(s, layer, norm_of(p, sublayer, 0).weight + 2);
    for (size_t r = 0; r < rows; r++) {
      norm_apply(row, NULL, NULL, normed + r * d, NULL, NULL, dyt_alpha, AN_NORM_dyt, 0, 0, 1, d);
      if (valid(s, r)) count_saturated(&saturated, &all, row, d, 0);
    }
  }
  if (all > 0) probe[PROBE_saturated] = saturated / all;
}
