/* Rows by thread: each thread's slices together, in the order in which nesting is found. */
#ifndef ASCEND_SN_GROUP_H
#define ASCEND_SN_GROUP_H

#include <stddef.h>
#include <stdint.h>

#include "sort.h"

/* A growing map from number (of a thread) to 0, 1, 2, ... in order of first appearance; all zero at first. */
typedef struct {
    int64_t *keys;
    int32_t *codes;
    size_t room, used;
} ThreadMap;

/* Rows grouped by thread: `spans[first[c] .. first[c + 1]]` are the rows of thread code c, in sorting order. */
typedef struct {
    ThreadMap map;
    Span *spans;
    size_t *first;
} Grouped;

/* A duration below zero counts as zero here: such a slice is a point. */
static inline int64_t end_of(int64_t start, int64_t dur)
{
    return dur > 0 ? start + dur : start;
}

/* Returns 0, or -1 when memory runs out; `grouped` is to be freed in either case. */
int group(Grouped *grouped, const int64_t *thread, const int64_t *start, const int64_t *dur, size_t n);
void grouped_free(Grouped *grouped);

/* The code of a thread; a new one is given when `add` is set. -1: unknown, -2: out of memory. */
int32_t map_code(ThreadMap *map, int64_t key, int add);
void map_free(ThreadMap *map);

#endif
