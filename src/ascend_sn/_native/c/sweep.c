/* How long each combination of classes of intervals is active. */
#include "arrays.h"

#include <string.h>

#include "memory.h"
#include "sort.h"
#include "sweep_ascending.h"

#define MAX_KINDS 6
#define SWEEP_BATCH 1024

/* The moments at which each class starts and stops: pairs, ascending, each list closed by INT64_MAX twice. */
typedef struct {
    int64_t *block;
    int64_t *moments[MAX_KINDS];
    int64_t *latest[MAX_KINDS];    /* the last pair of the list, or the one before the first */
    size_t walked[MAX_KINDS];      /* items that `walk` has passed */
    int64_t last_start[MAX_KINDS]; /* of the input */
} Switches;

static int switches_open(Switches *switches, const uint8_t *kind, size_t n, size_t batch)
{
    size_t room[MAX_KINDS] = {0}, all = 0;
    if (batch < n) {
        for (unsigned k = 0; k < MAX_KINDS; k++)
            room[k] = batch;
    } else {
        for (size_t i = 0; i < n; i++)
            room[kind[i]]++;
    }
    for (unsigned k = 0; k < MAX_KINDS; k++)
        all += room[k] = 2 * room[k] + 8; /* a pair before the first, two pairs kept, two closing items */
    switches->block = scratch(all, sizeof *switches->block);
    if (!switches->block)
        return -1;
    int64_t *next = switches->block;
    for (unsigned k = 0; k < MAX_KINDS; k++) {
        next[0] = next[1] = INT64_MIN;
        next[2] = next[3] = INT64_MAX;
        switches->latest[k] = next;
        switches->moments[k] = next + 2;
        switches->walked[k] = 0;
        switches->last_start[k] = INT64_MIN;
        next += room[k];
    }
    return 0;
}

/* Add intervals `first` to `past`, cut to the window. Returns 1 when those of a class do not ascend. */
static inline int switches_add(Switches *switches, const int64_t *start, const int64_t *end, const uint8_t *kind,
                               size_t first, size_t past, int64_t lo, int64_t hi, const int ascends)
{
    lo = lo > INT64_MIN ? lo : INT64_MIN + 1; /* INT64_MIN stands for "nothing yet" */
    for (size_t i = first; i < past; i++) {
        unsigned k = kind[i];
        int64_t s = start[i], e = end[i] < hi ? end[i] : hi;
        if (!ascends) {
            if (s < switches->last_start[k])
                return 1;
            switches->last_start[k] = s;
        }
        s = s > lo ? s : lo;
        if (e <= s)
            continue;
        /* The start goes to the next pair, which is entered only if this interval does not touch the latest. */
        int64_t *pair = switches->latest[k], covered = pair[1];
        pair[2] = s;
        pair += 2 * (s > covered);
        pair[1] = e > covered ? e : covered;
        switches->latest[k] = pair;
    }
    for (unsigned k = 0; k < MAX_KINDS; k++)
        switches->latest[k][2] = switches->latest[k][3] = INT64_MAX;
    return 0;
}

/* Forget the pairs that are walked. The end of the last one stays known before the list: what touches it there
 * was walked already, so nothing can be added to it any more. */
static void switches_forget(Switches *switches)
{
    for (unsigned k = 0; k < MAX_KINDS; k++) {
        int64_t *list = switches->moments[k], *from = list + (switches->walked[k] & ~(size_t)1);
        size_t kept = (size_t)(switches->latest[k] + 2 - from);
        memmove(list - 2, from - 2, (kept + 2) * sizeof(int64_t));
        switches->latest[k] = list - 2 + kept;
        switches->walked[k] &= 1;
    }
}

typedef struct {
    int64_t *sums;        /* per mask, or NULL */
    int64_t *start, *end; /* segments, or NULL */
    uint8_t *mask_of;
    Py_ssize_t made;
    int64_t now;
    unsigned mask;
} Swept;

static inline void emit(Swept *out, int64_t until)
{
    if (out->sums) {
        out->sums[out->mask] += until - out->now;
    } else if (until > out->now) {
        out->start[out->made] = out->now;
        out->end[out->made] = until;
        out->mask_of[out->made++] = (uint8_t)out->mask;
    }
    out->now = until;
}

/* Keeps the compiler from guessing with a jump where no guess can be good. */
#if defined(__GNUC__) && !defined(__clang__)
#define UNSURE(condition) __builtin_expect_with_probability(condition, 1, 0.5)
#else
#define UNSURE(condition) (condition)
#endif

/* Go from switch to switch up to `limit`, without branches that depend on the data. */
static inline void walk(Switches *switches, int64_t limit, Swept *out, const unsigned kinds)
{
    const int64_t *at[MAX_KINDS];
    Swept state = *out;
    int64_t head[MAX_KINDS], ahead[MAX_KINDS]; /* read one item early: the load is off the critical path */
    for (unsigned k = 0; k < kinds; k++) {
        at[k] = switches->moments[k] + switches->walked[k];
        head[k] = at[k][0];
        ahead[k] = at[k][1];
    }
    for (;;) {
        int64_t next = head[0];
        for (unsigned k = 1; k < kinds; k++)
            next = head[k] < next ? head[k] : next;
        if (next >= limit)
            break;
        emit(&state, next);
        for (unsigned k = 0; k < kinds; k++) {
            unsigned hit = head[k] == next;
            state.mask ^= hit << k;
            at[k] += hit;
            head[k] = UNSURE(hit) ? ahead[k] : head[k];
            ahead[k] = at[k][1];
        }
    }
    for (unsigned k = 0; k < kinds; k++)
        switches->walked[k] = (size_t)(at[k] - switches->moments[k]);
    *out = state;
}

