/* Level-of-detail pyramids: groups of slices, groups of groups, up to one; a viewport reads only what it shows. */
#include "arrays.h"

#include <string.h>

#define MAX_LEVELS 40

/* pyramid_fill(start, end, busy, count, longest, length, offsets, factor): the slices of level 0 are in start and end;
 * everything else is written. `busy`, `count`, `longest` and `length` begin at level 1. */
static PyObject *pyramid_fill(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    (void)module;
    Arrays a;
    int64_t factor;
    if (arrays_take(&a, args, nargs, "QQQQQQq", 2) < 0)
        return NULL;
    const int64_t *offsets = array_data(&a, 6);
    Py_ssize_t levels = array_length(&a, 6) - 1, total = array_length(&a, 0), upper = array_length(&a, 2);
    int fits = nargs == 8 && take_int64(args[7], &factor) == 0 && factor >= 2 && levels >= 1 && levels <= MAX_LEVELS &&
               offsets[0] == 0 && offsets[levels] == total && upper == total - offsets[1] &&
               array_length(&a, 3) == upper && array_length(&a, 4) == upper && array_length(&a, 5) == upper;
    for (Py_ssize_t level = 1; fits && level < levels; level++) {
        int64_t below = offsets[level] - offsets[level - 1];
        fits = below >= 0 && offsets[level + 1] - offsets[level] == (below + factor - 1) / factor;
    }
    if (!fits) {
        arrays_release(&a);
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_ValueError, "the arrays are not those of a pyramid");
        return NULL;
    }
    int64_t *start = array_data(&a, 0), *end = array_data(&a, 1), *busy = array_data(&a, 2);
    int64_t *count = array_data(&a, 3), *longest = array_data(&a, 4), *length = array_data(&a, 5);
    Py_BEGIN_ALLOW_THREADS
    for (Py_ssize_t level = 1; level < levels; level++) {
        int64_t below = offsets[level - 1], past = offsets[level];
        for (int64_t node = offsets[level]; node < offsets[level + 1]; node++) {
            int64_t first = below + (node - offsets[level]) * factor;
            int64_t last = first + factor < past ? first + factor : past;
            int64_t up = node - offsets[1], latest = end[first], sum = 0, slices = 0, best = -1, most = -1;
            for (int64_t child = first; child < last; child++) {
                int64_t under = child - offsets[1];
                int64_t here = level == 1 ? end[child] - start[child] : length[under];
                latest = end[child] > latest ? end[child] : latest;
                sum += level == 1 ? end[child] - start[child] : busy[under];
                slices += level == 1 ? 1 : count[under];
                if (here > most) {
                    most = here;
                    best = level == 1 ? child : longest[under];
                }
            }
            start[node] = start[first];
            end[node] = latest;
            busy[up] = sum;
            count[up] = slices;
            longest[up] = best;
            length[up] = most;
        }
    }
    Py_END_ALLOW_THREADS
    arrays_release(&a);
    Py_RETURN_NONE;
}

typedef struct {
    const int64_t *start, *end, *busy, *count, *longest, *length, *offsets;
    int64_t *out_start, *out_end, *out_busy, *out_count, *out_place;
    int64_t *out_first; /* place of the first slice of each row; NULL where nobody asks */
    Py_ssize_t made, room;
    int64_t t0, t1, pixel;
    int64_t known; /* length of the longest slice of the last row */
} View;

/* Add a node that begins with the slice `first`; what is narrower than a pixel joins its neighbour in the same pixel.
 * Returns 0 when room runs out. */
