/* One event: its fields, its times, its chosen arguments. */
#include <math.h>
#include <stdlib.h>

#include "text.h"

enum { HAS_TS = 1, HAS_DUR = 2, HAS_ARGS = 4 };

/* Depths: the event is container 1, its args container 2. */
#define IN_EVENT 1
#define IN_ARGS 2

static Taken failed_at(const uint8_t *p, const uint8_t *end)
{
    return p >= end ? CUT : DAMAGED;
}

/* A number that is none: cut if the window ends within its characters. */
static Taken broken_number(const uint8_t *p, const uint8_t *end)
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
    const uint8_t *past = take_decimal(*at, &number);
    if (!past)
        return broken_number(*at, end);
    *at = past;
    return past >= end ? CUT : TAKEN; /* the next digit may follow in the next window */
}

static Taken take_key(const uint8_t **at, const uint8_t *end, const uint8_t **key, size_t *length, int *escaped)
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

/* A field that is kept as text: a text as it is, null as absent, anything else as written. */
static Taken text_field(Worker *worker, int field, const uint8_t **at, int32_t *code)
{
    const uint8_t *p = *at, *end = worker->window->end;
    if (*p == '"') {
        int escaped;
        const uint8_t *past = text_end(p + 1, end, &escaped);
        if (!past)
            return CUT;
        *code = recent_code(worker, field, p + 1, (size_t)(past - p - 1), escaped ? ESCAPED : 0);
        *at = past + 1;
        return TAKEN;
    }
    Taken taken = skip_value(at, end, IN_EVENT);
    if (taken == TAKEN)
        *code = *p == 'n' ? -1 : recent_code(worker, field, p, (size_t)(*at - p), RAW);
    return taken;
}

