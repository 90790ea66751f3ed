/* Modules, one block and whole stacks, with everything that a configuration can say: forward in both ways and every
 * gradient against a reference in double, written from the formulas, and its central differences. */
#include "names.h"

#if defined(AN_TEST_QUICK)
enum { QUICK = 1 };
#else
enum { QUICK = 0 };
#endif
/* Where a program watches what is read and written, gradients are not compared with differences, which take nine tenths of
 * the time and none of them in the library. */
#if defined(AN_TEST_WATCHED)
enum { WATCHED = 1 };
#else
enum { WATCHED = 0 };
#endif

static uint64_t state = 11;

static double *doubles(size_t n) {
  double *x = n < 1u << 28 ? calloc(n + 1, sizeof(double)) : NULL;
  if (!x) abort();
  return x;
}

/* ---- A module and its parameters, in float and in double ---- */

typedef struct parameter {
  char name[64]; /* "1.up": of layer 1; "head": the stack's own */
  size_t offset, size;
  int learned;
} parameter;

typedef struct module {
  double config[MAX_FIELDS], used[MAX_FIELDS];
  size_t count, floats, batch, length, rows, in, out;
  parameter *list;
  float *values, *packed, *packed_bwd;
  const float *mask;
  uint32_t seed;
} module;

static double get(const module *m, const char *name) { return m->used[field(name)]; }
static size_t size_of(const module *m, const char *name) { return (size_t)get(m, name); }

static void pack(const module *m) {
  for (size_t i = 0; i < m->count; i++)
    CHECK(an_module_pack(m->packed, m->packed_bwd, m->config, i, m->values + m->list[i].offset) == AN_OK, "pack %s",
          m->list[i].name);
}

/* Values as a trained module may have them, nothing at its neutral value. */
static void module_make(module *m, const double *config, size_t batch, size_t length) {
  memset(m, 0, sizeof *m);
  memcpy(m->config, config, an_field_count() * sizeof(double));
  CHECK(an_config_resolve(m->used, config) == AN_OK, "a valid configuration");
  m->batch = batch, m->length = length, m->rows = batch * length;
  const int whole = get(m, "layer") == 0;
  m->in = whole && get(m, "d_in") > 0 ? size_of(m, "d_in") : size_of(m, "d_model");
  m->out = whole && get(m, "d_out") > 0 ? size_of(m, "d_out") : size_of(m, "d_model");
  m->count = an_module_parameter_count(config);
  m->floats = an_module_values_bytes(config) / sizeof(float);
  m->list = calloc(m->count, sizeof *m->list);
  m->values = guarded_alloc(m->floats, 1);
  m->packed = guarded_alloc(an_module_packed_bytes(config) / sizeof(float), 2);
  m->packed_bwd = guarded_alloc(an_module_packed_bwd_bytes(config) / sizeof(float), 3);
  size_t end = 0;
  for (size_t i = 0; i < m->count; i++) {
    parameter *p = m->list + i;
    size_t rows, cols;
    const size_t axes = an_module_parameter_shape(config, i, &rows, &cols),
                 layer = an_module_parameter_layer(config, i);
    const char *name = an_module_parameter_name(config, i);
    if (layer)
      snprintf(p->name, sizeof p->name, "%zu.%s", layer, name);
    else
      snprintf(p->name, sizeof p->name, "%s", name);
    p->offset = an_module_parameter_offset(config, i), p->size = rows * cols;
    p->learned = an_module_parameter_learned(config, i);
    CHECK(p->offset >= end && p->offset % 4 == 0, "%s lies behind the one before", p->name);
    end = p->offset + p->size;
    for (size_t j = 0; j < p->size; j++) {
      const double z = test_normal(&state);
      m->values[p->offset + j] = (float)(axes == 2                    ? z / sqrt((double)cols)
                                         : strstr(name, "_weight")    ? 1 + 0.3 * z - get(m, "weight_offset")
                                         : strstr(name, "_alpha")     ? 0.8
                                         : strstr(name, "running_v")  ? 0.5 + test_uniform(&state)
                                         : strcmp(name, "scale") == 0 ? 0.7 + 0.2 * z
                                                                      : 0.5 * z);
    }
  }
  CHECK(end <= m->floats && m->floats <= end + 3, "values end with the last parameter");
  pack(m);
}

static void module_free(module *m) {
  guarded_free(m->values, m->floats, 1, "values");
  guarded_free(m->packed, an_module_packed_bytes(m->config) / sizeof(float), 2, "packed");
  guarded_free(m->packed_bwd, an_module_packed_bwd_bytes(m->config) / sizeof(float), 3, "packed_bwd");
  free(m->list);
}

/* ---- The reference ---- */

static const double *at(const module *m, const double *v, size_t layer, const char *prefix, const char *name) {
  char full[96];
  if (layer)
    snprintf(full, sizeof full, "%zu.%s%s", layer, prefix, name);
  else
    snprintf(full, sizeof full, "%s%s", prefix, name);
  for (size_t i = 0; i < m->count; i++)
    if (strcmp(m->list[i].name, full) == 0) return v + m->list[i].offset;
  return NULL;
}

