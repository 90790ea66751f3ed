/* The norms' gradients against their formulas, and those against central differences of the forward formulas, all in
 * long double: over sizes, weights, masks, upstream gradients from 1e-42 to 3e38 and the rows of norm_data.h. */
#include "norm_data.h"

/* Bounds in units of 2^-24: of factor * max|g| * max(1, max|n|) for dx, of dyt of |dx| * max(1, |alpha x|); of the sum
 * of |dy| * max(1, |n|), or |dy|, for dweight and dbias, plus one for each 32 rows; of the sum of |terms| for dalpha.
 */
static const double BOUND = 10, PARAMETER_BOUND = 10;
static double worst, worst_weight, worst_bias, worst_alpha; /* what came nearest */

/* ---- References ---- */

typedef long double real;

/* Elements that are normalised together. w: weight with its offset. */
typedef struct set {
  size_t n;
  real *x, *dy, *w;        /* given */
  real *z, *dx;            /* the normalised elements and the gradient */
  real mean, factor, unit; /* unit: of dx's error, relative */
} set;

static set set_alloc(size_t n) {
  real *all = malloc((5 * n + 1) * sizeof *all);
  return (set){n, all, all + n, all + 2 * n, all + 3 * n, all + 4 * n, 0, 0, 0};
}

static void set_statistics(set *s, const char *name, double eps) {
  const int centred = strncmp(name, "rms", 3) != 0;
  real sum = 0, squares = 0, divisor;
  for (size_t i = 0; i < s->n; i++) sum += s->x[i] - s->x[0];
  s->mean = centred ? s->x[0] + sum / s->n : 0;
  for (size_t i = 0; i < s->n; i++) squares += (s->x[i] - s->mean) * (s->x[i] - s->mean);
  if (strcmp(name, "layer_norm_std") == 0)
    divisor = (s->n > 1 ? sqrtl(squares / (s->n - 1)) : 0) + (real)eps;
  else if (strcmp(name, "rms_norm_outside") == 0)
    divisor = sqrtl(squares / s->n) + (real)eps;
  else
    divisor = sqrtl(squares / s->n + (real)eps);
  s->factor = divisor == 0 ? 0 : 1 / divisor;
}

/* L = sum dy (w z + bias), without the bias, which has no part in dx. */
static real set_loss(set *s, const char *name, double eps) {
  set_statistics(s, name, eps);
  real loss = 0;
  for (size_t i = 0; i < s->n; i++) loss += s->dy[i] * s->w[i] * (s->x[i] - s->mean) * s->factor;
  return loss;
}

static void set_unit(set *s) {
  real largest_g = 0, largest_z = 1;
  for (size_t i = 0; i < s->n; i++) {
    s->z[i] = (s->x[i] - s->mean) * s->factor;
    largest_g = fmaxl(largest_g, fabsl(s->dy[i] * s->w[i]));
    largest_z = fmaxl(largest_z, fabsl(s->z[i]));
  }
  s->unit = s->factor * largest_g * largest_z;
}

/* dL/dx_i = sum_j dL/dz_j dz_j/dx_i, z_j = (x_j - mean) / D: dz_j/dx_i = (i == j) / D - (1 / n) / D where there is a
 * mean - (x_j - mean) / D^2 dD/dx_i; dD/dx_i by the norm's definition. */
static void set_gradient(set *s, const char *name, double eps) {
  const int centred = strncmp(name, "rms", 3) != 0;
  set_statistics(s, name, eps);
  set_unit(s);
  real sum = 0, along = 0, squares = 0;
  for (size_t i = 0; i < s->n; i++) {
    const real g = s->dy[i] * s->w[i], c = s->x[i] - s->mean;
    sum += g, along += g * c, squares += c * c;
  }
  for (size_t i = 0; i < s->n; i++) {
    const real c = s->x[i] - s->mean;
    real slope = 0; /* dD/dx_i */
    if (squares == 0)
      slope = 0;
    else if (strcmp(name, "layer_norm_std") == 0)
      slope = c / ((s->n - 1) * sqrtl(squares / (s->n - 1)));
    else if (strcmp(name, "rms_norm_outside") == 0)
      slope = c / (s->n * sqrtl(squares / s->n));
    else
      slope = c / (s->n * sqrtl(squares / s->n + (real)eps));
    s->dx[i] = s->factor * (s->dy[i] * s->w[i] - (centred ? sum / s->n : 0) - along * s->factor * slope);
  }
}

/* Statistics that do not depend on x. */
static void set_given(set *s, real mean, real factor) {
  s->mean = mean, s->factor = factor;
  set_unit(s);
  s->unit = 0;
  for (size_t i = 0; i < s->n; i++) s->dx[i] = factor * s->dy[i] * s->w[i], s->unit = fmaxl(s->unit, fabsl(s->dx[i]));
}

static int overflows(real want) { return fabsl(want) > 0x1.fffffep127L; }

/* A value within the bound may be beyond float: then it is infinity. */
static void check_dx(float got, real want, real unit, const char *what, size_t at) {
  const real bound = (real)BOUND * 0x1p-24L * unit + 0x1p-149L;
  if (isinf(got)) {
    CHECK(overflows((got > 0 ? want : -want) + bound) && (got > 0 ? want : -want) + bound > 0,
          "%s [%zu]: dx %g, want %Lg", what, at, got, want);
    return;
  }
  CHECK(fabsl(got - want) <= bound, "%s [%zu]: dx %.9g, want %.9Lg, unit %Lg", what, at, got, want, unit);
  const double error = (double)(fmaxl(fabsl(got - want) - 0x1p-149L, 0) / (unit > 0 ? 0x1p-24L * unit : 1));
  if (error > worst && !overflows(want)) worst = error;
}

/* A parameter's gradient, the sum of `rows` terms whose magnitudes sum to `size`; `before` was there. */
static void check_parameter(float got, real want, real size, size_t rows, float before, double *worst_one,
                            const char *what, size_t at) {
  if (overflows(size)) return; /* partial sums may be beyond float */
  const real unit = 0x1p-24L * (size + fabsf(before)), lost = 0x1p-149L * (1 + rows);
  const double error = (double)(fmaxl(fabsl(got - before - want) - lost, 0) / (unit > 0 ? unit : 1));
  CHECK(error <= PARAMETER_BOUND + (double)rows / 32, "%s [%zu]: %.9g, want %.9Lg, %.1f units", what, at, got,
        want + before, error);
  if (error - (double)rows / 32 > *worst_one) *worst_one = error - (double)rows / 32;
}

