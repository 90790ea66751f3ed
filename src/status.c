#include "../include/addnorm.h"

#include "text.h"

const char *an_status_name(int status) {
  static const char names[] =
      "OK\0NULL_POINTER\0UNKNOWN_OP\0INVALID_VALUE\0UNKNOWN_FLAG\0INVALID_SHAPE\0SIZE_OVERFLOW\0WORKSPACE_TOO_SMALL\0"
      "NOT_FINITE\0UNKNOWN_STATUS";
  static const signed char values[] = {AN_OK,           AN_NULL_POINTER,  AN_UNKNOWN_OP,    AN_INVALID_VALUE,
                                       AN_UNKNOWN_FLAG, AN_INVALID_SHAPE, AN_SIZE_OVERFLOW, AN_WORKSPACE_TOO_SMALL,
                                       AN_NOT_FINITE};
  size_t i = 0;
  while (i < sizeof values && values[i] != status) i++;
  return text_at(names, i);
}

#ifndef AN_BUILD
#define AN_BUILD "native"
#endif
const char *an_build(void) { return "addnorm " AN_VERSION " " AN_BUILD; }
