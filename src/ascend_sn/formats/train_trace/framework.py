"""Rows that a framework's profiler gave: sorted into the classes that the reader of PyTorch traces works on.

The rows hold what such a trace says of every call, so one set of rules serves both.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from ascend_sn.formats.chrome.events import Events as Slices, lookup
from ascend_sn.formats.kineto import categories
from ascend_sn.formats.kineto.sift import COLLECTIVE_ARGUMENTS, OCCUPANCY, Sifted
from ascend_sn.formats.train_trace.names import Names
from ascend_sn.formats.train_trace.stream import Events
from ascend_sn.model import trace_schema as schema
from ascend_sn.model.rows import Bool, Int64, Nullable, Text

__all__ = ["sifted_of"]

_NUMBERS: Final = ("In msg nelems", "Out msg nelems", "Group size")
_HOST_TEXTS: Final = ("Input Dims", "Input type", "Call stack", "Module Hierarchy")
_DEVICE_TEXTS: Final = ("stream", "grid")
_MAX_DIGITS: Final = 18


def sifted_of(events: Events, threads: Text, names: Names, pid: int | None, metadata: dict[str, Any]) -> Sifted:
    """Sort the rows; the program's own spans stand among the operators as ranges, as they are in such a trace.

    Args:
        events: All rows of the trace.
        threads: Thread of each row.
        names: Texts of the trace.
        pid: The recorded process.
        metadata: What is known of the windows.
    """
    texts = _Texts()
    build = _Build(events, threads, names, texts, texts.code(str(pid or 0)))
    kind = events.kind
    plain = kind & np.uint8(255 - schema.OPEN_FLAG)
    is_span = (plain >= schema.SPAN) & (plain <= schema.SPAN_OPTIMIZER)
    host_rows = np.flatnonzero((kind == schema.OPERATOR) | is_span)
    host = build.slices(host_rows, texts=("External id", *_HOST_TEXTS), value_text="External id")
    is_parameters = lookup(host.name, texts, lambda name: int(name == "record_param_comms"), 0) == 1
    parameter_rows = host_rows[is_parameters]
    nothing = np.zeros(0, np.int64)
    return Sifted(
        strings=texts,  # type: ignore[arg-type]
        metadata=metadata,
        host=host,
        parameters=build.slices(parameter_rows, texts=COLLECTIVE_ARGUMENTS, integers=_NUMBERS, ref_integer="Seq"),
        calls=build.slices(
            np.flatnonzero(kind == schema.HOST_CALL),
            texts=("correlation", "size"),
            value_text="correlation",
            ref_text="size",
        ),
        device=build.slices(
            np.flatnonzero(kind == schema.KERNEL),
            texts=("External id", *_DEVICE_TEXTS, "wait_on_cuda_event_record_corr_id", *COLLECTIVE_ARGUMENTS),
            integers=("device", "stream", *_NUMBERS, "Seq"),
            value_text="correlation",
            ref_integer="bytes",
            reals=(OCCUPANCY,),
        ),
        spans=build.slices(np.flatnonzero(kind == schema.FRAME)),
        memory=build.memory(np.flatnonzero(kind == schema.MEMORY)),
        instants=build.slices(nothing),
        flows=build.flows(np.flatnonzero((kind == schema.FLOW_START) | (kind == schema.FLOW_END))),
        counter_count=0,
        event_count=len(events),
    )


class _Texts(list[str]):
    """Distinct texts in order of first appearance; stands in for the texts of a scanned file."""

    def __init__(self) -> None:
        super().__init__()
        self._codes: dict[str | None, int] = {None: -1}

    def code(self, text: str) -> int:
        """Return the number of a text."""
        return int(self.codes([text])[0])

    def codes(self, texts: Iterable[str | None]) -> npt.NDArray[np.int32]:
        """Return the numbers of several texts (None: -1), and -1 behind the last one, so that place -1 is no text."""
        listed = list(texts)
        fresh = [text for text in dict.fromkeys(listed) if text is not None and text not in self._codes]
        self._codes.update(zip(fresh, range(len(self), len(self) + len(fresh)), strict=True))
        self.extend(fresh)
        return np.array([*map(self._codes.__getitem__, listed), -1], np.int32)

    def of_numbers(self, numbers: Int64) -> npt.NDArray[np.int32]:
        """Return the codes of numbers as texts, -1 for what is not given."""
        distinct, row = np.unique(numbers, return_inverse=True)
        texts = [None if number == schema.NOT_GIVEN else str(number) for number in distinct.tolist()]
        return self.codes(texts)[row]

    def integers(self, codes: npt.NDArray[np.int32]) -> tuple[Int64, Bool]:
        """Return the whole numbers that texts spell, and where they do."""
        used, row = np.unique(codes, return_inverse=True)
        numbers = [_whole(self[code]) if code >= 0 else None for code in used.tolist()]
        values = np.array([number or 0 for number in numbers], np.int64)
        return values[row], np.array([number is not None for number in numbers], np.bool_)[row]


class _Build:
    """Turns rows into slices with their texts and numbers."""

    def __init__(self, events: Events, threads: Text, names: Names, texts: _Texts, pid: int) -> None:
        self._events, self._names, self._texts, self._pid = events, names, texts, pid
        self._thread = texts.codes(threads.values)[threads.codes]

    def slices(
        self,
        rows: Int64,
        *,
        texts: Sequence[str] = (),
        integers: Sequence[str] = (),
        reals: Sequence[str] = (),
        value_text: str | None = None,
        ref_text: str | None = None,
        ref_integer: str | None = None,
    ) -> Slices:
        """Return the slices at `rows`.

        Args:
            rows: Positions in the trace.
            texts: Arguments to give as texts.
            integers: Arguments to give as whole numbers.
            reals: Arguments to give as float64.
            value_text: Argument that the column `value` holds, given as text.
            ref_text: The same for the column `ref`.
            ref_integer: Argument that `ref` holds, given as a number.
        """
        events = self._events
        records, code = self._names.records_of(events.name_id[rows])
        arguments = [record.args or {} for record in records]
        as_texts = {key: self._texts.codes(found.get(key) for found in arguments)[code] for key in texts}
        as_integers = {key: _nullable([_whole(found.get(key)) for found in arguments], code) for key in integers}
        if value_text is not None:
            as_texts[value_text] = self._texts.of_numbers(events.value[rows])
        if ref_text is not None:
            as_texts[ref_text] = self._texts.of_numbers(events.ref[rows])
        if ref_integer is not None:
            as_integers[ref_integer] = Nullable(events.ref[rows], events.ref[rows] != schema.NOT_GIVEN)
        category = [record.category or "user_annotation" for record in records]
        kinds = np.array([*(categories.class_of_category(one) for one in category), categories.UNKNOWN], np.int8)
        return Slices(
            ts=events.ts_ns[rows],
            dur=events.dur_ns[rows],
            kind=kinds[code],
            phase=np.full(len(rows), ord("X"), np.uint8),
            name=self._texts.codes(record.text for record in records)[code],
            category=self._texts.codes(category)[code],
            pid=np.full(len(rows), self._pid, np.int32),
            tid=self._thread[rows],
            id=np.full(len(rows), -1, np.int32),
            texts=as_texts,
            integers=as_integers,
            reals={key: np.array([*(_real(found.get(key)) for found in arguments), np.nan])[code] for key in reals},
        )

    def memory(self, rows: Int64) -> Slices:
        """Return allocations and frees, each with the totals that stand in the row behind it."""
        events = self._events
        found = self.slices(rows, integers=("Device Type", "Device Id"))
        behind = np.minimum(rows + 1, max(len(events) - 1, 0))
        has_totals = (events.kind[behind] == schema.MEMORY_TOTAL) & (behind > rows)
        numbers = {"Total Allocated": events.value[behind], "Total Reserved": events.ref[behind]}
        totals = {key: Nullable(one, has_totals & (one != schema.NOT_GIVEN)) for key, one in numbers.items()}
        size = Nullable(events.value[rows], np.ones(len(rows), np.bool_))
        return replace(
            found,
            integers={**found.integers, **totals, "Bytes": size},
            texts={"Addr": self._texts.of_numbers(events.ref[rows])},
        )

    def flows(self, rows: Int64) -> Slices:
        """Return the ends of arrows; the number of the arrow is its id."""
        ends = self.slices(rows)
        is_start = self._events.kind[rows] == schema.FLOW_START
        return replace(
            ends,
            phase=np.where(is_start, np.uint8(ord("s")), np.uint8(ord("f"))),
            category=np.full(len(rows), self._texts.code("fwdbwd"), np.int32),
            id=self._texts.of_numbers(self._events.value[rows]),
        )


def _nullable(numbers: list[int | None], code: Int64) -> Nullable:
    values = np.array([*(number or 0 for number in numbers), 0], np.int64)
    valid = np.array([*(number is not None for number in numbers), False], np.bool_)
    return Nullable(values[code], valid[code])


def _whole(text: str | None) -> int | None:
    if text is None or len(text) > _MAX_DIGITS:
        return None
    digits = text[1:] if text.startswith("-") else text
    return int(text) if digits.isascii() and digits.isdigit() else None


def _real(text: str | None) -> float:
    try:
        return float("nan" if text is None else text)
    except ValueError:
        return float("nan")
