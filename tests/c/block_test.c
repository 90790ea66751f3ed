/* The block in every placement with every norm against the formulas in double, in buffers of exact size; its
 * parameters, their initial values, its cost, and the configuration's checks. */
#include "names.h"

enum { MAX_PARAMETERS = 32 };

#if defined(AN_TEST_QUICK)
enum { QUICK = 1 };
#else
enum { QUICK = 0 };
#endif

static uint64_t state = 7;

static double affine(const char *name) { return (double)find(name, 3, an_affine_name); }

static double get(const double *config, const char *name) { return config[field(name)]; }

static void small(double *config, double d_model, double d_ff) {
  an_config_default(config);
  set(config, "d_model", d_model);
  set(config, "d_ff", d_ff);
}

/* ---- A block with values for its parameters ---- */

typedef struct block {
  double config[MAX_FIELDS], used[MAX_FIELDS]; /* used: AUTO resolved */
  size_t count;
  const char *name[MAX_PARAMETERS];
  float *value[MAX_PARAMETERS];
  size_t size[MAX_PARAMETERS];
  float *packed;
} block;

static const float *value_of(const block *b, const char *name) {
  for (size_t i = 0; i < b->count; i++)
    if (strcmp(b->name[i], name) == 0) return b->value[i];
  return NULL;
}

/* Values as a trained block may have them: weights that keep the variance, nothing at its neutral value. */
static void block_make(block *b, const double *config) {
  memcpy(b->config, config, an_field_count() * sizeof(double));
  CHECK(an_config_resolve(b->used, config) == AN_OK, "a valid configuration");
  b->count = an_module_parameter_count(config);
  b->packed = guarded_alloc(an_module_packed_bytes(config) / sizeof(float), 1);
  for (size_t i = 0; i < b->count; i++) {
    size_t rows, cols;
    const size_t axes = an_module_parameter_shape(config, i, &rows, &cols);
    b->name[i] = an_module_parameter_name(config, i);
    b->size[i] = rows * cols;
    b->value[i] = guarded_alloc(rows * cols, 0);
    for (size_t j = 0; j < rows * cols; j++) {
      const double z = test_normal(&state);
      b->value[i][j] = (float)(axes == 2                         ? z / sqrt((double)cols)
                               : strstr(b->name[i], "_weight")   ? 1 + 0.3 * z - get(b->used, "weight_offset")
                               : strstr(b->name[i], "_alpha")    ? 0.8
                               : strstr(b->name[i], "running_v") ? 0.5 + test_uniform(&state)
                                                                 : 0.5 * z);
    }
    CHECK(an_module_pack(b->packed, NULL, config, i, b->value[i]) == AN_OK, "pack %s", b->name[i]);
  }
}

static void block_free(block *b) {
  for (size_t i = 0; i < b->count; i++) guarded_free(b->value[i], b->size[i], 0, b->name[i]);
  guarded_free(b->packed, an_module_packed_bytes(b->config) / sizeof(float), 1, "packed block");
}

/* Workspace of exactly the size that was told. */
static void block_forward(const block *b, float *y, const float *x, int training, size_t batch, size_t length) {
  const size_t bytes = an_module_workspace_bytes(b->config, training, batch, length);
  const size_t kept = training ? an_module_saved_bytes(b->config, batch, length) / sizeof(float) : 0;
  float *workspace = guarded_alloc(bytes / sizeof(float), 3), *saved = training ? guarded_alloc(kept, 1) : NULL;
  const an_status status =
      an_module_fwd(y, x, NULL, b->packed, saved, workspace, bytes, b->config, 0, batch, length);
  if (saved) guarded_free(saved, kept, 1, "saved");
  CHECK(status == AN_OK, "forward: %s", an_status_name(status));
  guarded_free(workspace, bytes / sizeof(float), 3, "workspace");
}

/* ---- The formulas in double ---- */

static double *doubles(size_t n) {
  double *x = n < 1u << 30 ? calloc(n + 1, sizeof(double)) : NULL;
  if (!x) abort();
  return x;
}

static double ref_activation(const char *name, double x) {
  if (strcmp(name, "relu") == 0) return x > 0 ? x : 0;
  if (strcmp(name, "silu") == 0) return x / (1 + exp(-x));
  if (strcmp(name, "gelu_erf") == 0) return 0.5 * x * erfc(-x * 0.70710678118654757);
  return x; /* identity */
}

static void ref_linear(double *y, const double *x, const float *weight, const float *bias, size_t rows, size_t in,
                       size_t out) {
  for (size_t m = 0; m < rows; m++)
    for (size_t n = 0; n < out; n++) {
      double sum = bias ? bias[n] : 0;
      for (size_t k = 0; k < in; k++) sum += x[m * in + k] * weight[n * in + k];
      y[m * out + n] = sum;
    }
}

static void ref_ffn(double *y, const double *x, const block *b, size_t rows) {
  const size_t d = (size_t)get(b->used, "d_model"), h = (size_t)get(b->used, "d_ff");
  const char *act = an_activation_name((size_t)get(b->used, "activation"));
  double *hidden = doubles(rows * h), *gate = doubles(rows * h);
  ref_linear(hidden, x, value_of(b, "up"), value_of(b, "up_bias"), rows, d, h);
  if (get(b->used, "gated") == 1) {
    ref_linear(gate, x, value_of(b, "gate"), value_of(b, "gate_bias"), rows, d, h);
    for (size_t i = 0; i < rows * h; i++) hidden[i] *= ref_activation(act, gate[i]);
  } else {
    for (size_t i = 0; i < rows * h; i++) hidden[i] = ref_activation(act, hidden[i]);
  }
  ref_linear(y, hidden, value_of(b, "down"), value_of(b, "down_bias"), rows, h, d);
  free(hidden);
  free(gate);
}

