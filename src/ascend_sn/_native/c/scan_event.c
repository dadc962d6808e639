/* One event: its fields and times. */
#include <stdlib.h>

#include "walk.h"

/* Fields of an event; those up to SCOPE are kept as text, by the column of that number. */
enum { NAME, CATEGORY, PROCESS, THREAD, ID, ID2, SCOPE, PHASE, TIME, LENGTH, LETTER_S, LETTER_BP, ARGS };

/* Whether the value is written like the latest one of its field: most threads, processes and categories are. */
static inline int repeated(Worker *worker, int field, const uint8_t **at, int32_t *code)
{
    const uint8_t *p = *at, *text = worker->recent[field].text;
    size_t length = worker->recent[field].length;
    if (!text || length + 2 > (size_t)(worker->window->end - p))
        return 0;
    if (worker->recent[field].marks & RAW) {
        if (!same_bytes(text, p, length) || (p[length] != ',' && p[length] != '}'))
            return 0;
        *at = p + length;
    } else {
        if (*p != '"' || !same_bytes(text, ++p, length) || p[length] != '"')
            return 0;
        *at = p + length + 1;
    }
    *code = worker->recent[field].code;
    if (worker->any_marks)
        log_marks(worker, *code, p);
    return 1;
}

/* A field that is kept as text: a text as it is, null as absent, anything else as written. */
static Taken text_field(Worker *worker, int field, const uint8_t **at, int32_t *code)
{
    const uint8_t *p = *at, *end = worker->window->end;
    if (repeated(worker, field, at, code))
        return TAKEN;
    if (*p == '"') {
        int escaped;
        const uint8_t *past = text_end(p + 1, end, &escaped);
        if (!past)
            return CUT;
        *code = recent_code(worker, field, p + 1, (size_t)(past - p - 1), escaped ? ESCAPED : 0);
        *at = past + 1;
        return TAKEN;
    }
    Taken taken = pass_value(at, end, IN_EVENT);
    if (taken == TAKEN)
        *code = *p == 'n' ? -1 : recent_code(worker, field, p, (size_t)(*at - p), RAW);
    return taken;
}

/* A one-letter text; 0 for anything else. */
static Taken letter_field(Worker *worker, const uint8_t **at, uint8_t *letter, int *is_text)
{
    const uint8_t *p = *at;
    if (*p == '"' && p[1] != '"' && p[1] != '\\' && p[2] == '"') {
        *is_text = 1;
        *letter = p[1];
        *at = p + 3;
        return TAKEN;
    }
    Taken taken = skip_value(at, worker->window->end, IN_EVENT);
    *is_text = *p == '"';
    *letter = *is_text && *at - p == 3 ? p[1] : 0;
    return taken;
}

static int is_word(const uint8_t *p, const uint8_t *end, const char *word)
{
    for (; p < end && *word; p++, word++)
        if ((*p | 0x20) != (uint8_t)*word)
            return 0;
    return p == end && !*word;
}

static void set_time(Worker *worker, const Decimal *number, const uint8_t *where, int64_t *ns, uint8_t *has,
                     uint8_t bit)
{
    int rounded;
    if (decimal_ns(number, ns, &rounded) < 0) {
        log_note(worker, TIME_OUT_OF_RANGE, where);
        return;
    }
    if (rounded)
        log_note(worker, ROUNDED_TIME, where);
    if (number->has_exponent)
        log_note(worker, EXPONENT_TIME, where);
    *has |= bit;
}

static void text_time(Worker *worker, const uint8_t *text, const uint8_t *past, const uint8_t *where, int64_t *ns,
                      uint8_t *has, uint8_t bit)
{
    Decimal number;
    while (text < past && (*text == ' ' || *text == '\t' || *text == '\n' || *text == '\r'))
        text++;
    while (text < past && (past[-1] == ' ' || past[-1] == '\t' || past[-1] == '\n' || past[-1] == '\r'))
        past--;
    if (text == past || is_word(text, past, "n/a"))
        return; /* how exporters write that there is none */
    if (text_decimal(text, past, &number)) {
        set_time(worker, &number, where, ns, has, bit);
        return;
    }
    const uint8_t *word = *text == '-' || *text == '+' ? text + 1 : text;
    int not_a_number = is_word(word, past, "nan") || is_word(word, past, "inf") || is_word(word, past, "infinity");
    log_note(worker, not_a_number ? NOT_A_NUMBER : BAD_TIME, where);
}

