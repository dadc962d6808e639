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

int usable(const Ring *ring);
int64_t clock_ns(clockid_t which);
int64_t clock_offset(void);

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
int known_number(Ring *ring, PyObject *text, int32_t *number);

/* Returns KEPT, HALF_FULL or FULL. */
int append_row(Ring *ring, const Slot *row);
/* How many rows from the tail on are finished without a gap. */
uint64_t ready(const Ring *ring, uint64_t tail);

/* The calling thread's part: NULL when it has not recorded yet; made then, NULL when memory runs out. */
Side *known_side(const Ring *ring);
Side *side_of(Ring *ring);
int push_span(Side *side, const OpenSpan *span);
/* Remove the innermost span of that key; returns 0 where there is none. */
int pop_span(Side *side, int32_t key, OpenSpan *span);
/* Write a span that ended as a row; answers as append_row. */
int append_span(Ring *ring, const Side *side, const OpenSpan *span, int64_t end_ns);

/* Make a file of that size and map it, or memory alone without a path; MAP_FAILED with errno set where that fails. */
void *map_new_file(const char *path, size_t bytes);
/* Take the ring out of the process; its file stays as it is. */
void unmap(Ring *ring);

/* calls(kind, start, stop, wake): the two calls that open and close a span, see ring_calls.c. */
PyObject *ring_calls(PyObject *ring, PyObject *const *args, Py_ssize_t nargs);
int add_calls_type(PyObject *module);

/* Write a row as the 44 bytes that are handed out: kind, 3 spare bytes, thread, name_id, ts, dur, value, ref. */
void ring_pack(uint8_t *out, const Slot *slot);

#endif
