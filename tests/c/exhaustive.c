/* Measures one function over a range of float32 bit patterns, in a plain and in a fused build at once, so that the
 * double-precision reference is computed once. exhaustive.js builds it and runs it over all 2^32.
 *
 * The two builds are shared objects of this file with -DEXHAUSTIVE_KERNELS and src/activation.c.
 *   exhaustive --list                                       name, bound and unit of everything there is
 *   exhaustive plain.so fused.so name first count stride    one line of JSON
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../include/addnorm.h"

typedef void kernel(float *y, const float *x, size_t n, const char *name);

#if defined(EXHAUSTIVE_KERNELS)

#include "../../src/map.h"
#include "../../src/vmath.h"

static vf op_exp(vf x, double p0, double p1) {
  (void)p0, (void)p1;
  return vm_exp(x);
}
static vf op_log1p(vf x, double p0, double p1) {
  (void)p0, (void)p1;
  return vm_log1p(x);
}

static vf op_sech2(vf x, double p0, double p1) {
  (void)p0, (void)p1;
  return vm_sech2(x);
}

/* An activation at its default parameters, "<activation>_grad", its derivative, or one of the elementary functions that
 * other kernels use. */
void exhaustive_kernel(float *y, const float *x, size_t n, const char *name);
void exhaustive_kernel(float *y, const float *x, size_t n, const char *name) {
  if (!strcmp(name, "exp")) map(y, x, n, op_exp, 0, 0);
  if (!strcmp(name, "log1p")) map(y, x, n, op_log1p, 0, 0);
  if (!strcmp(name, "sech2")) map(y, x, n, op_sech2, 0, 0);
  for (size_t a = 0; a < an_activation_count(); a++) {
    const double p0 = an_activation_param_default(a, 0), p1 = an_activation_param_default(a, 1);
    const size_t length = strlen(an_activation_name(a));
    if (strncmp(an_activation_name(a), name, length)) continue;
    if (!strcmp(name + length, "")) an_activation_fwd(y, x, n, a, p0, p1);
    if (strcmp(name + length, "_grad")) continue;
    for (size_t i = 0; i < n; i++) y[i] = 1;
    an_activation_bwd(y, x, y, n, a, p0, p1);
  }
}

#else

#include <dlfcn.h>

#include "reference.h"
#include "test.h"

static double reference_exp(double x, double p0, double p1) {
  (void)p0, (void)p1;
  return exp(x);
}
static double reference_log1p(double x, double p0, double p1) {
  (void)p0, (void)p1;
  return log1p(x);
}
static double reference_sech2(double x, double p0, double p1) { return slope_tanh(x, p0, p1); }
static const reference elementary[] = {
    {"exp", reference_exp, NULL, 2, 0}, {"log1p", reference_log1p, NULL, 2, 0}, {"sech2", reference_sech2, NULL, 4, 0}};
enum { ELEMENTARY = sizeof elementary / sizeof elementary[0] };

/* ulp_error of test.h without its calls to frexp and ldexp; a wrong sign of zero counts as well. */
static inline double fast_error(float got, double want) {
  if (!(fabs(want) < 0x1p128) || !(fabsf(got) < INFINITY)) return ulp_error(got, want);
  if (!signbit(got) != !signbit(want)) return INFINITY;
  uint64_t bits;
  memcpy(&bits, &want, sizeof bits);
  int e = (int)(bits >> 52 & 2047) - 1023;
  if (e < -126) e = -126;
  bits = (uint64_t)(1023 + 23 - e) << 52;
  double per_ulp;
  memcpy(&per_ulp, &bits, sizeof per_ulp);
  return fabs((double)got - want) * per_ulp;
}

/* Of a derivative, whose bound is an absolute one: in units of 1e-6. */
static inline double slope_error(float got, double want) {
  if (!(fabs(want) < 0x1p128) || !(fabsf(got) < INFINITY)) return ulp_error(got, want);
  return fabs((double)got - want) * 1e6;
}

typedef struct worst {
  double ulp, normal_ulp; /* or units of 1e-6 */
  uint32_t at, normal_at;
} worst;

