#include "sort.h"

#include <string.h>

#include "memory.h"

#define DIGIT_BITS 11
#define DIGITS (1u << DIGIT_BITS)
#define MAX_RUNS 64

typedef struct {
    uint64_t key;
    int64_t index;
} Keyed;

int sorted_int64(const int64_t *key, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (key[i] < key[i - 1])
            return 0;
    return 1;
}

/* Turn digit counts into first positions; returns 0 when every key has the same digit. */
static int positions(size_t *counts, size_t n)
{
    size_t at = 0;
    for (unsigned d = 0; d < DIGITS; d++) {
        size_t here = counts[d];
        if (here == n)
            return 0;
        counts[d] = at;
        at += here;
    }
    return 1;
}

/* Merge neighbouring ascending runs pair by pair: tracks written one after another are few long runs. */
static void merge_runs(Keyed **from, Keyed **to, size_t n, size_t *runs, size_t count)
{
    while (count > 1) {
        size_t kept = 0;
        for (size_t r = 0; r < count; r += 2) {
            size_t left = runs[r], middle = r + 1 < count ? runs[r + 1] : n, past = r + 2 < count ? runs[r + 2] : n;
            size_t right = middle, at = left;
            const Keyed *in = *from;
            Keyed *out = *to;
            runs[kept++] = left;
            while (left < middle && right < past) {
                int second = in[right].key < in[left].key;
                out[at++] = in[second ? right : left];
                right += (size_t)second;
                left += (size_t)!second;
            }
            memcpy(out + at, in + left, (middle - left) * sizeof *in);
            at += middle - left;
            memcpy(out + at, in + right, (past - right) * sizeof *in);
        }
        count = kept;
        Keyed *swap = *from;
        *from = *to;
        *to = swap;
    }
}

static void radix_keys(Keyed **from, Keyed **to, size_t n, uint64_t range, size_t *counts)
{
    for (unsigned shift = 0; shift < 64 && range >> shift; shift += DIGIT_BITS) {
        const Keyed *in = *from;
        Keyed *out = *to;
        memset(counts, 0, DIGITS * sizeof *counts);
        for (size_t i = 0; i < n; i++)
            counts[(in[i].key >> shift) & (DIGITS - 1)]++;
        if (!positions(counts, n))
            continue;
        for (size_t i = 0; i < n; i++)
            out[counts[(in[i].key >> shift) & (DIGITS - 1)]++] = in[i];
        Keyed *swap = *from;
        *from = *to;
        *to = swap;
    }
}

int order_int64(const int64_t *key, size_t n, int64_t *order)
{
    if (sorted_int64(key, n)) {
        for (size_t i = 0; i < n; i++)
            order[i] = (int64_t)i;
        return 0;
    }
    Keyed *from = scratch(n, sizeof *from), *to = scratch(n, sizeof *to);
    size_t *counts = malloc(DIGITS * sizeof *counts);
    if (!from || !to || !counts) {
        free(from);
        free(to);
        free(counts);
        return -1;
    }
    int64_t least = key[0], most = key[0];
    size_t runs[MAX_RUNS + 1] = {0}, run_count = 1;
    for (size_t i = 1; i < n; i++) {
        if (key[i] < key[i - 1] && run_count <= MAX_RUNS)
            runs[run_count++] = i;
        least = key[i] < least ? key[i] : least;
        most = key[i] > most ? key[i] : most;
    }
    for (size_t i = 0; i < n; i++) {
        from[i].key = (uint64_t)key[i] - (uint64_t)least;
        from[i].index = (int64_t)i;
    }
    if (run_count <= MAX_RUNS)
        merge_runs(&from, &to, n, runs, run_count);
    else
        radix_keys(&from, &to, n, (uint64_t)most - (uint64_t)least, counts);
    for (size_t i = 0; i < n; i++)
        order[i] = from[i].index;
    free(from);
    free(to);
    free(counts);
    return 0;
}

/* Stable merge sort by descending end, for spans that start together. */
static void merge_ends(Span *spans, Span *room, size_t n)
{
    if (n <= 16) {
        for (size_t i = 1; i < n; i++) {
            Span moving = spans[i];
            size_t j = i;
            for (; j > 0 && spans[j - 1].end < moving.end; j--)
                spans[j] = spans[j - 1];
            spans[j] = moving;
        }
        return;
    }
    size_t half = n / 2, left = 0, right = half, at = 0;
    merge_ends(spans, room, half);
    merge_ends(spans + half, room, n - half);
    if (spans[half - 1].end >= spans[half].end)
        return;
    while (left < half && right < n)
        room[at++] = spans[right].end > spans[left].end ? spans[right++] : spans[left++];
    while (left < half)
        room[at++] = spans[left++];
    while (right < n)
        room[at++] = spans[right++];
    memcpy(spans, room, n * sizeof *spans);
}

static void sort_starts(Span *spans, Span *room, size_t n)
{
    int64_t least = spans[0].start, most = spans[0].start;
    int sorted = 1;
    for (size_t i = 1; i < n; i++) {
        if (spans[i].start < spans[i - 1].start)
            sorted = 0;
        if (spans[i].start < least)
            least = spans[i].start;
        if (spans[i].start > most)
            most = spans[i].start;
    }
    if (sorted)
        return;
    if (n <= 64) {
        for (size_t i = 1; i < n; i++) {
            Span moving = spans[i];
            size_t j = i;
            for (; j > 0 && spans[j - 1].start > moving.start; j--)
                spans[j] = spans[j - 1];
            spans[j] = moving;
        }
        return;
    }
    size_t counts[DIGITS];
    uint64_t base = (uint64_t)least, range = (uint64_t)most - base;
    Span *from = spans, *to = room;
    for (unsigned shift = 0; shift < 64 && range >> shift; shift += DIGIT_BITS) {
        memset(counts, 0, sizeof counts);
        for (size_t i = 0; i < n; i++)
            counts[(((uint64_t)from[i].start - base) >> shift) & (DIGITS - 1)]++;
        if (!positions(counts, n))
            continue;
        for (size_t i = 0; i < n; i++)
            to[counts[(((uint64_t)from[i].start - base) >> shift) & (DIGITS - 1)]++] = from[i];
        Span *swap = from;
        from = to;
        to = swap;
    }
    if (from != spans)
        memcpy(spans, from, n * sizeof *spans);
}

void sort_spans(Span *spans, Span *room, size_t n)
{
    if (n < 2)
        return;
    sort_starts(spans, room, n);
    for (size_t first = 0; first < n;) {
        size_t past = first + 1;
        int ordered = 1;
        while (past < n && spans[past].start == spans[first].start) {
            if (spans[past].end > spans[past - 1].end)
                ordered = 0;
            past++;
        }
        if (!ordered)
            merge_ends(spans + first, room, past - first);
        first = past;
    }
}