static int show(View *view, int64_t node, int level, int64_t first)
{
    int64_t up = node - view->offsets[1];
    int64_t start = view->start[node], end = view->end[node], place = level ? view->longest[up] : node;
    int64_t busy = level ? view->busy[up] : end - start, count = level ? view->count[up] : 1;
    int64_t longest = level ? view->length[up] : end - start;
    Py_ssize_t last = view->made - 1;
    if (last >= 0) {
        int64_t from = view->out_start[last], length = view->out_end[last] - from;
        /* Both within one pixel of the time line, which begins at the window's start. */
        int64_t pixel_end = view->t0 + ((from - view->t0) / view->pixel + 1) * view->pixel;
        if (length < view->pixel && end - start < view->pixel && start < pixel_end) {
            view->out_end[last] = end > view->out_end[last] ? end : view->out_end[last];
            view->out_busy[last] += busy;
            view->out_count[last] += count;
            if (longest > view->known) {
                view->out_place[last] = place;
                view->known = longest;
            }
            return 1;
        }
    }
    if (view->made == view->room)
        return 0;
    view->known = longest;
    view->out_start[view->made] = start;
    view->out_end[view->made] = end;
    view->out_busy[view->made] = busy;
    view->out_count[view->made] = count;
    if (view->out_first)
        view->out_first[view->made] = first;
    view->out_place[view->made++] = place;
    return 1;
}

/* Go down from the top wherever a node is wider than a pixel; left to right, so rows come by start. */
static int descend(View *view, int levels, int64_t factor)
{
    struct { int64_t next, past; } at[MAX_LEVELS];
    int64_t below[MAX_LEVELS] = {1}; /* slices below a node of each level */
    int level = levels - 1;
    for (int up = 1; up < levels; up++)
        below[up] = below[up - 1] * factor;
    at[level].next = view->offsets[level];
    at[level].past = view->offsets[level + 1];
    while (level < levels) {
        if (at[level].next >= at[level].past) {
            level++;
            continue;
        }
        int64_t node = at[level].next++, start = view->start[node], end = view->end[node];
        if (start >= view->t1) {
            at[level].next = at[level].past; /* starts ascend */
            continue;
        }
        if (end < view->t0)
            continue;
        if (level == 0) {
            if ((end > view->t0 || (start == end && start == view->t0)) && !show(view, node, 0, node))
                return 0;
        } else if (end - start >= view->pixel || end == view->t0) {
            int64_t first = view->offsets[level - 1] + (node - view->offsets[level]) * factor;
            at[level - 1].next = first;
            at[level - 1].past = first + factor < view->offsets[level] ? first + factor : view->offsets[level];
            level--;
        } else if (!show(view, node, level, (node - view->offsets[level]) * below[level])) {
            return 0;
        }
    }
    return 1;
}

/* Fill the view with what is in [t0, t1); where wide slices that overlap are too many, pixels are made wider. */
static void fill_view(View *view, int levels, int64_t factor, int64_t pixels)
{
    int64_t length = view->t1 - view->t0;
    view->pixel = length / pixels + (length % pixels != 0);
    while (view->made = 0, !descend(view, levels, factor))
        view->pixel = view->pixel > INT64_MAX / 2 ? INT64_MAX : 2 * view->pixel;
}

/* pyramid_view(start, end, busy, count, longest, length, offsets, out_start, out_end, out_busy, out_count, out_place,
 * factor, t0, t1) -> number of rows; `out_place` are places in level 0 */