/* ---- Upstream gradients ---- */

enum { DY_NORMAL, DY_CONSTANT, DY_SPIKE, DY_ALTERNATING, DY_MIXED, DY_TINY, DY_SUBNORMAL, DY_HUGE, DY_ZERO, DY_COUNT };
static const char *const dy_names[] = {"normal", "0.1",  "spike", "alternating", "1e-15 to 1e15", "1e-31",
                                       "1e-42",  "3e38", "0"};
static float upstream(int kind, size_t i, size_t n, uint64_t *state) {
  const double z = test_normal(state), u = test_uniform(state);
  switch (kind) {
    case DY_CONSTANT: return 0.1f;
    case DY_SPIKE: return (float)(i == n / 3 ? 1000 : 1e-3 * z);
    case DY_ALTERNATING: return i % 2 ? -1.7f : 1.3f;
    case DY_MIXED: return (float)(z * pow(10, 30 * (u - 0.5)));
    case DY_TINY: return (float)(1e-31 * z);
    case DY_SUBNORMAL: return (float)(1e-42 * z);
    case DY_HUGE: return (float)(6e38 * (u - 0.5));
    case DY_ZERO: return 0;
    default: return (float)z;
  }
}

/* Random parts of the parameters' gradients that are there before, to be added to: 0 in half of the cases. */
static void fill_before(float *before, size_t n, int zero, uint64_t *state) {
  for (size_t i = 0; i < n; i++) before[i] = zero ? 0 : (float)test_normal(state);
}

static int same(const float *a, const float *b, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (bits_from_float(a[i]) != bits_from_float(b[i]) && !(isnan(a[i]) && isnan(b[i]))) return 0;
  return 1;
}

/* ---- Row norms ---- */

static const size_t sizes[] = {1,  2,  3,  4,  5,   7,   8,   9,   11,   15,   16,
                               17, 19, 63, 65, 255, 257, 511, 768, 1000, 4099, 33001};

static void check_rows(const char *name, size_t norm, double eps, int data, int kind, size_t d, size_t rows, int form,
                       double offset, size_t shift, uint64_t *state) {
  char what[200];
  snprintf(what, sizeof what, "%s, %s, dy %s, (%zu, %zu), eps %g, form %d", name, data_names[data], dy_names[kind],
           rows, d, eps, form);
  const size_t n = rows * d, bytes = n * sizeof(float);
  float *x = guarded_alloc(n, shift), *dy = guarded_alloc(n, (shift + 1) % 4), *dx = guarded_alloc(n, (shift + 2) % 4);
  float *weight = guarded_alloc(d, (shift + 3) % 4), *bias = guarded_alloc(d, 0), *again = guarded_alloc(n, shift);
  float *dweight = guarded_alloc(d, 1), *dbias = guarded_alloc(d, 2), *before = guarded_alloc(d, 0);
  fill_affine(weight, bias, d, state);
  fill_before(before, d, form & 1, state);
  memcpy(dweight, before, d * sizeof(float)), memcpy(dbias, before, d * sizeof(float));
  for (size_t i = 0; i < n; i++) x[i] = sample(data, i % d, d, state), dy[i] = upstream(kind, i % d, d, state);
  const float *const w = form ? weight : NULL;

  CHECK(an_norm_bwd(dx, dweight, dbias, NULL, x, dy, w, NULL, norm, eps, offset, rows, d) == AN_OK, "%s", what);
  set s = set_alloc(d);
  real *sums = calloc(4 * d, sizeof *sums);
  for (size_t r = 0; r < rows; r++) {
    for (size_t i = 0; i < d; i++) {
      s.x[i] = x[r * d + i], s.dy[i] = dy[r * d + i];
      s.w[i] = w ? (real)w[i] + offset : 1;
    }
    set_gradient(&s, name, eps);
    for (size_t i = 0; i < d; i++) {
      check_dx(dx[r * d + i], s.dx[i], s.unit, what, i);
      sums[4 * i] += s.dy[i] * s.z[i], sums[4 * i + 1] += fabsl(s.dy[i]) * fmaxl(1, fabsl(s.z[i]));
      sums[4 * i + 2] += s.dy[i], sums[4 * i + 3] += fabsl(s.dy[i]);
    }
  }
  for (size_t i = 0; i < d; i++) {
    check_parameter(dweight[i], sums[4 * i], sums[4 * i + 1], rows, before[i], &worst_weight, what, i);
    check_parameter(dbias[i], sums[4 * i + 2], sums[4 * i + 3], rows, before[i], &worst_bias, what, i);
  }

  /* The same bits in place of x or dy, without the parameters, for a row alone. */
  memcpy(again, x, bytes), memcpy(dweight, before, d * sizeof(float));
  an_norm_bwd(again, NULL, NULL, NULL, again, dy, w, NULL, norm, eps, offset, rows, d);
  CHECK(memcmp(again, dx, bytes) == 0, "%s: in place of x", what);
  memcpy(again, dy, bytes);
  an_norm_bwd(again, dweight, NULL, NULL, x, again, w, NULL, norm, eps, offset, rows, d);
  CHECK(memcmp(again, dx, bytes) == 0, "%s: in place of dy", what);
  float *twice = guarded_alloc(d, 3);
  memcpy(twice, before, d * sizeof(float));
  an_norm_bwd(NULL, twice, NULL, NULL, x, dy, w, NULL, norm, eps, offset, rows, d);
  CHECK(same(twice, dweight, d), "%s: dweight alone", what);
  for (size_t r = 0; r < rows; r += 1 + rows / 3) {
    an_norm_bwd(again, NULL, NULL, NULL, x + r * d, dy + r * d, w, NULL, norm, eps, offset, 1, d);
    CHECK(memcmp(again, dx + r * d, d * sizeof(float)) == 0, "%s: row %zu alone", what, r);
  }
  free(s.x), free(sums);
  guarded_free(x, n, shift, what), guarded_free(dy, n, (shift + 1) % 4, what);
  guarded_free(dx, n, (shift + 2) % 4, what), guarded_free(again, n, shift, what);
  guarded_free(weight, d, (shift + 3) % 4, what), guarded_free(bias, d, 0, what);
  guarded_free(dweight, d, 1, what), guarded_free(dbias, d, 2, what), guarded_free(before, d, 0, what);
  guarded_free(twice, d, 3, what);
}

