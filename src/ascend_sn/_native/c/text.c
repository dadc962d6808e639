#include "text.h"

#include <locale.h>
#include <math.h>
#include <stdlib.h>

static const uint64_t POWERS[20] = {
    UINT64_C(1), UINT64_C(10), UINT64_C(100), UINT64_C(1000), UINT64_C(10000), UINT64_C(100000),
    UINT64_C(1000000), UINT64_C(10000000), UINT64_C(100000000), UINT64_C(1000000000), UINT64_C(10000000000),
    UINT64_C(100000000000), UINT64_C(1000000000000), UINT64_C(10000000000000), UINT64_C(100000000000000),
    UINT64_C(1000000000000000), UINT64_C(10000000000000000), UINT64_C(100000000000000000),
    UINT64_C(1000000000000000000), UINT64_C(10000000000000000000),
};
/* 10^18: one more digit always fits into 64 bits below it. */
#define FULL UINT64_C(1000000000000000000)

static inline int is_digit(uint8_t c)
{
    return (uint8_t)(c - '0') < 10;
}

static inline void lose_digit(Decimal *number, uint8_t digit)
{
    if (!number->lost)
        number->rest_half = digit >= '5';
    number->lost = 1;
    number->rest |= digit != '0';
}

static inline const uint8_t *whole_digits(const uint8_t *p, Decimal *number)
{
    uint64_t eight;
    while (number->mantissa < UINT64_C(100000000000) && eight_digits(p, &eight)) {
        number->mantissa = number->mantissa * 100000000 + eight;
        p += 8;
    }
    for (; is_digit(*p); p++) {
        if (number->mantissa < FULL) {
            number->mantissa = number->mantissa * 10 + (*p - '0');
        } else {
            number->scale++;
            lose_digit(number, *p);
        }
    }
    return p;
}

static inline const uint8_t *fraction_digits(const uint8_t *p, Decimal *number)
{
    for (; is_digit(*p); p++) {
        if (number->mantissa < FULL) {
            number->mantissa = number->mantissa * 10 + (*p - '0');
            number->scale--;
        } else {
            lose_digit(number, *p);
        }
    }
    return p;
}

/* After the `e`; NULL when no digit follows. */
static const uint8_t *exponent(const uint8_t *p, Decimal *number)
{
    int64_t value = 0;
    int negative = *p == '-';
    if (*p == '-' || *p == '+')
        p++;
    if (!is_digit(*p))
        return NULL;
    for (; is_digit(*p); p++)
        if (value < 1000000)
            value = value * 10 + (*p - '0');
    number->scale += negative ? -value : value;
    number->has_exponent = 1;
    return p;
}

const uint8_t *take_decimal(const uint8_t *p, Decimal *number)
{
    *number = (Decimal){.whole = 1};
    if (*p == '-') {
        number->negative = 1;
        p++;
    }
    if (*p == '0')
        p++;
    else if (is_digit(*p))
        p = whole_digits(p, number);
    else
        return NULL;
    if (*p == '.') {
        number->whole = 0;
        if (!is_digit(p[1]))
            return NULL;
        p = fraction_digits(p + 1, number);
    }
    if (*p == 'e' || *p == 'E') {
        number->whole = 0;
        return exponent(p + 1, number);
    }
    return p;
}

int text_decimal(const uint8_t *p, const uint8_t *end, Decimal *number)
{
    /* The text is followed by its closing quote, so the digit loops stop there. */
    const uint8_t *begin;
    *number = (Decimal){.whole = 1};
    if (p < end && (*p == '-' || *p == '+'))
        number->negative = *p++ == '-';
    begin = p;
    p = whole_digits(p, number);
    size_t digits = (size_t)(p - begin);
    if (*p == '.') {
        number->whole = 0;
        begin = p + 1;
        p = fraction_digits(begin, number);
        digits += (size_t)(p - begin);
    }
    if (digits == 0)
        return 0;
    if (*p == 'e' || *p == 'E') {
        number->whole = 0;
        p = exponent(p + 1, number);
    }
    return p == end;
}

