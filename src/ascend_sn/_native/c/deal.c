/* Deal the slices of a lane to rows in which none overlaps another; where slices nest, the row is the depth. */
#include "arrays.h"
#include "memory.h"

#include <string.h>

typedef struct {
    int64_t end;
    int32_t row;
} Above;

/* Until when each row is taken: a tree of minima, so that the first free row from some row on is found quickly. */
typedef struct {
    int64_t *taken;
    size_t size, rows;
} RowEnds;

static int rows_grow(RowEnds *ends)
{
    size_t size = ends->size ? 2 * ends->size : 8;
    int64_t *taken = malloc(2 * size * sizeof *taken);
    if (!taken)
        return -1;
    for (size_t i = 0; i < 2 * size; i++)
        taken[i] = INT64_MAX;
    if (ends->size)
        memcpy(taken + size, ends->taken + ends->size, ends->size * sizeof *taken);
    for (size_t i = size - 1; i >= 1; i--)
        taken[i] = taken[2 * i] < taken[2 * i + 1] ? taken[2 * i] : taken[2 * i + 1];
    free(ends->taken);
    ends->taken = taken;
    ends->size = size;
    return 0;
}

/* The first row from `from` on that is free at `start`; a new one where there is none; -1 when memory runs out. */
static int64_t row_free(RowEnds *ends, size_t from, int64_t start)
{
    const int64_t *taken = ends->taken;
    for (size_t i = ends->size + from; from < ends->rows && i; i++) {
        if (taken[i] <= start) {
            while (i < ends->size) {
                i *= 2;
                i += taken[i] > start;
            }
            return (int64_t)(i - ends->size);
        }
        while (i & 1)
            i >>= 1;
        if (!i)
            break;
    }
    if (ends->rows == ends->size && rows_grow(ends) < 0)
        return -1;
    return (int64_t)ends->rows++;
}

static void row_take(RowEnds *ends, size_t row, int64_t end)
{
    size_t i = ends->size + row;
    ends->taken[i] = end;
    for (i >>= 1; i; i >>= 1) {
        int64_t left = ends->taken[2 * i], right = ends->taken[2 * i + 1];
        ends->taken[i] = left < right ? left : right;
    }
}

/* A slice goes below the innermost one that contains it; one without duration contains nothing. */
static int64_t deal(const int64_t *start, const int64_t *end, int32_t *row, size_t n)
{
    RowEnds ends = {0};
    Above *stack = NULL;
    size_t used = 0, room = 0;
    int64_t made = -1;
    for (size_t i = 0; i < n; i++) {
        while (used && stack[used - 1].end < end[i])
            used--;
        int64_t chosen = row_free(&ends, used ? (size_t)stack[used - 1].row + 1 : 0, start[i]);
        if (chosen < 0 || chosen > INT32_MAX)
            goto done;
        row_take(&ends, (size_t)chosen, end[i]);
        row[i] = (int32_t)chosen;
        if (end[i] <= start[i])
            continue;
        if (used == room) {
            room = room ? 2 * room : 64;
            Above *grown = realloc(stack, room * sizeof *stack);
            if (!grown)
                goto done;
            stack = grown;
        }
        stack[used++] = (Above){end[i], (int32_t)chosen};
    }
    made = (int64_t)ends.rows;
done:
    free(stack);
    free(ends.taken);
    return made;
}

/* deal_rows(start, end, row) -> number of rows; slices come by start, the longer one first, end >= start */
static PyObject *deal_rows(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    (void)module;
    Arrays a;
    int64_t made;
    if (arrays_take(&a, args, nargs, "qqI", 3) < 0)
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    made = deal(array_data(&a, 0), array_data(&a, 1), array_data(&a, 2), (size_t)array_length(&a, 0));
    Py_END_ALLOW_THREADS
    arrays_release(&a);
    return made < 0 ? PyErr_NoMemory() : PyLong_FromLongLong(made);
}

PyMethodDef deal_methods[] = {FAST(deal_rows), {NULL, NULL, 0, NULL}};
