/* libFuzzer targets for include/addnorm.h. ADDNORM_FUZZ_TARGET says which one: lists, elements, norms, linear, losses,
 * optimisers, module. Together they call every function; how often each, and with which outcome, is told at the end.
 *
 *   npm run fuzz -- --seconds 300 module
 */
#include "guard.h"

/* ---- Lists and texts: any index ---- */

static void is_text(const char *text, int expected) {
  if (!expected) {
    if (text) FAIL("%s: a text beyond the list", current->name);
    return;
  }
  if (!text) FAIL("%s: no text", current->name);
  for (; *text; text++)
    if (*text < 32 || *text > 126) FAIL("%s: no printable ASCII", current->name);
}

static void is_zero(double number, int within) {
  if (!within && number != 0) FAIL("%s: a number beyond the list", current->name);
}

static void lists(void) {
  const size_t kind = u8() % 2, i = kind ? (size_t)u64() : u8(), param = u8() % 4 ? u8() % 3u : (size_t)u64();
  is_text(CALL(an_status_name, (int)u32()), 1);
  is_text(CALL(an_status_name, u8()), 1);
  is_text(CALL(an_build), 1);

  const int activation = i < CALL(an_activation_count);
  is_text(CALL(an_activation_name, i), activation);
  is_text(CALL(an_activation_aliases, i), activation);
  is_text(CALL(an_activation_formula, i), activation);
  is_text(CALL(an_activation_source, i), activation);
  const size_t params = CALL(an_activation_param_count, i);
  is_zero((double)params, activation);
  is_text(CALL(an_activation_param_name, i, param), param < params);
  is_zero(CALL(an_activation_param_default, i, param), param < params);

  const int norm = i < CALL(an_norm_count);
  is_text(CALL(an_norm_name, i), norm);
  is_text(CALL(an_norm_aliases, i), norm);
  is_text(CALL(an_norm_kind, i), norm);
  is_text(CALL(an_norm_formula, i), norm);
  is_text(CALL(an_norm_source, i), norm);
  is_zero(CALL(an_norm_default_eps, i), norm);
  is_zero((double)CALL(an_norm_default_affine, i), norm);

  const int placement = i < CALL(an_placement_count);
  is_text(CALL(an_placement_name, i), placement);
  is_text(CALL(an_placement_formula, i), placement);
  is_text(CALL(an_placement_help, i), placement);

  const int field = i < CALL(an_field_count);
  is_text(CALL(an_field_name, i), field);
  is_text(CALL(an_field_type, i), field);
  is_text(CALL(an_field_group, i), field);
  is_text(CALL(an_field_help, i), field);
  is_zero(CALL(an_field_default, i), field);
  is_zero(CALL(an_field_min, i), field);
  is_zero(CALL(an_field_max, i), field);

  is_text(CALL(an_affine_name, i), i < 3);
  is_text(CALL(an_init_name, i), i < 8);
  is_text(CALL(an_mixing_name, i), i < 3);
  is_text(CALL(an_probe_name, i), i < CALL(an_probe_count));
}

/* ---- Element by element, and softmax ---- */

static const unsigned OF_ACTIVATION = MAY(UNKNOWN_OP) | MAY(INVALID_VALUE);

static void activation_fwd(void) {
  const size_t n = size(), activation = index_below(an_activation_count());
  const double p0 = number(), p1 = number();
  float *x = input(floats(n, 1, 1)), *y = output_or(floats(n, 1, 1), x, NULL, NULL);
  TRY(OF_ACTIVATION, an_activation_fwd, nullable(y), nullable(x), n, activation, p0, p1);
}

static void activation_bwd(void) {
  const size_t n = size(), activation = index_below(an_activation_count()), bytes = floats(n, 1, 1);
  const double p0 = number(), p1 = number();
  float *x = input(bytes), *dy = input(bytes), *dx = output_or(bytes, x, dy, NULL);
  TRY(OF_ACTIVATION, an_activation_bwd, nullable(dx), nullable(x), nullable(dy), n, activation, p0, p1);
}

static void glu_fwd(void) {
  const size_t n = size(), activation = index_below(an_activation_count()), bytes = floats(n, 1, 1);
  const double p0 = number(), p1 = number();
  float *gate = input(bytes), *up = input(bytes), *y = output_or(bytes, gate, up, NULL);
  TRY(OF_ACTIVATION, an_glu_fwd, nullable(y), nullable(gate), nullable(up), n, activation, p0, p1);
}

