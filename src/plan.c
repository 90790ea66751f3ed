/* The parameters of a module: names, shapes, initial values, packing, cost. */
#include "plan.h"

#include <string.h>

#include "matmul.h"
#include "norm.h"
#include "text.h"

static const char names[] =
#define X(id) #id "\0"
    LAYER_PARAMETERS(X) STACK_PARAMETERS(X)
#undef X
    ;

static void shape(plan *p, int parameter, size_t rows, size_t cols) {
  p->rows[parameter] = rows;
  p->cols[parameter] = cols;
}

/* A matrix [out, in] and its bias. */
static void shape_linear(plan *p, int weight, size_t out, size_t in) {
  shape(p, weight, out, in);
  if (plan_option(p, AN_FIELD_bias)) shape(p, weight + 1, 0, out);
}

static void shape_norm(plan *p, int weight, int running) {
  const int norm = plan_option(p, AN_FIELD_norm), affine = plan_option(p, AN_FIELD_affine);
  const size_t d = p->d_model;
  if (affine != AN_AFFINE_none) shape(p, weight, 0, d);
  if (affine == AN_AFFINE_weight_bias) shape(p, weight + 1, 0, d);
  if (norm == AN_NORM_dyt) shape(p, weight + 2, 0, 1);
  if (norm == AN_NORM_batch_norm) shape(p, running, 0, d), shape(p, running + 1, 0, d);
}

static void shape_sublayer(plan *p, int norm, int running, int scale) {
  for (int i = 0; i < p->norms; i++) shape_norm(p, norm + 3 * i, running + 2 * i);
  const int placement = plan_option(p, AN_FIELD_placement);
  if (placement == AN_PLACEMENT_rezero) shape(p, scale, 0, 1);
  if (placement == AN_PLACEMENT_layer_scale) shape(p, scale, 0, p->d_model);
}

/* ---- Layouts ---- */

static uint64_t align4(uint64_t floats) { return (floats + 3) / 4 * 4; }
static uint64_t panels(uint64_t in, uint64_t out) {
  return in * ((out + MATMUL_PANEL - 1) / MATMUL_PANEL * MATMUL_PANEL);
}
/* Matrices that are multiplied by; the positions' vectors are added. */
static int is_weight(const plan *p, int parameter) { return p->rows[parameter] > 0 && parameter != P_position; }

/* Floats of a section. No product overflows: sizes have at most 18 bits each. */
static uint64_t values_size(const plan *p, int i) { return (p->rows[i] ? p->rows[i] : 1) * (uint64_t)p->cols[i]; }
static uint64_t packed_size(const plan *p, int i) {
  return is_weight(p, i) ? panels(p->cols[i], p->rows[i]) : values_size(p, i);
}
static uint64_t packed_bwd_size(const plan *p, int i) { return is_weight(p, i) ? panels(p->rows[i], p->cols[i]) : 0; }

static uint64_t lay_out_range(layout *l, const plan *p, uint64_t (*size)(const plan *, int), int first, int end,
                              uint64_t at) {
  for (int i = first; i < end; i++) {
    l->offset[i] = (size_t)at;
    at += align4(size(p, i));
  }
  return at;
}

static void lay_out(layout *l, const plan *p, uint64_t (*size)(const plan *, int)) {
  const uint64_t base = lay_out_range(l, p, size, P_input, BEFORE_END, 0);
  const uint64_t stride = lay_out_range(l, p, size, 0, LAYER_COUNT, base) - base;
  const uint64_t end = lay_out_range(l, p, size, BEFORE_END, PARAMETER_COUNT, base + p->layers * stride);
  l->stride = (size_t)stride;
  l->bytes = end > SIZE_MAX / sizeof(float) ? 0 : (size_t)end * sizeof(float);
}

