/* Sets of half-open intervals [start, end): merge, combine, and sweep by class. */
#include "arrays.h"
#include "sort.h"

#include <string.h>

#define MAX_KINDS 6

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

typedef struct {
    int64_t *sums;               /* per mask, or NULL */
    int64_t *start, *end;        /* segments, or NULL */
    uint8_t *mask;
    Py_ssize_t made;
} Swept;

static inline void emit(Swept *out, int64_t from, int64_t to, unsigned mask)
{
    if (out->sums)
        out->sums[mask] += to - from;
    if (out->start) {
        Py_ssize_t last = out->made - 1;
        if (last >= 0 && out->mask[last] == mask) {
            out->end[last] = to;
        } else {
            out->start[out->made] = from;
            out->end[out->made] = to;
            out->mask[out->made++] = (uint8_t)mask;
        }
    }
}

/* Walk the window once. A class needs only the latest end of its open intervals, so there is no event queue. */
static inline void sweep_window(const int64_t *start, const int64_t *end, const uint8_t *kind, Py_ssize_t n,
                                int64_t lo, int64_t hi, Swept *out)
{
    int64_t open_end[MAX_KINDS] = {0};
    unsigned mask = 0;
    int64_t now = lo, next_end = INT64_MAX;
    for (Py_ssize_t i = 0; i <= n; i++) {
        int64_t s = hi, e = hi;
        unsigned k = 0;
        if (i < n) {
            s = start[i] > lo ? start[i] : lo;
            e = end[i] < hi ? end[i] : hi;
            if (s >= hi) {
                i = n - 1; /* starts ascend: only the closing round is left */
                continue;
            }
            if (e <= s)
                continue;
            k = kind[i];
        }
        while (next_end <= s && mask) {
            if (next_end > now)
                emit(out, now, next_end, mask);
            now = next_end;
            next_end = INT64_MAX;
            for (unsigned c = 0; c < MAX_KINDS; c++) {
                if (!(mask >> c & 1u))
                    continue;
                if (open_end[c] <= now)
                    mask &= ~(1u << c);
                else if (open_end[c] < next_end)
                    next_end = open_end[c];
            }
        }
        if (s > now) {
            emit(out, now, s, mask);
            now = s;
        }
        if (i == n)
            break;
        if (!(mask >> k & 1u)) {
            mask |= 1u << k;
            open_end[k] = e;
            if (e < next_end)
                next_end = e;
        } else if (e > open_end[k]) {
            int64_t was = open_end[k];
            open_end[k] = e;
            if (was == next_end) {
                next_end = INT64_MAX;
                for (unsigned c = 0; c < MAX_KINDS; c++)
                    if (mask >> c & 1u && open_end[c] < next_end)
                        next_end = open_end[c];
            }
        }
    }
}

static int kinds_below(const uint8_t *kind, Py_ssize_t n, int64_t limit)
{
    uint8_t most = 0;
    for (Py_ssize_t i = 0; i < n; i++)
        most = kind[i] > most ? kind[i] : most;
    return n == 0 || most < limit;
}

/* sweep_sums(start, end, kind, sums, kind_count, lo, hi) */
static PyObject *sweep_sums(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    (void)module;
    Arrays a;
    int64_t kind_count, lo, hi;
    if (arrays_take(&a, args, nargs, "qqbQ", 3) < 0)
        return NULL;
    if (nargs != 7 || take_int64(args[4], &kind_count) < 0 || take_int64(args[5], &lo) < 0 ||
        take_int64(args[6], &hi) < 0) {
        arrays_release(&a);
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_TypeError, "sweep_sums takes 7 arguments");
        return NULL;
    }
    Py_ssize_t n = array_length(&a, 0);
    if (kind_count < 1 || kind_count > MAX_KINDS || array_length(&a, 3) != (Py_ssize_t)1 << kind_count ||
        !kinds_below(array_data(&a, 2), n, kind_count)) {
        arrays_release(&a);
        PyErr_SetString(PyExc_ValueError, "kind must be below kind_count, and kind_count from 1 to 6");
        return NULL;
    }
    Swept out = {.sums = array_data(&a, 3)};
    Py_BEGIN_ALLOW_THREADS
    if (lo < hi)
        sweep_window(array_data(&a, 0), array_data(&a, 1), array_data(&a, 2), n, lo, hi, &out);
    Py_END_ALLOW_THREADS
    arrays_release(&a);
    Py_RETURN_NONE;
}

