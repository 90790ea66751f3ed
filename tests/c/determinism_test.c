/* Runs tests/workload.txt and compares the hashes with those of tests/workload.hashes: the native build gives the bits
 * of the wasm build. The format and the generator are described in workload.txt; the JS half is tests/js/workload.js.
 *
 * Builds whose bits may differ (scalar, fused) compare only the sections marked `all`. With the argument --print the
 * hashes are printed instead.
 */
#include "test.h"

#if defined(AN_SCALAR) || defined(AN_TEST_FUSED)
enum { BASELINE = 0 };
#else
enum { BASELINE = 1 };
#endif

enum { MAX_ARGS = 24, MAX_LINES = 32, MAX_BUFFERS = 4096 };

static void fail(const char *what, const char *which) {
  printf("workload: %s '%s'\n", what, which);
  exit(1);
}

/* ---- State of a section ---------------------------------------------------------------------------------------- */

static uint32_t state;
static uint64_t hash;
static void *buffers[MAX_BUFFERS];
static size_t buffer_count;
static float *packed;
static size_t work_bytes;    /* of the last workspace */
static const char *variable; /* "activation", "norm", "placement", "init" or "" */
static size_t variable_index;

static uint32_t next(void) { return state = state * 1664525u + 1013904223u; }

static void *alloc(size_t bytes) {
  if (buffer_count == MAX_BUFFERS) fail("too many", "buffers");
  void *p = calloc(1, bytes ? bytes : 1);
  if (!p) fail("out of", "memory");
  return buffers[buffer_count++] = p;
}

/* What is to be written before it is read: NaN. */
static void *alloc_unset(size_t bytes) { return memset(alloc(bytes), 0xff, bytes); }

static void fill(float *p, size_t n, const char *kind) {
  for (size_t i = 0; i < n; i++) {
    const uint32_t s = next();
    const double v = (double)(s >> 8) / 4194304.0 - 2.0;
    if (!strcmp(kind, "plain"))
      p[i] = (float)v;
    else if (!strcmp(kind, "small"))
      p[i] = (float)(v / 16);
    else if (!strcmp(kind, "wide"))
      p[i] = (float)(v * 16);
    else if (!strcmp(kind, "huge"))
      p[i] = (float)(v * 0x1p64);
    else if (!strcmp(kind, "unit"))
      p[i] = (float)(v / 4 + 1);
    else if (!strcmp(kind, "offset"))
      p[i] = (float)(v + 10000);
    else if (!strcmp(kind, "masked"))
      p[i] = s % 3 == 0 ? -INFINITY : (float)v;
    else if (!strcmp(kind, "mask"))
      p[i] = s % 3 == 0 ? 0.0f : 1.0f;
    else if (!strcmp(kind, "sign"))
      p[i] = v < 0 ? -1.0f : 1.0f;
    else if (!strcmp(kind, "bits"))
      memcpy(p + i, &s, sizeof s);
    else
      fail("no kind", kind);
  }
}

static void count_word(uint32_t word) {
  for (int shift = 0; shift < 32; shift += 8) hash = (hash ^ ((word >> shift) & 255u)) * 0x100000001b3u;
}

static void count(const float *p, size_t n) {
  for (size_t i = 0; i < n; i++) count_word(isnan(p[i]) ? 0x7fc00000u : bits_from_float(p[i]));
}

static void count_doubles(const double *p, size_t n) {
  for (size_t i = 0; i < n; i++) {
    uint64_t word = 0x7ff8000000000000u;
    if (!isnan(p[i])) memcpy(&word, p + i, sizeof word);
    count_word((uint32_t)word);
    count_word((uint32_t)(word >> 32));
  }
}

/* ---- Names ------------------------------------------------------------------------------------------------------ */

static const char *list_name(const char *list, size_t i) {
  if (!strcmp(list, "activation")) return an_activation_name(i);
  if (!strcmp(list, "norm")) return an_norm_name(i);
  if (!strcmp(list, "placement")) return an_placement_name(i);
  if (!strcmp(list, "affine")) return an_affine_name(i);
  if (!strcmp(list, "init")) return an_init_name(i);
  if (!strcmp(list, "mixing")) return an_mixing_name(i);
  return NULL;
}

