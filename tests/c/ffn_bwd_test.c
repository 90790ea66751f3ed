/* The FFN in training: forward bit for bit as in inference, gradients against formulas in double precision, those in
 * turn against differences of a forward in double precision. */
#include "../../src/activation.h"
#include "../../src/ffn.h"
#include "../../src/matmul.h"
#include "reference.h"
#include "test.h"

#if defined(AN_TEST_QUICK)
enum { QUICK = 1 };
#else
enum { QUICK = 0 };
#endif

static uint64_t state = 22;

enum { GATE, GATE_BIAS, UP, UP_BIAS, DOWN, DOWN_BIAS, PARAMETERS, X = PARAMETERS, TENSORS };
static const char *const names[TENSORS] = {"gate", "gate_bias", "up", "up_bias", "down", "down_bias", "x"};

/* A network with its input and the gradient of a loss by its output, in float and the same values in double. */
typedef struct network {
  ffn f;
  size_t rows, size[TENSORS];
  int gated, bias;
  float *value[TENSORS], *packed[PARAMETERS], *packed_bwd[PARAMETERS], *dy, *saved;
  double *exact[TENSORS], *gradient[TENSORS]; /* gradient: by the formulas */
  double *keep;                               /* 1 / (1 - p) where a hidden unit is kept, else 0 */
  const reference *activation;
} network;

static int has(const network *n, int tensor) {
  if (tensor == X) return 1;
  return (n->gated || tensor > GATE_BIAS) && (n->bias || tensor % 2 == 0);
}

/* The widths of a matrix: (out, in). */
static size_t out_of(const network *n, int matrix) { return matrix == DOWN ? n->f.d_model : n->f.d_ff; }
static size_t in_of(const network *n, int matrix) { return matrix == DOWN ? n->f.d_ff : n->f.d_model; }

static double *zeros(size_t n) {
  double *x = calloc(n + 1, sizeof *x);
  if (!x) abort();
  return x;
}

/* The sum that goes into the activation, or with `tensor` UP what it is multiplied by. */
static double before(const network *n, int matrix, size_t row, size_t j) {
  const size_t d = n->f.d_model;
  double z = n->bias ? n->exact[matrix + 1][j] : 0;
  for (size_t k = 0; k < d; k++) z += n->exact[matrix][j * d + k] * n->exact[X][row * d + k];
  return z;
}

static double slope(const network *n, double z) { return n->activation->slope(z, n->f.p0, n->f.p1); }
static double value(const network *n, double z) { return n->activation->value(z, n->f.p0, n->f.p1); }

/* Near a kink the derivative jumps, and a difference quotient is neither side's. */
static int near_kink(const network *n, double z) { return fabs(slope(n, z - 3e-3) - slope(n, z + 3e-3)) > 0.1; }

