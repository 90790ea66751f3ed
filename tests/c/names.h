/* The module's lists and a configuration's fields by their names. */
#ifndef AN_NAMES_H
#define AN_NAMES_H

#include "test.h"

enum { MAX_FIELDS = 64 };

static inline size_t find(const char *name, size_t count, const char *(*name_of)(size_t)) {
  for (size_t i = 0; i < count; i++)
    if (strcmp(name_of(i), name) == 0) return i;
  printf("no %s\n", name);
  exit(1);
}
static inline size_t field(const char *name) { return find(name, an_field_count(), an_field_name); }
static inline void set(double *config, const char *name, double value) { config[field(name)] = value; }

/* As a field holds them. */
static inline double activation(const char *name) {
  return (double)find(name, an_activation_count(), an_activation_name);
}
static inline double norm(const char *name) { return (double)find(name, an_norm_count(), an_norm_name); }
static inline double placement(const char *name) { return (double)find(name, an_placement_count(), an_placement_name); }
static inline double init(const char *name) { return (double)find(name, 8, an_init_name); }

#endif