an_status plan_make(plan *p, const double *config) {
  memset(p, 0, sizeof *p);
  const an_status status = an_config_resolve(p->config, config);
  if (status) return status;
  const size_t d = p->d_model = (size_t)p->config[AN_FIELD_d_model], h = p->d_ff = (size_t)p->config[AN_FIELD_d_ff];
  const int layer = plan_option(p, AN_FIELD_layer), norm = plan_option(p, AN_FIELD_norm);
  const int mixing = plan_option(p, AN_FIELD_mixing);
  p->whole_stack = layer == 0;
  p->first_layer = p->whole_stack ? 0 : (size_t)layer - 1;
  p->layers = p->whole_stack ? (size_t)p->config[AN_FIELD_depth] : 1;
  p->sublayers = mixing == AN_MIXING_none ? 1 : 2;
  switch (plan_option(p, AN_FIELD_placement)) {
    case AN_PLACEMENT_none:
    case AN_PLACEMENT_rezero: break;
    case AN_PLACEMENT_peri: p->norms = 2; break;
    default: p->norms = 1;
  }
  if (norm == AN_NORM_none) p->norms = 0;

  if (mixing == AN_MIXING_attention) shape_linear(p, P_query, d, d), shape_linear(p, P_key, d, d);
  if (mixing != AN_MIXING_none) {
    shape_linear(p, P_value, d, d), shape_linear(p, P_out, d, d);
    shape_sublayer(p, P_mixing_norm_weight, P_mixing_norm_running_mean, P_mixing_scale);
  }
  if (mixing == AN_MIXING_attention && plan_option(p, AN_FIELD_qk_norm)) {
    const size_t head = d / (size_t)p->config[AN_FIELD_heads];
    shape(p, P_query_norm_weight, 0, head), shape(p, P_key_norm_weight, 0, head);
  }
  if (plan_option(p, AN_FIELD_gated)) shape_linear(p, P_gate, h, d);
  shape_linear(p, P_up, h, d), shape_linear(p, P_down, d, h);
  shape_sublayer(p, P_norm_weight, P_norm_running_mean, P_scale);
  if (p->whole_stack) {
    p->d_in = (size_t)p->config[AN_FIELD_d_in], p->d_out = (size_t)p->config[AN_FIELD_d_out];
    p->positions = (size_t)p->config[AN_FIELD_positions];
    if (p->d_in) shape_linear(p, P_input, d, p->d_in);
    if (p->positions) shape(p, P_position, p->positions, d);
    if (norm != AN_NORM_none && plan_option(p, AN_FIELD_final_norm))
      shape_norm(p, P_final_norm_weight, P_final_norm_running_mean);
    if (p->d_out) shape_linear(p, P_head, p->d_out, d);
  }
  lay_out(&p->values, p, values_size);
  lay_out(&p->packed, p, packed_size);
  lay_out(&p->packed_bwd, p, packed_bwd_size);
  return AN_OK;
}

/* ---- The list ---- */

static size_t count_range(const plan *p, int first, int end) {
  size_t count = 0;
  for (int i = first; i < end; i++) count += p->cols[i] > 0;
  return count;
}

/* A place in the list. */
typedef struct entry {
  int id;       /* PARAMETER_COUNT beyond the list */
  size_t layer; /* from 0; 0 for the stack's own */
  size_t place; /* in its part of the list */
} entry;

static entry nth(const plan *p, int first, int end, size_t place, size_t layer) {
  entry e = {first, layer, place};
  while (e.id < end && (p->cols[e.id] == 0 || place-- > 0)) e.id++;
  return e;
}

static entry entry_at(const plan *p, size_t place) {
  const size_t before = count_range(p, P_input, BEFORE_END), each = count_range(p, 0, LAYER_COUNT);
  if (place < before) return nth(p, P_input, BEFORE_END, place, 0);
  place -= before;
  if (place / each < p->layers) return nth(p, 0, LAYER_COUNT, place % each, place / each);
  return nth(p, BEFORE_END, PARAMETER_COUNT, place - p->layers * each, 0);
}

/* Makes the plan and finds the parameter. */
static an_status find(plan *p, entry *e, const double *config, size_t parameter) {
  const an_status status = plan_make(p, config);
  if (status) return status;
  *e = entry_at(p, parameter);
  return e->id == PARAMETER_COUNT ? AN_UNKNOWN_OP : AN_OK;
}

static int is_buffer(int id) {
  return (id >= P_mixing_norm_running_mean && id < LAYER_COUNT) || id >= P_final_norm_running_mean;
}