/* Mean and biased variance of the elements (b, l, c), b in [b0, b1) and so on, of a (batch, length, d) array. */
static void ref_moments(double *mean, double *var, const double *x, size_t length, size_t d, const size_t range[6]) {
  double sum = 0, square = 0, n = 0;
  for (int turn = 0; turn < 2; turn++) {
    for (size_t b = range[0]; b < range[1]; b++)
      for (size_t l = range[2]; l < range[3]; l++)
        for (size_t c = range[4]; c < range[5]; c++) {
          const double v = x[(b * length + l) * d + c];
          if (turn == 0) {
            sum += v, n++;
          } else {
            square += (v - sum / n) * (v - sum / n);
          }
        }
  }
  *mean = sum / n, *var = square / n;
}

/* y = norm of x in place, with the parameters whose names start with prefix. */
static void ref_norm(double *x, const block *b, const char *prefix, int training, size_t batch, size_t length) {
  const size_t d = (size_t)get(b->used, "d_model");
  const char *kind = an_norm_name((size_t)get(b->used, "norm"));
  const double eps = get(b->used, "eps"), offset = get(b->used, "weight_offset");
  char name[64];
#define PARAMETER(suffix) (snprintf(name, sizeof name, "%s" suffix, prefix), value_of(b, name))
  const float *weight = PARAMETER("_weight"), *bias = PARAMETER("_bias"), *alpha = PARAMETER("_alpha");
  const float *running_mean = PARAMETER("_running_mean"), *running_var = PARAMETER("_running_var");
#undef PARAMETER
  if (strcmp(kind, "none") == 0) return;
  double *y = doubles(batch * length * d);
  for (size_t e = 0; e < batch; e++)
    for (size_t l = 0; l < length; l++)
      for (size_t c = 0; c < d; c++) {
        const double v = x[(e * length + l) * d + c];
        const size_t width = d / (size_t)get(b->used, "groups"), g = c / width * width;
        const size_t row[6] = {e, e + 1, l, l + 1, 0, d}, group[6] = {e, e + 1, 0, length, g, g + width};
        const size_t instance[6] = {e, e + 1, 0, length, c, c + 1}, all[6] = {0, batch, 0, length, c, c + 1};
        double mean, var, z;
        if (strcmp(kind, "dyt") == 0) {
          z = tanh(*alpha * v);
        } else if (strcmp(kind, "batch_norm") == 0 && !training) {
          z = (v - running_mean[c]) / sqrt(running_var[c] + eps);
        } else {
          const int r = strstr(kind, "rms_norm") || strncmp(kind, "layer_norm", 10) == 0;
          ref_moments(&mean, &var, x, length, d, r ? row : kind[0] == 'b' ? all : kind[0] == 'g' ? group : instance);
          if (strcmp(kind, "layer_norm_std") == 0) {
            z = (v - mean) / (sqrt(var * (double)d / (double)(d - 1)) + eps);
          } else if (strcmp(kind, "rms_norm") == 0) {
            z = v / sqrt(var + mean * mean + eps);
          } else if (strcmp(kind, "rms_norm_outside") == 0) {
            z = v / (sqrt(var + mean * mean) + eps);
          } else {
            z = (v - mean) / sqrt(var + eps);
          }
        }
        y[(e * length + l) * d + c] = z * (weight ? weight[c] + offset : 1) + (bias ? bias[c] : 0);
      }
  memcpy(x, y, batch * length * d * sizeof(double));
  free(y);
}

static double *copy(const double *x, size_t n) {
  double *y = doubles(n);
  return memcpy(y, x, n * sizeof(double));
}

/* DESIGN's table of placements, line by line. */
static void ref_block(double *y, const float *x_float, const block *b, int training, size_t batch, size_t length) {
  const size_t d = (size_t)get(b->used, "d_model"), rows = batch * length, n = rows * d;
  const char *where = an_placement_name((size_t)get(b->used, "placement"));
  const double keep = get(b->used, "residual");
  const float *scale = value_of(b, "scale");
  double *x = doubles(n);
  for (size_t i = 0; i < n; i++) x[i] = x_float[i];
  double *t = copy(x, n);
  const int is_pre = strcmp(where, "pre") == 0 || strcmp(where, "peri") == 0 || strcmp(where, "lns") == 0 ||
                     strcmp(where, "layer_scale") == 0;
  if (is_pre) ref_norm(t, b, "norm", training, batch, length);
  if (strcmp(where, "lns") == 0)
    for (size_t i = 0; i < n; i++) t[i] /= sqrt(get(b->used, "layer"));
  ref_ffn(y, t, b, rows);
  if (strcmp(where, "peri") == 0) ref_norm(y, b, "norm2", training, batch, length);
  if (strcmp(where, "output") == 0) ref_norm(y, b, "norm", training, batch, length);
  if (strcmp(where, "rezero") == 0)
    for (size_t i = 0; i < n; i++) y[i] *= scale[0];
  if (strcmp(where, "layer_scale") == 0)
    for (size_t i = 0; i < n; i++) y[i] *= scale[i % d];
  const double alpha = strcmp(where, "deepnorm") == 0 ? get(b->used, "alpha") : 1;
  for (size_t i = 0; i < n; i++) y[i] += keep * alpha * x[i];
  if (strcmp(where, "post") == 0 || strcmp(where, "deepnorm") == 0) ref_norm(y, b, "norm", training, batch, length);
  free(t);
  free(x);
}

