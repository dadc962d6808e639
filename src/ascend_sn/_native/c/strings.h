/* Texts by number: every distinct text is stored once, numbered in order of first appearance. */
#ifndef ASCEND_SN_STRINGS_H
#define ASCEND_SN_STRINGS_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct {
    uint8_t *bytes;
    size_t used, room;
    uint64_t *start; /* count + 1 positions in `bytes` */
    uint32_t *hash;
    size_t count, texts_room;
    uint32_t *slots; /* code + 1, 0 where free */
    size_t slot_count;
    pthread_mutex_t lock; /* readers hold the interpreter lock, writers do not */
} Strings;

/* Name of the capsule that holds a `Strings`. */
#define TEXTS "ascend_sn.texts"

int strings_open(Strings *strings);
void strings_close(Strings *strings);

/* The code of a text, added when new; -1 when memory runs out. The caller holds the lock. */
int32_t strings_code(Strings *strings, const uint8_t *text, size_t length, uint32_t hash);

static inline uint64_t read64(const uint8_t *p)
{
    uint64_t value;
    memcpy(&value, p, sizeof value);
    return value;
}

static inline uint64_t read32(const uint8_t *p)
{
    uint32_t value;
    memcpy(&value, p, sizeof value);
    return value;
}

/* Whether n bytes are equal; up to 7 bytes after both may be read. */
static inline int same_bytes(const uint8_t *a, const uint8_t *b, size_t n)
{
    for (; n >= 8; a += 8, b += 8, n -= 8)
        if (read64(a) != read64(b))
            return 0;
    if (n == 0)
        return 1;
    uint64_t differ = read64(a) ^ read64(b);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    return differ << (64 - 8 * n) == 0;
#else
    return differ >> (64 - 8 * n) == 0;
#endif
}

static inline uint64_t fold(uint64_t a, uint64_t b)
{
    unsigned __int128 product = (unsigned __int128)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Drawn once per process, so that nobody can prepare texts that all fall into one slot. */
extern uint64_t hash_seed;

static inline uint32_t hash_text(const uint8_t *p, size_t n)
{
    uint64_t state = hash_seed, a, b;
    for (; n > 16; p += 16, n -= 16)
        state = fold(read64(p) ^ UINT64_C(0x9E3779B97F4A7C15), read64(p + 8) ^ state);
    if (n >= 8) {
        a = read64(p);
        b = read64(p + n - 8);
    } else if (n >= 4) {
        a = read32(p);
        b = read32(p + n - 4);
    } else {
        a = n ? (uint64_t)p[0] << 16 | (uint64_t)p[n / 2] << 8 | p[n - 1] : 0;
        b = 0;
    }
    state = fold(a ^ UINT64_C(0xD1B54A32D192ED03), b ^ state ^ n);
    return (uint32_t)(state ^ state >> 32);
}

#endif
