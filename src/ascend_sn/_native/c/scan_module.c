/* The scanner's face to Python: capsules for the scanner and for a block of rows. */
#include "arrays.h"

#include <math.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <stdlib.h>

#include "memory.h"
#include "scan.h"

#define SCANNER "ascend_sn.scanner"
#define BLOCK "ascend_sn.block"

typedef struct {
    Scanner scanner;
    PyObject *strings;
    int busy;
} PyScanner;

typedef struct {
    Pieces pieces;
    size_t count, key_count;
} Block;

static void free_scanner(PyObject *capsule)
{
    PyScanner *self = PyCapsule_GetPointer(capsule, SCANNER);
    Scanner *scanner = &self->scanner;
    for (size_t k = 0; scanner->keys.text && k < scanner->keys.count; k++)
        free(scanner->keys.text[k]);
    free(scanner->keys.text);
    free(scanner->keys.length);
    free(scanner->keys.slots);
    for (size_t i = 0; i < scanner->worker_count; i++)
        worker_free(&scanner->workers[i]);
    free(scanner->workers);
    for (size_t i = 0; i < scanner->member_count; i++)
        free(scanner->members[i].bytes);
    free(scanner->members);
    Py_XDECREF(self->strings);
    free(self);
}

static int add_key(Keys *keys, const char *bytes, Py_ssize_t length)
{
    uint8_t *text = malloc((size_t)length + 1);
    if (!text)
        return -1;
    memcpy(text, bytes, (size_t)length);
    keys->text[keys->count] = text;
    keys->length[keys->count] = (uint32_t)length;
    int known = keys_find(keys, text, (size_t)length) >= 0;
    uint32_t at = keys_slot(text, (size_t)length) & keys->slot_mask;
    while (!known && keys->slots[at] >= 0)
        at = (at + 1) & keys->slot_mask;
    if (!known)
        keys->slots[at] = (int16_t)keys->count;
    keys->count++;
    return 0;
}

/* scanner_new(strings, keys, numbers_from, keep_others, largest, piece_size, threads); whole numbers of keys from
 * that one on get no text */
static PyObject *scanner_new(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    (void)module;
    int64_t numbers_from, keep_others, largest, piece_size, threads;
    if (nargs != 7 || !PyTuple_Check(args[1])) {
        PyErr_SetString(PyExc_TypeError, "scanner_new takes strings, a tuple of keys and five numbers");
        return NULL;
    }
    if (!PyCapsule_IsValid(args[0], TEXTS) || take_int64(args[2], &numbers_from) < 0 ||
        take_int64(args[3], &keep_others) < 0 || take_int64(args[4], &largest) < 0 ||
        take_int64(args[5], &piece_size) < 0 || take_int64(args[6], &threads) < 0)
        return PyErr_Occurred() ? NULL : (PyErr_SetString(PyExc_TypeError, "no strings"), NULL);
    size_t key_count = (size_t)PyTuple_Size(args[1]);
    if (key_count > 4096 || numbers_from < 0 || numbers_from > 4096 || threads < 1 || threads > 256 || piece_size < 1 || largest < 1) {
        PyErr_SetString(PyExc_ValueError, "too many keys, or a number out of range");
        return NULL;
    }
    PyScanner *self = calloc(1, sizeof *self);
    if (!self)
        return PyErr_NoMemory();
    PyObject *capsule = PyCapsule_New(self, SCANNER, free_scanner);
    if (!capsule) {
        free(self);
        return NULL;
    }
    Scanner *scanner = &self->scanner;
    Py_INCREF(args[0]);
    self->strings = args[0];
    scanner->strings = PyCapsule_GetPointer(args[0], TEXTS);
    scanner->largest = (size_t)largest;
    scanner->piece_size = (size_t)piece_size;
    scanner->position.place = AT_START;
    uint32_t slots = 64;
    while (slots < 4 * key_count)
        slots *= 2;
    scanner->keys.keep_others = keep_others != 0;
    scanner->keys.numbers_from = (int)numbers_from;
    scanner->keys.slot_mask = slots - 1;
    scanner->keys.slots = malloc(slots * sizeof(int16_t));
    scanner->keys.text = calloc(key_count + 1, sizeof(uint8_t *));
    scanner->keys.length = calloc(key_count + 1, sizeof(uint32_t));
    scanner->workers = calloc((size_t)threads, sizeof(Worker));
    if (!scanner->keys.slots || !scanner->keys.text || !scanner->keys.length || !scanner->workers) {
        Py_DECREF(capsule);
        return PyErr_NoMemory();
    }
    scanner->worker_count = (size_t)threads;
    memset(scanner->keys.slots, 0xFF, slots * sizeof(int16_t));
    for (size_t k = 0; k < key_count; k++) {
        char *bytes;
        Py_ssize_t length;
        if (PyBytes_AsStringAndSize(PyTuple_GetItem(args[1], (Py_ssize_t)k), &bytes, &length) < 0 ||
            (add_key(&scanner->keys, bytes, length) < 0 && PyErr_NoMemory() == NULL)) {
            Py_DECREF(capsule);
            return NULL;
        }
    }
    return capsule;
}