static inline void update(worst *w, double error, double want, uint32_t bits) {
  if (error > w->ulp) w->ulp = error, w->at = bits;
  if (error > w->normal_ulp && fabs(want) >= 0x1p-126) w->normal_ulp = error, w->normal_at = bits;
}

static kernel *open_kernel(const char *path) {
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  kernel *found = NULL;
  void *symbol = library ? dlsym(library, "exhaustive_kernel") : NULL;
  if (!symbol) {
    fprintf(stderr, "%s\n", dlerror());
    exit(2);
  }
  memcpy(&found, &symbol, sizeof found);
  return found;
}

/* JSON has no infinity: 1e999 reads back as one. */
static void print_worst(const char *label, const worst *w) {
  printf("\"%s\":{\"ulp\":%.4f,\"at\":\"%08x\",\"normal\":%.4f,\"normalAt\":\"%08x\"}", label,
         isinf(w->ulp) ? 1e9 : w->ulp, (unsigned)w->at, isinf(w->normal_ulp) ? 1e9 : w->normal_ulp,
         (unsigned)w->normal_at);
}

int main(int argc, char **argv) {
  if (argc == 2 && !strcmp(argv[1], "--list")) {
    for (size_t i = 0; i < ELEMENTARY; i++) printf("%s %g ULP\n", elementary[i].name, elementary[i].bound);
    for (size_t a = 0; a < an_activation_count(); a++) {
      const reference *r = reference_find(an_activation_name(a));
      if (!r) return fprintf(stderr, "%s has no reference\n", an_activation_name(a)), 2;
      printf("%s %g ULP\n%s_grad 1 1e-6\n", r->name, r->bound, r->name);
    }
    return 0;
  }
  if (argc != 7) return fprintf(stderr, "usage: exhaustive plain.so fused.so name first count stride\n"), 2;
  kernel *const plain = open_kernel(argv[1]), *const fused = open_kernel(argv[2]);
  const char *name = argv[3];
  const uint64_t first = strtoull(argv[4], NULL, 0), count = strtoull(argv[5], NULL, 0);
  const uint64_t stride = strtoull(argv[6], NULL, 0);

  char base[64];
  snprintf(base, sizeof base, "%s", name);
  char *const suffix = strstr(base, "_grad");
  const int is_slope = suffix && !strcmp(suffix, "_grad");
  if (is_slope) *suffix = 0;
  const reference *r = reference_find(base);
  double p0 = 0, p1 = 0;
  for (size_t i = 0; i < ELEMENTARY; i++)
    if (!strcmp(elementary[i].name, name)) r = &elementary[i];
  for (size_t a = 0; a < an_activation_count(); a++) {
    if (strcmp(an_activation_name(a), base)) continue;
    p0 = an_activation_param_default(a, 0), p1 = an_activation_param_default(a, 1);
  }
  if (!r) return fprintf(stderr, "no function is called %s\n", name), 2;
  /* vm_log1p is for x >= 0 alone. */
  const int is_log1p = !strcmp(name, "log1p");

  enum { RUN = 4096 };
  static float x[RUN], y_plain[RUN], y_fused[RUN];
  worst worst_plain = {0}, worst_fused = {0};
  for (uint64_t done = 0; done < count;) {
    size_t n = 0;
    for (; n < RUN && done < count; done++) {
      const uint32_t bits = (uint32_t)(first + done * stride);
      if (is_log1p && bits >= 0x80000000) continue;
      x[n++] = float_from_bits(bits);
    }
    plain(y_plain, x, n, name), fused(y_fused, x, n, name);
    for (size_t i = 0; i < n; i++) {
      const double want = (is_slope ? r->slope : r->value)((double)x[i], p0, p1);
      double (*const error)(float, double) = is_slope ? slope_error : fast_error;
      const uint32_t bits = bits_from_float(x[i]);
      update(&worst_plain, error(y_plain[i], want), want, bits);
      update(&worst_fused, error(y_fused[i], want), want, bits);
    }
  }
  printf("{"), print_worst("plain", &worst_plain), printf(","), print_worst("fused", &worst_fused), printf("}\n");
  return 0;
}

#endif