static PyObject *pyramid_view(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    (void)module;
    Arrays a;
    int64_t factor, t0, t1;
    if (arrays_take(&a, args, nargs, "qqqqqqqQQQQQ", 2) < 0)
        return NULL;
    const int64_t *offsets = array_data(&a, 6);
    Py_ssize_t levels = array_length(&a, 6) - 1, total = array_length(&a, 0), room = array_length(&a, 7);
    Py_ssize_t upper = array_length(&a, 2);
    int fits = nargs == 15 && take_int64(args[12], &factor) == 0 && take_int64(args[13], &t0) == 0 &&
               take_int64(args[14], &t1) == 0 && factor >= 2 && levels >= 1 && levels <= MAX_LEVELS && offsets[0] == 0 &&
               offsets[levels] == total && upper == total - offsets[1] && array_length(&a, 3) == upper &&
               array_length(&a, 4) == upper && array_length(&a, 5) == upper && room >= 2 && t0 < t1 && t1 - t0 > 0;
    for (int i = 8; fits && i < 12; i++)
        fits = array_length(&a, i) == room;
    for (Py_ssize_t level = 1; fits && level < levels; level++) {
        int64_t below = offsets[level] - offsets[level - 1];
        fits = below >= 0 && offsets[level + 1] - offsets[level] == (below + factor - 1) / factor;
    }
    if (!fits) {
        arrays_release(&a);
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_ValueError, "the arrays are not those of a pyramid, or the window is empty");
        return NULL;
    }
    View view = {array_data(&a, 0), array_data(&a, 1), array_data(&a, 2), array_data(&a, 3), array_data(&a, 4), array_data(&a, 5),
                 offsets, array_data(&a, 7), array_data(&a, 8), array_data(&a, 9), array_data(&a, 10),
                 array_data(&a, 11), NULL, 0, room, t0, t1, 1, 0};
    Py_BEGIN_ALLOW_THREADS
    /* Slices that do not overlap give at most one wide and one joined row per pixel, and one at the left edge. */
    fill_view(&view, (int)levels, factor, room > 3 ? (room - 1) / 2 : 1);
    Py_END_ALLOW_THREADS
    arrays_release(&a);
    return PyLong_FromSsize_t(view.made);
}

/* Where each level of a pyramid over `slices` begins; returns the number of levels, 0 where they are too many. */
static int level_offsets(int64_t slices, int64_t factor, int64_t *offsets)
{
    int levels = 0;
    int64_t size = slices;
    offsets[0] = 0;
    while (levels < MAX_LEVELS) {
        offsets[levels + 1] = offsets[levels] + size;
        levels++;
        if (size <= 1)
            return levels;
        size = size / factor + (size % factor != 0);
    }
    return 0;
}

/* pyramid_views(start, end, busy, count, longest, length, base, upper, slices, out_start, out_end, out_busy, out_count,
 * out_place, out_first, out_rows, factor, t0, t1, most) -> rows in all. Many pyramids lie one after another: `base` is
 * where each begins in start and end, `upper` in the four others, `slices` the length of its level 0. At most
 * `most` rows are made of each; `out_rows` says how many. */
static PyObject *pyramid_views(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    (void)module;
    Arrays a;
    int64_t factor, t0, t1, most;
    if (arrays_take(&a, args, nargs, "qqqqqqqqqQQQQQQQ", 2) < 0)
        return NULL;
    const int64_t *base = array_data(&a, 6), *upper = array_data(&a, 7), *slices = array_data(&a, 8);
    Py_ssize_t total = array_length(&a, 0), uppers = array_length(&a, 2), asked = array_length(&a, 6);
    Py_ssize_t room = array_length(&a, 9), made = 0;
    int64_t *rows = array_data(&a, 15);
    int fits = nargs == 20 && take_int64(args[16], &factor) == 0 && take_int64(args[17], &t0) == 0 &&
               take_int64(args[18], &t1) == 0 && take_int64(args[19], &most) == 0 && factor >= 2 && most >= 2 &&
               t0 < t1 && t1 - t0 > 0 && array_length(&a, 3) == uppers && array_length(&a, 4) == uppers &&
               array_length(&a, 5) == uppers && array_length(&a, 7) == asked && array_length(&a, 8) == asked &&
               array_length(&a, 15) == asked;
    for (int i = 10; fits && i < 15; i++)
        fits = array_length(&a, i) == room;
    int64_t wanted = 0, offsets[MAX_LEVELS + 1];
    for (Py_ssize_t i = 0; fits && i < asked; i++) {
        int64_t n = slices[i];
        int levels = n >= 0 ? level_offsets(n, factor, offsets) : 0;
        fits = levels && base[i] >= 0 && offsets[levels] <= total - base[i] && upper[i] >= 0 &&
               offsets[levels] - n <= uppers - upper[i];
        wanted += n < most ? n : most;
    }
    if (!fits || wanted > room) {
        arrays_release(&a);
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_ValueError, "the arrays are not those of pyramids, or the window is empty");
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    for (Py_ssize_t i = 0; i < asked; i++) {
        int levels = level_offsets(slices[i], factor, offsets);
        View view = {(int64_t *)array_data(&a, 0) + base[i], (int64_t *)array_data(&a, 1) + base[i],
                     (int64_t *)array_data(&a, 2) + upper[i], (int64_t *)array_data(&a, 3) + upper[i],
                     (int64_t *)array_data(&a, 4) + upper[i], (int64_t *)array_data(&a, 5) + upper[i], offsets,
                     (int64_t *)array_data(&a, 9) + made, (int64_t *)array_data(&a, 10) + made,
                     (int64_t *)array_data(&a, 11) + made, (int64_t *)array_data(&a, 12) + made,
                     (int64_t *)array_data(&a, 13) + made, (int64_t *)array_data(&a, 14) + made,
                     0, slices[i] < most ? slices[i] : most, t0, t1, 1, 0};
        if (slices[i])
            fill_view(&view, levels, factor, most > 3 ? (most - 1) / 2 : 1);
        rows[i] = view.made;
        made += view.made;
    }
    Py_END_ALLOW_THREADS
    arrays_release(&a);
    return PyLong_FromSsize_t(made);
}

