/* What the fuzz targets have in common: the input as a stream of choices, buffers between guard pages, and what is asked
 * of every call.
 *
 * Each input is run twice. The first run places every buffer against a guard page or off alignment, and lets outputs take
 * the place of inputs where the header allows it; the second has everything aligned and apart, and other garbage in
 * what needs no particular contents. Both must give the same bits.
 */
#ifndef AN_FUZZ_GUARD_H
#define AN_FUZZ_GUARD_H

#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <sanitizer/asan_interface.h>

#include "../../include/addnorm.h"

#define FAIL(...) (fprintf(stderr, "FAIL: " __VA_ARGS__), fputc('\n', stderr), abort())

/* Of loops that are ours: not slowed down by being watched, and their branches are nothing to look for. */
#define UNWATCHED __attribute__((no_sanitize("address", "undefined", "coverage")))

/* ---- Choices ---- */

static const uint8_t *choices;
static size_t choices_left;

static uint8_t u8(void) { return choices_left ? choices_left--, *choices++ : 0; }
static uint16_t u16(void) { return (uint16_t)(u8() | u8() << 8); }
static uint32_t u32(void) { return u16() | (uint32_t)u16() << 16; }
static uint64_t u64(void) { return u32() | (uint64_t)u32() << 32; }

/* splitmix64 */
UNWATCHED static uint64_t next(uint64_t *state) {
  uint64_t z = (*state += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

/* What this input may do besides valid calls; most do nothing. */
enum { NULLS = 1, HUGE_SIZES = 2, BAD_INDICES = 4, BAD_NUMBERS = 8 };
static int hostile;
static int wants(int what) { return (hostile & what) && u8() % 4 == 0; }

static size_t bad_size(void) {
  static const size_t sizes[] = {SIZE_MAX,       SIZE_MAX / 2,          SIZE_MAX / 2 + 1,     SIZE_MAX / 4 + 1,
                                 SIZE_MAX / 4,   (size_t)1 << 62,       (size_t)1 << 61,      (size_t)1 << 33,
                                 (size_t)1 << 32, ((size_t)1 << 32) + 1, ((size_t)1 << 31) + 7, SIZE_MAX - 3};
  return sizes[u8() % (sizeof sizes / sizeof *sizes)];
}

/* Around what loops are made of: vectors of 4, strips of 16, and the like. */
static size_t size(void) {
  if (wants(HUGE_SIZES)) return bad_size();
  const uint8_t kind = u8();
  return kind < 160 ? kind % 20u : kind < 224 ? 15u + kind % 4u * 16 + u8() % 3u : u8() + 1u;
}
static size_t size_below(size_t limit) { return wants(HUGE_SIZES) ? bad_size() : u8() % limit; }

static size_t index_below(size_t count) {
  if (!wants(BAD_INDICES)) return u8() % count;
  const size_t kind = u8() % 5;
  return kind < 2 ? count + kind : kind == 2 ? count + ((size_t)1 << 32) : SIZE_MAX - (kind - 3) * (SIZE_MAX / 2);
}
static int flags(int known) { return wants(BAD_INDICES) ? (int)u32() : u8() & known; }

static double number(void) {
  static const double good[] = {0, 1, 0.5, 0.1, 1e-5, 2, -1, 0.9, 1e-12, 3, -0.25, 30, 1.702, 0.01, 0.999, 100};
  if (!wants(BAD_NUMBERS)) return good[u8() % (sizeof good / sizeof *good)];
  static const double bad[] = {__builtin_nan(""), 1 / 0.0, -1 / 0.0, 1e300, -1e300, 3.5e38, 3.4028235e38, 0x1p-126,
                               0x1p-127, 5e-324, -0.0, 1.0000001, -1e-30, 0x1.fffffffffffffp-1};
  const uint8_t kind = u8() % 16;
  if (kind < sizeof bad / sizeof *bad) return bad[kind];
  const uint64_t bits = u64();
  double any;
  memcpy(&any, &bits, sizeof any);
  return any;
}

/* Floats of one of a few kinds, the same for the same choices. */
UNWATCHED static void fill(float *p, size_t n) {
  static const uint32_t special[] = {0,          0x80000000, 0x7f800000, 0xff800000, 0x7fc00000, 0xff812345, 1,
                                     0x80000001, 0x007fffff, 0x00800000, 0x7f7fffff, 0xff7fffff, 0x42b00000, 0xc2b00000,
                                     0x42d00000, 0xc2d00000, 0x5f000000, 0x7e967699, 0x3f800000, 0xbf800000};
  const uint8_t kind = u8() % 8;
  uint64_t state = u16();
  for (size_t i = 0; i < n; i++) {
    const uint64_t bits = next(&state);
    const uint32_t any = (uint32_t)bits, one = special[(bits >> 40) % (sizeof special / sizeof *special)];
    const float moderate = (float)((double)(bits >> 11) * 0x1p-50 - 4);
    if (kind < 3) p[i] = moderate;
    else if (kind == 3) memcpy(p + i, &any, sizeof any);
    else if (kind == 4) memcpy(p + i, &one, sizeof one);
    else if (kind == 5 && bits % 16 == 0) memcpy(p + i, &one, sizeof one);
    else p[i] = kind == 6 ? (float)(state >> 62) : kind == 7 ? moderate * 1e37f : moderate;
  }
}

/* ---- Buffers ---- */

enum { SLOTS = 48, CAPACITY = 1 << 20, PAGE = 4096 };
/* CONSTANT: not to be written. SCRATCH: of no account afterwards. FLOATS, DOUBLES: a result. */
typedef enum kind { CONSTANT, SCRATCH, FLOATS, DOUBLES } kind;
typedef struct slot {
  char *room;     /* CAPACITY bytes between two guard pages */
  char *snapshot; /* what was in the buffer before the call */
  char *data;
  size_t bytes;
  kind kind;
  int used;
} slot;
static slot slots[SLOTS];

static int plain;       /* the second run */
static uint16_t layout; /* where the first one places its buffers */
static unsigned placed;
static jmp_buf abandoned;

/* This input is no test: too large, and not so large that it has to be refused. */
static void abandon(void) { longjmp(abandoned, 1); }

static void reserve(void) {
  for (int i = 0; i < SLOTS; i++) {
    char *pages = mmap(NULL, CAPACITY + 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (pages == MAP_FAILED || mprotect(pages + PAGE, CAPACITY, PROT_READ | PROT_WRITE)) FAIL("no memory");
    slots[i].room = pages + PAGE;
    slots[i].snapshot = mmap(NULL, CAPACITY, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (slots[i].snapshot == MAP_FAILED) FAIL("no memory");
    ASAN_POISON_MEMORY_REGION(slots[i].room, CAPACITY);
  }
}

static const uint32_t CANARY = 0x5ca1ab1e;
static int has_canary(const slot *s) { return (uintptr_t)s->data % 8 && s->bytes > 0; }

/* `bytes` between memory that AddressSanitizer or the processor guards, but for the 4 bytes before a buffer that begins
 * in the middle of 8: those have a canary. SIZE_MAX: of a size that must be refused, so nothing of it may be touched. */
static void *room(size_t bytes, kind kind) {
  int i = 0;
  while (i < SLOTS && slots[i].used) i++;
  if (i == SLOTS) FAIL("too few slots");
  slot *s = &slots[i];
  s->used = 1;
  s->kind = kind;
  s->bytes = bytes == SIZE_MAX ? 0 : bytes;
  uint64_t state = layout + (uint64_t)placed++ * 65537;
  const size_t unit = kind == DOUBLES ? 8 : 4, place = next(&state) % 6;
  const size_t shift = plain || place == 0 ? 0 : place < 4 ? place * unit : (CAPACITY - s->bytes) / unit * unit;
  s->data = s->room + (shift + s->bytes <= CAPACITY ? shift : 0);
  ASAN_UNPOISON_MEMORY_REGION(s->data, s->bytes);
  if (has_canary(s)) memcpy(s->data - 4, &CANARY, 4);
  return s->data;
}

UNWATCHED static slot *slot_of(const void *p) {
  for (int i = 0; i < SLOTS; i++)
    if (slots[i].used && slots[i].data == p) return &slots[i];
  return NULL;
}

static void release(const void *p) {
  slot *s = slot_of(p);
  const uintptr_t shift = (uintptr_t)s->data % 8;
  ASAN_POISON_MEMORY_REGION(s->data - shift, s->bytes + shift);
  s->used = 0;
}

/* Bytes of sizes that are multiplied, SIZE_MAX where they do not fit in size_t. */
UNWATCHED static size_t product(size_t a, size_t b, size_t c, size_t unit) {
  if (a == 0 || b == 0 || c == 0) return 0;
  size_t bytes;
  if (__builtin_mul_overflow(a, b, &bytes) || __builtin_mul_overflow(bytes, c, &bytes) ||
      __builtin_mul_overflow(bytes, unit, &bytes))
    return SIZE_MAX;
  if (bytes > CAPACITY / 8) abandon();
  return bytes;
}
static size_t floats(size_t a, size_t b, size_t c) { return product(a, b, c, sizeof(float)); }

/* ---- Calls ---- */

/* What the next call gives, in the order in which it is made. */
static struct {
  const void *data;
  size_t bytes;
  kind kind;
} results[16];
static int result_count;

static void is_result(void *p) {
  slot *s = slot_of(p);
  results[result_count].data = s->data;
  results[result_count].bytes = s->bytes;
  results[result_count++].kind = s->kind;
}

UNWATCHED static void *garbage(size_t bytes, kind kind, uint64_t state) {
  char *p = room(bytes, kind);
  const size_t length = slot_of(p)->bytes;
  for (size_t i = 0; i < length; i += 8) {
    const uint64_t bits = next(&state);
    memcpy(p + i, &bits, length - i < 8 ? length - i : 8);
  }
  return p;
}

static float *input(size_t bytes) {
  float *p = room(bytes, CONSTANT);
  fill(p, slot_of(p)->bytes / sizeof(float));
  return p;
}
/* An output that is overwritten. */
static float *output(size_t bytes) {
  float *p = garbage(bytes, FLOATS, (uint64_t)result_count + 1);
  is_result(p);
  return p;
}
static double *output_doubles(size_t count) {
  double *p = garbage(count * sizeof(double), DOUBLES, (uint64_t)result_count + 1);
  is_result(p);
  return p;
}
/* One that is added to. */
static float *sum(size_t bytes) {
  float *p = input(bytes);
  slot_of(p)->kind = FLOATS;
  is_result(p);
  return p;
}
/* An output that may take the place of one of these inputs, if that is no output yet. */
static float *output_or(size_t bytes, float *a, float *b, float *c) {
  float *const places[] = {a, b, c};
  const size_t which = u8() % 6;
  float *p = which < 3 ? places[which] : NULL;
  if (plain || !p || slot_of(p)->kind != CONSTANT) return output(bytes);
  slot_of(p)->kind = FLOATS;
  is_result(p);
  return p;
}
/* Room of no particular contents: other garbage in each run. */
static void *scratch(size_t bytes) { return garbage(bytes, SCRATCH, plain ? 77 : 99); }
/* NULL in place of a buffer. If that was a result, there is none. */
static void *without(void *p) {
  for (int r = 0; r < result_count; r++)
    if (results[r].data == p) results[r].bytes = 0, slot_of(p)->kind = CONSTANT;
  return NULL;
}
static void *given_if(int is_given, void *p) { return is_given ? p : without(p); }
static void *nullable(void *p) { return given_if(!wants(NULLS), p); }
/* NULL every other time, for what may be left out. */
static void *optional(void *p) { return u8() % 2 ? without(p) : nullable(p); }
/* The next call may write to it again. */
static void writes(void *p, kind kind) {
  slot_of(p)->kind = kind;
  if (kind != SCRATCH) is_result(p);
}

/* Every function that is called: how often, and with which outcome. */
typedef struct site {
  const char *name;
  unsigned long calls, good, refused;
  struct site *next;
} site;
static site *sites, *current;

static void reached(site *s) {
  if (s->calls++ == 0) s->next = sites, sites = s;
  current = s;
}
#define CALL(name, ...)                \
  ({                                   \
    static site here = {#name, 0, 0, 0, NULL}; \
    reached(&here);                    \
    name(__VA_ARGS__);                 \
  })

/* What an input has given, NaN payloads aside. */
static struct {
  char bytes[8 << 20];
  size_t used;
} given[2];

static void give(const void *data, size_t bytes) {
  if (given[plain].used + bytes > sizeof given[0].bytes) FAIL("too many results");
  memcpy(given[plain].bytes + given[plain].used, data, bytes);
  given[plain].used += bytes;
}
static void give_double(double x) { give(x != x ? &(double){__builtin_nan("")} : &x, sizeof x); }
UNWATCHED static void give_floats(const float *x, size_t n) {
  float *copy = (float *)(given[plain].bytes + given[plain].used);
  give(x, n * sizeof *x);
  for (size_t i = 0; i < n; i++)
    if (x[i] != x[i]) copy[i] = __builtin_nanf("");
}

static void snapshot(void) {
  for (int i = 0; i < SLOTS; i++)
    if (slots[i].used) memcpy(slots[i].snapshot, slots[i].data, slots[i].bytes);
}

/* Checks what a call has done. Buffers are constants from then on. */
static void check(int status, unsigned errors) {
  const site *s = current;
  const unsigned allowed = 1u << AN_OK | 1u << AN_NULL_POINTER | 1u << AN_SIZE_OVERFLOW | errors;
  if (status < 0 || status > 31 || !(allowed >> status & 1)) FAIL("%s: status %d (%s)", s->name, status, an_status_name(status));
  *(status == AN_OK ? &current->good : &current->refused) += 1;
  for (int i = 0; i < SLOTS; i++) {
    slot *b = &slots[i];
    if (!b->used) continue;
    if (has_canary(b) && memcmp(b->data - 4, &CANARY, 4)) FAIL("%s: written before a buffer", s->name);
    if ((b->kind == CONSTANT || status != AN_OK) && memcmp(b->data, b->snapshot, b->bytes))
      FAIL("%s: %s", s->name, b->kind == CONSTANT ? "an input was changed" : "refused, but something was written");
    b->kind = CONSTANT;
  }
  give(&status, sizeof status);
  for (int r = 0; r < result_count && status == AN_OK; r++) {
    const char *data = results[r].data;
    if (results[r].kind == FLOATS) give_floats((const float *)data, results[r].bytes / sizeof(float));
    for (size_t at = 0; results[r].kind == DOUBLES && at < results[r].bytes; at += sizeof(double))
      give_double(*(const double *)(data + at));
  }
  result_count = 0;
}

/* A call of a function that returns an an_status; returns it. The arguments are made before. */
#define TRY(errors, name, ...)                        \
  ({                                                  \
    snapshot();                                       \
    const int status_ = CALL(name, __VA_ARGS__);      \
    check(status_, errors);                           \
    status_;                                          \
  })

#define MAY(status) (1u << AN_##status)

static void run_once(void (*op)(void), const uint8_t *data, size_t length, int second) {
  plain = second;
  placed = 0;
  result_count = 0;
  given[second].used = 0;
  choices = data;
  choices_left = length;
  layout = u16();
  hostile = u8();
  hostile = hostile < 128 ? 0 : hostile & 15;
  op();
}

static void release_all(void) {
  for (int i = 0; i < SLOTS; i++)
    if (slots[i].used) release(slots[i].data);
}

/* Both runs of an input, compared. Returns 0 if it was one. */
static int run_twice(void (*op)(void), const uint8_t *data, size_t length) {
  for (int second = 0; second < 2; second++) {
    if (setjmp(abandoned)) {
      release_all();
      return -1;
    }
    run_once(op, data, length, second);
    release_all();
  }
  if (given[0].used != given[1].used || memcmp(given[0].bytes, given[1].bytes, given[0].used))
    FAIL("other results where alignment, aliasing or the contents of work space are others (last call: %s)", current->name);
  return 0;
}

#endif
