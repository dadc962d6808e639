/* What is around the event list: the top level of the file, its other members, its end. */
#include <stdlib.h>

#include "text.h"

#define LARGEST_MEMBER ((size_t)4 << 20)
#define ALL_MEMBERS ((size_t)16 << 20)

const char *const damage_names[DAMAGE_KINDS] = {
    [TRUNCATED] = "truncated",
    [UNCLOSED_ARRAY] = "unclosed_array",
    [TRAILING_COMMA] = "trailing_comma",
    [MISSING_COMMA] = "missing_comma",
    [EXTRA_COMMA] = "extra_comma",
    [DAMAGED_EVENT] = "damaged_event",
    [EVENT_TOO_DEEP] = "too_deep",
    [LARGE_EVENT] = "large_event",
    [GARBAGE] = "garbage",
    [NOT_AN_OBJECT] = "not_an_object",
    [DUPLICATE_EVENTS] = "duplicate_trace_events",
    [NOT_A_LIST] = "trace_events_no_list",
    [DAMAGED_HEADER] = "damaged_header",
    [LARGE_METADATA] = "large_metadata",
    [TRAILING_DATA] = "trailing_data",
    [INVALID_UTF8] = "invalid_utf8",
    [CONTROL_CHARACTER] = "control_character",
    [BAD_ESCAPE] = "bad_escape",
    [ROUNDED_TIME] = "rounded_time",
    [EXPONENT_TIME] = "exponent_time",
    [NOT_A_NUMBER] = "not_a_number",
    [BAD_TIME] = "bad_time",
    [TIME_OUT_OF_RANGE] = "time_out_of_range",
};

void add_notes(Scanner *scanner, const Window *window, const Notes *notes)
{
    for (int kind = 0; kind < DAMAGE_KINDS; kind++) {
        if (notes->count[kind] == 0)
            continue;
        if (scanner->notes.count[kind] == 0) {
            const uint8_t *where = window->begin + (notes->first[kind] - window->offset);
            size_t length = (size_t)(window->end - where), room = sizeof scanner->examples[kind];
            scanner->notes.first[kind] = notes->first[kind];
            scanner->example_length[kind] = (uint8_t)(length < room ? length : room);
            memcpy(scanner->examples[kind], where, scanner->example_length[kind]);
        }
        scanner->notes.count[kind] += notes->count[kind];
    }
}

void note_here(Scanner *scanner, const Window *window, Damage kind, const uint8_t *where)
{
    Notes notes = {.count = {0}};
    notes.count[kind] = 1;
    notes.first[kind] = window->offset + (where - window->begin);
    add_notes(scanner, window, &notes);
}

static int keep_member(Scanner *scanner, const Window *window, const uint8_t *key, size_t key_length,
                       const uint8_t *value, size_t value_length)
{
    if (value_length > LARGEST_MEMBER || scanner->member_bytes + value_length > ALL_MEMBERS) {
        note_here(scanner, window, LARGE_METADATA, value);
        return 0;
    }
    if (scanner->member_count == scanner->member_room) {
        size_t room = scanner->member_room ? 2 * scanner->member_room : 32;
        Member *members = realloc(scanner->members, room * sizeof *members);
        if (!members)
            return -1;
        scanner->members = members;
        scanner->member_room = room;
    }
    Member member = {malloc(key_length + value_length + 1), key_length, value_length};
    if (!member.bytes)
        return -1;
    memcpy(member.bytes, key, key_length);
    memcpy(member.bytes + key_length, value, value_length);
    scanner->members[scanner->member_count++] = member;
    scanner->member_bytes += value_length + key_length;
    return 0;
}

static int is_trace_events(const uint8_t *key, size_t length, int escaped)
{
    uint8_t plain[80];
    if (escaped && length <= sizeof plain) {
        length = unescape(key, length, plain);
        key = plain;
    }
    return length == 11 && memcmp(key, "traceEvents", 11) == 0;
}

