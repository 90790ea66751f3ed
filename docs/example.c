/* addnorm from C: one block forward and backward and one step of AdamW, each compared with plain double precision. From
 * the folder that has include/ and src/, the checkout or the unpacked npm package:
 *
 *   gcc -O2 -ffp-contract=off -Iinclude docs/example.c src/[!h]*.c -lm -o example && ./example
 *   emcc -O2 -ffp-contract=off -msimd128 -sSTACK_SIZE=256KB -Iinclude docs/example.c src/[!h]*.c -o example.cjs
 *   node example.cjs
 *
 * clang takes gcc's flags. Natively SIMDe's headers are needed (Debian: libsimde-dev), or -DAN_SCALAR and none. heap.c,
 * which the pattern leaves out, is the npm package's malloc; a program has one of its own. The library needs no -lm,
 * but more stack than Emscripten gives by default.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "addnorm.h"

enum { ROWS = 3, D = 8, H = 12, MAX_FIELDS = 64, MAX_VALUES = 512 }; /* D: d_model, H: d_ff */
enum { GATE, UP, DOWN, NORM_WEIGHT, PARAMETERS }; /* what a gated block without biases has, in order */

static void must(int ok, const char *what) {
  if (!ok) printf("failed: %s\n", what), exit(1);
}
#define CALL(call) must((call) == AN_OK, #call)
static void *room(size_t bytes) {
  void *p = calloc(1, bytes);
  must(p != NULL, "calloc");
  return p;
}

/* Lists are read by name: their order is the module's. */
static size_t find(const char *name, size_t count, const char *(*name_of)(size_t)) {
  size_t i = 0;
  while (i < count && strcmp(name_of(i), name) != 0) i++;
  must(i < count, name);
  return i;
}
static void set(double *config, const char *field, double value) {
  config[find(field, an_field_count(), an_field_name)] = value;
}

/* The same block in double: y = x + down(silu(gate n) * up n), n = x / rms(x) * norm_weight. Returns sum(dy y), whose
 * derivatives are what backward gives. v: values, at: where each parameter begins in it. */
static double reference(double *y, const double *x, const double *v, const size_t *at, const float *dy) {
  double sum = 0;
  for (int r = 0; r < ROWS; r++, x += D, y += D, dy += D) {
    double n[D], h[H], squares = 0;
    for (int i = 0; i < D; i++) squares += x[i] * x[i];
    for (int i = 0; i < D; i++) n[i] = x[i] / sqrt(squares / D + 1e-6) * v[at[NORM_WEIGHT] + i];
    for (int j = 0; j < H; j++) {
      double gate = 0, up = 0;
      for (int i = 0; i < D; i++) gate += v[at[GATE] + j * D + i] * n[i], up += v[at[UP] + j * D + i] * n[i];
      h[j] = gate / (1 + exp(-gate)) * up;
    }
    for (int i = 0; i < D; i++) {
      y[i] = x[i];
      for (int j = 0; j < H; j++) y[i] += v[at[DOWN] + i * H + j] * h[j];
      sum += dy[i] * y[i];
    }
  }
  return sum;
}
/* d reference / d *variable, by the difference of two values beside it. */
static double slope(double *variable, const double *x, const double *v, const size_t *at, const float *dy) {
  double y[ROWS * D];
  const double here = *variable, step = 1e-6;
  *variable = here + step;
  const double above = reference(y, x, v, at, dy);
  *variable = here - step;
  const double below = reference(y, x, v, at, dy);
  *variable = here;
  return (above - below) / (2 * step);
}

