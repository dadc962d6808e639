"""Rows that a killed process left in its span ring: the last ones before it ended, and the spans that were open."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from ascend_sn._native.ring import Recovered, Ring
from ascend_sn.formats.train_trace.stream import Events
from ascend_sn.model.ledger import Ledger
from ascend_sn.model.times import possible_times
from ascend_sn.model.trace_schema import COLUMNS, OPEN_FLAG

__all__ = ["with_rows_left_behind"]

_RECORD: Final = np.dtype(
    {
        "names": [name for name, _ in COLUMNS],
        "formats": ["u1", "<i4", "<i4", "<i8", "<i8", "<i8", "<i8"],
        "offsets": [0, 4, 8, 12, 20, 28, 36],
        "itemsize": 44,
    }
)
_MAX_BYTES: Final = 64 << 20
"""The recorder's rings take 1.5 MB; what is much larger is none of them."""


def with_rows_left_behind(events: Events, path: Path, file: str, ledger: Ledger) -> Events:
    """Return the rows of a trace with those of its ring behind them; nothing is written.

    A span that was open ends with the last moment that anything was recorded at. The ring of a process that is
    still recording is left alone: what is in it comes into the trace within a moment.

    Args:
        events: Rows of `train.trace`.
        path: The ring's file; need not exist.
        file: Its name in the ledger.
        ledger: Told what was found.
    """
    found = _left_behind(path, file, ledger)
    if found is None:
        return events
    waiting = np.frombuffer(found.records, _RECORD)
    waiting = waiting[_written_already(events, waiting) :]
    finished = _joined(events, waiting)
    spans = np.frombuffer(found.open_spans, _RECORD).copy()
    last_ns = _last_moment(finished, spans)
    spans["kind"] |= OPEN_FLAG
    spans["dur_ns"] = np.maximum(last_ns - spans["ts_ns"], 0)
    if len(waiting) or len(spans):
        example = "rows that waited to be written when the process was killed"
        ledger.add(file, "recovered_rows", count=len(waiting) + len(spans), severity="info", example=example)
    if found.dropped or found.unfinished:
        example = "the recorder had no room for them, or the process was killed while it wrote them"
        ledger.add(file, "lost_rows", count=found.dropped + found.unfinished, example=example)
    return _joined(finished, spans)


def _left_behind(path: Path, file: str, ledger: Ledger) -> Recovered | None:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError as error:
        ledger.add(file, "unreadable", example=f"rows may wait in it: {error.strerror}")
        return None
    try:
        if _is_in_use(descriptor):
            return None
        if os.fstat(descriptor).st_size > _MAX_BYTES:
            raise ValueError("it is too large for a span ring")
        return Ring.recover(path)
    except (OSError, ValueError) as error:
        ledger.add(file, "unreadable", example=str(error))
        return None
    finally:
        os.close(descriptor)


def _is_in_use(descriptor: int) -> bool:
    """Whether the process that made the ring lives and records: it holds a lock."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:  # a file system without locks
        return False
    return False


def _written_already(events: Events, waiting: npt.NDArray[Any]) -> int:
    """Return how many of the waiting rows end the trace already: the process was killed before it let go of them."""
    if not len(waiting) or not len(events):
        return 0
    tail = events.take(np.arange(max(len(events) - len(waiting), 0), len(events)))
    columns = [getattr(tail, name) for name, _ in COLUMNS]
    for place in np.flatnonzero(tail.ts_ns == waiting["ts_ns"][0]).tolist():
        count = len(tail) - place
        same = (
            np.array_equal(column[place:], waiting[name][:count])
            for column, (name, _) in zip(columns, COLUMNS, strict=True)
        )
        if all(same):
            return count
    return 0


def _joined(events: Events, rows: npt.NDArray[Any]) -> Events:
    if not len(rows):
        return events
    columns = (
        np.concatenate([getattr(events, name), rows[name].astype(getattr(events, name).dtype)]) for name, _ in COLUMNS
    )
    return Events(events.metadata, *columns)


def _last_moment(events: Events, spans: npt.NDArray[Any]) -> int:
    """Return when the last row ended or began; rows with impossible times say nothing."""
    possible = possible_times(events.ts_ns, events.dur_ns)
    ends = events.ts_ns[possible] + events.dur_ns[possible]
    return max((int(moments.max()) for moments in (ends, spans["ts_ns"]) if len(moments)), default=0)
