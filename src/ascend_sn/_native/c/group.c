#include "group.h"

#include <string.h>

#include "memory.h"

static size_t slot_of(const ThreadMap *map, int64_t key)
{
    uint64_t hash = (uint64_t)key * UINT64_C(0x9E3779B97F4A7C15);
    size_t at = (size_t)(hash >> 32) & (map->room - 1);
    while (map->codes[at] >= 0 && map->keys[at] != key)
        at = (at + 1) & (map->room - 1);
    return at;
}

static int map_grow(ThreadMap *map, size_t room)
{
    ThreadMap bigger = {malloc(room * sizeof(int64_t)), malloc(room * sizeof(int32_t)), room, map->used};
    if (!bigger.keys || !bigger.codes) {
        free(bigger.keys);
        free(bigger.codes);
        return -1;
    }
    for (size_t i = 0; i < room; i++)
        bigger.codes[i] = -1;
    for (size_t i = 0; i < map->room; i++) {
        if (map->codes[i] < 0)
            continue;
        size_t at = slot_of(&bigger, map->keys[i]);
        bigger.keys[at] = map->keys[i];
        bigger.codes[at] = map->codes[i];
    }
    free(map->keys);
    free(map->codes);
    *map = bigger;
    return 0;
}

int32_t map_code(ThreadMap *map, int64_t key, int add)
{
    if (map->room == 0 && map_grow(map, 256) < 0)
        return -2;
    size_t at = slot_of(map, key);
    if (map->codes[at] >= 0 || !add)
        return map->codes[at];
    if (2 * map->used >= map->room) {
        if (map_grow(map, 2 * map->room) < 0)
            return -2;
        at = slot_of(map, key);
    }
    map->keys[at] = key;
    map->codes[at] = (int32_t)map->used++;
    return map->codes[at];
}

void map_free(ThreadMap *map)
{
    free(map->keys);
    free(map->codes);
}

void grouped_free(Grouped *grouped)
{
    map_free(&grouped->map);
    free(grouped->spans);
    free(grouped->first);
}

int group(Grouped *grouped, const int64_t *thread, const int64_t *start, const int64_t *dur, size_t n)
{
    memset(grouped, 0, sizeof *grouped);
    int32_t *codes = scratch(n, sizeof *codes);
    if (!codes)
        return -1;
    for (size_t i = 0; i < n; i++) {
        codes[i] = i && thread[i] == thread[i - 1] ? codes[i - 1] : map_code(&grouped->map, thread[i], 1);
        if (codes[i] < 0) {
            free(codes);
            return -1;
        }
    }
    size_t threads = grouped->map.used;
    grouped->first = calloc(threads + 2, sizeof *grouped->first);
    grouped->spans = scratch(n, sizeof *grouped->spans);
    if (!grouped->first || !grouped->spans) {
        free(codes);
        return -1;
    }
    size_t *at = grouped->first + 1; /* shifted by one while filling, so that afterwards first[] is in place */
    size_t most = 0;
    for (size_t i = 0; i < n; i++)
        at[codes[i]]++;
    for (size_t c = 0, sum = 0; c < threads; c++) {
        size_t here = at[c];
        most = here > most ? here : most;
        at[c] = sum;
        sum += here;
    }
    for (size_t i = 0; i < n; i++)
        grouped->spans[at[codes[i]]++] = (Span){start[i], end_of(start[i], dur[i]), (int64_t)i};
    free(codes);

    Span *room = NULL;
    for (size_t c = 0; c < threads; c++) {
        Span *spans = grouped->spans + grouped->first[c];
        size_t count = grouped->first[c + 1] - grouped->first[c];
        int sorted = 1;
        for (size_t i = 1; i < count && sorted; i++)
            sorted = spans[i].start > spans[i - 1].start ||
                     (spans[i].start == spans[i - 1].start && spans[i].end <= spans[i - 1].end);
        if (sorted)
            continue;
        if (!room && !(room = scratch(most, sizeof *room)))
            return -1;
        sort_spans(spans, room, count);
    }
    free(room);
    return 0;
}
