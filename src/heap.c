/* malloc and free of the wasm module. A block knows its size and that of the block before it, so that one that is freed joins
 * its neighbours at once, however many there are. Free blocks are in a list, and of the first fifty that are large enough the
 * smallest is taken; a module has few blocks, and they are large. Addresses are multiples of 16, so that no vector crosses a
 * cache line; Emscripten's emmalloc, which is larger, gives multiples of 8 (docs/adr/0001).
 */
#if defined(__wasm__)
#include <stddef.h>

/* The linker's: behind it there is nothing but the heap. */
extern char __heap_base[];
#define PAGE ((size_t)1 << 16)

/* The head of a block. Behind the last block stands one more, which is never free. */
typedef struct head {
  size_t size;               /* in bytes with the head, a multiple of its size; one more: not free */
  size_t before;             /* the size of the block before, 0 if there is none */
  struct head *next, *prior; /* in the list, if it is free */
} head;
static head list = {0, 0, &list, &list};

static head *at(head *b, size_t bytes) { return (head *)((char *)b + bytes); }

static void unlink(head *b) { b->prior->next = b->next, b->next->prior = b->prior; }

/* A block becomes free. */
static void give(head *b, size_t size) {
  head *const after = at(b, size), *const before = at(b, -b->before);
  if (!(after->size & 1)) unlink(after), size += after->size;
  if (b->before && !(before->size & 1)) unlink(before), size += before->size, b = before;
  b->size = size, at(b, size)->before = size;
  b->next = list.next, b->prior = &list, list.next->prior = b, list.next = b;
}

void free(void *p) {
  head *const b = (head *)p - 1;
  if (p) give(b, b->size - 1);
}

void *malloc(size_t bytes) {
  static char *heap_end = __heap_base + sizeof(head);
  const size_t size = (bytes + 2 * sizeof(head) - 1) / sizeof(head) * sizeof(head);
  size_t tries = 50; /* from the first that fits on */
  if (size < bytes) return NULL;
  for (;;) {
    head *best = NULL;
    for (head *b = list.next; b != &list; b = b->next) {
      if (b->size >= size && (!best || b->size < best->size)) best = b;
      if (best && (best->size == size || --tries == 0)) break;
    }
    if (best) {
      const size_t rest = best->size - size;
      unlink(best);
      best->size = size + 1;
      if (rest) at(best, size)->before = size, give(at(best, size), rest);
      return best + 1;
    }
    /* What the memory has behind the heap; at 4 GiB both wrap around to 0. */
    const size_t pages = __builtin_wasm_memory_size(0);
    size_t more = pages * PAGE - (size_t)heap_end;
    head *const last = (head *)heap_end - 1;
    if (more == 0) {
      /* More pages, behind the last block, which may be free already. An eighth of the memory besides, or what there is
       * of it: whenever the memory grows all of JavaScript's views of it end, and some engines copy it. */
      const head *const before = at(last, -last->before);
      const size_t wanted = (size - (before->size & 1 ? 0 : before->size) - 1) / PAGE + 1;
      size_t besides = pages / 8;
      while (__builtin_wasm_memory_grow(0, wanted + besides) == (size_t)-1) {
        if (besides == 0) return NULL;
        besides /= 2;
      }
      more = (wanted + besides) * PAGE;
    }
    heap_end += more;
    ((head *)heap_end - 1)->size = 1;
    give(last, more);
  }
}
#endif