static void test_rows(void) {
  uint64_t state = 1;
  for (size_t k = 0; k < sizeof row_norms / sizeof *row_norms; k++) {
    const size_t norm = norm_index(row_norms[k]);
    for (size_t z = 0; z < sizeof sizes / sizeof *sizes; z++) {
      if (QUICK && sizes[z] > 65) continue;
      for (int data = 0; data < DATA_COUNT; data++) {
        if (sizes[z] > 300 && ((size_t)data + z + k) % 3) continue; /* the large ones with some of the data */
        if (QUICK && ((size_t)data + z + k) % 2) continue;
        const size_t rows = sizes[z] > 300 ? 1 + z % 2 : 1 + (z + (size_t)data) % 5;
        const int kind = (int)z + data;
        check_rows(row_norms[k], norm, row_eps[k], data, kind % DY_COUNT, sizes[z], rows, data % 2, data % 3 ? 0 : 1,
                   z % 4, &state);
        check_rows(row_norms[k], norm, 0, data, (kind + 4) % DY_COUNT, sizes[z], 1, (data + 1) % 2, 0, 0, &state);
        if (sizes[z] < 100 && !QUICK)
          for (int other = data % 3; other < DY_COUNT; other += 3)
            check_rows(row_norms[k], norm, other % 2 ? 1e-12 : row_eps[k], data, other, sizes[z], 2, 1, 0, 1, &state);
      }
    }
    /* Many rows: the parameters' gradients are sums over them. */
    for (int kind = 0; kind < DY_COUNT; kind++) {
      check_rows(row_norms[k], norm, 1e-5, DATA_NORMAL, kind, 5, QUICK ? 33 : kind % 2 ? 1001 : 4001, 1, 0, 1, &state);
      check_rows(row_norms[k], norm, 1e-5, DATA_SHIFT_1E6, kind, 300, 33 + (size_t)kind, 1, 0, 1, &state);
    }
  }
}

/* No spread: factor (g - mean(g)), or 0 where the factor is. */
static void test_no_spread(void) {
  const double eps[] = {0, 1e-6, 1};
  for (size_t k = 0; k < sizeof row_norms / sizeof *row_norms; k++)
    for (size_t e = 0; e < 3; e++)
      for (size_t d = 1; d < 70; d += d < 20 ? 1 : 24) {
        float x[70], dy[70], dx[70], dweight[70] = {0};
        const int rms = k >= 2;
        double mean = 0;
        for (size_t i = 0; i < d; i++)
          x[i] = rms ? 0 : -1234.567f, dy[i] = (float)(i % 7) - 2.25f, mean += dy[i] / (double)d;
        CHECK(
            an_norm_bwd(dx, dweight, NULL, NULL, x, dy, NULL, NULL, norm_index(row_norms[k]), eps[e], 0, 1, d) == AN_OK,
            "no spread");
        const double factor = eps[e] == 0 ? 0 : 1 / (k % 2 ? eps[e] : sqrt(eps[e]));
        for (size_t i = 0; i < d; i++) {
          CHECK(fabs(dx[i] - factor * (dy[i] - (rms ? 0 : mean))) <= 1e-6 * factor * 4, "%s without spread, eps %g: %g",
                row_norms[k], eps[e], dx[i]);
          CHECK(dweight[i] == 0, "%s without spread: dweight %g", row_norms[k], dweight[i]);
        }
      }
}

/* ---- dyt, none ---- */

static void test_elementwise(void) {
  uint64_t state = 2;
  const size_t dyt = norm_index("dyt"), none = norm_index("none");
  for (size_t z = 0; z < sizeof sizes / sizeof *sizes; z++) {
    const size_t d = sizes[z], rows = d < 20 ? 70 : 3, n = rows * d;
    if (d > 1000) continue;
    for (int form = 0; form < 4; form++) {
      float *x = guarded_alloc(n, 1), *dy = guarded_alloc(n, 2), *dx = guarded_alloc(n, 3),
            *again = guarded_alloc(n, 0);
      float *weight = guarded_alloc(d, 3), *bias = guarded_alloc(d, 1), *dweight = guarded_alloc(d, 0),
            *dbias = guarded_alloc(d, 1);
      fill_affine(weight, bias, d, &state);
      const double scale = form == 3 ? 1e-3 : 3;
      for (size_t i = 0; i < n; i++) x[i] = (float)(scale * test_normal(&state)), dy[i] = (float)test_normal(&state);
      if (form == 2) x[n / 2] = -3e38f, x[0] = INFINITY;
      const float *const w = form & 1 ? weight : NULL, alpha = 0.75f;
      const double offset = form == 3, a = form & 2 ? 0.75 : 0.5;
      for (int which = 0; which < 2; which++) { /* none, dyt */
        const char *what = which ? "dyt" : "none";
        float dalpha = 0.5f;
        for (size_t i = 0; i < d; i++) dweight[i] = dbias[i] = 1;
        CHECK(an_norm_bwd(dx, dweight, dbias, &dalpha, x, dy, w, form & 2 ? &alpha : NULL, which ? dyt : none, 0,
                          offset, rows, d) == AN_OK,
              "%s", what);
        real want_alpha = 0, size_alpha = 0;
        for (size_t c = 0; c < d; c++) {
          real sum = 0, size = 0, sum_bias = 0, size_bias = 0;
          for (size_t r = 0; r < rows; r++) {
            const size_t i = r * d + c;
            const real g = (real)dy[i] * (w ? (real)w[c] + offset : 1);
            const real t = which ? tanhl(a * (real)x[i]) : (real)x[i];
            const real slope = which ? (isinf(x[i]) ? 0 : 1 / (coshl(a * (real)x[i]) * coshl(a * (real)x[i]))) : 1;
            const real want = which ? g * a * slope : g;
            check_dx(dx[i], want, fabsl(want) * (which ? fmaxl(1, fminl(fabsl(a * (real)x[i]), 1000)) : 1), what, i);
            sum += dy[i] * t, size += fabsl(dy[i] * t), sum_bias += dy[i], size_bias += fabsf(dy[i]);
            if (which && !isinf(x[i])) want_alpha += g * x[i] * slope, size_alpha += fabsl(g * x[i] * slope);
          }
          if (!isinf(size)) check_parameter(dweight[c], sum, size, rows, 1, &worst_weight, what, c);
          check_parameter(dbias[c], sum_bias, size_bias, rows, 1, &worst_bias, what, c);
        }
        if (which)
          check_parameter(dalpha, want_alpha, size_alpha, 0, 0.5f, &worst_alpha, "dalpha", d);
        else
          CHECK(dalpha == 0.5f, "dalpha is dyt's alone: %g", dalpha);
        for (int in_dy = 0; in_dy < 2; in_dy++) {
          memcpy(again, in_dy ? dy : x, n * sizeof(float));
          an_norm_bwd(again, NULL, NULL, NULL, in_dy ? x : again, in_dy ? again : dy, w, form & 2 ? &alpha : NULL,
                      which ? dyt : none, 0, offset, rows, d);
          CHECK(memcmp(again, dx, n * sizeof(float)) == 0, "%s: in place", what);
        }
        if (which) {
          float alone = 0.5f;
          an_norm_bwd(NULL, NULL, NULL, &alone, x, dy, w, form & 2 ? &alpha : NULL, dyt, 0, offset, rows, d);
          CHECK(alone == dalpha, "dalpha alone: %g, %g", alone, dalpha);
        }
      }
      guarded_free(x, n, 1, "x"), guarded_free(dy, n, 2, "dy"), guarded_free(dx, n, 3, "dx");
      guarded_free(again, n, 0, "again"), guarded_free(weight, d, 3, "weight"), guarded_free(bias, d, 1, "bias");
      guarded_free(dweight, d, 0, "dweight"), guarded_free(dbias, d, 1, "dbias");
    }
  }
}