/* range_max(values, first, past, out, base, count, factor): the highest of values [first, past) of each range, those
 * that are no number aside; `values` holds from `base` on `count` values and above them the highest of `factor` each. */
static PyObject *range_max(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    (void)module;
    Arrays a;
    int64_t base, count, factor, offsets[MAX_LEVELS + 1];
    if (arrays_take(&a, args, nargs, "dqqD", 0) < 0)
        return NULL;
    Py_ssize_t ranges = array_length(&a, 1);
    const int64_t *first = array_data(&a, 1), *past = array_data(&a, 2);
    double *out = array_data(&a, 3);
    int levels = 0;
    int fits = nargs == 7 && take_int64(args[4], &base) == 0 && take_int64(args[5], &count) == 0 &&
               take_int64(args[6], &factor) == 0 && factor >= 2 && base >= 0 && count >= 0 &&
               array_length(&a, 2) == ranges && array_length(&a, 3) == ranges &&
               (levels = level_offsets(count, factor, offsets)) && offsets[levels] <= array_length(&a, 0) - base;
    for (Py_ssize_t i = 0; fits && i < ranges; i++)
        fits = 0 <= first[i] && first[i] <= past[i] && past[i] <= count;
    if (!fits) {
        arrays_release(&a);
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_ValueError, "the ranges are not those of the values");
        return NULL;
    }
    const double *values = (const double *)array_data(&a, 0) + base;
    Py_BEGIN_ALLOW_THREADS
    for (Py_ssize_t i = 0; i < ranges; i++) {
        int64_t from = first[i], to = past[i];
        double best = 0.0 / 0.0;
        for (int level = 0; from < to; level++) {
            const double *here = values + offsets[level];
            int top = level == levels - 1;
            for (; from < to && (top || from % factor); from++)
                best = here[from] > best || best != best ? here[from] : best;
            for (; from < to && to % factor && !top; to--)
                best = here[to - 1] > best || best != best ? here[to - 1] : best;
            from /= factor;
            to /= factor;
        }
        out[i] = best;
    }
    Py_END_ALLOW_THREADS
    arrays_release(&a);
    Py_RETURN_NONE;
}

PyMethodDef pyramid_methods[] = {FAST(pyramid_fill), FAST(pyramid_view), FAST(pyramid_views), FAST(range_max),
                                 {NULL, NULL, 0, NULL}};
