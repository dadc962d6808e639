/* Large scratch blocks: aligned to huge pages, so that the first touch of a gigabyte is not 250,000 faults. */
#ifndef ASCEND_SN_MEMORY_H
#define ASCEND_SN_MEMORY_H

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#define HUGE_PAGE ((size_t)1 << 21)

/* Room for `count` items of `size` bytes, at least one; NULL when memory runs out. Released with free(). */
static inline void *scratch(size_t count, size_t size)
{
    if (count == 0)
        count = 1;
    if (count > (SIZE_MAX / 2) / size)
        return NULL;
    size_t bytes = count * size;
    if (bytes < 2 * HUGE_PAGE)
        return malloc(bytes);
    bytes = (bytes + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1);
    void *block = aligned_alloc(HUGE_PAGE, bytes);
    if (block)
        madvise(block, bytes, MADV_HUGEPAGE);
    return block;
}

#endif
