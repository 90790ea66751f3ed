/* One residual block: which parameters it has, where they lie in the packed buffer, and in which order norm, FFN and
 * residual act on the rows. Vector code stands below this file: the norms and the FFN have their own.
 */
#include <string.h>

#include "config.h"
#include "ffn.h"
#include "matmul.h"
#include "norm.h"
#include "tensor.h"

/* The parameters, in the order in which they are listed. Those of a second norm follow at steps of 3 and 2. */
/* clang-format off */
#define PARAMETERS(X)                                                                               \
  X(gate) X(gate_bias) X(up) X(up_bias) X(down) X(down_bias)                                        \
  X(norm_weight) X(norm_bias) X(norm_alpha) X(norm2_weight) X(norm2_bias) X(norm2_alpha) X(scale)   \
  X(norm_running_mean) X(norm_running_var) X(norm2_running_mean) X(norm2_running_var)

enum {
#define X(id) P_##id,
  PARAMETERS(X)
#undef X
  PARAMETER_COUNT
};
/* clang-format on */

static const char *const names[PARAMETER_COUNT] = {
#define X(id) #id,
    PARAMETERS(X)
#undef X
};

/* What a configuration comes to. */
typedef struct plan {
  double config[AN_FIELD_COUNT]; /* AUTO resolved */
  size_t d_model, d_ff;
  size_t norms;                                        /* 0, 1 or 2 that the placement uses */
  int whole;                                           /* the norm's statistics go over rows: no chunks */
  size_t rows[PARAMETER_COUNT], cols[PARAMETER_COUNT]; /* rows 0: one axis; cols 0: the block has no such parameter */
  size_t offset[PARAMETER_COUNT];                      /* in floats, in the packed buffer */
  size_t bytes;                                        /* of the packed buffer; 0 if that overflows size_t */
} plan;

static int option(const plan *p, int field) { return (int)p->config[field]; }

static void shape(plan *p, int parameter, size_t rows, size_t cols) {
  p->rows[parameter] = rows;
  p->cols[parameter] = cols;
}

static an_status make_plan(plan *p, const double *config) {
  memset(p, 0, sizeof *p);
  const an_status status = an_config_resolve(p->config, config);
  if (status) return status;
  const size_t d = p->d_model = (size_t)p->config[AN_FIELD_d_model], h = p->d_ff = (size_t)p->config[AN_FIELD_d_ff];
  const int placement = option(p, AN_FIELD_placement), norm = option(p, AN_FIELD_norm);
  const int bias = option(p, AN_FIELD_bias), affine = option(p, AN_FIELD_affine);

  shape(p, P_up, h, d);
  shape(p, P_down, d, h);
  if (bias) shape(p, P_up_bias, 0, h), shape(p, P_down_bias, 0, d);
  if (option(p, AN_FIELD_gated)) {
    shape(p, P_gate, h, d);
    if (bias) shape(p, P_gate_bias, 0, h);
  }
  if (placement == AN_PLACEMENT_rezero) shape(p, P_scale, 0, 1);
  if (placement == AN_PLACEMENT_layer_scale) shape(p, P_scale, 0, d);
  switch (placement) {
    case AN_PLACEMENT_none:
    case AN_PLACEMENT_rezero: break;
    case AN_PLACEMENT_peri: p->norms = 2; break;
    default: p->norms = 1;
  }
  if (norm == AN_NORM_none) p->norms = 0;
  for (int i = 0; i < (int)p->norms; i++) {
    if (affine != AN_AFFINE_none) shape(p, P_norm_weight + 3 * i, 0, d);
    if (affine == AN_AFFINE_weight_bias) shape(p, P_norm_bias + 3 * i, 0, d);
    if (norm == AN_NORM_dyt) shape(p, P_norm_alpha + 3 * i, 0, 1);
    if (norm == AN_NORM_batch_norm)
      shape(p, P_norm_running_mean + 2 * i, 0, d), shape(p, P_norm_running_var + 2 * i, 0, d);
  }
  p->whole =
      p->norms > 0 && (norm == AN_NORM_batch_norm || norm == AN_NORM_group_norm || norm == AN_NORM_instance_norm);

  /* Sections start at multiples of 16 bytes. */
  int overflow = 0;
  for (int i = 0; i < PARAMETER_COUNT; i++) {
    if (p->cols[i] == 0) continue;
    const size_t bytes =
        p->rows[i] ? an_linear_packed_bytes(p->cols[i], p->rows[i]) : (p->cols[i] * sizeof(float) + 15) / 16 * 16;
    p->offset[i] = p->bytes / sizeof(float);
    overflow |= bytes == 0 || __builtin_add_overflow(p->bytes, bytes, &p->bytes);
  }
  if (overflow) p->bytes = 0;
  return AN_OK;
}

