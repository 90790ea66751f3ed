/* Lists of texts. */
#ifndef AN_TEXT_H
#define AN_TEXT_H

#include <stddef.h>

/* Text i of a list: one after the other, each with its 0 at the end. A table of pointers would be as large as half of
 * what they point to. */
const char *text_at(const char *list, size_t i);

#endif
