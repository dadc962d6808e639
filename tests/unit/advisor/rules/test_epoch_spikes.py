"""R-DATA-4: the first step of each epoch waits for the loader."""

from __future__ import annotations

from collections.abc import Sequence

from duckdb import DuckDBPyConnection

from tests.timeline import empty_tables, insert, together
from tests.unit.advisor.advised import advised, found, suppressed
from tests.unit.report.drawn import add_rank

MS = 1_000_000


def epochs(waits: Sequence[int], *, length: int | None = 10) -> DuckDBPyConnection:
    """Steps that wait so many ms for data and then compute for 100 ms; epochs of `length` steps, or unknown ones."""
    db = empty_tables()
    add_rank(db, 0)
    at = 0
    with together(db):
        for step, wait in enumerate(waits):
            insert(db, "step", rank=0, step_id=step, step=step, ts_ns=at, dur_ns=(100 + wait) * MS, origin="mark",
                   epoch=None if length is None else step // length)  # fmt: skip
            insert(db, "operator", rank=0, operator_id=step, thread="main", name="load", ts_ns=at, dur_ns=wait * MS,
                   self_ns=wait * MS, depth=0, phase="data")  # fmt: skip
            insert(db, "kernel", rank=0, kernel_id=step, device_id=0, stream="1", name="MatMul", kind="compute",
                   ts_ns=at + wait * MS, dur_ns=100 * MS, step_id=step)  # fmt: skip
            at += (100 + wait) * MS
    return db


def spiked(*places: int, wait: int = 510, steps: int = 30) -> list[int]:
    return [wait if step in places else 10 for step in range(steps)]


def test_slow_starts_of_later_epochs_are_priced() -> None:
    finding = found(epochs(spiked(0, 10, 20)), "R-DATA-4")

    assert finding is not None
    assert (finding.message.params["spike_count"], finding.message.params["spike_ns"]) == (3, 510 * MS)
    # Two starts of 500 ms more, over 30 steps: the very first one is needed.
    assert finding.gain is not None
    assert (finding.gain.expected_ns, finding.gain.method) == (round(1000 / 30 * MS), "direct")


def test_one_epoch_is_no_evidence() -> None:
    assert suppressed(epochs(spiked(0), length=30), "R-DATA-4") == ["suppressed.one-epoch"]


def test_a_spike_within_an_epoch_is_something_else() -> None:
    assert advised(epochs(spiked(0, 10, 25)), "R-DATA-4").quiet == ("R-DATA-4",)


def test_the_mark_may_lie_behind_the_request() -> None:
    assert found(epochs(spiked(9, 19)), "R-DATA-4") is not None


def test_a_spike_is_half_a_step_longer_than_usual() -> None:
    # The usual step is 110 ms and waits 10 of them: a spike begins at 65.
    assert advised(epochs(spiked(0, 10, 20, wait=64)), "R-DATA-4").quiet == ("R-DATA-4",)
    assert found(epochs(spiked(0, 10, 20, wait=65)), "R-DATA-4") is not None


def test_what_costs_less_than_a_hundredth_of_the_step_is_quiet() -> None:
    # 65 ms once in 100 steps: 0.55 ms of 110.
    assert advised(epochs(spiked(50, wait=65, steps=100), length=50), "R-DATA-4").quiet == ("R-DATA-4",)


def test_without_epochs_equal_distances_tell() -> None:
    assert found(epochs(spiked(0, 10, 20), length=None), "R-DATA-4") is not None
    assert advised(epochs(spiked(0, 10, 23), length=None), "R-DATA-4").quiet == ("R-DATA-4",)
    assert advised(epochs(spiked(0, 10), length=None), "R-DATA-4").quiet == ("R-DATA-4",)


def test_of_one_epoch_or_of_three_steps_it_is_said_that_no_later_start_was_seen() -> None:
    (one_epoch,) = advised(epochs([10] * 8), "R-DATA-4").not_collected
    (three_steps,) = advised(epochs([10] * 3), "R-DATA-4").not_collected

    assert one_epoch.reason == "too few epochs: 1 seen, 2 are needed"
    assert three_steps.reason == "too few steps: 3 can be judged, 4 are needed"
    assert advised(epochs([10] * 20), "R-DATA-4").quiet == ("R-DATA-4",)
