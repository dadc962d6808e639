/* Numbering of values, and finding values of one array in another, by hashing. */
#include "arrays.h"

#include <string.h>

#include "group.h"
#include "memory.h"
#include "strings.h"

static PyObject *failed(const char *usage)
{
    if (!PyErr_Occurred())
        PyErr_SetString(PyExc_TypeError, usage);
    return NULL;
}

/* codes_of(keys, codes) -> how many distinct keys there are; codes count them by first appearance */
static PyObject *codes_of(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    (void)module;
    Arrays a;
    if (nargs != 2 || arrays_take(&a, args, nargs, "qI", 2) < 0)
        return failed("codes_of takes 2 arrays");
    const int64_t *keys = array_data(&a, 0);
    int32_t *codes = array_data(&a, 1);
    Py_ssize_t n = array_length(&a, 0);
    ThreadMap map = {0};
    int no_memory = 0;
    Py_BEGIN_ALLOW_THREADS
    for (Py_ssize_t i = 0; i < n && !no_memory; i++) {
        codes[i] = i && keys[i] == keys[i - 1] ? codes[i - 1] : map_code(&map, keys[i], 1);
        no_memory = codes[i] < 0;
    }
    Py_END_ALLOW_THREADS
    size_t count = map.used;
    map_free(&map);
    arrays_release(&a);
    return no_memory ? PyErr_NoMemory() : PyLong_FromSize_t(count);
}

#define MOST_COLUMNS 4

typedef struct {
    const int64_t *column[MOST_COLUMNS];
    int count;
} Keys;

static inline uint64_t hash_row(const Keys *keys, Py_ssize_t row)
{
    uint64_t state = UINT64_C(0x9E3779B97F4A7C15);
    for (int c = 0; c < keys->count; c++)
        state = fold((uint64_t)keys->column[c][row] ^ state, UINT64_C(0xD1B54A32D192ED03));
    return state;
}

static inline int same_row(const Keys *a, Py_ssize_t i, const Keys *b, Py_ssize_t k)
{
    for (int c = 0; c < a->count; c++)
        if (a->column[c][i] != b->column[c][k])
            return 0;
    return 1;
}

/* One column whose keys lie close together: a table in their place, which memory is read along in order of the keys.
 * Returns 0 where they do not, -1 when memory runs out. */
static int match_close(const int64_t *keys, Py_ssize_t n, const int64_t *wanted, Py_ssize_t asked, int64_t *found)
{
    int64_t least = n ? keys[0] : 0, most = least;
    for (Py_ssize_t i = 1; i < n; i++) {
        least = keys[i] < least ? keys[i] : least;
        most = keys[i] > most ? keys[i] : most;
    }
    uint64_t range = (uint64_t)most - (uint64_t)least;
    if (range >= 4 * (uint64_t)n + 1024)
        return 0;
    uint32_t *first = calloc((size_t)range + 1, sizeof *first);
    if (!first)
        return -1;
    for (Py_ssize_t i = n - 1; i >= 0; i--)
        first[(uint64_t)keys[i] - (uint64_t)least] = (uint32_t)i + 1;
    for (Py_ssize_t i = 0; i < asked; i++) {
        uint64_t at = (uint64_t)wanted[i] - (uint64_t)least;
        found[i] = at <= range ? (int64_t)first[at] - 1 : -1;
    }
    free(first);
    return 1;
}

/* Rows whose slots are asked for before they are looked at: they are far apart. */
#define AHEAD 16

static inline size_t ask_ahead(const uint32_t *slots, size_t room, const Keys *keys, Py_ssize_t from, Py_ssize_t n,
                               uint64_t *hashes)
{
    size_t count = n - from < AHEAD ? (size_t)(n - from) : AHEAD;
    for (size_t k = 0; k < count; k++) {
        hashes[k] = hash_row(keys, from + (Py_ssize_t)k) & (room - 1);
        __builtin_prefetch(&slots[hashes[k]]);
    }
    return count;
}

/* Returns -1 when memory runs out. */
static int match(const Keys *keys, Py_ssize_t n, const Keys *wanted, Py_ssize_t asked, int64_t *found)
{
    size_t room = 16;
    uint64_t hashes[AHEAD];
    if (keys->count == 1 && n) {
        int done = match_close(keys->column[0], n, wanted->column[0], asked, found);
        if (done)
            return done < 0 ? -1 : 0;
    }
    while (room < 2 * (size_t)n)
        room *= 2;
    uint32_t *slots = scratch(room, sizeof *slots);
    if (!slots)
        return -1;
    memset(slots, 0, room * sizeof *slots);
    for (Py_ssize_t i = 0; i < n;) {
        size_t count = ask_ahead(slots, room, keys, i, n, hashes);
        for (size_t k = 0; k < count; k++, i++) {
            size_t at = hashes[k];
            while (slots[at] && !same_row(keys, slots[at] - 1, keys, i))
                at = (at + 1) & (room - 1);
            if (!slots[at])
                slots[at] = (uint32_t)i + 1;
        }
    }
    for (Py_ssize_t i = 0; i < asked;) {
        size_t count = ask_ahead(slots, room, wanted, i, asked, hashes);
        for (size_t k = 0; k < count; k++, i++) {
            size_t at = hashes[k];
            while (slots[at] && !same_row(keys, slots[at] - 1, wanted, i))
                at = (at + 1) & (room - 1);
            found[i] = (int64_t)slots[at] - 1;
        }
    }
    free(slots);
    return 0;
}