int decimal_ns(const Decimal *number, int64_t *ns, int *rounded)
{
    uint64_t value = number->mantissa;
    int64_t shift = number->scale + 3;
    *rounded = number->rest;
    if (value == 0)
        shift = 0;
    if (shift > 19)
        return -1;
    if (shift >= 0) {
        /* Where digits were lost, the mantissa has 19 of them: times ten it is out of range anyway. */
        if (value > UINT64_MAX / POWERS[shift])
            return -1;
        value = value * POWERS[shift] + (uint64_t)number->rest_half;
    } else if (shift < -19) {
        *rounded |= value != 0;
        value = 0;
    } else {
        uint64_t unit = POWERS[-shift], lost = value % unit;
        *rounded |= lost != 0;
        value = value / unit + (lost >= unit / 2);
    }
    if (value > (uint64_t)INT64_MAX)
        return -1;
    *ns = number->negative ? -(int64_t)value : (int64_t)value;
    return 0;
}

int decimal_int64(const Decimal *number, int64_t *value)
{
    if (!number->whole || number->scale || number->rest)
        return 0;
    if (number->mantissa > (uint64_t)INT64_MAX + (uint64_t)number->negative)
        return 0;
    *value = (int64_t)(number->negative ? 0 - number->mantissa : number->mantissa);
    return 1;
}

