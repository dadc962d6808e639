"""R-OP-1: many kernels that are too small."""

from __future__ import annotations

from duckdb import DuckDBPyConnection

from tests.timeline import timeline
from tests.unit.advisor.advised import advised, found, suppressed
from tests.unit.replay.drawings import launch

TO_ONE = "R-OP-1.small_to_ns=1"


def stepped(kernels: str, calls: str = "", *, host: str = "") -> DuckDBPyConnection:
    """A step; kernels of 1 ns are small."""
    db = timeline(
        f"r0 step |{'1' * len(kernels)}|\nr0 s1 |{kernels}|\nr0 host |{host or 'f' * len(kernels)}|",
        launched_by={letter: "forward" for letter in "ABCLMRS"},
    )
    if calls:
        launch(db, calls)
    return db


def test_small_kernels_and_the_gaps_before_them_are_counted() -> None:
    # R and S: six of eight kernels are small. Before them 1, 1, 2, 1, 1, 2 free.
    db = stepped("LLLL.R.S..R.S.R..SLLLL", "L....R.S..R.S.R..SL...")

    finding = found(db, "R-OP-1", thresholds=[TO_ONE])

    assert finding is not None
    params = finding.message.params
    assert (params["small_ratio"], params["small_count"], params["time_ns"]) == (6 / 8, 6, 6 + 8)
    assert finding.at_stake_ns == 14


def test_a_recurring_pair_is_named_and_priced() -> None:
    db = stepped("LLLL.R.S..R.S.R..SLLLL", "L....R.S..R.S.R..SL...")
    db.execute("""
        update kernel set input_shapes = '1024', input_dtypes = 'FLOAT', output_shapes = '1024', output_dtypes = 'FLOAT'
    """)

    finding = found(db, "R-OP-1", thresholds=[TO_ONE])

    assert finding is not None
    assert finding.message.params["fusible"].params == {"pattern": "R+S", "instance_count": 3}
    assert finding.gain is not None
    assert finding.gain.change == "W7"
    assert 0 < finding.gain.expected_ns <= 14


def test_half_of_the_kernels_are_not_yet_most() -> None:
    assert advised(stepped("LL.R.LL.R."), "R-OP-1", thresholds=[TO_ONE]).quiet == ("R-OP-1",)
    assert advised(stepped("LL.R.LL.R.R"), "R-OP-1", thresholds=[TO_ONE]).quiet == ()


def test_their_time_counts_from_the_threshold_on() -> None:
    # Two small ones of 1, no gaps, in 20: 10 %.
    at = stepped("LLLLLLLLLLLLLLLLLLRS")
    below = stepped("LLLLLLLLLLLLLLLLLLLRS")

    assert advised(at, "R-OP-1", thresholds=[TO_ONE]).quiet == ()
    assert advised(below, "R-OP-1", thresholds=[TO_ONE]).quiet == ("R-OP-1",)


def test_a_long_gap_is_cut() -> None:
    advice = advised(stepped("R....................S.R"), "R-OP-1", thresholds=[TO_ONE, "R-OP-1.gap_to_ns=2"])

    (message,) = [one.message for one in advice.findings] + [one.message for one in advice.suppressed]
    assert message.params["time_ns"] == 3 + 2 + 1


def test_kernels_of_a_captured_graph_are_left_alone() -> None:
    db = stepped("LLLL.R.S..R.S.R..SLLLL", "L....R.S..R.S.R..SL...")
    db.execute("update host_call set name = 'cudaGraphLaunch'")

    assert suppressed(db, "R-OP-1", thresholds=[TO_ONE]) == ["suppressed.graph-mode"]


def test_waits_between_them_come_first() -> None:
    # Six small kernels: from two waits on (20 % of six) fusion cannot cross them.
    kernels = "LLLL.R.S..R.S.R..SLLLL"

    assert suppressed(stepped(kernels, "L....RsS.sR.S.R..SL..."), "R-OP-1", thresholds=[TO_ONE]) == [
        "suppressed.waits-between"
    ]
    assert "suppressed.waits-between" not in suppressed(
        stepped(kernels, "L....RsS..R.S.R..SL..."), "R-OP-1", thresholds=[TO_ONE]
    )