/* Microseconds, as a number or as a text. */
static Taken time_field(Worker *worker, const uint8_t **at, int64_t *ns, uint8_t *has, uint8_t bit)
{
    const uint8_t *p = *at, *end = worker->window->end, *past;
    Decimal number;
    int in_quotes = *p == '"';
    past = plain_time(p + in_quotes, ns);
    if (past && (in_quotes ? *past == '"' : *past == ',' || *past == '}')) {
        *has |= bit;
        *at = past + in_quotes;
        return TAKEN;
    }
    *has &= (uint8_t)~bit;
    *ns = 0;
    if (in_quotes) {
        int escaped;
        past = text_end(p + 1, end, &escaped);
        if (!past)
            return CUT;
        *at = past + 1;
        if (!escaped) {
            text_time(worker, p + 1, past, p, ns, has, bit);
        } else {
            size_t length = (size_t)(past - p - 1), from = scratch_add(worker, p + 1, length + 1);
            if (worker->no_memory)
                return NO_MEMORY;
            length = unescape(p + 1, length, worker->scratch + from);
            worker->scratch[from + length] = '"';
            text_time(worker, worker->scratch + from, worker->scratch + from + length, p, ns, has, bit);
            worker->scratch_used = from;
        }
        return TAKEN;
    }
    if ((*p == '-' && p[1] != 'I') || (uint8_t)(*p - '0') < 10) {
        past = take_decimal(p, &number);
        if (!past)
            return broken_number(p, end);
        if (past >= end)
            return CUT;
        *at = past;
        set_time(worker, &number, p, ns, has, bit);
        return TAKEN;
    }
    Taken taken = skip_value(at, end, IN_EVENT);
    if (taken == TAKEN && *p != 'n')
        log_note(worker, *p == 'N' || *p == 'I' || *p == '-' ? NOT_A_NUMBER : BAD_TIME, p);
    return taken;
}

/* `id2` holds the id as its member `local` or `global`. */
static Taken id2_field(Worker *worker, const uint8_t **at, int32_t *code)
{
    const uint8_t *p = *at, *end = worker->window->end, *key;
    size_t length;
    int escaped;
    Taken taken;
    if (*p != '{')
        return skip_value(at, end, IN_EVENT);
    p = skip_space(p + 1);
    if (*p == '}') {
        *at = p + 1;
        return TAKEN;
    }
    for (;;) {
        if ((taken = take_key(&p, end, &key, &length, &escaped)) != TAKEN)
            return taken;
        int named = (length == 5 && memcmp(key, "local", 5) == 0) || (length == 6 && memcmp(key, "global", 6) == 0);
        const uint8_t *value = p;
        if ((taken = skip_value(&p, end, IN_ARGS)) != TAKEN)
            return taken;
        if (named && (taken = text_field(worker, ID2, &value, code)) != TAKEN)
            return taken;
        p = skip_space(p);
        if (*p == '}')
            break;
        if (*p != ',')
            return failed_at(p, end);
        p = skip_space(p + 1);
    }
    *at = p + 1;
    return TAKEN;
}

static int field_of(const uint8_t *key, size_t length)
{
    static const struct { char name[6]; uint8_t length, field; } FIELDS[] = {
        {"name", 4, NAME}, {"cat", 3, CATEGORY}, {"pid", 3, PROCESS}, {"tid", 3, THREAD}, {"id", 2, ID},
        {"id2", 3, ID2}, {"scope", 5, SCOPE}, {"ph", 2, PHASE}, {"ts", 2, TIME}, {"dur", 3, LENGTH},
        {"s", 1, LETTER_S}, {"bp", 2, LETTER_BP}, {"args", 4, ARGS}};
    for (size_t i = 0; i < sizeof FIELDS / sizeof *FIELDS; i++)
        if (FIELDS[i].length == length && memcmp(FIELDS[i].name, key, length) == 0)
            return FIELDS[i].field;
    return NOT_CHOSEN;
}

