/* Numbering of values, and finding values of one array in another, by hashing. */
#include "arrays.h"

#include <string.h>

#include "group.h"
#include "memory.h"

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

/* first_match(keys, wanted, found): the first position at which `keys` holds each wanted key, or -1 */
static PyObject *first_match(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    (void)module;
    Arrays a;
    if (nargs != 3 || arrays_take(&a, args, nargs, "qqQ", 0) < 0)
        return failed("first_match takes 3 arrays");
    const int64_t *keys = array_data(&a, 0), *wanted = array_data(&a, 1);
    int64_t *found = array_data(&a, 2);
    Py_ssize_t n = array_length(&a, 0), asked = array_length(&a, 1);
    if (array_length(&a, 2) != asked) {
        arrays_release(&a);
        PyErr_SetString(PyExc_ValueError, "the arrays differ in length");
        return NULL;
    }
    ThreadMap map = {0};
    int no_memory = 0;
    Py_BEGIN_ALLOW_THREADS
    int64_t *first = scratch((size_t)n, sizeof *first);
    no_memory = !first;
    for (Py_ssize_t i = 0; i < n && !no_memory; i++) {
        size_t before = map.used;
        int32_t code = map_code(&map, keys[i], 1);
        no_memory = code < 0;
        if (map.used > before)
            first[code] = i;
    }
    for (Py_ssize_t i = 0; i < asked && !no_memory; i++) {
        int32_t code = n ? map_code(&map, wanted[i], 0) : -1;
        found[i] = code < 0 ? -1 : first[code];
    }
    free(first);
    Py_END_ALLOW_THREADS
    map_free(&map);
    arrays_release(&a);
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
    int outside = array_length(&a, 3) != n;
    Py_BEGIN_ALLOW_THREADS
    memset(table, 0, (size_t)limit * sizeof *table);
    for (Py_ssize_t i = 0; i < n && !outside; i++) {
        if (codes[i] >= 0 && codes[i] < limit)
            table[codes[i]] = 1;
        else
            outside = codes[i] >= 0;
    }
    for (Py_ssize_t code = 0; code < limit && !outside; code++) {
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

PyMethodDef code_methods[] = {FAST(codes_of), FAST(first_match), FAST(compact), {NULL, NULL, 0, NULL}};
