/* The Python type of the span ring. */
#include "arrays.h"

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ring.h"

static int not_usable(Ring *ring)
{
    if (!ring->header)
        PyErr_SetString(PyExc_ValueError, "the ring is closed");
    return !ring->header;
}

/* The number of a name: given as such, known, or asked for. Returns -1 with an exception set on failure. */
static int take_name(Ring *ring, PyObject *name, int32_t *name_id)
{
    int64_t number;
    if (PyUnicode_CheckExact(name) && ring->names) {
        if (known_number(ring, name, name_id))
            return 0;
        PyObject *made = PyObject_CallFunctionObjArgs(ring->number, name, NULL);
        /* A number below 0 stands for all names beyond the last one that is kept, and is asked for every time. */
        if (!made || take_int64(made, &number) < 0 || (number >= 0 && PyDict_SetItem(ring->names, name, made) < 0)) {
            Py_XDECREF(made);
            return -1;
        }
        Py_DECREF(made);
        *name_id = (int32_t)number;
        return 0;
    }
    if (take_int64(name, &number) < 0)
        return -1;
    *name_id = (int32_t)number;
    return 0;
}

/* begin(name, kind, value=-1, ref=-1, name_id=None); the row has that number where it differs from the name's */
static PyObject *ring_begin(PyObject *self, PyObject *const *args, Py_ssize_t nargs)
{
    Ring *ring = (Ring *)self;
    OpenSpan span = {.value = -1, .ref = -1};
    int64_t kind, name_id;
    if (nargs < 2 || nargs > 5) {
        PyErr_SetString(PyExc_TypeError, "begin takes name, kind and maybe value, ref and name_id");
        return NULL;
    }
    if (!usable(ring))
        Py_RETURN_NONE;
    if (take_name(ring, args[0], &span.key) < 0 || take_int64(args[1], &kind) < 0 ||
        (nargs > 2 && take_int64(args[2], &span.value) < 0) || (nargs > 3 && take_int64(args[3], &span.ref) < 0) ||
        (nargs > 4 && take_int64(args[4], &name_id) < 0))
        return NULL;
    Side *side = usable(ring) ? side_of(ring) : NULL; /* a name's number may come from Python code */
    span.name_id = nargs > 4 ? (int32_t)name_id : span.key;
    span.kind = (uint32_t)kind;
    span.start_ns = clock_ns(CLOCK_MONOTONIC) + ring->offset_ns;
    if (usable(ring) && (!side || push_span(side, &span) < 0))
        return PyErr_NoMemory();
    Py_RETURN_NONE;
}

/* end(name, end_ns=now) -> 0 no such span is open here, 1 kept, 2 kept and now half full, 3 dropped for lack of room,
 * 4 closed */
static PyObject *ring_end(PyObject *self, PyObject *const *args, Py_ssize_t nargs)
{
    Ring *ring = (Ring *)self;
    int64_t end_ns = clock_ns(CLOCK_MONOTONIC) + ring->offset_ns;
    int32_t key;
    OpenSpan span;
    if (nargs < 1 || nargs > 2) {
        PyErr_SetString(PyExc_TypeError, "end takes a name and maybe end_ns");
        return NULL;
    }
    if (usable(ring) && (take_name(ring, args[0], &key) < 0 || (nargs > 1 && take_int64(args[1], &end_ns) < 0)))
        return NULL;
    if (!usable(ring))
        return PyLong_FromLong(CLOSED);
    Side *side = side_of(ring);
    if (!side)
        return PyErr_NoMemory();
    if (!pop_span(side, key, &span))
        return PyLong_FromLong(NO_SPAN);
    return PyLong_FromLong(append_span(ring, side, &span, end_ns));
}

/* append(kind, thread, name_id, ts_ns, dur_ns, value, ref) -> 1 to 4 as for end; a name may be a text */
static PyObject *ring_append(PyObject *self, PyObject *const *args, Py_ssize_t nargs)
{
    Ring *ring = (Ring *)self;
    Slot row = {0};
    int64_t kind, thread;
    if (nargs != 7) {
        PyErr_SetString(PyExc_TypeError, "append takes 7 numbers");
        return NULL;
    }
    if (!usable(ring))
        return PyLong_FromLong(CLOSED);
    if (take_int64(args[0], &kind) < 0 || take_int64(args[1], &thread) < 0 ||
        take_name(ring, args[2], &row.name_id) < 0 || take_int64(args[3], &row.ts_ns) < 0 ||
        take_int64(args[4], &row.dur_ns) < 0 || take_int64(args[5], &row.value) < 0 ||
        take_int64(args[6], &row.ref) < 0)
        return NULL;
    row.kind = (uint8_t)kind;
    row.thread = (int32_t)thread;
    return PyLong_FromLong(usable(ring) ? append_row(ring, &row) : CLOSED);
}

