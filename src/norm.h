/* The norms by number, for the layers above. */
#ifndef AN_NORM_H
#define AN_NORM_H

#include "../include/addnorm.h"

enum { AN_AFFINE_none, AN_AFFINE_weight, AN_AFFINE_weight_bias, AN_AFFINE_COUNT };

enum {
#define AN_NORM(id, ...) AN_NORM_##id,
#include "norm/list.def"
#undef AN_NORM
  AN_NORM_COUNT
};

#endif
