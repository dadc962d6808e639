"""Read a PyTorch (Kineto) trace: one capture of one process."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from ascend_sn._native.memory import release_free
from ascend_sn.errors import FormatError
from ascend_sn.formats.chrome.counters import counter_rows
from ascend_sn.formats.chrome.events import Events
from ascend_sn.formats.kineto import collectives, device, flows, groups, header, host, memory, processor
from ascend_sn.formats.kineto.categories import PYTHON
from ascend_sn.formats.kineto.coverage import coverage
from ascend_sn.formats.kineto.recognise import is_execution_trace, is_kineto
from ascend_sn.formats.kineto.shapes import inputs
from ascend_sn.formats.kineto.sift import Sifted, sift
from ascend_sn.formats.kineto.stacks import Stacks, stacks_from_frames, stacks_from_text
from ascend_sn.formats.reader import Reader, Source
from ascend_sn.model.capture import Capture, DeviceKind
from ascend_sn.model.ledger import Ledger
from ascend_sn.model.rows import Text

__all__ = ["EXECUTION_TRACE", "READER", "tables_of"]

_NAME: Final = "kineto"


def read(source: Source) -> list[Capture]:
    """Return the capture of a trace.

    Raises:
        EmptyInputError: The file holds no timed events.
        FormatError: Nothing usable is left of a damaged file.
    """
    ledger, file = Ledger(), source.relative(source.path)
    sifted = sift(source.path, file, ledger)
    release_free(sifted.event_count)
    base_ns = header.base_time_ns(sifted.metadata, file, ledger)
    kind, tables, launch_count = tables_of(sifted, base_ns, file, ledger)
    if sifted.counter_count:
        tables["counter"] = counter_rows(source.path, base_ns)
    capture = Capture(
        header=header.header(source, sifted, kind, tables["kernel"], base_ns, _NAME, ledger),
        tables=tables,
        ledger=ledger,
    )
    capture.coverage = coverage(capture, sifted.metadata, kind == "cpu", launch_count)
    return [capture]


def tables_of(sifted: Sifted, base_ns: int, file: str, ledger: Ledger) -> tuple[DeviceKind, dict[str, Any], int]:
    """Return the kind of device, the tables, and how many host calls launch kernels.

    Args:
        sifted: The events; their times are relative to `base_ns`.
        base_ns: Added to every time.
        file: Name in the ledger.
        ledger: Gets what could not be read.
    """
    kind = header.device_kind(sifted)
    build = _Build(sifted, base_ns, file, ledger)
    return kind, build.device() if kind != "cpu" else build.processor(), build.launch_count()


class _Build:
    """The tables of one sifted trace; host tables first, since device tables point into them."""

    def __init__(self, sifted: Sifted, base_ns: int, file: str, ledger: Ledger) -> None:
        self._sifted, self._base_ns, self._file, self._ledger = sifted, base_ns, file, ledger
        marks = host.step_marks(sifted.host, sifted.calls, sifted.device, sifted.strings)
        self._marks, self._host = sifted.host.take(marks), sifted.host.take(~marks)
        self._groups = groups.configured_groups(sifted.metadata, file, ledger)
        self._threads = host.Threads.of([sifted.host, sifted.calls], sifted.strings)

    def device(self) -> dict[str, Any]:
        """Return the tables of a capture with a device."""
        sifted, strings = self._sifted, self._sifted.strings
        linked = device.launches(sifted.device, sifted.calls, self._host, sifted.flows, strings)
        is_communication = device.is_communication(sifted.device, strings)
        called = collectives.called(
            sifted.device, is_communication, sifted.parameters, sifted.calls, self._host, linked, sifted.spans, strings
        )
        op_codes = np.full(len(sifted.device), -1, np.int32)
        op_codes[called.row] = called.op.codes
        tables = self._host_tables()
        kernels = device.kernel_rows(
            sifted.device, self._base_ns, strings, linked, sifted.calls, Text(op_codes, called.op.values)
        )
        overlapping = device.overlapping_pairs(kernels)
        if overlapping:
            self._ledger.add(
                self._file,
                "overlapping_slices",
                count=overlapping,
                example=f"{overlapping} pairs of neighbours on one stream overlap; both are kept",
                severity="info",
            )
        named = {key: np.append(sifted.parameters.texts[key], codes) for key, codes in called.texts.items()}
        tables["kernel"] = kernels
        tables["kernel_metric"] = device.metric_rows(sifted.device)
        tables["collective"] = collectives.collective_rows(called, kernels, groups.only_group(self._groups), strings)
        tables["comm_group_member"] = groups.group_rows(self._groups, named, strings)
        tables["flow"] = flows.flow_rows(
            flows.forward_backward(sifted.flows, self._host, strings),
            flows.event_waits(sifted.device, sifted.calls, strings),
        )
        return tables

    def processor(self) -> dict[str, Any]:
        """Return the tables of a capture without a device."""
        sifted, strings = self._sifted, self._sifted.strings
        tables = self._host_tables()
        works, communication = processor.host_work(self._host, strings)
        op = processor.operations(self._host, communication, strings)
        tables["kernel"] = processor.host_kernel_rows(tables["operator"], works, communication, op)
        tables["collective"] = processor.host_collective_rows(
            self._host, tables["kernel"], communication, op, groups.only_group(self._groups), strings
        )
        tables["comm_group_member"] = groups.group_rows(self._groups, sifted.parameters.texts, strings)
        none = np.zeros(0, np.int64)
        tables["flow"] = flows.flow_rows(flows.forward_backward(sifted.flows, self._host, strings), (none, none))
        return tables

    def launch_count(self) -> int:
        """Return how many host calls launch kernels."""
        return int(np.count_nonzero(host.launching(self._sifted.calls, self._sifted.strings)))

    def _host_tables(self) -> dict[str, Any]:
        sifted, strings, base_ns = self._sifted, self._sifted.strings, self._base_ns
        stacks = _stacks(self._host, sifted.spans, strings)
        dims, types = self._host.texts["Input Dims"], self._host.texts["Input type"]
        signatures = inputs(dims, types, strings) if bool((dims >= 0).any()) else None
        if signatures is not None and signatures.unreadable:
            self._ledger.add(self._file, "unreadable_shapes", count=signatures.unreadable, example="left empty")
        operators = host.operator_rows(self._host, base_ns, strings, self._threads, signatures, stacks)
        tables = {
            "step": host.step_rows(self._marks, base_ns, strings),
            "operator": operators,
            "host_call": host.call_rows(sifted.calls, base_ns, strings, self._threads),
            "span": host.span_rows(sifted.spans, sifted.instants, base_ns, strings, self._threads),
            "memory_event": memory.memory_rows(
                sifted.memory, base_ns, strings, self._threads, operators, self._file, self._ledger
            ),
        }
        if stacks is not None:
            tables["stack"] = stacks.rows
        return tables


def _stacks(host_events: Events, spans: Events, strings: Sequence[str]) -> Stacks | None:
    if bool((host_events.texts["Call stack"] >= 0).any()):
        return stacks_from_text(host_events, strings)
    frames = spans.take(spans.kind == PYTHON)
    return stacks_from_frames(host_events, frames, strings) if len(frames) and len(host_events) else None


def _members(path: Path) -> list[Path]:
    return [path]


def _refuse(source: Source) -> list[Capture]:
    raise FormatError(
        source.path,
        "this is a PyTorch execution trace (nodes without times), not a profile; "
        "open the trace that torch.profiler exports",
    )


READER = Reader(_NAME, is_kineto, _members, read)
EXECUTION_TRACE = Reader("pytorch-execution-trace", is_execution_trace, _members, _refuse)
