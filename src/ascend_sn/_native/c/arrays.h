/* Arguments of the core's functions: contiguous buffers in, preallocated buffers out. */
#ifndef ASCEND_SN_ARRAYS_H
#define ASCEND_SN_ARRAYS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>

#define MAX_ARRAYS 16

typedef struct {
    Py_buffer views[MAX_ARRAYS];
    int count;
} Arrays;

/* Take the buffers that `spec` describes, one letter each: q int64, i int32, b uint8, d float64;
 * a capital letter is written to. `equal` letters starting with the first must have the same length.
 * Returns 0, or -1 with an exception set and nothing held. */
int arrays_take(Arrays *arrays, PyObject *const *args, Py_ssize_t nargs, const char *spec, int equal);
void arrays_release(Arrays *arrays);

static inline Py_ssize_t array_length(const Arrays *arrays, int which)
{
    return arrays->views[which].len / arrays->views[which].itemsize;
}

static inline void *array_data(const Arrays *arrays, int which)
{
    return arrays->views[which].buf;
}

/* Read one Python int; returns -1 with an exception set when it is not one or is out of range. */
int take_int64(PyObject *value, int64_t *out);

/* An entry of a table of functions. */
#define FAST(name) {#name, (PyCFunction)(void (*)(void))name, METH_FASTCALL, NULL}

extern PyMethodDef interval_methods[];
extern PyMethodDef sweep_methods[];
extern PyMethodDef nesting_methods[];
extern PyMethodDef strings_methods[];
extern PyMethodDef scan_methods[];
extern PyMethodDef code_methods[];
extern PyMethodDef dag_methods[];
extern PyMethodDef ring_methods[];
extern PyMethodDef pyramid_methods[];
extern PyMethodDef deal_methods[];
extern PyMethodDef by_name_methods[];
extern PyMethodDef totals_methods[];
extern PyMethodDef calls_methods[];

int add_ring_type(PyObject *module);
int add_totals_type(PyObject *module);

#endif
