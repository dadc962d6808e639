/* Totals over spans as they end: calls, time and longest of each name, and every thread's time divided among
 * classes without counting a moment twice.
 *
 * An inner span of a class of its own is taken out of the outer one; a span of the plain class inside one of
 * another class belongs to that. Inner spans come before the outer ones, as they end first; what no outer span
 * has taken in yet waits per thread. */
#include "arrays.h"

#include <stdlib.h>
#include <string.h>

#define KINDS 16
#define CLASSES 16
#define NO_CLASS 0
#define PLAIN_CLASS 1
#define BY_NAME 255
#define WAITING 512  /* spans per thread that no outer span has taken in; then the older half becomes one */
#define THREADS 1024 /* threads that are told apart at a time */

typedef struct {
    int64_t start, classed, plain; /* start; time given to classes below it; how much of that to the plain one */
} Waiting;

typedef struct {
    int32_t number;
    int count, room;
    Waiting *spans;
} Thread;

typedef struct {
    int64_t count, total, longest;
} Name;

typedef struct {
    PyObject_HEAD
    uint8_t first, flag, class_of_kind[KINDS];
    int busy;
    int64_t class_ns[CLASSES];
    Name *names; /* by number + 1: the first one is for spans without a name */
    size_t name_count;
    Thread *threads;
    size_t thread_count, next_thread, last_thread;
} Totals;

static PyTypeObject *totals_type;

static Thread *thread_of(Totals *totals, int32_t number)
{
    if (totals->last_thread < totals->thread_count && totals->threads[totals->last_thread].number == number)
        return &totals->threads[totals->last_thread];
    size_t place = 0;
    while (place < totals->thread_count && totals->threads[place].number != number)
        place++;
    if (place == totals->thread_count) {
        if (totals->thread_count < THREADS) {
            if (!totals->threads && !(totals->threads = calloc(THREADS, sizeof *totals->threads)))
                return NULL;
            totals->thread_count++;
        } else { /* the one that came first has long ended */
            place = totals->next_thread++ % THREADS;
        }
        totals->threads[place].number = number;
        totals->threads[place].count = 0;
    }
    totals->last_thread = place;
    return &totals->threads[place];
}

static Name *name_of(Totals *totals, int32_t number)
{
    size_t place = number < 0 ? 0 : (size_t)number + 1;
    if (place >= totals->name_count) {
        size_t count = place + place / 2 + 64;
        Name *names = realloc(totals->names, count * sizeof *names);
        if (!names)
            return NULL;
        memset(names + totals->name_count, 0, (count - totals->name_count) * sizeof *names);
        totals->names = names;
        totals->name_count = count;
    }
    return &totals->names[place];
}

/* Let a span wait for the one that encloses it. */
static int wait_for_outer(Thread *thread, const Waiting *span)
{
    if (thread->count == WAITING) { /* only a span that encloses all of the older half can still take it in */
        Waiting *spans = thread->spans;
        for (int i = 1; i < WAITING / 2; i++) {
            spans[0].classed += spans[i].classed;
            spans[0].plain += spans[i].plain;
        }
        memmove(spans + 1, spans + WAITING / 2, (WAITING - WAITING / 2) * sizeof *spans);
        thread->count = 1 + WAITING - WAITING / 2;
    }
    if (thread->count == thread->room) {
        int room = thread->room ? 2 * thread->room : 16;
        Waiting *spans = realloc(thread->spans, (size_t)room * sizeof *spans);
        if (!spans)
            return -1;
        thread->spans = spans;
        thread->room = room;
    }
    thread->spans[thread->count++] = *span;
    return 0;
}

static int64_t or_none(int64_t ns)
{
    return ns > 0 ? ns : 0;
}

static int add_span(Totals *totals, uint8_t class_, int32_t thread_number, int64_t start, int64_t dur)
{
    Thread *thread = thread_of(totals, thread_number);
    Waiting span = {.start = start};
    int64_t inner = 0, inner_plain = 0;
    if (!thread)
        return -1;
    while (thread->count && thread->spans[thread->count - 1].start >= start) {
        inner += thread->spans[--thread->count].classed;
        inner_plain += thread->spans[thread->count].plain;
    }
    if (class_ == NO_CLASS) {
        span.classed = inner;
        span.plain = inner_plain;
    } else if (class_ == PLAIN_CLASS) {
        int64_t own = or_none(dur - inner);
        totals->class_ns[class_] += own;
        span.classed = inner + own;
        span.plain = inner_plain + own;
    } else {
        int64_t own = or_none(dur - inner + inner_plain);
        totals->class_ns[PLAIN_CLASS] -= inner_plain;
        totals->class_ns[class_] += own;
        span.classed = inner - inner_plain + own;
    }
    return span.classed ? wait_for_outer(thread, &span) : 0;
}

