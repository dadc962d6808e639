/* The arguments of an event: chosen keys become values, the others are passed over or kept as text. */
#include <math.h>
#include <stdlib.h>

#include "walk.h"

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

void forget_arguments(Rows *rows, size_t key_count, uint32_t row)
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
        uint64_t whole;
        const uint8_t *past = plain_whole(p, &whole);
        int is_plain = past && (*past == ',' || *past == '}');
        if (!is_plain)
            past = take_decimal(p, &number);
        if (!past)
            return broken_number(p, end);
        if (past >= end)
            return CUT;
        if (is_plain)
            argument.value.integer = (int64_t)whole;
        argument.kind = is_plain || decimal_int64(&number, &argument.value.integer) ? INTEGER : NUMBER;
        if (argument.kind == NUMBER)
            argument.value.number = decimal_double(&number, p);
        if (argument.kind == NUMBER || key < worker->keys->numbers_from)
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
        return NOT_CHOSEN;
    length = unescape(key, length, worker->scratch + from);
    int found = keys_find(worker->keys, worker->scratch + from, length);
    worker->scratch_used = from;
    return found;
}

static Taken unexpected_key(Worker *worker, uint32_t *state, const uint8_t **at, int *which)
{
    const uint8_t *start = *at, *key;
    size_t length;
    int escaped;
    Taken taken = take_key(at, worker->window->end, &key, &length, &escaped);
    if (taken == TAKEN) {
        *which = key_of(worker, key, length, escaped);
        learn_key(&worker->in_args, state, start, *at, *which);
    }
    return taken;
}

Taken args_field(Worker *worker, const uint8_t **at, Event *event)
{
    const uint8_t *p = *at, *end = worker->window->end, *where = p;
    size_t others = worker->scratch_used;
    uint32_t state = 0;
    int keep = worker->keys->keep_others;
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
        int which = expected_key(&worker->in_args, &state, &p);
        if (which == UNEXPECTED && (taken = unexpected_key(worker, &state, &p, &which)) != TAKEN)
            return taken;
        if (which >= 0) {
            taken = take_argument(worker, which, &p);
        } else {
            taken = pass_value(&p, end, IN_ARGS);
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