/* ---- Addition and norm ---- */

/* dresidual = dsum + norm's dx, dx = alpha * dresidual, in place of what may be overwritten. */
static void test_add_norm(void) {
  uint64_t state = 3;
  for (size_t norm = 0; norm < an_norm_count(); norm++) {
    if (strcmp(an_norm_kind(norm), "row") != 0) continue;
    for (size_t z = 0; z < sizeof sizes / sizeof *sizes; z++) {
      const size_t d = sizes[z], rows = 1 + z % 4, n = rows * d, bytes = n * sizeof(float);
      if (d > 1000) continue;
      float *sum = guarded_alloc(n, 1), *dsum = guarded_alloc(n, 2), *dy = guarded_alloc(n, 3),
            *dn = guarded_alloc(n, 0), *dx = guarded_alloc(n, 1), *dresidual = guarded_alloc(n, 0);
      float *weight = guarded_alloc(d, 0), *bias = guarded_alloc(d, 0), *dweight = guarded_alloc(d, 0),
            *want_dweight = guarded_alloc(d, 0), *want = guarded_alloc(n, 0), *want_x = guarded_alloc(n, 0);
      const double alpha = z % 2 ? 1 : -0.81;
      float dalpha = 0, want_dalpha = 0;
      fill_affine(weight, bias, d, &state);
      memset(dweight, 0, d * sizeof(float)), memset(want_dweight, 0, d * sizeof(float));
      for (size_t i = 0; i < n; i++) {
        sum[i] = sample((int)z % DATA_COUNT, i % d, d, &state);
        dsum[i] = (float)test_normal(&state), dy[i] = upstream((int)z % DY_COUNT, i % d, d, &state);
      }
      an_norm_bwd(dn, want_dweight, NULL, &want_dalpha, sum, dy, weight, NULL, norm, 1e-5, 0, rows, d);
      for (int with = 0; with < 2; with++) {
        for (size_t i = 0; i < n; i++) want[i] = with ? dsum[i] + dn[i] : dn[i], want_x[i] = (float)alpha * want[i];
        CHECK(an_add_norm_bwd(dx, dresidual, with ? NULL : dweight, NULL, with ? NULL : &dalpha, sum,
                              with ? dsum : NULL, dy, weight, NULL, norm, alpha, 1e-5, 0, rows, d) == AN_OK,
              "add_norm");
        CHECK(same(dresidual, want, n), "%s, d %zu: dresidual, dsum %d", an_norm_name(norm), d, with);
        CHECK(same(dx, want_x, n), "%s, d %zu: dx, dsum %d", an_norm_name(norm), d, with);
      }
      CHECK(same(dweight, want_dweight, d), "%s, d %zu: dweight", an_norm_name(norm), d);
      CHECK(same(&dalpha, &want_dalpha, 1), "%s, d %zu: dalpha", an_norm_name(norm), d);
      float *const inputs[] = {sum, dsum, dy};
      for (int place = 0; place < 3; place++) {
        float *in[] = {sum, dsum, dy};
        for (int which = 0; which < 3; which++) { /* dresidual there, dx there, dx there and no dresidual */
          memcpy(dresidual, inputs[place], bytes), memcpy(dx, inputs[place], bytes);
          in[place] = which ? dx : dresidual;
          an_add_norm_bwd(which ? dx : NULL, which == 2 ? NULL : dresidual, NULL, NULL, NULL, in[0], in[1], in[2],
                          weight, NULL, norm, alpha, 1e-5, 0, rows, d);
          if (which < 2)
            CHECK(same(dresidual, want, n), "%s, d %zu: in place %d, %d", an_norm_name(norm), d, place, which);
          if (which > 0) CHECK(same(dx, want_x, n), "%s, d %zu: in place %d, %d", an_norm_name(norm), d, place, which);
        }
      }
      guarded_free(sum, n, 1, "sum"), guarded_free(dsum, n, 2, "dsum"), guarded_free(dy, n, 3, "dy");
      guarded_free(dn, n, 0, "dn"), guarded_free(dx, n, 1, "dx"), guarded_free(dresidual, n, 0, "dresidual");
      guarded_free(weight, d, 0, "weight"), guarded_free(bias, d, 0, "bias"), guarded_free(dweight, d, 0, "dweight");
      guarded_free(want_dweight, d, 0, "dweight"), guarded_free(want, n, 0, "want"), guarded_free(want_x, n, 0, "want");
    }
  }
}