/* ---- Forward ---- */

static double worst;

static void test_forward(const double *config, int training, size_t batch, size_t length) {
  block b;
  block_make(&b, config);
  const size_t d = (size_t)get(b.used, "d_model"), n = batch * length * d;
  float *x = guarded_alloc(n, 2), *y = guarded_alloc(n, 1);
  double *want = doubles(n);
  for (size_t i = 0; i < n; i++) x[i] = (float)(1.5 * test_normal(&state) + 0.3);
  ref_block(want, x, &b, training, batch, length);
  block_forward(&b, y, x, training, batch, length);
  double size = 0, error = 0;
  for (size_t i = 0; i < n; i++) {
    size = fmax(size, fabs(want[i]));
    error = worse(error, fabs(y[i] - want[i]));
  }
  worst = fmax(worst, error / size);
  CHECK(error <= 2e-6 * size, "%s, %s, residual %g, gated %g, %zu x %zu x %zu: error %.2g of %.3g",
        an_placement_name((size_t)get(b.used, "placement")), an_norm_name((size_t)get(b.used, "norm")),
        get(b.used, "residual"), get(b.used, "gated"), batch, length, d, error, size);

  /* A row norm's rows do not see each other: alone they give the same bits. */
  if (strcmp(an_norm_kind((size_t)get(b.used, "norm")), "row") == 0) {
    float *alone = guarded_alloc(d, 0);
    for (size_t m = 0; m < batch * length; m += 1 + batch * length / 7) {
      block_forward(&b, alone, x + m * d, training, 1, 1);
      CHECK(memcmp(alone, y + m * d, d * sizeof(float)) == 0, "row %zu differs alone", m);
    }
    guarded_free(alone, d, 0, "y");
  }
  guarded_free(x, n, 2, "x");
  guarded_free(y, n, 1, "y");
  free(want);
  block_free(&b);
}

static void test_placements(void) {
  double config[MAX_FIELDS];
  for (size_t p = 0; p < an_placement_count(); p++)
    for (size_t k = 0; k < an_norm_count(); k++)
      for (int residual = 0; residual < 2; residual++)
        for (int gated = 0; gated < 2; gated++) {
          small(config, QUICK ? 5 : 20, QUICK ? 9 : 44);
          set(config, "placement", (double)p);
          set(config, "norm", (double)k);
          set(config, "residual", residual);
          set(config, "gated", gated);
          set(config, "activation", activation(gated ? "silu" : "gelu_erf"));
          set(config, "groups", 5);
          set(config, "depth", 24);
          set(config, "layer", 3);
          test_forward(config, 0, 3, 5);
          test_forward(config, 1, 3, 5);
          if (gated || QUICK) continue;
          /* More rows than one pass takes, and one row. */
          small(config, 6, 9);
          set(config, "placement", (double)p);
          set(config, "norm", (double)k);
          set(config, "residual", residual);
          test_forward(config, 0, 2, 61);
          test_forward(config, 0, 1, 1);
        }
}

/* Widths off the panels, a hidden layer of several tiles, every form of affine and bias. */
static void test_shapes(void) {
  static const size_t sizes[][3] = {{1, 1, 3}, {7, 13, 2}, {50, 50, 32}, {33, 700, 50}, {520, 30, 9}, {8, 11008, 20}};
  double config[MAX_FIELDS];
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
    for (int form = 0; form < 6; form++) {
      if (QUICK && sizes[i][0] * sizes[i][1] > 5000) continue;
      small(config, (double)sizes[i][0], (double)sizes[i][1]);
      set(config, "activation", activation(form % 2 ? "relu" : "identity"));
      set(config, "gated", form >= 3);
      set(config, "bias", form % 3 > 0);
      set(config, "norm", norm(sizes[i][0] == 1 ? "none" : form % 2 ? "rms_norm" : "layer_norm"));
      set(config, "affine", form % 3);
      set(config, "weight_offset", form == 1);
      test_forward(config, 0, 1, sizes[i][2]);
      set(config, "placement", placement("post"));
      test_forward(config, 0, 1, sizes[i][2]);
    }
  /* A tile of the hidden layer is narrower than d_ff, with gate. */
  small(config, 12, 1000);
  set(config, "gated", 1);
  if (!QUICK) test_forward(config, 0, 1, 100);
}

