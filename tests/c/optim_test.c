/* The optimisers' trajectories against the papers' formulas in double precision. */
#include "test.h"

enum { STEPS = 50, N = 13 };

/* path: the values and the sizes of their updates, added up over the steps: the unit of a trajectory's error, as each
 * step rounds both. */
typedef struct reference {
  double value[N], a[N], b[N], path[N];
} reference;

typedef struct sgd {
  double scale, rate, momentum, dampening, decay;
  int flags;
} sgd;

/* Sutskever et al. 2013 as PyTorch's SGD documents it, algorithm SGD. */
static void sgd_reference(reference *r, const float *gradient, const sgd *o, uint32_t step, size_t n) {
  for (size_t i = 0; i < n; i++) {
    double g = gradient[i] * o->scale + o->decay * r->value[i];
    if (o->momentum != 0) {
      r->a[i] = step > 1 ? o->momentum * r->a[i] + (1 - o->dampening) * g : g;
      g = o->flags & AN_SGD_NESTEROV ? g + o->momentum * r->a[i] : r->a[i];
    }
    r->value[i] -= o->rate * g;
    r->path[i] += fabs(o->rate * g) + fabs(r->value[i]);
  }
}

typedef struct adam {
  double scale, rate, beta1, beta2, eps, decay;
  int flags;
} adam;

/* Kingma and Ba 2014, algorithm 1; its remark before section 2.1 for AN_ADAM_EPSILON_FIRST; Loshchilov and Hutter 2017,
 * algorithm 2 with the schedule as the rate. */
static void adam_reference(reference *r, const float *gradient, const adam *o, uint32_t step, size_t n) {
  const double c1 = 1 - pow(o->beta1, step), c2 = 1 - pow(o->beta2, step);
  for (size_t i = 0; i < n; i++) {
    double g = gradient[i] * o->scale, w = r->value[i];
    if (o->flags & AN_ADAM_DECOUPLED)
      w -= o->rate * o->decay * w;
    else
      g += o->decay * w;
    r->a[i] = o->beta1 * r->a[i] + (1 - o->beta1) * g;
    r->b[i] = o->beta2 * r->b[i] + (1 - o->beta2) * g * g;
    double update;
    if (o->flags & AN_ADAM_EPSILON_FIRST)
      update = o->rate * sqrt(c2) / c1 * r->a[i] / (sqrt(r->b[i]) + o->eps);
    else
      update = o->rate * (r->a[i] / c1) / (sqrt(r->b[i] / c2) + o->eps);
    r->value[i] = w - update;
    /* The first moment may cancel; it does not exceed the root of the second one by much. */
    r->path[i] += o->rate * fmax(1, fabs(update / o->rate)) + fabs(r->value[i]);
  }
}

static double worst_sgd, worst_adam;

static void check_trajectory(const float *value, const reference *r, size_t n, double *worst, const char *what) {
  for (size_t i = 0; i < n; i++) {
    const double error = fabs(value[i] - r->value[i]) / r->path[i];
    *worst = fmax(*worst, error);
    CHECK(error <= 0x1p-24, "%s: element %zu is %.9g, not %.17g", what, i, value[i], r->value[i]);
  }
}

static void fill(float *x, size_t n, double scale, uint64_t *state) {
  for (size_t i = 0; i < n; i++) x[i] = (float)(scale * test_normal(state));
}

