/* Which slice encloses which, per thread, and how long each runs without its children. */
#include "arrays.h"
#include "group.h"
#include "memory.h"

/* Rows of one thread in sorting order: copied spans, or the input itself where it is in that order. */
typedef struct {
    const Span *spans;
    const int64_t *start, *dur;
} Rows;

static inline Span row(const Rows *rows, size_t i)
{
    if (rows->spans)
        return rows->spans[i];
    return (Span){rows->start[i], end_of(rows->start[i], rows->dur[i]), (int64_t)i};
}

/* Whether threads ascend and the slices of each are in sorting order. */
static int in_order(const int64_t *thread, const int64_t *start, const int64_t *dur, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        if (thread[i] != thread[i - 1] ? thread[i] < thread[i - 1]
            : start[i] != start[i - 1] ? start[i] < start[i - 1]
                                       : end_of(start[i], dur[i]) > end_of(start[i - 1], dur[i - 1]))
            return 0;
    }
    return 1;
}

typedef struct {
    int64_t *parent, *self_ns;
    int32_t *depth;
    uint8_t *crossing;
} Places;

typedef struct {
    int64_t start, end, index;
    int64_t covered; /* children reach until here */
    int32_t depth;
} Open;

typedef struct {
    Open *items;
    size_t used, room;
} Stack;

static inline int push(Stack *stack, Open open)
{
    if (stack->used == stack->room) {
        size_t room = stack->room ? 2 * stack->room : 256;
        Open *items = realloc(stack->items, room * sizeof *items);
        if (!items)
            return -1;
        stack->items = items;
        stack->room = room;
    }
    stack->items[stack->used++] = open;
    return 0;
}

/* Ends of slices that left the stack while still open, the earliest on top. */
typedef struct {
    int64_t *ends;
    size_t used, room;
} Heap;

static int heap_add(Heap *heap, int64_t end)
{
    if (heap->used == heap->room) {
        size_t room = heap->room ? 2 * heap->room : 64;
        int64_t *ends = realloc(heap->ends, room * sizeof *ends);
        if (!ends)
            return -1;
        heap->ends = ends;
        heap->room = room;
    }
    size_t at = heap->used++;
    for (; at && heap->ends[(at - 1) / 2] > end; at = (at - 1) / 2)
        heap->ends[at] = heap->ends[(at - 1) / 2];
    heap->ends[at] = end;
    return 0;
}

static void heap_remove(Heap *heap)
{
    int64_t moving = heap->ends[--heap->used];
    size_t at = 0, child;
    for (; (child = 2 * at + 1) < heap->used; at = child) {
        if (child + 1 < heap->used && heap->ends[child + 1] < heap->ends[child])
            child++;
        if (heap->ends[child] >= moving)
            break;
        heap->ends[at] = heap->ends[child];
    }
    heap->ends[at] = moving;
}

/* Slices come by start, long ones first. One that ends before the new slice does can contain neither it
 * nor anything later that the new slice does not contain, so it leaves the stack; the top is the parent. */
static inline int nest_rows(const Rows *rows, size_t first, size_t past, Stack *stack, Heap *heap,
                            const Places *out)
{
    int64_t *self_ns = out->self_ns;
    stack->used = 0;
    heap->used = 0;
    for (size_t i = first; i < past; i++) {
        Span span = row(rows, i);
        while (stack->used && stack->items[stack->used - 1].end < span.end) {
            stack->used--;
            if (stack->items[stack->used].end > span.start && heap_add(heap, stack->items[stack->used].end) < 0)
                return -1;
        }
        while (heap->used && heap->ends[0] <= span.start)
            heap_remove(heap);
        Open open = {span.start, span.end, span.index, span.start, 0};
        int64_t above = -1;
        if (stack->used) {
            Open *top = &stack->items[stack->used - 1];
            above = top->index;
            open.depth = top->depth + 1;
            int64_t from = span.start > top->covered ? span.start : top->covered;
            if (span.end > from) {
                self_ns[above] -= span.end - from;
                top->covered = span.end;
            }
        }
        out->parent[span.index] = above;
        out->depth[span.index] = open.depth;
        out->crossing[span.index] = heap->used && heap->ends[0] < span.end;
        self_ns[span.index] = span.end - span.start;
        if (push(stack, open) < 0)
            return -1;
    }
    return 0;
}

static int nest_in_order(const int64_t *thread, const Rows *rows, size_t n, Stack *stack, Heap *heap,
                         const Places *out)
{
    for (size_t first = 0, past; first < n; first = past) {
        for (past = first + 1; past < n && thread[past] == thread[first];)
            past++;
        if (nest_rows(rows, first, past, stack, heap, out) < 0)
            return -1;
    }
    return 0;
}

static int nest_grouped(const int64_t *thread, const int64_t *start, const int64_t *dur, size_t n, Stack *stack,
                        Heap *heap, const Places *out)
{
    Grouped grouped;
    int failed = group(&grouped, thread, start, dur, n);
    Rows rows = {.spans = grouped.spans};
    for (size_t c = 0; !failed && c < grouped.map.used; c++)
        failed = nest_rows(&rows, grouped.first[c], grouped.first[c + 1], stack, heap, out);
    grouped_free(&grouped);
    return failed;
}

