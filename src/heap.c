/* malloc and free of the wasm module: best fit from one list of free blocks, which lie in the order of their addresses,
 * so that a block that is freed joins its neighbours. Both take as many steps as there are free blocks; a module has
 * few blocks, and they are large. Addresses are multiples of 16, so that no vector crosses a cache line; Emscripten's
 * emmalloc, which is 0.6 KB more, gives multiples of 8 (docs/adr/0001).
 */
#if defined(__wasm__)
#include <stddef.h>

/* The linker's: behind it there is nothing but the heap. */
extern char __heap_base[];
#define PAGE ((size_t)1 << 16)

/* The head of a block. */
typedef struct head {
  size_t size; /* in bytes with the head, a multiple of its size */
  struct head *next;
  size_t unused[2];
} head;
static head *list;

static char *end_of(head *b) { return (char *)b + b->size; }

/* Into the list. */
static void give(head *b) {
  head *before = NULL, *after = list;
  while (after && after < b) before = after, after = after->next;
  b->next = after;
  if (after && end_of(b) == (char *)after) b->size += after->size, b->next = after->next;
  if (!before) {
    list = b;
  } else if (end_of(before) == (char *)b) {
    before->size += b->size, before->next = b->next;
  } else {
    before->next = b;
  }
}

void free(void *p) {
  if (p) give((head *)p - 1);
}

void *malloc(size_t bytes) {
  static char *heap_end = __heap_base;
  const size_t size = (bytes + 2 * sizeof(head) - 1) / sizeof(head) * sizeof(head);
  if (size < bytes) return NULL;
  for (;;) {
    head **best = NULL, *last = NULL;
    for (head **at = &list; *at; at = &last->next) {
      last = *at;
      if (last->size >= size && (!best || last->size < (*best)->size)) best = at;
    }
    if (best) {
      head *const b = *best;
      *best = b->next;
      if (b->size > size) {
        head *const rest = (head *)((char *)b + size);
        *rest = (head){b->size - size, b->next, {0}};
        b->size = size, *best = rest;
      }
      return b + 1;
    }
    /* What the memory has behind the heap; at 4 GiB both wrap around to 0. */
    const size_t pages = __builtin_wasm_memory_size(0);
    size_t more = pages * PAGE - (size_t)heap_end;
    if (more == 0) {
      /* More pages, behind the last block, which may be free already. An eighth of the memory besides, or what there is
       * of it: whenever the memory grows all of JavaScript's views of it end, and some engines copy it. */
      const size_t wanted = (size - (last && end_of(last) == heap_end ? last->size : 0) - 1) / PAGE + 1;
      size_t besides = pages / 8;
      while (__builtin_wasm_memory_grow(0, wanted + besides) == (size_t)-1) {
        if (besides == 0) return NULL;
        besides /= 2;
      }
      more = (wanted + besides) * PAGE;
    }
    head *const b = (head *)heap_end;
    b->size = more, heap_end += more;
    give(b);
  }
}
#endif