static void glu_bwd(void) {
  const size_t n = size(), activation = index_below(an_activation_count()), bytes = floats(n, 1, 1);
  const double p0 = number(), p1 = number();
  float *gate = input(bytes), *up = input(bytes), *dy = input(bytes);
  float *dgate = output_or(bytes, gate, up, dy), *dup = output_or(bytes, gate, up, dy);
  TRY(OF_ACTIVATION, an_glu_bwd, nullable(dgate), nullable(dup), nullable(gate), nullable(up), nullable(dy), n,
      activation, p0, p1);
}

static void softmax_fwd(void) {
  const size_t outer = size_below(8), n = size(), inner = size_below(4), bytes = floats(outer, n, inner);
  float *x = input(bytes), *y = output_or(bytes, x, NULL, NULL);
  TRY(MAY(UNKNOWN_FLAG) | MAY(INVALID_SHAPE), an_softmax_fwd, nullable(y), nullable(x), outer, n, inner,
      flags(AN_SOFTMAX_LOG | AN_SOFTMAX_MASKED_ZERO));
}

static void softmax_bwd(void) {
  const size_t outer = size_below(8), n = size(), inner = size_below(4), bytes = floats(outer, n, inner);
  float *y = input(bytes), *dy = input(bytes), *dx = output_or(bytes, y, dy, NULL);
  TRY(MAY(UNKNOWN_FLAG) | MAY(INVALID_SHAPE), an_softmax_bwd, nullable(dx), nullable(y), nullable(dy), outer, n, inner,
      flags(AN_SOFTMAX_LOG | AN_SOFTMAX_MASKED_ZERO));
}

static void add_fwd(void) {
  const size_t n = size(), bytes = floats(n, 1, 1);
  const double alpha = number();
  float *x = input(bytes), *y = input(bytes), *out = output_or(bytes, x, y, NULL);
  TRY(MAY(INVALID_VALUE), an_add_fwd, nullable(out), nullable(x), nullable(y), alpha, n);
}

static void add_bwd(void) {
  const size_t n = size(), bytes = floats(n, 1, 1);
  const double alpha = number();
  float *dout = input(bytes), *dx = output_or(bytes, dout, NULL, NULL), *dy = output_or(bytes, dout, NULL, NULL);
  TRY(MAY(INVALID_VALUE), an_add_bwd, optional(dx), optional(dy), nullable(dout), alpha, n);
}

static void permute(void) {
  const size_t rank = wants(BAD_INDICES) ? u8() % 40u : u8() % 9u;
  uint32_t *shape = room(rank * sizeof *shape, CONSTANT), *perm = room(rank * sizeof *perm, CONSTANT);
  size_t elements = 1;
  int overflow = 0, empty = 0;
  for (size_t i = 0; i < rank; i++) {
    shape[i] = wants(HUGE_SIZES) ? u32() : u8() % (rank > 4 ? 4u : 9u);
    overflow |= __builtin_mul_overflow(elements, shape[i] ? shape[i] : 1, &elements);
    empty |= shape[i] == 0;
    perm[i] = (uint32_t)i;
  }
  for (size_t i = rank; i > 1; i--) {
    const size_t j = u8() % i;
    const uint32_t axis = perm[i - 1];
    perm[i - 1] = perm[j];
    perm[j] = axis;
  }
  if (rank > 0 && wants(BAD_INDICES)) perm[u8() % rank] = u8() % 2 ? u32() : u8() % 9u;
  const size_t bytes = overflow ? SIZE_MAX : floats(elements, !empty, 1);
  float *x = input(bytes), *y = output(bytes);
  TRY(MAY(INVALID_SHAPE) | MAY(INVALID_VALUE), an_permute, nullable(y), nullable(x), nullable(shape), nullable(perm),
      rank);
}

static void dropout(void) {
  const size_t n = size(), bytes = floats(n, 1, 1);
  const double p = number();
  const uint32_t seed = u32(), stream = u32();
  float *x = input(bytes), *y = output_or(bytes, x, NULL, NULL);
  TRY(MAY(INVALID_VALUE), an_dropout, nullable(y), nullable(x), p, seed, stream, n);
}

static void random_numbers(void) {
  const size_t n = size();
  const double a = number(), b = number();
  const uint32_t seed = u32(), stream = u32();
  float *out = output(floats(n, 1, 1));
  const int distribution = flags(AN_RANDOM_NORMAL);
  TRY(MAY(UNKNOWN_OP) | MAY(INVALID_VALUE), an_random, nullable(out), n, distribution, a, b, seed, stream);
}

