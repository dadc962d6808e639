/* The span ring: a file that is mapped into the process, so that what is in it survives the process. */
#ifndef ASCEND_SN_RING_H
#define ASCEND_SN_RING_H

#include "arrays.h"

#include <time.h>

#define RING_MAGIC "ASNRING\1"
#define RING_VERSION 1
#define RING_THREADS 256 /* threads whose open spans lie in the file */
#define RING_DEPTH 64    /* open spans per thread that do */
#define RECORD_BYTES 44
#define RARE __attribute__((cold, noinline))

/* One row as it lies in a slot. `mark` is its number + 1, written last: a slot without its mark was not finished. */
typedef struct {
    uint32_t mark;
    int32_t thread;
    uint8_t kind, reserved[3];
    int32_t name_id;
    int64_t ts_ns, dur_ns, value, ref;
} Slot;

/* `key` is the number of the name that ends the span; the row may carry another one, of the name with attributes. */
typedef struct {
    int32_t name_id, key;
    uint32_t kind, reserved;
    int64_t start_ns, value, ref;
} OpenSpan;

/* Open spans of a thread, outermost first. */
typedef struct {
    int32_t thread;
    uint32_t depth;
    OpenSpan spans[RING_DEPTH];
} ThreadBlock;

typedef struct {
    char magic[8];
    uint32_t version, slot_bytes;
    uint64_t capacity;
    uint32_t threads, depth;
    int32_t pid, reserved;
    int64_t offset_ns; /* wall clock minus monotonic clock */
    uint8_t gap0[64 - 48];
    uint64_t head; /* rows begun */
    uint8_t gap1[56];
    uint64_t tail; /* rows released */
    uint8_t gap2[56];
    uint64_t dropped, reported; /* rows without room; those of them that were asked for */
    uint8_t gap3[48];
} RingHeader;

static inline size_t ring_bytes(uint64_t capacity)
{
    return sizeof(RingHeader) + RING_THREADS * sizeof(ThreadBlock) + (size_t)capacity * sizeof(Slot);
}

static inline ThreadBlock *ring_blocks(void *map)
{
    return (ThreadBlock *)(void *)((char *)map + sizeof(RingHeader));
}

static inline Slot *ring_slots(void *map)
{
    return (Slot *)(void *)((char *)map + sizeof(RingHeader) + RING_THREADS * sizeof(ThreadBlock));
}

/* What `append` and `end` tell. CLOSED: the ring takes nothing any more, or belongs to the process we came from. */
enum { NO_SPAN, KEPT, HALF_FULL, FULL, CLOSED };

#define NAME_CACHE 64 /* names whose number is known by the address of their text */

/* One thread's part: the block in the file, and deeper spans that have no place there. */
typedef struct {
    ThreadBlock *block;
    OpenSpan *deeper;
    size_t deep_count, deep_room;
    int in_file;
} Side;

typedef struct {
    PyObject_HEAD
    RingHeader *header; /* NULL when closed */
    ThreadBlock *blocks;
    Slot *slots;
    size_t bytes;
    uint64_t half, serial, forks, capacity;
    int64_t offset_ns;
    Side **sides;
    size_t side_count, side_room;
    PyObject *names, *number; /* text -> number, and what gives a new one */
    struct {
        PyObject *text;
        int32_t number;
    } cache[NAME_CACHE];
} Ring;

/* Rings made in this process, and forks that this process came from. A child shares the map with its parent, so
 * a ring made before the fork is left alone there. */
extern uint64_t ring_serial, fork_count;
void count_fork(void);

int64_t clock_offset(void);