/* The parameter in the given place of the list; PARAMETER_COUNT beyond it. */
static int parameter_at(const plan *p, size_t place) {
  int i = 0;
  for (; i < PARAMETER_COUNT; i++)
    if (p->cols[i] > 0 && place-- == 0) break;
  return i;
}

static int is_buffer(int parameter) { return parameter >= P_norm_running_mean; }

size_t an_block_parameter_count(const double *config) {
  plan p;
  if (make_plan(&p, config)) return 0;
  size_t count = 0;
  for (int i = 0; i < PARAMETER_COUNT; i++) count += p.cols[i] > 0;
  return count;
}

const char *an_block_parameter_name(const double *config, size_t parameter) {
  plan p;
  if (make_plan(&p, config)) return NULL;
  const int i = parameter_at(&p, parameter);
  return i < PARAMETER_COUNT ? names[i] : NULL;
}

size_t an_block_parameter_shape(const double *config, size_t parameter, size_t *rows, size_t *cols) {
  plan p;
  if (make_plan(&p, config)) return 0;
  const int i = parameter_at(&p, parameter);
  if (i == PARAMETER_COUNT) return 0;
  if (rows) *rows = p.rows[i] ? p.rows[i] : 1;
  if (cols) *cols = p.cols[i];
  return p.rows[i] ? 2 : 1;
}

int an_block_parameter_learned(const double *config, size_t parameter) {
  plan p;
  if (make_plan(&p, config)) return 0;
  const int i = parameter_at(&p, parameter);
  return i < PARAMETER_COUNT && !is_buffer(i);
}

static void fill(float *value, double x, size_t n) {
  for (size_t i = 0; i < n; i++) value[i] = (float)x;
}

/* A weight or bias of a linear layer (in -> out).
 * pytorch: nn.Linear, kaiming_uniform(a = sqrt 5) of the weight and the bias's own rule, both U(-1/sqrt(in),
 * 1/sqrt(in)). Xavier: Glorot and Bengio 2010, U(+-sqrt(6 / (in + out))) and N(0, 2 / (in + out)). */
static an_status init_linear(float *value, const plan *p, int parameter, size_t in, size_t out, uint32_t seed,
                             uint32_t stream) {
  const int is_bias = p->rows[parameter] == 0;
  const size_t n = is_bias ? out : in * out;
  const int init = option(p, AN_FIELD_init);
  int distribution = AN_RANDOM_UNIFORM;
  double a, b;
  if (init == AN_INIT_pytorch) {
    b = 1 / __builtin_sqrt((double)in), a = -b;
  } else if (is_bias) {
    a = b = 0;
  } else if (init == AN_INIT_xavier_uniform) {
    b = __builtin_sqrt(6.0 / ((double)in + (double)out)), a = -b;
  } else {
    distribution = AN_RANDOM_NORMAL, a = 0;
    b = init == AN_INIT_xavier_normal ? __builtin_sqrt(2.0 / ((double)in + (double)out)) : p->config[AN_FIELD_init_std];
  }
  const an_status status = an_random(value, n, distribution, a, b, seed, stream);
  const double beta = p->config[AN_FIELD_beta];
  if (status == AN_OK && !is_bias && beta != 1)
    for (size_t i = 0; i < n; i++) value[i] = (float)(beta * value[i]);
  return status;
}

