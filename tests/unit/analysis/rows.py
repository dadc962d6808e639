"""Results of analyses as dicts, and collectives drawn in few words."""

from __future__ import annotations

from typing import Any

from duckdb import DuckDBPyConnection

from ascend_sn.analysis import BY_NAME
from ascend_sn.analysis.registry import evaluate
from ascend_sn.analysis.relations import Result
from tests.timeline import insert, together


def rows(result: Result) -> list[dict[str, Any]]:
    """Return every row as a dict, as DuckDB holds it: of the types that the analysis gives its columns."""
    relation = result.relation()
    names = relation.columns
    found = [dict(zip(names, row, strict=True)) for row in relation.fetchall()]
    assert result.dicts() == found
    return found


def results(name: str, db: DuckDBPyConnection) -> list[dict[str, Any]]:
    """Run an analysis by name, combined over the profiles."""
    return rows(evaluate(BY_NAME[name], db))


def profile(db: DuckDBPyConnection, rank: int, **values: Any) -> None:
    """Insert the profile of a rank (profile_id = rank); each on a host of its own unless said otherwise."""
    values = {"host": f"host-{rank}", "format": "drawing", "source": f"r{rank}", "device_kind": "npu", **values}
    insert(db, "profile", profile_id=rank, rank=rank, **values)


def group(db: DuckDBPyConnection, group_id: str, size: int, *present: int, exact: bool = True) -> None:
    """Insert the members of a communicator as every present rank knows them."""
    with together(db):
        for rank in present:
            for member in range(size):
                insert(
                    db,
                    "comm_group_member",
                    profile_id=rank,
                    rank=rank,
                    group_id=group_id,
                    group_size=size,
                    size_is_exact=exact,
                    group_rank=member,
                    member_rank=member if exact else None,
                )


def collective(db: DuckDBPyConnection, rank: int, number: int, start: int, end: int, **values: Any) -> None:
    """Insert a collective and the communication kernel that is its whole."""
    values = {"op": "allreduce", "group_id": "g", "sequence": number, "name": f"call_{number}", **values}
    step_id = values.pop("step_id", None)
    insert(
        db,
        "kernel",
        profile_id=rank,
        rank=rank,
        kernel_id=1_000 + number,
        device_id=0,
        stream="comm",
        name=values["name"],
        kind="communication",
        ts_ns=start,
        dur_ns=end - start,
        step_id=step_id,
    )
    insert(
        db,
        "collective",
        profile_id=rank,
        rank=rank,
        collective_id=number,
        kernel_id=1_000 + number,
        ts_ns=start,
        dur_ns=end - start,
        **values,
    )
