/* Opening and closing a span in one call from Python, as the program makes it thousands of times a step.
 *
 * A call with one known name, on a thread that has recorded before, into a ring with room, is done here. Every
 * other call (more arguments, a new name or thread, no such span, no room, a closed ring) goes to a Python
 * function as it came. So nothing here raises. */
#include "ring.h"

typedef struct {
    PyObject_HEAD
    Ring *ring;
    PyObject *start, *stop; /* take the calls that are not done here */
    PyObject *wake;         /* called when the ring is half full */
    uint32_t kind;
} Calls;

static PyTypeObject *calls_type;

/* Pass a call on as it came. */
static PyObject *pass_on(PyObject *function, PyObject *const *args, Py_ssize_t nargs, PyObject *names)
{
    Py_ssize_t named = names ? PyTuple_Size(names) : 0;
    PyObject *tuple = PyTuple_New(nargs), *keywords = named ? PyDict_New() : NULL, *result = NULL;
    int failed = !tuple || (named && !keywords);
    for (Py_ssize_t i = 0; !failed && i < nargs; i++)
        failed = PyTuple_SetItem(tuple, i, Py_NewRef(args[i])) < 0;
    for (Py_ssize_t i = 0; !failed && i < named; i++)
        failed = PyDict_SetItem(keywords, PyTuple_GetItem(names, i), args[nargs + i]) < 0;
    if (!failed)
        result = PyObject_Call(function, tuple, keywords);
    Py_XDECREF(tuple);
    Py_XDECREF(keywords);
    return result;
}

/* The ring, the thread's part and the number of the name, where the call can be done here. */
static Side *at_hand(Calls *calls, PyObject *const *args, Py_ssize_t nargs, PyObject *names, int32_t *key)
{
    Ring *ring = calls->ring;
    if (nargs != 1 || names || !ring || !usable(ring) || !PyUnicode_CheckExact(args[0]))
        return NULL;
    Side *side = known_side(ring);
    return side && known_number(ring, args[0], key) ? side : NULL;
}

static PyObject *calls_start(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *names)
{
    Calls *calls = (Calls *)self;
    OpenSpan span = {.value = -1, .ref = -1, .kind = calls->kind};
    Side *side = at_hand(calls, args, nargs, names, &span.key);
    if (!side)
        return pass_on(calls->start, args, nargs, names);
    span.name_id = span.key;
    span.start_ns = clock_ns(CLOCK_MONOTONIC) + calls->ring->offset_ns;
    if (push_span(side, &span) < 0)
        return pass_on(calls->start, args, nargs, names);
    Py_RETURN_NONE;
}

static PyObject *calls_stop(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *names)
{
    Calls *calls = (Calls *)self;
    int64_t end_ns = clock_ns(CLOCK_MONOTONIC);
    int32_t key;
    OpenSpan span;
    Side *side = at_hand(calls, args, nargs, names, &key);
    if (!side || is_full(calls->ring) || !pop_span(side, key, &span))
        return pass_on(calls->stop, args, nargs, names);
    if (append_span(calls->ring, side, &span, end_ns + calls->ring->offset_ns) == HALF_FULL) {
        PyObject *done = PyObject_CallNoArgs(calls->wake);
        if (!done)
            PyErr_WriteUnraisable(calls->wake);
        Py_XDECREF(done);
    }
    Py_RETURN_NONE;
}

static int calls_traverse(PyObject *self, visitproc visit, void *arg)
{
    Calls *calls = (Calls *)self;
    Py_VISIT((PyObject *)calls->ring);
    Py_VISIT(calls->start);
    Py_VISIT(calls->stop);
    Py_VISIT(calls->wake);
    Py_VISIT(Py_TYPE(self));
    return 0;
}

static int calls_clear(PyObject *self)
{
    Calls *calls = (Calls *)self;
    PyObject *ring = (PyObject *)calls->ring;
    calls->ring = NULL;
    Py_XDECREF(ring);
    Py_CLEAR(calls->start);
    Py_CLEAR(calls->stop);
    Py_CLEAR(calls->wake);
    return 0;
}

static void calls_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    calls_clear(self);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(self);
    Py_DECREF(type);
}

PyObject *ring_calls(PyObject *ring, PyObject *const *args, Py_ssize_t nargs)
{
    int64_t kind;
    if (nargs != 4 || !((Ring *)ring)->names) {
        PyErr_SetString(PyExc_TypeError, "calls takes kind, start, stop and wake, of a ring with names");
        return NULL;
    }
    if (take_int64(args[0], &kind) < 0)
        return NULL;
    allocfunc allocate = (allocfunc)PyType_GetSlot(calls_type, Py_tp_alloc);
    Calls *calls = (Calls *)allocate(calls_type, 0);
    if (!calls)
        return NULL;
    calls->ring = (Ring *)Py_NewRef(ring);
    calls->kind = (uint32_t)kind;
    calls->start = Py_NewRef(args[1]);
    calls->stop = Py_NewRef(args[2]);
    calls->wake = Py_NewRef(args[3]);
    return (PyObject *)calls;
}

#define METHOD(name, function, doc) {name, (PyCFunction)(void (*)(void))function, METH_FASTCALL | METH_KEYWORDS, doc}

static PyMethodDef methods[] = {
    METHOD("start_op", calls_start,
           "start_op(name, kind=None, *, size_bytes=None, group=None, op=None, ranks=None, dtype=None, "
           "sequence=None)\n--\n\nOpen a span on this thread; spans nest, and threads have their own."),
    METHOD("stop_op", calls_stop,
           "stop_op(name)\n--\n\nClose the innermost open span of that name on this thread."),
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_dealloc, (void *)calls_dealloc}, {Py_tp_traverse, (void *)calls_traverse},
    {Py_tp_clear, (void *)calls_clear},     {Py_tp_methods, methods},
    {0, NULL},
};

static PyType_Spec spec = {
    .name = "ascend_sn._native._core.SpanCalls",
    .basicsize = sizeof(Calls),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = slots,
};

int add_calls_type(PyObject *module)
{
    PyObject *type = PyType_FromModuleAndSpec(module, &spec, NULL);
    if (!type)
        return -1;
    calls_type = (PyTypeObject *)type; /* kept for as long as the process lives */
    return PyModule_AddObjectRef(module, "SpanCalls", type);
}
