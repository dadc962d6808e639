/* What is left of a span ring on disk, read without the process that wrote it. */
#include "ring.h"

#include <string.h>

void ring_pack(uint8_t *out, const Slot *slot)
{
    out[0] = slot->kind;
    memset(out + 1, 0, 3);
    memcpy(out + 4, &slot->thread, 4);
    memcpy(out + 8, &slot->name_id, 4);
    memcpy(out + 12, &slot->ts_ns, 32);
}

static int is_ring(const uint8_t *bytes, size_t size)
{
    const RingHeader *header = (const RingHeader *)(const void *)bytes;
    return size >= sizeof *header && memcmp(header->magic, RING_MAGIC, 8) == 0 && header->version == RING_VERSION &&
           header->slot_bytes == sizeof(Slot) && header->threads == RING_THREADS && header->depth == RING_DEPTH &&
           header->capacity > 0 && header->capacity < UINT32_MAX && size >= ring_bytes(header->capacity) &&
           header->head - header->tail <= header->capacity;
}

static PyObject *finished_rows(const RingHeader *header, Slot *slots, uint64_t *unfinished)
{
    uint64_t count = header->head - header->tail, kept = 0;
    uint8_t *packed = PyMem_Malloc((size_t)count * RECORD_BYTES + 1);
    if (!packed)
        return PyErr_NoMemory();
    for (uint64_t row = header->tail; row != header->head; row++) {
        const Slot *slot = &slots[row % header->capacity];
        if (slot->mark == (uint32_t)(row + 1))
            ring_pack(packed + RECORD_BYTES * kept++, slot);
    }
    *unfinished = count - kept;
    PyObject *bytes = PyBytes_FromStringAndSize((const char *)packed, (Py_ssize_t)(kept * RECORD_BYTES));
    PyMem_Free(packed);
    return bytes;
}

static PyObject *open_rows(ThreadBlock *blocks)
{
    size_t count = 0;
    uint8_t *packed = PyMem_Malloc((size_t)RING_THREADS * RING_DEPTH * RECORD_BYTES);
    if (!packed)
        return PyErr_NoMemory();
    for (int b = 0; b < RING_THREADS; b++)
        for (uint32_t d = 0; blocks[b].thread && d < blocks[b].depth && d < RING_DEPTH; d++) {
            const OpenSpan *span = &blocks[b].spans[d];
            Slot slot = {.thread = blocks[b].thread, .kind = (uint8_t)span->kind, .name_id = span->name_id,
                         .ts_ns = span->start_ns, .dur_ns = -1, .value = span->value, .ref = span->ref};
            ring_pack(packed + RECORD_BYTES * count++, &slot);
        }
    PyObject *bytes = PyBytes_FromStringAndSize((const char *)packed, (Py_ssize_t)(count * RECORD_BYTES));
    PyMem_Free(packed);
    return bytes;
}

/* ring_recover(content) -> (records, open_records, unfinished, dropped, first, pid, offset_ns), None if it is no ring */
static PyObject *ring_recover(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    (void)module;
    Arrays a;
    if (arrays_take(&a, args, nargs, "B", 1) < 0)
        return NULL;
    uint8_t *bytes = array_data(&a, 0);
    if (!is_ring(bytes, (size_t)array_length(&a, 0))) {
        arrays_release(&a);
        Py_RETURN_NONE;
    }
    const RingHeader *header = (const RingHeader *)(const void *)bytes;
    uint64_t unfinished = 0;
    PyObject *rows = finished_rows(header, ring_slots(bytes), &unfinished);
    PyObject *opens = rows ? open_rows(ring_blocks(bytes)) : NULL;
    PyObject *found = NULL;
    if (opens)
        found = Py_BuildValue("(OOKKKiL)", rows, opens, (unsigned long long)unfinished,
                              (unsigned long long)(header->dropped - header->reported), (unsigned long long)header->tail, header->pid,
                              (long long)header->offset_ns);
    Py_XDECREF(rows);
    Py_XDECREF(opens);
    arrays_release(&a);
    return found;
}

PyMethodDef ring_methods[] = {FAST(ring_recover), {NULL, NULL, 0, NULL}};
