/* Instantiates the loop drivers over activation/list.def. */
#include "activation.h"

#include "map.h"
#include "text.h"
#include "vmath.h"

#define AN_ACTIVATION_BODIES
#include "activation/list.def"
#undef AN_ACTIVATION_BODIES

/* Any finite number; normal floats, which the bodies divide by: positive ones, or of both signs. */
enum { AN_ANY, AN_POSITIVE, AN_NONZERO };

static const struct {
  double value[2];
  unsigned char param_count, domain[2];
} list[] = {
#define AN_ACTIVATION(id, aliases, count, n0, v0, d0, n1, v1, d1, formula, source) {{v0, v1}, count, {d0, d1}},
#include "activation/list.def"
#undef AN_ACTIVATION
};

static const char names[] =
#define AN_ACTIVATION(id, ...) #id "\0"
#include "activation/list.def"
#undef AN_ACTIVATION
    ;

enum { ALIASES, PARAM_NAME, FORMULA = PARAM_NAME + 2, SOURCE, TEXTS };
static const char *text(size_t activation, size_t which) {
  static const char texts[] =
#define AN_ACTIVATION(id, aliases, count, n0, v0, d0, n1, v1, d1, formula, source) \
  aliases "\0" n0 "\0" n1 "\0" formula "\0" source "\0"
#include "activation/list.def"
#undef AN_ACTIVATION
      ;
  return activation < AN_ACTIVATION_COUNT ? text_at(texts, activation * TEXTS + which) : NULL;
}

size_t an_activation_count(void) { return AN_ACTIVATION_COUNT; }
const char *an_activation_name(size_t a) { return a < AN_ACTIVATION_COUNT ? text_at(names, a) : NULL; }
const char *an_activation_aliases(size_t a) { return text(a, ALIASES); }
size_t an_activation_param_count(size_t a) { return a < AN_ACTIVATION_COUNT ? list[a].param_count : 0; }
const char *an_activation_param_name(size_t a, size_t p) {
  return p < an_activation_param_count(a) ? text(a, PARAM_NAME + p) : NULL;
}
double an_activation_param_default(size_t a, size_t p) {
  return p < an_activation_param_count(a) ? list[a].value[p] : 0;
}
const char *an_activation_formula(size_t a) { return text(a, FORMULA); }
const char *an_activation_source(size_t a) { return text(a, SOURCE); }

an_status activation_check(size_t activation, double p0, double p1) {
  if (activation >= AN_ACTIVATION_COUNT) return AN_UNKNOWN_OP;
  const double p[2] = {p0, p1};
  for (size_t i = 0; i < list[activation].param_count; i++) {
    /* Beyond float's range too: bodies round parameters to float. */
    if (!(p[i] >= -3.4e38 && p[i] <= 3.4e38)) return AN_INVALID_VALUE;
    const int domain = list[activation].domain[i];
    if (domain == AN_POSITIVE && !(p[i] >= 0x1p-126)) return AN_INVALID_VALUE;
    if (domain == AN_NONZERO && !(p[i] >= 0x1p-126 || p[i] <= -0x1p-126)) return AN_INVALID_VALUE;
  }
  return AN_OK;
}

/* Worth having their constants held in registers */
AN_INLINE int held(size_t activation) {
  return activation == AN_ACT_silu || activation == AN_ACT_gelu_tanh || activation == AN_ACT_sigmoid;
}

/* y = activation(x), x * factor, activation'(x) * factor */
enum { APPLY, MULTIPLY, GRADIENT };

