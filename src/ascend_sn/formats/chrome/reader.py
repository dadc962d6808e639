"""Read a trace-event file of an unknown writer: its slices are ranges, its counters counters.

What runs on a device and what is communication is not known of such a file, so it gives no kernels.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from ascend_sn.formats.chrome.arrows import arrow_rows
from ascend_sn.formats.chrome.counters import counter_rows
from ascend_sn.formats.chrome.events import Events, Gathering, concatenate
from ascend_sn.formats.chrome.pairs import paired, paired_by_id
from ascend_sn.formats.chrome.phases import phase_rows, requests_of
from ascend_sn.formats.chrome.scanning import Scan
from ascend_sn.formats.chrome.texts import text_column
from ascend_sn.formats.chrome.tracks import Tracks
from ascend_sn.formats.reader import Candidate, Reader, Source
from ascend_sn.model.capture import Capture, ProfileHeader
from ascend_sn.model.ledger import CoverageEntry, Ledger
from ascend_sn.model.requests import REQUEST_PHASE_DOMAIN
from ascend_sn.model.rows import Bool, Int64, Rows, Text, concatenate as concatenate_rows, conform
from ascend_sn.model.tables import FLOW, SPAN

__all__ = ["READER"]

_NAME: Final = "chrome-trace"
_EVENTS: Final = re.compile(rb'\s*+(?:\xef\xbb\xbf)?+\s*+\{.*?"traceEvents"\s*:', re.DOTALL)
_LIST: Final = re.compile(rb'\s*+(?:\xef\xbb\xbf)?+\s*+\[\s*\{.*?"ph"\s*:\s*"', re.DOTALL)
_EMPTY: Final = re.compile(rb"\s*+(?:\xef\xbb\xbf)?+\s*+(?:\[\s*\]|\{\s*\})\s*")

_GROUPS: Final = {
    "complete": "X",
    "nested": "BE",
    "instants": "iIn",
    "tracked": "beSF",
    "arrows": "stf",
    "names": "M",
}
_KNOWN: Final = "XBEiInbeSFTpstfMC"
_NO_TABLES: Final = ("operator", "host_call", "kernel", "collective", "memory_event")


def read(source: Source) -> list[Capture]:
    """Return the capture of a trace.

    Raises:
        EmptyInputError: The file holds no timed events.
        FormatError: Nothing usable is left of a damaged file.
    """
    ledger, file = Ledger(), source.relative(source.path)
    sorted_ = _sorted(source.path, file, ledger)
    events, strings = sorted_.events, sorted_.strings
    slices = concatenate([events["complete"], paired(events["nested"], file, ledger)])
    tracked = paired_by_id(events["tracked"], file, ledger)
    tracks = Tracks.of(events["names"], strings)
    request = requests_of(tracked, strings)
    spans = _span_rows(slices, tracked, request >= 0, events["instants"], strings, tracks)
    arrows = [arrow_rows(events["arrows"], slices, strings, file, ledger), phase_rows(request, len(slices))]
    tables: dict[str, Rows] = {"span": spans, "flow": concatenate_rows(FLOW, arrows)}
    if sorted_.counter_count:
        tables["counter"] = counter_rows(source.path, 0)
    header = ProfileHeader(
        format=_NAME, source=source.name, device_kind="host", start_ns=_start(spans), phase=source.phase
    )
    return [Capture(header=header, tables=tables, coverage=_coverage(tables), ledger=ledger)]


@dataclass(frozen=True)
class _Sorted:
    events: dict[str, Events]
    strings: Sequence[str]
    counter_count: int


def _sorted(path: Path, file: str, ledger: Ledger) -> _Sorted:
    """Read the file once and sort its events by phase; phases that say nothing here are counted."""
    gatherings = {name: Gathering(texts=("name",) if name == "names" else ()) for name in _GROUPS}
    phases = {name: [ord(letter) for letter in letters] for name, letters in _GROUPS.items()}
    known = [ord(letter) for letter in _KNOWN]
    scan = Scan(path, file, ledger, ("name",))
    counter_count = ignored = 0
    for block in scan.blocks():
        usable = scan.slices(block)
        placed = scan.placed(block)
        kind = np.zeros(block.count, np.int8)
        for name, letters in phases.items():
            of_phase = np.isin(block.ph, letters)
            mask = usable if name == "complete" else of_phase if name == "names" else of_phase & placed
            gatherings[name].add(block, np.flatnonzero(mask), kind)
        counter_count += int(np.count_nonzero(block.ph == ord("C")))
        ignored += int(np.count_nonzero(~np.isin(block.ph, known)))
    scan.finish()
    if ignored:
        ledger.add(file, "ignored_phases", count=ignored, example="events that are no slices", severity="info")
    return _Sorted({name: gathering.gathered() for name, gathering in gatherings.items()}, scan.strings, counter_count)


def _span_rows(
    slices: Events, tracked: Events, is_phase: Bool, instants: Events, strings: Sequence[str], tracks: Tracks
) -> Rows:
    """Return slices of threads, asynchronous ones, instants; the category is the domain, but of parts of requests."""
    parts = [slices, tracked, instants]
    counts = [len(part) for part in parts]
    count = sum(counts)
    together = concatenate([part.bare() for part in parts])
    dur = together.dur.copy()
    dur[count - counts[2] :] = 0
    domain = text_column(together.category, strings)
    values = [*domain.values, REQUEST_PHASE_DOMAIN, "slice", "instant"]
    codes = np.where(domain.codes >= 0, domain.codes, len(values) - 2).astype(np.int32)
    codes[counts[0] : counts[0] + counts[1]][is_phase] = len(values) - 3
    codes[count - counts[2] :] = len(values) - 1
    return conform(
        SPAN,
        count,
        span_id=np.arange(count),
        name=text_column(together.name, strings),
        domain=Text(codes, values).mapped(str),
        thread=tracks.names(together, counts[0], counts[0] + counts[1]),
        ts_ns=together.ts,
        dur_ns=dur,
    )


def _start(spans: Rows) -> int | None:
    starts: Int64 = spans.values("ts_ns")
    return int(starts.min()) if len(starts) else None


def _coverage(tables: dict[str, Any]) -> list[CoverageEntry]:
    reason = "a trace of an unknown writer does not say what is an operator, a kernel or communication"
    entries = [CoverageEntry(name, "unsupported", reason) for name in _NO_TABLES]
    for name in ("span", "flow", "counter"):
        came = name in tables and tables[name].length
        entries.append(CoverageEntry(name, "collected" if came else "empty"))
    return entries


def _claims(candidate: Candidate) -> bool:
    head = candidate.head
    return bool(_EVENTS.match(head) or _LIST.match(head) or _EMPTY.fullmatch(head))


def _members(path: Path) -> list[Path]:
    return [path]


READER = Reader(_NAME, _claims, _members, read)
