/* Stable sorting of int64 keys: least-significant-digit radix sort that skips constant digits. */
#ifndef ASCEND_SN_SORT_H
#define ASCEND_SN_SORT_H

#include <stddef.h>
#include <stdint.h>

typedef struct {
    int64_t start;
    int64_t end;
    int64_t index;
} Span;

int sorted_int64(const int64_t *key, size_t n);

/* Write the stable ascending order of `key` to `order`. Returns -1 when memory runs out. */
int order_int64(const int64_t *key, size_t n, int64_t *order);

/* Sort spans by start ascending, then end descending; equal spans keep their order.
 * `room` has space for n spans; the result is in `spans`. */
void sort_spans(Span *spans, Span *room, size_t n);

#endif
