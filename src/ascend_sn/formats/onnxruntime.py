"""Read the profile that an ONNX Runtime session writes: runs of a model and the nodes in them.

Its times count from the start of the session. On the processor the nodes are the kernels; with an
accelerator they are host times, and kernels come only from events of the category `Kernel`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from ascend_sn._native.nesting import nest
from ascend_sn.errors import JsonTextError
from ascend_sn.formats.chrome.events import Events, Gathering, lookup, thread_keys
from ascend_sn.formats.chrome.scanning import Scan
from ascend_sn.formats.chrome.texts import mapped_integers, mapped_text, text_column
from ascend_sn.formats.json_text import json_value
from ascend_sn.formats.reader import Candidate, Reader, Source
from ascend_sn.model.capture import Capture, DeviceKind, ProfileHeader
from ascend_sn.model.ledger import CoverageEntry, Ledger
from ascend_sn.model.rows import Bool, Nullable, Rows, Text, conform
from ascend_sn.model.tables import KERNEL, OPERATOR, SPAN, STEP

__all__ = ["READER"]

_NAME: Final = "onnxruntime"
_CATEGORY: Final = re.compile(rb'"cat"\s*:\s*"(?:Session|Node)"')
_OWN_NAME: Final = re.compile(
    rb'_kernel_time"|"model_loading_|"session_initialization"|"model_run"|SequentialExecutor::Execute'
)
_LIST: Final = re.compile(rb"\s*+(?:\xef\xbb\xbf)?+\s*+\[")

_RUN, _SESSION, _NODE, _FENCE, _KERNEL, _OTHER = range(6)
_KERNEL_SUFFIX: Final = "_kernel_time"
_FENCE_SUFFIX: Final = re.compile(r"_fence_(?:before|after)$")
_DOMAINS: Final = ("request", "session", "node", "fence", "kernel", "other")

_SHAPES: Final = ("input_type_shape", "output_type_shape")
_ARGUMENTS: Final = ("op_name", "provider", *_SHAPES)
_SIZES: Final = ("activation_size", "parameter_size", "output_size")
_DEVICE_PROVIDERS: Final[tuple[tuple[str, DeviceKind], ...]] = (
    ("CANN", "npu"),
    ("CUDA", "cuda"),
    ("Tensorrt", "cuda"),
    ("NvTensorRT", "cuda"),
    ("ROCM", "rocm"),
    ("MIGraphX", "rocm"),
)
_CONTROL_FLOW: Final = ("If", "Loop", "Scan", "SequenceMap")
_COPIES: Final = {"MemcpyFromHost": "h2d", "MemcpyToHost": "d2h"}


def read(source: Source) -> list[Capture]:
    """Return the capture of a session.

    Raises:
        EmptyInputError: The file holds no timed events.
        FormatError: Nothing usable is left of a damaged file.
    """
    ledger, file = Ledger(), source.relative(source.path)
    session = _session(source.path, file, ledger)
    events, strings = session.events, session.strings
    kind = _device_kind(events, strings)
    nodes = events.take(events.kind == _NODE)
    tables = {
        "step": _step_rows(events.take(events.kind == _RUN)),
        "operator": _operator_rows(nodes, strings),
        "span": _span_rows(events.take((events.kind != _NODE) & (events.kind != _KERNEL)), strings),
    }
    _tell_unreadable(nodes, strings, file, ledger)
    tables["kernel"] = _kernel_rows(events, nodes, tables["operator"], kind, strings)
    ledger.add(
        file, "relative_clock", example="times count from the start of the session, not from the epoch", severity="info"
    )
    header = ProfileHeader(
        format=_NAME, source=source.name, device_kind=kind, pid=_process(events, strings), phase=source.phase
    )
    return [Capture(header=header, tables=tables, coverage=_coverage(tables, kind), ledger=ledger)]


@dataclass(frozen=True)
class _Session:
    events: Events
    strings: Sequence[str]


def _session(path: Path, file: str, ledger: Ledger) -> _Session:
    gathering = Gathering(texts=(*_ARGUMENTS, *_SIZES))
    scan = Scan(path, file, ledger, (*_ARGUMENTS, *_SIZES))
    for block in scan.blocks():
        category = lookup(block.cat, block.strings, _class_of_category, _OTHER)
        name = lookup(block.name, block.strings, _class_of_name, _OTHER)
        kind = np.where(category == _NODE, np.where(name == _FENCE, _FENCE, _NODE), category)
        kind = np.where((category == _SESSION) & (name == _RUN), _RUN, kind).astype(np.int8)
        gathering.add(block, np.flatnonzero(scan.slices(block)), kind)
    scan.finish()
    return _Session(gathering.gathered(), scan.strings)


def _class_of_category(category: str) -> int:
    return {"Session": _SESSION, "Node": _NODE, "Kernel": _KERNEL}.get(category, _OTHER)


def _class_of_name(name: str) -> int:
    if name == "model_run":
        return _RUN
    return _FENCE if _FENCE_SUFFIX.search(name) else _OTHER


def _step_rows(runs: Events) -> Rows:
    """Return the runs of the model in order of time, numbered from 0."""
    runs = runs.take(np.argsort(runs.ts, kind="stable"))
    count = len(runs)
    return conform(
        STEP,
        count,
        step_id=np.arange(count),
        step=np.arange(count),
        session=0,
        ts_ns=runs.ts,
        dur_ns=runs.dur,
        origin="mark",
    )


def _operator_rows(nodes: Events, strings: Sequence[str]) -> Rows:
    """Return the nodes: named by their operator, with the node's own name as the module."""
    names = text_column(nodes.name, strings)
    node = names.mapped(lambda name: name.removesuffix(_KERNEL_SUFFIX) or None)
    operator = text_column(nodes.texts["op_name"], strings)
    inputs, outputs = nodes.texts["input_type_shape"], nodes.texts["output_type_shape"]
    sizes = {key: mapped_integers(nodes.texts[key], strings, _integer) for key in _SIZES}
    activation, parameter = sizes["activation_size"], sizes["parameter_size"]
    return conform(
        OPERATOR,
        len(nodes),
        operator_id=np.arange(len(nodes)),
        thread=text_column(nodes.tid, strings),
        name=_first(operator, names),
        ts_ns=nodes.ts,
        dur_ns=nodes.dur,
        module=node,
        input_shapes=mapped_text(inputs, strings, _shapes),
        input_dtypes=mapped_text(inputs, strings, _dtypes),
        output_shapes=mapped_text(outputs, strings, _shapes),
        output_dtypes=mapped_text(outputs, strings, _dtypes),
        input_bytes=Nullable(activation.values + np.where(parameter.valid, parameter.values, 0), activation.valid),
        output_bytes=sizes["output_size"],
    )