static inline Taken take_field(Worker *worker, int field, const uint8_t **at, Event *event, int32_t *id2, int *marked)
{
    int is_text;
    switch (field) {
    case NAME: return text_field(worker, NAME, at, &event->name);
    case CATEGORY: return text_field(worker, CATEGORY, at, &event->cat);
    case PROCESS: return text_field(worker, PROCESS, at, &event->pid);
    case THREAD: return text_field(worker, THREAD, at, &event->tid);
    case ID: return text_field(worker, ID, at, &event->id);
    case ID2: return id2_field(worker, at, id2);
    case SCOPE: return text_field(worker, SCOPE, at, &event->scope);
    case PHASE: return letter_field(worker, at, &event->ph, marked);
    case TIME: return time_field(worker, at, &event->ts, &event->has, HAS_TS);
    case LENGTH: return time_field(worker, at, &event->dur, &event->has, HAS_DUR);
    case LETTER_S: return letter_field(worker, at, &event->s, &is_text);
    case LETTER_BP: return letter_field(worker, at, &event->bp, &is_text);
    case ARGS: return args_field(worker, at, event);
    default: return pass_value(at, worker->window->end, IN_EVENT);
    }
}

static Taken unexpected_field(Worker *worker, uint32_t *state, const uint8_t **at, int *field)
{
    const uint8_t *start = *at, *key;
    size_t length;
    int escaped;
    Taken taken = take_key(at, worker->window->end, &key, &length, &escaped);
    if (taken != TAKEN)
        return taken;
    if (escaped) {
        uint8_t plain[64]; /* longer than any key of interest, even all in escapes */
        *field = length <= sizeof plain ? field_of(plain, unescape(key, length, plain)) : NOT_CHOSEN;
    } else {
        *field = field_of(key, length);
    }
    learn_key(&worker->in_event, state, start, *at, *field);
    return TAKEN;
}

static Taken take_fields(Worker *worker, const uint8_t **at, Event *event, int *marked)
{
    const uint8_t *p = skip_space(*at + 1), *end = worker->window->end;
    int32_t id2 = -1;
    uint32_t state = 0;
    Taken taken;
    if (*p == '}') {
        *at = p + 1;
        return TAKEN;
    }
    for (;;) {
        int field = expected_key(&worker->in_event, &state, &p);
        if (field == UNEXPECTED && (taken = unexpected_field(worker, &state, &p, &field)) != TAKEN)
            return taken;
        if ((taken = take_field(worker, field, &p, event, &id2, marked)) != TAKEN)
            return taken;
        p = skip_space(p);
        if (*p == '}')
            break;
        if (*p != ',')
            return failed_at(p, end);
        p = skip_space(p + 1);
    }
    *at = p + 1;
    if (event->id < 0)
        event->id = id2;
    return worker->no_memory ? NO_MEMORY : TAKEN;
}

Taken take_event(Worker *worker, const uint8_t **at, int must_be_marked)
{
    Rows *rows = worker->rows;
    int marked = 0;
    if (rows->count == rows->room) {
        size_t room = rows->room ? 2 * rows->room : 4096;
        Event *events = realloc(rows->events, room * sizeof *events);
        if (!events)
            return NO_MEMORY;
        rows->events = events;
        rows->room = room;
    }
    Event *event = &rows->events[rows->count];
    *event = (Event){.name = -1, .cat = -1, .pid = -1, .tid = -1, .id = -1, .scope = -1, .other_args = -1};
    event->offset = worker->window->offset + (*at - worker->window->begin);
    Taken taken = take_fields(worker, at, event, &marked);
    if (taken == TAKEN && must_be_marked && !marked)
        taken = DAMAGED;
    if (taken == TAKEN) {
        for (size_t i = 0; i < worker->log_count; i++)
            note(worker, worker->log[i].kind, worker->log[i].where);
        rows->count++;
    } else {
        forget_arguments(rows, worker->keys->count, (uint32_t)rows->count);
    }
    worker->log_count = 0;
    return taken;
}

void rows_free(Rows *rows, size_t key_count)
{
    free(rows->events);
    if (rows->args)
        for (size_t k = 0; k < key_count; k++)
            free(rows->args[k].items);
    free(rows->args);
}