static void free_pieces(Pieces *pieces, size_t key_count)
{
    for (size_t i = 0; i < pieces->count; i++)
        rows_free(&pieces->items[i].rows, key_count);
    free(pieces->items);
}

static void free_block(PyObject *capsule)
{
    Block *block = PyCapsule_GetPointer(capsule, BLOCK);
    free_pieces(&block->pieces, block->key_count);
    free(block);
}

/* scanner_feed(scanner, buffer, begin, end, offset, last) -> (block, where the next window has to begin).
 * 64 bytes after `end` are overwritten. */
static PyObject *scanner_feed(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    (void)module;
    int64_t begin, end, offset, last;
    Arrays a;
    PyScanner *self;
    if (nargs != 6) {
        PyErr_SetString(PyExc_TypeError, "scanner_feed takes 6 arguments");
        return NULL;
    }
    if (!(self = PyCapsule_GetPointer(args[0], SCANNER)) || take_int64(args[2], &begin) < 0 ||
        take_int64(args[3], &end) < 0 || take_int64(args[4], &offset) < 0 || take_int64(args[5], &last) < 0 ||
        arrays_take(&a, args + 1, 1, "B", 1) < 0)
        return NULL;
    if (self->busy || begin < 0 || end < begin || end > array_length(&a, 0) - WINDOW_PADDING ||
        end - begin >= UINT32_MAX) {
        arrays_release(&a);
        PyErr_SetString(self->busy ? PyExc_RuntimeError : PyExc_ValueError,
                        self->busy ? "the scanner is in use" : "the window does not fit the buffer");
        return NULL;
    }
    Block *block = calloc(1, sizeof *block);
    if (!block) {
        arrays_release(&a);
        return PyErr_NoMemory();
    }
    uint8_t *bytes = array_data(&a, 0);
    Window window = {bytes + begin, bytes + end, offset, last != 0};
    Scanner *scanner = &self->scanner;
    int failed;
    block->key_count = scanner->keys.count;
    self->busy = 1;
    Py_BEGIN_ALLOW_THREADS
    memset(bytes + end, 0, WINDOW_PADDING);
    failed = scan_window(scanner, &window, scanner->worker_count, &block->pieces);
    Py_END_ALLOW_THREADS
    self->busy = 0;
    int64_t stopped = scanner->position.at - bytes;
    arrays_release(&a);
    if (failed) {
        free_pieces(&block->pieces, block->key_count);
        free(block);
        return PyErr_NoMemory();
    }
    for (size_t i = 0; i < block->pieces.count; i++)
        block->count += block->pieces.items[i].rows.count;
    PyObject *capsule = PyCapsule_New(block, BLOCK, free_block);
    if (!capsule) {
        free_pieces(&block->pieces, block->key_count);
        free(block);
        return NULL;
    }
    PyObject *where = PyLong_FromLongLong(stopped);
    PyObject *result = where ? PyTuple_Pack(2, capsule, where) : NULL;
    Py_XDECREF(where);
    Py_DECREF(capsule);
    return result;
}

/* scanner_damage(scanner) -> [(kind, offset, count, example)] */
static PyObject *scanner_damage(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    (void)module;
    PyScanner *self = nargs == 1 ? PyCapsule_GetPointer(args[0], SCANNER) : NULL;
    PyObject *list = self ? PyList_New(0) : NULL;
    for (int kind = 0; list && kind < DAMAGE_KINDS; kind++) {
        const Notes *notes = &self->scanner.notes;
        if (notes->count[kind] == 0)
            continue;
        PyObject *entry = Py_BuildValue("(sLLy#)", damage_names[kind], (long long)notes->first[kind],
                                        (long long)notes->count[kind], (const char *)self->scanner.examples[kind],
                                        (Py_ssize_t)self->scanner.example_length[kind]);
        if (!entry || PyList_Append(list, entry) < 0)
            Py_CLEAR(list);
        Py_XDECREF(entry);
    }
    if (!list && !PyErr_Occurred())
        PyErr_SetString(PyExc_TypeError, "scanner_damage takes 1 argument");
    return list;
}

