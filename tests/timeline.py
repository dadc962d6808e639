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
from collections.abc import Mapping
from typing import Any

import duckdb
from duckdb import DuckDBPyConnection

from ascend_sn.model.tables import BY_NAME, TABLES, ddl

_ALL_TABLES = ";".join(ddl(table) for table in TABLES)
_database = duckdb.connect()
_schemas = itertools.count()

_PHASES = {"d": "data", "f": "forward", "b": "backward", "o": "optimizer", "x": "other"}
_LANE = re.compile(r"r(\d+)\s+(\w+)\s+\|([^|]*)\|")


def timeline(
    drawing: str, *, kinds: Mapping[str, str] | None = None, launched_by: Mapping[str, str] | None = None
) -> DuckDBPyConnection:
    """Return a connection on which the drawn tables are visible."""
    db = empty_tables()
    counts: dict[tuple[int, str], int] = {}

    def number(profile: int, table: str) -> int:
        counts[profile, table] = counts.get((profile, table), -1) + 1
        return counts[profile, table]

    lanes = [(int(rank), lane, drawn) for rank, lane, drawn in _LANE.findall(drawing)]
    steps = {rank: [s for s in slices_of(drawn)] for rank, lane, drawn in lanes if lane == "step"}
    launchers: dict[tuple[int, str], int] = {}
    for rank in sorted({rank for rank, _, _ in lanes}):
        insert(
            db,
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
                insert(
                    db,
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
                insert(
                    db,
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
                insert(
                    db,
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
            insert(
                db,
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
    values.setdefault("profile_id", 0)
    unknown = set(values) - set(BY_NAME[table].names)
    assert not unknown, f"{table} has no column {unknown}"
    names = ", ".join(values)
    db.execute(f"insert into {table} ({names}) values ({', '.join('?' * len(values))})", list(values.values()))


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
