"""The reader of the recorder's files: one capture per `train.trace`."""

from __future__ import annotations

from pathlib import Path

from ascend_sn.errors import InputError
from ascend_sn.formats.heads import read_head
from ascend_sn.formats.reader import HEAD_BYTES, Candidate, Reader, Source
from ascend_sn.model import trace_schema as schema
from ascend_sn.model.capture import Capture

__all__ = ["READER", "is_trace_head"]


def is_trace_head(head: bytes) -> bool:
    """Whether a file starts as the recorder's does: an Arrow stream whose schema names our version key."""
    return head.startswith(b"\xff\xff\xff\xff") and schema.VERSION_KEY.encode() in head


def _claims(candidate: Candidate) -> bool:
    if candidate.is_folder:
        path = candidate.path / schema.TRACE_NAME
        return schema.TRACE_NAME in candidate.names and path.is_file() and is_trace_head(read_head(path, HEAD_BYTES))
    return is_trace_head(candidate.head)


def _traces(path: Path) -> list[Path]:
    """Return the trace files of a folder: its own, and those of later runs and other ranks one level below."""
    if path.is_file():
        return [path]
    below = (folder / schema.TRACE_NAME for folder in sorted(path.iterdir()) if folder.is_dir())
    return [path / schema.TRACE_NAME, *(trace for trace in below if trace.is_file())]


def _members(path: Path) -> list[Path]:
    from ascend_sn.formats.train_trace.npu import npu_members

    traces = _traces(path)
    beside = [trace.with_name(name) for trace in traces for name in (schema.NAMES_NAME, schema.RING_NAME)]
    found = [file for file in beside if file.is_file()]
    return sorted([*traces, *found, *(file for trace in traces for file in npu_members(trace.parent))])


def _read(source: Source) -> list[Capture]:
    # Loaded here: this reader is asked first about every input, and most inputs are not of this kind.
    from ascend_sn.formats.train_trace.captures import captures_of

    traces = _traces(source.path)
    if len(traces) == 1:
        return captures_of(source, traces[0])
    captures: list[Capture] = []
    failures: list[InputError] = []
    for path in traces:
        try:
            captures += captures_of(source, path)
        except InputError as error:
            failures.append(error)
    if not captures:
        raise failures[0]
    for failure in failures:
        captures[0].ledger.add(source.relative(failure.path), "unreadable", example=failure.problem)
    return captures


READER = Reader(schema.TRACE_NAME, _claims, _members, _read)
