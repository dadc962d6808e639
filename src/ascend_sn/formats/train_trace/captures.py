"""The recorder's files as captures: one per `train.trace`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final, get_args

import msgspec
import numpy as np

from ascend_sn.errors import EmptyInputError, JsonTextError
from ascend_sn.formats.json_text import json_value
from ascend_sn.formats.reader import Source
from ascend_sn.formats.train_trace import marks, spans
from ascend_sn.formats.train_trace.coverage import coverage_of, framework_coverage
from ascend_sn.formats.train_trace.left_behind import with_rows_left_behind
from ascend_sn.formats.train_trace.names import Names, Small, read_names
from ascend_sn.formats.train_trace.stream import Events, read_events
from ascend_sn.model import trace_schema as schema
from ascend_sn.model.capture import Capture, DeviceKind, ProfileHeader
from ascend_sn.model.ledger import Ledger
from ascend_sn.model.rows import Int64, Rows, Text, concatenate
from ascend_sn.model.tables import HOST_CALL, SPAN
from ascend_sn.model.times import possible_times

__all__ = ["captures_of"]

_KNOWN_KINDS: Final = np.isin(
    np.arange(256),
    [
        *range(schema.SESSION_START, schema.CAPTURE + 1),
        *range(schema.SPAN, schema.SPAN_OPTIMIZER + 1),
        *range(schema.SPAN | schema.OPEN_FLAG, (schema.SPAN_OPTIMIZER | schema.OPEN_FLAG) + 1),
        schema.FRAME,
    ],
)


_Large = Annotated[int, msgspec.Meta(ge=0, le=(1 << 63) - 1)]


class _Process(msgspec.Struct, frozen=True):
    """The process header in the schema's metadata."""

    host: str | None = None
    pid: _Large | None = None
    start_ns: _Large | None = None
    rank: Small | None = None
    world_size: Small | None = None
    device_kind: str = "host"
    device_id: Small | None = None
    versions: dict[str, str] = {}


@dataclass(frozen=True)
class _Trace:
    """What the two files hold, before it becomes tables."""

    events: Events
    names: Names
    process: _Process
    config: dict[str, Any]

    def of(self, *kinds: int) -> Events:
        """Return the rows of some kinds, in file order."""
        return self.events.take(np.isin(self.events.kind, kinds))


def captures_of(source: Source, path: Path) -> list[Capture]:
    """Return what a trace file, and what lies beside it, hold.

    Raises:
        InputError: It cannot be read, or nothing was recorded in it.
    """
    ledger = Ledger()
    file = _relative(source, path)
    trace = _trace(source, path, file, ledger)
    windows = _about_windows(trace, file, ledger)
    kind, launch_count = _kind_of_header(trace), 0
    if windows and windows[0].get("folder") == schema.NPU_FOLDER:
        from ascend_sn.formats.train_trace.npu import npu_captures

        noted = Ledger(list(ledger.entries))
        threads = _threads(trace)
        _, marked = _marked(trace, threads, file, noted)
        marked["host_call"] = marks.collection_rows(*_collections(trace, threads))
        starts = np.sort(trace.of(schema.CAPTURE).ts_ns)
        found = npu_captures(source, path, _header(source, path, trace, "npu"), marked, starts, noted)
        if found:
            return found
        ledger.entries += [entry for entry in noted.entries if entry.kind in ("missing_export", "unreadable")]
        windows = []
    if windows:
        kind, tables, launch_count = _framework_tables(trace, windows[0], file, ledger)
    else:
        tables = _tables(trace, file, ledger)
    if trace.names.lost - {schema.NOT_GIVEN}:
        ledger.add(
            _relative(source, path.with_name(schema.NAMES_NAME)),
            "lost_names",
            count=len(trace.names.lost),
            example="rows are complete, their names are numbers",
        )
    _note_filter(windows, file, ledger)
    capture = Capture(_header(source, path, trace, kind), tables, ledger=ledger)
    if windows:
        capture.coverage = framework_coverage(capture, windows[0], launch_count)
    else:
        capture.coverage = coverage_of(tables, trace.config, kind == "host")
    return [capture]


def _relative(source: Source, path: Path) -> str:
    return path.name if source.root.is_file() else source.relative(path)