/* Training moves batch_norm's running statistics by momentum, variance unbiased; inference reads them. */
static void test_running_statistics(void) {
  double config[MAX_FIELDS];
  small(config, 6, 8);
  set(config, "norm", norm("batch_norm"));
  set(config, "momentum", 0.25);
  block b;
  block_make(&b, config);
  const size_t d = 6, batch = 2, length = 4, n = batch * length;
  float *x = guarded_alloc(n * d, 0), *y = guarded_alloc(n * d, 0);
  double *want = doubles(n * d), *wide = doubles(n * d);
  for (size_t i = 0; i < n * d; i++) wide[i] = x[i] = (float)(2 * test_normal(&state) + 3);
  block_forward(&b, y, x, 1, batch, length);
  for (size_t i = 0; i < b.count; i++) {
    const int is_mean = strcmp(b.name[i], "norm_running_mean") == 0,
              is_var = strcmp(b.name[i], "norm_running_var") == 0;
    for (size_t c = 0; c < d && (is_mean || is_var); c++) {
      double mean, var;
      ref_moments(&mean, &var, wide, length, d, (const size_t[6]){0, batch, 0, length, c, c + 1});
      b.value[i][c] = (float)(0.75 * b.value[i][c] + 0.25 * (is_mean ? mean : var * (double)n / (double)(n - 1)));
    }
  }
  block_forward(&b, y, x, 0, batch, length);
  ref_block(want, x, &b, 0, batch, length);
  double size = 0, error = 0;
  for (size_t i = 0; i < n * d; i++) size = fmax(size, fabs(want[i])), error = worse(error, fabs(y[i] - want[i]));
  CHECK(error <= 2e-6 * size, "inference after training: error %g of %g", error, size);
  guarded_free(x, n * d, 0, "x");
  guarded_free(y, n * d, 0, "y");
  free(want);
  free(wide);
  block_free(&b);
}

/* One NaN row makes one NaN row. */
static void test_nan_row(void) {
  double config[MAX_FIELDS];
  small(config, 12, 20);
  for (size_t p = 0; p < an_placement_count(); p++) {
    set(config, "placement", (double)p);
    block b;
    block_make(&b, config);
    float *x = guarded_alloc(8 * 12, 0), *clean = guarded_alloc(8 * 12, 0), *y = guarded_alloc(8 * 12, 0);
    for (size_t i = 0; i < 8 * 12; i++) x[i] = (float)test_normal(&state);
    block_forward(&b, clean, x, 0, 2, 4);
    x[5 * 12 + 7] = NAN;
    block_forward(&b, y, x, 0, 2, 4);
    for (size_t i = 0; i < 8 * 12; i++)
      CHECK(i / 12 == 5 ? isnan(y[i]) : y[i] == clean[i], "%s: element %zu", an_placement_name(p), i);
    guarded_free(x, 8 * 12, 0, "x");
    guarded_free(clean, 8 * 12, 0, "y");
    guarded_free(y, 8 * 12, 0, "y");
    block_free(&b);
  }
}

/* ---- Parameters ---- */

static void check_names(const double *config, const char *names) {
  char got[512] = "";
  for (size_t i = 0; i < an_module_parameter_count(config); i++)
    strcat(strcat(got, " "), an_module_parameter_name(config, i));
  CHECK(strcmp(got + 1, names) == 0, "\n got %s\nwant  %s", got, names);
  CHECK(an_module_parameter_name(config, an_module_parameter_count(config)) == NULL, "beyond the list");
}

static void test_parameter_lists(void) {
  double config[MAX_FIELDS];
  small(config, 12, 20);
  check_names(config, "up up_bias down down_bias norm_weight norm_bias");
  set(config, "gated", 1);
  set(config, "norm", norm("rms_norm"));
  check_names(config, "gate gate_bias up up_bias down down_bias norm_weight");
  set(config, "bias", 0);
  set(config, "placement", placement("peri"));
  set(config, "norm", norm("dyt"));
  check_names(config, "gate up down norm_weight norm_bias norm_alpha norm2_weight norm2_bias norm2_alpha");
  set(config, "affine", affine("none"));
  set(config, "norm", norm("batch_norm"));
  check_names(config, "gate up down norm_running_mean norm_running_var norm2_running_mean norm2_running_var");
  CHECK(an_module_parameter_learned(config, 2) == 1 && an_module_parameter_learned(config, 3) == 0, "buffers");
  set(config, "norm", norm("none"));
  set(config, "affine", affine("weight_bias"));
  check_names(config, "gate up down");
  set(config, "placement", placement("rezero"));
  set(config, "norm", norm("layer_norm"));
  check_names(config, "gate up down scale");
  set(config, "gated", 0);
  set(config, "placement", placement("layer_scale"));
  check_names(config, "up down norm_weight norm_bias scale");

  size_t rows, cols;
  CHECK(an_module_parameter_shape(config, 0, &rows, &cols) == 2 && rows == 20 && cols == 12, "up");
  CHECK(an_module_parameter_shape(config, 1, &rows, &cols) == 2 && rows == 12 && cols == 20, "down");
  CHECK(an_module_parameter_shape(config, 4, &rows, &cols) == 1 && rows == 1 && cols == 12, "scale");
  CHECK(an_module_parameter_shape(config, 5, &rows, &cols) == 0, "beyond the list");
}

/* Values of parameter `name`, which the caller frees; *n: how many. */
static float *initial(const double *config, const char *name, uint32_t seed, size_t *n) {
  for (size_t i = 0; i < an_module_parameter_count(config); i++) {
    if (strcmp(an_module_parameter_name(config, i), name) != 0) continue;
    size_t rows, cols;
    an_module_parameter_shape(config, i, &rows, &cols);
    *n = rows * cols;
    float *value = malloc(*n * sizeof(float));
    CHECK(an_module_parameter_init(value, config, i, seed) == AN_OK, "init %s", name);
    return value;
  }
  printf("no parameter %s\n", name);
  exit(1);
}

/* Standard deviation within five of its own, and where there is a bound: within it and, of so many, near it. */
static void check_init(const double *config, const char *name, double std, double bound) {
  size_t n;
  float *value = initial(config, name, 3, &n);
  double square = 0, largest = 0;
  for (size_t i = 0; i < n; i++) square += (double)value[i] * value[i], largest = fmax(largest, fabs(value[i]));
  CHECK(fabs(sqrt(square / (double)n) / std - 1) < 5 / sqrt(2 * (double)n), "%s: std %g, expected %g", name,
        sqrt(square / (double)n), std);
  if (bound > 0) CHECK(largest <= bound && largest > bound * (1 - 20 / (double)n), "%s: largest %g", name, largest);
  free(value);
}