static network network_of(size_t rows, size_t d_model, size_t d_ff, size_t activation, int gated, int bias, double p) {
  network n = {.rows = rows, .gated = gated, .bias = bias};
  n.f = (ffn){.d_model = d_model, .d_ff = d_ff, .activation = activation, .dropout = p, .seed = 3, .stream = 5};
  n.f.p0 = an_activation_param_default(activation, 0), n.f.p1 = an_activation_param_default(activation, 1);
  n.activation = reference_find(an_activation_name(activation));
  CHECK(n.activation != NULL, "no reference of %s", an_activation_name(activation));
  const size_t sizes[TENSORS] = {d_ff * d_model, d_ff, d_ff * d_model, d_ff, d_ff * d_model, d_model, rows * d_model};
  for (int i = 0; i < TENSORS; i++) {
    n.size[i] = sizes[i];
    n.exact[i] = zeros(sizes[i]), n.gradient[i] = zeros(sizes[i]);
    if (!has(&n, i)) continue;
    n.value[i] = guarded_alloc(sizes[i], (size_t)i % 4);
    const double scale = i == X || i % 2 ? 1 : 1 / sqrt((double)in_of(&n, i));
    for (size_t j = 0; j < sizes[i]; j++) n.value[i][j] = (float)(scale * test_normal(&state));
    for (size_t j = 0; j < sizes[i]; j++) n.exact[i][j] = n.value[i][j];
    if (i % 2 || i == X) continue;
    const size_t out = out_of(&n, i), in = in_of(&n, i);
    n.packed[i] = guarded_alloc(matmul_packed_size(in, out), 0);
    n.packed_bwd[i] = guarded_alloc(matmul_packed_size(out, in), 0);
    matmul_pack(n.packed[i], n.value[i], 1, in, in, out);
    matmul_pack(n.packed_bwd[i], n.value[i], in, 1, out, in);
  }
  n.f.gate = n.packed[GATE], n.f.up = n.packed[UP], n.f.down = n.packed[DOWN];
  n.f.gate_bwd = n.packed_bwd[GATE], n.f.up_bwd = n.packed_bwd[UP], n.f.down_bwd = n.packed_bwd[DOWN];
  n.f.gate_bias = n.value[GATE_BIAS], n.f.up_bias = n.value[UP_BIAS], n.f.down_bias = n.value[DOWN_BIAS];

  /* Rows whose hidden units keep away from kinks. */
  for (size_t m = 0; m < rows; m++)
    for (size_t j = 0; j < d_ff; j++) {
      if (!near_kink(&n, before(&n, gated ? GATE : UP, m, j))) continue;
      for (size_t k = 0; k < d_model; k++)
        n.exact[X][m * d_model + k] = n.value[X][m * d_model + k] = (float)test_normal(&state);
      j = SIZE_MAX;
    }

  n.dy = guarded_alloc(rows * d_model, 1);
  for (size_t i = 0; i < rows * d_model; i++) n.dy[i] = (float)test_normal(&state);
  n.saved = guarded_alloc(ffn_saved_size(d_ff, gated, rows), 3);

  float *ones = malloc((rows * d_ff + 1) * sizeof(float));
  for (size_t i = 0; i < rows * d_ff; i++) ones[i] = 1;
  CHECK(an_dropout(ones, ones, p, n.f.seed, n.f.stream, rows * d_ff) == AN_OK, "dropout");
  n.keep = zeros(rows * d_ff);
  for (size_t i = 0; i < rows * d_ff; i++) n.keep[i] = ones[i] != 0 ? 1 / (1 - p) : 0;
  free(ones);
  return n;
}

static void network_free(network *n) {
  for (int i = 0; i < TENSORS; i++) {
    free(n->exact[i]), free(n->gradient[i]);
    if (!has(n, i)) continue;
    guarded_free(n->value[i], n->size[i], (size_t)i % 4, names[i]);
    if (i % 2 || i == X) continue;
    guarded_free(n->packed[i], matmul_packed_size(in_of(n, i), out_of(n, i)), 0, "packed");
    guarded_free(n->packed_bwd[i], matmul_packed_size(out_of(n, i), in_of(n, i)), 0, "packed_bwd");
  }
  guarded_free(n->dy, n->rows * n->f.d_model, 1, "dy");
  guarded_free(n->saved, ffn_saved_size(n->f.d_ff, n->gated, n->rows), 3, "saved");
  free(n->keep);
}

/* ---- In double precision ---- */

/* The loss sum(dy * y), and with `y` the output. */
static double forward(const network *n, double *y) {
  const size_t d = n->f.d_model, d_ff = n->f.d_ff;
  double *hidden = zeros(d_ff), loss = 0;
  for (size_t m = 0; m < n->rows; m++) {
    for (size_t j = 0; j < d_ff; j++) {
      hidden[j] = value(n, before(n, n->gated ? GATE : UP, m, j)) * n->keep[m * d_ff + j];
      if (n->gated) hidden[j] *= before(n, UP, m, j);
    }
    for (size_t i = 0; i < d; i++) {
      double sum = n->bias ? n->exact[DOWN_BIAS][i] : 0;
      for (size_t j = 0; j < d_ff; j++) sum += n->exact[DOWN][i * d_ff + j] * hidden[j];
      if (y) y[m * d + i] = sum;
      loss += n->dy[m * d + i] * sum;
    }
  }
  free(hidden);
  return loss;
}