/* ---- Norms over channels ---- */

enum { MASK_NONE, MASK_ONES, MASK_RANDOM, MASK_ENDS, MASK_SINGLE, MASK_ALL, MASK_COUNT };
static void fill_mask(float *mask, int kind, size_t outer, size_t inner, uint64_t *state) {
  const size_t n = outer * inner, keep = (size_t)(test_uniform(state) * (double)n);
  for (size_t i = 0; i < n; i++) {
    mask[i] = kind == MASK_ONES ? 1 : kind == MASK_ENDS ? (float)(i % inner <= i / inner % inner) : 0;
    if (kind == MASK_RANDOM) mask[i] = test_uniform(state) < 0.6 ? 0.5f : 0;
    if (kind == MASK_SINGLE) mask[i] = i == keep;
  }
}

/* mean, factor: of running statistics, or NULL. set_of[i]: which of `sets` element i belongs to; `counts_of`: how many
 * elements share a channel's dweight. */
static void check_sets(const float *dx, const float *dweight, const float *dbias, const float *before, const float *x,
                       const float *dy, const float *weight, double offset, const float *mask, const float *mean,
                       const float *var, double eps, const size_t *set_of, size_t sets, const size_t *channel_of,
                       size_t channels, const size_t *position_of, size_t n, const char *what) {
  real *sums = calloc(4 * channels, sizeof *sums);
  size_t *terms = calloc(channels, sizeof *terms), *members = malloc((n + 1) * sizeof *members);
  set s = set_alloc(n);
  for (size_t k = 0; k < sets; k++) {
    s.n = 0;
    for (size_t i = 0; i < n; i++) {
      if (set_of[i] != k || (mask && mask[position_of[i]] == 0)) continue;
      s.x[s.n] = x[i], s.dy[s.n] = dy[i], s.w[s.n] = weight ? (real)weight[channel_of[i]] + offset : 1;
      members[s.n++] = i;
    }
    if (s.n == 0) continue;
    if (mean)
      set_given(&s, mean[k], 1 / sqrtl((real)var[k] + eps));
    else
      set_gradient(&s, "batch_norm", eps);
    for (size_t m = 0; m < s.n; m++) {
      const size_t i = members[m], c = channel_of[i];
      check_dx(dx[i], s.dx[m], s.unit, what, i);
      sums[4 * c] += s.dy[m] * s.z[m], sums[4 * c + 1] += fabsl(s.dy[m]) * fmaxl(1, fabsl(s.z[m]));
      sums[4 * c + 2] += s.dy[m], sums[4 * c + 3] += fabsl(s.dy[m]), terms[c]++;
    }
  }
  for (size_t c = 0; c < channels; c++) {
    check_parameter(dweight[c], sums[4 * c], sums[4 * c + 1], terms[c], before[c], &worst_weight, what, c);
    check_parameter(dbias[c], sums[4 * c + 2], sums[4 * c + 3], terms[c], before[c], &worst_bias, what, c);
  }
  if (mask)
    for (size_t i = 0; i < n; i++)
      if (mask[position_of[i]] == 0) CHECK(bits_from_float(dx[i]) == 0, "%s: dx %g under the mask", what, dx[i]);
  free(s.x), free(sums), free(terms), free(members);
}

static void check_batch(int data, int kind, int masked, int training, size_t outer, size_t channels, size_t inner,
                        int form, uint64_t *state) {
  char what[200];
  snprintf(what, sizeof what, "batch_norm (%zu, %zu, %zu), %s, dy %s, mask %d, training %d, form %d", outer, channels,
           inner, data_names[data], dy_names[kind], masked, training, form);
  const size_t n = outer * channels * inner, positions = outer * inner;
  const double eps = data % 3 == 0 ? 0 : data % 2 ? 1e-5 : 1e-12, offset = form == 1;
  float *x = guarded_alloc(n, 1), *dy = guarded_alloc(n, 2), *dx = guarded_alloc(n, 3), *again = guarded_alloc(n, 0);
  float *weight = guarded_alloc(channels, 3), *bias = guarded_alloc(channels, 1), *mask = guarded_alloc(positions, 1),
        *mean = guarded_alloc(channels, 2), *var = guarded_alloc(channels, 3), *dweight = guarded_alloc(channels, 1),
        *dbias = guarded_alloc(channels, 2), *before = guarded_alloc(channels, 0);
  size_t *channel = malloc(2 * n * sizeof *channel), *position = channel + n;
  fill_affine(weight, bias, channels, state);
  fill_before(before, channels, form & 1, state);
  if (masked) fill_mask(mask, masked, outer, inner, state);
  memcpy(dweight, before, channels * sizeof(float)), memcpy(dbias, before, channels * sizeof(float));
  for (size_t i = 0; i < n; i++) {
    channel[i] = i / inner % channels;
    position[i] = i / (inner * channels) * inner + i % inner;
    const int mixed = form == 3 ? (data + (int)channel[i]) % DATA_COUNT : data;
    x[i] = sample(mixed, position[i], positions, state);
    dy[i] = upstream(form == 3 ? (kind + (int)channel[i] / 2) % DY_COUNT : kind, position[i], positions, state);
    /* Numbers in every other channel: NaN is noticed by the sums, which are then computed another way. */
    if (masked && mask[position[i]] == 0 && channel[i] % 2 == 0)
      x[i] = i % 3 ? NAN : x[i], dy[i] = i % 2 ? INFINITY : NAN;
  }
  for (size_t c = 0; c < channels; c++)
    mean[c] = (float)test_normal(state), var[c] = (float)(0.5 + test_uniform(state));
  const float *const w = form & 1 ? weight : NULL, *const m = masked ? mask : NULL;
  const float *const rm = training ? NULL : mean, *const rv = training ? NULL : var;

  CHECK(an_batch_norm_bwd(dx, dweight, dbias, x, dy, w, m, rm, rv, eps, offset, training, outer, channels, inner) ==
            AN_OK,
        "%s", what);
  check_sets(dx, dweight, dbias, before, x, dy, w, offset, m, rm, rv, eps, channel, channels, channel, channels,
             position, n, what);
  for (int in_dy = 0; in_dy < 2; in_dy++) {
    memcpy(again, in_dy ? dy : x, n * sizeof(float));
    an_batch_norm_bwd(again, NULL, NULL, in_dy ? x : again, in_dy ? again : dy, w, m, rm, rv, eps, offset, training,
                      outer, channels, inner);
    CHECK(same(again, dx, n), "%s: in place", what);
  }
  float *twice = guarded_alloc(channels, 0);
  memcpy(twice, before, channels * sizeof(float));
  an_batch_norm_bwd(NULL, twice, NULL, x, dy, w, m, rm, rv, eps, offset, training, outer, channels, inner);
  CHECK(same(twice, dweight, channels), "%s: dweight alone", what);
  if (masked == MASK_ONES) {
    an_batch_norm_bwd(again, NULL, NULL, x, dy, w, NULL, rm, rv, eps, offset, training, outer, channels, inner);
    CHECK(same(again, dx, n), "%s: without the mask", what);
  }
  free(channel);
  guarded_free(x, n, 1, what), guarded_free(dy, n, 2, what), guarded_free(dx, n, 3, what),
      guarded_free(again, n, 0, what);
  guarded_free(weight, channels, 3, what), guarded_free(bias, channels, 1, what),
      guarded_free(mask, positions, 1, what);
  guarded_free(mean, channels, 2, what), guarded_free(var, channels, 3, what), guarded_free(dweight, channels, 1, what);
  guarded_free(dbias, channels, 2, what), guarded_free(before, channels, 0, what),
      guarded_free(twice, channels, 0, what);
}