static double ref_activation(const char *name, double x) {
  if (strcmp(name, "relu") == 0) return x > 0 ? x : 0;
  if (strcmp(name, "silu") == 0) return x / (1 + exp(-x));
  if (strcmp(name, "tanh") == 0) return tanh(x);
  if (strcmp(name, "gelu_erf") == 0) return 0.5 * x * erfc(-x * 0.70710678118654757);
  if (strcmp(name, "identity") == 0) return x;
  abort();
}

static void ref_linear(double *y, const double *x, const double *weight, const double *bias, size_t rows, size_t in,
                       size_t out) {
  for (size_t m = 0; m < rows; m++)
    for (size_t n = 0; n < out; n++) {
      double sum = bias ? bias[n] : 0;
      for (size_t k = 0; k < in; k++) sum += x[m * in + k] * weight[n * in + k];
      y[m * out + n] = sum;
    }
}

static int valid(const module *m, size_t row) { return !m->mask || m->mask[row] != 0; }

static double ref_normalised(const char *kind, double x, double mean, double var, double n, double eps) {
  if (strcmp(kind, "layer_norm_std") == 0) return (x - mean) / (sqrt(var * n / (n - 1)) + eps);
  if (strcmp(kind, "rms_norm") == 0) return x / sqrt(var + mean * mean + eps);
  if (strcmp(kind, "rms_norm_outside") == 0) return x / (sqrt(var + mean * mean) + eps);
  return (x - mean) / sqrt(var + eps);
}

/* In place. */
static void ref_norm(const module *m, const double *v, double *x, size_t layer, const char *prefix, int training) {
  const char *kind = an_norm_name(size_of(m, "norm"));
  if (strcmp(kind, "none") == 0) return;
  const size_t d = size_of(m, "d_model"), width = d / size_of(m, "groups");
  const double eps = get(m, "eps"), offset = get(m, "weight_offset");
  const double *weight = at(m, v, layer, prefix, "_weight"), *bias = at(m, v, layer, prefix, "_bias");
  const double *alpha = at(m, v, layer, prefix, "_alpha");
  const double *running_mean = at(m, v, layer, prefix, "_running_mean");
  const double *running_var = at(m, v, layer, prefix, "_running_var");
  double *y = doubles(m->rows * d);
  for (size_t r = 0; r < m->rows; r++)
    for (size_t c = 0; c < d; c++) {
      double z;
      if (strcmp(kind, "dyt") == 0) {
        z = tanh(*alpha * x[r * d + c]);
      } else if (strcmp(kind, "batch_norm") == 0 && !training) {
        z = (x[r * d + c] - running_mean[c]) / sqrt(running_var[c] + eps);
      } else {
        size_t r0 = r, r1 = r + 1, c0 = 0, c1 = d;
        if (strcmp(kind, "batch_norm") == 0) r0 = 0, r1 = m->rows, c0 = c, c1 = c + 1;
        if (strcmp(kind, "group_norm") == 0) c0 = c / width * width, c1 = c0 + width;
        if (strcmp(kind, "instance_norm") == 0) c0 = c, c1 = c + 1;
        if (strcmp(kind, "group_norm") == 0 || strcmp(kind, "instance_norm") == 0)
          r0 = r / m->length * m->length, r1 = r0 + m->length;
        const int masks = strcmp(kind, "batch_norm") == 0;
        double sum = 0, square = 0, n = 0;
        for (size_t i = r0; i < r1; i++)
          for (size_t j = c0; j < c1 && (!masks || valid(m, i)); j++) sum += x[i * d + j], n++;
        for (size_t i = r0; i < r1; i++)
          for (size_t j = c0; j < c1 && (!masks || valid(m, i)); j++) square += pow(x[i * d + j] - sum / n, 2);
        z = ref_normalised(kind, x[r * d + c], sum / n, square / n, n, eps);
      }
      y[r * d + c] = z * (weight ? weight[c] + offset : 1) + (bias ? bias[c] : 0);
      if (strcmp(kind, "batch_norm") == 0 && !valid(m, r)) y[r * d + c] = 0;
    }
  memcpy(x, y, m->rows * d * sizeof(double));
  free(y);
}

static void ref_head_norm(double *x, const double *weight, size_t n) {
  double square = 0;
  for (size_t i = 0; i < n; i++) square += x[i] * x[i];
  for (size_t i = 0; i < n; i++) x[i] *= weight[i] / sqrt(square / (double)n + 1e-6);
}