/* scanner_members(scanner) -> [(key, value)] as raw JSON text; each is handed out once */
static PyObject *scanner_members(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    (void)module;
    PyScanner *self = nargs == 1 ? PyCapsule_GetPointer(args[0], SCANNER) : NULL;
    PyObject *list = self ? PyList_New(0) : NULL;
    for (size_t i = 0; list && i < self->scanner.member_count; i++) {
        const Member *member = &self->scanner.members[i];
        PyObject *entry =
            Py_BuildValue("(y#y#)", (const char *)member->bytes, (Py_ssize_t)member->key_length,
                          (const char *)member->bytes + member->key_length, (Py_ssize_t)member->value_length);
        if (!entry || PyList_Append(list, entry) < 0)
            Py_CLEAR(list);
        Py_XDECREF(entry);
    }
    if (!list) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_TypeError, "scanner_members takes 1 argument");
        return NULL;
    }
    for (size_t i = 0; i < self->scanner.member_count; i++)
        free(self->scanner.members[i].bytes);
    self->scanner.member_count = 0;
    return list;
}

/* scanner_has_list(scanner) -> whether the top level is or holds a list of events */
static PyObject *scanner_has_list(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    (void)module;
    PyScanner *self = nargs == 1 ? PyCapsule_GetPointer(args[0], SCANNER) : NULL;
    if (!self) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_TypeError, "scanner_has_list takes 1 argument");
        return NULL;
    }
    return PyBool_FromLong(self->scanner.list_seen);
}

static PyObject *block_count(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    (void)module;
    Block *block = nargs == 1 ? PyCapsule_GetPointer(args[0], BLOCK) : NULL;
    if (!block) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_TypeError, "block_count takes 1 argument");
        return NULL;
    }
    return PyLong_FromSize_t(block->count);
}

/* block_events(block, ts, dur, offset, name, cat, pid, tid, id, scope, other_args, ph, s, bp, has_ts, has_dur) */
static PyObject *block_events(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    (void)module;
    Arrays a;
    Block *block = nargs == 16 ? PyCapsule_GetPointer(args[0], BLOCK) : NULL;
    if (!block || arrays_take(&a, args + 1, nargs - 1, "QQQIIIIIIIBBBBB", 15) < 0) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_TypeError, "block_events takes 16 arguments");
        return NULL;
    }
    if (array_length(&a, 0) != (Py_ssize_t)block->count) {
        arrays_release(&a);
        PyErr_SetString(PyExc_ValueError, "the arrays do not have the block's length");
        return NULL;
    }
    int64_t *ts = array_data(&a, 0), *dur = array_data(&a, 1), *offset = array_data(&a, 2);
    int32_t *codes[7];
    uint8_t *bytes[5];
    for (int i = 0; i < 7; i++)
        codes[i] = array_data(&a, 3 + i);
    for (int i = 0; i < 5; i++)
        bytes[i] = array_data(&a, 10 + i);
    Py_BEGIN_ALLOW_THREADS
    size_t at = 0;
    for (size_t p = 0; p < block->pieces.count; p++) {
        const Rows *rows = &block->pieces.items[p].rows;
        for (size_t i = 0; i < rows->count; i++, at++) {
            const Event *event = &rows->events[i];
            ts[at] = event->ts;
            dur[at] = event->dur;
            offset[at] = event->offset;
            codes[0][at] = event->name;
            codes[1][at] = event->cat;
            codes[2][at] = event->pid;
            codes[3][at] = event->tid;
            codes[4][at] = event->id;
            codes[5][at] = event->scope;
            codes[6][at] = event->other_args;
            bytes[0][at] = event->ph;
            bytes[1][at] = event->s;
            bytes[2][at] = event->bp;
            bytes[3][at] = event->has & 1;
            bytes[4][at] = event->has >> 1 & 1;
        }
    }
    Py_END_ALLOW_THREADS
    arrays_release(&a);
    Py_RETURN_NONE;
}

/* block_argument(block, kind, code, value, number, key): writes the rows that have the key */
static PyObject *block_argument(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    (void)module;
    Arrays a;
    int64_t key;
    Block *block = nargs == 6 ? PyCapsule_GetPointer(args[0], BLOCK) : NULL;
    if (!block || take_int64(args[5], &key) < 0 || arrays_take(&a, args + 1, nargs - 2, "BIQD", 4) < 0) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_TypeError, "block_argument takes 6 arguments");
        return NULL;
    }
    if (array_length(&a, 0) != (Py_ssize_t)block->count || key < 0 || (size_t)key >= block->key_count) {
        arrays_release(&a);
        PyErr_SetString(PyExc_ValueError, "the arrays do not have the block's length, or there is no such key");
        return NULL;
    }
    uint8_t *kind = array_data(&a, 0);
    int32_t *code = array_data(&a, 1);
    int64_t *value = array_data(&a, 2);
    double *number = array_data(&a, 3);
    Py_BEGIN_ALLOW_THREADS
    size_t first = 0;
    for (size_t p = 0; p < block->pieces.count; p++) {
        const Rows *rows = &block->pieces.items[p].rows;
        const Arguments *list = &rows->args[key];
        for (size_t i = 0; i < list->count; i++) {
            const Argument *argument = &list->items[i];
            size_t at = first + argument->row;
            kind[at] = argument->kind;
            code[at] = argument->code;
            if (argument->kind == NUMBER) {
                number[at] = argument->value.number;
            } else if (argument->kind == INTEGER || argument->kind == BOOLEAN) {
                value[at] = argument->value.integer;
                number[at] = (double)argument->value.integer;
            }
        }
        first += rows->count;
    }
    Py_END_ALLOW_THREADS
    arrays_release(&a);
    Py_RETURN_NONE;
}

