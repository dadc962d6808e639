"""Write a `train.trace` row by row, with times counted by hand: through the recorder's writer, without its clock."""

from __future__ import annotations

import json
from array import array
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ascend_sn.collect.environment import JobPlace
from ascend_sn.collect.names import NameTable
from ascend_sn.collect.run_folder import create_run_folder
from ascend_sn.collect.writer import TraceWriter
from ascend_sn.formats.reader import Source
from ascend_sn.formats.train_trace.reader import READER
from ascend_sn.model.capture import Capture
from ascend_sn.model.trace_schema import (
    CLOCK_KEY,
    CONFIG_KEY,
    NOT_GIVEN,
    PROCESS_KEY,
    SESSION_END,
    SESSION_START,
    SPAN,
    THREAD,
    TRACE_VERSION,
    VERSION_KEY,
)

START_NS = 1_700_000_000_000_000_000
US = 1_000

Row = tuple[int, int, int, int, int, int, int]


class Writing:
    """A trace under construction; times are microseconds after `START_NS`, threads are 1, 2, ..."""

    def __init__(self, folder: Path, *, version: int = TRACE_VERSION, **process: Any) -> None:
        header = {
            "host": "node-a",
            "pid": 41,
            "start_ns": START_NS,
            "rank": None,
            "world_size": None,
            "device_kind": "host",
            "device_id": None,
            "versions": {"ascend-sn": "0.1.0"},
            **process,
        }
        config = {"enable_comm": True, "enable_memory": False}
        self.folder = folder
        self.names = NameTable()
        self.rows: list[Row] = []
        files = create_run_folder(str(folder), JobPlace(), start_ns=START_NS, host="node-a", pid=41)
        self.starts: list[int] = []
        self._writer = TraceWriter(
            files,
            {
                VERSION_KEY: str(version),
                PROCESS_KEY: json.dumps(header),
                CONFIG_KEY: json.dumps(config),
                CLOCK_KEY: json.dumps({"realtime_ns": START_NS, "monotonic_ns": 0, "source": "CLOCK_MONOTONIC"}),
            },
        )
        self.names.write_to(self._writer.write_names)

    def row(
        self,
        kind: int,
        name: str | None = None,
        at: int = 0,
        dur: int = 0,
        *,
        thread: int = 1,
        value: int = NOT_GIVEN,
        ref: int = NOT_GIVEN,
        **attributes: object,
    ) -> None:
        """Add a row."""
        number = NOT_GIVEN if name is None else self.names.described(name, attributes)
        self.rows.append((kind, thread, number, START_NS + at * US, dur * US, value, ref))

    def span(self, name: str, start: int, end: int, *, kind: int = SPAN, thread: int = 1, **described: Any) -> None:
        """Add a span."""
        self.row(kind, name, start, end - start, thread=thread, **described)

    def session(self, start: int, end: int, number: int = 0) -> None:
        """Add a session that was closed."""
        self.row(SESSION_START, "{}", start, value=number, ref=START_NS + start * US)
        self.row(SESSION_END, None, start, end - start, value=number)

    def thread(self, number: int, name: str) -> None:
        """Name a thread."""
        self.row(THREAD, name, thread=number)

    def batch(self) -> None:
        """Write the rows so far as a batch of their own; `starts` notes its place in the file."""
        self.starts.append((self.folder / "train.trace").stat().st_size)
        self.names.write_pending()
        columns: Sequence[tuple[int, ...]] = list(zip(*self.rows, strict=True))
        self._writer.write_batch(tuple(array(code, column) for code, column in zip("Biiqqqq", columns, strict=True)))
        self.rows = []

    def close(self) -> Path:
        """Write what is left, and the end mark."""
        if self.rows:
            self.batch()
        self.names.write_pending()
        self._writer.finish()
        self._writer.close()
        return self.folder

    def read(self) -> Capture:
        """Close it and read it."""
        (capture,) = read(self.close())
        return capture


def read(path: Path) -> list[Capture]:
    """Read a folder or a file as if it had been opened itself."""
    return READER.read(Source(READER, path, path))


def table(capture: Capture, name: str, *columns: str) -> list[tuple[Any, ...]]:
    """Some columns of a table, row by row; times as microseconds after `START_NS`."""
    rows = []
    for row in capture.rows(name).to_dicts():
        cells = []
        for column in columns:
            cell = row[column]
            if column == "ts_ns":
                cell = (cell - START_NS) // US
            elif column == "dur_ns":
                cell //= US
            cells.append(cell)
        rows.append(tuple(cells))
    return rows