static void check_constant(const double *config, const char *name, float want) {
  size_t n;
  float *value = initial(config, name, 3, &n);
  for (size_t i = 0; i < n; i++) CHECK(value[i] == want, "%s[%zu] = %g", name, i, value[i]);
  free(value);
}

static void test_initial_values(void) {
  double config[MAX_FIELDS];
  small(config, 48, 192);
  set(config, "gated", 1);
  const double model = 1 / sqrt(48), ff = 1 / sqrt(192), third = 1 / sqrt(3);
  check_init(config, "up", model * third, model);
  check_init(config, "gate", model * third, model);
  check_init(config, "up_bias", model * third, model);
  check_init(config, "down", ff * third, ff);
  check_init(config, "down_bias", ff * third, ff);
  check_constant(config, "norm_weight", 1);
  check_constant(config, "norm_bias", 0);

  /* Weights, not biases, take beta: (4 * 24)^(-1/4). */
  set(config, "placement", placement("deepnorm"));
  set(config, "depth", 24);
  const double beta = pow(96, -0.25);
  check_init(config, "up", beta * model * third, beta * model * (1 + 1e-6));
  check_init(config, "gate", beta * model * third, beta * model * (1 + 1e-6));
  check_init(config, "down", beta * ff * third, beta * ff * (1 + 1e-6));
  check_init(config, "up_bias", model * third, model);
  set(config, "placement", placement("pre"));

  set(config, "init", init("xavier_uniform"));
  check_init(config, "up", sqrt(2.0 / 240), sqrt(6.0 / 240));
  check_init(config, "down", sqrt(2.0 / 240), sqrt(6.0 / 240));
  check_constant(config, "up_bias", 0);
  set(config, "init", init("xavier_normal"));
  check_init(config, "up", sqrt(2.0 / 240), 0);
  set(config, "init", init("normal"));
  check_init(config, "down", 0.02, 0);
  set(config, "init_std", 0.5);
  check_init(config, "down", 0.5, 0);
  check_constant(config, "down_bias", 0);

  set(config, "weight_offset", 1);
  check_constant(config, "norm_weight", 0);
  set(config, "norm", norm("dyt"));
  check_constant(config, "norm_alpha", 0.5f);
  set(config, "norm", norm("batch_norm"));
  check_constant(config, "norm_running_mean", 0);
  check_constant(config, "norm_running_var", 1);
  set(config, "placement", placement("rezero"));
  check_constant(config, "scale", 0);
  set(config, "placement", placement("layer_scale"));
  check_constant(config, "scale", 1e-4f);
  set(config, "alpha", 0.25);
  check_constant(config, "scale", 0.25f);

  /* The same seed gives the same values in any order; another seed and another parameter give others. */
  size_t n, m;
  float *gate = initial(config, "gate", 3, &n), *up = initial(config, "up", 3, &n);
  float *again = initial(config, "gate", 3, &m), *other = initial(config, "gate", 4, &m);
  CHECK(memcmp(gate, again, n * sizeof(float)) == 0, "the same seed");
  int common = 0;
  for (size_t i = 0; i < n; i++) common += (gate[i] == up[i]) + (gate[i] == other[i]);
  CHECK(common < 10, "%d values in common with another stream or seed", common);
  free(gate), free(up), free(again), free(other);
}

