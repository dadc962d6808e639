/* Longest paths over a graph whose nodes are in topological order. */
#include "arrays.h"

/* longest_path(node_dur, edge_src, edge_dst, edge_weight, start, end, critical) -> whether src < dst held for
 * every edge and dst ascended; where not, nothing useful was written. */
static PyObject *longest_path(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    (void)module;
    Arrays a;
    int ordered = 1;
    if (arrays_take(&a, args, nargs, "qqqqQQQ", 0) < 0)
        return NULL;
    Py_ssize_t nodes = array_length(&a, 0), edges = array_length(&a, 1);
    if (array_length(&a, 2) != edges || array_length(&a, 3) != edges || array_length(&a, 4) != nodes ||
        array_length(&a, 5) != nodes || array_length(&a, 6) != nodes) {
        arrays_release(&a);
        PyErr_SetString(PyExc_ValueError, "the arrays of nodes or of edges differ in length");
        return NULL;
    }
    const int64_t *dur = array_data(&a, 0), *src = array_data(&a, 1), *dst = array_data(&a, 2);
    const int64_t *weight = array_data(&a, 3);
    int64_t *start = array_data(&a, 4), *end = array_data(&a, 5), *critical = array_data(&a, 6);
    Py_BEGIN_ALLOW_THREADS
    Py_ssize_t edge = 0;
    for (Py_ssize_t node = 0; node < nodes; node++) {
        int64_t begin = 0, from = -1;
        for (; edge < edges && dst[edge] == node; edge++) {
            if (src[edge] < 0 || src[edge] >= node) {
                ordered = 0;
                break;
            }
            int64_t arrival = end[src[edge]] + weight[edge];
            /* The first of equally late predecessors; one at zero still tells where the path comes from. */
            if (arrival > begin || (from < 0 && arrival == begin)) {
                begin = arrival;
                from = src[edge];
            }
        }
        start[node] = begin;
        end[node] = begin + dur[node];
        critical[node] = from;
        if (!ordered)
            break;
    }
    ordered = ordered && edge == edges;
    Py_END_ALLOW_THREADS
    arrays_release(&a);
    return PyBool_FromLong(ordered);
}

PyMethodDef dag_methods[] = {FAST(longest_path), {NULL, NULL, 0, NULL}};