static size_t lookup(const char *list, const char *name) {
  for (size_t i = 0; list_name(list, i); i++)
    if (!strcmp(list_name(list, i), name)) return i;
  fail("no such name", name);
  return 0;
}

static void succeed(an_status status, const char *what) {
  if (status != AN_OK) fail(an_status_name((int)status), what);
}

/* ---- call -------------------------------------------------------------------------------------------------------- */

typedef struct arg {
  double number;
  void *pointer;
  size_t result, doubles; /* floats or doubles to hash after the call */
} arg;

static size_t product(char *factors) {
  size_t n = 1;
  for (char *s = strtok(factors, "*"); s; s = strtok(NULL, "*")) n *= strtoul(s, NULL, 10);
  return n;
}

static int32_t *labels(size_t n, uint32_t classes) {
  int32_t *p = alloc(n * sizeof *p);
  for (size_t i = 0; i < n; i++) p[i] = (int32_t)((next() >> 8) % classes);
  return p;
}

static arg parse(const char *token) {
  arg a = {0, NULL, 0, 0};
  char type[32] = "", size[64] = "", kind[32] = "plain";
  const int parts = sscanf(token, "%31[^:]:%63[^:]:%31s", type, size, kind);
  if (!strcmp(token, "null")) return a;
  if (!strcmp(token, "@")) {
    a.pointer = packed;
  } else if (!strcmp(token, "@bytes")) {
    a.number = (double)work_bytes;
  } else if (!strcmp(token, "$p0") || !strcmp(token, "$p1")) {
    a.number = an_activation_param_default(variable_index, token[2] == '1');
  } else if (token[0] == '$') {
    a.number = (double)variable_index;
  } else if (parts == 1) {
    char *end;
    a.number = strtod(token, &end);
    if (*end) fail("no number", token);
  } else if (list_name(type, 0)) {
    a.number = (double)lookup(type, size);
  } else if (!strcmp(type, "u32")) {
    uint32_t *values = alloc(8 * sizeof *values);
    size_t n = 0;
    for (char *s = strtok(size, ","); s && n < 8; s = strtok(NULL, ",")) values[n++] = (uint32_t)strtoul(s, NULL, 10);
    a.pointer = values;
  } else if (!strcmp(type, "packed")) {
    const size_t in = strtoul(size, NULL, 10), out = strtoul(strchr(size, ',') + 1, NULL, 10);
    a.pointer = packed = alloc(an_linear_packed_bytes(in, out));
  } else if (!strcmp(type, "work")) {
    size_t rows, in, out;
    if (sscanf(size, "%zu,%zu,%zu", &rows, &in, &out) != 3) fail("no workspace", token);
    work_bytes = an_linear_bwd_workspace_bytes(rows, in, out);
    a.pointer = alloc_unset(work_bytes);
  } else if (!strcmp(type, "label")) {
    a.pointer = labels(product(size), (uint32_t)strtoul(kind, NULL, 10));
  } else if (!strcmp(type, "f64")) {
    a.doubles = product(size);
    a.pointer = alloc(a.doubles * sizeof(double));
  } else {
    const size_t n = product(size);
    a.pointer = strcmp(type, "out") ? alloc(n * sizeof(float)) : alloc_unset(n * sizeof(float));
    if (strcmp(type, "out")) fill(a.pointer, n, kind);
    if (strcmp(type, "in")) a.result = n;
  }
  return a;
}

