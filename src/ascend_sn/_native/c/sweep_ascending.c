#include "sweep_ascending.h"

#include "sort.h"

/* Their combinations are counted one by one: with more classes there are too many. */
#define MOST_KINDS 4

/* Until when each class is active, and how long all classes of a combination were so far, whatever the others did.
 * All times count from the window's start. */
typedef struct {
    uint64_t now, until[MOST_KINDS], together[1 << MOST_KINDS];
} Active;

/* Keeps the compiler from guessing with a jump where no guess can be good. */
#if defined(__GNUC__) && !defined(__clang__)
#define UNSURE(condition) __builtin_expect_with_probability(condition, 1, 0.5)
#else
#define UNSURE(condition) (condition)
#endif

static inline uint64_t least(uint64_t a, uint64_t b)
{
    return UNSURE(a < b) ? a : b;
}

/* Go on to `next`. Until then classes only end, so that those of a combination are together for the least of what is
 * left of each. */
static inline void go_on(Active *active, uint64_t next, const unsigned kinds)
{
    uint64_t left[1 << MOST_KINDS];
    left[0] = next - active->now;
    active->together[0] += left[0];
    for (unsigned k = 0; k < kinds; k++) {
        uint64_t own = UNSURE(active->until[k] > active->now) ? active->until[k] - active->now : 0;
        for (unsigned mask = 1u << k; mask < 2u << k; mask++) {
            left[mask] = least(own, left[mask ^ 1u << k]);
            active->together[mask] += left[mask];
        }
    }
    active->now = next;
}

static inline void stream(const int64_t *start, const int64_t *end, const uint8_t *kind, size_t n, int64_t lo,
                          int64_t hi, Active *result, const unsigned kinds)
{
    Active active = {0};
    for (size_t i = 0; i < n && start[i] < hi; i++) {
        int64_t from = start[i] > lo ? start[i] : lo, to = end[i] < hi ? end[i] : hi;
        uint64_t until = to > lo ? (uint64_t)to - (uint64_t)lo : 0;
        go_on(&active, (uint64_t)from - (uint64_t)lo, kinds);
        for (unsigned k = 0; k < kinds; k++) {
            uint64_t own = UNSURE(kind[i] == k) ? until : 0;
            active.until[k] = UNSURE(own > active.until[k]) ? own : active.until[k];
        }
    }
    go_on(&active, (uint64_t)hi - (uint64_t)lo, kinds);
    *result = active;
}

int sweep_ascending(const int64_t *start, const int64_t *end, const uint8_t *kind, size_t n, unsigned kinds, int64_t lo,
                    int64_t hi, int64_t *sums)
{
    Active active;
    if (kinds > MOST_KINDS || !sorted_int64(start, n))
        return 0;
    switch (kinds) { /* one loop per number of classes, so that the short inner loops unroll */
    case 1: stream(start, end, kind, n, lo, hi, &active, 1); break;
    case 2: stream(start, end, kind, n, lo, hi, &active, 2); break;
    case 3: stream(start, end, kind, n, lo, hi, &active, 3); break;
    default: stream(start, end, kind, n, lo, hi, &active, MOST_KINDS); break;
    }
    /* What a combination was together with further classes is theirs. */
    for (unsigned k = 0; k < kinds; k++)
        for (unsigned mask = 0; mask < 1u << kinds; mask++)
            if (!(mask >> k & 1))
                active.together[mask] -= active.together[mask | 1u << k];
    for (unsigned mask = 0; mask < 1u << kinds; mask++)
        sums[mask] += (int64_t)active.together[mask];
    return 1;
}
