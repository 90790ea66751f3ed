/* The fields of a configuration (config.def), the placements (placement.def), and what AUTO stands for. */
#include "config.h"

#include <string.h>

#include "activation.h"
#include "norm.h"
#include "text.h"

enum {
  AN_TYPE_INT,
  AN_TYPE_FLOAT,
  AN_TYPE_BOOL,
  AN_TYPE_ACTIVATION,
  AN_TYPE_NORM,
  AN_TYPE_PLACEMENT,
  AN_TYPE_AFFINE,
  AN_TYPE_INIT,
  AN_TYPE_MIXING
};

static const char type_names[] = "int\0float\0bool\0activation\0norm\0placement\0affine\0init\0mixing";
/* Of an enumeration's values; 0 for numbers. */
static const unsigned char type_counts[] = {
    0, 0, 0, AN_ACTIVATION_COUNT, AN_NORM_COUNT, AN_PLACEMENT_COUNT, AN_AFFINE_COUNT, AN_INIT_COUNT, AN_MIXING_COUNT};

#define AN_AUTO __builtin_nan("")

static const struct {
  double value, min, max;
  const char *name; /* looked up often */
  unsigned char type;
} fields[] = {
#define AN_FIELD(name, type, value, min, max, group, help) {value, min, max, #name, type},
#include "config.def"
#undef AN_FIELD
};

enum { FIELD_GROUP, FIELD_HELP, FIELD_TEXTS };
static const char *field_text(size_t f, size_t which) {
  static const char texts[] =
#define AN_FIELD(name, type, value, min, max, group, help) group "\0" help "\0"
#include "config.def"
#undef AN_FIELD
      ;
  return f < AN_FIELD_COUNT ? text_at(texts, f * FIELD_TEXTS + which) : NULL;
}

static const char placement_names[] =
#define AN_PLACEMENT(id, ...) #id "\0"
#include "placement.def"
#undef AN_PLACEMENT
    ;

enum { PLACEMENT_FORMULA, PLACEMENT_HELP, PLACEMENT_TEXTS };
static const char *placement_text(size_t p, size_t which) {
  static const char texts[] =
#define AN_PLACEMENT(id, formula, help) formula "\0" help "\0"
#include "placement.def"
#undef AN_PLACEMENT
      ;
  return p < AN_PLACEMENT_COUNT ? text_at(texts, p * PLACEMENT_TEXTS + which) : NULL;
}

static const char affines[] = "none\0weight\0weight_bias";
static const char inits[] =
    "pytorch\0xavier_uniform\0xavier_normal\0normal\0kaiming_uniform\0kaiming_normal\0gpt2\0zero";
static const char mixings[] = "none\0mean\0attention";

size_t an_field_count(void) { return AN_FIELD_COUNT; }
const char *an_field_name(size_t f) { return f < AN_FIELD_COUNT ? fields[f].name : NULL; }
const char *an_field_type(size_t f) { return f < AN_FIELD_COUNT ? text_at(type_names, fields[f].type) : NULL; }
double an_field_default(size_t f) { return f < AN_FIELD_COUNT ? fields[f].value : 0; }
double an_field_min(size_t f) { return f < AN_FIELD_COUNT ? fields[f].min : 0; }
double an_field_max(size_t f) {
  if (f >= AN_FIELD_COUNT) return 0;
  const int count = type_counts[fields[f].type];
  return count ? (double)(count - 1) : fields[f].max;
}
const char *an_field_group(size_t f) { return field_text(f, FIELD_GROUP); }
const char *an_field_help(size_t f) { return field_text(f, FIELD_HELP); }

const char *an_affine_name(size_t affine) { return affine < AN_AFFINE_COUNT ? text_at(affines, affine) : NULL; }
const char *an_init_name(size_t init) { return init < AN_INIT_COUNT ? text_at(inits, init) : NULL; }
const char *an_mixing_name(size_t mixing) { return mixing < AN_MIXING_COUNT ? text_at(mixings, mixing) : NULL; }

size_t an_placement_count(void) { return AN_PLACEMENT_COUNT; }
const char *an_placement_name(size_t p) { return p < AN_PLACEMENT_COUNT ? text_at(placement_names, p) : NULL; }
const char *an_placement_formula(size_t p) { return placement_text(p, PLACEMENT_FORMULA); }
const char *an_placement_help(size_t p) { return placement_text(p, PLACEMENT_HELP); }

an_status an_config_default(double *config) {
  if (!config) return AN_NULL_POINTER;
  for (size_t f = 0; f < AN_FIELD_COUNT; f++) config[f] = fields[f].value;
  return AN_OK;
}