/* A member of the top-level object starts with the quote at `start`. */
static Taken take_member(Scanner *scanner, const Window *window, const uint8_t *start, const uint8_t **at)
{
    const uint8_t *end = window->end, *key = start + 1;
    int escaped;
    const uint8_t *p = text_end(key, end, &escaped);
    if (!p)
        return CUT;
    size_t key_length = (size_t)(p - key);
    p = skip_space(p + 1);
    if (*p != ':')
        return p >= end ? CUT : DAMAGED;
    p = skip_space(p + 1);
    if (is_trace_events(key, key_length, escaped)) {
        if (*p == '[') {
            if (scanner->list_seen)
                note_here(scanner, window, DUPLICATE_EVENTS, start);
            scanner->list_seen = 1;
            scanner->position.place = IN_LIST;
            scanner->position.comma = 0;
            *at = p + 1;
            return TAKEN;
        }
        Taken taken = skip_value(&p, end, 1);
        if (taken == TAKEN)
            note_here(scanner, window, NOT_A_LIST, start);
        *at = p;
        return taken;
    }
    const uint8_t *value = p;
    Taken taken = skip_value(&p, end, 1);
    if (taken == TAKEN && keep_member(scanner, window, key, key_length, value, (size_t)(p - value)) < 0)
        return NO_MEMORY;
    *at = p;
    return taken;
}

static void lose_way(Scanner *scanner, const Window *window, Damage kind, const uint8_t *where)
{
    note_here(scanner, window, kind, where);
    scanner->position.at = where;
    scanner->position.place = SEEKING;
}

/* One step outside the list. Returns 1 for progress, 0 when more of the file is needed, -1 without memory. */
static int step_outside(Scanner *scanner, const Window *window)
{
    Position *now = &scanner->position;
    const uint8_t *end = window->end;
    if (now->place == AT_START && window->offset == 0 && now->at == window->begin &&
        memcmp(now->at, "\xEF\xBB\xBF", 3) == 0)
        now->at += 3;
    now->at = skip_space(now->at);
    if (now->at >= end) {
        if (!window->last)
            return 0;
        if (now->place == IN_OBJECT)
            note_here(scanner, window, scanner->list_seen ? UNCLOSED_ARRAY : TRUNCATED, end);
        now->place = FINISHED;
        return 1;
    }
    const uint8_t *start = now->at;
    if (now->place == AFTER) {
        lose_way(scanner, window, TRAILING_DATA, start);
        return 1;
    }
    if (now->place == AT_START) {
        if (*start == '[' || *start == '{') {
            scanner->list_seen = *start == '[';
            scanner->in_object = *start == '{';
            *now = (Position){start + 1, *start == '[' ? IN_LIST : IN_OBJECT, 0};
        } else {
            lose_way(scanner, window, DAMAGED_HEADER, start);
        }
        return 1;
    }
    Taken taken;
    switch (*start) {
    case '}':
        if (now->comma == 1)
            note_here(scanner, window, TRAILING_COMMA, start);
        *now = (Position){start + 1, AFTER, 0};
        return 1;
    case ',':
        if (now->comma != 2)
            note_here(scanner, window, EXTRA_COMMA, start);
        now->comma = 1;
        now->at++;
        return 1;
    case '"': {
        int comma = now->comma;
        taken = take_member(scanner, window, start, &now->at);
        if (taken == TAKEN && comma == 2)
            note_here(scanner, window, MISSING_COMMA, start);
        if (taken == TAKEN && now->place == IN_OBJECT)
            now->comma = 2;
        break;
    }
    default: taken = DAMAGED; break;
    }
    if (taken == NO_MEMORY)
        return -1;
    if (taken == TAKEN)
        return 1;
    now->at = start;
    if (taken == CUT && !window->last && (size_t)(end - start) < scanner->largest)
        return 0;
    if (taken == CUT)
        lose_way(scanner, window, window->last ? TRUNCATED : LARGE_METADATA, start);
    else
        lose_way(scanner, window, DAMAGED_HEADER, start);
    return 1;
}

/* The end of the file was reached in or after the list. */
static void finish(Scanner *scanner, const Window *window)
{
    if (scanner->position.place == IN_LIST)
        note_here(scanner, window, UNCLOSED_ARRAY, window->end);
    scanner->position.place = FINISHED;
}

int scan_window(Scanner *scanner, const Window *window, size_t threads, Pieces *pieces)
{
    Position *now = &scanner->position;
    now->at = window->begin;
    while (now->place != FINISHED) {
        if (now->place == IN_LIST || now->place == SEEKING) {
            if (scan_list(scanner, window, threads, pieces) < 0)
                return -1;
            if (now->place == AFTER) {
                if (scanner->in_object)
                    *now = (Position){now->at, IN_OBJECT, 2};
                continue;
            }
            if (!window->last)
                return 0;
            finish(scanner, window);
        } else {
            int progress = step_outside(scanner, window);
            if (progress <= 0)
                return progress;
        }
    }
    now->at = window->end;
    return 0;
}
