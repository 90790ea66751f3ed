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
static const char *variable; /* "activation", "norm", "placement", "init" or "" */
static size_t variable_index;

static uint32_t next(void) { return state = state * 1664525u + 1013904223u; }

static void *alloc(size_t bytes) {
  if (buffer_count == MAX_BUFFERS) fail("too many", "buffers");
  void *p = calloc(1, bytes ? bytes : 1);
  if (!p) fail("out of", "memory");
  return buffers[buffer_count++] = p;
}

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
    else if (!strcmp(kind, "bits"))
      memcpy(p + i, &s, sizeof s);
    else
      fail("no kind", kind);
  }
}

static void count(const float *p, size_t n) {
  for (size_t i = 0; i < n; i++) {
    uint32_t word = bits_from_float(p[i]);
    if ((word & 0x7fffffffu) > 0x7f800000u) word = 0x7fc00000u;
    for (int shift = 0; shift < 32; shift += 8) hash = (hash ^ ((word >> shift) & 255u)) * 0x100000001b3u;
  }
}

/* ---- Names ------------------------------------------------------------------------------------------------------ */

static const char *list_name(const char *list, size_t i) {
  if (!strcmp(list, "activation")) return an_activation_name(i);
  if (!strcmp(list, "norm")) return an_norm_name(i);
  if (!strcmp(list, "placement")) return an_placement_name(i);
  if (!strcmp(list, "affine")) return an_affine_name(i);
  if (!strcmp(list, "init")) return an_init_name(i);
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
  size_t result; /* elements to hash after the call */
} arg;

static arg parse(const char *token) {
  arg a = {0, NULL, 0};
  char type[32] = "", size[64] = "", kind[32] = "plain";
  const int parts = sscanf(token, "%31[^:]:%63[^:]:%31s", type, size, kind);
  if (!strcmp(token, "null")) return a;
  if (!strcmp(token, "@")) {
    a.pointer = packed;
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
  } else {
    size_t n = 1;
    for (char *s = strtok(size, "*"); s; s = strtok(NULL, "*")) n *= strtoul(s, NULL, 10);
    a.pointer = alloc(n * sizeof(float));
    if (strcmp(type, "out")) fill(a.pointer, n, kind);
    if (strcmp(type, "in")) a.result = n;
  }
  return a;
}

static void call(const char *name, char **tokens, size_t n) {
  arg a[MAX_ARGS] = {{0, NULL, 0}};
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
  else
    fail("no function", name);
  succeed(status, name);
  for (size_t i = 0; i < n; i++)
    if (a[i].result) count(a[i].pointer, a[i].result);
}

/* ---- block, init ------------------------------------------------------------------------------------------------- */

typedef struct extra {
  size_t batch, length;
  int training;
} extra;

static size_t field_index(const char *name) {
  size_t i = 0;
  while (i < an_field_count() && strcmp(an_field_name(i), name)) i++;
  return i;
}

static extra configure(double *config, char **tokens, size_t n) {
  extra rest = {0, 0, 0};
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
    else
      fail("no field", key);
  }
  return rest;
}

static void block(char **tokens, size_t token_count) {
  double *config = alloc(an_field_count() * sizeof *config);
  const extra e = configure(config, tokens, token_count);
  float *weights = alloc(an_module_packed_bytes(config));
  for (size_t p = 0; p < an_module_parameter_count(config); p++) {
    size_t rows, cols;
    const size_t axes = an_module_parameter_shape(config, p, &rows, &cols);
    float *value = alloc(rows * cols * sizeof *value);
    fill(value, rows * cols, axes == 2 ? "small" : "unit");
    succeed(an_module_pack(weights, NULL, config, p, value), "an_module_pack");
  }
  const size_t n = e.batch * e.length * (size_t)config[field_index("d_model")];
  float *x = alloc(n * sizeof *x), *y = alloc(n * sizeof *y);
  fill(x, n, "plain");
  for (int mode = e.training; mode >= 0; mode--) {
    const size_t bytes = an_module_workspace_bytes(config, mode, e.batch, e.length);
    void *workspace = alloc(bytes), *saved = mode ? alloc(an_module_saved_bytes(config, e.batch, e.length)) : NULL;
    succeed(an_module_fwd(y, x, NULL, weights, saved, workspace, bytes, config, 0, e.batch, e.length), "an_module_fwd");
    count(y, n);
  }
}

static void init(char **tokens, size_t token_count) {
  double *config = alloc(an_field_count() * sizeof *config);
  configure(config, tokens, token_count);
  for (size_t p = 0; p < an_module_parameter_count(config); p++) {
    size_t rows, cols;
    an_module_parameter_shape(config, p, &rows, &cols);
    float *value = alloc(rows * cols * sizeof *value);
    succeed(an_module_parameter_init(value, config, p, 7), "an_module_parameter_init");
    count(value, rows * cols);
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