static void test_sgd(void) {
  const sgd options[] = {
      {1, 0.1, 0, 0, 0, 0},
      {1, 0.1, 0, 0.5, 0.01, 0}, /* dampening belongs to momentum */
      {1, 0.05, 0.9, 0, 0, 0},
      {1, 0.05, 0.9, 0.1, 0.01, 0},
      {0.25, 0.05, 0.9, 0, 0.01, AN_SGD_NESTEROV},
      {1, 0, 0.9, 0, 0, 0},
      {-1, 1e-3, 1, 1, 0, AN_SGD_NESTEROV},
  };
  uint64_t state = 1;
  for (size_t o = 0; o < sizeof options / sizeof *options; o++)
    for (size_t n = 1; n <= N; n++) {
      const sgd *s = &options[o];
      float *value = guarded_alloc(n, n % 4), *velocity = guarded_alloc(n, (n + 1) % 4);
      float *gradient = guarded_alloc(n, (n + 2) % 4);
      fill(value, n, 1, &state);
      for (size_t i = 0; i < n; i++) velocity[i] = NAN; /* step 1 does not read it */
      reference r = {0};
      for (size_t i = 0; i < n; i++) r.value[i] = value[i];
      for (uint32_t step = 1; step <= STEPS; step++) {
        fill(gradient, n, 1, &state);
        for (int pass = 0; pass < 2; pass++) {
          float before[2 * N];
          memcpy(before, value, n * sizeof(float)), memcpy(before + n, velocity, n * sizeof(float));
          const int check = pass == 0 ? AN_STEP_CHECK : 0;
          const an_status status = an_sgd_step(value, s->momentum == 0 && o == 0 ? NULL : velocity, gradient, s->scale,
                                               s->rate, s->momentum, s->dampening, s->decay, s->flags | check, step, n);
          CHECK(status == AN_OK, "step %u: %s", step, an_status_name(status));
          if (check)
            CHECK(memcmp(before, value, n * sizeof(float)) == 0 && memcmp(before + n, velocity, n * sizeof(float)) == 0,
                  "a check writes");
        }
        sgd_reference(&r, gradient, s, step, n);
      }
      check_trajectory(value, &r, n, &worst_sgd, "sgd");
      for (size_t i = 0; i < n && s->momentum != 0; i++)
        CHECK(fabs(velocity[i] - r.a[i]) <= 1e-5, "velocity %g, not %g", velocity[i], r.a[i]);
      if (s->momentum == 0) CHECK(isnan(velocity[0]), "velocity written without momentum");
      guarded_free(value, n, n % 4, "value"), guarded_free(velocity, n, (n + 1) % 4, "velocity");
      guarded_free(gradient, n, (n + 2) % 4, "gradient");
    }
}

static void test_adam(void) {
  const adam options[] = {
      {1, 1e-3, 0.9, 0.999, 1e-8, 0, 0},
      {1, 1e-3, 0.9, 0.999, 1e-8, 0.1, 0},
      {1, 1e-3, 0.9, 0.999, 1e-8, 0.1, AN_ADAM_DECOUPLED},
      {0.01, 0.1, 0.9, 0.98, 1e-9, 0.01, AN_ADAM_DECOUPLED},
      {1, 0.1, 0.95, 0.85, 1e-2, 0.001, AN_ADAM_EPSILON_FIRST},
      {1, 0.1, 0.9, 0.999, 1e-2, 0.1, AN_ADAM_EPSILON_FIRST | AN_ADAM_DECOUPLED},
      {1, 0.01, 0, 0, 1e-8, 0, 0},
      {1, 0.01, 0, 0.999, 1e-3, 0, 0},
      {1, 0.01, 0.5, 0, 1e-3, 0, 0},
      {1, 0, 0.9, 0.999, 1e-8, 0.1, AN_ADAM_DECOUPLED},
      {1, 1e-3, 1 - 0x1p-20, 1 - 0x1p-30, 1e-8, 0, 0},
      {1e6, 1e-3, 0.9, 0.999, 1e-8, 0, 0},
  };
  uint64_t state = 2;
  for (size_t o = 0; o < sizeof options / sizeof *options; o++)
    for (size_t n = 1; n <= N; n++) {
      const adam *s = &options[o];
      float *value = guarded_alloc(n, n % 4), *m = guarded_alloc(n, (n + 1) % 4), *v = guarded_alloc(n, (n + 3) % 4);
      float *gradient = guarded_alloc(n, (n + 2) % 4);
      fill(value, n, 1, &state);
      for (size_t i = 0; i < n; i++) m[i] = v[i] = 0;
      reference r = {0};
      for (size_t i = 0; i < n; i++) r.value[i] = value[i];
      for (uint32_t step = 1; step <= STEPS; step++) {
        fill(gradient, n, 1, &state);
        for (int pass = 0; pass < 2; pass++) {
          float before[3 * N];
          memcpy(before, value, n * sizeof(float)), memcpy(before + n, m, n * sizeof(float));
          memcpy(before + 2 * n, v, n * sizeof(float));
          const int check = pass == 0 ? AN_STEP_CHECK : 0;
          const an_status status = an_adam_step(value, m, v, gradient, s->scale, s->rate, s->beta1, s->beta2, s->eps,
                                                s->decay, s->flags | check, step, n);
          CHECK(status == AN_OK, "step %u: %s", step, an_status_name(status));
          if (check)
            CHECK(memcmp(before, value, n * sizeof(float)) == 0 && memcmp(before + n, m, n * sizeof(float)) == 0 &&
                      memcmp(before + 2 * n, v, n * sizeof(float)) == 0,
                  "a check writes");
        }
        adam_reference(&r, gradient, s, step, n);
      }
      char what[40];
      snprintf(what, sizeof what, "adam, options %zu", o);
      check_trajectory(value, &r, n, &worst_adam, what);
      for (size_t i = 0; i < n; i++) {
        CHECK(fabs(m[i] - r.a[i]) <= 4e-6 * fmax(1, s->scale), "m %g, not %g", m[i], r.a[i]);
        CHECK(fabs(v[i] / r.b[i] - 1) <= 1e-5, "v %g, not %g", v[i], r.b[i]);
      }
      guarded_free(value, n, n % 4, "value"), guarded_free(m, n, (n + 1) % 4, "m"),
          guarded_free(v, n, (n + 3) % 4, "v");
      guarded_free(gradient, n, (n + 2) % 4, "gradient");
    }
}

