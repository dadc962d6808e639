"""What an analysis is: its name, what it needs, and how profiles are combined.

`per_profile` sees tables that may hold one profile or many and keeps `profile_id` in every row, so the rows
of many profiles are the concatenation of the rows of each. `combine`, where an analysis has it, sees the
per-profile result of the whole run as the view `per_profile_result` (beside the tables) and returns the
final rows; this is the only place where profiles meet, and it works on small tables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import msgspec
from duckdb import DuckDBPyConnection

from ascend_sn.analysis.relations import Result, selected, worked_out_once
from ascend_sn.model.tables import BY_NAME

__all__ = ["COMBINED_VIEW", "Analysis", "Missing", "Need", "combined_once", "evaluate", "missing_needs"]

COMBINED_VIEW = "per_profile_result"

Relational = Callable[[DuckDBPyConnection], Result]


@dataclass(frozen=True)
class Need:
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


@dataclass(frozen=True)
class Analysis:
    """A registered analysis; `code` is the id of its definition (A03, ...)."""

    code: str
    name: str
    title: str
    per_profile: Relational = field(repr=False)
    needs: tuple[Need, ...] = ()
    combine: Relational | None = field(default=None, repr=False)


class Missing(msgspec.Struct, frozen=True):
    """Why a result is absent: the state of the missing table in `coverage`, and how to collect it."""

    state: str
    reason: str
    turn_on: str
    collected: bool = False


def evaluate(analysis: Analysis, db: DuckDBPyConnection) -> Result:
    """Run an analysis on the tables visible in `db`.

    A combined result is kept as a table: it was made from the view that the next analysis replaces.
    """
    combine = analysis.combine
    if combine is None:
        return analysis.per_profile(db)

    def combined() -> Result:
        analysis.per_profile(db).keep(COMBINED_VIEW)
        return combine(db)

    return selected(db, f"select * from {combined_once(analysis.name, db, combined)}")


def combined_once(name: str, db: DuckDBPyConnection, work_out: Callable[[], Result]) -> str:
    """Return the name of the table that holds the combined result of the analysis `name`; worked out if it is not."""
    table = f"{name}_result"
    known = _combined(db)
    if name not in known:
        work_out().keep(table)
        known.add(name)
    return table


@worked_out_once
def _combined(_db: DuckDBPyConnection) -> set[str]:
    """The analyses whose combined result is kept."""
    return set()


def missing_needs(needs: Iterable[Need], db: DuckDBPyConnection) -> Missing | None:
    """Return why an analysis cannot run on these tables, None when it can.

    The one place that turns an absent table into "not collected, turn on X".
    """
    for need in needs:
        if not _has_rows(db, need.table, need.column) and not any(
            _has_rows(db, *name.split(".")) for name in need.alternatives
        ):
            return _explain(need, db)
    return None


def _has_rows(db: DuckDBPyConnection, table: str, column: str | None = None) -> bool:
    known = _known_rows(db)
    if (table, column) not in known:
        condition = "true" if column is None else f"{column} is not null"
        known[table, column] = bool(db.execute(f"select 1 from {table} where {condition} limit 1").fetchall())
    return known[table, column]


@worked_out_once
def _known_rows(_db: DuckDBPyConnection) -> dict[tuple[str, str | None], bool]:
    """Whether a table, or a column of it, holds anything; filled by whoever asks."""
    return {}


def _explain(need: Need, db: DuckDBPyConnection) -> Missing:
    """Say why a need is not met: what `coverage` says of it, or of the alternative that can be turned on."""
    names = [(need.table, need.column), *((table, column or None) for table, _, column in
             (name.partition(".") for name in need.alternatives))]  # fmt: skip
    told = [_told(db, table, column) for table, column in names]
    known = [one for one in told if one is not None]
    if not known:
        what = need.table if need.column is None else f"{need.table}.{need.column}"
        return Missing("missing", f"the capture holds no {what}", "")
    return next((one for one in known if one.state != "collected"), known[0])


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