static int is_auto(double value) { return value != value; }

/* One field by itself: AUTO only where the default is AUTO; range; whole numbers; list lengths. */
static an_status check_field(size_t f, double value) {
  if (is_auto(value)) return is_auto(fields[f].value) ? AN_OK : AN_INVALID_VALUE;
  const int type = fields[f].type, is_index = type_counts[type] > 0;
  if (!(value >= an_field_min(f) && value <= an_field_max(f))) return is_index ? AN_UNKNOWN_OP : AN_INVALID_VALUE;
  if (type != AN_TYPE_FLOAT && value != (double)(int32_t)value) return AN_INVALID_VALUE;
  return AN_OK;
}

double config_additions(const double *config) {
  return config[AN_FIELD_depth] * (config[AN_FIELD_mixing] == AN_MIXING_none ? 1 : 2);
}

/* x^(1/4) from correctly rounded roots: the same bits everywhere. */
static double fourth_root(double x) { return __builtin_sqrt(__builtin_sqrt(x)); }

/* Writes the values that are used; config has been checked field by field. */
static void resolve(double *out, const double *config) {
  memmove(out, config, AN_FIELD_COUNT * sizeof(double));
  const size_t activation = (size_t)out[AN_FIELD_activation], norm = (size_t)out[AN_FIELD_norm];
  const double additions = config_additions(config), d = out[AN_FIELD_d_model];
  double alpha = 1, beta = 1;
  int final_norm = 0;
  switch ((int)out[AN_FIELD_placement]) {
    case AN_PLACEMENT_deepnorm: alpha = fourth_root(additions), beta = 1 / fourth_root(4 * additions); break;
    case AN_PLACEMENT_rezero: alpha = 0; break;
    case AN_PLACEMENT_layer_scale: alpha = 1e-4, final_norm = 1; break;
    case AN_PLACEMENT_pre:
    case AN_PLACEMENT_peri:
    case AN_PLACEMENT_output:
    case AN_PLACEMENT_lns: final_norm = 1; break;
  }
  const struct {
    int field;
    double value;
  } automatic[] = {
      {AN_FIELD_d_ff, 4 * out[AN_FIELD_d_model]},
      {AN_FIELD_activation_p0, an_activation_param_default(activation, 0)},
      {AN_FIELD_activation_p1, an_activation_param_default(activation, 1)},
      {AN_FIELD_eps, an_norm_default_eps(norm)},
      {AN_FIELD_affine, (double)an_norm_default_affine(norm)},
      {AN_FIELD_alpha, alpha},
      {AN_FIELD_beta, beta},
      {AN_FIELD_heads, (int)d % 64 == 0 ? d / 64 : 1},
      {AN_FIELD_final_norm, final_norm},
  };
  for (size_t i = 0; i < sizeof automatic / sizeof *automatic; i++)
    if (is_auto(out[automatic[i].field])) out[automatic[i].field] = automatic[i].value;
}

/* *f: the field that is being looked at. */
static an_status check(const double *config, size_t *f) {
  an_status status;
  for (*f = 0; *f < AN_FIELD_COUNT; ++*f)
    if ((status = check_field(*f, config[*f]))) return status;

  double used[AN_FIELD_COUNT];
  resolve(used, config);
  const size_t activation = (size_t)used[AN_FIELD_activation];
  const double p0 = used[AN_FIELD_activation_p0], p1 = used[AN_FIELD_activation_p1];
  *f = AN_FIELD_activation_p0;
  if ((status = activation_check(activation, p0, an_activation_param_default(activation, 1)))) return status;
  *f = AN_FIELD_activation_p1;
  if ((status = activation_check(activation, p0, p1))) return status;
  *f = AN_FIELD_groups;
  if (used[AN_FIELD_norm] == AN_NORM_group_norm && (int)used[AN_FIELD_d_model] % (int)used[AN_FIELD_groups] != 0)
    return AN_INVALID_SHAPE;
  *f = AN_FIELD_heads;
  if (used[AN_FIELD_mixing] == AN_MIXING_attention && (int)used[AN_FIELD_d_model] % (int)used[AN_FIELD_heads] != 0)
    return AN_INVALID_SHAPE;
  return AN_OK;
}

an_status an_config_check(const double *config, uint32_t *field) {
  if (!config) return AN_NULL_POINTER;
  size_t f;
  const an_status status = check(config, &f);
  if (status && field) *field = (uint32_t)f;
  return status;
}

an_status an_config_resolve(double *out, const double *config) {
  if (!out) return AN_NULL_POINTER;
  const an_status status = an_config_check(config, NULL);
  if (status) return status;
  resolve(out, config);
  return AN_OK;
}