static void call(const char *name, char **tokens, size_t n) {
  arg a[MAX_ARGS] = {{0, NULL, 0, 0}};
  for (size_t i = 0; i < n; i++) a[i] = parse(tokens[i]);
#define F(i) ((float *)a[i].pointer)
#define Z(i) ((size_t)a[i].number)
#define U(i) ((uint32_t)a[i].number)
#define I(i) ((int)a[i].number)
#define D(i) (a[i].number)
  an_status status = AN_OK;
  if (!strcmp(name, "an_activation_fwd"))
    status = an_activation_fwd(F(0), F(1), Z(2), Z(3), D(4), D(5));
  else if (!strcmp(name, "an_glu_fwd"))
    status = an_glu_fwd(F(0), F(1), F(2), Z(3), Z(4), D(5), D(6));
  else if (!strcmp(name, "an_softmax_fwd"))
    status = an_softmax_fwd(F(0), F(1), Z(2), Z(3), Z(4), I(5));
  else if (!strcmp(name, "an_norm_fwd"))
    status = an_norm_fwd(F(0), F(1), F(2), F(3), F(4), F(5), F(6), Z(7), D(8), D(9), Z(10), Z(11));
  else if (!strcmp(name, "an_add_norm_fwd"))
    status =
        an_add_norm_fwd(F(0), F(1), F(2), F(3), F(4), F(5), F(6), F(7), F(8), Z(9), D(10), D(11), D(12), Z(13), Z(14));
  else if (!strcmp(name, "an_batch_norm_fwd"))
    status = an_batch_norm_fwd(F(0), F(1), F(2), F(3), F(4), F(5), F(6), F(7), F(8), D(9), D(10), D(11), I(12), I(13),
                               Z(14), Z(15), Z(16));
  else if (!strcmp(name, "an_group_norm_fwd"))
    status = an_group_norm_fwd(F(0), F(1), F(2), F(3), F(4), F(5), D(6), D(7), Z(8), Z(9), Z(10), Z(11), Z(12));
  else if (!strcmp(name, "an_add_fwd"))
    status = an_add_fwd(F(0), F(1), F(2), D(3), Z(4));
  else if (!strcmp(name, "an_permute"))
    status = an_permute(F(0), F(1), a[2].pointer, a[3].pointer, Z(4));
  else if (!strcmp(name, "an_linear_pack"))
    status = an_linear_pack(F(0), F(1), I(2), Z(3), Z(4));
  else if (!strcmp(name, "an_linear_fwd"))
    status = an_linear_fwd(F(0), F(1), F(2), F(3), Z(4), D(5), D(6), Z(7), Z(8), Z(9));
  else if (!strcmp(name, "an_random"))
    status = an_random(F(0), Z(1), I(2), D(3), D(4), U(5), U(6));
  else if (!strcmp(name, "an_activation_bwd"))
    status = an_activation_bwd(F(0), F(1), F(2), Z(3), Z(4), D(5), D(6));
  else if (!strcmp(name, "an_glu_bwd"))
    status = an_glu_bwd(F(0), F(1), F(2), F(3), F(4), Z(5), Z(6), D(7), D(8));
  else if (!strcmp(name, "an_softmax_bwd"))
    status = an_softmax_bwd(F(0), F(1), F(2), Z(3), Z(4), Z(5), I(6));
  else if (!strcmp(name, "an_norm_bwd"))
    status = an_norm_bwd(F(0), F(1), F(2), F(3), F(4), F(5), F(6), F(7), Z(8), D(9), D(10), Z(11), Z(12));
  else if (!strcmp(name, "an_add_norm_bwd"))
    status = an_add_norm_bwd(F(0), F(1), F(2), F(3), F(4), F(5), F(6), F(7), F(8), F(9), Z(10), D(11), D(12), D(13),
                             Z(14), Z(15));
  else if (!strcmp(name, "an_batch_norm_bwd"))
    status = an_batch_norm_bwd(F(0), F(1), F(2), F(3), F(4), F(5), F(6), F(7), F(8), D(9), D(10), I(11), Z(12), Z(13),
                               Z(14));
  else if (!strcmp(name, "an_group_norm_bwd"))
    status = an_group_norm_bwd(F(0), F(1), F(2), F(3), F(4), F(5), D(6), D(7), Z(8), Z(9), Z(10), Z(11), Z(12));
  else if (!strcmp(name, "an_add_bwd"))
    status = an_add_bwd(F(0), F(1), F(2), D(3), Z(4));
  else if (!strcmp(name, "an_linear_bwd"))
    status = an_linear_bwd(F(0), F(1), F(2), F(3), F(4), F(5), F(6), Z(7), I(8), Z(9), Z(10), Z(11));
  else if (!strcmp(name, "an_dropout"))
    status = an_dropout(F(0), F(1), D(2), U(3), U(4), Z(5));
  else if (!strcmp(name, "an_mse"))
    status = an_mse(a[0].pointer, F(1), F(2), F(3), F(4), I(5), Z(6));
  else if (!strcmp(name, "an_cross_entropy"))
    status = an_cross_entropy(a[0].pointer, F(1), F(2), F(3), a[4].pointer, F(5), F(6), D(7), (int32_t)D(8), I(9),
                              Z(10), Z(11));
  else if (!strcmp(name, "an_sum_squares"))
    status = an_sum_squares(a[0].pointer, F(1), Z(2));
  else if (!strcmp(name, "an_sgd_step"))
    status = an_sgd_step(F(0), F(1), F(2), D(3), D(4), D(5), D(6), D(7), I(8), U(9), Z(10));
  else if (!strcmp(name, "an_adam_step"))
    status = an_adam_step(F(0), F(1), F(2), F(3), D(4), D(5), D(6), D(7), D(8), D(9), I(10), U(11), Z(12));
  else
    fail("no function", name);
  succeed(status, name);
  for (size_t i = 0; i < n; i++) {
    if (a[i].result) count(a[i].pointer, a[i].result);
    if (a[i].doubles) count_doubles(a[i].pointer, a[i].doubles);
  }
}