/* y = mixing of x: uniform or softmax weights over the tokens that may be seen. */
static void ref_mixing(const module *m, const double *v, double *y, const double *x, size_t layer) {
  const size_t d = size_of(m, "d_model"), rows = m->rows, length = m->length;
  const int attention = strcmp(an_mixing_name(size_of(m, "mixing")), "attention") == 0, causal = get(m, "causal") == 1;
  const size_t heads = attention ? size_of(m, "heads") : 1, width = d / heads;
  double *q = doubles(rows * d), *k = doubles(rows * d), *u = doubles(rows * d), *mixed = doubles(rows * d);
  double *score = doubles(length);
#define LINEAR(to, from, name) \
  ref_linear(to, from, at(m, v, layer, "", name), at(m, v, layer, "", name "_bias"), rows, d, d)
  LINEAR(u, x, "value");
  if (attention) {
    LINEAR(q, x, "query");
    LINEAR(k, x, "key");
    const double *query_norm = at(m, v, layer, "", "query_norm_weight");
    for (size_t i = 0; query_norm && i < rows * heads; i++) {
      ref_head_norm(q + i * width, query_norm, width);
      ref_head_norm(k + i * width, at(m, v, layer, "", "key_norm_weight"), width);
    }
  }
  for (size_t r = 0; r < rows; r++)
    for (size_t h = 0; h < heads; h++) {
      const size_t first = r / length * length, end = causal ? r + 1 : first + length;
      double sum = 0, most = -INFINITY;
      for (size_t s = first; s < end; s++) {
        double dot = 0;
        for (size_t i = h * width; attention && i < (h + 1) * width; i++) dot += q[r * d + i] * k[s * d + i];
        score[s - first] = dot / sqrt((double)width);
        if (valid(m, s)) most = fmax(most, score[s - first]);
      }
      for (size_t s = first; s < end; s++)
        sum += score[s - first] = valid(m, s) ? exp(score[s - first] - most) : 0;
      for (size_t s = first; s < end && sum > 0; s++)
        for (size_t i = h * width; i < (h + 1) * width; i++) mixed[r * d + i] += score[s - first] / sum * u[s * d + i];
    }
  LINEAR(y, mixed, "out");
#undef LINEAR
  free(q), free(k), free(u), free(mixed), free(score);
}

/* What dropout leaves: the library's own mask, whose statistics random_test.c looks at. */
static void ref_drop(const module *m, double *x, size_t n, double p, uint32_t stream) {
  if (p == 0) return;
  float *keep = calloc(n, sizeof *keep);
  for (size_t i = 0; i < n; i++) keep[i] = 1;
  an_dropout(keep, keep, p, m->seed, stream, n);
  for (size_t i = 0; i < n; i++) x[i] *= keep[i] == 0 ? 0 : 1 / (1 - p);
  free(keep);
}

static void ref_ffn(const module *m, const double *v, double *y, const double *x, size_t layer, int training) {
  const size_t d = size_of(m, "d_model"), h = size_of(m, "d_ff"), n = m->rows * h;
  const char *act = an_activation_name(size_of(m, "activation"));
  double *hidden = doubles(n), *gate = doubles(n);
  ref_linear(hidden, x, at(m, v, layer, "", "up"), at(m, v, layer, "", "up_bias"), m->rows, d, h);
  if (get(m, "gated") == 1) {
    ref_linear(gate, x, at(m, v, layer, "", "gate"), at(m, v, layer, "", "gate_bias"), m->rows, d, h);
    for (size_t i = 0; i < n; i++) hidden[i] *= ref_activation(act, gate[i]);
  } else {
    for (size_t i = 0; i < n; i++) hidden[i] = ref_activation(act, hidden[i]);
  }
  if (training) ref_drop(m, hidden, n, get(m, "dropout"), 0x80000000u + 4 * (uint32_t)(layer - 1));
  ref_linear(y, hidden, at(m, v, layer, "", "down"), at(m, v, layer, "", "down_bias"), m->rows, h, d);
  free(hidden), free(gate);
}

/* x becomes what leaves the sublayer. */
static void ref_sublayer(const module *m, const double *v, double *x, size_t layer, int mixes, int training) {
  const size_t d = size_of(m, "d_model"), n = m->rows * d;
  const char *where = an_placement_name(size_of(m, "placement"));
  const char *first = mixes ? "mixing_norm" : "norm", *second = mixes ? "mixing_norm2" : "norm2";
  const double *scale = at(m, v, layer, "", mixes ? "mixing_scale" : "scale");
  double *t = doubles(n), *y = doubles(n);
  memcpy(t, x, n * sizeof(double));
#define IS(name) (strcmp(where, name) == 0)
  if (IS("pre") || IS("peri") || IS("lns") || IS("layer_scale")) ref_norm(m, v, t, layer, first, training);
  for (size_t i = 0; i < n && IS("lns"); i++) t[i] /= sqrt((double)layer);
  if (mixes)
    ref_mixing(m, v, y, t, layer);
  else
    ref_ffn(m, v, y, t, layer, training);
  if (training)
    ref_drop(m, y, n, get(m, "residual_dropout"), 0x80000000u + 4 * (uint32_t)(layer - 1) + (mixes ? 2 : 1));
  if (IS("peri")) ref_norm(m, v, y, layer, second, training);
  if (IS("output")) ref_norm(m, v, y, layer, first, training);
  for (size_t i = 0; i < n; i++) {
    if (IS("rezero")) y[i] *= scale[0];
    if (IS("layer_scale")) y[i] *= scale[i % d];
    x[i] = y[i] + (get(m, "residual") == 1 ? (IS("deepnorm") ? get(m, "alpha") : 1) * x[i] : 0);
  }
  if (IS("post") || IS("deepnorm")) ref_norm(m, v, x, layer, first, training);
#undef IS
  free(t), free(y);
}

