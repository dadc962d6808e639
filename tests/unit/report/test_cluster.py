"""What is said of many ranks at once: figures counted from the drawing, the worst first, lists that do not grow."""

from __future__ import annotations

import pytest

from ascend_sn.advisor.facts import Facts
from ascend_sn.advisor.median_step import median_steps
from ascend_sn.analysis.ranks.chosen_profiles import chosen_profiles
from ascend_sn.report.assemble.cluster import CLUSTER_FROM, cluster_section
from ascend_sn.report.documents.cluster import Cluster
from ascend_sn.report.documents.views import View
from ascend_sn.report.tables.cluster import cluster_lines, cluster_tables
from ascend_sn.report.words.language import Code, Language
from tests.timeline import insert, timeline
from tests.unit.report.drawn import DrawnRun

SLOW = 5


def ranks(count: int) -> DrawnRun:
    """Three steps of ten each: every rank computes for four of them, rank 5 for seven; C is communication."""
    lanes = []
    for rank in range(count):
        kernels = "AAAAAAACC." if rank == SLOW else "AAAACC...."
        lanes += [f"r{rank} step |{'1' * 10}{'2' * 10}{'3' * 10}|", f"r{rank} s1 |{kernels * 3}|"]
    return DrawnRun(timeline("\n".join(lanes), kinds={"C": "communication"}))


def section(count: int) -> Cluster | None:
    facts = Facts(ranks(count))
    return cluster_section(facts, median_steps(facts))


def test_few_ranks_are_no_cluster() -> None:
    assert section(CLUSTER_FROM - 1) is None


def test_the_figures_of_a_cluster_are_those_of_its_ranks() -> None:
    cluster = section(20)

    assert cluster is not None
    spreads = {one.figure: one for one in cluster.spreads}
    compute, free, own = spreads["compute"], spreads["free"], spreads["own"]
    assert (cluster.rank_count, cluster.detailed_ranks, cluster.lost_count) == (20, None, 0)
    assert (compute.ranks, compute.lowest, compute.middle, compute.highest, compute.highest_rank) == (20, 4, 4, 7, SLOW)
    assert (free.lowest, free.lowest_rank, free.middle, free.highest) == (1, SLOW, 4, 4)
    assert (own.lowest, own.middle, own.highest) == (8, 8, 8)  # ten less the two of communication
    assert cluster.steps == [1, 2, 3]
    assert {tuple(row.own_ns) for row in cluster.heat} == {(8, 8, 8)}
    assert [(stage.stage, stage.ranks, stage.compute_ns) for stage in cluster.stages] == [(None, 20, 4)]


def test_lists_do_not_grow_with_the_ranks() -> None:
    cluster = section(230)

    assert cluster is not None
    assert (cluster.rank_count, len(cluster.worst), len(cluster.heat)) == (230, 20, 200)


@pytest.mark.parametrize("code", ["en", "zh"])
def test_a_cluster_is_told_in_words_and_tables(code: Code) -> None:
    cluster = section(20)
    assert cluster is not None

    lines = cluster_lines(cluster, Language.load(code))
    tables = cluster_tables(cluster, Language.load(code), View())

    assert "20" in lines[0]
    assert [len(table.columns) == len(table.rows[0]) for table in tables] == [True] * len(tables)
    assert len(tables) == 2  # the ranks, and how they differ: one stage and no slow link make no table


def test_profiles_to_look_into_are_few_and_spread() -> None:
    run = ranks(40)

    assert chosen_profiles(run, at_most=64) == list(range(40))
    chosen = chosen_profiles(run, at_most=8)
    assert (len(chosen), len(set(chosen)), chosen) == (8, 8, sorted(chosen))
    assert chosen[0] < 8
    assert chosen[-1] > 30


def test_the_rank_at_slow_links_and_its_group_are_looked_into() -> None:
    run = ranks(40)
    for pair in ((28, 29), (29, 30), (30, 28), (24, 25), (25, 26), (26, 27), (27, 24), (20, 21), (21, 22), (22, 23)):
        speed = 1 if 29 in pair else 10
        insert(run.db, "link", profile_id=pair[0], rank=pair[0], collective_id=0, group_id="g", src_rank=pair[0],
               dst_rank=pair[1], rank_scope="global", transport="HCCS", size_bytes=1000 * speed,
               dur_ns=1000)  # fmt: skip

    chosen = chosen_profiles(run, at_most=8)

    assert 29 in chosen


def test_a_rank_whose_memory_leaks_is_looked_into() -> None:
    run = ranks(40)
    for step in range(40):
        insert(run.db, "step", profile_id=27, rank=27, step_id=100 + step, step=100 + step, ts_ns=1_000 + 10 * step,
               dur_ns=10, origin="mark")  # fmt: skip
        insert(run.db, "memory_sample", profile_id=27, rank=27, ts_ns=1_001 + 10 * step, component="PTA",
               allocated_bytes=8_000_000_000 + step * 1_000_000)  # fmt: skip

    assert 27 in chosen_profiles(run, at_most=8)
    assert 27 not in chosen_profiles(ranks(40), at_most=8)