/* Hand-counted. BERT-base: 2 * 768 * 3072 = 4718592 weights, two thirds of an encoder layer's matrices. */
static void test_cost(void) {
  double config[MAX_FIELDS], cost[4];
  an_config_default(config);
  set(config, "d_model", 768);
  set(config, "placement", placement("post"));
  CHECK(an_module_cost(cost, config, 1, 10) == AN_OK, "cost");
  CHECK(cost[0] == 4718592 + 3072 + 768 + 2 * 768, "parameters: %.0f", cost[0]);
  CHECK(cost[1] == 10.0 * (2 * 4718592 + 3072 + 3072 + 768 + 7 * 768 + 768), "operations: %.0f", cost[1]);
  CHECK(cost[2] == 4 * (cost[0] + 2 * 10 * 768), "bytes: %.0f", cost[2]);
  CHECK(cost[3] == 10.0 * 2 * 4718592, "matrix products: %.0f", cost[3]);
  /* The attention's four 768 x 768 matrices are the other third. */
  CHECK(cost[3] / 20 / (cost[3] / 20 + 4 * 768 * 768) == 2.0 / 3, "two thirds");

  /* Llama-2-7B: 3 * 4096 * 11008, RMS norm. */
  set(config, "d_model", 4096);
  set(config, "d_ff", 11008);
  set(config, "gated", 1);
  set(config, "bias", 0);
  set(config, "norm", norm("rms_norm"));
  set(config, "placement", placement("pre"));
  an_module_cost(cost, config, 1, 1);
  CHECK(cost[0] == 135266304 + 4096, "Llama-2-7B: %.0f", cost[0]);
  CHECK(cost[1] == 2.0 * 135266304 + 2 * 11008 + 4 * 4096 + 4096, "Llama-2-7B: %.0f operations", cost[1]);

  /* Buffers are bytes, not parameters. */
  small(config, 10, 20);
  set(config, "norm", norm("batch_norm"));
  an_module_cost(cost, config, 1, 0);
  CHECK(cost[0] == 400 + 20 + 10 + 20 && cost[1] == 0 && cost[2] == 4 * (cost[0] + 20), "batch_norm");
  CHECK(an_module_cost(NULL, config, 1, 1) == AN_NULL_POINTER, "NULL");

  /* Two sequences of 3 through attention with 2 heads: per row its matrices 4 * 16 and the FFN's 2 * 32, each score a dot
   * product of half the width, there and back; 5 operations a score; biases 4 + 8 + 4 * 4, the activation 8; two layer
   * norms of 7 and two additions an element. */
  small(config, 4, 8);
  set(config, "placement", placement("pre"));
  set(config, "mixing", 2);
  set(config, "heads", 2);
  const double products = 2 * (4 * 16 + 2 * 32) + 2 * 2 * 3 * 4, others = 5 * 2 * 3 + 28 + 8 + 2 * (7 * 4 + 4);
  an_module_cost(cost, config, 2, 3);
  CHECK(cost[0] == 4 * 16 + 2 * 32 + 28 + 2 * 8, "attention: %.0f", cost[0]);
  CHECK(cost[3] == 6 * products && cost[1] == 6 * (products + others), "attention: %.0f of %.0f", cost[3], cost[1]);
  /* The mean: two matrices less, their biases and the scores too; an addition an element. */
  set(config, "mixing", 1);
  an_module_cost(cost, config, 2, 3);
  CHECK(cost[3] == 6 * 2 * 96 && cost[1] == cost[3] + 6 * (4 + 20 + 8 + 64), "mean: %.0f of %.0f", cost[3], cost[1]);
  /* A stack of 3 such layers between matrices 5 -> 4 and 4 -> 2, with positions and a last norm. */
  set(config, "layer", 0);
  set(config, "depth", 3);
  set(config, "d_in", 5);
  set(config, "d_out", 2);
  set(config, "positions", 3);
  const double layers = cost[1];
  an_module_cost(cost, config, 2, 3);
  CHECK(cost[1] == 3 * layers + 6 * (2 * 28 + 4 + 2 + 4 + 28), "stack: %.0f", cost[1]);
  CHECK(cost[0] == 3 * (96 + 20 + 16) + 28 + 6 + 12 + 8 && cost[2] == 4 * (cost[0] + 6 * 7), "stack: %.0f", cost[0]);
}

/* ---- Sizes and errors ---- */

static void test_sizes(void) {
  double config[MAX_FIELDS];
  an_config_default(config);
  CHECK(an_module_workspace_bytes(config, 0, 0, 5) == 0, "no rows");
  size_t last = 0;
  for (size_t rows = 1; rows < 300; rows++) {
    const size_t bytes = an_module_workspace_bytes(config, 0, 1, rows);
    CHECK(bytes >= last, "workspace shrinks at %zu rows", rows);
    last = bytes;
  }
  CHECK(an_module_workspace_bytes(config, 0, 1000, 1000) == last, "bounded");
  CHECK(an_module_workspace_bytes(config, 0, SIZE_MAX, 2) == 0, "the rows overflow");
  set(config, "norm", norm("batch_norm"));
  CHECK(an_module_workspace_bytes(config, 0, 1000, 1000) == last, "bounded with running statistics");
  CHECK(last < 1 << 20, "%zu bytes for d_model 768", last);

  /* Sections at multiples of 16 bytes: 8 x 8 + 3 x 8 panels, biases 8 and 4, norm 4 and 4. */
  small(config, 3, 7);
  CHECK(an_module_packed_bytes(config) == (3 * 8 + 8 + 7 * 8 + 4 + 4 + 4) * sizeof(float), "packed bytes");
}

/* Everything of one axis comes back as it was packed; running statistics as forward has made them. */
static void test_unpack(void) {
  double config[MAX_FIELDS], bad[MAX_FIELDS];
  small(config, 5, 7);
  memcpy(bad, config, sizeof bad);
  set(bad, "d_model", 0);
  set(config, "norm", norm("batch_norm"));
  set(config, "placement", placement("layer_scale"));
  set(config, "momentum", 1);
  block b;
  block_make(&b, config);
  float value[8];
  for (size_t i = 0; i < b.count; i++) {
    size_t rows, cols;
    const size_t axes = an_module_parameter_shape(config, i, &rows, &cols);
    for (size_t j = 0; j < 8; j++) value[j] = 12345.678f;
    const an_status status = an_module_unpack(value, config, i, b.packed);
    if (axes == 2) {
      CHECK(status == AN_INVALID_SHAPE && value[0] == 12345.678f, "%s is a matrix", b.name[i]);
      continue;
    }
    CHECK(status == AN_OK && memcmp(value, b.value[i], cols * sizeof(float)) == 0, "%s", b.name[i]);
    for (size_t j = cols; j < 8; j++) CHECK(value[j] == 12345.678f, "%s: written beyond %zu", b.name[i], cols);
  }

  /* Momentum 1: the mean and the unbiased variance of the batch, which is x itself. */
  enum { ROWS = 3, D = 5 };
  float x[ROWS * D], y[ROWS * D];
  for (size_t i = 0; i < ROWS * D; i++) x[i] = (float)test_normal(&state);
  block_forward(&b, y, x, 1, 1, ROWS);
  for (size_t i = 0; i < b.count; i++) {
    const int is_mean = strcmp(b.name[i], "norm_running_mean") == 0,
              is_var = strcmp(b.name[i], "norm_running_var") == 0;
    if (an_module_unpack(value, config, i, b.packed) || !(is_mean || is_var)) continue;
    for (size_t c = 0; c < D; c++) {
      double mean = 0, square = 0;
      for (size_t r = 0; r < ROWS; r++) mean += x[r * D + c] / (double)ROWS;
      for (size_t r = 0; r < ROWS; r++) square += (x[r * D + c] - mean) * (x[r * D + c] - mean);
      const double want = is_mean ? mean : square / (ROWS - 1);
      CHECK(fabs(value[c] - want) <= 1e-6 * (1 + fabs(want)), "%s[%zu]: %g, not %g", b.name[i], c, value[c], want);
    }
  }
  CHECK(an_module_unpack(NULL, config, 1, b.packed) == AN_NULL_POINTER, "value");
  CHECK(an_module_unpack(value, config, 1, NULL) == AN_NULL_POINTER, "packed");
  CHECK(an_module_unpack(value, NULL, 1, b.packed) == AN_NULL_POINTER, "config");
  CHECK(an_module_unpack(value, bad, 1, b.packed) == AN_INVALID_VALUE, "bad config");
  CHECK(an_module_unpack(value, config, b.count, b.packed) == AN_UNKNOWN_OP, "parameter");
  block_free(&b);
}

