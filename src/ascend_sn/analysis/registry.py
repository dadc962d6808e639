"""What an analysis is: its name, what it needs, and how profiles are combined.

`per_profile` sees tables that may hold one profile or many and keeps `profile_id` in every row, so the rows
of many profiles are the concatenation of the rows of each. `combine`, where an analysis has it, gets the
per-profile result of the whole run (beside the tables) and returns the final rows; this is the only place
where profiles meet, and it works on small tables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec
from duckdb import DuckDBPyConnection

from ascend_sn.analysis.relations import Result, kept, worked_out_once
from ascend_sn.model.tables import BY_NAME
from ascend_sn.store.summaries import SUMMARY

__all__ = [
    "COMBINED_VIEW",
    "Analysis",
    "Missing",
    "Need",
    "PerProfile",
    "evaluate",
    "has_rows",
    "is_summarised",
    "missing_needs",
    "profile_rows",
    "settled_once",
    "summary_named",
    "summary_of",
]

COMBINED_VIEW = "per_profile_result"
"""Name under which a combining query keeps the rows that it combines."""

PerProfile = Callable[[DuckDBPyConnection], Result]
Combine = Callable[[DuckDBPyConnection, Result], Result]


class Need(msgspec.Struct, frozen=True):
    """A table that must have rows; with `column`, one whose column must not be null everywhere.

    Where any of `alternatives` (a table, or table.column) has such rows, that will do as well.
    """

    table: str
    column: str | None = None
    alternatives: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for table, _, column in (
            (self.table, "", self.column or ""),
            *(name.partition(".") for name in self.alternatives),
        ):
            if column:
                BY_NAME[table].column(column)


class Analysis(msgspec.Struct, frozen=True):
    """A registered analysis; `code` is the id of its definition (A03, ...)."""

    code: str
    name: str
    title: str
    per_profile: PerProfile
    needs: tuple[Need, ...] = ()
    combine: Combine | None = None


class Missing(msgspec.Struct, frozen=True):
    """Why a result is absent: the state of the missing table in `coverage`, and how to collect it."""

    state: str
    reason: str
    turn_on: str
    collected: bool = False


def evaluate(analysis: Analysis, db: DuckDBPyConnection) -> Result:
    """Run an analysis on the tables visible in `db`.

    A combined result is settled: it was made from tables that the next analysis replaces.
    """
    combine = analysis.combine

    def parts() -> Result:
        return profile_rows(analysis.per_profile, db)

    return parts() if combine is None else settled_once(analysis.name, db, lambda: combine(db, parts()))


def profile_rows(per_profile: PerProfile, db: DuckDBPyConnection) -> Result:
    """Return the rows of `per_profile`: those of the summaries of a cluster, else worked out from the tables."""
    table = summary_of(per_profile)
    return kept(db, table) if table in _summaries(db) else per_profile(db)


def summary_of(per_profile: PerProfile) -> str:
    """Return the name of the table that holds the rows of `per_profile` in the summaries of a cluster.

    A function without a name of its own (an analysis with other settings) has no rows there.
    """
    return f"{SUMMARY}{getattr(per_profile, '__name__', '')}"


def summary_named(name: str, db: DuckDBPyConnection) -> str | None:
    """Return the table of the summaries that is kept under a name, None where it is not there."""
    table = f"{SUMMARY}{name}"
    return table if table in _summaries(db) else None


def is_summarised(analysis: Analysis, db: DuckDBPyConnection) -> bool:
    """Say whether the rows per profile were worked out before, and are there."""
    return summary_of(analysis.per_profile) in _summaries(db)


@worked_out_once
def _summaries(db: DuckDBPyConnection) -> set[str]:
    """The tables of summaries that are visible; views of them are tables, too."""
    rows = db.execute(
        "select table_name from information_schema.tables where starts_with(table_name, $begin)", {"begin": SUMMARY}
    )
    return {name for (name,) in rows.fetchall()}


def settled_once(name: str, db: DuckDBPyConnection, work_out: Callable[[], Result]) -> Result:
    """Return the result of the analysis `name`, which several read; worked out only if it is not known yet."""
    known = _settled(db)
    if name not in known:
        known[name] = work_out().settled(f"{name}_result")
    return known[name](db)


@worked_out_once
def _settled(_db: DuckDBPyConnection) -> dict[str, Callable[[DuckDBPyConnection], Result]]:
    """The results that are known, by analysis."""
    return {}


def missing_needs(needs: Iterable[Need], db: DuckDBPyConnection) -> Missing | None:
    """Return why an analysis cannot run on these tables, None when it can.

    The one place that turns an absent table into "not collected, turn on X".
    """
    for need in needs:
        if not has_rows(db, need.table, need.column) and not any(
            has_rows(db, *name.split(".")) for name in need.alternatives
        ):
            return _explain(need, db)
    return None


def has_rows(db: DuckDBPyConnection, table: str, column: str | None = None) -> bool:
    """Say whether a table holds rows; with `column`, whether any of them has a value there."""
    if column is None:
        return table in _filled_tables(db)
    known = _filled_columns(db)
    if (table, column) not in known:
        known[table, column] = bool(db.execute(f"select 1 from {table} where {column} is not null limit 1").fetchall())
    return known[table, column]


@worked_out_once
def _filled_tables(db: DuckDBPyConnection) -> set[str]:
    """The tables that hold rows, asked for in one query."""
    asked = " union all ".join(f"(select '{name}' from {name} limit 1)" for name in BY_NAME)
    return {name for (name,) in db.execute(asked).fetchall()}


@worked_out_once
def _filled_columns(_db: DuckDBPyConnection) -> dict[tuple[str, str], bool]:
    """Whether a column holds anything; filled by whoever asks."""
    return {}


def _explain(need: Need, db: DuckDBPyConnection) -> Missing:
    """Say why a need is not met: what `coverage` says of it, or of the alternative that can be turned on."""
    names = [(need.table, need.column), *((table, column or None) for table, _, column in
             (name.partition(".") for name in need.alternatives))]  # fmt: skip
    told = [_told(db, table, column) for table, column in names]
    known = [one for one in told if one is not None]
    found = next((one for one in known if one.state != "collected"), known[0] if known else None)
    if found is None or (found.state == "collected" and not found.reason):
        what = need.table if need.column is None else f"{need.table}.{need.column}"
        return Missing("missing", f"the capture holds no {what}", found.turn_on if found is not None else "")
    return found


def _told(db: DuckDBPyConnection, table: str, column: str | None) -> Missing | None:
    rows = db.execute(
        """
        select state, reason, turn_on
        from coverage
        where table_name = $table and (column_name is not distinct from $column or column_name is null)
        order by state = 'missing' desc, column_name is null, profile_id
        limit 1
        """,
        {"table": table, "column": column},
    ).fetchall()
    return Missing(rows[0][0], rows[0][1] or "", rows[0][2] or "") if rows else None