/* ---- block, module, train, init ---------------------------------------------------------------------------------- */

/* What is no field of the configuration. */
typedef struct extra {
  size_t batch, length;
  int training, mask, exact;
  uint32_t seed, steps;
} extra;

static size_t field_index(const char *name) {
  size_t i = 0;
  while (i < an_field_count() && strcmp(an_field_name(i), name)) i++;
  return i;
}

static extra configure(double *config, char **tokens, size_t n) {
  extra rest = {0};
  succeed(an_config_default(config), "an_config_default");
  for (size_t t = 0; t < n; t++) {
    char key[32] = "", text[64] = "";
    if (sscanf(tokens[t], "%31[^=]=%63s", key, text) != 2) fail("no key=value", tokens[t]);
    const size_t field = field_index(key);
    double number;
    if (text[0] == '$')
      number = (double)variable_index;
    else if (field < an_field_count() && list_name(an_field_type(field), 0))
      number = (double)lookup(an_field_type(field), text);
    else
      number = strtod(text, NULL);
    if (field < an_field_count())
      config[field] = number;
    else if (!strcmp(key, "batch"))
      rest.batch = (size_t)number;
    else if (!strcmp(key, "length"))
      rest.length = (size_t)number;
    else if (!strcmp(key, "training"))
      rest.training = (int)number;
    else if (!strcmp(key, "mask"))
      rest.mask = (int)number;
    else if (!strcmp(key, "exact"))
      rest.exact = (int)number;
    else if (!strcmp(key, "seed"))
      rest.seed = (uint32_t)number;
    else if (!strcmp(key, "steps"))
      rest.steps = (uint32_t)number;
    else
      fail("no field", key);
  }
  return rest;
}

/* A configuration with its parameters. */
typedef struct module {
  double *config;
  extra e;
  size_t count, floats, in, out; /* of parameters, of values, of x and y */
  float *values, *packed, *packed_bwd, *mask;
  void *saved;
} module;

static double field(const module *m, const char *name) { return m->config[field_index(name)]; }