/* first_match(key column, ..., wanted column, ..., found): the first row of the keys that equals each wanted row in
 * every column, or -1 */
static PyObject *first_match(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    (void)module;
    static const char specs[] = "qqqqqqqqQ";
    Arrays a;
    Keys keys = {.count = (int)(nargs / 2)}, wanted = {.count = (int)(nargs / 2)};
    if (nargs % 2 == 0 || keys.count < 1 || keys.count > MOST_COLUMNS ||
        arrays_take(&a, args, nargs, specs + 2 * (MOST_COLUMNS - keys.count), 0) < 0)
        return failed("first_match takes up to 4 columns of keys, as many wanted ones, and an array");
    Py_ssize_t n = array_length(&a, 0), asked = array_length(&a, keys.count);
    int differ = array_length(&a, 2 * keys.count) != asked || n >= INT32_MAX;
    for (int c = 0; c < keys.count; c++) {
        keys.column[c] = array_data(&a, c);
        wanted.column[c] = array_data(&a, keys.count + c);
        differ |= array_length(&a, c) != n || array_length(&a, keys.count + c) != asked;
    }
    int no_memory = 0;
    if (!differ) {
        int64_t *found = array_data(&a, 2 * keys.count);
        Py_BEGIN_ALLOW_THREADS
        no_memory = match(&keys, n, &wanted, asked, found) < 0;
        Py_END_ALLOW_THREADS
    }
    arrays_release(&a);
    if (differ) {
        PyErr_SetString(PyExc_ValueError, "the arrays differ in length");
        return NULL;
    }
    if (no_memory)
        return PyErr_NoMemory();
    Py_RETURN_NONE;
}

/* compact(codes, table, used, compacted) -> how many codes are used; `table` has a place for every code, `used`
 * gets the codes in ascending order, `compacted` their place there; negative ones stay -1 */
static PyObject *compact(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    (void)module;
    Arrays a;
    if (nargs != 4 || arrays_take(&a, args, nargs, "iIII", 0) < 0)
        return failed("compact takes 4 arrays");
    const int32_t *codes = array_data(&a, 0);
    int32_t *table = array_data(&a, 1), *used = array_data(&a, 2), *compacted = array_data(&a, 3);
    Py_ssize_t n = array_length(&a, 0), limit = array_length(&a, 1), room = array_length(&a, 2);
    Py_ssize_t count = 0;
    int32_t most = -1;
    Py_BEGIN_ALLOW_THREADS
    for (Py_ssize_t i = 0; i < n; i++)
        most = codes[i] > most ? codes[i] : most;
    Py_END_ALLOW_THREADS
    int outside = array_length(&a, 3) != n || most >= limit;
    Py_BEGIN_ALLOW_THREADS
    if (!outside)
        memset(table, 0, (size_t)(most + 1) * sizeof *table);
    for (Py_ssize_t i = 0; i < n && !outside; i++)
        if (codes[i] >= 0)
            table[codes[i]] = 1;
    for (Py_ssize_t code = 0; code <= most && !outside; code++) {
        if (!table[code])
            continue;
        if (count == room) {
            outside = 1;
            break;
        }
        used[count] = (int32_t)code;
        table[code] = (int32_t)count++;
    }
    for (Py_ssize_t i = 0; i < n && !outside; i++)
        compacted[i] = codes[i] < 0 ? -1 : table[codes[i]];
    Py_END_ALLOW_THREADS
    arrays_release(&a);
    if (outside) {
        PyErr_SetString(PyExc_ValueError, "a code is outside the table, or the arrays do not fit");
        return NULL;
    }
    return PyLong_FromSsize_t(count);
}

/* The first place at or after `from` whose value is not below `wanted`: steps that double, then halves. */
static Py_ssize_t reach(const int32_t *values, Py_ssize_t n, Py_ssize_t from, int64_t wanted)
{
    Py_ssize_t low = from, step = 1;
    while (low + step < n && values[low + step] < wanted) {
        low += step;
        step *= 2;
    }
    Py_ssize_t high = low + step < n ? low + step : n;
    while (low < high) {
        Py_ssize_t middle = low + (high - low) / 2;
        if (values[middle] < wanted)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* places(ascending, wanted, found): the place of each wanted number, or -1; quick where these ascend as well */
static PyObject *places(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    (void)module;
    Arrays a;
    if (nargs != 3 || arrays_take(&a, args, nargs, "iqQ", 0) < 0)
        return failed("places takes 3 arrays");
    const int32_t *values = array_data(&a, 0);
    const int64_t *wanted = array_data(&a, 1);
    int64_t *found = array_data(&a, 2);
    Py_ssize_t n = array_length(&a, 0), asked = array_length(&a, 1), at = 0;
    int differ = array_length(&a, 2) != asked;
    Py_BEGIN_ALLOW_THREADS
    for (Py_ssize_t i = 0; i < asked && !differ; i++) {
        at = reach(values, n, i && wanted[i] >= wanted[i - 1] ? at : 0, wanted[i]);
        found[i] = at < n && values[at] == wanted[i] ? at : -1;
    }
    Py_END_ALLOW_THREADS
    arrays_release(&a);
    if (differ) {
        PyErr_SetString(PyExc_ValueError, "the arrays differ in length");
        return NULL;
    }
    Py_RETURN_NONE;
}

PyMethodDef code_methods[] = {FAST(codes_of), FAST(first_match), FAST(compact), FAST(places), {NULL, NULL, 0, NULL}};
