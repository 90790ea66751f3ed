#include "text.h"

const char *text_at(const char *list, size_t i) {
  while (i > 0) i -= *list++ == 0;
  return list;
}