/* The gradients of a matrix, its bias and x from that of its output's element j in one row. */
static void add_gradients(const network *n, int matrix, size_t row, size_t j, double dz) {
  const size_t d = n->f.d_model;
  n->gradient[matrix + 1][j] += dz;
  for (size_t k = 0; k < d; k++) {
    n->gradient[matrix][j * d + k] += dz * n->exact[X][row * d + k];
    n->gradient[X][row * d + k] += dz * n->exact[matrix][j * d + k];
  }
}

static void backward(const network *n) {
  const size_t d = n->f.d_model, d_ff = n->f.d_ff;
  for (int i = 0; i < TENSORS; i++) memset(n->gradient[i], 0, n->size[i] * sizeof(double));
  for (size_t m = 0; m < n->rows; m++) {
    for (size_t i = 0; i < d; i++) n->gradient[DOWN_BIAS][i] += n->dy[m * d + i];
    for (size_t j = 0; j < d_ff; j++) {
      const double z = before(n, n->gated ? GATE : UP, m, j), up = n->gated ? before(n, UP, m, j) : 1;
      double dhidden = 0;
      for (size_t i = 0; i < d; i++) {
        dhidden += n->dy[m * d + i] * n->exact[DOWN][i * d_ff + j];
        n->gradient[DOWN][i * d_ff + j] += n->dy[m * d + i] * value(n, z) * up * n->keep[m * d_ff + j];
      }
      dhidden *= n->keep[m * d_ff + j];
      add_gradients(n, n->gated ? GATE : UP, m, j, dhidden * up * slope(n, z));
      if (n->gated) add_gradients(n, UP, m, j, dhidden * value(n, z));
    }
  }
}

static double largest(const double *x, size_t n) {
  double most = 0;
  for (size_t i = 0; i < n; i++) most = fmax(most, fabs(x[i]));
  return most;
}

/* The formulas against central differences, a few elements of each tensor. */
static void check_formulas(network *n) {
  const double h = 1e-4;
  for (int i = 0; i < TENSORS; i++)
    for (size_t at = 0; at < n->size[i] && has(n, i); at += n->size[i] / 7 + 1) {
      double *const x = &n->exact[i][at], was = *x;
      *x = was + h;
      const double above = forward(n, NULL);
      *x = was - h;
      const double below = forward(n, NULL);
      *x = was;
      const double error = fabs((above - below) / (2 * h) - n->gradient[i][at]);
      CHECK(error <= 1e-5 * (1 + largest(n->gradient[i], n->size[i])),
            "%s, gated %d: d%s[%zu] of the formula is off by %g", n->activation->name, n->gated, names[i], at, error);
    }
}

/* ---- The kernels ---- */

static double worst[TENSORS], worst_y; /* of the largest element */