static void limits(void) {
  const size_t n = size_below(200), bytes = floats(n, 1, 1);
  if (bytes == SIZE_MAX) abandon(); /* it has no status to refuse with */
  float *x = input(bytes);
  snapshot();
  give_double(CALL(an_limit_read, x, n));
  check(AN_OK, 0);
  give_double(CALL(an_limit_multiply_add, u8()));
}

/* ---- Norms ---- */

static const unsigned OF_NORM = MAY(UNKNOWN_OP) | MAY(INVALID_VALUE) | MAY(INVALID_SHAPE);

static void norm_fwd(void) {
  const size_t rows = size_below(6), d = size(), bytes = floats(rows, d, 1), norm = index_below(an_norm_count());
  const double eps = number(), offset = number();
  float *x = input(bytes), *y = output_or(bytes, x, NULL, NULL);
  float *mean = output(floats(rows, 1, 1)), *rstd = output(floats(rows, 1, 1));
  float *weight = input(floats(d, 1, 1)), *bias = input(floats(d, 1, 1)), *alpha = input(sizeof(float));
  TRY(OF_NORM, an_norm_fwd, nullable(y), optional(mean), optional(rstd), nullable(x), optional(weight), optional(bias),
      optional(alpha), norm, eps, offset, rows, d);
}

static void norm_bwd(void) {
  const size_t rows = size_below(6), d = size(), bytes = floats(rows, d, 1), norm = index_below(an_norm_count());
  const double eps = number(), offset = number();
  float *x = input(bytes), *dy = input(bytes), *dx = output_or(bytes, x, dy, NULL);
  float *dweight = sum(floats(d, 1, 1)), *dbias = sum(floats(d, 1, 1)), *dalpha = sum(sizeof(float));
  float *weight = input(floats(d, 1, 1)), *alpha = input(sizeof(float));
  TRY(OF_NORM, an_norm_bwd, optional(dx), optional(dweight), optional(dbias), optional(dalpha), nullable(x),
      nullable(dy), optional(weight), optional(alpha), norm, eps, offset, rows, d);
}

static void add_norm_fwd(void) {
  const size_t rows = size_below(6), d = size(), bytes = floats(rows, d, 1), norm = index_below(an_norm_count());
  const double alpha = number(), eps = number(), offset = number();
  float *x = input(bytes), *residual = input(bytes), *total = output_or(bytes, x, residual, NULL), *y = output(bytes);
  float *mean = output(floats(rows, 1, 1)), *rstd = output(floats(rows, 1, 1));
  float *weight = input(floats(d, 1, 1)), *bias = input(floats(d, 1, 1)), *norm_alpha = input(sizeof(float));
  TRY(OF_NORM, an_add_norm_fwd, nullable(total), nullable(y), optional(mean), optional(rstd), nullable(x),
      nullable(residual), optional(weight), optional(bias), optional(norm_alpha), norm, alpha, eps, offset, rows, d);
}

static void add_norm_bwd(void) {
  const size_t rows = size_below(6), d = size(), bytes = floats(rows, d, 1), norm = index_below(an_norm_count());
  const double alpha = number(), eps = number(), offset = number();
  const int further = u8() % 2; /* the sum is used further */
  float *total = input(bytes), *dsum = input(bytes), *dy = input(bytes), *place = further ? dsum : NULL;
  float *dx = output_or(bytes, total, place, dy), *dresidual = output_or(bytes, total, place, dy);
  float *dweight = sum(floats(d, 1, 1)), *dbias = sum(floats(d, 1, 1)), *dalpha = sum(sizeof(float));
  float *weight = input(floats(d, 1, 1)), *norm_alpha = input(sizeof(float));
  TRY(OF_NORM, an_add_norm_bwd, optional(dx), optional(dresidual), optional(dweight), optional(dbias), optional(dalpha),
      nullable(total), further ? dsum : NULL, nullable(dy), optional(weight), optional(norm_alpha), norm, alpha, eps, offset,
      rows, d);
}

/* Some zeros, and anything else for "not padding". */
static float *mask_of(size_t bytes) {
  float *mask = input(bytes);
  const size_t n = slot_of(mask)->bytes / sizeof(float);
  uint64_t state = u16();
  for (size_t i = 0; i < n; i++) {
    const uint64_t kind = next(&state) % 4;
    if (kind < 2) mask[i] = (float)kind;
    else if (kind == 2) mask[i] = -0.0f;
  }
  return mask;
}

