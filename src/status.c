#include "../include/addnorm.h"

const char *an_status_name(int status) {
  switch (status) {
    case AN_OK: return "OK";
    case AN_NULL_POINTER: return "NULL_POINTER";
    case AN_UNKNOWN_OP: return "UNKNOWN_OP";
    case AN_INVALID_VALUE: return "INVALID_VALUE";
    case AN_UNKNOWN_FLAG: return "UNKNOWN_FLAG";
    case AN_INVALID_SHAPE: return "INVALID_SHAPE";
    case AN_SIZE_OVERFLOW: return "SIZE_OVERFLOW";
    case AN_WORKSPACE_TOO_SMALL: return "WORKSPACE_TOO_SMALL";
    case AN_NOT_FINITE: return "NOT_FINITE";
    default: return "UNKNOWN_STATUS";
  }
}

const char *an_version(void) { return AN_VERSION; }