static locale_t plain_locale(void)
{
    static locale_t plain;
    locale_t known = __atomic_load_n(&plain, __ATOMIC_ACQUIRE);
    if (known)
        return known;
    locale_t made = newlocale(LC_ALL_MASK, "C", (locale_t)0), none = (locale_t)0;
    if (__atomic_compare_exchange_n(&plain, &none, made, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        return made;
    freelocale(made);
    return none;
}

double decimal_double(const Decimal *number, const uint8_t *text)
{
    static const double EXACT[23] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                     1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    /* Both factors exact, one rounding: the result is the nearest double. */
    if (!number->rest && number->mantissa <= UINT64_C(1) << 53 && number->scale >= -22 && number->scale <= 22) {
        double value = (double)number->mantissa;
        value = number->scale < 0 ? value / EXACT[-number->scale] : value * EXACT[number->scale];
        return number->negative ? -value : value;
    }
    return strtod_l((const char *)text, NULL, plain_locale());
}

static int hex4(const uint8_t *p, const uint8_t *end, uint32_t *value)
{
    uint32_t found = 0;
    if (end - p < 4)
        return 0;
    for (int i = 0; i < 4; i++) {
        uint8_t c = p[i], low = c | 0x20;
        if (is_digit(c))
            found = found << 4 | (uint32_t)(c - '0');
        else if (low >= 'a' && low <= 'f')
            found = found << 4 | (uint32_t)(low - 'a' + 10);
        else
            return 0;
    }
    *value = found;
    return 1;
}

/* One escape at p (a backslash): its character, its length; a broken one stands for the backslash itself. */
static uint32_t take_escape(const uint8_t *p, const uint8_t *end, size_t *length, int *broken)
{
    uint32_t high, low;
    *length = 2;
    switch (p + 1 < end ? p[1] : 0) {
    case '"': return '"';
    case '\\': return '\\';
    case '/': return '/';
    case 'b': return '\b';
    case 'f': return '\f';
    case 'n': return '\n';
    case 'r': return '\r';
    case 't': return '\t';
    case 'u':
        if (!hex4(p + 2, end, &high))
            break;
        *length = 6;
        if (high < 0xD800 || high > 0xDFFF)
            return high;
        if (high < 0xDC00 && end - p >= 12 && p[6] == '\\' && p[7] == 'u' && hex4(p + 8, end, &low) &&
            low >= 0xDC00 && low <= 0xDFFF) {
            *length = 12;
            return 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00);
        }
        *broken |= BROKEN_UTF8; /* half of a pair is no character */
        return 0xFFFD;
    default: break;
    }
    *broken |= BROKEN_ESCAPE;
    *length = 1;
    return '\\';
}

/* Length of the well-formed UTF-8 character at p, 0 where there is none. */
static size_t utf8_length(const uint8_t *p, const uint8_t *end)
{
    uint8_t c = *p, least = 0x80, most = 0xBF;
    size_t length;
    if (c < 0x80)
        return 1;
    if (c >= 0xC2 && c <= 0xDF) {
        length = 2;
    } else if (c >= 0xE0 && c <= 0xEF) {
        length = 3;
        least = c == 0xE0 ? 0xA0 : least;
        most = c == 0xED ? 0x9F : most;
    } else if (c >= 0xF0 && c <= 0xF4) {
        length = 4;
        least = c == 0xF0 ? 0x90 : least;
        most = c == 0xF4 ? 0x8F : most;
    } else {
        return 0;
    }
    if ((size_t)(end - p) < length || p[1] < least || p[1] > most)
        return 0;
    for (size_t i = 2; i < length; i++)
        if (p[i] < 0x80 || p[i] > 0xBF)
            return 0;
    return length;
}

uint8_t inspect(const uint8_t *text, size_t length, int escaped)
{
    const uint8_t *p = text, *end = text + length;
    int marks = 0;
    while (p < end) {
        if (end - p >= 8) {
            /* Eight plain bytes at once: none above 0x7F, none below 0x20, no backslash of interest. */
            uint64_t word = read64(p), low = (word - UINT64_C(0x2020202020202020)) & ~word;
            uint64_t slash = word ^ UINT64_C(0x5C5C5C5C5C5C5C5C);
            slash = escaped ? (slash - UINT64_C(0x0101010101010101)) & ~slash : 0;
            if (((word | low | slash) & UINT64_C(0x8080808080808080)) == 0) {
                p += 8;
                continue;
            }
        }
        size_t step = 1;
        if (*p < 0x20) {
            marks |= HAS_CONTROL;
        } else if (escaped && *p == '\\') {
            take_escape(p, end, &step, &marks);
        } else if (*p >= 0x80) {
            step = utf8_length(p, end);
            if (step == 0) {
                marks |= BROKEN_UTF8;
                step = 1;
            }
        }
        p += step;
    }
    return (uint8_t)marks;
}

static size_t put_utf8(uint32_t c, uint8_t *out)
{
    if (c < 0x80) {
        out[0] = (uint8_t)c;
        return 1;
    }
    if (c < 0x800) {
        out[0] = (uint8_t)(0xC0 | c >> 6);
        out[1] = (uint8_t)(0x80 | (c & 0x3F));
        return 2;
    }
    if (c < 0x10000) {
        out[0] = (uint8_t)(0xE0 | c >> 12);
        out[1] = (uint8_t)(0x80 | (c >> 6 & 0x3F));
        out[2] = (uint8_t)(0x80 | (c & 0x3F));
        return 3;
    }
    out[0] = (uint8_t)(0xF0 | c >> 18);
    out[1] = (uint8_t)(0x80 | (c >> 12 & 0x3F));
    out[2] = (uint8_t)(0x80 | (c >> 6 & 0x3F));
    out[3] = (uint8_t)(0x80 | (c & 0x3F));
    return 4;
}

size_t unescape(const uint8_t *text, size_t length, uint8_t *out)
{
    const uint8_t *p = text, *end = text + length;
    uint8_t *to = out;
    while (p < end) {
        const uint8_t *slash = memchr(p, '\\', (size_t)(end - p));
        size_t plain = (size_t)((slash ? slash : end) - p), step;
        int broken = 0;
        memcpy(to, p, plain);
        to += plain;
        p += plain;
        if (slash) {
            to += put_utf8(take_escape(p, end, &step, &broken), to);
            p += step;
        }
    }
    return (size_t)(to - out);
}
