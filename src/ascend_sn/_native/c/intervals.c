/* Sets of half-open intervals [start, end): order, merge, combine. */
#include "arrays.h"
#include "sort.h"

static PyObject *is_sorted(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    (void)module;
    Arrays in;
    int sorted;
    if (arrays_take(&in, args, nargs, "q", 1) < 0)
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    sorted = sorted_int64(array_data(&in, 0), (size_t)array_length(&in, 0));
    Py_END_ALLOW_THREADS
    arrays_release(&in);
    return PyBool_FromLong(sorted);
}

static PyObject *order(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    (void)module;
    Arrays a;
    int failed;
    if (arrays_take(&a, args, nargs, "qQ", 2) < 0)
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    failed = order_int64(array_data(&a, 0), (size_t)array_length(&a, 0), array_data(&a, 1));
    Py_END_ALLOW_THREADS
    arrays_release(&a);
    if (failed)
        return PyErr_NoMemory();
    Py_RETURN_NONE;
}

/* union_sorted(start, end, out_start, out_end) -> count */
static PyObject *union_sorted(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    (void)module;
    Arrays a;
    Py_ssize_t made = 0;
    if (arrays_take(&a, args, nargs, "qqQQ", 4) < 0)
        return NULL;
    const int64_t *start = array_data(&a, 0), *end = array_data(&a, 1);
    int64_t *out_start = array_data(&a, 2), *out_end = array_data(&a, 3);
    Py_ssize_t n = array_length(&a, 0), i = 0;
    Py_BEGIN_ALLOW_THREADS
    while (i < n && end[i] <= start[i])
        i++;
    if (i < n) {
        int64_t from = start[i], to = end[i];
        for (i++; i < n; i++) {
            int64_t s = start[i], e = end[i];
            if (e <= s)
                continue;
            if (s <= to) {
                to = e > to ? e : to;
            } else {
                out_start[made] = from;
                out_end[made++] = to;
                from = s;
                to = e;
            }
        }
        out_start[made] = from;
        out_end[made++] = to;
    }
    Py_END_ALLOW_THREADS
    arrays_release(&a);
    return PyLong_FromSsize_t(made);
}

/* union_length_sorted(start, end) -> length */
static PyObject *union_length_sorted(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    (void)module;
    Arrays a;
    int64_t total = 0;
    if (arrays_take(&a, args, nargs, "qq", 2) < 0)
        return NULL;
    const int64_t *start = array_data(&a, 0), *end = array_data(&a, 1);
    Py_ssize_t n = array_length(&a, 0);
    Py_BEGIN_ALLOW_THREADS
    int64_t covered = INT64_MIN;
    for (Py_ssize_t i = 0; i < n; i++) {
        int64_t from = start[i] > covered ? start[i] : covered;
        if (end[i] > from) {
            total += end[i] - from;
            covered = end[i];
        }
    }
    Py_END_ALLOW_THREADS
    arrays_release(&a);
    return PyLong_FromLongLong(total);
}

/* intersect_sorted(a_start, a_end, b_start, b_end, out_start, out_end) -> count; room for len(a) + len(b) */
static PyObject *intersect_sorted(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    (void)module;
    Arrays a;
    Py_ssize_t made = 0;
    if (arrays_take(&a, args, nargs, "qqqqQQ", 1) < 0)
        return NULL;
    const int64_t *as = array_data(&a, 0), *ae = array_data(&a, 1);
    const int64_t *bs = array_data(&a, 2), *be = array_data(&a, 3);
    int64_t *out_start = array_data(&a, 4), *out_end = array_data(&a, 5);
    Py_ssize_t na = array_length(&a, 0), nb = array_length(&a, 2);
    Py_BEGIN_ALLOW_THREADS
    for (Py_ssize_t i = 0, j = 0; i < na && j < nb;) {
        int64_t from = as[i] > bs[j] ? as[i] : bs[j];
        int64_t to = ae[i] < be[j] ? ae[i] : be[j];
        if (from < to) {
            out_start[made] = from;
            out_end[made++] = to;
        }
        if (ae[i] < be[j])
            i++;
        else
            j++;
    }
    Py_END_ALLOW_THREADS
    arrays_release(&a);
    return PyLong_FromSsize_t(made);
}

/* subtract_sorted(a_start, a_end, b_start, b_end, out_start, out_end) -> count; room for len(a) + len(b) */
static PyObject *subtract_sorted(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    (void)module;
    Arrays a;
    Py_ssize_t made = 0;
    if (arrays_take(&a, args, nargs, "qqqqQQ", 1) < 0)
        return NULL;
    const int64_t *as = array_data(&a, 0), *ae = array_data(&a, 1);
    const int64_t *bs = array_data(&a, 2), *be = array_data(&a, 3);
    int64_t *out_start = array_data(&a, 4), *out_end = array_data(&a, 5);
    Py_ssize_t na = array_length(&a, 0), nb = array_length(&a, 2);
    Py_BEGIN_ALLOW_THREADS
    Py_ssize_t j = 0;
    for (Py_ssize_t i = 0; i < na; i++) {
        int64_t from = as[i];
        while (j < nb && be[j] <= from)
            j++;
        for (Py_ssize_t k = j; k < nb && bs[k] < ae[i] && from < ae[i]; k++) {
            if (bs[k] > from) {
                out_start[made] = from;
                out_end[made++] = bs[k];
            }
            from = be[k] > from ? be[k] : from;
            if (be[k] <= ae[i])
                j = k + 1;
        }
        if (from < ae[i]) {
            out_start[made] = from;
            out_end[made++] = ae[i];
        }
    }
    Py_END_ALLOW_THREADS
    arrays_release(&a);
    return PyLong_FromSsize_t(made);
}

PyMethodDef interval_methods[] = {
    FAST(is_sorted), FAST(order), FAST(union_sorted), FAST(union_length_sorted), FAST(intersect_sorted),
    FAST(subtract_sorted), {NULL, NULL, 0, NULL},
};
