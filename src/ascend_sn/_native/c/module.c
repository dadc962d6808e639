/* The extension module ascend_sn._native._core; its Python faces are the modules beside it. */
#include "arrays.h"

#include <unistd.h>

#include "strings.h"

/* The build looks for this text to see whether the sources have changed. */
static const char sources[] = ASCEND_SN_SOURCES;

static int add_functions(PyObject *module)
{
    uint64_t seed;
    if (getentropy(&seed, sizeof seed) == 0)
        hash_seed = seed;
    PyMethodDef *tables[] = {interval_methods, sweep_methods, nesting_methods, strings_methods,
                             scan_methods,     dag_methods,   ring_methods,    pyramid_methods,
                             totals_methods,   code_methods,  calls_methods, deal_methods,
                             by_name_methods};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        if (PyModule_AddFunctions(module, tables[i]) < 0)
            return -1;
    if (add_ring_type(module) < 0 || add_totals_type(module) < 0)
        return -1;
    return PyModule_AddStringConstant(module, "SOURCES", sources);
}

static PyModuleDef_Slot slots[] = {{Py_mod_exec, (void *)add_functions}, {0, NULL}};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "_core",
    .m_doc = "Compiled loops of ascend_sn: arrays in, arrays out.",
    .m_size = 0,
    .m_slots = slots,
};

PyMODINIT_FUNC PyInit__core(void);
PyMODINIT_FUNC PyInit__core(void)
{
    return PyModuleDef_Init(&definition);
}