static void batch_norm_fwd(void) {
  const size_t outer = size_below(6), channels = size(), inner = size_below(4);
  const size_t bytes = floats(outer, channels, inner), of_channels = floats(channels, 1, 1);
  const double eps = number(), momentum = number(), offset = number();
  const int training = u8() % 2, biased = u8() % 2, running = training ? u8() % 2 : 1;
  float *x = input(bytes), *y = output_or(bytes, x, NULL, NULL);
  float *mean = output(of_channels), *rstd = output(of_channels);
  float *running_mean = input(of_channels), *running_var = input(of_channels);
  if (training) writes(running_mean, FLOATS), writes(running_var, FLOATS);
  float *weight = input(of_channels), *bias = input(of_channels), *mask = mask_of(floats(outer, inner, 1));
  TRY(MAY(INVALID_VALUE) | MAY(INVALID_SHAPE), an_batch_norm_fwd, nullable(y), optional(mean), optional(rstd),
      given_if(running, nullable(running_mean)), given_if(running, nullable(running_var)), nullable(x), optional(weight),
      optional(bias), optional(mask), eps, momentum, offset, training, biased, outer, channels, inner);
}

static void batch_norm_bwd(void) {
  const size_t outer = size_below(6), channels = size(), inner = size_below(4);
  const size_t bytes = floats(outer, channels, inner), of_channels = floats(channels, 1, 1);
  const double eps = number(), offset = number();
  const int training = u8() % 2, running = training ? u8() % 2 : 1;
  float *x = input(bytes), *dy = input(bytes), *dx = output_or(bytes, x, dy, NULL);
  float *dweight = sum(of_channels), *dbias = sum(of_channels);
  float *running_mean = input(of_channels), *running_var = input(of_channels);
  float *weight = input(of_channels), *mask = mask_of(floats(outer, inner, 1));
  TRY(MAY(INVALID_VALUE) | MAY(INVALID_SHAPE), an_batch_norm_bwd, optional(dx), optional(dweight), optional(dbias),
      nullable(x), nullable(dy), optional(weight), optional(mask), given_if(running, nullable(running_mean)),
      given_if(running, nullable(running_var)), eps, offset, training, outer, channels, inner);
}

/* As many channels as groups of `each`, mostly. */
static size_t channels_of(size_t groups) {
  const size_t each = size_below(9);
  size_t channels;
  if (wants(BAD_NUMBERS) || __builtin_mul_overflow(groups, each, &channels)) return each;
  return channels;
}

static void group_norm_fwd(void) {
  const size_t groups = size_below(6), channels = channels_of(groups);
  const size_t batch = size_below(4), length = size_below(4), inner = size_below(4);
  const size_t rest = floats(batch, length, inner);
  const size_t bytes = rest == SIZE_MAX && channels ? SIZE_MAX : floats(rest / sizeof(float), channels, 1);
  const size_t of_channels = floats(channels, 1, 1), of_groups = floats(batch, groups, 1);
  const double eps = number(), offset = number();
  float *x = input(bytes), *y = output_or(bytes, x, NULL, NULL), *mean = output(of_groups), *rstd = output(of_groups);
  float *weight = input(of_channels), *bias = input(of_channels);
  TRY(MAY(INVALID_VALUE) | MAY(INVALID_SHAPE), an_group_norm_fwd, nullable(y), optional(mean), optional(rstd),
      nullable(x), optional(weight), optional(bias), eps, offset, groups, batch, length, channels, inner);
}

static void group_norm_bwd(void) {
  const size_t groups = size_below(6), channels = channels_of(groups);
  const size_t batch = size_below(4), length = size_below(4), inner = size_below(4);
  const size_t rest = floats(batch, length, inner);
  const size_t bytes = rest == SIZE_MAX && channels ? SIZE_MAX : floats(rest / sizeof(float), channels, 1);
  const size_t of_channels = floats(channels, 1, 1);
  const double eps = number(), offset = number();
  float *x = input(bytes), *dy = input(bytes), *dx = output_or(bytes, x, dy, NULL);
  float *dweight = sum(of_channels), *dbias = sum(of_channels), *weight = input(of_channels);
  TRY(MAY(INVALID_VALUE) | MAY(INVALID_SHAPE), an_group_norm_bwd, optional(dx), optional(dweight), optional(dbias),
      nullable(x), nullable(dy), optional(weight), eps, offset, groups, batch, length, channels, inner);
}

/* ---- Linear ---- */

/* A weight and how the kernels read it; NULL if that was refused. */
static float *packed_of(float *weight, int layout_, size_t in, size_t out) {
  const size_t bytes = CALL(an_linear_packed_bytes, in, out);
  if (bytes > CAPACITY / 2) abandon();
  float *packed = scratch(bytes);
  const int status = TRY(MAY(UNKNOWN_FLAG), an_linear_pack, nullable(packed), nullable(weight), layout_, in, out);
  return status == AN_OK ? packed : NULL;
}