/* One step from given moments at large step numbers. */
static void test_late_steps(void) {
  const uint32_t steps[] = {1, 2, 3, 1000, 123457, 1u << 31, UINT32_MAX};
  const double betas[] = {0, 0.5, 0.9, 0.999, 0.999999, 1 - 0x1p-31};
  for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
    for (size_t j = 0; j < sizeof betas / sizeof *betas; j++)
      for (int flags = 0; flags <= AN_ADAM_EPSILON_FIRST; flags += AN_ADAM_EPSILON_FIRST) {
        float value = 0, m = 0.5f, v = 0.25f, gradient = 0.75f;
        reference r = {{0}, {0.5}, {0.25}, {0}};
        const adam o = {1, 0.01, betas[j], betas[j], 1e-3, 0, flags};
        CHECK(
            an_adam_step(&value, &m, &v, &gradient, 1, 0.01, betas[j], betas[j], 1e-3, 0, flags, steps[i], 1) == AN_OK,
            "status");
        adam_reference(&r, &gradient, &o, steps[i], 1);
        CHECK(fabs(value / r.value[0] - 1) < 5e-7, "step %u, beta %g: %.9g, not %.17g", steps[i], betas[j], value,
              r.value[0]);
      }
}

/* A decay of 1e-5 a step comes as 1e-5, not as 1 - 0.99999f: the mean over many values, whose roundings cancel. */
static void test_decay(void) {
  enum { MANY = 20000 };
  uint64_t state = 3;
  float *value = guarded_alloc(MANY, 0), *m = calloc(MANY, sizeof(float)), *v = calloc(MANY, sizeof(float));
  float *gradient = calloc(MANY, sizeof(float)), *before = malloc(MANY * sizeof(float));
  fill(value, MANY, 1, &state);
  memcpy(before, value, MANY * sizeof(float));
  an_adam_step(value, m, v, gradient, 1, 1e-3, 0.9, 0.999, 1e-8, 1e-2, AN_ADAM_DECOUPLED, 1, MANY);
  double sum = 0;
  for (size_t i = 0; i < MANY; i++) sum += ((double)before[i] - value[i]) / before[i];
  /* One rounding is uniform within 6e-8 at most, so 3.5e-8 / sqrt(MANY) = 2.4e-10 is one standard deviation. */
  CHECK(fabs(sum / MANY - 1e-5) < 1.2e-9, "decay: %.12g", sum / MANY);
  guarded_free(value, MANY, 0, "value");
  free(m), free(v), free(gradient), free(before);
}