static module open_module(char **tokens, size_t token_count) {
  module m = {.config = alloc(an_field_count() * sizeof(double))};
  m.e = configure(m.config, tokens, token_count);
  m.count = an_module_parameter_count(m.config);
  m.floats = an_module_values_bytes(m.config) / sizeof(float);
  const size_t rows = m.e.batch * m.e.length, d_model = (size_t)field(&m, "d_model");
  const size_t d_in = (size_t)field(&m, "d_in"), d_out = (size_t)field(&m, "d_out");
  m.in = rows * (d_in ? d_in : d_model);
  m.out = rows * (d_out ? d_out : d_model);
  m.values = alloc(m.floats * sizeof(float));
  m.packed = alloc_unset(an_module_packed_bytes(m.config));
  m.packed_bwd = alloc_unset(an_module_packed_bwd_bytes(m.config));
  m.saved = alloc_unset(an_module_saved_bytes(m.config, m.e.batch, m.e.length));
  return m;
}

static size_t elements(const module *m, size_t p) {
  size_t rows, cols;
  an_module_parameter_shape(m->config, p, &rows, &cols);
  return rows * cols;
}
static float *value(const module *m, size_t p) { return m->values + an_module_parameter_offset(m->config, p); }

static void pack(module *m, size_t p) {
  succeed(an_module_pack(m->packed, m->packed_bwd, m->config, p, value(m, p)), "an_module_pack");
}

static void fill_and_pack(module *m) {
  for (size_t p = 0; p < m->count; p++) {
    const int matrix = an_module_parameter_shape(m->config, p, NULL, NULL) == 2;
    fill(value(m, p), elements(m, p), m->e.exact ? "sign" : matrix ? "small" : "unit");
    pack(m, p);
  }
}

static void forward(float *y, const float *x, module *m, int training, uint32_t seed) {
  const size_t bytes = an_module_workspace_bytes(m->config, training, m->e.batch, m->e.length);
  succeed(an_module_fwd(y, x, m->mask, m->packed, training ? m->saved : NULL, alloc_unset(bytes), bytes, m->config,
                        seed, m->e.batch, m->e.length),
          "an_module_fwd");
}

static void backward(float *dx, float *gradients, const float *dy, const module *m, uint32_t seed, double *probe) {
  const size_t bytes = an_module_workspace_bytes(m->config, 2, m->e.batch, m->e.length);
  succeed(an_module_bwd(dx, gradients, dy, m->mask, m->packed, m->packed_bwd, m->saved, alloc_unset(bytes), bytes,
                        m->config, seed, m->e.batch, m->e.length, probe),
          "an_module_bwd");
}

static void count_statistics(const module *m) {
  for (size_t p = 0; p < m->count; p++) {
    if (an_module_parameter_learned(m->config, p)) continue;
    succeed(an_module_unpack(value(m, p), m->config, p, m->packed), "an_module_unpack");
    count(value(m, p), elements(m, p));
  }
}

/* (rows, n / rows), 0 where there is padding. */
static void clear_padding(float *p, size_t n, const module *m) {
  const size_t width = n / (m->e.batch * m->e.length);
  for (size_t i = 0; m->mask && i < n; i++)
    if (m->mask[i / width] == 0) p[i] = 0;
}

static float *random_mask(const extra *e) {
  float *mask = alloc(e->batch * e->length * sizeof *mask);
  fill(mask, e->batch * e->length, "mask");
  return mask;
}

static void block(char **tokens, size_t token_count) {
  module m = open_module(tokens, token_count);
  fill_and_pack(&m);
  float *x = alloc(m.in * sizeof *x), *y = alloc_unset(m.out * sizeof *y);
  fill(x, m.in, "plain");
  for (int training = m.e.training; training >= 0; training--) {
    forward(y, x, &m, training, 0);
    count(y, m.out);
  }
}

static void train_and_infer(char **tokens, size_t token_count) {
  module m = open_module(tokens, token_count);
  const char *kind = m.e.exact ? "sign" : "plain";
  fill_and_pack(&m);
  if (m.e.mask) m.mask = random_mask(&m.e);
  float *x = alloc(m.in * sizeof *x), *dx = alloc_unset(m.in * sizeof *dx), *y = alloc_unset(m.out * sizeof *y);
  float *dy = alloc(m.out * sizeof *dy), *gradients = alloc(m.floats * sizeof *gradients);
  const size_t probes = an_module_probe_count(m.config) * an_probe_count();
  double *probe = alloc_unset(probes * sizeof *probe);
  fill(x, m.in, kind);
  fill(dy, m.out, kind);
  fill(gradients, m.floats, kind);
  clear_padding(dy, m.out, &m);
  forward(y, x, &m, 1, m.e.seed);
  clear_padding(y, m.out, &m);
  count(y, m.out);
  backward(dx, gradients, dy, &m, m.e.seed, m.e.exact ? NULL : probe);
  count(dx, m.in);
  count(gradients, m.floats);
  if (!m.e.exact) count_doubles(probe, probes);
  count_statistics(&m);
  forward(y, x, &m, 0, 0);
  clear_padding(y, m.out, &m);
  count(y, m.out);
}

