"""One pass over a trace file: blocks of events, what was damaged, and which slices can be used."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from ascend_sn._native.trace_scan import Strings, TraceColumns, scan_blocks
from ascend_sn.errors import EmptyInputError, FormatError
from ascend_sn.formats.chrome.events import one_of
from ascend_sn.model.ledger import Ledger, Severity, kind_words
from ascend_sn.model.rows import Bool, Int64
from ascend_sn.model.times import LATEST_NS, LONGEST_NS

__all__ = ["Scan"]

_X = ord("X")
_IS_TIMED: Final = one_of(map(ord, "XBEiIC"))

# Damage kinds of the scanner after which every event of the file is still there.
_HARMLESS: Final = frozenset(
    {
        "unclosed_array",
        "trailing_comma",
        "extra_comma",
        "missing_comma",
        "rounded_time",
        "control_character",
        "not_a_number",
        "gzip_trailing_data",
    }
)

_CUT: Final = frozenset({"truncated", "gzip_truncated"})


class Scan:
    """Reads a trace block by block; `finish` writes what it met to the ledger.

    Attributes:
        strings: Texts of the file, by code; grows while blocks are read.
        metadata: The file's own keys beside `traceEvents`; complete after `finish`.
        event_count: Events read so far, of any phase.
    """

    def __init__(
        self, path: Path, file: str, ledger: Ledger, arg_keys: Sequence[str], *, keep_other_args: bool = False
    ) -> None:
        self.strings = Strings()
        self.metadata: dict[str, Any] = {}
        self.event_count = 0
        self._path, self._file, self._ledger = path, file, ledger
        self._arg_keys, self._keep_other_args = tuple(arg_keys), keep_other_args
        self._timed_count = 0
        self._damage: list[tuple[str, int, int, str]] = []
        self._bad: dict[str, tuple[int, int]] = {}

    def blocks(self) -> Iterator[TraceColumns]:
        """Yield the file's blocks in order.

        Raises:
            EmptyInputError: The file is empty.
        """
        if self._path.stat().st_size == 0:
            raise EmptyInputError(self._path, "file is empty; was the session ended?")
        for block in scan_blocks(self._path, self._arg_keys, keep_other_args=self._keep_other_args):
            self.strings, self.metadata = block.strings, block.metadata
            self._damage.extend(block.damage)
            self.event_count += block.count
            self._timed_count += int(np.count_nonzero(_IS_TIMED[block.ph]))
            yield block

    def slices(self, block: TraceColumns) -> Bool:
        """Return the complete slices of a block; those without a start or of negative length are set aside."""
        complete = block.ph == _X
        has_ts, has_dur = block.has_ts.astype(np.bool_), block.has_dur.astype(np.bool_)
        negative = complete & has_dur & (block.dur_ns < 0)
        impossible = complete & (~_possible(block.ts_ns) | (block.dur_ns > LONGEST_NS))
        self._set_aside(block, complete & ~has_ts, "missing_start")
        self._set_aside(block, negative, "negative_duration")
        self._set_aside(block, impossible, "impossible_time")
        self._set_aside(block, complete & ~has_dur, "missing_duration")
        usable: Bool = complete & has_ts & ~negative & ~impossible
        return usable

    def placed(self, block: TraceColumns) -> Bool:
        """Return the events of any phase that have a possible time."""
        placed: Bool = block.has_ts.astype(np.bool_) & _possible(block.ts_ns)
        return placed

    def finish(self) -> None:
        """Write what was met to the ledger.

        Raises:
            EmptyInputError: The file is whole but holds no timed events.
            FormatError: Nothing usable is left of a damaged file.
        """
        for kind, offset, count, example in self._damage:
            cut = kind in _CUT
            told = f"the file ends early; {self.event_count} events were read" if cut else example
            self._record(kind, offset, count, told, "info" if kind in _HARMLESS else "damage")
        # A slice may come without a length; one whose length is written as NaN has lost it.
        lost = any(kind == "not_a_number" for kind, *_ in self._damage)
        for kind, (offset, count) in self._bad.items():
            if kind == "missing_duration" and lost:
                self._record(kind, offset, count, "taken as 0", "damage")
            elif kind == "missing_duration":
                self._record(kind, offset, count, "taken as 0", "info")
            else:
                self._record(kind, offset, count, "left out", "damage")
        if not self._timed_count:
            self._refuse()

    def _record(self, kind: str, offset: int, count: int, told: str, severity: Severity) -> None:
        self._ledger.add(self._file, kind, place=f"byte {offset}", count=count, example=told, severity=severity)

    def _refuse(self) -> None:
        harmful = [entry for entry in self._damage if entry[0] not in _HARMLESS]
        if harmful:
            kind, offset, _, _ = harmful[0]
            raise FormatError(self._path, f"no complete event could be read ({kind_words(kind)})", f"byte {offset}")
        if self.event_count:
            raise EmptyInputError(self._path, "no timed events were recorded")
        raise EmptyInputError(self._path, "this file holds no timed events")

    def _set_aside(self, block: TraceColumns, rows: Bool, kind: str) -> None:
        count = int(np.count_nonzero(rows))
        if count:
            offset, before = self._bad.get(kind, (int(block.offset[int(np.argmax(rows))]), 0))
            self._bad[kind] = (offset, before + count)


def _possible(ts_ns: Int64) -> Bool:
    possible: Bool = (ts_ns >= -LATEST_NS) & (ts_ns <= LATEST_NS)
    return possible