static void linear(void) {
  const size_t rows = size_below(12), in = size(), out = size();
  const size_t x_bytes = floats(rows, in, 1), y_bytes = floats(rows, out, 1), activation = index_below(an_activation_count());
  const int matrix_layout = flags(AN_IN_OUT);
  const double p0 = number(), p1 = number();
  float *x = input(x_bytes), *weight = input(floats(in, out, 1)), *bias = input(floats(out, 1, 1));
  float *packed = packed_of(weight, matrix_layout, in, out);
  if (packed) {
    float *y = output(y_bytes);
    TRY(OF_ACTIVATION, an_linear_fwd, nullable(y), nullable(x), nullable(packed), optional(bias), activation, p0, p1,
        rows, in, out);
  }

  float *packed_bwd = packed_of(weight, matrix_layout == AN_IN_OUT ? AN_OUT_IN : AN_IN_OUT, out, in);
  if (!packed_bwd) return;
  size_t workspace_bytes = CALL(an_linear_bwd_workspace_bytes, rows, in, out);
  if (workspace_bytes > 512 << 10) FAIL("workspace of %zu bytes", workspace_bytes);
  if (workspace_bytes && wants(BAD_NUMBERS)) workspace_bytes -= 1 + u8() % workspace_bytes % 64;
  float *dy = input(y_bytes), *dx = output(x_bytes), *dweight = sum(floats(in, out, 1)), *dbias = sum(floats(out, 1, 1));
  void *workspace = scratch(workspace_bytes);
  const int wants_dx = u8() % 4 != 0, wants_dweight = u8() % 4 != 0;
  TRY(MAY(UNKNOWN_FLAG) | MAY(WORKSPACE_TOO_SMALL), an_linear_bwd, given_if(wants_dx, dx),
      given_if(wants_dweight, dweight), optional(dbias), nullable(x), nullable(dy),
      wants_dx ? nullable(packed_bwd) : NULL, wants_dweight ? nullable(workspace) : NULL, workspace_bytes,
      matrix_layout, rows, in, out);
}

/* ---- Losses ---- */

static void mse(void) {
  const size_t n = size(), bytes = floats(n, 1, 1);
  float *prediction = input(bytes), *target = input(bytes);
  double *value = output_doubles(1);
  float *terms = output(bytes), *gradient = output_or(bytes, prediction, target, NULL);
  TRY(MAY(UNKNOWN_FLAG), an_mse, nullable(value), optional(terms), optional(gradient), nullable(prediction),
      nullable(target), flags(AN_REDUCTION_SUM), n);
}

static void cross_entropy(void) {
  const size_t rows = size_below(8), classes = size(), bytes = floats(rows, classes, 1), of_rows = floats(rows, 1, 1);
  const int32_t ignore = u8() % 4 ? -100 : (int32_t)u32();
  const double smoothing = number();
  float *logits = input(bytes), *targets = input(bytes), *weights = input(floats(classes, 1, 1));
  int32_t *labels = room(of_rows, CONSTANT);
  for (size_t i = 0; i < slot_of(labels)->bytes / sizeof *labels; i++) {
    const uint8_t kind = u8();
    labels[i] = wants(BAD_INDICES) ? (int32_t)u32() : kind % 8 == 0 ? ignore : (int32_t)(classes ? kind % classes : 0);
  }
  double *value = output_doubles(1);
  float *terms = output(of_rows), *gradient = output_or(bytes, logits, NULL, NULL);
  const int by_label = u8() % 2;
  TRY(MAY(UNKNOWN_FLAG) | MAY(INVALID_VALUE) | MAY(INVALID_SHAPE), an_cross_entropy, nullable(value), optional(terms),
      optional(gradient), nullable(logits), by_label || wants(NULLS) ? labels : NULL,
      !by_label || wants(NULLS) ? targets : NULL, optional(weights), smoothing, ignore,
      flags(AN_REDUCTION_SUM | AN_LOG_PROBABILITIES), rows, classes);
}

/* ---- Optimisers ---- */

static uint32_t step_number(void) { return u8() % 4 ? u8() % 8u : u32(); }

