"""What host calls do, by the table of `host_calls.toml`: allocate, compile, copy, wait, launch."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Any, Final

import msgspec
from duckdb import DuckDBPyConnection

from ascend_sn.analysis.relations import listed, worked_out_once

__all__ = ["CLASSES", "class_of_call", "classify_calls"]

CLASSES: Final = ("gc", "allocator", "compile", "profiler_flush", "copy", "sync", "launch")
"""Every class, the most telling first; a name that fits several belongs to the first."""

_CLASS_TABLE: Final = "host_call_class"
_NAME_TYPES: Final = {"level": "varchar", "name": "varchar", "class": "varchar"}


class _Patterns(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    names: tuple[str, ...]
    levels: tuple[str, ...] = ()


@cache
def _classes() -> tuple[tuple[str, frozenset[str], re.Pattern[str]], ...]:
    text = Path(__file__).with_name("host_calls.toml").read_text("utf-8")
    given = msgspec.convert(tomllib.loads(text)["class"], dict[str, _Patterns])
    return tuple(
        (name, frozenset(given[name].levels), re.compile("|".join(given[name].names), re.IGNORECASE))
        for name in CLASSES
    )


def class_of_call(level: str | None, name: str | None) -> str | None:
    """Return what a host call does, None where its name does not say."""
    for class_name, levels, names in _classes():
        if level in levels or (name is not None and names.fullmatch(name)):
            return class_name
    return None


@worked_out_once
def classify_calls(db: DuckDBPyConnection) -> str:
    """Make a table of the calls whose class is known and return its name.

    Its columns: profile_id, host_call_id, thread, name, class, ts_ns, dur_ns.
    """
    distinct: list[tuple[Any, ...]] = db.execute("select distinct level, name from host_call").fetchall()
    known = [{"level": level, "name": name, "class": class_of_call(level, name)} for level, name in distinct]
    listed(db, [row for row in known if row["class"] is not None], _NAME_TYPES).keep(f"{_CLASS_TABLE}_names")
    db.execute(f"""
        create or replace temp table {_CLASS_TABLE} as
        select host_call.profile_id, host_call_id, thread, host_call.name, class, ts_ns, dur_ns
        from host_call
        join {_CLASS_TABLE}_names known
            on known.level is not distinct from host_call.level
           and known.name is not distinct from host_call.name
    """)
    return _CLASS_TABLE
