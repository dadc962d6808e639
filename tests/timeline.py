"""Draw traces instead of building rows.

`timeline` takes lanes of one character per nanosecond. A run of the same letter is one slice; a dot is
nothing; a `'` is the first nanosecond of another slice of the letter before it. Lanes:

    r0 s1 |AAA'A..B|    kernels on stream 1 of rank 0 (profile 0); the letter is the name
    r0 step |111222|    steps, numbered by the digit
    r0 host |dddffbb|   operators by phase: d data, f forward, b backward, o optimizer, x other

`kinds` maps a kernel's letter to its kind (default compute), `launched_by` a kernel's letter to the phase of
the operator that launched it.
"""

from __future__ import annotations

import itertools
import re
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import duckdb
from duckdb import DuckDBPyConnection

from ascend_sn.model.tables import BY_NAME, TABLES, ddl

_ALL_TABLES = ";".join(ddl(table) for table in TABLES)
_database = duckdb.connect()
_schemas = itertools.count()
_waiting: dict[int, dict[str, list[dict[str, Any]]]] = {}
"""By the id of a connection: the rows that `together` will insert."""

_PHASES = {"d": "data", "f": "forward", "b": "backward", "o": "optimizer", "x": "other"}
_LANE = re.compile(r"r(\d+)\s+(\w+)\s+\|([^|]*)\|")


def timeline(
    drawing: str, *, kinds: Mapping[str, str] | None = None, launched_by: Mapping[str, str] | None = None
) -> DuckDBPyConnection:
    """Return a connection on which the drawn tables are visible."""
    rows: dict[str, list[dict[str, Any]]] = {}
    counts: dict[tuple[int, str], int] = {}

    def number(profile: int, table: str) -> int:
        counts[profile, table] = counts.get((profile, table), -1) + 1
        return counts[profile, table]

    def add(table: str, **values: Any) -> None:
        rows.setdefault(table, []).append(values)

    lanes = [(int(rank), lane, drawn) for rank, lane, drawn in _LANE.findall(drawing)]
    steps = {rank: [s for s in slices_of(drawn)] for rank, lane, drawn in lanes if lane == "step"}
    launchers: dict[tuple[int, str], int] = {}
    for rank in sorted({rank for rank, _, _ in lanes}):
        add(
            "profile",
            profile_id=rank,
            rank=rank,
            format="drawing",
            source=f"r{rank}",
            device_kind="npu",
            host="drawn",
        )
    for rank, lane, drawn in lanes:
        for letter, start, dur in slices_of(drawn):
            if lane == "step":
                add(
                    "step",
                    profile_id=rank,
                    rank=rank,
                    step_id=number(rank, "step"),
                    step=int(letter),
                    ts_ns=start,
                    dur_ns=dur,
                    origin="mark",
                )
            elif lane.startswith("host"):
                add(
                    "operator",
                    profile_id=rank,
                    rank=rank,
                    operator_id=number(rank, "operator"),
                    thread=lane,
                    name=_PHASES[letter],
                    ts_ns=start,
                    dur_ns=dur,
                    self_ns=dur,
                    depth=0,
                    phase=_PHASES[letter],
                )
    for rank, lane, drawn in lanes:
        if not re.fullmatch(r"s\d+", lane):
            continue
        for letter, start, dur in slices_of(drawn):
            phase = (launched_by or {}).get(letter)
            if phase is not None and (rank, phase) not in launchers:
                launchers[rank, phase] = number(rank, "operator")
                add(
                    "operator",
                    profile_id=rank,
                    rank=rank,
                    operator_id=launchers[rank, phase],
                    thread="launcher",
                    name=phase,
                    ts_ns=-1,
                    dur_ns=0,
                    self_ns=0,
                    depth=0,
                    phase=phase,
                )
            step = next((i for i, (_, s, d) in enumerate(steps.get(rank, [])) if s <= start < s + d), None)
            add(
                "kernel",
                profile_id=rank,
                rank=rank,
                kernel_id=number(rank, "kernel"),
                device_id=0,
                stream=lane[1:],
                name=letter,
                op_type=letter,
                kind=(kinds or {}).get(letter, "compute"),
                ts_ns=start,
                dur_ns=dur,
                step_id=step,
                operator_id=launchers.get((rank, phase or "")),
            )
    db = empty_tables()
    for table, drawn_rows in rows.items():
        insert_all(db, table, drawn_rows)
    return db


def empty_tables() -> DuckDBPyConnection:
    """Return a connection with every table, all empty.

    A database of its own costs 40 ms, a schema in a common one costs 13; it goes when the connection does.
    """
    number = next(_schemas)
    db = _database.cursor()
    db.execute(f"create schema s{number}; use s{number}; {_ALL_TABLES}")
    weakref.finalize(db, _database.execute, f"drop schema s{number} cascade")
    return db


def insert(db: DuckDBPyConnection, table: str, **values: Any) -> None:
    """Insert one row; columns not given are null. profile_id defaults to 0."""
    waiting = _waiting.get(id(db))
    if waiting is None:
        insert_all(db, table, [values])
    else:
        waiting.setdefault(table, []).append(values)


@contextmanager
def together(db: DuckDBPyConnection) -> Iterator[None]:
    """Rows that are inserted meanwhile come at the end, with one statement for each table."""
    if id(db) in _waiting:
        yield
        return
    waiting = _waiting[id(db)] = {}
    try:
        yield
    finally:
        del _waiting[id(db)]
    for table, rows in waiting.items():
        insert_all(db, table, rows)


def insert_all(db: DuckDBPyConnection, table: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert rows as `insert` does, with one statement: a sixth of the time of one for each."""
    complete = [{"profile_id": 0, **values} for values in rows]
    names = list(dict.fromkeys(name for values in complete for name in values))
    unknown = set(names) - set(BY_NAME[table].names)
    assert not unknown, f"{table} has no column {unknown}"
    marks = ", ".join([f"({', '.join('?' * len(names))})"] * len(complete))
    in_order = [values.get(name) for values in complete for name in names]
    db.execute(f"insert into {table} ({', '.join(names)}) values {marks}", in_order)


def slices_of(drawn: str) -> list[tuple[str, int, int]]:
    """Runs of one letter as (letter, start, length); a `'` begins another one of the letter before it."""
    found: list[tuple[str, int, int]] = []
    at = 0
    while at < len(drawn):
        letter = drawn[at]
        end = at + 1
        if letter == "'":
            letter = found[-1][0]
        while end < len(drawn) and drawn[end] == letter:
            end += 1
        if letter not in ". ":
            found.append((letter, at, end - at))
        at = end
    return found