/* add(kind, thread, name_id, ts_ns, dur_ns, class_of_name) -> places of the rows that are no spans, int32 as bytes */
static PyObject *totals_add(PyObject *self, PyObject *const *args, Py_ssize_t nargs)
{
    Totals *totals = (Totals *)self;
    Arrays a;
    if (arrays_take(&a, args, nargs, "biiqqb", 5) < 0)
        return NULL;
    const uint8_t *kinds = array_data(&a, 0), *class_of_name = array_data(&a, 5);
    const int32_t *threads = array_data(&a, 1), *name_ids = array_data(&a, 2);
    const int64_t *starts = array_data(&a, 3), *durs = array_data(&a, 4);
    Py_ssize_t count = array_length(&a, 0), known = array_length(&a, 5), other_count = 0;
    int32_t *others = malloc((size_t)count * sizeof *others + 1);
    PyObject *places = NULL;
    int failed = !others || totals->busy;
    if (totals->busy)
        PyErr_SetString(PyExc_RuntimeError, "another thread is adding");
    else if (!others)
        PyErr_NoMemory();
    if (!failed) {
        totals->busy = 1;
        Py_BEGIN_ALLOW_THREADS
        for (Py_ssize_t i = 0; i < count && !failed; i++) {
            int kind = (kinds[i] & ~totals->flag) - totals->first;
            if (kind < 0 || kind >= KINDS) {
                others[other_count++] = (int32_t)i;
                continue;
            }
            int32_t name_id = name_ids[i];
            uint8_t class_ = totals->class_of_kind[kind];
            if (class_ == BY_NAME)
                class_ = name_id >= 0 && name_id < known ? class_of_name[name_id] : NO_CLASS;
            Name *name = name_of(totals, name_id);
            failed = !name || add_span(totals, class_ % CLASSES, threads[i], starts[i], durs[i]) < 0;
            if (!failed) {
                name->count++;
                name->total += durs[i];
                name->longest = durs[i] > name->longest ? durs[i] : name->longest;
            }
        }
        Py_END_ALLOW_THREADS
        totals->busy = 0;
        if (failed)
            PyErr_NoMemory();
        else
            places = PyBytes_FromStringAndSize((const char *)others, other_count * (Py_ssize_t)sizeof *others);
    }
    free(others);
    arrays_release(&a);
    return places;
}

/* names() -> [(number, count, total, longest)] of the names that were met; number -1: spans without one */
static PyObject *totals_names(PyObject *self, PyObject *none)
{
    (void)none;
    Totals *totals = (Totals *)self;
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && i < totals->name_count; i++) {
        const Name *name = &totals->names[i];
        if (!name->count)
            continue;
        PyObject *row = Py_BuildValue("(LLLL)", (long long)i - 1, (long long)name->count, (long long)name->total,
                                      (long long)name->longest);
        if (!row || PyList_Append(list, row) < 0)
            Py_CLEAR(list);
        Py_XDECREF(row);
    }
    return list;
}

/* classes() -> the time of each class, ns; the first is of no class and always 0 */
static PyObject *totals_classes(PyObject *self, PyObject *none)
{
    (void)none;
    Totals *totals = (Totals *)self;
    PyObject *tuple = PyTuple_New(CLASSES);
    for (int i = 0; tuple && i < CLASSES; i++) {
        PyObject *ns = PyLong_FromLongLong(totals->class_ns[i]);
        if (!ns || PyTuple_SetItem(tuple, i, ns) < 0)
            Py_CLEAR(tuple);
    }
    return tuple;
}

/* span_totals(first, flag, class_of_kind): kinds from `first` on are spans, `flag` is taken off before; 16 classes
 * by kind, 255 where the name decides */
static PyObject *span_totals(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    (void)module;
    Arrays a;
    int64_t first, flag;
    if (arrays_take(&a, args, nargs, "b", 1) < 0)
        return NULL;
    int fits = nargs == 3 && take_int64(args[1], &first) == 0 && take_int64(args[2], &flag) == 0 &&
               array_length(&a, 0) == KINDS;
    allocfunc allocate = (allocfunc)PyType_GetSlot(totals_type, Py_tp_alloc);
    Totals *totals = fits ? (Totals *)allocate(totals_type, 0) : NULL;
    if (totals) {
        totals->first = (uint8_t)first;
        totals->flag = (uint8_t)flag;
        memcpy(totals->class_of_kind, array_data(&a, 0), KINDS);
    } else if (!PyErr_Occurred()) {
        PyErr_SetString(PyExc_ValueError, "span_totals takes the classes of 16 kinds, the first kind and a flag");
    }
    arrays_release(&a);
    return (PyObject *)totals;
}

static void totals_dealloc(PyObject *self)
{
    Totals *totals = (Totals *)self;
    PyTypeObject *type = Py_TYPE(self);
    for (size_t i = 0; i < totals->thread_count; i++)
        free(totals->threads[i].spans);
    free(totals->threads);
    free(totals->names);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(self);
    Py_DECREF(type);
}

static PyMethodDef methods[] = {
    {"add", (PyCFunction)(void (*)(void))totals_add, METH_FASTCALL, NULL},
    {"names", totals_names, METH_NOARGS, NULL},
    {"classes", totals_classes, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_dealloc, (void *)totals_dealloc},
    {Py_tp_methods, methods},
    {0, NULL},
};

static PyType_Spec spec = {
    .name = "ascend_sn._native._core.SpanTotals",
    .basicsize = sizeof(Totals),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = slots,
};

int add_totals_type(PyObject *module)
{
    PyObject *type = PyType_FromModuleAndSpec(module, &spec, NULL);
    if (!type)
        return -1;
    totals_type = (PyTypeObject *)type; /* kept for as long as the process lives */
    return PyModule_AddObjectRef(module, "SpanTotals", type);
}

PyMethodDef totals_methods[] = {FAST(span_totals), {NULL, NULL, 0, NULL}};