/* sweep_parts(start, end, kind, out_start, out_end, out_mask, kind_count, lo, hi) -> count; room for 2n + 1 */
static PyObject *sweep_parts(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    (void)module;
    Arrays a;
    int64_t kind_count, lo, hi;
    if (arrays_take(&a, args, nargs, "qqbQQB", 3) < 0)
        return NULL;
    if (nargs != 9 || take_int64(args[6], &kind_count) < 0 || take_int64(args[7], &lo) < 0 ||
        take_int64(args[8], &hi) < 0) {
        arrays_release(&a);
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_TypeError, "sweep_parts takes 9 arguments");
        return NULL;
    }
    Py_ssize_t n = array_length(&a, 0), room = 2 * n + 1;
    if (kind_count < 1 || kind_count > MAX_KINDS || !kinds_below(array_data(&a, 2), n, kind_count) ||
        array_length(&a, 3) < room || array_length(&a, 4) < room || array_length(&a, 5) < room) {
        arrays_release(&a);
        PyErr_SetString(PyExc_ValueError, "kind must be below kind_count, kind_count from 1 to 6, room 2n + 1");
        return NULL;
    }
    Swept out = {.start = array_data(&a, 3), .end = array_data(&a, 4), .mask = array_data(&a, 5)};
    Py_BEGIN_ALLOW_THREADS
    if (lo < hi)
        sweep_window(array_data(&a, 0), array_data(&a, 1), array_data(&a, 2), n, lo, hi, &out);
    Py_END_ALLOW_THREADS
    arrays_release(&a);
    return PyLong_FromSsize_t(out.made);
}

/* windows_sums(part_start, part_end, part_mask, window_start, window_end, sums, masks): parts are a partition */
static PyObject *windows_sums(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    (void)module;
    Arrays a;
    int64_t masks;
    if (arrays_take(&a, args, nargs, "qqbqqQ", 3) < 0)
        return NULL;
    if (nargs != 7 || take_int64(args[6], &masks) < 0) {
        arrays_release(&a);
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_TypeError, "windows_sums takes 7 arguments");
        return NULL;
    }
    const int64_t *start = array_data(&a, 0), *end = array_data(&a, 1);
    const uint8_t *mask = array_data(&a, 2);
    const int64_t *lo = array_data(&a, 3), *hi = array_data(&a, 4);
    int64_t *sums = array_data(&a, 5);
    Py_ssize_t parts = array_length(&a, 0), windows = array_length(&a, 3);
    if (array_length(&a, 4) != windows || masks < 1 || array_length(&a, 5) != windows * masks ||
        !kinds_below(mask, parts, masks)) {
        arrays_release(&a);
        PyErr_SetString(PyExc_ValueError, "window arrays and sums do not fit each other");
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    for (Py_ssize_t w = 0; w < windows; w++) {
        Py_ssize_t first = 0, past = parts;
        while (first < past) {
            Py_ssize_t middle = first + (past - first) / 2;
            if (end[middle] <= lo[w])
                first = middle + 1;
            else
                past = middle;
        }
        for (Py_ssize_t i = first; i < parts && start[i] < hi[w]; i++) {
            int64_t from = start[i] > lo[w] ? start[i] : lo[w];
            int64_t to = end[i] < hi[w] ? end[i] : hi[w];
            if (from < to)
                sums[w * masks + mask[i]] += to - from;
        }
    }
    Py_END_ALLOW_THREADS
    arrays_release(&a);
    Py_RETURN_NONE;
}

#define FAST(name) {#name, (PyCFunction)(void (*)(void))name, METH_FASTCALL, NULL}

PyMethodDef interval_methods[] = {
    FAST(is_sorted), FAST(order), FAST(union_sorted), FAST(union_length_sorted), FAST(intersect_sorted),
    FAST(subtract_sorted), FAST(sweep_sums), FAST(sweep_parts), FAST(windows_sums), {NULL, NULL, 0, NULL},
};