/* With AN_STEP_CHECK what is not finite is told wherever it stands; without it, it is written. */
static void test_not_finite(void) {
  for (size_t n = 1; n <= N; n++)
    for (size_t at = 0; at < n; at++)
      for (int kind = 0; kind < 7; kind++) {
        float value[N], a[N], b[N], gradient[N];
        for (size_t i = 0; i < N; i++) value[i] = 1, a[i] = 0.5f, b[i] = 0.25f, gradient[i] = 1;
        float *const where[] = {value, a, b, gradient, gradient, gradient, value};
        const float what[] = {NAN, -INFINITY, INFINITY, NAN, INFINITY, 3e38f, -3.4e38f};
        where[kind][at] = what[kind];
        float before[4][N];
        memcpy(before[0], value, sizeof value), memcpy(before[1], a, sizeof a), memcpy(before[2], b, sizeof b);
        /* A gradient of 3e38 overflows v, a value of -3.4e38 with rate -1e38 itself. */
        const double rate = kind == 6 ? 1e38 : 0.1;
        an_status got = an_adam_step(value, a, b, gradient, 1, rate, 0.9, 0.999, 1e-8, 0, AN_STEP_CHECK, 2, n);
        CHECK(got == AN_NOT_FINITE, "adam: %g as %d: %s", what[kind], kind, an_status_name(got));
        CHECK(memcmp(before[0], value, sizeof value) == 0 && memcmp(before[1], a, sizeof a) == 0 &&
                  memcmp(before[2], b, sizeof b) == 0,
              "a refused step writes");
        if (kind != 2) { /* SGD has no v; a gradient of 3e38 is doubled, for it to overflow */
          got = an_sgd_step(value, a, gradient, kind == 5 ? 2 : 1, rate, 0.9, 0, 0, AN_STEP_CHECK, 2, n);
          CHECK(got == AN_NOT_FINITE, "sgd: %g as %d: %s", what[kind], kind, an_status_name(got));
          CHECK(memcmp(before[0], value, sizeof value) == 0 && memcmp(before[1], a, sizeof a) == 0,
                "a refused step writes");
        }
        got = an_adam_step(value, a, b, gradient, 1, rate, 0.9, 0.999, 1e-8, 0, 0, 2, n);
        CHECK(got == AN_OK && !(isfinite(value[at]) && isfinite(a[at]) && isfinite(b[at])), "kind %d is not written",
              kind);
        for (size_t i = 0; i < n; i++)
          CHECK(i == at || kind == 6 || (isfinite(value[i]) && value[i] < 1), "element %zu, not %zu", i, at);
      }
  /* Lanes beyond the end must not count: 0 / 0 there if they held zeros. */
  for (size_t n = 1; n <= N; n++) {
    float value[N], m[N] = {0}, v[N] = {0}, gradient[N];
    for (size_t i = 0; i < N; i++) value[i] = 1, gradient[i] = -2;
    CHECK(an_adam_step(value, m, v, gradient, 1, 0.5, 0, 0, 0, 0, AN_STEP_CHECK, 1, n) == AN_OK, "eps 0, %zu elements",
          n);
    CHECK(an_adam_step(value, m, v, gradient, 1, 0.5, 0, 0, 0, 0, 0, 1, n) == AN_OK && value[n - 1] == 1.5f,
          "sign descent");
  }
}