def _tell_unreadable(nodes: Events, strings: Sequence[str], file: str, ledger: Ledger) -> None:
    """Count the sizes and shapes that are given and are none."""
    readable = {key: mapped_integers(nodes.texts[key], strings, _integer).valid for key in _SIZES}
    readable |= {key: mapped_text(nodes.texts[key], strings, _shapes).codes >= 0 for key in _SHAPES}
    for key, valid in readable.items():
        codes = nodes.texts[key][(nodes.texts[key] >= 0) & ~valid]
        if len(codes):
            ledger.add(file, "unreadable_cell", place=f"args.{key}", count=len(codes), example=strings[int(codes[0])])


def _span_rows(events: Events, strings: Sequence[str]) -> Rows:
    return conform(
        SPAN,
        len(events),
        span_id=np.arange(len(events)),
        name=text_column(events.name, strings),
        domain=Text(events.kind.astype(np.int32), list(_DOMAINS)),
        thread=text_column(events.tid, strings),
        ts_ns=events.ts,
        dur_ns=events.dur,
    )


def _kernel_rows(events: Events, nodes: Events, operators: Rows, kind: DeviceKind, strings: Sequence[str]) -> Rows:
    if kind != "cpu":
        return _device_kernels(events.take(events.kind == _KERNEL), strings)
    row = np.flatnonzero(_leaves(nodes, strings))
    taken = operators.take(row)
    names = taken.text("name")
    copies = names.matches(_COPIES)
    return conform(
        KERNEL,
        len(row),
        kernel_id=np.arange(len(row)),
        device_id=0,
        stream=taken.text("thread"),
        name=text_column(nodes.name, strings).take(row).mapped(lambda name: name.removesuffix(_KERNEL_SUFFIX) or name),
        op_type=names,
        kind=Text(copies.astype(np.int32), ["compute", "copy"]),
        core_type=text_column(nodes.texts["provider"], strings).take(row),
        ts_ns=taken.values("ts_ns"),
        dur_ns=taken.values("dur_ns"),
        operator_id=row,
        input_shapes=taken.text("input_shapes"),
        input_dtypes=taken.text("input_dtypes"),
        output_shapes=taken.text("output_shapes"),
        output_dtypes=taken.text("output_dtypes"),
        copy_direction=names.mapped(_COPIES.get),
    )


