from __future__ import annotations

from ascend_sn.analysis.host.host_calls import CLASSES, class_of_call
from ascend_sn.analysis.memory.allocator_cost import allocator_cost
from tests.unit.analysis.traces import call, kernel, numbered, results, step


def test_calls_are_summed_by_name_with_the_time_the_device_stands_still() -> None:
    rows = numbered([
        step(0, 100, 1), step(100, 100, 2), call("aclrtMalloc", 0, 20), call("aclrtMalloc", 150, 10),
        call("aclrtFree", 60, 5), call("launch", 65, 5), kernel(10, 50), kernel(155, 45),
    ])  # fmt: skip

    malloc, free = results(allocator_cost, rows)

    assert (malloc["name"], malloc["calls"], malloc["total_ns"], malloc["max_ns"]) == ("aclrtMalloc", 2, 30, 20)
    assert malloc["device_free_ns"] == 10 + 5
    assert (malloc["steps"], malloc["ns_per_step"], malloc["share_ratio"]) == (2, 15.0, 0.15)
    assert (free["name"], free["total_ns"], free["device_free_ns"]) == ("aclrtFree", 5, 5)


def test_calls_before_the_first_step_are_left_out() -> None:
    rows = numbered([step(50, 50), call("cudaMalloc", 0, 20), call("cudaMalloc", 60, 10), kernel(70, 10)])

    (row,) = results(allocator_cost, rows)

    assert (row["calls"], row["total_ns"]) == (1, 10)


def test_on_several_threads_at_once_time_counts_once() -> None:
    rows = numbered([call("cudaMalloc", 0, 20), call("cudaMalloc", 10, 20, thread="other")])

    (row,) = results(allocator_cost, rows)

    assert (row["calls"], row["total_ns"], row["device_free_ns"], row["share_ratio"]) == (2, 30, None, None)


def test_names_of_several_devices_have_one_class() -> None:
    names = {
        "allocator": (
            "aclrtMalloc",
            "aclrtFreePhysical",
            "aclMallocMemInner",
            "cudaMalloc",
            "cudaFree",
            "hipMallocAsync",
        ),
        "sync": ("aclrtSynchronizeStreamWithTimeout", "cudaDeviceSynchronize", "hipStreamSynchronize"),
        "compile": ("aclopCompileAndExecute", "opCompile", "cuModuleLoadData"),
        "copy": ("aclrtMemcpyAsync", "cudaMemcpyAsync", "hipMemcpyWithStream"),
        "launch": ("launch", "cudaLaunchKernel", "hipExtModuleLaunchKernel", "Launch_Ffts", "cudaGraphLaunch"),
        "gc": ("GC",),
    }

    assert {name: class_of_call("acl", name) for names_ in names.values() for name in names_} == {
        name: class_name for class_name, names_ in names.items() for name in names_
    }
    assert class_of_call("gc", "anything") == "gc"
    assert class_of_call("acl", "aclCreateTensorDesc") is None
    assert set(names) < set(CLASSES)