static inline int64_t clock_ns(clockid_t which)
{
    struct timespec now;
    clock_gettime(which, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static inline int usable(const Ring *ring)
{
    return ring->header && ring->forks == fork_count;
}

static inline Slot *slot_at(const Ring *ring, uint64_t row)
{
    uint64_t mask = ring->capacity - 1;
    return &ring->slots[ring->capacity & mask ? row % ring->capacity : row & mask];
}

static inline int is_full(const Ring *ring)
{
    return ring->header->head - __atomic_load_n(&ring->header->tail, __ATOMIC_ACQUIRE) >= ring->capacity;
}

/* The number of a text that was numbered before; returns 0 where it was not, and leaves no exception. */
RARE int look_up_number(Ring *ring, PyObject *text, int32_t *number);

static inline size_t cache_place(const PyObject *text)
{
    return ((uintptr_t)text >> 4) % NAME_CACHE;
}

static inline int known_number(Ring *ring, PyObject *text, int32_t *number)
{
    size_t place = cache_place(text);
    if (ring->cache[place].text != text)
        return look_up_number(ring, text, number);
    *number = ring->cache[place].number;
    return 1;
}

/* Add a row; returns KEPT, HALF_FULL or FULL. Callers hold the interpreter lock: one row is begun at a time. */
static inline int append_row(Ring *ring, const Slot *row)
{
    RingHeader *header = ring->header;
    uint64_t head = header->head, waiting = head - __atomic_load_n(&header->tail, __ATOMIC_ACQUIRE);
    if (waiting >= ring->capacity) {
        header->dropped++;
        return FULL;
    }
    __atomic_store_n(&header->head, head + 1, __ATOMIC_RELEASE);
    Slot *slot = slot_at(ring, head);
    slot->thread = row->thread;
    slot->kind = row->kind;
    slot->name_id = row->name_id;
    slot->ts_ns = row->ts_ns;
    slot->dur_ns = row->dur_ns;
    slot->value = row->value;
    slot->ref = row->ref;
    __atomic_store_n(&slot->mark, (uint32_t)(head + 1), __ATOMIC_RELEASE);
    return waiting + 1 == ring->half ? HALF_FULL : KEPT;
}
/* How many rows from the tail on are finished without a gap. */
uint64_t ready(const Ring *ring, uint64_t tail);

#define RINGS_AT_HAND 4
extern _Thread_local struct SideAtHand {
    uint64_t serial;
    Side *side;
} sides_at_hand[RINGS_AT_HAND];

/* The calling thread's part, NULL when it has not recorded yet. */
static inline Side *known_side(const Ring *ring)
{
    const struct SideAtHand *here = &sides_at_hand[ring->serial % RINGS_AT_HAND];
    return here->serial == ring->serial ? here->side : NULL;
}

/* The same, made when the thread records for the first time; NULL when memory runs out. */
Side *side_of(Ring *ring);

/* Field by field: a copy of the whole, right after its fields were stored, makes the processor wait for them. */
static inline void copy_span(OpenSpan *to, const OpenSpan *from)
{
    to->name_id = from->name_id;
    to->key = from->key;
    to->kind = from->kind;
    to->start_ns = from->start_ns;
    to->value = from->value;
    to->ref = from->ref;
}

/* Spans that have no place in the file, or are not the innermost one. */
RARE int push_deeper(Side *side, const OpenSpan *span);
RARE int pop_inner(Side *side, int32_t key, OpenSpan *span);

/* Returns -1 when memory runs out. */
static inline int push_span(Side *side, const OpenSpan *span)
{
    ThreadBlock *block = side->block;
    uint32_t depth = block->depth;
    if (depth >= RING_DEPTH || side->deep_count)
        return push_deeper(side, span);
    copy_span(&block->spans[depth], span);
    __atomic_store_n(&block->depth, depth + 1, __ATOMIC_RELEASE);
    return 0;
}

/* Remove the innermost span of that key; it leaves its stack before it is written as a row. Returns 0 where there is
 * none. */
static inline int pop_span(Side *side, int32_t key, OpenSpan *span)
{
    ThreadBlock *block = side->block;
    uint32_t depth = block->depth;
    if (side->deep_count || !depth || block->spans[depth - 1].key != key)
        return pop_inner(side, key, span);
    copy_span(span, &block->spans[depth - 1]);
    __atomic_store_n(&block->depth, depth - 1, __ATOMIC_RELEASE);
    return 1;
}

/* Write a span that ended as a row; answers as append_row. */
static inline int append_span(Ring *ring, const Side *side, const OpenSpan *span, int64_t end_ns)
{
    Slot row = {.thread = side->block->thread, .kind = (uint8_t)span->kind, .name_id = span->name_id,
                .ts_ns = span->start_ns, .dur_ns = end_ns - span->start_ns, .value = span->value, .ref = span->ref};
    return append_row(ring, &row);
}

/* Make a file of that size and map it, or memory alone without a path; MAP_FAILED with errno set where that fails. */
void *map_new_file(const char *path, size_t bytes);
/* Take the ring out of the process; its file stays as it is. */
void unmap(Ring *ring);

/* The two calls that open and close a span, see ring_calls.c. */
int add_calls_type(PyObject *module, PyTypeObject *ring_type);

/* Write a row as the 44 bytes that are handed out: kind, 3 spare bytes, thread, name_id, ts, dur, value, ref. */
void ring_pack(uint8_t *out, const Slot *slot);

#endif