static void test_block_errors(void) {
  double config[MAX_FIELDS], bad[MAX_FIELDS];
  small(config, 4, 8);
  memcpy(bad, config, sizeof bad);
  set(bad, "d_model", 0);
  block b;
  block_make(&b, config);
  float x[8] = {0}, y[8], *w = guarded_alloc(an_module_workspace_bytes(config, 0, 1, 2) / sizeof(float), 0);
  const size_t bytes = an_module_workspace_bytes(config, 0, 1, 2);
  CHECK(an_module_fwd(y, x, NULL, b.packed, NULL, w, bytes, NULL, 0, 1, 2) == AN_NULL_POINTER, "config");
  CHECK(an_module_fwd(y, x, NULL, b.packed, NULL, w, bytes, bad, 0, 1, 2) == AN_INVALID_VALUE, "bad config");
  CHECK(an_module_fwd(NULL, x, NULL, b.packed, NULL, w, bytes, config, 0, 1, 2) == AN_NULL_POINTER, "y");
  CHECK(an_module_fwd(y, NULL, NULL, b.packed, NULL, w, bytes, config, 0, 1, 2) == AN_NULL_POINTER, "x");
  CHECK(an_module_fwd(y, x, NULL, NULL, NULL, w, bytes, config, 0, 1, 2) == AN_NULL_POINTER, "packed");
  CHECK(an_module_fwd(y, x, NULL, b.packed, NULL, NULL, bytes, config, 0, 1, 2) == AN_NULL_POINTER, "workspace");
  CHECK(an_module_fwd(y, x, NULL, b.packed, NULL, w, bytes - 1, config, 0, 1, 2) == AN_WORKSPACE_TOO_SMALL, "workspace size");
  CHECK(an_module_fwd(y, x, NULL, b.packed, NULL, w, bytes, config, 0, SIZE_MAX, 2) == AN_SIZE_OVERFLOW, "batch * length");
  CHECK(an_module_fwd(y, x, NULL, b.packed, NULL, w, bytes, config, 0, SIZE_MAX / 8, 1) == AN_SIZE_OVERFLOW, "elements");
  CHECK(an_module_fwd(NULL, NULL, NULL, NULL, NULL, NULL, 0, config, 0, 0, 2) == AN_OK, "no rows");
  CHECK(an_module_pack(NULL, NULL, config, 0, x) == AN_NULL_POINTER, "packed");
  CHECK(an_module_pack(b.packed, NULL, config, 0, NULL) == AN_NULL_POINTER, "value");
  CHECK(an_module_pack(b.packed, NULL, config, 6, x) == AN_UNKNOWN_OP, "parameter");
  CHECK(an_module_pack(b.packed, NULL, bad, 0, x) == AN_INVALID_VALUE, "config");
  CHECK(an_module_parameter_init(x, config, 6, 0) == AN_UNKNOWN_OP, "parameter");
  CHECK(an_module_parameter_init(NULL, config, 0, 0) == AN_NULL_POINTER, "value");
  CHECK(an_module_parameter_count(bad) == 0 && an_module_packed_bytes(bad) == 0, "bad config");
  CHECK(an_module_workspace_bytes(bad, 0, 1, 1) == 0 && an_module_parameter_name(bad, 0) == NULL, "bad config");
  CHECK(an_module_parameter_count(NULL) == 0, "NULL config");
  guarded_free(w, bytes / sizeof(float), 0, "workspace");
  block_free(&b);
}

static void check_config(const char *name, double value, an_status want) {
  double config[MAX_FIELDS];
  uint32_t at = 999;
  an_config_default(config);
  set(config, name, value);
  const an_status status = an_config_check(config, &at);
  CHECK(status == want, "%s = %g: %s", name, value, an_status_name(status));
  CHECK(at == (want ? field(name) : 999), "%s = %g: at field %u", name, value, at);
  CHECK(an_config_check(config, NULL) == want, "field may be NULL");
}

