"""Memory of PyTorch modules while they run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile, record_function

__all__ = ["measured_modules"]

_PREFIX = "ascend_sn.module:"


def measured_modules(model: Any, inputs: tuple[Any, ...]) -> list[dict[str, Any]]:
    """Run the model once; see `memory_by_module`.

    Raises:
        TypeError: It is no module of PyTorch.
    """
    if not isinstance(model, nn.Module):
        raise TypeError(f"memory_by_module takes a torch.nn.Module, not {type(model).__name__}")
    names = {id(module): name for name, module in model.named_modules()}
    rows: dict[str, dict[str, Any]] = {}
    device = _device_of(model)
    watch = _watch_device(device, names, rows) if device is not None else _watch_ranges(names)
    handles = []
    try:
        for module in model.modules():
            handles.append(module.register_forward_pre_hook(watch[0]))
            handles.append(module.register_forward_hook(watch[1], always_call=True))
        if device is not None:
            model(*inputs)
            return list(rows.values())
        with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as recorded:
            result = model(*inputs)
        del result
    finally:
        for handle in handles:
            handle.remove()
    return _rows_of_events(recorded, {name: type(module).__name__ for name, module in model.named_modules()})


Hook = Callable[..., None]


def _device_of(model: nn.Module) -> Any:
    """Return the module of torch that knows the allocator of the model's device; None on the processor."""
    kinds = {parameter.device.type for parameter in model.parameters()} - {"cpu"}
    return getattr(torch, kinds.pop(), None) if len(kinds) == 1 else None


def _watch_device(device: Any, names: dict[int, str], rows: dict[str, dict[str, Any]]) -> tuple[Hook, Hook]:
    """Ask the allocator before and behind every module; the peak is reset inside, so outer ones keep their own."""
    open_modules: list[list[int]] = []

    def before(module: nn.Module, _inputs: Any) -> None:
        held, peak = device.memory_allocated(), device.max_memory_allocated()
        for entry in open_modules:
            entry[1] = max(entry[1], peak)
        device.reset_peak_memory_stats()
        open_modules.append([held, held])
        rows.setdefault(names[id(module)], _row(names[id(module)], type(module).__name__))

    def behind(module: nn.Module, _inputs: Any, _result: Any) -> None:
        held, peak = device.memory_allocated(), device.max_memory_allocated()
        for entry in open_modules:
            entry[1] = max(entry[1], peak)
        begin, highest = open_modules.pop()
        row = rows[names[id(module)]]
        row["call_count"] += 1
        row["retained_bytes"] = held - begin
        row["peak_bytes"] = max(row["peak_bytes"], highest - begin)

    return before, behind


def _watch_ranges(names: dict[int, str]) -> tuple[Hook, Hook]:
    """Draw a range around every module, for the profiler to see."""
    ranges: list[Any] = []

    def before(module: nn.Module, _inputs: Any) -> None:
        ranges.append(record_function(_PREFIX + names[id(module)]))
        ranges[-1].__enter__()

    def behind(_module: nn.Module, _inputs: Any, _result: Any) -> None:
        ranges.pop().__exit__(None, None, None)

    return before, behind


def _rows_of_events(recorded: Any, types: dict[str, str]) -> list[dict[str, Any]]:
    """Follow the allocations inside each module's ranges, in order of time."""
    events = sorted(recorded.profiler.kineto_results.events(), key=lambda event: event.start_ns())
    changes = [
        (event.start_ns(), event.nbytes())
        for event in events
        if event.name() == "[memory]" and str(event.device_type()).endswith("CPU")
    ]
    rows: dict[str, dict[str, Any]] = {}
    for event in events:
        if not event.name().startswith(_PREFIX):
            continue
        name = event.name()[len(_PREFIX) :]
        row = rows.setdefault(name, _row(name, types[name]))
        end_ns = event.start_ns() + event.duration_ns()
        held = highest = 0
        for at_ns, size in changes:
            if event.start_ns() <= at_ns < end_ns:
                held += size
                highest = max(highest, held)
        row["call_count"] += 1
        row["retained_bytes"] = held
        row["peak_bytes"] = max(row["peak_bytes"], highest)
    return list(rows.values())


def _row(name: str, type_name: str) -> dict[str, Any]:
    return {"name": name, "type": type_name, "call_count": 0, "retained_bytes": 0, "peak_bytes": 0}
