/* Chrome-trace JSON to rows: what the parts of the scanner share. */
#ifndef ASCEND_SN_SCAN_H
#define ASCEND_SN_SCAN_H

#include <stddef.h>
#include <stdint.h>

#include "strings.h"

#define MAX_DEPTH 256
/* Bytes after a window that may be read; the first is NUL, so that every token ends there. */
#define WINDOW_PADDING 64

/* How a piece of text was taken: whole, damaged, nested too deep, or cut by the end of the window. */
typedef enum { TAKEN, DAMAGED, TOO_DEEP, CUT, NO_MEMORY } Taken;

/* Kinds of damage; `damage_names` has their words. */
typedef enum {
    TRUNCATED, UNCLOSED_ARRAY, TRAILING_COMMA, MISSING_COMMA, EXTRA_COMMA, DAMAGED_EVENT, EVENT_TOO_DEEP,
    LARGE_EVENT, GARBAGE, NOT_AN_OBJECT, DUPLICATE_EVENTS, NOT_A_LIST, DAMAGED_HEADER, LARGE_METADATA,
    TRAILING_DATA, INVALID_UTF8, CONTROL_CHARACTER, BAD_ESCAPE, ROUNDED_TIME, EXPONENT_TIME, NOT_A_NUMBER,
    BAD_TIME, TIME_OUT_OF_RANGE, DAMAGE_KINDS
} Damage;

extern const char *const damage_names[DAMAGE_KINDS];

/* Per kind: how often, and where first (offset in the file). */
typedef struct {
    int64_t count[DAMAGE_KINDS], first[DAMAGE_KINDS];
} Notes;

typedef struct {
    const uint8_t *begin, *end; /* the JSON text of the window */
    int64_t offset;             /* of `begin` in the file */
    int last;                   /* nothing follows in the file */
} Window;

/* What a value of an argument is. */
enum { ABSENT, TEXT, INTEGER, NUMBER, BOOLEAN, NOTHING, NESTED };

typedef struct {
    int64_t ts, dur, offset;
    int32_t name, cat, pid, tid, id, scope, other_args;
    uint8_t ph, s, bp, has; /* has: bit 0 ts, bit 1 dur */
} Event;

typedef struct {
    union {
        int64_t integer;
        double number;
    } value;
    uint32_t row;
    int32_t code;
    uint8_t kind;
} Argument;

typedef struct {
    Argument *items;
    size_t count, room;
} Arguments;

/* Rows of one piece of a window. Codes are local to the piece until they are merged. */
typedef struct {
    Event *events;
    size_t count, room;
    Arguments *args; /* one list per chosen key */
} Rows;

/* A text met in a piece: where it lies, raw as in the file. */
typedef struct {
    uint32_t at, length, hash;
    uint8_t marks;
} Local;

enum { ESCAPED = 1, IN_SCRATCH = 2, BROKEN_UTF8 = 4, HAS_CONTROL = 8, BROKEN_ESCAPE = 16, RAW = 32 };

/* The chosen argument keys, found by a small hash table. */
typedef struct {
    uint8_t **text;
    uint32_t *length;
    size_t count;
    int16_t *slots;
    uint32_t slot_mask;
    int keep_others, numbers_from; /* whole numbers of keys from that one on get no text */
} Keys;

static inline uint32_t keys_slot(const uint8_t *text, size_t length)
{
    if (length == 0)
        return 0;
    return (uint32_t)(length * 31 + text[0] * 7u + text[length - 1] * 13u + text[length / 2]);
}

int keys_find(const Keys *keys, const uint8_t *text, size_t length);

#define LONGEST_KNOWN 32
#define MOST_KNOWN 128

/* A key as it was written before, from its quote to the value, and the keys that came after it, latest first. */
typedef struct {
    uint8_t text[LONGEST_KNOWN + 8];
    uint8_t length, next[2];
    int16_t which;
} KnownKey;

/* Objects are written alike, so that the next key is mostly the one that followed before. Place 0 is the beginning
 * of an object, and 0 as a number stands for none. */
typedef struct {
    KnownKey keys[MOST_KNOWN];
    uint8_t slots[2 * MOST_KNOWN];
    uint32_t count;
} KnownKeys;