static PyObject *ring_now(PyObject *self, PyObject *none)
{
    (void)none;
    return PyLong_FromLongLong(clock_ns(CLOCK_MONOTONIC) + ((Ring *)self)->offset_ns);
}

/* peek() -> the finished rows, 44 bytes each; they stay until they are released */
static PyObject *ring_peek(PyObject *self, PyObject *none)
{
    (void)none;
    Ring *ring = (Ring *)self;
    if (not_usable(ring))
        return NULL;
    if (!usable(ring))
        return PyBytes_FromStringAndSize(NULL, 0);
    uint64_t tail = ring->header->tail, count = ready(ring, tail);
    PyObject *bytes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(count * RECORD_BYTES));
    uint8_t *out = bytes ? (uint8_t *)PyBytes_AsString(bytes) : NULL;
    for (uint64_t i = 0; out && i < count; i++)
        ring_pack(out + RECORD_BYTES * i, slot_at(ring, tail + i));
    return bytes;
}

/* peek_columns(most) -> at most so many finished rows as 7 byte strings: kind, thread, name_id, ts_ns, dur_ns, value,
 * ref */
static PyObject *ring_peek_columns(PyObject *self, PyObject *most)
{
    static const size_t WIDTHS[7] = {1, 4, 4, 8, 8, 8, 8};
    Ring *ring = (Ring *)self;
    int64_t limit;
    if (not_usable(ring) || take_int64(most, &limit) < 0)
        return NULL;
    uint64_t tail = ring->header->tail, count = usable(ring) ? ready(ring, tail) : 0;
    if (limit >= 0 && count > (uint64_t)limit)
        count = (uint64_t)limit;
    PyObject *columns = PyTuple_New(7);
    void *out[7] = {NULL};
    for (int c = 0; columns && c < 7; c++) {
        PyObject *column = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(count * WIDTHS[c]));
        if (!column || PyTuple_SetItem(columns, c, column) < 0)
            Py_CLEAR(columns);
        else
            out[c] = PyBytes_AsString(column);
    }
    for (uint64_t i = 0; columns && i < count; i++) {
        const Slot *slot = slot_at(ring, tail + i);
        ((uint8_t *)out[0])[i] = slot->kind;
        ((int32_t *)out[1])[i] = slot->thread;
        ((int32_t *)out[2])[i] = slot->name_id;
        ((int64_t *)out[3])[i] = slot->ts_ns;
        ((int64_t *)out[4])[i] = slot->dur_ns;
        ((int64_t *)out[5])[i] = slot->value;
        ((int64_t *)out[6])[i] = slot->ref;
    }
    return columns;
}

/* release(count): the first rows are safe elsewhere, their room is free */
static PyObject *ring_release(PyObject *self, PyObject *count)
{
    Ring *ring = (Ring *)self;
    int64_t rows;
    if (not_usable(ring) || take_int64(count, &rows) < 0)
        return NULL;
    if (usable(ring)) {
        if (rows < 0 || (uint64_t)rows > ready(ring, ring->header->tail)) {
            PyErr_SetString(PyExc_ValueError, "there are not that many finished rows");
            return NULL;
        }
        __atomic_store_n(&ring->header->tail, ring->header->tail + (uint64_t)rows, __ATOMIC_RELEASE);
    }
    Py_RETURN_NONE;
}

/* position() -> number of the first row that is not released: how many rows left the ring before it */
static PyObject *ring_position(PyObject *self, PyObject *none)
{
    (void)none;
    Ring *ring = (Ring *)self;
    return not_usable(ring) ? NULL : PyLong_FromUnsignedLongLong(ring->header->tail);
}

/* waiting() -> rows that are in the ring */
static PyObject *ring_waiting(PyObject *self, PyObject *none)
{
    (void)none;
    Ring *ring = (Ring *)self;
    return not_usable(ring) ? NULL : PyLong_FromUnsignedLongLong(ring->header->head - ring->header->tail);
}