/* How many rows have a text for a key: all but those without it and those where it is null. */
static size_t told_count(const Block *block, int64_t key)
{
    size_t count = 0;
    for (size_t p = 0; p < block->pieces.count; p++) {
        const Arguments *list = &block->pieces.items[p].rows.args[key];
        for (size_t i = 0; i < list->count; i++)
            count += list->items[i].code >= 0;
    }
    return count;
}

static int no_such_key(const Block *block, int64_t key)
{
    if (key >= 0 && (size_t)key < block->key_count)
        return 0;
    PyErr_SetString(PyExc_ValueError, "there is no such key");
    return 1;
}

/* block_told(block) -> per key how many rows `block_sparse` writes */
static PyObject *block_told(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    (void)module;
    Block *block = nargs == 1 ? PyCapsule_GetPointer(args[0], BLOCK) : NULL;
    if (!block) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_TypeError, "block_told takes 1 argument");
        return NULL;
    }
    PyObject *counts = PyList_New((Py_ssize_t)block->key_count);
    for (size_t key = 0; counts && key < block->key_count; key++) {
        PyObject *count = PyLong_FromSize_t(told_count(block, (int64_t)key));
        if (!count || PyList_SetItem(counts, (Py_ssize_t)key, count) < 0)
            Py_CLEAR(counts);
    }
    return counts;
}

/* block_sparse(block, row, code, number, key): the rows that have a text for the key, in order; a row that has the
 * key twice comes once, with the later value. Returns how many. */
static PyObject *block_sparse(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    (void)module;
    Arrays a;
    int64_t key;
    Block *block = nargs == 5 ? PyCapsule_GetPointer(args[0], BLOCK) : NULL;
    if (!block || take_int64(args[4], &key) < 0 || arrays_take(&a, args + 1, 3, "IID", 3) < 0) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_TypeError, "block_sparse takes 5 arguments");
        return NULL;
    }
    if (no_such_key(block, key) || array_length(&a, 0) != (Py_ssize_t)told_count(block, key)) {
        arrays_release(&a);
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_ValueError, "the arrays do not have the number of rows");
        return NULL;
    }
    int32_t *row = array_data(&a, 0), *code = array_data(&a, 1);
    double *number = array_data(&a, 2);
    size_t first = 0, written = 0;
    for (size_t p = 0; p < block->pieces.count; p++) {
        const Rows *rows = &block->pieces.items[p].rows;
        const Arguments *list = &rows->args[key];
        for (size_t i = 0; i < list->count; i++) {
            const Argument *argument = &list->items[i];
            int32_t at = (int32_t)(first + argument->row);
            written -= written && row[written - 1] == at;
            if (argument->code < 0)
                continue;
            row[written] = at;
            code[written] = argument->code;
            number[written++] = argument->kind == NUMBER ? argument->value.number
                              : argument->kind == INTEGER || argument->kind == BOOLEAN
                                  ? (double)argument->value.integer
                                  : NAN;
        }
        first += rows->count;
    }
    arrays_release(&a);
    return PyLong_FromSize_t(written);
}

/* release_free(): give memory that was freed back to the system, where the allocator can. The threads of the scanner
 * leave hundreds of megabytes behind that nobody else would use. */
static PyObject *release_free(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    (void)module, (void)args, (void)nargs;
#ifdef __GLIBC__
    Py_BEGIN_ALLOW_THREADS
    malloc_trim(0);
    Py_END_ALLOW_THREADS
#endif
    Py_RETURN_NONE;
}

PyMethodDef scan_methods[] = {
    FAST(scanner_new), FAST(scanner_feed), FAST(scanner_damage), FAST(scanner_members), FAST(scanner_has_list), FAST(block_count),
    FAST(block_events), FAST(block_argument), FAST(block_told), FAST(block_sparse), FAST(release_free), {NULL, NULL, 0, NULL},
};