static void check_forward(const network *n) {
  const size_t size = n->rows * n->f.d_model;
  float *y = guarded_alloc(size, 2), *inferred = guarded_alloc(size, 0);
  const size_t workspace_size = ffn_workspace_size(n->f.d_ff, n->gated, n->rows);
  float *workspace = guarded_alloc(workspace_size, 1);
  ffn_fwd_training(y, n->value[X], n->saved, &n->f, n->rows);
  ffn_fwd(inferred, n->value[X], workspace, &n->f, n->rows);
  if (n->f.dropout == 0)
    CHECK(memcmp(y, inferred, size * sizeof(float)) == 0, "%s, gated %d, %zu rows: y is not that of inference",
          n->activation->name, n->gated, n->rows);
  double *exact = zeros(size), error = 0;
  forward(n, exact);
  for (size_t i = 0; i < size; i++) error = worse(error, fabs(y[i] - exact[i]));
  error /= largest(exact, size);
  CHECK(error <= 1e-6, "%s, gated %d, %zu rows: y is off by %g", n->activation->name, n->gated, n->rows, error);
  worst_y = fmax(worst_y, error);

  const ffn_saved s = ffn_saved_parts(n->saved, n->f.d_ff, n->gated, n->rows);
  CHECK((s.up != NULL) == n->gated, "up is there with a gate");
  error = 0;
  for (size_t i = 0; i < n->rows * n->f.d_ff; i++) {
    const double z = before(n, n->gated ? GATE : UP, i / n->f.d_ff, i % n->f.d_ff);
    error = worse(error, fabs(s.activation_input[i] - z) / (1 + fabs(z)));
    CHECK((s.hidden[i] == 0) || n->keep[i] != 0, "hidden unit %zu is not dropped", i);
  }
  CHECK(error <= 2e-6, "what is kept is off by %g", error);
  free(exact);
  guarded_free(y, size, 2, "y");
  guarded_free(inferred, size, 0, "y");
  guarded_free(workspace, workspace_size, 1, "workspace");
}

static float *copy_of(const float *x, size_t n, size_t shift) {
  float *y = guarded_alloc(n, shift);
  memcpy(y, x, n * sizeof(float));
  return y;
}

/* Twice, the second call adding to what the first one gave; in place of dy and apart from it. */
static void check_backward(const network *n, double bound) {
  const size_t workspace_size = ffn_bwd_workspace_size(n->f.d_model, n->f.d_ff, n->gated, n->rows);
  float *got[TENSORS] = {NULL}, *workspace = guarded_alloc(workspace_size, 3);
  for (int i = 0; i < TENSORS; i++)
    if (has(n, i)) got[i] = guarded_alloc(n->size[i], 2), memset(got[i], 0, n->size[i] * sizeof(float));
  const ffn_gradients g = {got[GATE], got[GATE_BIAS], got[UP], got[UP_BIAS], got[DOWN], got[DOWN_BIAS]};
  float *first[TENSORS] = {NULL}, *in_place = copy_of(n->dy, n->size[X], 1);
  for (int call = 1; call <= 2; call++) {
    float *const dx = call == 1 ? got[X] : in_place;
    ffn_bwd(dx, &g, n->value[X], call == 1 ? n->dy : in_place, n->saved, workspace, &n->f, n->rows);
    for (int i = 0; i < TENSORS; i++) {
      if (!has(n, i)) continue;
      const float *const gradient = i == X ? dx : got[i];
      const double times = i == X ? 1 : call;
      double error = 0;
      for (size_t j = 0; j < n->size[i]; j++) error = worse(error, fabs(gradient[j] - times * n->gradient[i][j]));
      error /= times * largest(n->gradient[i], n->size[i]);
      CHECK(error <= bound, "%s, gated %d, %zu x %zu x %zu, call %d: d%s is off by %g", n->activation->name, n->gated,
            n->rows, n->f.d_model, n->f.d_ff, call, names[i], error);
      worst[i] = fmax(worst[i], error);
    }
  }
  CHECK(memcmp(got[X], in_place, n->size[X] * sizeof(float)) == 0, "dx in place of dy");

  /* Rows in several calls, split at multiples of 256: the same bits. */
  for (int i = 0; i < PARAMETERS; i++)
    if (has(n, i)) first[i] = copy_of(got[i], n->size[i], 0), memset(got[i], 0, n->size[i] * sizeof(float));
  if (n->rows > MATMUL_SUM && n->f.dropout == 0) {
    for (int call = 1; call <= 2; call++)
      for (size_t m = 0, r; m < n->rows; m += r) {
        r = at_most(n->rows - m, MATMUL_SUM);
        float *const part = guarded_alloc(ffn_saved_size(n->f.d_ff, n->gated, r), 0);
        float *const y = guarded_alloc(r * n->f.d_model, 0);
        ffn_fwd_training(y, n->value[X] + m * n->f.d_model, part, &n->f, r);
        ffn_bwd(y, &g, n->value[X] + m * n->f.d_model, n->dy + m * n->f.d_model, part, workspace, &n->f, r);
        CHECK(memcmp(y, in_place + m * n->f.d_model, r * n->f.d_model * sizeof(float)) == 0, "dx from row %zu", m);
        guarded_free(part, ffn_saved_size(n->f.d_ff, n->gated, r), 0, "saved");
        guarded_free(y, r * n->f.d_model, 0, "y");
      }
    for (int i = GATE; i <= DOWN; i += 2)
      CHECK(!has(n, i) || memcmp(first[i], got[i], n->size[i] * sizeof(float)) == 0, "d%s in parts", names[i]);
  }
  for (int i = 0; i < TENSORS; i++) {
    if (!has(n, i)) continue;
    guarded_free(got[i], n->size[i], 2, "gradient");
    if (i < PARAMETERS) guarded_free(first[i], n->size[i], 0, "gradient");
  }
  guarded_free(in_place, n->size[X], 1, "dx");
  guarded_free(workspace, workspace_size, 3, "workspace");
}