static void sgd_step(void) {
  const size_t n = size(), bytes = floats(n, 1, 1);
  const double scale = number(), rate = number(), momentum = number(), dampening = number(), decay = number();
  const uint32_t step = step_number();
  float *value = sum(bytes), *velocity = sum(bytes), *gradient = input(bytes);
  TRY(MAY(UNKNOWN_FLAG) | MAY(INVALID_VALUE) | MAY(NOT_FINITE), an_sgd_step, nullable(value), nullable(velocity),
      nullable(gradient), scale, rate, momentum, dampening, decay, flags(AN_STEP_CHECK | AN_SGD_NESTEROV), step, n);
}

static void adam_step(void) {
  const size_t n = size(), bytes = floats(n, 1, 1);
  const double scale = number(), rate = number(), beta1 = number(), beta2 = number(), eps = number(), decay = number();
  const uint32_t step = step_number();
  float *value = sum(bytes), *m = sum(bytes), *v = sum(bytes), *gradient = input(bytes);
  TRY(MAY(UNKNOWN_FLAG) | MAY(INVALID_VALUE) | MAY(NOT_FINITE), an_adam_step, nullable(value), nullable(m), nullable(v),
      nullable(gradient), scale, rate, beta1, beta2, eps, decay,
      flags(AN_STEP_CHECK | AN_ADAM_DECOUPLED | AN_ADAM_EPSILON_FIRST), step, n);
}

static void sum_squares(void) {
  const size_t n = size();
  float *x = input(floats(n, 1, 1));
  double *total = output_doubles(1);
  *total = 0.5;
  TRY(0, an_sum_squares, nullable(total), nullable(x), n);
}

/* ---- Modules ---- */

static const unsigned OF_CONFIG = MAY(INVALID_VALUE) | MAY(UNKNOWN_OP) | MAY(INVALID_SHAPE);

static int is_field(size_t field, const char *name) { return strcmp(an_field_name(field), name) == 0; }

/* A value that the field may have, small where it is a size. */
static double field_value(size_t field) {
  if (wants(BAD_NUMBERS)) {
    const double ends[] = {an_field_min(field), an_field_max(field), an_field_max(field) + 1, an_field_min(field) - 1};
    return u8() % 2 ? number() : ends[u8() % 4];
  }
  const double automatic = an_field_default(field);
  if (automatic != automatic && u8() % 4 == 0) return automatic;
  if (strcmp(an_field_type(field), "float") == 0) return number();
  const size_t least = (size_t)an_field_min(field), most = (size_t)an_field_max(field);
  const size_t small = is_field(field, "depth") ? 3 : is_field(field, "d_model") || is_field(field, "d_ff") ? 40 : 12;
  return (double)(least + u8() % ((most - least < small ? most - least : small) + 1));
}

static double *any_config(void) {
  const size_t count = an_field_count();
  double *config = room(count * sizeof *config, DOUBLES);
  memset(config, 0xa5, count * sizeof *config);
  is_result(config);
  TRY(0, an_config_default, config);
  for (size_t f = 0; f < count; f++)
    if (is_field(f, "d_model") || is_field(f, "d_ff")) config[f] = field_value(f);
  for (size_t changes = u8() % 16; changes > 0; changes--) {
    const size_t f = u8() % count;
    config[f] = field_value(f);
  }
  return config;
}

static double field_of(const double *config, const char *name) {
  size_t f = 0;
  while (!is_field(f, name)) f++;
  return config[f];
}

/* Everything that is asked of a configuration by its parameters' numbers; beyond the list too. */
static void ask_parameter(const double *config, size_t p, size_t count, size_t values) {
  const int within = p < count;
  size_t rows = 7, cols = 7;
  is_text(CALL(an_module_parameter_name, config, p), within);
  const size_t axes = CALL(an_module_parameter_shape, config, p, u8() % 8 ? &rows : NULL, u8() % 8 ? &cols : NULL);
  const size_t offset = CALL(an_module_parameter_offset, config, p), layer = CALL(an_module_parameter_layer, config, p);
  const int learned = CALL(an_module_parameter_learned, config, p);
  if (!within && (axes || offset || layer || learned)) FAIL("a parameter beyond the list");
  if (!within) return;
  if (axes < 1 || axes > 2 || offset % 4 || learned < 0 || learned > 1 || layer > 1024) FAIL("parameter %zu", p);
  if (values && rows != 7 && cols != 7 && (offset + rows * cols) * sizeof(float) > values) FAIL("parameter %zu is outside", p);
}