/* One step of AdamW on every learned parameter; returns the loss before it. */
static double adamw_step(module *m, float *moments[2], const float *x, const int32_t *target, uint32_t step) {
  const size_t rows = m->e.batch * m->e.length, first_buffer = buffer_count;
  float *y = alloc_unset(m->out * sizeof *y), *gradients = alloc(m->floats * sizeof *gradients);
  double loss, squares = 0;
  forward(y, x, m, 1, step);
  succeed(an_cross_entropy(&loss, NULL, y, y, target, NULL, NULL, 0.1, -100, AN_REDUCTION_MEAN, rows, m->out / rows),
          "an_cross_entropy");
  backward(NULL, gradients, y, m, step, NULL);
  for (size_t p = 0; p < m->count; p++)
    succeed(an_sum_squares(&squares, gradients + (value(m, p) - m->values), elements(m, p)), "an_sum_squares");
  const double norm = sqrt(squares), scale = norm > 1 ? 1 / norm : 1;
  for (size_t p = 0; p < m->count; p++) {
    if (!an_module_parameter_learned(m->config, p)) continue;
    const size_t at = (size_t)(value(m, p) - m->values);
    const double decay = an_module_parameter_shape(m->config, p, NULL, NULL) == 2 ? 0.1 : 0;
    succeed(an_adam_step(value(m, p), moments[0] + at, moments[1] + at, gradients + at, scale, 0.01, 0.9, 0.999, 1e-8,
                         decay, AN_ADAM_DECOUPLED, step, elements(m, p)),
            "an_adam_step");
    pack(m, p);
  }
  while (buffer_count > first_buffer) free(buffers[--buffer_count]);
  return loss;
}

static void train(char **tokens, size_t token_count) {
  module m = open_module(tokens, token_count);
  const size_t rows = m.e.batch * m.e.length;
  for (size_t p = 0; p < m.count; p++) {
    succeed(an_module_parameter_init(value(&m, p), m.config, p, m.e.seed), "an_module_parameter_init");
    pack(&m, p);
  }
  float *x = alloc(m.in * sizeof *x), *moments[2];
  for (int i = 0; i < 2; i++) moments[i] = alloc(m.floats * sizeof(float));
  fill(x, m.in, "plain");
  int32_t *target = labels(rows, (uint32_t)(m.out / rows));
  if (m.e.mask) m.mask = random_mask(&m.e);
  for (size_t i = 0; m.mask && i < rows; i++)
    if (m.mask[i] == 0) target[i] = -100;
  double first = 0, loss = 0;
  for (uint32_t step = 1; step <= m.e.steps; step++) {
    loss = adamw_step(&m, moments, x, target, step);
    count_doubles(&loss, 1);
    if (step == 1) first = loss;
  }
  if (!(loss < 0.9 * first)) fail("no learning in", "train");
  count_statistics(&m);
  count(m.values, m.floats);
  for (int i = 0; i < 2; i++) count(moments[i], m.floats);
}

static void init(char **tokens, size_t token_count) {
  module m = open_module(tokens, token_count);
  for (size_t p = 0; p < m.count; p++) {
    succeed(an_module_parameter_init(value(&m, p), m.config, p, 7), "an_module_parameter_init");
    count(value(&m, p), elements(&m, p));
  }
}

/* ---- The file -----------------------------------------------------------------------------------------------------
 */