static void test(size_t rows, size_t d_model, size_t d_ff, size_t activation, int gated, int bias, double dropout) {
  network n = network_of(rows, d_model, d_ff, activation, gated, bias, dropout);
  backward(&n);
  if (rows < 10) check_formulas(&n);
  check_forward(&n);
  check_backward(&n, 2e-6);
  network_free(&n);
}

static void test_no_rows(void) {
  network n = network_of(1, 3, 4, AN_ACT_silu, 1, 1, 0);
  float dw[12] = {0}, db[4] = {0};
  const ffn_gradients g = {dw, db, dw, db, dw, db};
  CHECK(ffn_saved_size(4, 1, 0) == 0 && ffn_bwd_workspace_size(3, 4, 1, 0) == 0, "no rows need nothing");
  ffn_fwd_training(NULL, NULL, NULL, &n.f, 0);
  ffn_bwd(NULL, &g, NULL, NULL, NULL, NULL, &n.f, 0);
  for (int i = 0; i < 12; i++) CHECK(dw[i] == 0, "no rows, no gradient");
  CHECK(ffn_saved_size(SIZE_MAX / 4, 1, 3) == SIZE_TOO_LARGE, "overflow");
  CHECK(ffn_bwd_workspace_size(768, 3072, 1, 1 << 30) == ffn_bwd_workspace_size(768, 3072, 1, 256), "256 rows at most");
  network_free(&n);
}

int main(void) {
  for (size_t a = 0; a < an_activation_count(); a++)
    for (int gated = 0; gated < 2; gated++) {
      test(4, 5, 7, a, gated, gated == (int)(a % 2), 0);
      if (!QUICK) test(61, 9, 26, a, gated, gated != (int)(a % 2), a % 3 ? 0 : 0.3);
    }
  static const size_t rows[] = {1, 2, 5, 119, 120, 121, 255, 256, 257, 600};
  for (size_t i = 0; i < sizeof rows / sizeof *rows && (!QUICK || rows[i] < 100); i++)
    for (int gated = 0; gated < 2; gated++) {
      test(rows[i], 5, 7, gated ? AN_ACT_silu : AN_ACT_gelu_erf, gated, 1, 0);
      test(rows[i], 6, 13, gated ? AN_ACT_silu : AN_ACT_gelu_tanh, gated, gated, i % 2 ? 0.1 : 0.5);
    }
  if (!QUICK) {
    test(257, 33, 300, AN_ACT_silu, 1, 1, 0.1);
    test(130, 300, 33, AN_ACT_gelu_erf, 0, 1, 0);
    test(5, 1, 1, AN_ACT_mish, 1, 1, 0);
  }
  test_no_rows();
  printf("worst errors, of the largest element: y %.2e", worst_y);
  for (int i = 0; i < TENSORS; i++) printf(", d%s %.2e", names[i], worst[i]);
  printf("\n");
  return test_report("ffn_bwd");
}