/* nest(thread, start, dur, parent, self_ns, depth, crossing) */
static PyObject *nest(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    (void)module;
    Arrays a;
    int failed;
    if (arrays_take(&a, args, nargs, "qqqQQIB", 7) < 0)
        return NULL;
    const int64_t *thread = array_data(&a, 0);
    Rows rows = {.start = array_data(&a, 1), .dur = array_data(&a, 2)};
    Places out = {array_data(&a, 3), array_data(&a, 4), array_data(&a, 5), array_data(&a, 6)};
    size_t n = (size_t)array_length(&a, 0);
    Py_BEGIN_ALLOW_THREADS
    Stack stack = {0};
    Heap heap = {0};
    if (in_order(thread, rows.start, rows.dur, n))
        failed = nest_in_order(thread, &rows, n, &stack, &heap, &out);
    else
        failed = nest_grouped(thread, rows.start, rows.dur, n, &stack, &heap, &out);
    free(stack.items);
    free(heap.ends);
    Py_END_ALLOW_THREADS
    arrays_release(&a);
    if (failed)
        return PyErr_NoMemory();
    Py_RETURN_NONE;
}

static int find_rows(const Span *spans, size_t n, const Span *asks, size_t asked, Stack *stack, int64_t *found)
{
    size_t i = 0;
    stack->used = 0;
    for (size_t q = 0; q < asked; q++) {
        int64_t ts = asks[q].start;
        for (; i < n && spans[i].start <= ts; i++) {
            while (stack->used && stack->items[stack->used - 1].end < spans[i].end)
                stack->used--;
            if (push(stack, (Open){spans[i].start, spans[i].end, spans[i].index, 0, 0}) < 0)
                return -1;
        }
        while (stack->used) {
            Open top = stack->items[stack->used - 1];
            if (top.end > ts || (top.end == ts && top.start == ts))
                break;
            stack->used--;
        }
        found[asks[q].index] = stack->used ? stack->items[stack->used - 1].index : -1;
    }
    return 0;
}

static int find_all(Grouped *grouped, const int64_t *thread, const int64_t *ts, size_t n, int64_t *found)
{
    size_t threads = grouped->map.used, known = 0, most = 0;
    int failed = -1;
    Stack stack = {0};
    Span *room = NULL;
    int32_t *codes = scratch(n, sizeof *codes);
    Span *asks = scratch(n, sizeof *asks);
    size_t *first = calloc(threads + 2, sizeof *first);
    if (!codes || !asks || !first)
        goto done;
    for (size_t i = 0; i < n; i++) {
        codes[i] = i && thread[i] == thread[i - 1] ? codes[i - 1] : map_code(&grouped->map, thread[i], 0);
        if (codes[i] == -2)
            goto done;
        found[i] = -1;
        if (codes[i] >= 0)
            first[codes[i] + 1]++;
    }
    for (size_t c = 0; c < threads; c++) {
        size_t here = first[c + 1];
        most = here > most ? here : most;
        first[c + 1] = known;
        known += here;
    }
    for (size_t i = 0; i < n; i++)
        if (codes[i] >= 0)
            asks[first[codes[i] + 1]++] = (Span){ts[i], ts[i], (int64_t)i};
    if (!(room = scratch(most, sizeof *room)))
        goto done;
    failed = 0;
    for (size_t c = 0; !failed && c < threads; c++) {
        Span *mine = asks + first[c];
        size_t asked = first[c + 1] - first[c];
        sort_spans(mine, room, asked);
        failed = find_rows(grouped->spans + grouped->first[c], grouped->first[c + 1] - grouped->first[c], mine, asked,
                           &stack, found);
    }
done:
    free(stack.items);
    free(room);
    free(codes);
    free(asks);
    free(first);
    return failed;
}

/* enclosing(thread, start, dur, q_thread, q_ts, found) */
static PyObject *enclosing(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    (void)module;
    Arrays a;
    int failed;
    if (arrays_take(&a, args, nargs, "qqqqqQ", 3) < 0)
        return NULL;
    Py_ssize_t asked = array_length(&a, 3);
    if (array_length(&a, 4) != asked || array_length(&a, 5) != asked) {
        arrays_release(&a);
        PyErr_SetString(PyExc_ValueError, "the query arrays differ in length");
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    Grouped grouped;
    failed = group(&grouped, array_data(&a, 0), array_data(&a, 1), array_data(&a, 2), (size_t)array_length(&a, 0));
    if (!failed)
        failed = find_all(&grouped, array_data(&a, 3), array_data(&a, 4), (size_t)asked, array_data(&a, 5));
    grouped_free(&grouped);
    Py_END_ALLOW_THREADS
    arrays_release(&a);
    if (failed)
        return PyErr_NoMemory();
    Py_RETURN_NONE;
}

PyMethodDef nesting_methods[] = {FAST(nest), FAST(enclosing), {NULL, NULL, 0, NULL}};