size_t an_module_parameter_count(const double *config) {
  plan p;
  if (plan_make(&p, config)) return 0;
  return count_range(&p, 0, LAYER_COUNT) * p.layers + count_range(&p, P_input, PARAMETER_COUNT);
}

const char *an_module_parameter_name(const double *config, size_t parameter) {
  plan p;
  entry e;
  return find(&p, &e, config, parameter) ? NULL : text_at(names, (size_t)e.id);
}

size_t an_module_parameter_layer(const double *config, size_t parameter) {
  plan p;
  entry e;
  if (find(&p, &e, config, parameter) || e.id >= LAYER_COUNT) return 0;
  return p.first_layer + e.layer + 1;
}

size_t an_module_parameter_shape(const double *config, size_t parameter, size_t *rows, size_t *cols) {
  plan p;
  entry e;
  if (find(&p, &e, config, parameter)) return 0;
  if (rows) *rows = p.rows[e.id] ? p.rows[e.id] : 1;
  if (cols) *cols = p.cols[e.id];
  return p.rows[e.id] ? 2 : 1;
}

int an_module_parameter_learned(const double *config, size_t parameter) {
  plan p;
  entry e;
  return !find(&p, &e, config, parameter) && !is_buffer(e.id);
}

static size_t offset_of(const layout *l, entry e) {
  return l->offset[e.id] + (e.id < LAYER_COUNT ? e.layer * l->stride : 0);
}

size_t an_module_parameter_offset(const double *config, size_t parameter) {
  plan p;
  entry e;
  return find(&p, &e, config, parameter) ? 0 : offset_of(&p.values, e);
}

size_t an_module_values_bytes(const double *config) {
  plan p;
  return plan_make(&p, config) ? 0 : p.values.bytes;
}

/* ---- Initial values ---- */

static void fill(float *value, double x, size_t n) {
  for (size_t i = 0; i < n; i++) value[i] = (float)x;
}

/* A weight or bias of a linear layer (in -> out).
 * pytorch: nn.Linear, kaiming_uniform(a = sqrt 5) of the weight and the bias's own rule, both U(-1/sqrt(in),
 * 1/sqrt(in)). Xavier: Glorot and Bengio 2010, U(+-sqrt(6 / (in + out))) and N(0, 2 / (in + out)). Kaiming: He et al.
 * 2015, arXiv 1502.01852, the same with 2 in. gpt2: Radford et al. 2019, section 2.3. */
static an_status init_linear(float *value, const plan *p, int id, size_t in, size_t out, uint32_t seed,
                             uint32_t stream) {
  const int is_bias = p->rows[id] == 0, init = plan_option(p, AN_FIELD_init);
  const int last = id == P_down || id == P_down_bias || id == P_out || id == P_out_bias; /* of the branch */
  const int scaled = last || id == P_gate || id == P_up || id == P_value;                /* by beta */
  const size_t n = is_bias ? out : in * out;
  const double fan = (double)in + (double)out, std = p->config[AN_FIELD_init_std];
  double factor = scaled && !is_bias ? p->config[AN_FIELD_beta] : 1, limit = 0, deviation = 0;
  switch (init) {
    case AN_INIT_xavier_uniform: limit = __builtin_sqrt(6 / fan); break;
    case AN_INIT_xavier_normal: deviation = __builtin_sqrt(2 / fan); break;
    case AN_INIT_kaiming_uniform: limit = __builtin_sqrt(6 / (double)in); break;
    case AN_INIT_kaiming_normal: deviation = __builtin_sqrt(2 / (double)in); break;
    case AN_INIT_normal: deviation = std; break;
    case AN_INIT_gpt2:
      deviation = std;
      if (last) factor /= __builtin_sqrt(config_additions(p->config));
      break;
    default: /* pytorch, zero */
      limit = 1 / __builtin_sqrt((double)in);
      if (init == AN_INIT_zero && last) limit = 0;
  }
  if (is_bias && init != AN_INIT_pytorch && init != AN_INIT_zero) limit = deviation = 0;
  const an_status status = deviation > 0 ? an_random(value, n, AN_RANDOM_NORMAL, 0, deviation, seed, stream)
                                         : an_random(value, n, AN_RANDOM_UNIFORM, -limit, limit, seed, stream);
  if (status == AN_OK && factor != 1)
    for (size_t i = 0; i < n; i++) value[i] = (float)(factor * value[i]);
  return status;
}