/* full() -> whether there is no room for a row */
static PyObject *ring_full(PyObject *self, PyObject *none)
{
    (void)none;
    return PyBool_FromLong(usable((Ring *)self) && is_full((Ring *)self));
}

/* thread_count() -> threads whose open spans are kept */
static PyObject *ring_thread_count(PyObject *self, PyObject *none)
{
    (void)none;
    return PyLong_FromSize_t(((Ring *)self)->side_count);
}

/* take_dropped() -> rows dropped since the last call */
static PyObject *ring_take_dropped(PyObject *self, PyObject *none)
{
    (void)none;
    Ring *ring = (Ring *)self;
    if (not_usable(ring))
        return NULL;
    uint64_t fresh = ring->header->dropped - ring->header->reported;
    ring->header->reported = ring->header->dropped;
    return PyLong_FromUnsignedLongLong(fresh);
}

/* Pack an open span; `end_ns` below 0 leaves its end open. */
static void pack_open(uint8_t *out, const OpenSpan *span, int32_t thread, int64_t end_ns, int64_t flag)
{
    Slot slot = {.thread = thread, .kind = (uint8_t)(span->kind | (uint32_t)flag), .name_id = span->name_id,
                 .ts_ns = span->start_ns, .dur_ns = end_ns < 0 ? -1 : end_ns - span->start_ns,
                 .value = span->value, .ref = span->ref};
    ring_pack(out, &slot);
}

/* take_open(end_ns, flag, thread=any) -> the open spans of all threads, or of one, as rows that end at end_ns, with
 * `flag` added to their kind; they are not open afterwards */
static PyObject *ring_take_open(PyObject *self, PyObject *const *args, Py_ssize_t nargs)
{
    Ring *ring = (Ring *)self;
    int64_t end_ns, flag, thread = 0;
    if (nargs < 2 || nargs > 3) {
        PyErr_SetString(PyExc_TypeError, "take_open takes end_ns, flag and maybe thread");
        return NULL;
    }
    if (not_usable(ring) || take_int64(args[0], &end_ns) < 0 || take_int64(args[1], &flag) < 0 ||
        (nargs > 2 && take_int64(args[2], &thread) < 0))
        return NULL;
    size_t count = 0, at = 0, side_count = usable(ring) ? ring->side_count : 0;
    for (size_t i = 0; i < side_count; i++)
        if (!thread || ring->sides[i]->block->thread == thread)
            count += ring->sides[i]->block->depth + ring->sides[i]->deep_count;
    PyObject *bytes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(count * RECORD_BYTES));
    if (!bytes)
        return NULL;
    uint8_t *out = (uint8_t *)PyBytes_AsString(bytes);
    for (size_t i = 0; i < side_count; i++) {
        Side *side = ring->sides[i];
        if (thread && side->block->thread != thread)
            continue;
        for (uint32_t d = 0; d < side->block->depth; d++)
            pack_open(out + RECORD_BYTES * at++, &side->block->spans[d], side->block->thread, end_ns, flag);
        for (size_t d = 0; d < side->deep_count; d++)
            pack_open(out + RECORD_BYTES * at++, &side->deeper[d], side->block->thread, end_ns, flag);
        __atomic_store_n(&side->block->depth, 0, __ATOMIC_RELEASE);
        side->deep_count = 0;
    }
    return bytes;
}

static PyObject *ring_close(PyObject *self, PyObject *none)
{
    (void)none;
    unmap((Ring *)self);
    Py_RETURN_NONE;
}

