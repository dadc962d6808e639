#include "arrays.h"

#include <string.h>

static Py_ssize_t item_size(char letter)
{
    switch (letter) {
    case 'q': case 'Q': case 'd': case 'D': return 8;
    case 'i': case 'I': return 4;
    default: return 1;
    }
}

int arrays_take(Arrays *arrays, PyObject *const *args, Py_ssize_t nargs, const char *spec, int equal)
{
    Py_ssize_t wanted = (Py_ssize_t)strlen(spec);
    memset(arrays, 0, sizeof *arrays);
    if (nargs < wanted || wanted > MAX_ARRAYS) {
        PyErr_Format(PyExc_TypeError, "expected at least %zd arrays, got %zd arguments", wanted, nargs);
        return -1;
    }
    for (Py_ssize_t i = 0; i < wanted; i++) {
        Py_buffer *view = &arrays->views[i];
        int writable = spec[i] >= 'A' && spec[i] <= 'Z';
        int flags = PyBUF_C_CONTIGUOUS | PyBUF_FORMAT | (writable ? PyBUF_WRITABLE : 0);
        if (PyObject_GetBuffer(args[i], view, flags) < 0) {
            arrays_release(arrays);
            return -1;
        }
        arrays->count++;
        if (view->itemsize != item_size(spec[i])) {
            PyErr_Format(PyExc_TypeError, "array %zd has items of %zd bytes, not of %zd", i, view->itemsize,
                         item_size(spec[i]));
            arrays_release(arrays);
            return -1;
        }
        if (i < equal && array_length(arrays, (int)i) != array_length(arrays, 0)) {
            PyErr_Format(PyExc_ValueError, "array %zd has %zd items, the first has %zd", i,
                         array_length(arrays, (int)i), array_length(arrays, 0));
            arrays_release(arrays);
            return -1;
        }
    }
    return 0;
}

void arrays_release(Arrays *arrays)
{
    for (int i = 0; i < arrays->count; i++)
        PyBuffer_Release(&arrays->views[i]);
    arrays->count = 0;
}

int take_int64(PyObject *value, int64_t *out)
{
    long long number = PyLong_AsLongLong(value);
    if (number == -1 && PyErr_Occurred())
        return -1;
    *out = (int64_t)number;
    return 0;
}
