/* Tokens of JSON text. All loops end at the NUL after the window. */
#ifndef ASCEND_SN_TEXT_H
#define ASCEND_SN_TEXT_H

#include "scan.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#elif defined(__ARM_NEON) && defined(__aarch64__)
#include <arm_neon.h>
#endif

static inline int is_space(uint8_t c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

static inline const uint8_t *skip_space(const uint8_t *p)
{
    /* Most often there is none or one; indented files have a line end and a dozen. */
    if (*p > ' ')
        return p;
    if (!is_space(*p) || !is_space(*++p))
        return p;
#if defined(__SSE2__)
    const __m128i space = _mm_set1_epi8(' '), line = _mm_set1_epi8('\n');
    for (;; p += 16) {
        __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)p);
        int hits = _mm_movemask_epi8(_mm_or_si128(_mm_cmpeq_epi8(bytes, space), _mm_cmpeq_epi8(bytes, line)));
        if (hits == 0xFFFF)
            continue;
        p += __builtin_ctz(~(unsigned)hits);
        break;
    }
#endif
    while (is_space(*p))
        p++;
    return p;
}

/* The first quote or backslash at or after p, or a place at or beyond `end`. */
static inline const uint8_t *quote_or_backslash(const uint8_t *p, const uint8_t *end)
{
#if defined(__SSE2__)
    const __m128i quote = _mm_set1_epi8('"'), backslash = _mm_set1_epi8('\\');
    for (; p < end; p += 16) {
        __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)p);
        int hits = _mm_movemask_epi8(_mm_or_si128(_mm_cmpeq_epi8(bytes, quote), _mm_cmpeq_epi8(bytes, backslash)));
        if (hits)
            return p + __builtin_ctz((unsigned)hits);
    }
#elif defined(__ARM_NEON) && defined(__aarch64__)
    const uint8x16_t quote = vdupq_n_u8('"'), backslash = vdupq_n_u8('\\');
    for (; p < end; p += 16) {
        uint8x16_t bytes = vld1q_u8(p);
        uint8x16_t equal = vorrq_u8(vceqq_u8(bytes, quote), vceqq_u8(bytes, backslash));
        uint64_t hits = vget_lane_u64(vreinterpret_u64_u8(vshrn_n_u16(vreinterpretq_u16_u8(equal), 4)), 0);
        if (hits)
            return p + (__builtin_ctzll(hits) >> 2);
    }
#else
    for (; p < end; p++)
        if (*p == '"' || *p == '\\')
            return p;
#endif
    return p;
}

/* From after the opening quote to the closing one; NULL where the window ends before. */
static inline const uint8_t *text_end(const uint8_t *p, const uint8_t *end, int *escaped)
{
    *escaped = 0;
    for (;;) {
        p = quote_or_backslash(p, end);
        if (p >= end)
            return NULL;
        if (*p == '"')
            return p;
        *escaped = 1;
        p += 2;
    }
}

/* A decimal number: mantissa * 10^scale, with what did not fit into 19 digits told apart. */
typedef struct {
    uint64_t mantissa;
    int64_t scale;
    int negative, whole, has_exponent; /* whole: no point, no exponent */
    int rest, rest_half;               /* lost digits are not all zero; their first is 5 or more */
    int lost;
} Decimal;

/* Read a number as JSON writes it; returns its end or NULL. */
const uint8_t *take_decimal(const uint8_t *p, Decimal *number);
/* Read a number as people write it in texts: a sign, leading zeros, a bare point are fine. */
int text_decimal(const uint8_t *p, const uint8_t *end, Decimal *number);

/* Eight digits at once, as most of an epoch time is; returns 0 where p has fewer. */
static inline int eight_digits(const uint8_t *p, uint64_t *value)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    uint64_t word = read64(p);
    uint64_t high = (word & UINT64_C(0xF0F0F0F0F0F0F0F0)) |
                    ((word + UINT64_C(0x0606060606060606)) & UINT64_C(0xF0F0F0F0F0F0F0F0)) >> 4;
    if (high != UINT64_C(0x3333333333333333))
        return 0;
    word = (word & UINT64_C(0x0F0F0F0F0F0F0F0F)) * 2561 >> 8;
    word = (word & UINT64_C(0x00FF00FF00FF00FF)) * 6553601 >> 16;
    *value = (word & UINT64_C(0x0000FFFF0000FFFF)) * UINT64_C(42949672960001) >> 32;
    return 1;
#else
    (void)p, (void)value;
    return 0;
#endif
}

/* A whole number without a sign and of at most 18 digits; returns its end, NULL where it is another kind of number. */
static inline const uint8_t *plain_whole(const uint8_t *p, uint64_t *value)
{
    const uint8_t *begin = p;
    uint64_t found = 0, eight;
    if (*p == '0') {
        p++;
    } else {
        while (p - begin < 10 && eight_digits(p, &eight)) {
            found = found * 100000000 + eight;
            p += 8;
        }
        for (; (uint8_t)(*p - '0') < 10 && p - begin < 18; p++)
            found = found * 10 + (*p - '0');
    }
    *value = found;
    return p == begin || (uint8_t)(*p - '0') < 10 || (*p | 0x20) == 'e' ? NULL : p;
}

/* Microseconds with at most three decimals, as most times are written, to nanoseconds; returns the end, NULL where
 * it is another kind of number or beyond int64. */
static inline const uint8_t *plain_time(const uint8_t *p, int64_t *ns)
{
    static const uint16_t UNITS[4] = {1000, 100, 10, 1};
    uint64_t value, decimals = 0;
    int count = 0;
    p = plain_whole(p, &value);
    if (!p || value >= INT64_MAX / 1000)
        return NULL;
    if (*p == '.') {
        for (p++; (uint8_t)(*p - '0') < 10 && count < 3; p++, count++)
            decimals = decimals * 10 + (*p - '0');
        if (count == 0 || (uint8_t)(*p - '0') < 10 || (*p | 0x20) == 'e')
            return NULL;
    }
    *ns = (int64_t)(value * 1000 + decimals * UNITS[count]);
    return p;
}

/* Microseconds to nanoseconds, half away from zero. Returns 0, or -1 when it is out of range. */
int decimal_ns(const Decimal *microseconds, int64_t *ns, int *rounded);
/* The whole number, if it is one that fits. */
int decimal_int64(const Decimal *number, int64_t *value);
/* The nearest double of the number that is written from `text` on. */
double decimal_double(const Decimal *number, const uint8_t *text);

/* Marks of a raw text: what about it is broken. */
uint8_t inspect(const uint8_t *text, size_t length, int escaped);
/* Resolve escapes; `out` has room for `length` bytes. Returns the new length. */
size_t unescape(const uint8_t *text, size_t length, uint8_t *out);

#endif
