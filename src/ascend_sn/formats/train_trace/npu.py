"""Captures of the torch_npu backend: its own export, with what the recorder knows beside it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from ascend_sn.errors import InputError
from ascend_sn.formats.reader import Source
from ascend_sn.formats.torch_npu.run_folder import READER as TORCH_NPU
from ascend_sn.model.capture import Capture, ProfileHeader
from ascend_sn.model.ledger import CoverageEntry, Ledger
from ascend_sn.model.rows import Int64, Rows, concatenate
from ascend_sn.model.tables import BY_NAME
from ascend_sn.model.trace_schema import COLLECTION_CATEGORY, NPU_FOLDER

__all__ = ["npu_captures", "npu_members"]

_ID_OF = {"span": "span_id", "step": "step_id", "host_call": "host_call_id"}


def npu_members(folder: Path) -> list[Path]:
    """Return the files of the exports that lie beside a trace."""
    return [file for run in _runs(folder) for file in TORCH_NPU.members(run)]


def npu_captures(
    source: Source, path: Path, header: ProfileHeader, marked: Mapping[str, Rows], starts: Int64, ledger: Ledger
) -> list[Capture]:
    """Return one capture per window, each with the marks that the program set in it.

    Args:
        source: What was opened.
        path: The trace.
        header: Header of the trace.
        marked: The recorder's own tables: step, span, metric, counter; of host_call the garbage collections.
        starts: Start of each window, ascending.
        ledger: Ledger of the trace; gets the exports that cannot be read.

    Returns:
        Empty when no export can be read: the trace alone is used then.
    """
    runs = _runs(path.parent)
    if len(runs) < len(starts):
        example = (
            f"{len(runs)} exports of torch_npu for {len(starts)} windows; was it stopped before it had parsed them?"
        )
        ledger.add(source.relative(path.parent / NPU_FOLDER), "missing_export", example=example)
    captures = []
    for place, run in enumerate(runs):
        try:
            (capture,) = TORCH_NPU.read(Source(TORCH_NPU, run, source.root, source.phase))
        except InputError as error:
            ledger.add(source.relative(run), "unreadable", example=error.problem)
            continue
        begin = starts[place] if 0 < place < len(starts) else 0
        end = starts[place + 1] if place + 1 < len(starts) else np.iinfo(np.int64).max
        captures.append(_with_marks(capture, header, _between(marked, int(begin), int(end)), ledger))
    return captures


def _runs(folder: Path) -> list[Path]:
    """Return the run folders of torch_npu in order of time, which their names end with."""
    found = (run for run in (folder / NPU_FOLDER).glob("*_ascend_pt") if run.is_dir())
    return sorted(found, key=lambda run: run.name.removesuffix("_ascend_pt").rpartition("_")[2])


def _with_marks(capture: Capture, header: ProfileHeader, marked: Mapping[str, Rows], ledger: Ledger) -> Capture:
    ours = header.config | {"torch_npu": capture.header.config}
    capture.header = replace(
        capture.header,
        host=header.host or capture.header.host,
        pid=header.pid,
        rank=capture.header.rank if header.rank is None else header.rank,
        world_size=header.world_size or capture.header.world_size,
        versions=header.versions | capture.header.versions,
        config=ours,
    )
    for name, rows in marked.items():
        theirs = capture.rows(name)
        if not len(rows) or (name == "host_call" and theirs.text("level").matches([COLLECTION_CATEGORY]).any()):
            continue  # of collections, those that torch_npu recorded are the same ones
        if name == "step" or not len(theirs):
            capture.tables[name] = rows
        else:
            capture.tables[name] = concatenate(BY_NAME[name], [theirs, rows])
        if name in _ID_OF:
            count = len(capture.tables[name])
            capture.tables[name] = capture.tables[name].replace(**{_ID_OF[name]: np.arange(count)})
        capture.coverage = [entry for entry in capture.coverage if entry.table_name != name or entry.column_name]
        capture.coverage.append(CoverageEntry(name, "collected"))
    capture.ledger.entries += ledger.entries
    return capture


def _between(marked: Mapping[str, Rows], begin: int, end: int) -> dict[str, Rows]:
    chosen = {}
    for name, rows in marked.items():
        ts = rows.values("ts_ns")
        chosen[name] = rows.take(np.flatnonzero((ts >= begin) & (ts < end)))
    return chosen
