/* Elementary functions on vectors. */
#ifndef AN_VMATH_H
#define AN_VMATH_H

#include "simd.h"

#endif
