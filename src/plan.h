/* What a configuration comes to: which parameters a module has and where they lie; for the layers above. */
#ifndef AN_PLAN_H
#define AN_PLAN_H

#include "config.h"

/* The parameters, in the order in which they are listed: those of each layer, those of the stack before and behind its
 * layers, and what the latter has as buffers. Those of a norm follow each other as weight, bias, alpha, those of a
 * second norm behind them; running statistics as mean, var. */
/* clang-format off */
#define LAYER_PARAMETERS(X)                                                                              \
  X(query) X(query_bias) X(key) X(key_bias) X(value) X(value_bias) X(out) X(out_bias)                    \
  X(query_norm_weight) X(key_norm_weight)                                                                \
  X(mixing_norm_weight) X(mixing_norm_bias) X(mixing_norm_alpha)                                         \
  X(mixing_norm2_weight) X(mixing_norm2_bias) X(mixing_norm2_alpha) X(mixing_scale)                      \
  X(gate) X(gate_bias) X(up) X(up_bias) X(down) X(down_bias)                                             \
  X(norm_weight) X(norm_bias) X(norm_alpha) X(norm2_weight) X(norm2_bias) X(norm2_alpha) X(scale)        \
  X(mixing_norm_running_mean) X(mixing_norm_running_var)                                                 \
  X(mixing_norm2_running_mean) X(mixing_norm2_running_var)                                               \
  X(norm_running_mean) X(norm_running_var) X(norm2_running_mean) X(norm2_running_var)
#define STACK_PARAMETERS(X)                                                                              \
  X(input) X(input_bias) X(position)                                                                     \
  X(final_norm_weight) X(final_norm_bias) X(final_norm_alpha) X(head) X(head_bias)                       \
  X(final_norm_running_mean) X(final_norm_running_var)
/* clang-format on */

enum {
#define X(id) P_##id,
  LAYER_PARAMETERS(X) STACK_PARAMETERS(X)
#undef X
      PARAMETER_COUNT,
  LAYER_COUNT = P_input,           /* parameters before this one are a layer's */
  BEFORE_END = P_final_norm_weight /* and the stack's before this one come before the layers */
};

/* Where the parameters lie in a buffer, in floats. Sections start at multiples of 16 bytes. */
typedef struct layout {
  size_t offset[PARAMETER_COUNT]; /* a layer's: in the first one */
  size_t stride;                  /* from layer to layer */
  size_t bytes;                   /* of all; 0 if that overflows size_t */
} layout;

typedef struct plan {
  double config[AN_FIELD_COUNT]; /* AUTO resolved */
  size_t d_model, d_ff, d_in, d_out, positions;
  size_t first_layer, layers; /* first_layer: from 0 */
  int whole_stack;
  int sublayers;                                       /* of a layer: 1, with mixing 2 */
  int norms;                                           /* of a sublayer: 0, 1 or 2 */
  size_t rows[PARAMETER_COUNT], cols[PARAMETER_COUNT]; /* rows 0: one axis; cols 0: there is no such parameter */
  layout values, packed, packed_bwd;
} plan;

/* AN_OK, or what an_config_check says. */
an_status plan_make(plan *p, const double *config);

static inline int plan_option(const plan *p, int field) { return (int)p->config[field]; }

/* The parameter in a buffer, NULL if there is none; layer from 0, of no account for the stack's own. */
static inline float *plan_find(const plan *p, const layout *l, float *buffer, size_t layer, int parameter) {
  if (!buffer || !p->cols[parameter]) return NULL;
  return buffer + l->offset[parameter] + (parameter < LAYER_COUNT ? layer * l->stride : 0);
}

#endif