/* n is a multiple of AN_LANES above 0. */
static void run_vectors(int what, float *y, const float *x, const float *factor, size_t n, size_t activation, double p0,
                        double p1) {
  if (what == MULTIPLY) {
    map_product(y, x, factor, n, act_identity, p0, p1);
  } else if (what == APPLY) {
    switch (activation) {
#define AN_ACTIVATION(id, ...)                \
  case AN_ACT_##id:                           \
    if (held(AN_ACT_##id))                    \
      map_held(y, x, n, act_##id, p0, p1);    \
    else                                      \
      map_vectors(y, x, n, act_##id, p0, p1); \
    break;
#include "activation/list.def"
#undef AN_ACTIVATION
    }
  } else {
    switch (activation) {
#define AN_ACTIVATION(id, ...)                             \
  case AN_ACT_##id:                                        \
    map_product(y, x, factor, n, act_##id##_grad, p0, p1); \
    break;
#include "activation/list.def"
#undef AN_ACTIVATION
    }
  }
}

/* The tail is padded here, for the whole list at once: a tail in every loop would double the code. */
static void run(int what, float *y, const float *x, const float *factor, size_t n, size_t activation, double p0,
                double p1) {
  const size_t tail = n % AN_LANES, whole = n - tail;
  if (activation == AN_ACT_swish && p0 == 1) activation = AN_ACT_silu; /* bit for bit */
  if (whole) run_vectors(what, y, x, factor, whole, activation, p0, p1);
  if (tail == 0) return;
  float last_x[AN_LANES], last_factor[AN_LANES];
  vf_store(last_x, vf_load_tail(x + whole, tail, 0.0f));
  vf_store(last_factor, vf_load_tail(factor + whole, tail, 0.0f));
  run_vectors(what, last_x, last_x, last_factor, AN_LANES, activation, p0, p1);
  memcpy(y + whole, last_x, tail * sizeof(float));
}

void activation_apply(float *y, const float *x, size_t n, size_t activation, double p0, double p1) {
  run(APPLY, y, x, x, n, activation, p0, p1);
}

void activation_gradient(float *dx, const float *x, const float *dy, size_t n, size_t activation, double p0,
                         double p1) {
  run(GRADIENT, dx, x, dy, n, activation, p0, p1);
}

/* With a gate in pieces that stay in cache, from what is there: no further copy of every activation. */
enum { PIECE = 256 };
static void multiply(float *y, const float *x, const float *factor, size_t n) {
  run(MULTIPLY, y, x, factor, n, 0, 0, 0);
}

void activation_apply_gated(float *y, const float *gate, const float *up, size_t n, size_t activation, double p0,
                            double p1) {
  float piece[PIECE];
  for (size_t i = 0; i < n; i += PIECE) {
    const size_t m = n - i < PIECE ? n - i : PIECE;
    activation_apply(piece, gate + i, m, activation, p0, p1);
    multiply(y + i, piece, up + i, m);
  }
}

/* dup is written when up has been read, dgate last: they may lie on any of the inputs. */
void activation_gradient_gated(float *dgate, float *dup, const float *gate, const float *up, const float *dy, size_t n,
                               size_t activation, double p0, double p1) {
  float piece[PIECE];
  for (size_t i = 0; i < n; i += PIECE) {
    const size_t m = n - i < PIECE ? n - i : PIECE;
    activation_gradient(piece, gate + i, dy + i, m, activation, p0, p1);
    multiply(piece, piece, up + i, m);
    activation_apply_gated(dup + i, gate + i, dy + i, m, activation, p0, p1);
    memcpy(dgate + i, piece, m * sizeof(float));
  }
}

/* there: no pointer that is needed is NULL. */
static an_status check(int there, size_t n, size_t activation, double p0, double p1) {
  const an_status status = activation_check(activation, p0, p1);
  if (status) return status;
  if (n > SIZE_MAX / sizeof(float)) return AN_SIZE_OVERFLOW;
  return there || n == 0 ? AN_OK : AN_NULL_POINTER;
}

an_status an_activation_fwd(float *y, const float *x, size_t n, size_t activation, double p0, double p1) {
  const an_status status = check(y && x, n, activation, p0, p1);
  if (status == AN_OK) activation_apply(y, x, n, activation, p0, p1);
  return status;
}

an_status an_glu_fwd(float *y, const float *gate, const float *up, size_t n, size_t activation, double p0, double p1) {
  const an_status status = check(y && gate && up, n, activation, p0, p1);
  if (status == AN_OK) activation_apply_gated(y, gate, up, n, activation, p0, p1);
  return status;
}

an_status an_activation_bwd(float *dx, const float *x, const float *dy, size_t n, size_t activation, double p0,
                            double p1) {
  const an_status status = check(dx && x && dy, n, activation, p0, p1);
  if (status == AN_OK) activation_gradient(dx, x, dy, n, activation, p0, p1);
  return status;
}

an_status an_glu_bwd(float *dgate, float *dup, const float *gate, const float *up, const float *dy, size_t n,
                     size_t activation, double p0, double p1) {
  const an_status status = check(dgate && dup && gate && up && dy, n, activation, p0, p1);
  if (status == AN_OK) activation_gradient_gated(dgate, dup, gate, up, dy, n, activation, p0, p1);
  return status;
}
