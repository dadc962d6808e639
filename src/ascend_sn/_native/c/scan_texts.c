/* The texts of one piece of a window: numbered locally without locks, then merged into those of the file. */
#include <stdlib.h>

#include "text.h"

#define FIRST_SLOTS ((size_t)1 << 13)

void worker_begin(Worker *worker, const Window *window, const Keys *keys, Rows *rows)
{
    worker->window = window;
    worker->keys = keys;
    worker->rows = rows;
    memset(&worker->notes, 0, sizeof worker->notes);
    worker->log_count = 0;
    worker->text_count = 0;
    worker->scratch_used = 0;
    worker->any_marks = 0;
    if (worker->slots)
        memset(worker->slots, 0, worker->slot_count * sizeof *worker->slots);
    memset(worker->recent, 0, sizeof worker->recent);
}

void worker_free(Worker *worker)
{
    free(worker->texts);
    free(worker->slots);
    free(worker->global);
    free(worker->scratch);
    memset(worker, 0, sizeof *worker);
}

void note(Worker *worker, Damage kind, const uint8_t *where)
{
    int64_t offset = worker->window->offset + (where - worker->window->begin);
    if (worker->notes.count[kind]++ == 0)
        worker->notes.first[kind] = offset;
}

size_t scratch_add(Worker *worker, const uint8_t *text, size_t length)
{
    if (worker->scratch_used + length + 16 > worker->scratch_room) {
        size_t room = 2 * (worker->scratch_used + length) + 4096;
        uint8_t *scratch = realloc(worker->scratch, room);
        if (!scratch) {
            worker->no_memory = 1;
            return 0;
        }
        worker->scratch = scratch;
        worker->scratch_room = room;
    }
    size_t at = worker->scratch_used;
    memcpy(worker->scratch + at, text, length);
    worker->scratch_used += length;
    return at;
}

static inline const uint8_t *bytes_of(const Worker *worker, const Local *local)
{
    return (local->marks & IN_SCRATCH ? worker->scratch : worker->window->begin) + local->at;
}

static int more_slots(Worker *worker)
{
    size_t slot_count = worker->slot_count ? 4 * worker->slot_count : FIRST_SLOTS;
    uint32_t *slots = calloc(slot_count, sizeof *slots);
    if (!slots)
        return -1;
    for (size_t i = 0; i < worker->text_count; i++) {
        size_t at = worker->texts[i].hash & (slot_count - 1);
        while (slots[at])
            at = (at + 1) & (slot_count - 1);
        slots[at] = (uint32_t)i + 1;
    }
    free(worker->slots);
    worker->slots = slots;
    worker->slot_count = slot_count;
    return 0;
}

static int more_texts(Worker *worker)
{
    size_t room = worker->text_room ? 2 * worker->text_room : FIRST_SLOTS / 2;
    Local *texts = realloc(worker->texts, room * sizeof *texts);
    if (!texts)
        return -1;
    worker->texts = texts;
    worker->text_room = room;
    return 0;
}

/* `marks` may hold ESCAPED, IN_SCRATCH and RAW; what is wrong with the text is added when it is new. */
static int32_t code_of(Worker *worker, const uint8_t *text, size_t length, uint8_t marks)
{
    if (2 * (worker->text_count + 1) >= worker->slot_count && more_slots(worker) < 0)
        goto full;
    uint32_t hash = hash_text(text, length);
    size_t at = hash & (worker->slot_count - 1);
    for (; worker->slots[at]; at = (at + 1) & (worker->slot_count - 1)) {
        uint32_t code = worker->slots[at] - 1;
        const Local *local = &worker->texts[code];
        if (local->hash == hash && local->length == length && !((local->marks ^ marks) & ESCAPED) &&
            same_bytes(bytes_of(worker, local), text, length))
            return (int32_t)code;
    }
    if (worker->text_count == worker->text_room && more_texts(worker) < 0)
        goto full;
    uint8_t broken = inspect(text, length, marks & ESCAPED);
    if (marks & RAW)
        broken &= BROKEN_UTF8; /* line ends between the parts of a nested value are fine */
    worker->any_marks |= broken;
    const uint8_t *base = marks & IN_SCRATCH ? worker->scratch : worker->window->begin;
    worker->texts[worker->text_count] =
        (Local){(uint32_t)(text - base), (uint32_t)length, hash, (uint8_t)((marks & ~RAW) | broken)};
    worker->slots[at] = (uint32_t)worker->text_count + 1;
    return (int32_t)worker->text_count++;
full:
    worker->no_memory = 1;
    return -1;
}