def _trace(source: Source, path: Path, file: str, ledger: Ledger) -> _Trace:
    ring_path = path.with_name(schema.RING_NAME)
    events = with_rows_left_behind(read_events(path, file, ledger), ring_path, _relative(source, ring_path), ledger)
    if not len(events):
        raise EmptyInputError(path, "nothing was recorded in it")
    known = _KNOWN_KINDS[events.kind]
    if not bool(known.all()):
        strange = np.unique(events.kind[~known]).tolist()
        ledger.add(file, "unknown_kind", count=int((~known).sum()), example=f"kinds {strange} are not of this version")
    impossible = ~possible_times(events.ts_ns, events.dur_ns)
    if bool(impossible.any()):
        example = "rows with a negative or endless time are left out"
        ledger.add(file, "impossible_time", count=int(impossible.sum()), example=example)
    names_path = path.with_name(schema.NAMES_NAME)
    names = read_names(names_path, _relative(source, names_path), ledger)
    return _Trace(
        events=events.take(known & ~impossible),
        names=names,
        process=_decoded(events.metadata, schema.PROCESS_KEY, _Process, file, ledger) or _Process(),
        config=_decoded(events.metadata, schema.CONFIG_KEY, dict[str, Any], file, ledger) or {},
    )


def _about_windows(trace: _Trace, file: str, ledger: Ledger) -> list[dict[str, Any]]:
    """Return what the recorder wrote of each window of the framework's profiler."""
    found = []
    for text in trace.names.column(trace.of(schema.CAPTURE).name_id).decode():
        try:
            found.append(json_value(text or "", dict[str, Any]))
        except JsonTextError as error:
            ledger.add(file, "unreadable_metadata", place="capture", example=str(error))
    return found


def _decoded(metadata: dict[str, str], key: str, type_: Any, file: str, ledger: Ledger) -> Any:
    try:
        return json_value(metadata.get(key, ""), type_)
    except JsonTextError as error:
        ledger.add(file, "unreadable_metadata", place=key, example=str(error))
        return None


def _tables(trace: _Trace, file: str, ledger: Ledger) -> dict[str, Rows]:
    """Return the tables of a capture without a framework's profiler."""
    names = trace.names
    lost = trace.of(schema.LOST)
    threads = _threads(trace)
    found, tables = _marked(trace, threads, file, ledger)
    tables["memory_event"] = marks.memory_rows(trace.of(schema.MEMORY), names)
    tables["host_call"] = marks.collection_rows(*_collections(trace, threads))
    if trace.process.device_kind == "host":
        kernels, kernel_span = spans.kernel_rows(found)
        collectives = spans.collective_rows(found, kernel_span, is_complete=not len(lost))
        tables |= {
            "operator": spans.operator_rows(found),
            "kernel": kernels,
            "collective": collectives,
            "comm_group_member": marks.group_rows(
                spans.collective_names(found), trace.process.rank, trace.process.world_size
            ),
        }
    else:
        is_operator = trace.events.kind == schema.OPERATOR
        tables["operator"] = marks.operator_rows(trace.events.take(is_operator), threads.take(is_operator), names)
    return tables


def _framework_tables(
    trace: _Trace, about: dict[str, Any], file: str, ledger: Ledger
) -> tuple[DeviceKind, dict[str, Rows], int]:
    """Return the kind of device, the tables, and the launches of a capture by a framework's profiler."""
    # Loaded here: most recordings hold no framework's profile.
    from ascend_sn.formats.kineto.reader import tables_of
    from ascend_sn.formats.train_trace.framework import sifted_of

    threads = _threads(trace)
    # Collections of Python say nothing of the device, while calls of its runtime tell its kind.
    of_framework = np.setdiff1d(np.arange(len(trace.events)), _collection_places(trace))
    events = trace.events.take(of_framework)
    sifted = sifted_of(events, threads.take(of_framework), trace.names, trace.process.pid, about)
    kind, tables, launch_count = tables_of(sifted, 0, file, ledger)
    calls = concatenate(HOST_CALL, [tables["host_call"], marks.collection_rows(*_collections(trace, threads))])
    tables["host_call"] = calls.replace(host_call_id=np.arange(len(calls)))
    _, marked = _marked(trace, threads, file, ledger)
    frames = tables["span"]
    tables |= marked
    if len(frames):
        tables["span"] = _joined_spans(marked["span"], frames)
    return kind, tables, launch_count


def _marked(trace: _Trace, threads: Text, file: str, ledger: Ledger) -> tuple[spans.Spans, dict[str, Rows]]:
    """Return what the program marked itself: spans, steps, values; and the samples."""
    names = trace.names
    lost = trace.of(schema.LOST)
    if len(lost):
        ledger.add(
            file,
            "lost_rows",
            count=int(lost.value.sum()),
            example="the recorder had no room for them (disk full, size limit, or its buffer)",
        )
    plain = trace.events.kind & np.uint8(255 - schema.OPEN_FLAG)
    is_span = (plain >= schema.SPAN) & (plain <= schema.SPAN_OPTIMIZER)
    found = spans.spans_of(trace.events.take(is_span), threads.take(is_span), names)
    _note_open_ends(trace, found, file, ledger)
    logged = trace.of(schema.METRIC)
    session_start = np.sort(trace.of(schema.SESSION_START).ts_ns)
    done = [found.events.ts_ns, logged.ts_ns, trace.of(schema.OPERATOR).ts_ns]
    steps = marks.step_rows(trace.of(schema.STEP), names, session_start, np.sort(np.concatenate(done)))
    return found, {
        "step": steps,
        "span": spans.span_rows(found),
        "metric": marks.metric_rows(logged, names, steps),
        "counter": marks.counter_rows(trace.of(schema.COUNTER), names),
    }


