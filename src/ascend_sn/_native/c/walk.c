/* Walking over JSON text without keeping it. */
#include "walk.h"

Taken broken_number(const uint8_t *p, const uint8_t *end)
{
    while ((uint8_t)(*p - '0') < 10 || *p == '-' || *p == '+' || *p == '.' || *p == 'e' || *p == 'E')
        p++;
    return failed_at(p, end);
}

static Taken take_word(const uint8_t **at, const uint8_t *end, const char *word)
{
    const uint8_t *p = *at;
    for (; *word; word++, p++)
        if (*p != (uint8_t)*word)
            return failed_at(p, end);
    *at = p;
    return TAKEN;
}

/* A number, or one of the words true, false, null, NaN, Infinity, -Infinity. */
static Taken take_scalar(const uint8_t **at, const uint8_t *end)
{
    Decimal number;
    switch (**at) {
    case 't': return take_word(at, end, "true");
    case 'f': return take_word(at, end, "false");
    case 'n': return take_word(at, end, "null");
    case 'N': return take_word(at, end, "NaN");
    case 'I': return take_word(at, end, "Infinity");
    default: break;
    }
    if ((*at)[0] == '-' && (*at)[1] == 'I')
        return take_word(at, end, "-Infinity");
    if (**at != '-' && (uint8_t)(**at - '0') > 9)
        return failed_at(*at, end);
    const uint8_t *past = number_end(*at);
    if (!past)
        past = take_decimal(*at, &number);
    if (!past)
        return broken_number(*at, end);
    *at = past;
    return past >= end ? CUT : TAKEN; /* the next digit may follow in the next window */
}

Taken take_key(const uint8_t **at, const uint8_t *end, const uint8_t **key, size_t *length, int *escaped)
{
    const uint8_t *p = *at;
    if (*p != '"')
        return failed_at(p, end);
    *key = p + 1;
    p = text_end(p + 1, end, escaped);
    if (!p)
        return CUT;
    *length = (size_t)(p - *key);
    p = skip_space(p + 1);
    if (*p != ':')
        return failed_at(p, end);
    *at = skip_space(p + 1);
    return TAKEN;
}

void learn_key(KnownKeys *known, uint32_t *state, const uint8_t *start, const uint8_t *value, int which)
{
    size_t length = (size_t)(value - start);
    uint32_t before = *state;
    *state = 0;
    if (length > LONGEST_KNOWN)
        return;
    if (known->count + 1 >= MOST_KNOWN) {
        memset(known, 0, sizeof *known);
        before = 0;
    }
    uint32_t at = hash_text(start, length) % (2 * MOST_KNOWN), place;
    for (; (place = known->slots[at]); at = (at + 1) % (2 * MOST_KNOWN))
        if (known->keys[place].length == length && memcmp(known->keys[place].text, start, length) == 0)
            break;
    if (!place) {
        place = ++known->count;
        known->slots[at] = (uint8_t)place;
        memcpy(known->keys[place].text, start, length);
        known->keys[place].length = (uint8_t)length;
        known->keys[place].which = (int16_t)which;
    }
    KnownKey *key = &known->keys[before];
    if (key->next[0] != place) {
        key->next[1] = key->next[0];
        key->next[0] = (uint8_t)place;
    }
    *state = place;
}

Taken skip_value(const uint8_t **at, const uint8_t *end, int depth)
{
    uint64_t is_object[MAX_DEPTH / 64 + 1] = {0};
    const uint8_t *p = *at, *key;
    size_t length;
    int escaped, bottom = depth;
    Taken taken;
    for (;;) {
        /* A value starts at p. */
        if (*p == '"') {
            p = text_end(p + 1, end, &escaped);
            if (!p)
                return CUT;
            p++;
        } else if (*p == '{' || *p == '[') {
            int object = *p == '{';
            if (depth >= MAX_DEPTH)
                return TOO_DEEP;
            depth++;
            is_object[depth / 64] &= ~(UINT64_C(1) << depth % 64);
            is_object[depth / 64] |= (uint64_t)object << depth % 64;
            p = skip_space(p + 1);
            if (*p == (object ? '}' : ']')) {
                depth--;
                p++;
            } else {
                if (object && (taken = take_key(&p, end, &key, &length, &escaped)) != TAKEN)
                    return taken;
                continue;
            }
        } else if ((taken = take_scalar(&p, end)) != TAKEN) {
            return taken;
        }
        /* A value ended before p. */
        for (;;) {
            if (depth == bottom) {
                *at = p;
                return TAKEN;
            }
            int object = is_object[depth / 64] >> depth % 64 & 1;
            p = skip_space(p);
            if (*p == ',') {
                p = skip_space(p + 1);
                if (object && (taken = take_key(&p, end, &key, &length, &escaped)) != TAKEN)
                    return taken;
                break;
            }
            if (*p != (object ? '}' : ']'))
                return failed_at(p, end);
            depth--;
            p++;
        }
    }
}