an_status an_block_parameter_init(float *value, const double *config, size_t parameter, uint32_t seed) {
  plan p;
  const an_status status = make_plan(&p, config);
  if (status) return status;
  const int i = parameter_at(&p, parameter);
  if (i == PARAMETER_COUNT) return AN_UNKNOWN_OP;
  if (p.rows[i] && matmul_overflows(p.rows[i], p.cols[i])) return AN_SIZE_OVERFLOW;
  if (!value) return AN_NULL_POINTER;
  switch (i) {
    case P_gate:
    case P_gate_bias:
    case P_up:
    case P_up_bias: return init_linear(value, &p, i, p.d_model, p.d_ff, seed, (uint32_t)parameter);
    case P_down:
    case P_down_bias: return init_linear(value, &p, i, p.d_ff, p.d_model, seed, (uint32_t)parameter);
    case P_norm_weight:
    case P_norm2_weight: fill(value, 1 - p.config[AN_FIELD_weight_offset], p.cols[i]); break;
    case P_norm_alpha:
    case P_norm2_alpha: fill(value, p.config[AN_FIELD_norm_alpha], 1); break;
    case P_scale: fill(value, p.config[AN_FIELD_alpha], p.cols[i]); break;
    case P_norm_running_var:
    case P_norm2_running_var: fill(value, 1, p.cols[i]); break;
    default: fill(value, 0, p.cols[i]);
  }
  return AN_OK;
}

size_t an_block_packed_bytes(const double *config) {
  plan p;
  return make_plan(&p, config) ? 0 : p.bytes;
}

an_status an_block_pack(float *packed, const double *config, size_t parameter, const float *value) {
  plan p;
  const an_status status = make_plan(&p, config);
  if (status) return status;
  const int i = parameter_at(&p, parameter);
  if (i == PARAMETER_COUNT) return AN_UNKNOWN_OP;
  if (!p.bytes) return AN_SIZE_OVERFLOW;
  if (!packed || !value) return AN_NULL_POINTER;
  if (p.rows[i]) return an_linear_pack(packed + p.offset[i], value, AN_OUT_IN, p.cols[i], p.rows[i]);
  memcpy(packed + p.offset[i], value, p.cols[i] * sizeof(float));
  return AN_OK;
}

an_status an_block_unpack(float *value, const double *config, size_t parameter, const float *packed) {
  plan p;
  const an_status status = make_plan(&p, config);
  if (status) return status;
  const int i = parameter_at(&p, parameter);
  if (i == PARAMETER_COUNT) return AN_UNKNOWN_OP;
  if (p.rows[i]) return AN_INVALID_SHAPE;
  if (!p.bytes) return AN_SIZE_OVERFLOW;
  if (!value || !packed) return AN_NULL_POINTER;
  memcpy(value, packed + p.offset[i], p.cols[i] * sizeof(float));
  return AN_OK;
}

/* Floats of the rows of one pass: their normed input or their branch is held before the FFN's own tile. */
static size_t chunk_size(const plan *p, size_t rows) { return (rows < MATMUL_ROWS ? rows : MATMUL_ROWS) * p->d_model; }

static size_t workspace_bytes_of(const plan *p, size_t rows) {
  return (chunk_size(p, rows) + ffn_workspace_size(p->d_ff, option(p, AN_FIELD_gated), rows)) * sizeof(float);
}

size_t an_block_workspace_bytes(const double *config, size_t batch, size_t length) {
  plan p;
  size_t rows;
  if (make_plan(&p, config)) return 0;
  return workspace_bytes_of(&p, __builtin_mul_overflow(batch, length, &rows) ? SIZE_MAX : rows);
}

/* A forward pass under way. */
typedef struct pass {
  const plan *p;
  float *packed, *chunk, *tile; /* packed: written where running statistics are */
  ffn f;
  int training;
} pass;

static float *parameter(const pass *s, int i) { return s->p->cols[i] ? s->packed + s->p->offset[i] : NULL; }

