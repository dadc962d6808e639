/* Sums of a sweep in one pass, for intervals that ascend. */
#ifndef ASCEND_SN_SWEEP_ASCENDING_H
#define ASCEND_SN_SWEEP_ASCENDING_H

#include <stddef.h>
#include <stdint.h>

/* Add to `sums`, by mask, how long each combination of classes is active in [lo, hi). Returns 0, and does nothing,
 * when the starts do not ascend or when there are more than four classes. */
int sweep_ascending(const int64_t *start, const int64_t *end, const uint8_t *kind, size_t n, unsigned kinds, int64_t lo,
                    int64_t hi, int64_t *sums);

#endif