an_status an_module_parameter_init(float *value, const double *config, size_t parameter, uint32_t seed) {
  plan p;
  entry e;
  const an_status status = find(&p, &e, config, parameter);
  if (status) return status;
  const int id = e.id;
  const size_t d = p.d_model, cols = p.cols[id];
  if (p.rows[id] && matmul_overflows(p.rows[id], cols)) return AN_SIZE_OVERFLOW;
  if (!value) return AN_NULL_POINTER;
  /* A stream of random numbers for each: 64 to a layer, the stack's own beyond all of them. */
  const uint32_t stream = id < LAYER_COUNT ? (uint32_t)(64 * (p.first_layer + e.layer) + e.place)
                                           : 0x100000u + (uint32_t)(id - LAYER_COUNT);
  if (is_weight(&p, id)) return init_linear(value, &p, id, cols, p.rows[id], seed, stream);
  switch (id) {
    case P_query_bias:
    case P_key_bias:
    case P_value_bias:
    case P_out_bias:
    case P_gate_bias:
    case P_up_bias:
    case P_head_bias: return init_linear(value, &p, id, d, cols, seed, stream);
    case P_down_bias: return init_linear(value, &p, id, p.d_ff, cols, seed, stream);
    case P_input_bias: return init_linear(value, &p, id, p.d_in, cols, seed, stream);
    case P_position:
      return an_random(value, p.rows[id] * cols, AN_RANDOM_NORMAL, 0, p.config[AN_FIELD_init_std], seed, stream);
    case P_query_norm_weight:
    case P_key_norm_weight: fill(value, 1, cols); break;
    case P_mixing_norm_weight:
    case P_mixing_norm2_weight:
    case P_norm_weight:
    case P_norm2_weight:
    case P_final_norm_weight: fill(value, 1 - p.config[AN_FIELD_weight_offset], cols); break;
    case P_mixing_norm_alpha:
    case P_mixing_norm2_alpha:
    case P_norm_alpha:
    case P_norm2_alpha:
    case P_final_norm_alpha: fill(value, p.config[AN_FIELD_norm_alpha], 1); break;
    case P_mixing_scale:
    case P_scale: fill(value, p.config[AN_FIELD_alpha], cols); break;
    case P_mixing_norm_running_var:
    case P_mixing_norm2_running_var:
    case P_norm_running_var:
    case P_norm2_running_var:
    case P_final_norm_running_var: fill(value, 1, cols); break;
    default: fill(value, 0, cols);
  }
  return AN_OK;
}

/* ---- Packing ---- */

size_t an_module_packed_bytes(const double *config) {
  plan p;
  return plan_make(&p, config) ? 0 : p.packed.bytes;
}

size_t an_module_packed_bwd_bytes(const double *config) {
  plan p;
  return plan_make(&p, config) ? 0 : p.packed_bwd.bytes;
}

an_status an_module_pack(float *packed, float *packed_bwd, const double *config, size_t parameter, const float *value) {
  plan p;
  entry e;
  const an_status status = find(&p, &e, config, parameter);
  if (status) return status;
  if (!p.packed.bytes || (packed_bwd && !p.packed_bwd.bytes)) return AN_SIZE_OVERFLOW;
  if (!packed || !value) return AN_NULL_POINTER;
  const size_t rows = p.rows[e.id], cols = p.cols[e.id];
  float *const to = packed + offset_of(&p.packed, e);
  if (!is_weight(&p, e.id)) {
    memcpy(to, value, (rows ? rows : 1) * cols * sizeof(float));
    return AN_OK;
  }
  matmul_pack(to, value, 1, cols, cols, rows);
  if (packed_bwd) matmul_pack(packed_bwd + offset_of(&p.packed_bwd, e), value, cols, 1, rows, cols);
  return AN_OK;
}

an_status an_module_unpack(float *value, const double *config, size_t parameter, const float *packed) {
  plan p;
  entry e;
  const an_status status = find(&p, &e, config, parameter);
  if (status) return status;
  if (p.rows[e.id]) return AN_INVALID_SHAPE;
  if (!p.packed.bytes) return AN_SIZE_OVERFLOW;
  if (!value || !packed) return AN_NULL_POINTER;
  memcpy(value, packed + offset_of(&p.packed, e), p.cols[e.id] * sizeof(float));
  return AN_OK;
}