/* y = norm number i (0, 1) of x; y may equal x. */
static void apply_norm(const pass *s, int i, float *y, const float *x, size_t batch, size_t length) {
  const plan *p = s->p;
  const int norm = option(p, AN_FIELD_norm);
  const size_t d = p->d_model;
  const float *weight = parameter(s, P_norm_weight + 3 * i), *bias = parameter(s, P_norm_bias + 3 * i);
  const double eps = p->config[AN_FIELD_eps], offset = p->config[AN_FIELD_weight_offset];
  switch (norm) {
    case AN_NORM_batch_norm:
      batch_norm_apply(y, NULL, NULL, parameter(s, P_norm_running_mean + 2 * i),
                       parameter(s, P_norm_running_var + 2 * i), x, weight, bias, eps, p->config[AN_FIELD_momentum],
                       offset, s->training, 0, batch * length, d, 1);
      break;
    case AN_NORM_group_norm:
    case AN_NORM_instance_norm:
      group_norm_apply(y, NULL, NULL, x, weight, bias, eps, offset,
                       norm == AN_NORM_instance_norm ? d : (size_t)p->config[AN_FIELD_groups], batch, length, d, 1);
      break;
    default:
      norm_apply(y, NULL, NULL, x, weight, bias, parameter(s, P_norm_alpha + 3 * i), (size_t)norm, eps, offset,
                 batch * length, d);
  }
}

static void scale(float *y, float factor, size_t n) {
  for (size_t i = 0; i < n; i++) y[i] *= factor;
}

/* The block on rows that the norm sees together: a chunk, or everything. y must not overlap x. */
static void forward(const pass *s, float *y, const float *x, size_t batch, size_t length) {
  const plan *p = s->p;
  const int placement = option(p, AN_FIELD_placement), residual = option(p, AN_FIELD_residual);
  const size_t d = p->d_model, rows = batch * length, n = rows * d;

  /* The branch's input: x or its norm. Norms over all rows have room for it in y alone. */
  const float *in = x;
  switch (placement) {
    case AN_PLACEMENT_pre:
    case AN_PLACEMENT_peri:
    case AN_PLACEMENT_lns:
    case AN_PLACEMENT_layer_scale: {
      float *const normed = p->whole ? y : s->chunk;
      apply_norm(s, 0, normed, x, batch, length);
      if (placement == AN_PLACEMENT_lns) scale(normed, (float)(1 / __builtin_sqrt(p->config[AN_FIELD_layer])), n);
      in = normed;
    }
  }

  /* The branch, F(in): in y, except where sum and norm in one pass want it outside. */
  const int post = placement == AN_PLACEMENT_post || placement == AN_PLACEMENT_deepnorm;
  const int fused = post && residual && !p->whole;
  float *const branch = fused ? s->chunk : y;
  if (branch != in) {
    ffn_fwd(branch, in, s->tile, &s->f, rows);
  } else {
    for (size_t m = 0, r; m < rows; m += r) {
      r = matmul_part(rows - m, MATMUL_ROWS);
      ffn_fwd(s->chunk, in + m * d, s->tile, &s->f, r);
      memcpy(branch + m * d, s->chunk, r * d * sizeof(float));
    }
  }

  const double alpha = placement == AN_PLACEMENT_deepnorm ? p->config[AN_FIELD_alpha] : 1;
  switch (placement) {
    case AN_PLACEMENT_post:
    case AN_PLACEMENT_deepnorm:
      if (fused) {
        norm_apply_add(branch, y, NULL, NULL, x, branch, parameter(s, P_norm_weight), parameter(s, P_norm_bias),
                       parameter(s, P_norm_alpha), (size_t)option(p, AN_FIELD_norm), alpha, p->config[AN_FIELD_eps],
                       p->config[AN_FIELD_weight_offset], rows, d);
        return;
      }
      if (residual) add_apply(y, x, y, alpha, n);
      apply_norm(s, 0, y, y, batch, length);
      return;
    case AN_PLACEMENT_peri: apply_norm(s, 1, y, y, batch, length); break;
    case AN_PLACEMENT_output: apply_norm(s, 0, y, y, batch, length); break;
    case AN_PLACEMENT_rezero: scale(y, *parameter(s, P_scale), n); break;
    case AN_PLACEMENT_layer_scale: {
      const float *const gamma = parameter(s, P_scale);
      for (size_t m = 0; m < rows; m++)
        for (size_t i = 0; i < d; i++) y[m * d + i] *= gamma[i];
    }
  }
  if (residual) add_apply(y, x, y, 1, n);
}

