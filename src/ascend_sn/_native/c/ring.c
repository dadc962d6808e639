/* The span ring in memory: rows, the open spans of each thread, the map. Several threads at once are kept apart by
 * the interpreter lock, which every call from Python holds. */
#include "ring.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

uint64_t ring_serial, fork_count;
_Thread_local struct SideAtHand sides_at_hand[RINGS_AT_HAND];

/* A child shares the map with its parent: rings made before the fork must not write there. */
void count_fork(void)
{
    fork_count++;
}

/* Wall minus monotonic clock, from the closest of a few pairs of readings. */
int64_t clock_offset(void)
{
    int64_t best = INT64_MAX, offset = 0;
    for (int i = 0; i < 8; i++) {
        int64_t before = clock_ns(CLOCK_MONOTONIC), wall = clock_ns(CLOCK_REALTIME);
        int64_t after = clock_ns(CLOCK_MONOTONIC);
        if (after - before < best) {
            best = after - before;
            offset = wall - (before + best / 2);
        }
    }
    return offset;
}

int look_up_number(Ring *ring, PyObject *text, int32_t *number)
{
    PyObject *known = PyDict_GetItemWithError(ring->names, text);
    long long value = known ? PyLong_AsLongLong(known) : -1;
    if (value < 0) {
        PyErr_Clear();
        return 0;
    }
    *number = (int32_t)value;
    size_t place = cache_place(text);
    PyObject *former = ring->cache[place].text;
    Py_INCREF(text);
    ring->cache[place].text = text;
    ring->cache[place].number = *number;
    Py_XDECREF(former);
    return 1;
}

static int is_gone(int32_t thread)
{
    return syscall(SYS_tgkill, getpid(), thread, 0) < 0 && errno == ESRCH;
}

/* The calling thread's part, made when it records for the first time. */
static Side *new_side(Ring *ring)
{
    int32_t thread = (int32_t)syscall(SYS_gettid);
    Side *side = NULL;
    for (size_t i = 0; i < ring->side_count && !side; i++)
        if (ring->sides[i]->block->thread == thread)
            side = ring->sides[i];
    if (!side && ring->side_count >= RING_THREADS)
        for (size_t i = 0; i < ring->side_count && !side; i++)
            if (ring->sides[i]->block->depth == 0 && is_gone(ring->sides[i]->block->thread))
                side = ring->sides[i];
    if (!side) {
        if (ring->side_count == ring->side_room) {
            size_t room = ring->side_room ? 2 * ring->side_room : 16;
            Side **sides = realloc(ring->sides, room * sizeof *sides);
            if (!sides)
                return NULL;
            ring->sides = sides;
            ring->side_room = room;
        }
        if (!(side = calloc(1, sizeof *side)))
            return NULL;
        side->in_file = ring->side_count < RING_THREADS;
        side->block = side->in_file ? &ring->blocks[ring->side_count] : calloc(1, sizeof *side->block);
        if (!side->block) {
            free(side);
            return NULL;
        }
        ring->sides[ring->side_count++] = side;
    }
    side->block->thread = thread;
    sides_at_hand[ring->serial % RINGS_AT_HAND] = (struct SideAtHand){ring->serial, side};
    return side;
}

Side *side_of(Ring *ring)
{
    Side *side = known_side(ring);
    return side ? side : new_side(ring);
}

int push_deeper(Side *side, const OpenSpan *span)
{
    if (side->deep_count == side->deep_room) {
        size_t room = side->deep_room ? 2 * side->deep_room : 64;
        OpenSpan *deeper = realloc(side->deeper, room * sizeof *deeper);
        if (!deeper)
            return -1;
        side->deeper = deeper;
        side->deep_room = room;
    }
    side->deeper[side->deep_count++] = *span;
    return 0;
}

int pop_inner(Side *side, int32_t key, OpenSpan *span)
{
    ThreadBlock *block = side->block;
    for (size_t i = side->deep_count; i-- > 0;)
        if (side->deeper[i].key == key) {
            *span = side->deeper[i];
            side->deep_count--;
            memmove(&side->deeper[i], &side->deeper[i + 1], (side->deep_count - i) * sizeof *span);
            return 1;
        }
    for (uint32_t i = block->depth; i-- > 0;)
        if (block->spans[i].key == key) {
            *span = block->spans[i];
            memmove(&block->spans[i], &block->spans[i + 1], (block->depth - 1 - i) * sizeof *span);
            __atomic_store_n(&block->depth, block->depth - 1, __ATOMIC_RELEASE);
            return 1;
        }
    return 0;
}

/* Rows from the tail on that are finished without a gap. */
uint64_t ready(const Ring *ring, uint64_t tail)
{
    uint64_t head = __atomic_load_n(&ring->header->head, __ATOMIC_ACQUIRE), count = 0;
    while (tail + count != head && __atomic_load_n(&slot_at(ring, tail + count)->mark, __ATOMIC_ACQUIRE) ==
                                        (uint32_t)(tail + count + 1))
        count++;
    return count;
}

/* Take the ring out of the process; its file stays as it is. */
void unmap(Ring *ring)
{
    for (size_t i = 0; i < ring->side_count; i++) {
        if (!ring->sides[i]->in_file)
            free(ring->sides[i]->block);
        free(ring->sides[i]->deeper);
        free(ring->sides[i]);
    }
    free(ring->sides);
    ring->sides = NULL;
    ring->side_count = ring->side_room = 0;
    ring->serial = 0;
    for (size_t i = 0; i < NAME_CACHE; i++)
        Py_CLEAR(ring->cache[i].text);
    if (ring->header)
        munmap(ring->header, ring->bytes);
    ring->header = NULL;
}

void *map_new_file(const char *path, size_t bytes)
{
    if (!path)
        return mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file < 0)
        return MAP_FAILED;
    /* Allocated at once: a full disk is an error here, not a fatal signal at some later write. */
    int failed = posix_fallocate(file, 0, (off_t)bytes);
    void *map = failed ? MAP_FAILED : mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (!failed && map == MAP_FAILED)
        failed = errno;
    close(file);
    if (map == MAP_FAILED) {
        unlink(path);
        errno = failed;
    }
    return map;
}