static void test_batch(void) {
  uint64_t state = 4;
  const size_t outer[] = {1, 2, 7, 40}, channels[] = {1, 3, 21, 259}, inner[] = {1, 2, 5, 33};
  for (int data = 0; data < DATA_COUNT; data++)
    for (size_t o = 0; o < (QUICK ? 3 : 4); o++)
      for (size_t c = 0; c < 4; c++)
        for (size_t i = 0; i < (c == 3 ? 1 : 4); i++) {
          if (QUICK && (c == 3 || data % 3)) continue;
          const int mix = (int)(o + 2 * c + 3 * i) + data;
          if (outer[o] * channels[c] * inner[i] > 1500 && mix % 3) continue; /* the large ones with some of the data */
          check_batch(data, mix % DY_COUNT, mix % MASK_COUNT, 1, outer[o], channels[c], inner[i], mix % 4, &state);
          check_batch(data, (mix + 3) % DY_COUNT, MASK_NONE, 1, outer[o], channels[c], inner[i], (mix + 1) % 4, &state);
          check_batch(data, (mix + 5) % DY_COUNT, (mix + 2) % MASK_COUNT, 0, outer[o], channels[c], inner[i],
                      (mix + 3) % 4, &state);
        }
  for (int kind = 0; kind < DY_COUNT; kind++)
    check_batch(DATA_NORMAL, kind, kind % MASK_COUNT, 1, QUICK ? 33 : 3001, 5, 1 + (size_t)kind % 2, 3, &state);
}

static void check_group(int data, int kind, size_t groups, size_t batch, size_t length, size_t channels, size_t inner,
                        int form, uint64_t *state) {
  char what[200];
  snprintf(what, sizeof what, "group_norm %zu of (%zu, %zu, %zu, %zu), %s, dy %s, form %d", groups, batch, length,
           channels, inner, data_names[data], dy_names[kind], form);
  const size_t n = batch * length * channels * inner, size = channels / groups, members = length * size * inner;
  const double eps = data % 3 == 0 ? 0 : data % 2 ? 1e-5 : 1e-12, offset = form == 3;
  float *x = guarded_alloc(n, 3), *dy = guarded_alloc(n, 1), *dx = guarded_alloc(n, 2), *again = guarded_alloc(n, 2),
        *weight = guarded_alloc(channels, 1), *bias = guarded_alloc(channels, 2), *dweight = guarded_alloc(channels, 3),
        *dbias = guarded_alloc(channels, 0), *before = guarded_alloc(channels, 0);
  size_t *set_of = malloc(2 * n * sizeof *set_of), *channel = set_of + n;
  fill_affine(weight, bias, channels, state);
  fill_before(before, channels, form & 1, state);
  memcpy(dweight, before, channels * sizeof(float)), memcpy(dbias, before, channels * sizeof(float));
  for (size_t i = 0; i < n; i++) {
    const size_t c = i / inner % channels, b = i / (inner * channels * length), l = i / (inner * channels) % length;
    channel[i] = c, set_of[i] = b * groups + c / size;
    const size_t place = (l * size + c % size) * inner + i % inner;
    x[i] = sample(data, place, members, state), dy[i] = upstream(kind, place, members, state);
  }
  const float *const w = form & 1 ? weight : NULL;
  CHECK(an_group_norm_bwd(dx, dweight, dbias, x, dy, w, eps, offset, groups, batch, length, channels, inner) == AN_OK,
        "%s", what);
  check_sets(dx, dweight, dbias, before, x, dy, w, offset, NULL, NULL, NULL, eps, set_of, batch * groups, channel,
             channels, NULL, n, what);
  for (int in_dy = 0; in_dy < 2; in_dy++) {
    memcpy(again, in_dy ? dy : x, n * sizeof(float));
    an_group_norm_bwd(again, NULL, NULL, in_dy ? x : again, in_dy ? again : dy, w, eps, offset, groups, batch, length,
                      channels, inner);
    CHECK(same(again, dx, n), "%s: in place", what);
  }
  float *twice = guarded_alloc(channels, 0);
  memcpy(twice, before, channels * sizeof(float));
  an_group_norm_bwd(NULL, twice, NULL, x, dy, w, eps, offset, groups, batch, length, channels, inner);
  CHECK(same(twice, dweight, channels), "%s: dweight alone", what);
  free(set_of);
  guarded_free(x, n, 3, what), guarded_free(dy, n, 1, what), guarded_free(dx, n, 2, what),
      guarded_free(again, n, 2, what);
  guarded_free(weight, channels, 1, what), guarded_free(bias, channels, 2, what),
      guarded_free(dweight, channels, 3, what);
  guarded_free(dbias, channels, 0, what), guarded_free(before, channels, 0, what),
      guarded_free(twice, channels, 0, what);
}