static void ref_module(const module *m, const double *v, double *y, const double *x, int training) {
  const size_t d = size_of(m, "d_model"), n = m->rows * d, layer = size_of(m, "layer");
  const size_t first = layer ? layer : 1, last = layer ? layer : size_of(m, "depth");
  const int mixes = size_of(m, "mixing") != 0;
  double *stream = doubles(n);
  const double *input = at(m, v, 0, "", "input"), *position = at(m, v, 0, "", "position");
  const double *head = at(m, v, 0, "", "head");
  if (!layer && input)
    ref_linear(stream, x, input, at(m, v, 0, "", "input_bias"), m->rows, m->in, d);
  else
    memcpy(stream, x, n * sizeof(double));
  for (size_t i = 0; i < n && !layer && position; i++) stream[i] += position[i % (m->length * d)];
  for (size_t l = first; l <= last; l++) {
    if (mixes) ref_sublayer(m, v, stream, l, 1, training);
    ref_sublayer(m, v, stream, l, 0, training);
  }
  if (!layer && get(m, "final_norm") == 1) ref_norm(m, v, stream, 0, "final_norm", training);
  if (!layer && head)
    ref_linear(y, stream, head, at(m, v, 0, "", "head_bias"), m->rows, d, m->out);
  else
    memcpy(y, stream, n * sizeof(double));
  free(stream);
}

/* ---- Runs ---- */

/* A norm of five or six elements whose spread is small magnifies rounding, so bounds are ten times what is usual; each
 * operation has its own, tight ones in its own test. */
static double worst_forward, worst_gradient;

static void forward(const module *m, float *y, const float *x, void *saved) {
  const size_t bytes = an_module_workspace_bytes(m->config, saved != NULL, m->batch, m->length);
  float *workspace = guarded_alloc(bytes / sizeof(float), 1);
  const an_status status =
      an_module_fwd(y, x, m->mask, m->packed, saved, workspace, bytes, m->config, m->seed, m->batch, m->length);
  CHECK(status == AN_OK, "forward: %s", an_status_name(status));
  guarded_free(workspace, bytes / sizeof(float), 1, "workspace");
}

static void compare(const char *what, const module *m, const float *got, const double *want, size_t n, size_t row,
                    double bound, double *worst) {
  double size = 0, error = 0;
  for (size_t i = 0; i < n; i++) {
    if (row && !valid(m, i / row)) continue; /* of no account */
    size = fmax(size, fabs(want[i]));
    error = worse(error, fabs(got[i] - want[i]));
  }
  if (size > 0) *worst = fmax(*worst, error / size);
  CHECK(error <= bound * size, "%s: %s, %s, mixing %s, layer %g: error %.2g of %.3g", what,
        an_placement_name(size_of(m, "placement")), an_norm_name(size_of(m, "norm")),
        an_mixing_name(size_of(m, "mixing")), get(m, "layer"), error, size);
}

/* The loss sum(dy * y) in double. */
static double loss(const module *m, const double *v, const double *x, const float *dy) {
  double *y = doubles(m->rows * m->out), sum = 0;
  ref_module(m, v, y, x, 1);
  for (size_t i = 0; i < m->rows * m->out; i++) sum += dy[i] * y[i];
  free(y);
  return sum;
}

/* The central difference by one number, of fourth order. */
static double difference(const module *m, const double *v, const double *x, const float *dy, double *number) {
  const double old = *number, h = 1e-4;
  double f[4];
  for (int i = 0; i < 4; i++) {
    *number = old + h * (double)(int[]){-2, -1, 1, 2}[i];
    f[i] = loss(m, v, x, dy);
  }
  *number = old;
  return (f[0] - 8 * f[1] + 8 * f[2] - f[3]) / (12 * h);
}