/* Of a configuration that is refused every function says so. */
static void refused(double *config, int status) {
  size_t sizes = CALL(an_module_parameter_count, config) + CALL(an_module_values_bytes, config);
  sizes += CALL(an_module_packed_bytes, config) + CALL(an_module_packed_bwd_bytes, config);
  sizes += CALL(an_module_workspace_bytes, config, 2, 2, 3) + CALL(an_module_saved_bytes, config, 2, 3);
  sizes += CALL(an_module_probe_count, config);
  if (sizes) FAIL("a refused configuration has sizes");
  ask_parameter(config, u8(), 0, 0);
  float *data = input(64);
  int others = TRY(OF_CONFIG, an_module_parameter_init, data, config, u8(), 1) ^ status;
  others |= TRY(OF_CONFIG, an_module_pack, data, NULL, config, u8(), data) ^ status;
  others |= TRY(OF_CONFIG, an_module_unpack, data, config, u8(), data) ^ status;
  others |= TRY(OF_CONFIG, an_module_fwd, data, data, NULL, data, NULL, data, 64, config, 1, 1, 1) ^ status;
  others |= TRY(OF_CONFIG, an_module_bwd, data, data, data, NULL, data, data, data, data, 64, config, 1, 1, 1, NULL) ^ status;
  others |= TRY(OF_CONFIG, an_module_cost, (double *)slot_of(config)->data, config, 1, 1) ^ status;
  if (others) FAIL("a refused configuration has other statuses");
}

/* Initial values of every parameter, or any others, in exact room; and packed. */
static int pack_all(const double *config, size_t count, float *packed, float *packed_bwd) {
  for (size_t p = 0; p < count; p++) {
    size_t rows = 0, cols = 0;
    an_module_parameter_shape(config, p, &rows, &cols);
    float *value = output(floats(rows, cols, 1));
    if (TRY(MAY(UNKNOWN_OP), an_module_parameter_init, nullable(value), config, p, u8())) return 0;
    if (u8() % 8 == 0) fill(value, rows * cols);
    writes(packed, SCRATCH);
    if (packed_bwd) writes(packed_bwd, SCRATCH);
    if (TRY(MAY(UNKNOWN_OP), an_module_pack, nullable(packed), packed_bwd, config, p, nullable(value))) return 0;
    release(value);
  }
  return 1;
}

static void unpack_some(const double *config, size_t count, const float *packed) {
  const size_t p = u8() % (count + 1);
  size_t rows = 0, cols = 0;
  an_module_parameter_shape(config, p, &rows, &cols);
  float *value = output(floats(rows, cols, 1));
  TRY(MAY(UNKNOWN_OP) | MAY(INVALID_SHAPE), an_module_unpack, nullable(value), config, p, nullable((void *)packed));
  release(value);
}