void log_marks(Worker *worker, int32_t code, const uint8_t *text)
{
    static const struct { uint8_t mark; Damage kind; } WORDS[] = {
        {BROKEN_UTF8, INVALID_UTF8}, {HAS_CONTROL, CONTROL_CHARACTER}, {BROKEN_ESCAPE, BAD_ESCAPE}};
    uint8_t marks = code < 0 ? 0 : worker->texts[code].marks;
    for (size_t i = 0; i < sizeof WORDS / sizeof *WORDS; i++)
        if (marks & WORDS[i].mark)
            log_note(worker, WORDS[i].kind, text);
}

int32_t local_code(Worker *worker, const uint8_t *text, size_t length, uint8_t marks)
{
    int32_t code = code_of(worker, text, length, marks);
    if (worker->any_marks)
        log_marks(worker, code, text);
    return code;
}

int32_t recent_code(Worker *worker, int field, const uint8_t *text, size_t length, uint8_t marks)
{
    if (worker->recent[field].text && worker->recent[field].length == length &&
        worker->recent[field].marks == marks && same_bytes(worker->recent[field].text, text, length)) {
        int32_t code = worker->recent[field].code;
        if (worker->any_marks)
            log_marks(worker, code, text);
        return code;
    }
    int32_t code = local_code(worker, text, length, marks);
    worker->recent[field].text = text;
    worker->recent[field].length = length;
    worker->recent[field].marks = marks;
    worker->recent[field].code = code;
    return code;
}

int32_t scratch_code(Worker *worker, size_t at, size_t length, const uint8_t *where)
{
    int32_t code = code_of(worker, worker->scratch + at, length, IN_SCRATCH | RAW);
    if (worker->any_marks)
        log_marks(worker, code, where);
    return code;
}

void log_note(Worker *worker, Damage kind, const uint8_t *where)
{
    if (worker->log_count == sizeof worker->log / sizeof *worker->log)
        return; /* an event with that many flaws is counted often enough */
    worker->log[worker->log_count].kind = kind;
    worker->log[worker->log_count++].where = where;
}

int merge_texts(Worker *worker, Strings *strings)
{
    if (worker->text_count > worker->global_room) {
        int32_t *global = realloc(worker->global, worker->text_room * sizeof *global);
        if (!global)
            return -1;
        worker->global = global;
        worker->global_room = worker->text_room;
    }
    for (size_t i = 0; i < worker->text_count; i++) {
        const Local *local = &worker->texts[i];
        if (i + 8 < worker->text_count) /* the slots are far apart; ask for them in time */
            __builtin_prefetch(&strings->slots[worker->texts[i + 8].hash & (strings->slot_count - 1)]);
        size_t length = local->length;
        uint32_t hash = local->hash;
        if (local->marks & ESCAPED) {
            size_t at = scratch_add(worker, bytes_of(worker, local), length);
            if (worker->no_memory)
                return -1;
            length = unescape(bytes_of(worker, local), length, worker->scratch + at);
            hash = hash_text(worker->scratch + at, length);
            worker->global[i] = strings_code(strings, worker->scratch + at, length, hash);
            worker->scratch_used = at;
        } else {
            worker->global[i] = strings_code(strings, bytes_of(worker, local), length, hash);
        }
        if (worker->global[i] < 0)
            return -1;
    }
    return 0;
}

static inline int32_t renumbered(const Worker *worker, int32_t code)
{
    return code < 0 ? code : worker->global[code];
}

void renumber(Worker *worker)
{
    Rows *rows = worker->rows;
    for (size_t i = 0; i < rows->count; i++) {
        Event *event = &rows->events[i];
        event->name = renumbered(worker, event->name);
        event->cat = renumbered(worker, event->cat);
        event->pid = renumbered(worker, event->pid);
        event->tid = renumbered(worker, event->tid);
        event->id = renumbered(worker, event->id);
        event->scope = renumbered(worker, event->scope);
        event->other_args = renumbered(worker, event->other_args);
    }
    for (size_t k = 0; k < worker->keys->count; k++)
        for (size_t i = 0; i < rows->args[k].count; i++)
            rows->args[k].items[i].code = renumbered(worker, rows->args[k].items[i].code);
}