/* Everything of one configuration. mask: whether sequences differ in length. */
static void test_module(const double *config, size_t batch, size_t length, int masked) {
  module m;
  module_make(&m, config, batch, length);
  m.seed = 5;
  const size_t in = m.rows * m.in, out = m.rows * m.out;
  float *x = guarded_alloc(in, 2), *y = guarded_alloc(out, 3), *dy = guarded_alloc(out, 1), *dx = guarded_alloc(in, 1);
  float *mask = guarded_alloc(m.rows, 0);
  for (size_t i = 0; i < in; i++) x[i] = (float)(1.2 * test_normal(&state) + 0.2);
  for (size_t r = 0; r < m.rows; r++) mask[r] = r % length < length - r / length % length;
  if (masked) m.mask = mask;
  /* What stands in the padding is not felt. */
  for (size_t i = 0; i < in && masked; i++)
    if (!mask[i / m.in]) x[i] = i % 2 ? NAN : INFINITY;
  for (size_t i = 0; i < out; i++) dy[i] = valid(&m, i / m.out) ? (float)test_normal(&state) : 0;
  double *v = doubles(m.floats), *xd = doubles(in), *want = doubles(out);
  for (size_t i = 0; i < m.count; i++)
    for (size_t j = 0; j < m.list[i].size; j++) v[m.list[i].offset + j] = m.values[m.list[i].offset + j];
  for (size_t i = 0; i < in; i++) xd[i] = masked && !mask[i / m.in] ? 0 : x[i];

  ref_module(&m, v, want, xd, 0);
  forward(&m, y, x, NULL);
  compare("inference", &m, y, want, out, m.out, 1e-5, &worst_forward);
  const size_t kept = an_module_saved_bytes(config, batch, length) / sizeof(float);
  float *saved = guarded_alloc(kept, 1);
  ref_module(&m, v, want, xd, 1);
  forward(&m, y, x, saved);
  compare("training", &m, y, want, out, m.out, 1e-5, &worst_forward);

  /* Backward twice: dx overwritten, gradients added to; the second time without dx. */
  const size_t bytes = an_module_workspace_bytes(config, 2, batch, length);
  float *workspace = guarded_alloc(bytes / sizeof(float), 2), *gradients = guarded_alloc(m.floats, 3);
  float *once = malloc(m.floats * sizeof *once);
  const size_t probes = an_module_probe_count(config) * an_probe_count();
  double *probe = doubles(probes);
  memset(gradients, 0, m.floats * sizeof(float));
  for (size_t i = 0; i < in; i++) dx[i] = NAN;
  for (int turn = 0; turn < 2; turn++) {
    const an_status status = an_module_bwd(turn ? NULL : dx, gradients, dy, m.mask, m.packed, m.packed_bwd, saved,
                                           workspace, bytes, config, m.seed, batch, length, turn ? NULL : probe);
    CHECK(status == AN_OK, "backward: %s", an_status_name(status));
    if (turn == 0) memcpy(once, gradients, m.floats * sizeof(float));
  }
  for (size_t i = 0; i < m.count; i++)
    for (size_t j = 0; j < m.list[i].size; j++) {
      const float g = once[m.list[i].offset + j], twice = gradients[m.list[i].offset + j];
      if (fabsf(twice - 2 * g) > 2e-5f * fabsf(g) + 1e-5f) CHECK(0, "%s: %g, then %g", m.list[i].name, g, twice);
    }
  for (size_t i = 0; i < probes; i++) CHECK(isfinite(probe[i]), "probe %zu", i);

  /* A few numbers of each parameter and of x against differences, to what is the largest of its kind, and of all where
   * sums cancel. */
  double largest = 0;
  for (size_t i = 0; i < m.floats; i++) largest = fmax(largest, fabs(once[i]));
  for (size_t i = 0; i <= m.count; i++) {
    const int is_x = i == m.count;
    if (!is_x && !m.list[i].learned) continue;
    const size_t n = is_x ? in : m.list[i].size, few = WATCHED ? 0 : n < 3 ? n : QUICK ? 1 : 3;
    float got[3] = {0};
    double expected[3] = {0};
    for (size_t j = 0; j < few; j++) {
      const size_t index = n <= 3 ? j : (size_t)(test_uniform(&state) * (double)n);
      double *number = is_x ? xd + index : v + m.list[i].offset + index;
      got[j] = is_x ? dx[index] : once[m.list[i].offset + index];
      expected[j] = difference(&m, v, xd, dy, number);
    }
    double size = 0.1 * largest, error = 0;
    for (size_t j = 0; j < n; j++) size = fmax(size, fabs(is_x ? dx[j] : once[m.list[i].offset + j]));
    for (size_t j = 0; j < few; j++) error = worse(error, fabs(got[j] - expected[j]));
    worst_gradient = fmax(worst_gradient, error / size);
    CHECK(error <= 1e-4 * size, "gradient of %s: %s, %s, mixing %s, layer %g: error %.2g of %.3g (%g, not %g)",
          is_x ? "x" : m.list[i].name, an_placement_name(size_of(&m, "placement")), an_norm_name(size_of(&m, "norm")),
          an_mixing_name(size_of(&m, "mixing")), get(&m, "layer"), error, size, got[0], expected[0]);
  }

  guarded_free(x, in, 2, "x"), guarded_free(y, out, 3, "y"), guarded_free(dy, out, 1, "dy");
  guarded_free(dx, in, 1, "dx"), guarded_free(mask, m.rows, 0, "mask"), guarded_free(saved, kept, 1, "saved");
  guarded_free(workspace, bytes / sizeof(float), 2, "workspace"), guarded_free(gradients, m.floats, 3, "gradients");
  free(v), free(xd), free(want), free(once), free(probe);
  module_free(&m);
}