def _collections(trace: _Trace, threads: Text) -> tuple[Events, Text]:
    """Return the garbage collections of Python, and the thread of each."""
    chosen = _collection_places(trace)
    return trace.events.take(chosen), threads.take(chosen)


def _collection_places(trace: _Trace) -> Int64:
    calls = np.flatnonzero(trace.events.kind == schema.HOST_CALL)
    category = trace.names.column(trace.events.name_id[calls], "category")
    return calls[category.matches([schema.COLLECTION_CATEGORY])]


def _joined_spans(marked: Rows, frames: Rows) -> Rows:
    joined = concatenate(SPAN, [marked, frames])
    return joined.replace(span_id=np.arange(len(joined)))


def _note_filter(windows: list[dict[str, Any]], file: str, ledger: Ledger) -> None:
    """Say which chosen operator types no operator had, in any window."""
    unmatched = [set(window["trace_ops_without_match"]) for window in windows if "trace_ops_without_match" in window]
    never = sorted(set.intersection(*unmatched)) if unmatched else []
    if never:
        example = f"trace_ops: no operator was of type {', '.join(map(str, never))}"
        ledger.add(file, "filter_without_match", count=len(never), severity="info", example=example)


def _kind_of_header(trace: _Trace) -> DeviceKind:
    kinds: tuple[DeviceKind, ...] = get_args(DeviceKind)
    return next((kind for kind in kinds if kind == trace.process.device_kind), "host")


def _threads(trace: _Trace) -> Text:
    """Return the thread of every row: its name, and the system's number, which tells equal names apart."""
    entered = trace.of(schema.THREAD)
    known = dict(zip(entered.thread.tolist(), _names_of(entered, trace.names), strict=True))
    numbers, codes = np.unique(trace.events.thread, return_inverse=True)
    texts = [f"{known[number]} ({number})" if known.get(number) else f"thread {number}" for number in numbers.tolist()]
    return Text(codes.astype(np.int32), texts)


def _names_of(rows: Events, names: Names) -> list[str | None]:
    """Return the name of each row."""
    return names.column(rows.name_id).decode()


def _note_open_ends(trace: _Trace, found: spans.Spans, file: str, ledger: Ledger) -> None:
    cut = int(((found.events.kind & schema.OPEN_FLAG) > 0).sum())
    if cut:
        ledger.add(
            file, "open_spans", count=cut, severity="info", example="cut where their session or its process ended"
        )
    missing = [
        value
        for name, value in zip(
            _names_of(trace.of(schema.METRIC), trace.names),
            trace.of(schema.METRIC).value.view(np.float64).tolist(),
            strict=True,
        )
        if name == schema.MISSING_STEPS_METRIC
    ]
    if missing:
        example = "the program ended before its schedule did"
        ledger.add(file, "short_schedule", count=int(sum(missing)), example=example)
    starts, ends = trace.of(schema.SESSION_START), trace.of(schema.SESSION_END)
    if len(starts) > len(ends):
        ledger.add(
            file,
            "session_not_ended",
            severity="info",
            example="the process was killed or is still recording; what it had written is used",
        )


def _header(source: Source, path: Path, trace: _Trace, kind: DeviceKind) -> ProfileHeader:
    process = trace.process
    inside = path.parent.relative_to(source.root).parts[:-1] if path.parent != source.root.parent else ()
    return ProfileHeader(
        format=schema.TRACE_NAME,
        source=_relative(source, path),
        device_kind=kind,
        host=process.host,
        pid=process.pid,
        start_ns=process.start_ns,
        rank=process.rank,
        phase=inside[0] if inside else None,
        device_id=process.device_id,
        session_count=max(len(trace.of(schema.SESSION_START)), 1),
        world_size=process.world_size,
        versions=process.versions,
        config={**trace.config, "overhead": _overhead(trace)},
    )


def _overhead(trace: _Trace) -> dict[str, float]:
    """Return what the recorder measured of its own cost: the last figures it wrote."""
    logged = trace.of(schema.METRIC)
    figures: dict[str, float] = {}
    for name, value in zip(_names_of(logged, trace.names), logged.value.view(np.float64).tolist(), strict=True):
        if name in (schema.SPAN_COST_METRIC, schema.FLUSH_METRIC):
            figures[name] = value
    return figures
