"""What a PyTorch profiler was asked for, and what came."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from ascend_sn.model.capture import Capture
from ascend_sn.model.ledger import CoverageEntry, kind_words, launches_text

__all__ = ["coverage"]

_UNSUPPORTED: Final = {
    "kernel_metric": "PyTorch traces of this device hold no figures of single kernels",
    "comm_task": "PyTorch traces hold whole collectives, not their parts",
    "link": "PyTorch traces do not say which links a collective used",
    "counter": "no counters were recorded",
    "metric": "PyTorch traces hold no values that the program logged",
}
_HOST_ON: Final = "torch.profiler.profile(activities=[ProfilerActivity.CPU])"
_DEVICE_ON: Final = "torch.profiler.profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA])"
_MEMORY_ON: Final = "torch.profiler.profile(profile_memory=True)"
_SHAPES_ON: Final = "torch.profiler.profile(record_shapes=True)"
_STACK_ON: Final = "torch.profiler.profile(with_stack=True)"
_MODULES_ON: Final = "torch.profiler.profile(with_stack=True, with_modules=True)"


def coverage(capture: Capture, metadata: dict[str, Any], host_only: bool, launch_count: int) -> list[CoverageEntry]:
    """Return the coverage of a finished capture.

    Args:
        capture: The capture with its tables.
        metadata: The trace's own keys.
        host_only: Whether the processor is the device of this capture.
        launch_count: Host calls that launch device work, to tell a device that was not recorded.
    """
    entries = [
        CoverageEntry(name, "unsupported", reason)
        for name, reason in _UNSUPPORTED.items()
        if not capture.rows(name).length
    ]
    for name in ("step", "operator", "host_call", "kernel", "kernel_metric", "counter", "span", "flow"):
        if capture.rows(name).length:
            entries.append(CoverageEntry(name, "collected"))
    entries += _host(capture, host_only)
    entries += _device(capture, host_only, launch_count)
    entries += _distributed(capture, metadata)
    allocations = capture.rows("memory_event").length > 0
    entries.append(_optional(allocations, metadata, "profile_memory", "memory_event", None, _MEMORY_ON))
    entries.append(
        CoverageEntry("memory_sample", "unsupported", "PyTorch traces hold allocator events, not samples")
        if allocations
        else _optional(False, metadata, "profile_memory", "memory_sample", None, _MEMORY_ON)
    )
    operators = capture.rows("operator")
    if operators.length:
        for column, option, turn_on in (
            ("input_shapes", "record_shapes", _SHAPES_ON),
            ("input_dtypes", "record_shapes", _SHAPES_ON),
            ("input_bytes", "record_shapes", _SHAPES_ON),
            ("stack_id", "with_stack", _STACK_ON),
            ("module", "with_modules", _MODULES_ON),
        ):
            came = bool(operators.valid(column).any())
            entries.append(_optional(came, metadata, option, "operator", column, turn_on))
        for column in ("output_shapes", "output_dtypes", "output_bytes"):
            entries.append(CoverageEntry("operator", "unsupported", "PyTorch records inputs only", column_name=column))
        entries.append(_optional(capture.rows("stack").length > 0, metadata, "with_stack", "stack", None, _STACK_ON))
    return [_with_loss(entry, _loss(capture)) for entry in entries]


def _loss(capture: Capture) -> str:
    """Return what was lost while reading, empty when the file was whole."""
    lost = [one for one in capture.ledger.entries if one.severity == "damage" and one.kind != "invalid_utf8"]
    told = ((kind_words(one.kind), one.example) for one in lost)
    return "; ".join(dict.fromkeys(f"{kind}: {example}" if example else kind for kind, example in told))


def _with_loss(entry: CoverageEntry, loss: str) -> CoverageEntry:
    if loss and entry.state == "collected" and entry.column_name is None:
        return replace(entry, state="damaged", reason=loss)
    return entry


def _host(capture: Capture, host_only: bool) -> list[CoverageEntry]:
    entries = []
    if not capture.rows("operator").length:
        entries.append(CoverageEntry("operator", "missing", "no framework operators were recorded", _HOST_ON))
    if not capture.rows("host_call").length:
        entries.append(
            CoverageEntry("host_call", "unsupported", "a capture of the processor has no runtime calls")
            if host_only
            else CoverageEntry("host_call", "missing", "no runtime calls were recorded", _DEVICE_ON)
        )
    if not capture.rows("span").length:
        entries.append(CoverageEntry("span", "empty", "no ranges were recorded"))
    if not capture.rows("flow").length:
        entries.append(CoverageEntry("flow", "empty", "no arrows were recorded"))
    return entries


def _device(capture: Capture, host_only: bool, launch_count: int) -> list[CoverageEntry]:
    if capture.rows("kernel").length:
        return []
    if host_only:
        return [CoverageEntry("kernel", "missing", "no operators were recorded", _HOST_ON)]
    if launch_count:
        reason = f"the host made {launches_text(launch_count)}, the device recorded nothing"
        return [CoverageEntry("kernel", "missing", reason, _DEVICE_ON)]
    return [CoverageEntry("kernel", "missing", "no device activity was recorded", _DEVICE_ON)]


def _distributed(capture: Capture, metadata: dict[str, Any]) -> list[CoverageEntry]:
    entries = []
    groups = capture.rows("comm_group_member").length
    collectives = capture.rows("collective").length
    info = metadata.get("distributedInfo")
    world_size = info.get("world_size") if isinstance(info, dict) else None
    if groups:
        entries.append(CoverageEntry("comm_group_member", "collected"))
    elif world_size is None or world_size == 1:
        entries.append(CoverageEntry("comm_group_member", "empty", "the trace names no process group"))
    else:
        entries.append(CoverageEntry("comm_group_member", "missing", "the trace does not list its process groups"))
    if collectives:
        entries.append(CoverageEntry("collective", "collected"))
    else:
        entries.append(CoverageEntry("collective", "empty", "no communication kernels were recorded"))
    return entries


def _optional(
    came: bool, metadata: dict[str, Any], option: str, table: str, column: str | None, turn_on: str
) -> CoverageEntry:
    """Return the state of what an option of the profiler collects."""
    if came:
        return CoverageEntry(table, "collected", column_name=column)
    if metadata.get(option):
        return CoverageEntry(
            table, "missing", f"requested ({option}), but nothing was recorded", turn_on, column_name=column
        )
    return CoverageEntry(table, "not_requested", f"{option} was off", turn_on, column_name=column)