int main(void) {
  double config[MAX_FIELDS];
  must(an_field_count() <= MAX_FIELDS, "MAX_FIELDS");
  CALL(an_config_default(config)); /* placement pre: x + F(N(x)) */
  set(config, "d_model", D), set(config, "d_ff", H), set(config, "gated", 1), set(config, "bias", 0);
  set(config, "activation", (double)find("silu", an_activation_count(), an_activation_name));
  set(config, "norm", (double)find("rms_norm", an_norm_count(), an_norm_name));

  /* Initial values of every parameter, then what the kernels read. */
  must(an_module_parameter_count(config) == PARAMETERS, "the block's parameters");
  const size_t bytes = an_module_values_bytes(config), count = bytes / sizeof(float);
  must(count <= MAX_VALUES, "MAX_VALUES");
  float *values = (float *)room(bytes), *gradients = (float *)room(bytes);
  float *packed = (float *)room(an_module_packed_bytes(config)),
        *packed_bwd = (float *)room(an_module_packed_bwd_bytes(config));
  size_t at[PARAMETERS];
  for (size_t p = 0; p < PARAMETERS; p++) {
    at[p] = an_module_parameter_offset(config, p);
    CALL(an_module_parameter_init(values + at[p], config, p, 1));
    CALL(an_module_pack(packed, packed_bwd, config, p, values + at[p]));
  }

  /* Forward, keeping what backward needs, and backward. One sequence of ROWS tokens. */
  float x[ROWS * D], y[ROWS * D], dx[ROWS * D], dy[ROWS * D];
  CALL(an_random(x, ROWS * D, AN_RANDOM_NORMAL, 0, 1, 7, 0));
  CALL(an_random(dy, ROWS * D, AN_RANDOM_NORMAL, 0, 1, 7, 1)); /* a loss's gradient by y: here of sum(dy y) */
  const size_t fwd = an_module_workspace_bytes(config, 1, 1, ROWS), bwd = an_module_workspace_bytes(config, 2, 1, ROWS);
  const size_t workspace_bytes = fwd > bwd ? fwd : bwd;
  void *saved = room(an_module_saved_bytes(config, 1, ROWS)), *workspace = room(workspace_bytes);
  CALL(an_module_fwd(y, x, NULL, packed, saved, workspace, workspace_bytes, config, 0, 1, ROWS));
  CALL(an_module_bwd(dx, gradients, dy, NULL, packed, packed_bwd, saved, workspace, workspace_bytes, config, 0, 1, ROWS,
                     NULL));

  double exact_x[ROWS * D], exact_y[ROWS * D], exact[MAX_VALUES], worst_y = 0, worst_gradient = 0, worst_step = 0;
  for (int i = 0; i < ROWS * D; i++) exact_x[i] = x[i];
  for (size_t i = 0; i < count; i++) exact[i] = values[i];
  const double before = reference(exact_y, exact_x, exact, at, dy);
  for (int i = 0; i < ROWS * D; i++) {
    worst_y = fmax(worst_y, fabs(y[i] - exact_y[i]));
    worst_gradient = fmax(worst_gradient, fabs(dx[i] - slope(exact_x + i, exact_x, exact, at, dy)));
  }
  for (size_t i = 0; i < count; i++)
    worst_gradient = fmax(worst_gradient, fabs(gradients[i] - slope(exact + i, exact_x, exact, at, dy)));

  /* AdamW, step 1: both corrected moments are the gradient's own, so it takes rate * sign(g), and the decay. */
  const double rate = 0.01, decay = 0.1, eps = 1e-8;
  float *m = (float *)room(bytes), *v = (float *)room(bytes);
  CALL(an_adam_step(values, m, v, gradients, 1, rate, 0.9, 0.999, eps, decay, AN_ADAM_DECOUPLED, 1, count));
  for (size_t i = 0; i < count; i++) {
    const double g = gradients[i], expected = exact[i] * (1 - rate * decay) - rate * g / (fabs(g) + eps);
    worst_step = fmax(worst_step, fabs(values[i] - expected));
    exact[i] = values[i];
  }
  const double after = reference(exact_y, exact_x, exact, at, dy);

  printf("%s, y[0] = %.6f, sum(dy y) %.4f, after a step %.4f\n", an_build(), y[0], before, after);
  printf("largest error: y %.1e, gradients %.1e, step %.1e\n", worst_y, worst_gradient, worst_step);
  must(worst_y < 1e-6 && worst_gradient < 1e-5 && worst_step < 1e-7 && after < before, "the comparison");
  free(values), free(gradients), free(packed), free(packed_bwd), free(saved), free(workspace), free(m), free(v);
  return 0;
}
