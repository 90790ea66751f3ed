/* What the tests of the norms and of their gradients share: statistics in double precision, and rows that break naive
 * kernels: a mean far above the spread, squares that overflow or underflow, outliers, no spread at all. */
#ifndef AN_NORM_DATA_H
#define AN_NORM_DATA_H

#include "test.h"

#ifdef AN_TEST_QUICK
enum { QUICK = 1 };
#else
enum { QUICK = 0 };
#endif

static inline size_t norm_index(const char *name) {
  for (size_t i = 0; i < an_norm_count(); i++)
    if (strcmp(an_norm_name(i), name) == 0) return i;
  CHECK(0, "no norm %s", name);
  return 0;
}

/* ---- References, from the formulas of include/addnorm.h and the papers ---- */

typedef struct statistics {
  double mean, factor;
} statistics;

/* Two passes in double. The sum starts from the first element's distance so that it is right at a mean of 1e6. */
static inline statistics reference_statistics(const char *name, const double *x, size_t d, double eps) {
  const int centred = strncmp(name, "rms", 3) != 0;
  double sum = 0, squares = 0;
  for (size_t i = 0; i < d; i++) sum += x[i] - x[0];
  const double mean = centred ? x[0] + sum / (double)d : 0;
  for (size_t i = 0; i < d; i++) squares += (x[i] - mean) * (x[i] - mean);
  double divisor = 0;
  if (strcmp(name, "layer_norm_std") == 0)
    divisor = (d > 1 ? sqrt(squares / (double)(d - 1)) : 0) + eps;
  else if (strcmp(name, "rms_norm_outside") == 0)
    divisor = sqrt(squares / (double)d) + eps;
  else /* layer_norm, rms_norm, and the norms over channels */
    divisor = sqrt(squares / (double)d + eps);
  return (statistics){mean, divisor == 0 ? 0 : 1 / divisor};
}

static const char *const row_norms[] = {"layer_norm", "layer_norm_std", "rms_norm", "rms_norm_outside"};
static const double row_eps[] = {1e-5, 1e-6, 1e-6, 1e-6};

/* ---- Data ---- */

enum {
  DATA_NORMAL,
  DATA_SHIFT_1E4,
  DATA_SHIFT_MINUS_1E4,
  DATA_SHIFT_1E6,
  DATA_SHIFT_MINUS_1E6,
  DATA_STEP,
  DATA_OUTLIER,
  DATA_FAR_OUTLIER,
  DATA_FIRST_1E30,
  DATA_SPIKE,
  DATA_SPARSE,
  DATA_1E19,
  DATA_1E30,
  DATA_3E38,
  DATA_1E_15,
  DATA_1E_22,
  DATA_TINY,
  DATA_SUBNORMAL,
  DATA_MOST_SUBNORMAL,
  DATA_LAST_BIT,
  DATA_UNIFORM,
  DATA_COUNT
};
static const char *const data_names[] = {"normal",
                                         "mean 1e4",
                                         "mean -1e4",
                                         "mean 1e6",
                                         "mean -1e6",
                                         "two values",
                                         "first element an outlier",
                                         "first element 1e6",
                                         "first element 1e30",
                                         "spike",
                                         "sparse",
                                         "1e19",
                                         "1e30",
                                         "3e38",
                                         "1e-15",
                                         "1e-22",
                                         "1e-30",
                                         "subnormal",
                                         "mostly subnormal",
                                         "1e6 but for a last bit",
                                         "uniform"};

static inline float sample(int data, size_t i, size_t d, uint64_t *state) {
  const double z = test_normal(state), u = test_uniform(state);
  switch (data) {
    case DATA_SHIFT_1E4: return (float)(1e4 + z);
    case DATA_SHIFT_MINUS_1E4: return (float)(-1e4 + 0.7 * z);
    case DATA_SHIFT_1E6: return (float)(1e6 + z);
    case DATA_SHIFT_MINUS_1E6: return (float)(-1e6 + 0.7 * z);
    case DATA_STEP: return i % 2 ? 3.25f : -1.75f;
    case DATA_OUTLIER: return (float)(i == 0 ? 300 : z);
    case DATA_FAR_OUTLIER: return (float)(i == 0 ? 1e6 : z);
    case DATA_FIRST_1E30: return (float)(i == 0 ? 1e30 : z);
    case DATA_SPIKE: return (float)(i == d / 2 ? 1e4 : 1e-3 * z);
    case DATA_SPARSE: return (float)(u < 0.9 ? 0 : z);
    case DATA_1E19: return (float)(1e19 * z);
    case DATA_1E30: return (float)(1e30 * z);
    case DATA_3E38: return (float)(6e38 * (u - 0.5));
    case DATA_1E_15: return (float)(1e-15 * z);
    case DATA_1E_22: return (float)(1e-22 * z);
    case DATA_TINY: return (float)(1e-30 * z);
    case DATA_SUBNORMAL: return (float)(1e-40 * z);
    case DATA_MOST_SUBNORMAL: return (float)(u < 0.02 ? z : 1e-40 * z);
    case DATA_LAST_BIT: return i == d - 1 ? 1000000.0625f : 1000000.0f;
    case DATA_UNIFORM: return (float)(2 * u - 0.5);
    default: return (float)z;
  }
}

static inline void fill_affine(float *weight, float *bias, size_t d, uint64_t *state) {
  for (size_t i = 0; i < d; i++) {
    weight[i] = (float)(1 + 0.5 * test_normal(state));
    bias[i] = (float)test_normal(state);
  }
}

#endif
