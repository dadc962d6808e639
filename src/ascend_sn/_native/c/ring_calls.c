/* Opening and closing a span in one call from Python, as the program makes it thousands of times a step.
 *
 * SpanCalls is the base of a Python class, so that its methods are found as quickly as any. A call with one known
 * name, on a thread that has recorded before, into a ring with room, is done here. Every other call (more arguments,
 * a new name or thread, no such span, no room, a closed ring or none) goes to `_start_op` or `_stop_op` of the class
 * as it came. So nothing here raises. */
#include "ring.h"

typedef struct {
    PyObject_HEAD
    Ring *ring; /* NULL while nothing is recorded */
    PyObject *wake; /* called when the ring is half full */
    uint32_t kind;
} Calls;

static PyTypeObject *ring_class, *calls_class; /* kept for as long as the process lives */

enum { START_OP, STOP_OP };

/* Where calls are passed on to. The interpreter remembers attributes by the address of their name, and keeps the name:
 * a text made anew for every call would fill its 4096 places one by one. */
static PyObject *passed_to[2];

/* Pass a call on as it came. */
RARE static PyObject *pass_on(PyObject *self, int method, PyObject *const *args, Py_ssize_t nargs, PyObject *names)
{
    Py_ssize_t named = names ? PyTuple_Size(names) : 0;
    PyObject *function = PyObject_GetAttr(self, passed_to[method]), *result = NULL;
    PyObject *tuple = PyTuple_New(nargs), *keywords = named ? PyDict_New() : NULL;
    int failed = !function || !tuple || (named && !keywords);
    for (Py_ssize_t i = 0; !failed && i < nargs; i++)
        failed = PyTuple_SetItem(tuple, i, Py_NewRef(args[i])) < 0;
    for (Py_ssize_t i = 0; !failed && i < named; i++)
        failed = PyDict_SetItem(keywords, PyTuple_GetItem(names, i), args[nargs + i]) < 0;
    if (!failed)
        result = PyObject_Call(function, tuple, keywords);
    Py_XDECREF(function);
    Py_XDECREF(tuple);
    Py_XDECREF(keywords);
    return result;
}

/* The thread's part and the number of the name, where the call can be done here. */
static inline Side *at_hand(Ring *ring, PyObject *const *args, Py_ssize_t nargs, PyObject *names, int32_t *key)
{
    if (nargs != 1 || names || !ring || !usable(ring) || !PyUnicode_CheckExact(args[0]))
        return NULL;
    Side *side = known_side(ring);
    return side && known_number(ring, args[0], key) ? side : NULL;
}

static PyObject *calls_start(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *names)
{
    Ring *ring = ((Calls *)self)->ring;
    int32_t key;
    Side *side = at_hand(ring, args, nargs, names, &key);
    if (!side)
        return pass_on(self, START_OP, args, nargs, names);
    OpenSpan span = {.name_id = key, .key = key, .kind = ((Calls *)self)->kind, .value = -1, .ref = -1};
    span.start_ns = clock_ns(CLOCK_MONOTONIC) + ring->offset_ns;
    if (push_span(side, &span) < 0)
        return pass_on(self, START_OP, args, nargs, names);
    Py_RETURN_NONE;
}

static PyObject *calls_stop(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *names)
{
    int64_t end_ns = clock_ns(CLOCK_MONOTONIC);
    Ring *ring = ((Calls *)self)->ring;
    int32_t key;
    OpenSpan span;
    Side *side = at_hand(ring, args, nargs, names, &key);
    if (!side || is_full(ring) || !pop_span(side, key, &span))
        return pass_on(self, STOP_OP, args, nargs, names);
    if (append_span(ring, side, &span, end_ns + ring->offset_ns) == HALF_FULL) {
        PyObject *wake = Py_NewRef(((Calls *)self)->wake), *done = PyObject_CallNoArgs(wake);
        if (!done)
            PyErr_WriteUnraisable(wake);
        Py_XDECREF(done);
        Py_DECREF(wake);
    }
    Py_RETURN_NONE;
}

static int calls_clear(PyObject *self)
{
    Calls *calls = (Calls *)self;
    PyObject *ring = (PyObject *)calls->ring;
    calls->ring = NULL;
    Py_XDECREF(ring);
    Py_CLEAR(calls->wake);
    return 0;
}