static void test_errors(void) {
  float value[4] = {42, 42, 42, 42}, a[4] = {42, 42, 42, 42}, b[4] = {42, 42, 42, 42};
  const float gradient[4] = {1, 1, 1, 1}, before[4] = {42, 42, 42, 42};
#define REFUSED(status, call)                                                                                   \
  do {                                                                                                          \
    const an_status got = call;                                                                                 \
    CHECK(got == (status), "got %s for " #call, an_status_name(got));                                           \
    CHECK(!memcmp(value, before, sizeof value) && !memcmp(a, before, sizeof a) && !memcmp(b, before, sizeof b), \
          "written by " #call);                                                                                 \
  } while (0)
  REFUSED(AN_UNKNOWN_FLAG, an_sgd_step(value, a, gradient, 1, 1, 0, 0, 0, 4, 1, 4));
  REFUSED(AN_UNKNOWN_FLAG, an_adam_step(value, a, b, gradient, 1, 1, 0.9, 0.9, 0, 0, 8, 1, 4));
  const double bad[] = {NAN, INFINITY, -INFINITY, 1e39};
  for (int i = 0; i < 4; i++) {
    REFUSED(AN_INVALID_VALUE, an_sgd_step(value, a, gradient, bad[i], 1, 0.9, 0, 0, 0, 1, 4));
    REFUSED(AN_INVALID_VALUE, an_sgd_step(value, a, gradient, 1, bad[i], 0.9, 0, 0, 0, 1, 4));
    REFUSED(AN_INVALID_VALUE, an_sgd_step(value, a, gradient, 1, 1, bad[i], 0, 0, 0, 1, 4));
    REFUSED(AN_INVALID_VALUE, an_sgd_step(value, a, gradient, 1, 1, 0.9, bad[i], 0, 0, 1, 4));
    REFUSED(AN_INVALID_VALUE, an_sgd_step(value, a, gradient, 1, 1, 0.9, 0, bad[i], 0, 1, 4));
    REFUSED(AN_INVALID_VALUE, an_adam_step(value, a, b, gradient, bad[i], 1, 0.9, 0.9, 0, 0, 0, 1, 4));
    REFUSED(AN_INVALID_VALUE, an_adam_step(value, a, b, gradient, 1, bad[i], 0.9, 0.9, 0, 0, 0, 1, 4));
    REFUSED(AN_INVALID_VALUE, an_adam_step(value, a, b, gradient, 1, 1, bad[i], 0.9, 0, 0, 0, 1, 4));
    REFUSED(AN_INVALID_VALUE, an_adam_step(value, a, b, gradient, 1, 1, 0.9, bad[i], 0, 0, 0, 1, 4));
    REFUSED(AN_INVALID_VALUE, an_adam_step(value, a, b, gradient, 1, 1, 0.9, 0.9, bad[i], 0, 0, 1, 4));
    REFUSED(AN_INVALID_VALUE, an_adam_step(value, a, b, gradient, 1, 1, 0.9, 0.9, 0, bad[i], 0, 1, 4));
  }
  REFUSED(AN_INVALID_VALUE, an_sgd_step(value, a, gradient, 1, 1, 1.01, 0, 0, 0, 1, 4));
  REFUSED(AN_INVALID_VALUE, an_sgd_step(value, a, gradient, 1, 1, -0.01, 0, 0, 0, 1, 4));
  REFUSED(AN_INVALID_VALUE, an_sgd_step(value, a, gradient, 1, 1, 0.9, 0, 0, 0, 0, 4));
  REFUSED(AN_INVALID_VALUE, an_adam_step(value, a, b, gradient, 1, 1, 1, 0.9, 0, 0, 0, 1, 4));
  REFUSED(AN_INVALID_VALUE, an_adam_step(value, a, b, gradient, 1, 1, 0.9, 1, 0, 0, 0, 1, 4));
  REFUSED(AN_INVALID_VALUE, an_adam_step(value, a, b, gradient, 1, 1, -0.1, 0.9, 0, 0, 0, 1, 4));
  REFUSED(AN_INVALID_VALUE, an_adam_step(value, a, b, gradient, 1, 1, 0.9, 0.9, -1e-8, 0, 0, 1, 4));
  REFUSED(AN_INVALID_VALUE, an_adam_step(value, a, b, gradient, 1, 1, 0.9, 0.9, 0, 0, 0, 0, 4));
  REFUSED(AN_SIZE_OVERFLOW, an_sgd_step(value, a, gradient, 1, 1, 0.9, 0, 0, 0, 1, SIZE_MAX / 2));
  REFUSED(AN_SIZE_OVERFLOW, an_adam_step(value, a, b, gradient, 1, 1, 0.9, 0.9, 0, 0, 0, 1, SIZE_MAX / 2));
  REFUSED(AN_NULL_POINTER, an_sgd_step(NULL, a, gradient, 1, 1, 0.9, 0, 0, 0, 1, 4));
  REFUSED(AN_NULL_POINTER, an_sgd_step(value, NULL, gradient, 1, 1, 0.9, 0, 0, 0, 1, 4));
  REFUSED(AN_NULL_POINTER, an_sgd_step(value, a, NULL, 1, 1, 0.9, 0, 0, 0, 1, 4));
  REFUSED(AN_NULL_POINTER, an_adam_step(NULL, a, b, gradient, 1, 1, 0.9, 0.9, 0, 0, 0, 1, 4));
  REFUSED(AN_NULL_POINTER, an_adam_step(value, NULL, b, gradient, 1, 1, 0.9, 0.9, 0, 0, 0, 1, 4));
  REFUSED(AN_NULL_POINTER, an_adam_step(value, a, NULL, gradient, 1, 1, 0.9, 0.9, 0, 0, 0, 1, 4));
  REFUSED(AN_NULL_POINTER, an_adam_step(value, a, b, NULL, 1, 1, 0.9, 0.9, 0, 0, 0, 1, 4));
  REFUSED(AN_OK, an_sgd_step(NULL, NULL, NULL, 1, 1, 0.9, 0, 0, AN_STEP_CHECK, 1, 0));
  REFUSED(AN_OK, an_adam_step(NULL, NULL, NULL, NULL, 1, 1, 0.9, 0.9, 0, 0, AN_STEP_CHECK, 1, 0));
}

int main(void) {
  test_sgd();
  test_adam();
  test_late_steps();
  test_decay();
  test_not_finite();
  test_errors();
  printf("trajectories of %d steps, of the path's length: sgd within %.2g, adam within %.2g\n", STEPS, worst_sgd,
         worst_adam);
  return test_report("optim");
}
