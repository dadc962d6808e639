"""What a job's captures differ in, and how their clocks stand, in words."""

from __future__ import annotations

from ascend_sn.report.documents.health import Clock, Difference
from ascend_sn.report.words.language import Language
from ascend_sn.report.words.wording import clocks_text, difference_text

ENGLISH = Language.load("en")


def clock(rank: int, *, offset_ns: int | None = 0, error_ns: int | None = None, method: str = "host") -> Clock:
    reason = None if offset_ns is not None else "no collectives"
    return Clock(rank=rank, offset_ns=offset_ns, error_ns=error_ns, calls=0, method=method, reason=reason)


def test_a_difference_names_ranks_setting_and_both_values() -> None:
    difference = Difference(
        setting="config.stack", usual_value="true", usual_count=3, other_value="false", other_ranks="2", other_count=1
    )

    assert difference_text(difference, ENGLISH) == "rank 2 differs: stack is false, elsewhere true"


def test_aligned_clocks_state_the_largest_error() -> None:
    clocks = [
        clock(0, method="reference"),
        *(clock(rank, error_ns=rank * 1000, method="collectives") for rank in (1, 2)),
    ]

    assert clocks_text(clocks, ENGLISH) == "aligned through collectives; the remaining error is 2.00 us"


def test_a_clock_that_cannot_be_known_is_refused_with_the_reason() -> None:
    clocks = [clock(0, method="reference"), clock(7, offset_ns=None, method="unknown")]

    assert clocks_text(clocks, ENGLISH) == "rank 7 cannot be aligned: no collectives"


def test_clocks_of_one_host_are_not_called_aligned_by_collectives() -> None:
    assert "not checked" in clocks_text([clock(0, method="reference"), clock(1)], ENGLISH)


def test_a_single_rank_has_no_clocks_to_align() -> None:
    assert clocks_text([], ENGLISH) == ""
