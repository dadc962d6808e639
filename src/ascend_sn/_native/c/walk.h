/* Walking over JSON text: what the parts that read events have in common. */
#ifndef ASCEND_SN_WALK_H
#define ASCEND_SN_WALK_H

#include "text.h"

/* Depths: the event is container 1, its args container 2. */
#define IN_EVENT 1
#define IN_ARGS 2

enum { HAS_TS = 1, HAS_DUR = 2, HAS_ARGS = 4 };

static inline Taken failed_at(const uint8_t *p, const uint8_t *end)
{
    return p >= end ? CUT : DAMAGED;
}

/* A number that is none: cut if the window ends within its characters. */
Taken broken_number(const uint8_t *p, const uint8_t *end);

/* A key with its quotes and the colon; *at is then at the value. */
Taken take_key(const uint8_t **at, const uint8_t *end, const uint8_t **key, size_t *length, int *escaped);

enum { UNEXPECTED = -2, NOT_CHOSEN = -1 };

/* Which key stands at *at, if it is one that came after the key in `state` before; *at is then at the value. */
static inline int expected_key(const KnownKeys *known, uint32_t *state, const uint8_t **at)
{
    for (int i = 0; i < 2; i++) {
        uint32_t next = known->keys[*state].next[i];
        const KnownKey *key = &known->keys[next];
        if (next && same_bytes(key->text, *at, key->length)) {
            *state = next;
            *at = skip_space(*at + key->length);
            return key->which;
        }
    }
    return UNEXPECTED;
}

/* Remember that the key from `start` to its value at `value` came after the one in `state`. */
void learn_key(KnownKeys *known, uint32_t *state, const uint8_t *start, const uint8_t *value, int which);

/* The end of a number without an exponent, NULL where there is another thing. */
static inline const uint8_t *number_end(const uint8_t *p)
{
    p += *p == '-';
    if (*p == '0') {
        p++;
    } else {
        if ((uint8_t)(*p - '1') > 8)
            return NULL;
        while ((uint8_t)(*p - '0') < 10)
            p++;
    }
    if (*p == '.') {
        if ((uint8_t)(*++p - '0') > 9)
            return NULL;
        while ((uint8_t)(*p - '0') < 10)
            p++;
    }
    return (*p | 0x20) == 'e' ? NULL : p;
}

/* Go over any value inside an event; most are texts and numbers. */
static inline Taken pass_value(const uint8_t **at, const uint8_t *end, int depth)
{
    const uint8_t *p = *at;
    if (*p == '"') {
        int escaped;
        p = text_end(p + 1, end, &escaped);
        if (!p)
            return CUT;
        *at = p + 1;
        return TAKEN;
    }
    p = number_end(p);
    if (p && (*p == ',' || *p == '}')) {
        *at = p;
        return TAKEN;
    }
    return skip_value(at, end, depth);
}

/* The value of `args`. */
Taken args_field(Worker *worker, const uint8_t **at, Event *event);
/* Take back what the row at hand has got. */
void forget_arguments(Rows *rows, size_t key_count, uint32_t row);

#endif
