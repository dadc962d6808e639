/* Calls and times of slices by their name. */
#include "arrays.h"

typedef struct {
    int64_t *calls, *total, *own, *low, *high;
    uint8_t *kind;
} ByName;

static void add(const ByName *sums, int32_t name, int64_t dur, int64_t own, uint8_t kind)
{
    if (!sums->calls[name]++) {
        sums->kind[name] = kind;
        sums->low[name] = sums->high[name] = dur;
        sums->total[name] = dur;
        sums->own[name] = own;
        return;
    }
    sums->total[name] += dur;
    sums->own[name] += own;
    sums->low[name] = dur < sums->low[name] ? dur : sums->low[name];
    sums->high[name] = dur > sums->high[name] ? dur : sums->high[name];
}

/* sum_by_name(start, end, name, kind, own, calls, total, own_total, low, high, kinds, touched, met) -> names met.
 * `own` may be empty: it is the duration then. The tables, a place for each name, go on from what they hold; `touched`
 * gets names that were met for the first time, from place `met` on. */
static PyObject *sum_by_name(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    (void)module;
    Arrays a;
    int64_t met;
    if (arrays_take(&a, args, nargs, "qqibqQQQQQBI", 4) < 0)
        return NULL;
    Py_ssize_t n = array_length(&a, 0), owns = array_length(&a, 4), names = array_length(&a, 5);
    const int64_t *start = array_data(&a, 0), *end = array_data(&a, 1), *own = array_data(&a, 4);
    const int32_t *name = array_data(&a, 2);
    const uint8_t *kind = array_data(&a, 3);
    int32_t *touched = array_data(&a, 11);
    ByName sums = {array_data(&a, 5), array_data(&a, 6), array_data(&a, 7), array_data(&a, 8), array_data(&a, 9),
                   array_data(&a, 10)};
    int fits = nargs == 13 && take_int64(args[12], &met) == 0 && met >= 0 && met <= names && (!owns || owns == n);
    for (int i = 6; fits && i < 12; i++)
        fits = array_length(&a, i) == names;
    Py_BEGIN_ALLOW_THREADS
    for (Py_ssize_t i = 0; fits && i < n; i++) {
        if (name[i] < 0 || name[i] >= names || (!sums.calls[name[i]] && met >= names)) {
            fits = 0;
            break;
        }
        if (!sums.calls[name[i]])
            touched[met++] = name[i];
        int64_t dur = end[i] - start[i];
        add(&sums, name[i], dur, owns ? own[i] : dur, kind[i]);
    }
    Py_END_ALLOW_THREADS
    arrays_release(&a);
    if (!fits) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_ValueError, "the arrays do not belong together, or a name is none");
        return NULL;
    }
    return PyLong_FromLongLong(met);
}

PyMethodDef by_name_methods[] = {FAST(sum_by_name), {NULL, NULL, 0, NULL}};
