/* The fields of a configuration by number, for the layers above. */
#ifndef AN_CONFIG_H
#define AN_CONFIG_H

#include "../include/addnorm.h"

enum {
#define AN_FIELD(name, ...) AN_FIELD_##name,
#include "config.def"
#undef AN_FIELD
  AN_FIELD_COUNT
};

enum {
#define AN_PLACEMENT(id, ...) AN_PLACEMENT_##id,
#include "placement.def"
#undef AN_PLACEMENT
  AN_PLACEMENT_COUNT
};

enum {
  AN_INIT_pytorch,
  AN_INIT_xavier_uniform,
  AN_INIT_xavier_normal,
  AN_INIT_normal,
  AN_INIT_kaiming_uniform,
  AN_INIT_kaiming_normal,
  AN_INIT_gpt2,
  AN_INIT_zero,
  AN_INIT_COUNT
};

enum { AN_MIXING_none, AN_MIXING_mean, AN_MIXING_attention, AN_MIXING_COUNT };

/* Residual additions of the whole stack: one a sublayer. */
double config_additions(const double *config);

#endif
