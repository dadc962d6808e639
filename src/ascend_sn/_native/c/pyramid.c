/* Level-of-detail pyramids: groups of slices, groups of groups, up to one; a viewport reads only what it shows. */
#include "arrays.h"

#include <string.h>

#define MAX_LEVELS 40

/* pyramid_fill(start, end, busy, count, longest, offsets, factor): the slices of level 0 are in start and end;
 * everything else is written. `busy`, `count` and `longest` begin at level 1. */
static PyObject *pyramid_fill(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    (void)module;
    Arrays a;
    int64_t factor;
    if (arrays_take(&a, args, nargs, "QQQQQq", 2) < 0)
        return NULL;
    const int64_t *offsets = array_data(&a, 5);
    Py_ssize_t levels = array_length(&a, 5) - 1, total = array_length(&a, 0), upper = array_length(&a, 2);
    int fits = nargs == 7 && take_int64(args[6], &factor) == 0 && factor >= 2 && levels >= 1 && levels <= MAX_LEVELS &&
               offsets[0] == 0 && offsets[levels] == total && upper == total - offsets[1] &&
               array_length(&a, 3) == upper && array_length(&a, 4) == upper;
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
    int64_t *count = array_data(&a, 3), *longest = array_data(&a, 4);
    Py_BEGIN_ALLOW_THREADS
    for (Py_ssize_t level = 1; level < levels; level++) {
        int64_t below = offsets[level - 1], past = offsets[level];
        for (int64_t node = offsets[level]; node < offsets[level + 1]; node++) {
            int64_t first = below + (node - offsets[level]) * factor;
            int64_t last = first + factor < past ? first + factor : past;
            int64_t up = node - offsets[1], latest = end[first], sum = 0, slices = 0, best = -1, length = -1;
            for (int64_t child = first; child < last; child++) {
                int64_t under = child - offsets[1];
                int64_t place = level == 1 ? child : longest[under];
                latest = end[child] > latest ? end[child] : latest;
                sum += level == 1 ? end[child] - start[child] : busy[under];
                slices += level == 1 ? 1 : count[under];
                if (end[place] - start[place] > length) {
                    length = end[place] - start[place];
                    best = place;
                }
            }
            start[node] = start[first];
            end[node] = latest;
            busy[up] = sum;
            count[up] = slices;
            longest[up] = best;
        }
    }
    Py_END_ALLOW_THREADS
    arrays_release(&a);
    Py_RETURN_NONE;
}

typedef struct {
    const int64_t *start, *end, *busy, *count, *longest, *offsets;
    int64_t *out_start, *out_end, *out_busy, *out_count, *out_place;
    Py_ssize_t made, room;
    int64_t t0, t1, pixel;
} View;

/* Add a node; what is narrower than a pixel joins its neighbour in the same pixel. Returns 0 when room runs out. */
static int show(View *view, int64_t node, int level)
{
    int64_t up = node - view->offsets[1];
    int64_t start = view->start[node], end = view->end[node], place = level ? view->longest[up] : node;
    int64_t busy = level ? view->busy[up] : end - start, count = level ? view->count[up] : 1;
    Py_ssize_t last = view->made - 1;
    if (last >= 0) {
        int64_t from = view->out_start[last], length = view->out_end[last] - from;
        /* Both within one pixel of the time line, which begins at the window's start. */
        int64_t pixel_end = view->t0 + ((from - view->t0) / view->pixel + 1) * view->pixel;
        if (length < view->pixel && end - start < view->pixel && start < pixel_end) {
            int64_t known = view->out_place[last];
            view->out_end[last] = end > view->out_end[last] ? end : view->out_end[last];
            view->out_busy[last] += busy;
            view->out_count[last] += count;
            if (view->end[place] - view->start[place] > view->end[known] - view->start[known])
                view->out_place[last] = place;
            return 1;
        }
    }
    if (view->made == view->room)
        return 0;
    view->out_start[view->made] = start;
    view->out_end[view->made] = end;
    view->out_busy[view->made] = busy;
    view->out_count[view->made] = count;
    view->out_place[view->made++] = place;
    return 1;
}

/* Go down from the top wherever a node is wider than a pixel; left to right, so rows come by start. */
static int descend(View *view, int levels, int64_t factor)
{
    struct { int64_t next, past; } at[MAX_LEVELS];
    int level = levels - 1;
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
            if ((end > view->t0 || (start == end && start == view->t0)) && !show(view, node, 0))
                return 0;
        } else if (end - start >= view->pixel || end == view->t0) {
            int64_t first = view->offsets[level - 1] + (node - view->offsets[level]) * factor;
            at[level - 1].next = first;
            at[level - 1].past = first + factor < view->offsets[level] ? first + factor : view->offsets[level];
            level--;
        } else if (!show(view, node, level)) {
            return 0;
        }
    }
    return 1;
}

/* pyramid_view(start, end, busy, count, longest, offsets, out_start, out_end, out_busy, out_count, out_place,
 * factor, t0, t1) -> number of rows; `out_place` are places in level 0 */
static PyObject *pyramid_view(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    (void)module;
    Arrays a;
    int64_t factor, t0, t1;
    if (arrays_take(&a, args, nargs, "qqqqqqQQQQQ", 2) < 0)
        return NULL;
    const int64_t *offsets = array_data(&a, 5);
    Py_ssize_t levels = array_length(&a, 5) - 1, total = array_length(&a, 0), room = array_length(&a, 6);
    Py_ssize_t upper = array_length(&a, 2);
    int fits = nargs == 14 && take_int64(args[11], &factor) == 0 && take_int64(args[12], &t0) == 0 &&
               take_int64(args[13], &t1) == 0 && factor >= 2 && levels >= 1 && levels <= MAX_LEVELS && offsets[0] == 0 &&
               offsets[levels] == total && upper == total - offsets[1] && array_length(&a, 3) == upper &&
               array_length(&a, 4) == upper && room >= 2 && t0 < t1 && t1 - t0 > 0;
    for (int i = 7; fits && i < 11; i++)
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
    View view = {array_data(&a, 0), array_data(&a, 1), array_data(&a, 2), array_data(&a, 3), array_data(&a, 4), offsets,
                 array_data(&a, 6), array_data(&a, 7), array_data(&a, 8), array_data(&a, 9), array_data(&a, 10),
                 0, room, t0, t1, 1};
    Py_BEGIN_ALLOW_THREADS
    /* Slices that do not overlap give at most one wide and one joined row per pixel, and one at the left edge. */
    int64_t pixels = room > 3 ? (room - 1) / 2 : 1;
    view.pixel = (t1 - t0) / pixels + ((t1 - t0) % pixels != 0);
    while (view.made = 0, !descend(&view, (int)levels, factor))
        view.pixel = view.pixel > INT64_MAX / 2 ? INT64_MAX : 2 * view.pixel;
    Py_END_ALLOW_THREADS
    arrays_release(&a);
    return PyLong_FromSsize_t(view.made);
}

PyMethodDef pyramid_methods[] = {FAST(pyramid_fill), FAST(pyramid_view), {NULL, NULL, 0, NULL}};
