"""Recorded parts of collectives: from communication.json, from analysis.db, or from the plane tasks."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from ascend_sn.formats.json_text import json_object
from ascend_sn.formats.sqlite_columns import Database
from ascend_sn.formats.torch_npu.limits import rank_of, whole
from ascend_sn.model import units
from ascend_sn.model.ledger import Ledger
from ascend_sn.model.rows import Int64, Nullable, Rows, Text
from ascend_sn.model.units import BYTES_PER_MB, NS_PER_MS, NS_PER_US

__all__ = [
    "TOTAL",
    "OpParts",
    "TaskParts",
    "Traffic",
    "json_steps",
    "op_from_json",
    "parts_by_rank",
    "parts_from_database",
    "parts_from_json",
    "parts_from_tasks",
    "scaled",
    "step_number",
]

TOTAL = ("Total Op Info", "Total HCCL Operators")
"""Fronts of keys that sum the others up."""

_STEP = re.compile(r"^step(\d*)$")
_SUM_OF_OTHERS = "SDMA"
"""The block SDMA is the sum of HCCS, PCIE and SIO: never added to them."""


class Traffic(msgspec.Struct, frozen=True):
    """Bytes of one collective over one transport; `dur_ns` sums parallel planes and may exceed the collective."""

    transport: str
    size_bytes: int
    dur_ns: int


class OpParts(msgspec.Struct, frozen=True):
    """What the exporter recorded of one collective; times in nanoseconds."""

    name: str
    group_hash: str
    step: int | None
    start_ns: int
    dur_ns: int
    transit_ns: int
    wait_ns: int
    sync_ns: int
    traffic: list[Traffic] = msgspec.field(default_factory=list)


class TaskParts(msgspec.Struct, frozen=True):
    """Parts of collectives summed from their plane tasks; index = collective."""

    known: np.ndarray[Any, np.dtype[np.bool_]]
    transit_ns: Int64
    wait_ns: Int64
    sync_ns: Int64


def parts_from_json(path: Path, file: str, ledger: Ledger) -> list[OpParts]:
    """Read communication.json; operators with unreadable figures are left out and counted."""
    parts = []
    unreadable: list[str] = []
    for step, kind in json_steps(path, file, ledger):
        for key, entry in kind.items():
            if key.startswith(TOTAL):
                continue
            try:
                parts.append(op_from_json(key, step, entry))
            except (KeyError, TypeError, ValueError, ArithmeticError):
                unreadable.append(key)
    if unreadable:
        ledger.add(file, "unreadable_entry", count=len(unreadable), example=unreadable[0])
    return parts


def parts_from_database(database: Database) -> list[OpParts]:
    """Read CommAnalyzerTime and CommAnalyzerBandwidth of analysis.db."""
    found = _analyzed(
        database,
        ("CommAnalyzerTime", "step", "elapse_time"),
        ("CommAnalyzerBandwidth", "step", "transport_type"),
    )
    return [parts for _, parts in found]


def parts_by_rank(database: Database) -> dict[int, list[OpParts]]:
    """Read the tables of the same content that a cluster analysis writes for all ranks."""
    found = _analyzed(
        database,
        ("ClusterCommunicationTime", "rank_id", "elapsed_time"),
        ("ClusterCommunicationBandwidth", "rank_id", "band_type"),
    )
    by_rank: dict[int, list[OpParts]] = {}
    for key, parts in found:
        rank = rank_of(key)
        if rank is not None:
            by_rank.setdefault(rank, []).append(parts)
    return by_rank


def _analyzed(
    database: Database, time_columns: tuple[str, str, str], band_columns: tuple[str, str, str]
) -> Iterator[tuple[Any, OpParts]]:
    """Yield a value of each row and the parts; the three names are the table, that value and one that differs."""
    table, owner, transport = band_columns
    shared = ("hccl_op_name", "group_name", "step")
    bands = database.read(table, *shared, owner, transport, "transit_size", "transit_time")
    # One row per packet size, the sums repeated on each: the distinct ones count.
    traffic: dict[tuple[Any, ...], dict[str, Traffic]] = {}
    for at, (name, group, step) in enumerate(zip(*(bands[column] for column in shared), strict=True)):
        medium = str(bands[transport][at])
        found = _traffic(medium, bands["transit_size"][at], bands["transit_time"][at])
        if found is not None:
            traffic.setdefault((name, group, step, bands[owner][at]), {})[medium] = found
    table, owner, elapsed = time_columns
    figures = ("start_timestamp", elapsed, "transit_time", "wait_time", "synchronization_time")
    times = database.read(table, *shared, owner, *figures)
    unreadable = 0
    for at, (name, group, step) in enumerate(zip(*(times[column] for column in shared), strict=True)):
        if str(name).startswith(TOTAL):
            continue
        start, *lengths = (times[column][at] for column in figures)
        moved = traffic.get((name, group, step, times[owner][at]), {})
        try:
            dur, transit, wait, sync = (scaled(length, NS_PER_MS) for length in lengths)
            parts = OpParts(
                name=str(name),
                group_hash="" if group is None else str(group),
                step=step_number(str(step)),
                start_ns=scaled(start, NS_PER_US),
                dur_ns=dur,
                transit_ns=transit,
                wait_ns=wait,
                sync_ns=sync,
                traffic=_without_sum(moved.values()),
            )
        except (TypeError, ValueError, ArithmeticError):
            unreadable += 1
        else:
            yield times[owner][at], parts
    if unreadable:
        database.ledger.add(database.file, "unreadable_entry", place=f"table {table}", count=unreadable)


def parts_from_tasks(count: int, tasks: Rows, plane: Text) -> TaskParts:
    """Sum the parts of each collective on its master plane.

    Transit are copies and reductions between chips and RDMA payloads, waiting are Notify_Wait tasks, and
    synchronisation is the waiting before the first transit. The master plane is the lowest one that moved
    bytes between chips; else the lowest one.

    Args:
        count: Number of collectives; `collective_id` of every task is below it.
        tasks: Rows of `comm_task`.
        plane: Plane of each task; one without a plane tells nothing (planes run side by side).
    """
    name, transport = tasks.text("name"), tasks.text("transport")
    size = Nullable(tasks.values("size_bytes"), tasks.valid("size_bytes"))
    collective, ts, dur = (tasks.values(column) for column in ("collective_id", "ts_ns", "dur_ns"))
    placed = plane.codes >= 0
    moves = placed & _moves_between_chips(name, transport, size)
    waits = placed & name.where(lambda text: text.replace("_", " ").lower() == "notify wait")
    number = _plane_numbers(plane)
    master = np.full(count, np.iinfo(np.int64).max, np.int64)
    np.minimum.at(master, collective[moves], number[moves])
    without = master == np.iinfo(np.int64).max
    lowest = np.full(count, np.iinfo(np.int64).max, np.int64)
    np.minimum.at(lowest, collective[placed], number[placed])
    master[without] = lowest[without]
    on_master = number == master[collective]
    first_move = np.full(count, np.iinfo(np.int64).max, np.int64)
    np.minimum.at(first_move, collective[moves & on_master], ts[moves & on_master])
    return TaskParts(
        known=lowest != np.iinfo(np.int64).max,
        transit_ns=_summed(count, collective, dur, moves & on_master),
        wait_ns=_summed(count, collective, dur, waits & on_master),
        sync_ns=_summed(
            count, collective, dur, waits & on_master & (ts < first_move[collective]) & ~without[collective]
        ),
    )


def json_steps(path: Path, file: str, ledger: Ledger) -> Iterator[tuple[int | None, dict[str, Any]]]:
    """Yield step number and the entries of `p2p` and `collective` of a communication JSON file.

    msprof writes the entries without those two levels: they come with no step.
    """
    steps = json_object(path, file, ledger, with_decimals=True)
    if not any(_STEP.match(key) for key in steps):
        if steps:
            yield None, steps
        return
    odd = []
    for key, kinds in steps.items():
        entries = [found for found in kinds.values() if isinstance(found, dict)] if isinstance(kinds, dict) else []
        if not isinstance(kinds, dict) or len(entries) < len(kinds):
            odd.append(key)
        for found in entries:
            yield step_number(key), found
    if odd:
        ledger.add(file, "unreadable_entry", count=len(odd), example=odd[0])


def step_number(key: str) -> int | None:
    """Return N of `step<N>` or of `<N>`; None when no step is known."""
    found = _STEP.match(key)
    digits = found[1] if found else key
    return whole(digits)


def op_from_json(key: str, step: int | None, entry: dict[str, Any]) -> OpParts:
    """Return the recorded parts of one operator, whose key is `<name>@<group hash>`.

    Raises:
        KeyError: A figure is missing.
        TypeError: A figure is no number, or an entry is no object.
        ValueError: A time is outside int64.
    """
    name, _, group = key.partition("@")
    times = entry["Communication Time Info"]
    return OpParts(
        name=name,
        group_hash=group,
        step=step,
        start_ns=scaled(times["Start Timestamp(us)"], NS_PER_US),
        dur_ns=scaled(times["Elapse Time(ms)"], NS_PER_MS),
        transit_ns=scaled(times["Transit Time(ms)"], NS_PER_MS),
        wait_ns=scaled(times["Wait Time(ms)"], NS_PER_MS),
        sync_ns=scaled(times["Synchronization Time(ms)"], NS_PER_MS),
        traffic=_bandwidths(entry.get("Communication Bandwidth Info")),
    )


def _bandwidths(blocks: Any) -> list[Traffic]:
    if blocks is None:
        return []
    if not isinstance(blocks, dict) or not all(isinstance(block, dict) for block in blocks.values()):
        raise TypeError("not an object")
    found: list[Traffic] = []
    for transport, block in blocks.items():
        size, time = block.get("Transit Size(MB)"), block.get("Transit Time(ms)")
        if size is not None and time is not None and scaled(size, BYTES_PER_MB) > 0:
            found.append(Traffic(transport, scaled(size, BYTES_PER_MB), scaled(time, NS_PER_MS)))
    return _without_sum(found)


def _without_sum(found: Iterable[Traffic]) -> list[Traffic]:
    found = list(found)
    others = [traffic for traffic in found if traffic.transport not in (_SUM_OF_OTHERS, "RDMA")]
    return [traffic for traffic in found if traffic.transport != _SUM_OF_OTHERS or not others]


def _traffic(transport: str, size_mb: Any, time_ms: Any) -> Traffic | None:
    try:
        size, time = scaled(size_mb, BYTES_PER_MB), scaled(time_ms, NS_PER_MS)
    except (TypeError, ValueError, ArithmeticError):
        return None
    return Traffic(transport, size, time) if size > 0 else None


def scaled(value: Any, factor: int) -> int:
    """Return a number times a factor, rounded; floats of a database by their shortest decimal form.

    Raises:
        TypeError: It is no number.
        ValueError: The product is outside int64.
        ArithmeticError: It is not finite.
    """
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        raise TypeError(f"not a number: {value!r}")
    number = units.scaled(Decimal(repr(value)) if isinstance(value, float) else Decimal(value), factor)
    if number is None:
        raise ValueError("outside int64")
    return number


def _moves_between_chips(name: Text, transport: Text, size: Nullable) -> np.ndarray[Any, np.dtype[np.bool_]]:
    payload = name.where(
        lambda text: text.lower().startswith(("memcpy", "reduce", "rdmasend", "rdma_send", "write", "read"))
    )
    local = transport.where(lambda text: "ON_CHIP" in text or text.startswith("LOCAL"))
    return payload & ~local & size.valid & (size.values > 0)


def _plane_numbers(plane: Text) -> Int64:
    numbers = [int(found[0]) if (found := re.search(r"\d{1,18}", value)) else 0 for value in plane.values]
    return np.array([*numbers, 0], np.int64)[plane.codes]


def _summed(count: int, collective: Int64, dur: Int64, mask: np.ndarray[Any, np.dtype[np.bool_]]) -> Int64:
    total = np.zeros(count, np.int64)
    np.add.at(total, collective[mask], dur[mask])
    return total