an_status an_block_fwd(float *y, const float *x, float *packed, void *workspace, size_t workspace_bytes,
                       const double *config, int training, size_t batch, size_t length) {
  plan p;
  const an_status status = make_plan(&p, config);
  if (status) return status;
  const size_t d = p.d_model;
  size_t rows;
  if (!p.bytes || __builtin_mul_overflow(batch, length, &rows) || matmul_overflows(rows, d)) return AN_SIZE_OVERFLOW;
  if (rows == 0) return AN_OK;
  if (!y || !x || !packed || !workspace) return AN_NULL_POINTER;
  if (workspace_bytes < workspace_bytes_of(&p, rows)) return AN_WORKSPACE_TOO_SMALL;

  pass s = {.p = &p, .packed = packed, .chunk = workspace, .training = training};
  s.tile = s.chunk + chunk_size(&p, rows);
  s.f = (ffn){.gate = parameter(&s, P_gate),
              .gate_bias = parameter(&s, P_gate_bias),
              .up = parameter(&s, P_up),
              .up_bias = parameter(&s, P_up_bias),
              .down = parameter(&s, P_down),
              .down_bias = parameter(&s, P_down_bias),
              .d_model = d,
              .d_ff = p.d_ff,
              .activation = (size_t)option(&p, AN_FIELD_activation),
              .p0 = p.config[AN_FIELD_activation_p0],
              .p1 = p.config[AN_FIELD_activation_p1]};
  if (p.whole) {
    forward(&s, y, x, batch, length);
    return AN_OK;
  }
  for (size_t m = 0, r; m < rows; m += r) {
    r = matmul_part(rows - m, MATMUL_ROWS);
    forward(&s, y + m * d, x + m * d, 1, r);
  }
  return AN_OK;
}

/* Operations on one element of a norm, the affine part aside: the terms of the mean (1) and the variance (3:
 * difference, square, sum), the factor (1). Running statistics leave difference and factor; dyt is a product and a
 * tanh. */
static double norm_flops(int norm) {
  switch (norm) {
    case AN_NORM_none: return 0;
    case AN_NORM_batch_norm:
    case AN_NORM_dyt: return 2;
    case AN_NORM_rms_norm:
    case AN_NORM_rms_norm_outside: return 3;
    default: return 5;
  }
}

/* Counted are: a multiply-add 2; a bias, the product with the gate, an activation (whatever it costs), a weight or bias
 * of a norm, a scale, the residual addition and deepnorm's factor 1 each an element; a norm as norm_flops. Terms that
 * do not grow with the width (a row's root and division) are left out. */
an_status an_block_cost(double cost[4], const double *config, size_t rows) {
  plan p;
  const an_status status = make_plan(&p, config);
  if (status) return status;
  if (!cost) return AN_NULL_POINTER;
  double learned = 0, buffers = 0, matrices = 0;
  for (int i = 0; i < PARAMETER_COUNT; i++) {
    const double n = (double)p.cols[i] * (p.rows[i] ? (double)p.rows[i] : 1);
    *(is_buffer(i) ? &buffers : &learned) += n;
    if (p.rows[i]) matrices += n;
  }
  const double d = (double)p.d_model, h = (double)p.d_ff;
  const int placement = option(&p, AN_FIELD_placement), norm = option(&p, AN_FIELD_norm);
  const int bias = option(&p, AN_FIELD_bias), gated = option(&p, AN_FIELD_gated), affine = option(&p, AN_FIELD_affine);
  double row = 2 * matrices + h + (gated ? h : 0);
  if (bias) row += h + (gated ? h : 0) + d;
  row += (double)p.norms * d * (norm_flops(norm) + (affine == AN_AFFINE_none ? 0 : affine == AN_AFFINE_weight ? 1 : 2));
  if (placement == AN_PLACEMENT_lns || placement == AN_PLACEMENT_rezero || placement == AN_PLACEMENT_layer_scale)
    row += d;
  if (option(&p, AN_FIELD_residual)) row += placement == AN_PLACEMENT_deepnorm ? 2 * d : d;
  cost[0] = learned;
  cost[1] = row * (double)rows;
  cost[2] = (learned + buffers + 2 * d * (double)rows) * sizeof(float);
  cost[3] = 2 * matrices * (double)rows;
  return AN_OK;
}
