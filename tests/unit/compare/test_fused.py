"""Chains that became one kernel: counted by hand from drawn kernels."""

from __future__ import annotations

from ascend_sn.compare.fused import FusedChanges, fused_changes
from tests.timeline import timeline


def told(found: FusedChanges) -> list[tuple[str, str, str, float, float, float, float]]:
    return [
        (one.state, one.before, one.after, one.count, one.before_ns, one.after_ns, one.gain_ns) for one in found.chains
    ]


def test_a_chain_and_the_kernel_in_its_place() -> None:
    base = timeline("""
        r0 step |11111111111111111111|
        r0 s1   |AABBCDDDE.AABBCDDDE.|
    """)
    candidate = timeline("""
        r0 step |11111111111111111111|
        r0 s1   |AAFFFFE...AAFFFFE...|
    """)

    found = fused_changes(base, candidate)

    assert told(found) == [("fused", "B, C, D", "F", 2, 12, 8, 4)]
    (chain,) = found.chains
    assert (chain.before_kernels, chain.after_kernels) == (3, 1)
    assert (chain.base_example, chain.candidate_example) == ((0, 1), (0, 1))
    assert (found.base_kernels, found.candidate_kernels, found.rank_count) == (10, 6, 1)


def test_the_other_way_round_it_was_split() -> None:
    base = timeline("r0 s1 |AFFFFE|")
    candidate = timeline("r0 s1 |ABBCCCCE|")

    assert told(fused_changes(base, candidate)) == [("split", "F", "B, C", 1, 4, 6, -2)]


def test_attention_between_two_matrix_products_that_stay() -> None:
    base = timeline("r0 s1 |M'MSXMM'MMA|")
    candidate = timeline("r0 s1 |MFFFMMMA|")

    # The first product (1 ns) and the last (3 ns) stay; those of 2 ns went with what is between them.
    assert told(fused_changes(base, candidate)) == [("fused", "M, S, X, M", "F", 1, 6, 3, 3)]


def test_many_kernels_in_a_row_are_told_once() -> None:
    base = timeline("r0 s1 |AP'''QQ'Z|")
    candidate = timeline("r0 s1 |AOOZ|")

    assert told(fused_changes(base, candidate)) == [("fused", "P x4, Q x2", "O", 1, 7, 2, 5)]


def test_a_sequence_that_repeats_is_told_once() -> None:
    base = timeline("r0 s1 |APQQ'PQQ'PQQ'Z|")
    candidate = timeline("r0 s1 |AOOZ|")

    assert told(fused_changes(base, candidate)) == [("fused", "(P, Q x2) x3", "O", 1, 12, 2, 10)]


def test_moved_new_and_replaced_kernels_are_no_fusion() -> None:
    base = timeline("r0 s1 |ABCDEFG|")
    moved = timeline("r0 s1 |ACDEFBG|")
    new = timeline("r0 s1 |ABCDXEFG|")
    other = timeline("r0 s1 |ABCDXFG|")
    gone = timeline("r0 s1 |ABFG|")

    assert [told(fused_changes(base, one)) for one in (moved, new, other, gone)] == [[], [], [], []]


def test_the_usual_step_counts_with_the_mean_time_of_its_kernels() -> None:
    # Step 1 is the warm-up; step 4 has a kernel more than the usual one.
    base = timeline("""
        r0 step |1111111111222222222233333333334444444444|
        r0 s1   |ABBBBBBCD.ABBC.D....ABBBBC.D..ABBCDXXXXX|
    """)
    candidate = timeline("""
        r0 step |111111111122222222223333333333|
        r0 s1   |AFFFFFF...AFF..D....AFF..D....|
    """)

    # B is 2 and 4, C is 1: 3 + 1 in the mean.
    assert told(fused_changes(base, candidate)) == [("fused", "B, C", "F", 1, 4, 2, 2)]


def test_ranks_are_matched_and_a_mean_is_told() -> None:
    base = timeline("""
        r0 s1 |ABBCD|
        r1 s1 |ABBBBCD|
        r2 s1 |ABBCD|
    """)
    candidate = timeline("""
        r0 s1 |AFFD|
        r1 s1 |ABBBBCD|
    """)

    found = fused_changes(base, candidate)

    assert told(found) == [("fused", "B, C", "F", 0.5, 1.5, 1, 0.5)]
    assert found.rank_count == 2


def test_communication_and_other_streams_are_left_out() -> None:
    base = timeline("""
        r0 s1 |ABBCD|
        r0 s2 |GH.I.|
    """, kinds={"H": "communication"})  # fmt: skip
    candidate = timeline("""
        r0 s1 |AFFD|
        r0 s2 |K..I|
    """)

    assert told(fused_changes(base, candidate)) == [("fused", "B, C", "F", 1, 3, 2, 1)]


def test_runs_without_kernels_have_no_chains() -> None:
    empty = timeline("r0 step |1111|")

    found = fused_changes(empty, timeline("r0 s1 |AB|"))

    assert (found.chains, found.base_kernels, found.candidate_kernels) == ([], 0, 2)