static void small(double *config, double d_model, double d_ff) {
  an_config_default(config);
  set(config, "d_model", d_model);
  set(config, "d_ff", d_ff);
  set(config, "activation", activation("silu"));
}

static void test_blocks(void) {
  double config[MAX_FIELDS];
  for (size_t p = 0; p < an_placement_count(); p++)
    for (size_t k = 0; k < an_norm_count(); k++)
      for (size_t mixing = 0; mixing < 3; mixing++)
        for (int residual = 0; residual < 2; residual++) {
          /* Without a residual each placement with some of the norms: it is the same code. */
          if ((QUICK || !residual) && (p + k + mixing) % 3) continue;
          small(config, 6, 9);
          set(config, "placement", (double)p);
          set(config, "norm", (double)k);
          set(config, "mixing", (double)mixing);
          set(config, "residual", residual);
          set(config, "gated", residual ^ (k & 1));
          set(config, "groups", 3);
          set(config, "heads", 2);
          set(config, "qk_norm", p & 1);
          /* The mean over all tokens leaves a norm over tokens nothing but rounding. */
          set(config, "causal", (k & 1) || strcmp(an_norm_kind(k), "row") != 0);
          set(config, "depth", 24);
          set(config, "layer", 3);
          set(config, "weight_offset", p == 1 ? 1 : 0);
          test_module(config, 2, 4, (p + k) & 1);
        }
}

static void test_stacks(void) {
  double config[MAX_FIELDS];
  for (size_t p = 0; p < an_placement_count(); p++)
    for (size_t mixing = 0; mixing < 3; mixing++) {
      if (QUICK && (p + mixing) % 3) continue;
      small(config, 5, 7);
      set(config, "layer", 0);
      set(config, "depth", 3);
      set(config, "placement", (double)p);
      set(config, "norm", norm(p % 3 == 0 ? "layer_norm" : p % 3 == 1 ? "rms_norm" : "batch_norm"));
      set(config, "mixing", (double)mixing);
      set(config, "activation", activation(p & 1 ? "gelu_erf" : "tanh"));
      set(config, "gated", p == 3);
      set(config, "bias", p != 4);
      set(config, "dropout", mixing == 1 ? 0.2 : 0);
      set(config, "residual_dropout", mixing == 2 ? 0.3 : 0);
      test_module(config, 3, 3, 0);
      set(config, "d_in", p & 1 ? 3 : 0);
      set(config, "d_out", 4);
      set(config, "positions", p & 2 ? 5 : 0);
      set(config, "final_norm", p & 4 ? 0 : 1);
      test_module(config, 2, 3, mixing > 0);
    }
}

/* More rows than one piece of the FFN's or of a sum takes. */
static void test_many_rows(void) {
  double config[MAX_FIELDS];
  if (QUICK) return;
  small(config, 9, 12);
  set(config, "layer", 0);
  set(config, "depth", 2);
  set(config, "d_in", 3);
  set(config, "d_out", 2);
  set(config, "dropout", 0.1);
  test_module(config, 2, 300, 0);
  set(config, "mixing", 1);
  set(config, "placement", placement("post"));
  test_module(config, 2, 150, 1);
}

/* A block is what the stack of the same configuration has in its layer, and a stack of one layer is that block. */
static void test_block_of_stack(void) {
  double config[MAX_FIELDS];
  small(config, 8, 12);
  set(config, "depth", 3);
  set(config, "mixing", 2);
  set(config, "heads", 2);
  set(config, "placement", placement("deepnorm"));
  for (double layer = 1; layer <= 3; layer++) {
    double stack[MAX_FIELDS];
    memcpy(stack, config, sizeof stack);
    set(config, "layer", layer), set(stack, "layer", 0);
    for (size_t i = 0; i < an_module_parameter_count(config); i++) {
      float own[96], theirs[96];
      const size_t each = an_module_parameter_count(config);
      const size_t place = i + (size_t)(layer - 1) * each;
      size_t rows, cols;
      an_module_parameter_shape(config, i, &rows, &cols);
      CHECK(rows * cols <= 96, "room");
      CHECK(an_module_parameter_layer(stack, place) == (size_t)layer, "layer");
      CHECK(strcmp(an_module_parameter_name(stack, place), an_module_parameter_name(config, i)) == 0, "name");
      CHECK(an_module_parameter_init(own, config, i, 9) == AN_OK, "init");
      CHECK(an_module_parameter_init(theirs, stack, place, 9) == AN_OK, "init");
      CHECK(memcmp(own, theirs, rows * cols * sizeof(float)) == 0, "layer %g, %s", layer,
            an_module_parameter_name(config, i));
    }
  }
}