def _device_kernels(kernels: Events, strings: Sequence[str]) -> Rows:
    names = text_column(kernels.name, strings)
    op_type = text_column(kernels.texts["op_name"], strings)
    copies = op_type.matches(_COPIES) | names.where(lambda name: name.startswith("Memcpy"))
    return conform(
        KERNEL,
        len(kernels),
        kernel_id=np.arange(len(kernels)),
        device_id=0,
        stream=text_column(kernels.tid, strings),
        name=names,
        op_type=op_type,
        kind=Text(copies.astype(np.int32), ["compute", "copy"]),
        core_type=text_column(kernels.texts["provider"], strings),
        ts_ns=kernels.ts,
        dur_ns=kernels.dur,
    )


def _leaves(nodes: Events, strings: Sequence[str]) -> Bool:
    """Return the nodes that do work themselves: all but control flow that holds the nodes of its bodies."""
    operator = text_column(nodes.texts["op_name"], strings)
    control = operator.matches(_CONTROL_FLOW)
    parent = nest(thread_keys(nodes.pid, nodes.tid), nodes.ts, nodes.dur).parent
    holds = np.zeros(len(nodes), np.bool_)
    holds[parent[parent >= 0]] = True
    return ~(control & holds)


def _device_kind(events: Events, strings: Sequence[str]) -> DeviceKind:
    providers = text_column(events.texts["provider"], strings).values
    for start, kind in _DEVICE_PROVIDERS:
        if any(provider.startswith(start) for provider in providers):
            return kind
    return "cuda" if bool((events.kind == _KERNEL).any()) else "cpu"


def _process(events: Events, strings: Sequence[str]) -> int | None:
    pids = events.pid[events.pid >= 0]
    return _integer(strings[int(pids[0])]) if len(pids) else None


def _first(preferred: Text, otherwise: Text) -> Text:
    moved = np.where(otherwise.codes >= 0, otherwise.codes + len(preferred.values), -1)
    codes = np.where(preferred.codes >= 0, preferred.codes, moved).astype(np.int32)
    return Text(codes, [*preferred.values, *otherwise.values]).mapped(str)


def _shapes(text: str) -> str | None:
    entries = _entries(text)
    return None if entries is None else ";".join(",".join(str(size) for size in sizes) for _, sizes in entries)


def _dtypes(text: str) -> str | None:
    entries = _entries(text)
    return None if entries is None else ";".join(dtype for dtype, _ in entries)


def _entries(text: str) -> list[tuple[str, list[int]]] | None:
    """Return (type, sizes) of each tensor of a list such as `[{"float":[4,64]}]`."""
    try:
        found = json_value(text, list[dict[str, list[int]]])
    except JsonTextError:
        return None
    return [(dtype, sizes) for entry in found for dtype, sizes in entry.items()]


def _integer(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else None


def _coverage(tables: dict[str, Rows], kind: DeviceKind) -> list[CoverageEntry]:
    entries = [
        CoverageEntry(name, "collected" if tables[name].length else "empty") for name in ("step", "operator", "span")
    ]
    if tables["kernel"].length:
        entries.append(CoverageEntry("kernel", "collected"))
    elif kind == "cpu":
        entries.append(CoverageEntry("kernel", "empty", "no node ran"))
    else:
        reason = "the execution provider recorded node times on the host only"
        entries.append(CoverageEntry("kernel", "unsupported", reason, "profile the device with its own profiler"))
    for name in ("host_call", "collective", "memory_event", "memory_sample", "counter", "stack"):
        entries.append(CoverageEntry(name, "unsupported", "ONNX Runtime profiles hold sessions, runs and nodes only"))
    return entries


def _claims(candidate: Candidate) -> bool:
    head = candidate.head
    return bool(_LIST.match(head) and _CATEGORY.search(head) and _OWN_NAME.search(head))


def _members(path: Path) -> list[Path]:
    return [path]


READER = Reader(_NAME, _claims, _members, read)