/* ---- Cost ---- */

/* Operations on one element of a norm, the affine part aside: the terms of the mean (1) and the variance (3:
 * difference, square, sum), the factor (1). Running statistics leave difference and factor; dyt is a product and a
 * tanh. */
static double norm_flops(const plan *p) {
  const int affine = plan_option(p, AN_FIELD_affine);
  const double applied = affine == AN_AFFINE_none ? 0 : affine == AN_AFFINE_weight ? 1 : 2;
  switch (plan_option(p, AN_FIELD_norm)) {
    case AN_NORM_none: return 0;
    case AN_NORM_batch_norm:
    case AN_NORM_dyt: return 2 + applied;
    case AN_NORM_rms_norm:
    case AN_NORM_rms_norm_outside: return 3 + applied;
    default: return 5 + applied;
  }
}

/* What a sublayer does to a row beside its branch. */
static double placement_flops(const plan *p) {
  const double d = (double)p->d_model;
  const int placement = plan_option(p, AN_FIELD_placement);
  double row = p->norms * d * norm_flops(p);
  if (placement == AN_PLACEMENT_lns || placement == AN_PLACEMENT_rezero || placement == AN_PLACEMENT_layer_scale)
    row += d;
  if (plan_option(p, AN_FIELD_residual)) row += placement == AN_PLACEMENT_deepnorm ? 2 * d : d;
  return row;
}

/* Counted are: a multiply-add 2; a bias, the product with the gate, an activation (whatever it costs), a weight or bias
 * of a norm, a scale, the residual addition and deepnorm's factor 1 each an element; a norm as norm_flops; a term of
 * the mean over tokens 1; of attention 2 multiply-adds an element of the head and 5 operations of the softmax a score,
 * all length^2 of them, causal or not. Terms that do not grow with the width (a row's root and division) are left out.
 */
an_status an_module_cost(double cost[4], const double *config, size_t batch, size_t length) {
  plan p;
  const an_status status = plan_make(&p, config);
  if (status) return status;
  if (!cost) return AN_NULL_POINTER;
  double learned = 0, buffers = 0, matrices = 0, row = 0;
  for (int i = 0; i < PARAMETER_COUNT; i++) {
    const double n = (double)values_size(&p, i) * (i < LAYER_COUNT ? (double)p.layers : 1);
    *(is_buffer(i) ? &buffers : &learned) += n;
    if (is_weight(&p, i)) matrices += n;
  }
  const double d = (double)p.d_model, h = (double)p.d_ff, layers = (double)p.layers;
  const double rows = (double)batch * (double)length;
  const int gated = plan_option(&p, AN_FIELD_gated), bias = plan_option(&p, AN_FIELD_bias);
  const int mixing = plan_option(&p, AN_FIELD_mixing);
  double products = 2 * matrices;
  row += layers * (h + (gated ? h : 0) + p.sublayers * placement_flops(&p));
  if (bias) row += layers * (h + (gated ? h : 0) + d);
  if (mixing != AN_MIXING_none) {
    if (bias) row += layers * (mixing == AN_MIXING_attention ? 4 : 2) * d;
    if (mixing == AN_MIXING_mean) row += layers * d;
    if (mixing == AN_MIXING_attention) {
      products += layers * 4 * d * (double)length;
      row += layers * 5 * p.config[AN_FIELD_heads] * (double)length;
    }
    if (p.cols[P_query_norm_weight]) row += layers * 2 * 4 * d;
  }
  if (p.d_in && bias) row += d;
  if (p.d_out && bias) row += (double)p.d_out;
  if (p.positions) row += d;
  if (p.whole_stack && plan_option(&p, AN_FIELD_final_norm)) row += d * norm_flops(&p);
  const double in = p.d_in ? (double)p.d_in : d, out = p.d_out ? (double)p.d_out : d;
  cost[0] = learned;
  cost[1] = (products + row) * rows;
  cost[2] = (learned + buffers + (in + out) * rows) * sizeof(float);
  cost[3] = products * rows;
  return AN_OK;
}