/* What a probe tells, on a stack whose numbers can be had from its streams. */
static void test_probe(void) {
  double config[MAX_FIELDS];
  small(config, 6, 10);
  set(config, "layer", 0);
  set(config, "depth", 2);
  set(config, "final_norm", 0);
  set(config, "activation", activation("relu"));
  set(config, "placement", placement("pre"));
  module m;
  module_make(&m, config, 1, 4);
  /* Every unit of layer 1 is dead but the first. */
  for (size_t i = 0; i < m.count; i++)
    if (strcmp(m.list[i].name, "1.up_bias") == 0)
      for (size_t j = 0; j < 10; j++) m.values[m.list[i].offset + j] = j == 0 ? 50 : -50;
  pack(&m);
  float x[24], y[24], dy[24], dx[24];
  for (size_t i = 0; i < 24; i++) x[i] = (float)test_normal(&state), dy[i] = (float)test_normal(&state);
  float *saved = malloc(an_module_saved_bytes(config, 1, 4)), *gradients = calloc(m.floats, sizeof(float));
  const size_t bytes = an_module_workspace_bytes(config, 2, 1, 4);
  float *workspace = malloc(bytes);
  forward(&m, y, x, saved);
  double probe[3 * 16];
  const size_t width = an_probe_count();
  CHECK(an_module_probe_count(config) == 3 && width <= 16, "probe count");
  CHECK(an_module_bwd(dx, gradients, dy, NULL, m.packed, m.packed_bwd, saved, workspace, bytes, config, 0, 1, 4,
                      probe) == AN_OK,
        "backward");
  double sum = 0, square = 0, gradient = 0, out = 0, difference_of = 0, cosine = 0;
  double *v = doubles(m.floats), xd[24], stream[24];
  for (size_t i = 0; i < m.floats; i++) v[i] = m.values[i];
  for (size_t i = 0; i < 24; i++) {
    xd[i] = stream[i] = x[i], sum += x[i], square += (double)x[i] * x[i], gradient += (double)dx[i] * dx[i];
    out += (double)y[i] * y[i];
  }
  ref_sublayer(&m, v, stream, 1, 0, 1);
  for (size_t r = 0; r < 4; r++) {
    double xx = 0, xy = 0, yy = 0;
    for (size_t i = r * 6; i < r * 6 + 6; i++)
      xx += xd[i] * xd[i], yy += stream[i] * stream[i], xy += xd[i] * stream[i],
          difference_of += pow(stream[i] - xd[i], 2);
    cosine += xy / sqrt(xx * yy) / 4;
  }
  const double mean = sum / 24;
#define TOLD(row, name) probe[(row)*width + find(name, width, an_probe_name)]
  CHECK(fabs(TOLD(0, "mean") - mean) < 1e-6, "mean %g", TOLD(0, "mean"));
  CHECK(fabs(TOLD(0, "std") - sqrt(square / 24 - mean * mean)) < 1e-6, "std %g", TOLD(0, "std"));
  CHECK(fabs(TOLD(0, "rms") - sqrt(square / 24)) < 1e-6, "rms %g", TOLD(0, "rms"));
  CHECK(fabs(TOLD(2, "rms") - sqrt(out / 24)) < 1e-6, "rms at the end %g", TOLD(2, "rms"));
  CHECK(fabs(TOLD(0, "gradient") - sqrt(gradient)) < 1e-5 * sqrt(gradient), "gradient %g", TOLD(0, "gradient"));
  CHECK(fabs(TOLD(0, "branch_rms") - sqrt(difference_of / 24)) < 1e-5 * sqrt(difference_of), "branch");
  CHECK(fabs(TOLD(0, "cosine") - cosine) < 1e-5, "cosine %g, not %g", TOLD(0, "cosine"), cosine);
  CHECK(fabs(TOLD(0, "dead") - 0.9) < 1e-9, "dead %g", TOLD(0, "dead"));
  CHECK(TOLD(1, "dead") < 0.9 && TOLD(0, "saturated") == 0 && TOLD(0, "nonfinite") == 0, "the rest");
  /* An infinity in the stream is counted from there on. */
  x[7] = INFINITY;
  forward(&m, y, x, saved);
  an_module_bwd(dx, gradients, dy, NULL, m.packed, m.packed_bwd, saved, workspace, bytes, config, 0, 1, 4, probe);
  CHECK(TOLD(0, "nonfinite") == 1 && TOLD(1, "nonfinite") >= 1, "nonfinite %g", TOLD(0, "nonfinite"));
#undef TOLD
  free(v), free(saved), free(gradients), free(workspace);
  module_free(&m);
}

