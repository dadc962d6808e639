#include "strings.h"

#include <stdlib.h>

uint64_t hash_seed = UINT64_C(0x2545F4914F6CDD1D);

int strings_open(Strings *strings)
{
    memset(strings, 0, sizeof *strings);
    strings->room = 1 << 16;
    strings->texts_room = 1 << 10;
    strings->slot_count = 1 << 12;
    strings->bytes = malloc(strings->room);
    strings->start = malloc((strings->texts_room + 1) * sizeof *strings->start);
    strings->hash = malloc(strings->texts_room * sizeof *strings->hash);
    strings->slots = calloc(strings->slot_count, sizeof *strings->slots);
    if (!strings->bytes || !strings->start || !strings->hash || !strings->slots ||
        pthread_mutex_init(&strings->lock, NULL) != 0) {
        free(strings->bytes);
        free(strings->start);
        free(strings->hash);
        free(strings->slots);
        return -1;
    }
    strings->start[0] = 0;
    return 0;
}

void strings_close(Strings *strings)
{
    pthread_mutex_destroy(&strings->lock);
    free(strings->bytes);
    free(strings->start);
    free(strings->hash);
    free(strings->slots);
}

static int more_slots(Strings *strings)
{
    size_t slot_count = 2 * strings->slot_count;
    uint32_t *slots = calloc(slot_count, sizeof *slots);
    if (!slots)
        return -1;
    for (size_t code = 0; code < strings->count; code++) {
        size_t at = strings->hash[code] & (slot_count - 1);
        while (slots[at])
            at = (at + 1) & (slot_count - 1);
        slots[at] = (uint32_t)code + 1;
    }
    free(strings->slots);
    strings->slots = slots;
    strings->slot_count = slot_count;
    return 0;
}

static int more_texts(Strings *strings)
{
    size_t room = strings->texts_room + strings->texts_room / 2;
    uint64_t *start = realloc(strings->start, (room + 1) * sizeof *start);
    if (start)
        strings->start = start;
    uint32_t *hash = realloc(strings->hash, room * sizeof *hash);
    if (hash)
        strings->hash = hash;
    if (!start || !hash)
        return -1;
    strings->texts_room = room;
    return 0;
}

static int more_bytes(Strings *strings, size_t length)
{
    size_t room = strings->room + strings->room / 2;
    if (room < strings->used + length)
        room = strings->used + length;
    uint8_t *bytes = realloc(strings->bytes, room);
    if (!bytes)
        return -1;
    strings->bytes = bytes;
    strings->room = room;
    return 0;
}

int32_t strings_code(Strings *strings, const uint8_t *text, size_t length, uint32_t hash)
{
    size_t at = hash & (strings->slot_count - 1);
    for (; strings->slots[at]; at = (at + 1) & (strings->slot_count - 1)) {
        size_t code = strings->slots[at] - 1;
        uint64_t from = strings->start[code];
        if (strings->hash[code] == hash && strings->start[code + 1] - from == length &&
            memcmp(strings->bytes + from, text, length) == 0)
            return (int32_t)code;
    }
    if (strings->count >= INT32_MAX || (strings->count >= strings->texts_room && more_texts(strings) < 0) ||
        (strings->used + length > strings->room && more_bytes(strings, length) < 0))
        return -1;
    if (3 * strings->count >= 2 * strings->slot_count) {
        if (more_slots(strings) < 0)
            return -1;
        at = hash & (strings->slot_count - 1);
        while (strings->slots[at])
            at = (at + 1) & (strings->slot_count - 1);
    }
    memcpy(strings->bytes + strings->used, text, length);
    strings->used += length;
    strings->hash[strings->count] = hash;
    strings->slots[at] = (uint32_t)strings->count + 1;
    strings->start[++strings->count] = strings->used;
    return (int32_t)(strings->count - 1);
}
