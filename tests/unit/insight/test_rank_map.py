"""The map of ranks by their parallel groups, requests, and roofs: figures counted from drawings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from duckdb import DuckDBPyConnection

from tests.timeline import insert, timeline, together
from tests.unit.insight.drawn_runs import client_of
from tests.unit.report.drawn import add_rank


def four_ranks() -> DuckDBPyConnection:
    """Two pipeline stages of two tensor-parallel ranks: rank = 2 * stage + place."""
    db = timeline(
        """
        r0 step |11111111112222222222|
        r0 s1   |AAAA.BB...AAAA.B....|
        r1 step |11111111112222222222|
        r1 s1   |AAAAAAAA..AAAA......|
        r2 step |11111111112222222222|
        r2 s1   |A.........A.........|
        r3 step |11111111112222222222|
        r3 s1   |AA........AA........|
        """
    )
    db.execute("delete from profile")
    for rank in range(4):
        add_rank(db, rank)
        stage, place = divmod(rank, 2)
        for kind, group, own, members in (
            ("tp", f"tp{stage}", place, [2 * stage, 2 * stage + 1]),
            ("pp", f"pp{place}", stage, [place, place + 2]),
        ):
            with together(db):
                for at, member in enumerate(members):
                    insert(
                        db,
                        "comm_group_member",
                        profile_id=rank,
                        rank=rank,
                        group_id=group,
                        kind=kind,
                        group_rank=at,
                        group_size=2,
                        size_is_exact=True,
                        member_rank=member,
                    )
            assert members[own] == rank
    return db


def rows_of(answer: Any) -> list[dict[str, Any]]:
    names = [column["name"] for column in answer["columns"]]
    return [dict(zip(names, row, strict=True)) for row in answer["rows"]]


def test_a_rank_stands_at_its_place_in_its_groups(tmp_path: Path) -> None:
    rows = rows_of(client_of(four_ranks(), tmp_path).get("tables/rank_map"))

    assert [(row["rank"], row["pp_place"], row["tp_place"], row["dp_place"]) for row in rows] == [
        (0, 0, 0, None), (1, 0, 1, None), (2, 1, 0, None), (3, 1, 1, None),
    ]  # fmt: skip
    assert [(row["pp_group"], row["tp_group"], row["dp_group"]) for row in rows] == [
        ("pp0", "tp0", None), ("pp1", "tp0", None), ("pp0", "tp1", None), ("pp1", "tp1", None),
    ]  # fmt: skip


def test_the_figures_of_a_rank_are_the_means_of_its_steps(tmp_path: Path) -> None:
    rows = rows_of(client_of(four_ranks(), tmp_path).get("tables/rank_map"))

    # Rank 0: 6 and 5 of 10; rank 1: 8 and 4; rank 2: 1 and 1; rank 3: 2 and 2. Halves are rounded away from 0.
    assert [(row["step_count"], row["window_ns"], row["compute_ns"], row["exposed_comm_ns"]) for row in rows] == [
        (2, 10, 6, 0), (2, 10, 6, 0), (2, 10, 1, 0), (2, 10, 2, 0),
    ]  # fmt: skip
    assert [row["free_ns"] for row in rows[1:]] == [4, 9, 8]


def test_without_groups_the_places_are_not_known(tmp_path: Path) -> None:
    rows = rows_of(client_of(timeline("r0 s1 |AA.|\nr1 s1 |A..|"), tmp_path).get("tables/rank_map"))

    assert [(row["rank"], row["tp_place"], row["tp_group"], row["step_count"]) for row in rows] == [
        (0, None, None, 0), (1, None, None, 0),
    ]  # fmt: skip


def test_calls_are_narrowed_to_a_group(tmp_path: Path) -> None:
    db = four_ranks()
    with together(db):
        for rank in range(4):
            insert(db, "collective", profile_id=rank, rank=rank, collective_id=0, op="allreduce", name="ar",
                   group_id=f"tp{rank // 2}", sequence=0, ts_ns=1, dur_ns=2, size_bytes=8)  # fmt: skip
    client = client_of(db, tmp_path)

    assert client.get("tables/calls")["row_count"] == 2
    assert [row["group_id"] for row in rows_of(client.get("tables/calls", group_id="tp1"))] == ["tp1"]


def test_requests_are_the_ranges_of_their_domain(tmp_path: Path) -> None:
    db = timeline("r0 s1 |.AA..AAAA.|")
    with together(db):
        for span_id, (domain, ts, dur) in enumerate((("request", 0, 4), ("other", 1, 1), ("request", 4, 6))):
            insert(
                db,
                "span",
                profile_id=0,
                rank=0,
                span_id=span_id,
                name=f"q{span_id}",
                domain=domain,
                ts_ns=ts,
                dur_ns=dur,
            )
    client = client_of(db, tmp_path)

    assert [(row["name"], row["dur_ns"]) for row in rows_of(client.get("tables/requests"))] == [("q0", 4), ("q2", 6)]
    stages = {row["stage"]: row for row in rows_of(client.get("tables/request_stages"))}
    # 2 of 4 and 4 of 6 are work. Of two lengths the 95th percentile lies 95 % of the way between them.
    assert (stages["total"]["requests"], stages["total"]["p50_ns"], stages["total"]["p95_ns"]) == (2, 5.0, 5.9)
    assert (stages["inference"]["mean_ns"], stages["gap"]["mean_ns"]) == (3.0, 2.0)
