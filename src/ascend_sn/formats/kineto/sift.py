"""Sort the events of a PyTorch trace into classes, one pass over the file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from ascend_sn._native.trace_scan import Strings, TraceColumns
from ascend_sn.formats.chrome.events import Events, Gathering, concatenate, lookup, one_of
from ascend_sn.formats.chrome.pairs import paired
from ascend_sn.formats.chrome.scanning import Scan
from ascend_sn.formats.kineto import categories
from ascend_sn.model.ledger import Ledger
from ascend_sn.model.rows import Bool

__all__ = ["COLLECTIVE_ARGUMENTS", "Sifted", "sift"]

COLLECTIVE_ARGUMENTS: Final = (
    "Collective name",
    "dtype",
    "Process Group Name",
    "Process Group Description",
    "Process Group Ranks",
)
_COLLECTIVE_NUMBERS: Final = ("In msg nelems", "Out msg nelems", "Group size", "Seq")

_HOST_TEXTS: Final = ("External id", "Input Dims", "Input type", "Call stack", "Module Hierarchy")
_DEVICE_TEXTS: Final = ("External id", "correlation", "stream", "grid", "wait_on_cuda_event_record_corr_id")
_DEVICE_NUMBERS: Final = ("device", "stream", "bytes")
_MEMORY_NUMBERS: Final = ("Device Type", "Device Id", "Addr", "Bytes", "Total Allocated", "Total Reserved")
OCCUPANCY: Final = "est. achieved occupancy %"

_B, _E, _C, _M = (ord(letter) for letter in "BECM")
_MEMORY_NAME: Final = "[memory]"
_PARAMETERS_NAME: Final = "record_param_comms"
_WINDOW_INSTANTS: Final = ("Record Window End", "Iteration Start")
_IS_INSTANT: Final = one_of(map(ord, "iI"))
_IS_FLOW: Final = one_of(map(ord, "stf"))
_IS_HOST: Final = one_of(categories.HOST_CLASSES)
_IS_DEVICE: Final = one_of((*categories.DEVICE_CLASSES, categories.UNKNOWN))
_IS_SPAN: Final = one_of((categories.PYTHON, categories.DEVICE_ANNOTATION, categories.SPAN))
_DEVICE_LABELS: Final = ("GPU", "MTIA", "NPU", "XPU", "HPU")
_PARAMETERS = 1


@dataclass(frozen=True)
class Sifted:
    """The events of a trace by class; `strings` resolves every code.

    Attributes:
        host: Operators and annotations (`kind` says which), file order.
        parameters: The host rows that carry a collective's parameters.
        device: Kernels, copies, sets, synchronisations; `kind` says which.
        spans: Python frames, device annotations and what is none of the others.
        instants: Instants that are neither allocations nor marks of the profiler.
        counter_count: Counter events, which only a second look at the file resolves.
        event_count: All events of the file, of any phase.
    """

    strings: Strings
    metadata: dict[str, Any]
    host: Events
    parameters: Events
    calls: Events
    device: Events
    spans: Events
    memory: Events
    instants: Events
    flows: Events
    counter_count: int
    event_count: int


def sift(path: Path, file: str, ledger: Ledger) -> Sifted:
    """Read a trace once and sort its events; damage goes to the ledger under the name `file`."""
    collective_texts, numbers = COLLECTIVE_ARGUMENTS, _COLLECTIVE_NUMBERS
    gatherings = {
        "host": Gathering(texts=_HOST_TEXTS),
        "parameters": Gathering(texts=collective_texts, integers=numbers),
        "calls": Gathering(texts=("correlation", "size")),
        "device": Gathering(
            texts=_DEVICE_TEXTS + collective_texts, integers=_DEVICE_NUMBERS + numbers, reals=(OCCUPANCY,)
        ),
        "spans": Gathering(),
        "memory": Gathering(texts=("Addr",), integers=_MEMORY_NUMBERS),
        "instants": Gathering(),
        "flows": Gathering(),
        "nested": Gathering(),
    }
    keys = {key for one in gatherings.values() for key in (*one.texts, *one.integers, *one.reals)} | {"labels"}
    scan = Scan(path, file, ledger, sorted(keys))
    device_pids: set[int] = set()
    counter_count = 0
    for block in scan.blocks():
        device_pids |= _device_processes(block)
        slices = scan.slices(block)
        kind = lookup(block.cat, block.strings, categories.class_of_category, categories.UNKNOWN)
        host = slices & _IS_HOST[kind]
        with_parameters = host.copy()
        with_parameters[host] = lookup(block.name[host], block.strings, _parameters_code, 0) == _PARAMETERS
        placed = scan.placed(block)
        instants = placed & _IS_INSTANT[block.ph]
        role = lookup(block.name[instants], block.strings, _instant_role, 1)
        is_memory, is_other = np.zeros((2, block.count), np.bool_)
        is_memory[instants], is_other[instants] = role == 0, role == 1
        chosen: dict[str, Bool] = {
            "host": host,
            "parameters": with_parameters,
            "calls": slices & (kind == categories.HOST_CALL),
            "device": slices & _IS_DEVICE[kind],
            "spans": slices & _IS_SPAN[kind],
            "nested": placed & ((block.ph == _B) | (block.ph == _E)),
            "memory": is_memory,
            "instants": is_other,
            "flows": placed & _IS_FLOW[block.ph],
        }
        for name, mask in chosen.items():
            gatherings[name].add(block, np.flatnonzero(mask), kind)
        counter_count += int(np.count_nonzero(block.ph == _C))
    scan.finish()
    events = {name: gathering.gathered() for name, gathering in gatherings.items()}
    device, elsewhere = _placed(events.pop("device"), device_pids)
    nested = paired(events.pop("nested"), file, ledger)
    spans = [events.pop("spans"), elsewhere, nested]
    return Sifted(
        strings=scan.strings,
        metadata=scan.metadata,
        **events,
        device=device,
        spans=concatenate(spans),
        counter_count=counter_count,
        event_count=scan.event_count,
    )


def _device_processes(block: TraceColumns) -> set[int]:
    """Codes of the process ids that a metadata event labels as a device (`GPU 0`)."""
    rows, codes, _ = block.args.told("labels")
    labelled = zip(rows.tolist(), codes.tolist(), strict=True)
    return {
        int(block.pid[row])
        for row, code in labelled
        if block.ph[row] == _M and block.strings[code].startswith(_DEVICE_LABELS)
    }


def _placed(device: Events, device_pids: set[int]) -> tuple[Events, Events]:
    """Part slices of unknown categories by the label of their process: device work, or a range."""
    unknown = device.kind == categories.UNKNOWN
    if not bool(unknown.any()):
        return device, device.take(np.zeros(0, np.int64))
    elsewhere = unknown & ~(np.isin(device.pid, list(device_pids)) & (device.category >= 0))
    return device.take(~elsewhere), device.take(elsewhere)


def _parameters_code(name: str) -> int:
    return _PARAMETERS if name == _PARAMETERS_NAME else 0


def _instant_role(name: str) -> int:
    if name == _MEMORY_NAME:
        return 0
    return 2 if name.startswith(_WINDOW_INSTANTS) else 1