/* One loop per number of classes, so that the short inner loops unroll. */
static void walk_kinds(Switches *switches, int64_t limit, Swept *out, int64_t kinds)
{
    switch (kinds) {
    case 1: walk(switches, limit, out, 1); break;
    case 2: walk(switches, limit, out, 2); break;
    case 3: walk(switches, limit, out, 3); break;
    case 4: walk(switches, limit, out, 4); break;
    default: walk(switches, limit, out, MAX_KINDS); break;
    }
}

/* Returns 0; 1 when the intervals of a class do not ascend; -1 when memory runs out. Input that ascends as a
 * whole is worked through in batches that stay in the cache; else all classes are gathered first. */
static int sweep_window(const Arrays *a, int64_t lo, int64_t hi, Swept *out, int64_t kinds)
{
    const int64_t *start = array_data(a, 0), *end = array_data(a, 1);
    const uint8_t *kind = array_data(a, 2);
    size_t n = (size_t)array_length(a, 0);
    size_t batch = n > SWEEP_BATCH && sorted_int64(start, n) ? SWEEP_BATCH : n;
    Switches switches;
    if (switches_open(&switches, kind, n, batch) < 0)
        return -1;
    int state = 0;
    out->now = lo;
    for (size_t first = 0; first < n && !state; first += batch) {
        size_t past = n - first < batch ? n : first + batch;
        state = batch < n ? switches_add(&switches, start, end, kind, first, past, lo, hi, 1)
                          : switches_add(&switches, start, end, kind, first, past, lo, hi, 0);
        if (state || past == n)
            break;
        walk_kinds(&switches, start[past - 1] < hi ? start[past - 1] : hi, out, kinds);
        switches_forget(&switches);
    }
    if (!state) {
        walk_kinds(&switches, hi, out, kinds);
        emit(out, hi);
    }
    free(switches.block);
    return state;
}

static int kinds_below(const uint8_t *kind, Py_ssize_t n, int64_t limit)
{
    uint8_t most = 0;
    for (Py_ssize_t i = 0; i < n; i++)
        most = kind[i] > most ? kind[i] : most;
    return n == 0 || most < limit;
}

/* sweep_sums(start, end, kind, sums, kind_count, lo, hi) -> whether each class ascends; else nothing is done */
static PyObject *sweep_sums(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    (void)module;
    Arrays a;
    int64_t kind_count, lo, hi;
    int state = 0;
    if (arrays_take(&a, args, nargs, "qqbQ", 3) < 0)
        return NULL;
    if (nargs != 7 || take_int64(args[4], &kind_count) < 0 || take_int64(args[5], &lo) < 0 ||
        take_int64(args[6], &hi) < 0) {
        arrays_release(&a);
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_TypeError, "sweep_sums takes 7 arguments");
        return NULL;
    }
    if (kind_count < 1 || kind_count > MAX_KINDS || array_length(&a, 3) != (Py_ssize_t)1 << kind_count ||
        !kinds_below(array_data(&a, 2), array_length(&a, 0), kind_count)) {
        arrays_release(&a);
        PyErr_SetString(PyExc_ValueError, "kind must be below kind_count, and kind_count from 1 to 6");
        return NULL;
    }
    Swept out = {.sums = array_data(&a, 3)};
    Py_BEGIN_ALLOW_THREADS
    if (lo < hi && !sweep_ascending(array_data(&a, 0), array_data(&a, 1), array_data(&a, 2), (size_t)array_length(&a, 0),
                                    (unsigned)kind_count, lo, hi, out.sums))
        state = sweep_window(&a, lo, hi, &out, kind_count);
    Py_END_ALLOW_THREADS
    arrays_release(&a);
    return state < 0 ? PyErr_NoMemory() : PyBool_FromLong(state == 0);
}

/* sweep_parts(start, end, kind, out_start, out_end, out_mask, kind_count, lo, hi) -> count; room for 2n + 1.
 * -1 when a class does not ascend. */
static PyObject *sweep_parts(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    (void)module;
    Arrays a;
    int64_t kind_count, lo, hi;
    int state = 0;
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
    Swept out = {.start = array_data(&a, 3), .end = array_data(&a, 4), .mask_of = array_data(&a, 5)};
    Py_BEGIN_ALLOW_THREADS
    if (lo < hi)
        state = sweep_window(&a, lo, hi, &out, kind_count);
    Py_END_ALLOW_THREADS
    arrays_release(&a);
    return state < 0 ? PyErr_NoMemory() : PyLong_FromSsize_t(state ? -1 : out.made);
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

PyMethodDef sweep_methods[] = {FAST(sweep_sums), FAST(sweep_parts), FAST(windows_sums), {NULL, NULL, 0, NULL}};