static void test_errors(void) {
  double config[MAX_FIELDS];
  small(config, 4, 6);
  set(config, "layer", 0);
  set(config, "positions", 3);
  module m;
  module_make(&m, config, 1, 3);
  const size_t bytes = an_module_workspace_bytes(config, 2, 1, 3), kept = an_module_saved_bytes(config, 1, 3);
  float x[16] = {0}, y[16], *workspace = malloc(bytes), *saved = malloc(kept), *gradients = calloc(m.floats, 4);
#define FORWARD(y, x, packed, saved, w, bytes, config, length) \
  an_module_fwd(y, x, NULL, packed, saved, w, bytes, config, 0, 1, length)
#define BACKWARD(g, dy, packed, packed_bwd, saved, w, bytes, config, length) \
  an_module_bwd(NULL, g, dy, NULL, packed, packed_bwd, saved, w, bytes, config, 0, 1, length, NULL)
  CHECK(FORWARD(y, x, m.packed, saved, workspace, bytes, config, 4) == AN_INVALID_SHAPE, "more than the positions");
  CHECK(FORWARD(y, x, m.packed, saved, workspace, bytes, config, 3) == AN_OK, "fine");
  CHECK(BACKWARD(gradients, y, m.packed, m.packed_bwd, saved, workspace, bytes, config, 3) == AN_OK, "fine");
  CHECK(BACKWARD(NULL, y, m.packed, m.packed_bwd, saved, workspace, bytes, config, 3) == AN_NULL_POINTER, "gradients");
  CHECK(BACKWARD(gradients, NULL, m.packed, m.packed_bwd, saved, workspace, bytes, config, 3) == AN_NULL_POINTER, "dy");
  CHECK(BACKWARD(gradients, y, NULL, m.packed_bwd, saved, workspace, bytes, config, 3) == AN_NULL_POINTER, "packed");
  CHECK(BACKWARD(gradients, y, m.packed, NULL, saved, workspace, bytes, config, 3) == AN_NULL_POINTER, "packed_bwd");
  CHECK(BACKWARD(gradients, y, m.packed, m.packed_bwd, NULL, workspace, bytes, config, 3) == AN_NULL_POINTER, "saved");
  CHECK(BACKWARD(gradients, y, m.packed, m.packed_bwd, saved, NULL, bytes, config, 3) == AN_NULL_POINTER, "workspace");
  CHECK(
      BACKWARD(gradients, y, m.packed, m.packed_bwd, saved, workspace, bytes - 1, config, 3) == AN_WORKSPACE_TOO_SMALL,
      "workspace size");
  CHECK(BACKWARD(gradients, y, m.packed, m.packed_bwd, saved, workspace, bytes, NULL, 3) == AN_NULL_POINTER, "config");
  CHECK(BACKWARD(NULL, NULL, NULL, NULL, NULL, NULL, 0, config, 0) == AN_OK, "no rows");
  CHECK(an_module_workspace_bytes(config, 3, 1, 3) == 0 && an_module_workspace_bytes(config, -1, 1, 3) == 0, "kind");
  CHECK(an_module_saved_bytes(config, SIZE_MAX, 2) == 0 && an_module_saved_bytes(config, 0, 3) == 0, "saved");
  set(config, "heads", 3);
  set(config, "mixing", 2);
  uint32_t fault = 99;
  CHECK(an_config_check(config, &fault) == AN_INVALID_SHAPE && fault == field("heads"), "heads");
  CHECK(an_mixing_name(3) == NULL && an_init_name(8) == NULL && an_probe_name(an_probe_count()) == NULL, "lists end");
  free(workspace), free(saved), free(gradients);
  module_free(&m);
}

/* Initial values of the distributions that block_test.c does not have. */
static void test_init(void) {
  static const struct {
    const char *name;
    double up, down; /* standard deviations */
  } rules[] = {{"kaiming_uniform", 0, 0}, {"kaiming_normal", 0, 0}, {"gpt2", 0.02, 0}, {"zero", 0, 0}};
  enum { D = 48, H = 200 };
  double config[MAX_FIELDS];
  for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
    small(config, D, H);
    set(config, "depth", 6);
    set(config, "mixing", 1);
    set(config, "init", init(rules[i].name));
    double want[2] = {sqrt(2.0 / D), sqrt(2.0 / H)};
    if (strcmp(rules[i].name, "gpt2") == 0) want[0] = 0.02, want[1] = 0.02 / sqrt(12);
    if (strcmp(rules[i].name, "zero") == 0) want[0] = 1 / sqrt(3.0 * D), want[1] = 0;
    for (size_t p = 0; p < an_module_parameter_count(config); p++) {
      const char *name = an_module_parameter_name(config, p);
      const int is_up = strcmp(name, "up") == 0, is_down = strcmp(name, "down") == 0;
      if (!is_up && !is_down) continue;
      static float value[D * H];
      double square = 0;
      CHECK(an_module_parameter_init(value, config, p, 3) == AN_OK, "init");
      for (size_t j = 0; j < D * H; j++) square += (double)value[j] * value[j];
      const double std = sqrt(square / (D * H));
      CHECK(fabs(std - want[is_down]) <= 0.04 * want[is_down], "%s, %s: %g, not %g", rules[i].name, name, std,
            want[is_down]);
    }
  }
}

int main(void) {
  test_blocks();
  test_stacks();
  test_many_rows();
  test_block_of_stack();
  test_probe();
  test_errors();
  test_init();
  printf("largest error: forward %.2g, gradients %.2g of the largest element\n", worst_forward, worst_gradient);
  return test_report("module");
}