/* Ring(path or None, capacity, number=None, offset_ns=None, names=None) */
static PyObject *ring_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    PyObject *path_object, *number = Py_None, *offset = Py_None, *names = Py_None, *path_bytes = NULL;
    long long capacity;
    int64_t offset_ns = clock_offset();
    if (keywords && PyDict_Size(keywords) > 0) {
        PyErr_SetString(PyExc_TypeError, "Ring takes positional arguments only");
        return NULL;
    }
    if (!PyArg_ParseTuple(args, "OL|OOO", &path_object, &capacity, &number, &offset, &names))
        return NULL;
    if (names != Py_None && !PyDict_Check(names)) {
        PyErr_SetString(PyExc_TypeError, "names is a dict");
        return NULL;
    }
    if (capacity < 2 || capacity >= (long long)UINT32_MAX / 2) {
        PyErr_SetString(PyExc_ValueError, "capacity must be at least 2 and below 2**31");
        return NULL;
    }
    if ((offset != Py_None && take_int64(offset, &offset_ns) < 0) ||
        (path_object != Py_None && !PyUnicode_FSConverter(path_object, &path_bytes)))
        return NULL;
    allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    Ring *ring = (Ring *)allocate(type, 0);
    size_t bytes = ring_bytes((uint64_t)capacity);
    const char *path = path_bytes ? PyBytes_AsString(path_bytes) : NULL;
    void *map = ring ? map_new_file(path, bytes) : MAP_FAILED;
    if (!ring || map == MAP_FAILED) {
        if (ring)
            PyErr_SetFromErrnoWithFilename(PyExc_OSError, path ? path : "the span ring");
        Py_XDECREF((PyObject *)ring);
        Py_XDECREF(path_bytes);
        return NULL;
    }
    Py_XDECREF(path_bytes);
    RingHeader *header = map;
    *header = (RingHeader){.version = RING_VERSION, .slot_bytes = sizeof(Slot), .capacity = (uint64_t)capacity,
                           .threads = RING_THREADS, .depth = RING_DEPTH, .pid = getpid(), .offset_ns = offset_ns};
    memcpy(header->magic, RING_MAGIC, 8);
    ring->header = header;
    ring->blocks = ring_blocks(map);
    ring->slots = ring_slots(map);
    ring->bytes = bytes;
    ring->capacity = (uint64_t)capacity;
    ring->half = ((uint64_t)capacity + 1) / 2;
    ring->offset_ns = offset_ns;
    ring->serial = ++ring_serial;
    ring->forks = fork_count;
    if (number != Py_None) {
        ring->names = names == Py_None ? PyDict_New() : Py_NewRef(names);
        if (!ring->names) {
            Py_DECREF((PyObject *)ring);
            return NULL;
        }
        Py_INCREF(number);
        ring->number = number;
    }
    return (PyObject *)ring;
}

static int ring_traverse(PyObject *self, visitproc visit, void *arg)
{
    Ring *ring = (Ring *)self;
    Py_VISIT(ring->names);
    Py_VISIT(ring->number);
    Py_VISIT(Py_TYPE(self));
    return 0;
}

static int ring_clear(PyObject *self)
{
    Ring *ring = (Ring *)self;
    Py_CLEAR(ring->names);
    Py_CLEAR(ring->number);
    return 0;
}

static void ring_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    unmap((Ring *)self);
    ring_clear(self);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(self);
    Py_DECREF(type);
}

#define METHOD(name, function) {name, (PyCFunction)(void (*)(void))function, METH_FASTCALL, NULL}

static PyMethodDef methods[] = {
    METHOD("begin", ring_begin),
    METHOD("end", ring_end),
    METHOD("append", ring_append),
    METHOD("take_open", ring_take_open),
    {"full", ring_full, METH_NOARGS, NULL},
    {"thread_count", ring_thread_count, METH_NOARGS, NULL},
    {"now", ring_now, METH_NOARGS, NULL},
    {"peek", ring_peek, METH_NOARGS, NULL},
    {"peek_columns", ring_peek_columns, METH_O, NULL},
    {"release", ring_release, METH_O, NULL},
    {"position", ring_position, METH_NOARGS, NULL},
    {"waiting", ring_waiting, METH_NOARGS, NULL},
    {"take_dropped", ring_take_dropped, METH_NOARGS, NULL},
    {"close", ring_close, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot ring_slots_of_type[] = {
    {Py_tp_new, (void *)ring_new},           {Py_tp_dealloc, (void *)ring_dealloc},
    {Py_tp_traverse, (void *)ring_traverse}, {Py_tp_clear, (void *)ring_clear},
    {Py_tp_methods, methods},                {0, NULL},
};

static PyType_Spec ring_spec = {
    .name = "ascend_sn._native._core.Ring",
    .basicsize = sizeof(Ring),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .slots = ring_slots_of_type,
};

int add_ring_type(PyObject *module)
{
    static int watching;
    PyObject *type = PyType_FromModuleAndSpec(module, &ring_spec, NULL);
    if (!type)
        return -1;
    if (!watching && pthread_atfork(NULL, NULL, count_fork) == 0)
        watching = 1;
    int result = PyModule_AddObjectRef(module, "Ring", type);
    result = result < 0 ? result : add_calls_type(module, (PyTypeObject *)type);
    Py_DECREF(type);
    return result;
}