static void test_config(void) {
  double config[MAX_FIELDS], used[MAX_FIELDS];
  CHECK(an_field_count() <= MAX_FIELDS, "%zu fields", an_field_count());
  CHECK(an_config_default(config) == AN_OK && an_config_check(config, NULL) == AN_OK, "defaults");
  for (size_t f = 0; f < an_field_count(); f++) {
    const double value = an_field_default(f), min = an_field_min(f), max = an_field_max(f);
    const char *name = an_field_name(f), *type = an_field_type(f);
    CHECK(isnan(value) || (value >= min && value <= max), "%s: default %g", name, value);
    CHECK(*name && *type && *an_field_group(f) && *an_field_help(f), "%s", name);
    CHECK(min < max, "%s: %g .. %g", name, min, max);
    const int is_list = strcmp(type, "float") != 0 && strcmp(type, "int") != 0 && strcmp(type, "bool") != 0;
    const an_status beyond = is_list ? AN_UNKNOWN_OP : AN_INVALID_VALUE;
    check_config(name, max + 1, beyond);
    check_config(name, min - 1, beyond);
    check_config(name, INFINITY, beyond);
    check_config(name, -INFINITY, beyond);
    if (!isnan(value)) check_config(name, NAN, AN_INVALID_VALUE);
    if (strcmp(type, "float") != 0) check_config(name, min + 0.5, AN_INVALID_VALUE);
  }
  CHECK(an_field_name(an_field_count()) == NULL && an_field_type(an_field_count()) == NULL, "beyond the list");
  CHECK(an_affine_name(3) == NULL && an_init_name(8) == NULL, "beyond the list");
  CHECK(an_placement_name(an_placement_count()) == NULL, "beyond the list");
  for (size_t p = 0; p < an_placement_count(); p++)
    CHECK(*an_placement_formula(p) && *an_placement_help(p), "%s", an_placement_name(p));

  /* AUTO */
  set(config, "d_model", 64);
  an_config_resolve(used, config);
  CHECK(get(used, "d_ff") == 256, "4 d_model");
  CHECK(get(used, "alpha") == 1 && get(used, "beta") == 1, "no scale in pre");
  for (size_t k = 0; k < an_norm_count(); k++) {
    set(config, "norm", (double)k);
    an_config_resolve(used, config);
    CHECK(get(used, "eps") == an_norm_default_eps(k), "eps of %s", an_norm_name(k));
    CHECK(get(used, "affine") == (double)an_norm_default_affine(k), "affine of %s", an_norm_name(k));
  }
  for (size_t a = 0; a < an_activation_count(); a++) {
    set(config, "activation", (double)a);
    CHECK(an_config_resolve(used, config) == AN_OK, "%s", an_activation_name(a));
    CHECK(get(used, "activation_p0") == an_activation_param_default(a, 0), "p0 of %s", an_activation_name(a));
    CHECK(get(used, "activation_p1") == an_activation_param_default(a, 1), "p1 of %s", an_activation_name(a));
  }
  /* A given beta scales the weights in any placement, as its help says. */
  float plain[12], scaled[12];
  double with_beta[MAX_FIELDS];
  small(with_beta, 3, 4);
  an_module_parameter_init(plain, with_beta, 0, 7);
  set(with_beta, "beta", -4);
  an_module_parameter_init(scaled, with_beta, 0, 7);
  for (size_t i = 0; i < 12; i++) CHECK(scaled[i] == -4 * plain[i] && plain[i] != 0, "beta in pre, at %zu", i);
  /* DeepNorm for a stack of single FFN blocks: alpha = S^(1/4), beta = (4 S)^(-1/4). */
  set(config, "placement", placement("deepnorm"));
  for (int depth = 1; depth <= 1024; depth = depth * 3 / 2 + 1) {
    set(config, "depth", depth);
    an_config_resolve(used, config);
    CHECK(fabs(get(used, "alpha") / pow(depth, 0.25) - 1) < 1e-15, "alpha at depth %d", depth);
    CHECK(fabs(get(used, "beta") * pow(4.0 * depth, 0.25) - 1) < 1e-15, "beta at depth %d", depth);
  }
  set(config, "alpha", 3);
  an_config_resolve(config, config);
  CHECK(get(config, "alpha") == 3, "a given value stays; out may be config");
  CHECK(an_config_default(NULL) == AN_NULL_POINTER && an_config_check(NULL, NULL) == AN_NULL_POINTER, "NULL");
  CHECK(an_config_resolve(NULL, config) == AN_NULL_POINTER && an_config_resolve(used, NULL) == AN_NULL_POINTER, "NULL");

  /* Fields that do not fit each other. */
  uint32_t at;
  small(config, 10, 20);
  set(config, "groups", 3);
  CHECK(an_config_check(config, &at) == AN_OK, "groups are group_norm's alone");
  set(config, "norm", norm("group_norm"));
  CHECK(an_config_check(config, &at) == AN_INVALID_SHAPE && at == field("groups"), "3 groups of 10 channels");
  set(config, "groups", 5);
  CHECK(an_config_check(config, &at) == AN_OK, "5 groups of 10 channels");
  set(config, "activation", activation("softcap"));
  set(config, "activation_p0", -1);
  CHECK(an_config_check(config, &at) == AN_INVALID_VALUE && at == field("activation_p0"), "softcap(-1)");
}

int main(void) {
  test_config();
  test_parameter_lists();
  test_initial_values();
  test_cost();
  test_sizes();
  test_unpack();
  test_block_errors();
  test_placements();
  test_shapes();
  test_running_statistics();
  test_nan_row();
  printf("block: largest error %.2g of the largest output\n", worst);
  return test_report("block");
}