/* A one-letter text; 0 for anything else. */
static Taken letter_field(Worker *worker, const uint8_t **at, uint8_t *letter, int *is_text)
{
    const uint8_t *p = *at;
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
    *has &= (uint8_t)~bit;
    *ns = 0;
    if (*p == '"') {
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

/* Add a value to its key's list; a key given twice keeps the later one. */
static int add_argument(Worker *worker, int key, const Argument *argument)
{
    Arguments *list = &worker->rows->args[key];
    if (list->count && list->items[list->count - 1].row == argument->row) {
        list->items[list->count - 1] = *argument;
        return 0;
    }
    if (list->count == list->room) {
        size_t room = list->room ? 2 * list->room : 256;
        Argument *items = realloc(list->items, room * sizeof *items);
        if (!items)
            return -1;
        list->items = items;
        list->room = room;
    }
    list->items[list->count++] = *argument;
    return 0;
}

static void forget_arguments(Rows *rows, size_t key_count, uint32_t row)
{
    for (size_t k = 0; k < key_count; k++)
        if (rows->args[k].count && rows->args[k].items[rows->args[k].count - 1].row == row)
            rows->args[k].count--;
}

static Taken take_argument(Worker *worker, int key, const uint8_t **at)
{
    const uint8_t *p = *at, *end = worker->window->end;
    Argument argument = {.row = (uint32_t)worker->rows->count, .code = -1};
    if (*p == '"') {
        int escaped;
        const uint8_t *past = text_end(p + 1, end, &escaped);
        if (!past)
            return CUT;
        argument.kind = TEXT;
        argument.code = local_code(worker, p + 1, (size_t)(past - p - 1), escaped ? ESCAPED : 0);
        *at = past + 1;
    } else if ((*p == '-' && p[1] != 'I') || (uint8_t)(*p - '0') < 10) {
        Decimal number;
        const uint8_t *past = take_decimal(p, &number);
        if (!past)
            return broken_number(p, end);
        if (past >= end)
            return CUT;
        argument.kind = decimal_int64(&number, &argument.value.integer) ? INTEGER : NUMBER;
        if (argument.kind == NUMBER)
            argument.value.number = decimal_double(&number, p);
        argument.code = local_code(worker, p, (size_t)(past - p), RAW);
        *at = past;
    } else {
        Taken taken = skip_value(at, end, IN_ARGS);
        if (taken != TAKEN)
            return taken;
        switch (*p) {
        case 't': argument.kind = BOOLEAN; argument.value.integer = 1; break;
        case 'f': argument.kind = BOOLEAN; break;
        case 'n': argument.kind = NOTHING; break;
        case 'N': argument.kind = NUMBER; argument.value.number = NAN; break;
        case 'I': argument.kind = NUMBER; argument.value.number = INFINITY; break;
        case '-': argument.kind = NUMBER; argument.value.number = -INFINITY; break;
        default: argument.kind = NESTED; break;
        }
        if (argument.kind != NOTHING)
            argument.code = local_code(worker, p, (size_t)(*at - p), RAW);
    }
    return add_argument(worker, key, &argument) < 0 || worker->no_memory ? NO_MEMORY : TAKEN;
}

static int key_of(Worker *worker, const uint8_t *key, size_t length, int escaped)
{
    if (!escaped)
        return keys_find(worker->keys, key, length);
    size_t from = scratch_add(worker, key, length);
    if (worker->no_memory)
        return -1;
    length = unescape(key, length, worker->scratch + from);
    int found = keys_find(worker->keys, worker->scratch + from, length);
    worker->scratch_used = from;
    return found;
}

static Taken args_field(Worker *worker, const uint8_t **at, Event *event)
{
    const uint8_t *p = *at, *end = worker->window->end, *where = p, *key;
    size_t length, others = worker->scratch_used;
    int escaped, keep = worker->keys->keep_others;
    Taken taken;
    if (event->has & HAS_ARGS)
        forget_arguments(worker->rows, worker->keys->count, (uint32_t)worker->rows->count);
    event->has |= HAS_ARGS;
    event->other_args = -1;
    if (*p != '{') {
        taken = skip_value(at, end, IN_EVENT);
        if (taken == TAKEN && keep && *p != 'n')
            event->other_args = local_code(worker, p, (size_t)(*at - p), RAW);
        return taken;
    }
    p = skip_space(p + 1);
    if (*p == '}') {
        *at = p + 1;
        return TAKEN;
    }
    for (;;) {
        const uint8_t *member = p;
        if ((taken = take_key(&p, end, &key, &length, &escaped)) != TAKEN)
            return taken;
        int which = key_of(worker, key, length, escaped);
        if (which >= 0) {
            taken = take_argument(worker, which, &p);
        } else {
            taken = skip_value(&p, end, IN_ARGS);
            if (taken == TAKEN && keep) {
                scratch_add(worker, (const uint8_t *)(worker->scratch_used == others ? "{" : ","), 1);
                scratch_add(worker, member, (size_t)(p - member));
            }
        }
        if (taken != TAKEN)
            return taken;
        p = skip_space(p);
        if (*p == '}')
            break;
        if (*p != ',')
            return failed_at(p, end);
        p = skip_space(p + 1);
    }
    *at = p + 1;
    if (worker->scratch_used > others) {
        scratch_add(worker, (const uint8_t *)"}", 1);
        if (!worker->no_memory)
            event->other_args = scratch_code(worker, others, worker->scratch_used - others, where);
    }
    return worker->no_memory ? NO_MEMORY : TAKEN;
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
        if (named && (taken = text_field(worker, 5, &value, code)) != TAKEN)
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

#define IS(word) (length == sizeof word - 1 && memcmp(key, word, sizeof word - 1) == 0)

static Taken take_field(Worker *worker, const uint8_t *key, size_t length, const uint8_t **at, Event *event,
                        int32_t *id2, int *marked)
{
    int is_text;
    switch (length) {
    case 1:
        if (IS("s"))
            return letter_field(worker, at, &event->s, &is_text);
        break;
    case 2:
        if (IS("ph"))
            return letter_field(worker, at, &event->ph, marked);
        if (IS("ts"))
            return time_field(worker, at, &event->ts, &event->has, HAS_TS);
        if (IS("id"))
            return text_field(worker, 4, at, &event->id);
        if (IS("bp"))
            return letter_field(worker, at, &event->bp, &is_text);
        break;
    case 3:
        if (IS("pid"))
            return text_field(worker, 2, at, &event->pid);
        if (IS("tid"))
            return text_field(worker, 3, at, &event->tid);
        if (IS("dur"))
            return time_field(worker, at, &event->dur, &event->has, HAS_DUR);
        if (IS("cat"))
            return text_field(worker, 1, at, &event->cat);
        if (IS("id2"))
            return id2_field(worker, at, id2);
        break;
    case 4:
        if (IS("name"))
            return text_field(worker, 0, at, &event->name);
        if (IS("args"))
            return args_field(worker, at, event);
        break;
    case 5:
        if (IS("scope"))
            return text_field(worker, 6, at, &event->scope);
        break;
    default: break;
    }
    return skip_value(at, worker->window->end, IN_EVENT);
}

static Taken take_fields(Worker *worker, const uint8_t **at, Event *event, int *marked)
{
    const uint8_t *p = skip_space(*at + 1), *end = worker->window->end, *key;
    size_t length;
    int escaped;
    int32_t id2 = -1;
    Taken taken;
    if (*p == '}') {
        *at = p + 1;
        return TAKEN;
    }
    for (;;) {
        if ((taken = take_key(&p, end, &key, &length, &escaped)) != TAKEN)
            return taken;
        if (escaped) {
            uint8_t plain[64]; /* longer than any key of interest, even all in escapes */
            length = length <= sizeof plain ? unescape(key, length, plain) : 0;
            taken = take_field(worker, plain, length, &p, event, &id2, marked);
        } else {
            taken = take_field(worker, key, length, &p, event, &id2, marked);
        }
        if (taken != TAKEN)
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
        size_t room = rows->room ? 2 * rows->room : 1024;
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

int keys_find(const Keys *keys, const uint8_t *text, size_t length)
{
    uint32_t at = keys_slot(text, length);
    for (at &= keys->slot_mask; keys->slots[at] >= 0; at = (at + 1) & keys->slot_mask) {
        int which = keys->slots[at];
        if (keys->length[which] == length && memcmp(keys->text[which], text, length) == 0)
            return which;
    }
    return -1;
}

void rows_free(Rows *rows, size_t key_count)
{
    free(rows->events);
    if (rows->args)
        for (size_t k = 0; k < key_count; k++)
            free(rows->args[k].items);
    free(rows->args);
}