/* What one thread works with; texts and scratch are emptied for every piece. */
typedef struct {
    const Window *window;
    const Keys *keys;
    Rows *rows;
    Notes notes;
    KnownKeys in_event, in_args;
    Local *texts;
    size_t text_count, text_room;
    uint32_t *slots; /* index + 1 of a text */
    size_t slot_count;
    int32_t *global; /* local code -> code of the file's strings */
    size_t global_room;
    uint8_t *scratch; /* texts that are not in the window as such */
    size_t scratch_used, scratch_room;
    struct { const uint8_t *text; size_t length; int32_t code; uint8_t marks; } recent[8];
    struct { const uint8_t *where; Damage kind; } log[64]; /* flaws of the event at hand */
    size_t log_count;
    uint8_t any_marks;
    int no_memory;
} Worker;

void worker_begin(Worker *worker, const Window *window, const Keys *keys, Rows *rows);
void worker_free(Worker *worker);
/* Append to the worker's scratch; returns its position there. */
size_t scratch_add(Worker *worker, const uint8_t *text, size_t length);

/* Local code of a raw text; `field` names the column for the short way round the hash table. */
int32_t local_code(Worker *worker, const uint8_t *text, size_t length, uint8_t marks);
int32_t recent_code(Worker *worker, int field, const uint8_t *text, size_t length, uint8_t marks);
int32_t scratch_code(Worker *worker, size_t at, size_t length, const uint8_t *where);

/* Count what is wrong with a text with the event at hand. */
void log_marks(Worker *worker, int32_t code, const uint8_t *text);

/* Count a flaw at once, or with the event at hand if that is taken. */
void note(Worker *worker, Damage kind, const uint8_t *where);
void log_note(Worker *worker, Damage kind, const uint8_t *where);

/* Replace local codes by those of the file; needs the lock of `strings` for the first half. */
int merge_texts(Worker *worker, Strings *strings);
void renumber(Worker *worker);

/* Take the object that starts at *at as an event; on success *at is after it and a row is added. With
 * `must_be_marked` it counts as damaged unless it has a text `ph`, as every event has. */
Taken take_event(Worker *worker, const uint8_t **at, int must_be_marked);

/* Go over any value. `depth` is the number of containers around it. */
Taken skip_value(const uint8_t **at, const uint8_t *end, int depth);

void rows_free(Rows *rows, size_t key_count);

/* Where the scanner is in the file. `comma`: 0 nothing yet in this container, 1 after a comma, 2 after a member. */
typedef enum { AT_START, IN_OBJECT, IN_LIST, SEEKING, AFTER, FINISHED } Place;

typedef struct {
    const uint8_t *at;
    Place place;
    int comma;
} Position;

/* A part of the event list that one thread takes; `stop` is where it ended, at or after `limit` if all went well. */
typedef struct {
    Position from, stop;
    const uint8_t *limit;
    Rows rows;
} Piece;

/* Pieces of one window, in order. */
typedef struct {
    Piece *items;
    size_t count, room;
} Pieces;

/* A top-level member beside the events, as text. */
typedef struct {
    uint8_t *bytes;
    size_t key_length, value_length;
} Member;

typedef struct {
    Keys keys;
    Strings *strings;
    Notes notes;
    uint8_t examples[DAMAGE_KINDS][80];
    uint8_t example_length[DAMAGE_KINDS];
    Worker *workers;
    size_t worker_count;
    Position position;
    int in_object; /* the list is a member of an object */
    int list_seen;
    size_t largest; /* bytes of one element that are waited for */
    size_t piece_size;
    Member *members;
    size_t member_count, member_room, member_bytes;
} Scanner;

/* Work through a window as far as it goes; the position tells where it ended. Returns -1 when memory runs out. */
int scan_window(Scanner *scanner, const Window *window, size_t threads, Pieces *pieces);
/* The same for the event list only, from the scanner's position on. */
int scan_list(Scanner *scanner, const Window *window, size_t threads, Pieces *pieces);
/* Take elements from `piece->from` until `piece->limit` is reached or the list ends. */
void take_piece(Worker *worker, Piece *piece, size_t largest);
void note_here(Scanner *scanner, const Window *window, Damage kind, const uint8_t *where);
void add_notes(Scanner *scanner, const Window *window, const Notes *notes);

#endif