static void test_group(void) {
  uint64_t state = 5;
  const size_t length[] = {1, 3, 37}, channels[] = {1, 4, 6, 48}, inner[] = {1, 2, 9};
  for (int data = 0; data < DATA_COUNT; data++)
    for (size_t batch = 1; batch <= 2; batch++)
      for (size_t l = 0; l < 3; l++)
        for (size_t c = 0; c < (QUICK ? 3 : 4); c++)
          for (size_t i = 0; i < 3; i++)
            for (size_t groups = 1; groups <= channels[c]; groups++) {
              const int mix = (int)(l + 2 * c + i + groups + batch) + data;
              if (length[l] > 9 && (mix + (int)batch) % 2) continue;
              if (channels[c] % groups == 0 && (groups < 4 || groups > 23) && (!QUICK || data % 4 == 0))
                check_group(data, mix % DY_COUNT, groups, batch, length[l], channels[c], inner[i], mix % 4, &state);
            }
}

/* ---- Against differences ---- */

/* The reference gradient, and the library's, against (L(x + h) - L(x - h)) / 2h of the loss that the forward formula
 * gives. */
static void test_differences(void) {
  uint64_t state = 6;
  const char *const names[] = {"layer_norm", "layer_norm_std", "rms_norm", "rms_norm_outside", "batch_norm"};
  for (size_t k = 0; k < 5; k++)
    for (size_t d = 1; d <= 40; d += d < 9 ? 1 : 10)
      for (int form = 0; form < 2; form++) {
        const double eps = form ? 0.25 : 1e-5, offset = form;
        float x[40], dy[40], dx[40], weight[40], bias[40];
        set s = set_alloc(d);
        fill_affine(weight, bias, d, &state);
        if (k == 4) /* one channel has one weight */
          for (size_t i = 1; i < d; i++) weight[i] = weight[0];
        for (size_t i = 0; i < d; i++) {
          x[i] = (float)(1 + test_normal(&state)), dy[i] = (float)test_normal(&state);
          s.x[i] = x[i], s.dy[i] = dy[i], s.w[i] = (real)weight[i] + offset;
        }
        const an_status status =
            k == 4 ? an_batch_norm_bwd(dx, NULL, NULL, x, dy, weight, NULL, NULL, NULL, eps, offset, 1, d, 1, 1)
                   : an_norm_bwd(dx, NULL, NULL, NULL, x, dy, weight, NULL, norm_index(names[k]), eps, offset, 1, d);
        CHECK(status == AN_OK, "%s", names[k]);
        set_gradient(&s, names[k], eps);
        const real scale = s.unit, h = 1e-6L;
        for (size_t i = 0; i < d; i++) {
          const real at = s.x[i];
          if (d == 1 && k == 1) break; /* s = 0, by definition */
          s.x[i] = at + h;
          const real up = set_loss(&s, names[k], eps);
          s.x[i] = at - h;
          const real difference = (up - set_loss(&s, names[k], eps)) / (2 * h);
          s.x[i] = at;
          CHECK(fabsl(difference - s.dx[i]) <= 1e-7L * scale, "%s, d %zu: the reference's %Lg, by differences %Lg",
                names[k], d, s.dx[i], difference);
          CHECK(fabsl(difference - dx[i]) <= 2e-6L * scale, "%s, d %zu: %g, by differences %Lg", names[k], d, dx[i],
                difference);
        }
        free(s.x);
      }
}

/* ---- NaN, infinity ---- */

/* In x they make their row NaN; in dy none of it is finite, as the row's mean has them. Other rows keep their bits. */
static void test_specials(void) {
  uint64_t state = 7;
  const float specials[] = {NAN, INFINITY, -INFINITY};
  for (size_t k = 0; k < sizeof row_norms / sizeof *row_norms; k++)
    for (size_t d = 1; d <= 70; d += d < 20 ? 1 : 17)
      for (size_t v = 0; v < 3; v++)
        for (int in_dy = 0; in_dy < 2; in_dy++) {
          float x[3 * 70], dy[3 * 70], dx[3 * 70], clean[3 * 70];
          for (size_t i = 0; i < 3 * d; i++) x[i] = (float)test_normal(&state), dy[i] = (float)test_normal(&state);
          const size_t norm = norm_index(row_norms[k]);
          an_norm_bwd(clean, NULL, NULL, NULL, x, dy, NULL, NULL, norm, 1e-5, 0, 3, d);
          (in_dy ? dy : x)[d + d / 2] = specials[v];
          an_norm_bwd(dx, NULL, NULL, NULL, x, dy, NULL, NULL, norm, 1e-5, 0, 3, d);
          for (size_t i = 0; i < d; i++)
            CHECK(isnan(dx[d + i]) || (in_dy && v > 0 && isinf(dx[d + i])), "%s, %g in %s: %zu is %g", row_norms[k],
                  specials[v], in_dy ? "dy" : "x", i, dx[d + i]);
          CHECK(memcmp(dx, clean, d * sizeof(float)) == 0 && memcmp(dx + 2 * d, clean + 2 * d, d * sizeof(float)) == 0,
                "%s, %g: the neighbours changed", row_norms[k], specials[v]);
        }
  /* Element by element. */
  float x[5] = {NAN, INFINITY, -INFINITY, 1, 0}, dy[5] = {1, 2, 3, NAN, 4}, dx[5];
  an_norm_bwd(dx, NULL, NULL, NULL, x, dy, NULL, NULL, norm_index("none"), 0, 0, 1, 5);
  CHECK(dx[0] == 1 && dx[1] == 2 && dx[2] == 3 && isnan(dx[3]) && dx[4] == 4, "none: %g %g %g %g", dx[0], dx[1], dx[3],
        dx[4]);
  an_norm_bwd(dx, NULL, NULL, NULL, x, dy, NULL, NULL, norm_index("dyt"), 0, 0, 1, 5);
  CHECK(isnan(dx[0]) && dx[1] == 0 && dx[2] == 0 && isnan(dx[3]) && dx[4] == 2, "dyt: %g %g %g %g %g", dx[0], dx[1],
        dx[2], dx[3], dx[4]);
}

/* ---- Errors ---- */