/* A file beside the folder of this source. */
static FILE *open_beside(const char *name) {
  char path[4096];
  const char *slash = strrchr(__FILE__, '/');
  snprintf(path, sizeof path, "%.*s../%s", slash ? (int)(slash - __FILE__ + 1) : 0, __FILE__, name);
  FILE *file = fopen(path, "r");
  if (!file) fail("cannot open", path);
  return file;
}

/* The stored hash of a section; 0 if there is none. */
static uint64_t stored_hash(const char *section) {
  FILE *file = open_beside("workload.hashes");
  char line[256];
  uint64_t found = 0;
  while (fgets(line, sizeof line, file)) {
    line[strcspn(line, "\n")] = 0;
    if (strlen(line) > 17 && !strcmp(line + 17, section)) found = strtoull(line, NULL, 16);
  }
  fclose(file);
  return found;
}

static size_t split(char *line, char **tokens) {
  size_t n = 0;
  for (char *t = strtok(line, " \n"); t; t = strtok(NULL, " \n")) {
    if (n == MAX_ARGS) fail("line too long at", t);
    tokens[n++] = t;
  }
  return n;
}

static void run_section(char *const *lines, size_t line_count) {
  state = 1;
  hash = 0xcbf29ce484222325u;
  for (size_t i = 0; i < line_count; i++) {
    char copy[512], *tokens[MAX_ARGS] = {NULL};
    snprintf(copy, sizeof copy, "%s", lines[i]);
    const size_t n = split(copy, tokens);
    if (!strcmp(tokens[0], "call"))
      call(tokens[1], tokens + 2, n - 2);
    else if (!strcmp(tokens[0], "block"))
      block(tokens + 1, n - 1);
    else if (!strcmp(tokens[0], "module"))
      train_and_infer(tokens + 1, n - 1);
    else if (!strcmp(tokens[0], "train"))
      train(tokens + 1, n - 1);
    else if (!strcmp(tokens[0], "init"))
      init(tokens + 1, n - 1);
    else
      fail("unknown command", tokens[0]);
  }
  while (buffer_count) free(buffers[--buffer_count]);
}

/* Runs a section once for each value of its variable. */
static void expand_section(const char *builds, const char *name, char *const *lines, size_t line_count, int print) {
  if (strcmp(builds, "all") && !BASELINE) return;
  const char *dollar = strchr(name, '$');
  variable = dollar ? dollar + 1 : "";
  for (variable_index = 0; dollar ? list_name(variable, variable_index) != NULL : variable_index == 0;
       variable_index++) {
    if (!strcmp(variable, "norm") && strcmp(an_norm_kind(variable_index), "row")) continue;
    char key[256];
    if (dollar)
      snprintf(key, sizeof key, "%.*s%s", (int)(dollar - name), name, list_name(variable, variable_index));
    else
      snprintf(key, sizeof key, "%s", name);
    run_section(lines, line_count);
    if (print)
      printf("%016llx %s\n", (unsigned long long)hash, key);
    else
      CHECK(hash == stored_hash(key), "section '%s': %016llx, stored %016llx", key, (unsigned long long)hash,
            (unsigned long long)stored_hash(key));
  }
}

int main(int argc, char **argv) {
  const int print = argc > 1 && !strcmp(argv[1], "--print");
  FILE *file = open_beside("workload.txt");
  char line[512], builds[16] = "", name[128] = "", *lines[MAX_LINES];
  size_t line_count = 0;
  for (int more = 1; more;) {
    more = fgets(line, sizeof line, file) != NULL;
    const int header = more && !strncmp(line, "section ", 8);
    if ((header || !more) && line_count) {
      expand_section(builds, name, lines, line_count, print);
      while (line_count) free(lines[--line_count]);
    }
    if (header) {
      if (sscanf(line, "section %15s %127[^\n]", builds, name) != 2) fail("no section", line);
    } else if (more && line[0] != '#' && line[0] != '\n') {
      if (line_count == MAX_LINES) fail("too many lines in", name);
      lines[line_count++] = strdup(line);
    }
  }
  fclose(file);
  if (print) return 0;
  return test_report("determinism");
}