/* _bind(ring, kind, wake): record from now on */
static PyObject *calls_bind(PyObject *self, PyObject *const *args, Py_ssize_t nargs)
{
    Calls *calls = (Calls *)self;
    int64_t kind;
    if (nargs != 3 || Py_TYPE(args[0]) != ring_class || !((Ring *)args[0])->names) {
        PyErr_SetString(PyExc_TypeError, "_bind takes a ring with names, kind and wake");
        return NULL;
    }
    if (take_int64(args[1], &kind) < 0)
        return NULL;
    calls_clear(self);
    calls->kind = (uint32_t)kind;
    calls->wake = Py_NewRef(args[2]);
    calls->ring = (Ring *)Py_NewRef(args[0]);
    Py_RETURN_NONE;
}

/* _unbind(): pass every call on from now on */
static PyObject *calls_unbind(PyObject *self, PyObject *none)
{
    (void)none;
    calls_clear(self);
    Py_RETURN_NONE;
}

static int calls_traverse(PyObject *self, visitproc visit, void *arg)
{
    Calls *calls = (Calls *)self;
    Py_VISIT((PyObject *)calls->ring);
    Py_VISIT(calls->wake);
    Py_VISIT(Py_TYPE(self));
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

#define METHOD(name, function, doc) {name, (PyCFunction)(void (*)(void))function, METH_FASTCALL | METH_KEYWORDS, doc}

static PyMethodDef methods[] = {
    METHOD("start_op", calls_start,
           "start_op($self, name, kind=None, *, size_bytes=None, group=None, op=None, ranks=None, dtype=None, "
           "sequence=None)\n--\n\n"
           "Open a span on this thread; spans nest, and threads have their own.\n\n"
           "Args:\n"
           "    name: What runs. Keep the number of distinct names small.\n"
           "    kind: compute, communication, data, copy, other, forward, backward or optimizer. Without it the\n"
           "        name decides (`forward`, `all_reduce`, `dataloader`, ...).\n"
           "    size_bytes: Bytes that are moved, for communication and copies.\n"
           "    group: Name of the communicator, the same on all its ranks; `default` when not given.\n"
           "    op: Collective operation, when the name does not say it.\n"
           "    ranks: Global ranks of the group, in its order.\n"
           "    dtype: Data type of what is moved.\n"
           "    sequence: Number of this call in its group, which matches it across ranks. Counted from 0 when not\n"
           "        given, which is right as long as every rank records the same calls."),
    METHOD("stop_op", calls_stop,
           "stop_op($self, name)\n--\n\n"
           "Close the innermost open span of that name on this thread; one without a start only counts."),
    {"_bind", (PyCFunction)(void (*)(void))calls_bind, METH_FASTCALL, NULL},
    {"_unbind", calls_unbind, METH_NOARGS, NULL},
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
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_BASETYPE,
    .slots = slots,
};

/* own_calls(class): give a class derived from SpanCalls methods of its own. The interpreter has its quickest way of
 * calling a compiled method for objects of the very class that the method was made for. */
static PyObject *own_calls(PyObject *module, PyObject *class)
{
    (void)module;
    int fits = PyType_Check(class) ? PyObject_IsSubclass(class, (PyObject *)calls_class) : 0;
    if (fits <= 0) {
        if (!fits)
            PyErr_SetString(PyExc_TypeError, "own_calls takes a class derived from SpanCalls");
        return NULL;
    }
    for (int i = START_OP; i <= STOP_OP; i++) {
        PyObject *method = PyDescr_NewMethod((PyTypeObject *)class, &methods[i]);
        int failed = !method || PyObject_SetAttrString(class, methods[i].ml_name, method) < 0;
        Py_XDECREF(method);
        if (failed)
            return NULL;
    }
    return Py_NewRef(class);
}

PyMethodDef calls_methods[] = {{"own_calls", own_calls, METH_O, NULL}, {NULL, NULL, 0, NULL}};

int add_calls_type(PyObject *module, PyTypeObject *ring_type)
{
    PyObject *type = PyType_FromModuleAndSpec(module, &spec, NULL);
    if (!type)
        return -1;
    passed_to[START_OP] = PyUnicode_InternFromString("_start_op");
    passed_to[STOP_OP] = PyUnicode_InternFromString("_stop_op");
    if (!passed_to[START_OP] || !passed_to[STOP_OP]) {
        Py_DECREF(type);
        return -1;
    }
    ring_class = (PyTypeObject *)Py_NewRef((PyObject *)ring_type);
    calls_class = (PyTypeObject *)type;
    return PyModule_AddObjectRef(module, "SpanCalls", type);
}