static void test_errors(void) {
  enum { N = 12 };
  float x[N] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, out[5][N], before[5][N], running[N] = {1, 1, 1};
  for (int i = 0; i < 5; i++)
    for (int j = 0; j < N; j++) out[i][j] = before[i][j] = 42;
  float *const dx = out[0], *const dw = out[1], *const db = out[2], *const da = out[3], *const dr = out[4];
  const size_t huge = SIZE_MAX / 2, ln = norm_index("layer_norm"), bn = norm_index("batch_norm");
#define REFUSED(status, call)                                         \
  do {                                                                \
    const an_status got = call;                                       \
    CHECK(got == (status), "got %s for " #call, an_status_name(got)); \
    CHECK(memcmp(out, before, sizeof out) == 0, "written by " #call); \
  } while (0)
#define NORM(x, dy, norm, eps, offset, rows, d) \
  an_norm_bwd(dx, dw, db, da, x, dy, NULL, NULL, norm, eps, offset, rows, d)
  REFUSED(AN_UNKNOWN_OP, NORM(x, x, an_norm_count(), NAN, 0, 0, 0));
  REFUSED(AN_UNKNOWN_OP, NORM(x, x, bn, 1e-5, 0, 3, 4));
  REFUSED(AN_INVALID_VALUE, NORM(x, x, ln, -1, 0, 3, 4));
  REFUSED(AN_INVALID_VALUE, NORM(x, x, ln, 1e-5, NAN, 3, 4));
  REFUSED(AN_INVALID_SHAPE, NORM(x, x, ln, 1e-5, 0, 3, 0));
  REFUSED(AN_SIZE_OVERFLOW, NORM(x, x, ln, 1e-5, 0, huge, 4));
  REFUSED(AN_NULL_POINTER, NORM(NULL, x, ln, 1e-5, 0, 3, 4));
  REFUSED(AN_NULL_POINTER, NORM(x, NULL, ln, 1e-5, 0, 3, 4));
  REFUSED(AN_OK, NORM(NULL, NULL, ln, 1e-5, 0, 0, 4));
  REFUSED(AN_OK, an_norm_bwd(NULL, NULL, NULL, NULL, x, x, NULL, NULL, ln, 1e-5, 0, 3, 4));
#define ADD_NORM(sum, dy, norm, alpha, eps, rows, d) \
  an_add_norm_bwd(dx, dr, dw, db, da, sum, NULL, dy, NULL, NULL, norm, alpha, eps, 0, rows, d)
  REFUSED(AN_UNKNOWN_OP, ADD_NORM(x, x, bn, 1, 1e-5, 3, 4));
  REFUSED(AN_INVALID_VALUE, ADD_NORM(x, x, ln, INFINITY, 1e-5, 3, 4));
  REFUSED(AN_INVALID_SHAPE, ADD_NORM(x, x, ln, 1, 1e-5, 3, 0));
  REFUSED(AN_SIZE_OVERFLOW, ADD_NORM(x, x, ln, 1, 1e-5, 4, huge));
  REFUSED(AN_NULL_POINTER, ADD_NORM(NULL, x, ln, 1, 1e-5, 3, 4));
  REFUSED(AN_NULL_POINTER, ADD_NORM(x, NULL, ln, 1, 1e-5, 3, 4));
  REFUSED(AN_OK, ADD_NORM(NULL, NULL, ln, 1, 1e-5, 0, 4));
  REFUSED(AN_OK, an_add_norm_bwd(NULL, NULL, NULL, NULL, NULL, x, x, x, NULL, NULL, ln, 1, 1e-5, 0, 3, 4));
#define BATCH(x, dy, rm, rv, eps, training, outer, channels, inner) \
  an_batch_norm_bwd(dx, dw, db, x, dy, NULL, NULL, rm, rv, eps, 0, training, outer, channels, inner)
  REFUSED(AN_INVALID_VALUE, BATCH(x, x, NULL, NULL, NAN, 1, 2, 3, 2));
  REFUSED(AN_INVALID_SHAPE, BATCH(x, x, NULL, NULL, 1e-5, 1, 2, 0, 2));
  REFUSED(AN_SIZE_OVERFLOW, BATCH(x, x, NULL, NULL, 1e-5, 1, huge, 3, 2));
  REFUSED(AN_NULL_POINTER, BATCH(NULL, x, NULL, NULL, 1e-5, 1, 2, 3, 2));
  REFUSED(AN_NULL_POINTER, BATCH(x, NULL, NULL, NULL, 1e-5, 1, 2, 3, 2));
  REFUSED(AN_NULL_POINTER, BATCH(x, x, NULL, NULL, 1e-5, 0, 2, 3, 2));
  REFUSED(AN_NULL_POINTER, BATCH(x, x, running, NULL, 1e-5, 1, 2, 3, 2));
  REFUSED(AN_OK, BATCH(NULL, NULL, NULL, NULL, 1e-5, 1, 0, 3, 2));
#define GROUP(x, dy, eps, groups, batch, length, channels, inner) \
  an_group_norm_bwd(dx, dw, db, x, dy, NULL, eps, 0, groups, batch, length, channels, inner)
  REFUSED(AN_INVALID_VALUE, GROUP(x, x, -1, 1, 1, 1, 6, 2));
  REFUSED(AN_INVALID_SHAPE, GROUP(x, x, 1e-5, 4, 1, 1, 6, 2));
  REFUSED(AN_SIZE_OVERFLOW, GROUP(x, x, 1e-5, 2, huge, 1, 6, 2));
  REFUSED(AN_NULL_POINTER, GROUP(NULL, x, 1e-5, 2, 1, 1, 6, 2));
  REFUSED(AN_NULL_POINTER, GROUP(x, NULL, 1e-5, 2, 1, 1, 6, 2));
  REFUSED(AN_OK, GROUP(NULL, NULL, 1e-5, 2, 1, 0, 6, 2));
}

int main(void) {
  test_rows();
  test_no_spread();
  test_elementwise();
  test_add_norm();
  test_batch();
  test_group();
  test_differences();
  test_specials();
  test_errors();
  printf(
      "norm gradients: largest error of dx %.2f units of 2^-24, bound %g; beyond one for 32 rows, dweight %.2f, dbias "
      "%.2f, bound %g; dalpha %.2f\n",
      worst, BOUND, worst_weight, worst_bias, PARAMETER_BOUND, worst_alpha);
  return test_report("norm_bwd");
}
