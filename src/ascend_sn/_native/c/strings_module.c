/* The texts' face to Python: a capsule, texts by code. */
#include "arrays.h"

#include <stdlib.h>

#include "strings.h"

static void free_strings(PyObject *capsule)
{
    Strings *strings = PyCapsule_GetPointer(capsule, TEXTS);
    strings_close(strings);
    free(strings);
}

static PyObject *strings_new(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    (void)module, (void)args, (void)nargs;
    Strings *strings = malloc(sizeof *strings);
    if (!strings || strings_open(strings) < 0) {
        free(strings);
        return PyErr_NoMemory();
    }
    return PyCapsule_New(strings, TEXTS, free_strings);
}

static PyObject *strings_count(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    (void)module;
    Strings *strings = nargs == 1 ? PyCapsule_GetPointer(args[0], TEXTS) : NULL;
    if (!strings) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_TypeError, "strings_count takes 1 argument");
        return NULL;
    }
    pthread_mutex_lock(&strings->lock);
    size_t count = strings->count;
    pthread_mutex_unlock(&strings->lock);
    return PyLong_FromSize_t(count);
}

/* strings_text(strings, code) -> str; bytes that are no UTF-8 become U+FFFD */
static PyObject *strings_text(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    (void)module;
    Strings *strings;
    int64_t code;
    if (nargs != 2) {
        PyErr_SetString(PyExc_TypeError, "strings_text takes 2 arguments");
        return NULL;
    }
    if (!(strings = PyCapsule_GetPointer(args[0], TEXTS)) || take_int64(args[1], &code) < 0)
        return NULL;
    PyObject *text = NULL;
    pthread_mutex_lock(&strings->lock);
    if (code >= 0 && (uint64_t)code < strings->count) {
        uint64_t from = strings->start[code];
        text = PyUnicode_DecodeUTF8((const char *)strings->bytes + from, (Py_ssize_t)(strings->start[code + 1] - from),
                                    "replace");
    } else {
        PyErr_SetString(PyExc_IndexError, "no text has this code");
    }
    pthread_mutex_unlock(&strings->lock);
    return text;
}

/* strings_texts(strings, codes) -> [str] */
static PyObject *strings_texts(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    (void)module;
    Arrays a;
    Strings *strings = nargs == 2 ? PyCapsule_GetPointer(args[0], TEXTS) : NULL;
    if (!strings || arrays_take(&a, args + 1, 1, "i", 1) < 0) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_TypeError, "strings_texts takes 2 arguments");
        return NULL;
    }
    const int32_t *codes = array_data(&a, 0);
    Py_ssize_t n = array_length(&a, 0);
    PyObject *list = PyList_New(n);
    pthread_mutex_lock(&strings->lock);
    for (Py_ssize_t i = 0; list && i < n; i++) {
        PyObject *text = NULL;
        if (codes[i] >= 0 && (size_t)codes[i] < strings->count) {
            uint64_t from = strings->start[codes[i]];
            text = PyUnicode_DecodeUTF8((const char *)strings->bytes + from,
                                        (Py_ssize_t)(strings->start[codes[i] + 1] - from), "replace");
        } else {
            PyErr_SetString(PyExc_IndexError, "no text has this code");
        }
        if (!text || PyList_SetItem(list, i, text) < 0)
            Py_CLEAR(list);
    }
    pthread_mutex_unlock(&strings->lock);
    arrays_release(&a);
    return list;
}

/* A whole number: digits with an optional minus, nothing else, within 64 bits. */
static int plain_integer(const uint8_t *p, size_t length, int64_t *value)
{
    const uint8_t *end = p + length;
    int negative = length && *p == '-';
    uint64_t number = 0;
    p += negative;
    if (p == end || end - p > 19)
        return 0;
    for (; p < end; p++) {
        if ((uint8_t)(*p - '0') > 9)
            return 0;
        number = number * 10 + (uint64_t)(*p - '0');
    }
    if (number > (uint64_t)INT64_MAX + (uint64_t)negative)
        return 0;
    *value = (int64_t)(negative ? 0 - number : number);
    return 1;
}

/* strings_integers(strings, codes, values, valid) */
static PyObject *strings_integers(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    (void)module;
    Arrays a;
    Strings *strings = nargs == 4 ? PyCapsule_GetPointer(args[0], TEXTS) : NULL;
    if (!strings || arrays_take(&a, args + 1, nargs - 1, "iQB", 3) < 0) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_TypeError, "strings_integers takes 4 arguments");
        return NULL;
    }
    const int32_t *codes = array_data(&a, 0);
    int64_t *values = array_data(&a, 1);
    uint8_t *valid = array_data(&a, 2);
    Py_ssize_t n = array_length(&a, 0);
    Py_BEGIN_ALLOW_THREADS
    pthread_mutex_lock(&strings->lock);
    for (Py_ssize_t i = 0; i < n; i++) {
        values[i] = 0;
        valid[i] = 0;
        if (codes[i] >= 0 && (size_t)codes[i] < strings->count) {
            uint64_t from = strings->start[codes[i]];
            valid[i] = (uint8_t)plain_integer(strings->bytes + from, strings->start[codes[i] + 1] - from, &values[i]);
        }
    }
    pthread_mutex_unlock(&strings->lock);
    Py_END_ALLOW_THREADS
    arrays_release(&a);
    Py_RETURN_NONE;
}

PyMethodDef strings_methods[] = {
    FAST(strings_new), FAST(strings_count), FAST(strings_text), FAST(strings_texts), FAST(strings_integers), {NULL, NULL, 0, NULL},
};