static void module(void) {
  double *config = any_config();
  uint32_t field = 12345;
  const int status = TRY(OF_CONFIG, an_config_check, nullable(config), u8() % 2 ? &field : NULL);
  give(&field, sizeof field);
  double *resolved = output_doubles(an_field_count());
  if (TRY(OF_CONFIG, an_config_resolve, nullable(resolved), config)) {
    if (an_config_check(config, NULL)) refused(config, an_config_check(config, NULL));
    return;
  }
  if (status != AN_OK && status != AN_NULL_POINTER) FAIL("an_config_check refused, an_config_resolve did not");
  if (an_config_check(resolved, NULL)) FAIL("a resolved configuration is refused");

  const size_t batch = size_below(4), length = size_below(7), count = CALL(an_module_parameter_count, config);
  const size_t values = CALL(an_module_values_bytes, config);
  for (size_t i = 0; i < 4; i++) ask_parameter(config, u8() % 4 ? u8() % (count + 2) : (size_t)u64(), count, values);
  double *cost = output_doubles(4);
  TRY(0, an_module_cost, nullable(cost), config, batch, length);
  const size_t packed_bytes = CALL(an_module_packed_bytes, config), packed_bwd_bytes = CALL(an_module_packed_bwd_bytes, config);
  const int training = u8() % 2;
  const size_t saved_bytes = CALL(an_module_saved_bytes, config, batch, length);
  size_t fwd_bytes = CALL(an_module_workspace_bytes, config, training, batch, length);
  size_t bwd_bytes = CALL(an_module_workspace_bytes, config, 2, batch, length);
  if (values > CAPACITY / 2 || packed_bytes > CAPACITY || packed_bwd_bytes > CAPACITY || saved_bytes > CAPACITY ||
      fwd_bytes > CAPACITY || bwd_bytes > CAPACITY || count > 200)
    abandon();

  const size_t d = (size_t)field_of(resolved, "d_model"), d_in = (size_t)field_of(resolved, "d_in");
  const size_t d_out = (size_t)field_of(resolved, "d_out"), whole = field_of(resolved, "layer") == 0;
  const size_t x_bytes = floats(batch, length, whole && d_in ? d_in : d);
  const size_t y_bytes = floats(batch, length, whole && d_out ? d_out : d);
  float *packed = scratch(packed_bytes), *packed_bwd = training ? scratch(packed_bwd_bytes) : NULL;
  if (!pack_all(config, count, packed, packed_bwd)) return;
  unpack_some(config, count, packed);

  if (fwd_bytes && wants(BAD_NUMBERS)) fwd_bytes -= 1 + u8() % fwd_bytes % 64;
  float *x = input(x_bytes), *mask = mask_of(floats(batch, length, 1)), *y = output(y_bytes);
  const int masked = u8() % 3 == 0;
  void *saved = training ? scratch(saved_bytes) : NULL, *workspace = scratch(fwd_bytes);
  const uint32_t seed = u32();
  if (training) writes(packed, SCRATCH);
  const unsigned errors = MAY(WORKSPACE_TOO_SMALL) | MAY(INVALID_SHAPE);
  if (TRY(errors, an_module_fwd, nullable(y), nullable(x), masked ? mask : NULL, nullable(packed), saved,
          nullable(workspace), fwd_bytes, config, seed, batch, length) ||
      !training)
    return;
  unpack_some(config, count, packed);

  if (bwd_bytes && wants(BAD_NUMBERS)) bwd_bytes -= 1 + u8() % bwd_bytes % 64;
  float *dy = input(y_bytes);
  const size_t width = batch && length ? slot_of(dy)->bytes / sizeof(float) / batch / length : 0;
  for (size_t i = 0; masked && i < batch * length; i++)
    if (mask[i] == 0) memset(dy + i * width, 0, width * sizeof(float));
  float *dx = x_bytes == y_bytes ? output_or(x_bytes, dy, NULL, NULL) : output(x_bytes), *gradients = sum(values);
  double *probe = output_doubles(CALL(an_module_probe_count, config) * an_probe_count());
  release(workspace);
  workspace = scratch(bwd_bytes);
  writes(saved, SCRATCH);
  TRY(errors, an_module_bwd, optional(dx), nullable(gradients), nullable(dy), masked ? mask : NULL, nullable(packed),
      nullable(packed_bwd), nullable(saved), nullable(workspace), bwd_bytes, config, seed, batch, length,
      optional(probe));
}

/* ---- Targets ---- */

static void elements(void) {
  static void (*const ops[])(void) = {activation_fwd, activation_bwd, glu_fwd, glu_bwd, softmax_fwd,    softmax_bwd,
                                      add_fwd,        add_bwd,        permute, dropout, random_numbers, limits};
  ops[u8() % (sizeof ops / sizeof *ops)]();
}
static void norms(void) {
  static void (*const ops[])(void) = {norm_fwd,       norm_bwd,       add_norm_fwd,   add_norm_bwd,
                                      batch_norm_fwd, batch_norm_bwd, group_norm_fwd, group_norm_bwd};
  ops[u8() % (sizeof ops / sizeof *ops)]();
}
static void losses(void) { (u8() % 4 ? cross_entropy : mse)(); }
static void optimisers(void) {
  static void (*const ops[])(void) = {sgd_step, adam_step, sum_squares};
  ops[u8() % (sizeof ops / sizeof *ops)]();
}

static const struct {
  const char *name;
  void (*op)(void);
} targets[] = {{"lists", lists},   {"elements", elements},     {"norms", norms},  {"linear", linear},
               {"losses", losses}, {"optimisers", optimisers}, {"module", module}};
static void (*target)(void);

/* One line a function: name, calls, AN_OK, refused. */
static void report(void) {
  for (const site *s = sites; s; s = s->next) printf("reached %s %lu %lu %lu\n", s->name, s->calls, s->good, s->refused);
}

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length);

int LLVMFuzzerInitialize(int *argc, char ***argv) {
  (void)argc, (void)argv;
  const char *wanted = getenv("ADDNORM_FUZZ_TARGET");
  for (size_t i = 0; i < sizeof targets / sizeof *targets; i++)
    if (wanted && strcmp(wanted, targets[i].name) == 0) target = targets[i].op;
  if (!target) {
    fprintf(stderr, "ADDNORM_FUZZ_TARGET: one of");
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) fprintf(stderr, " %s", targets[i].name);
    fputc('\n', stderr);
    exit(2);
  }
  reserve();
  atexit(report);
  return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length) { return run_twice(target, data, length); }
