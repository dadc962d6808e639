"""R-DATA-1: the step that waits for its data."""

from __future__ import annotations

import pytest
from duckdb import DuckDBPyConnection

from ascend_sn.advisor.facts import Facts
from ascend_sn.advisor.surroundings import Surroundings, surroundings
from ascend_sn.model.trace_schema import CORES_METRIC, SHARED_MEMORY_METRIC, WORKERS_METRIC
from ascend_sn.report.words.language import Language
from tests.timeline import empty_tables, insert, timeline, together
from tests.unit.advisor.advised import advised, found, suppressed
from tests.unit.report.drawn import DrawnRun, add_rank

MS = 1_000_000


def training(data_ns: int, device_from_ns: int, *, step_ns: int = 100 * MS, steps: int = 6) -> DuckDBPyConnection:
    """Steps that first load data on the host; the device computes from a moment to the end of the step."""
    db = empty_tables()
    add_rank(db, 0)
    with together(db):
        for step in range(steps):
            begin = step * step_ns
            insert(db, "step", rank=0, step_id=step, step=step, ts_ns=begin, dur_ns=step_ns, origin="mark")
            for place, (name, phase, start, end) in enumerate(
                (("load", "data", 0, data_ns), ("model", "forward", max(data_ns, device_from_ns), step_ns))
            ):
                insert(
                    db,
                    "operator",
                    rank=0,
                    operator_id=2 * step + place,
                    thread="main",
                    name=name,
                    ts_ns=begin + start,
                    dur_ns=end - start,
                    self_ns=end - start,
                    depth=0,
                    phase=phase,
                )
            insert(db, "kernel", rank=0, kernel_id=step, device_id=0, stream="1", name="MatMul", op_type="MatMul",
                   kind="compute", ts_ns=begin + device_from_ns, dur_ns=step_ns - device_from_ns, step_id=step,
                   operator_id=2 * step + 1)  # fmt: skip
    return db


def logged(data_s: float, *, steps: int = 6) -> DuckDBPyConnection:
    """Steps of 100 ms, busy throughout but for what the program says it waited for data."""
    db = empty_tables()
    add_rank(db, 0)
    with together(db):
        for step in range(steps):
            insert(db, "step", rank=0, step_id=step, step=step, ts_ns=step * 100 * MS, dur_ns=100 * MS, origin="mark")
            insert(db, "metric", rank=0, name="data_time", ts_ns=step * 100 * MS + 50 * MS, value=data_s)
    return db


def log(db: DuckDBPyConnection, **metrics: float) -> DuckDBPyConnection:
    with together(db):
        for name, value in metrics.items():
            insert(db, "metric", rank=0, name=name, ts_ns=0, value=value)
    return db


def test_a_step_that_waits_for_data_is_found_and_priced() -> None:
    # 40 of 100 ms; two workers make a batch in 20 ms, and the hand-over costs 1.5 ms.
    finding = found(training(40 * MS, 40 * MS), "R-DATA-1")

    assert finding is not None
    assert (finding.grade, finding.severity) == ("high", "critical")
    assert (finding.message.params["data_ns"], finding.message.params["share_ratio"]) == (40 * MS, 0.4)
    assert finding.gain is not None
    assert (finding.gain.change, finding.gain.expected_ns) == ("W1", round(38.5 * MS))


def test_the_share_counts_from_the_threshold_on() -> None:
    assert found(training(5 * MS, 5 * MS), "R-DATA-1") is not None
    assert advised(training(5 * MS - 100, 5 * MS - 100), "R-DATA-1").quiet == ("R-DATA-1",)


def test_waiting_beside_a_busy_device_costs_nothing() -> None:
    # The host loads for 40 ms, but the device begins at once.
    assert suppressed(training(40 * MS, 0), "R-DATA-1") == ["suppressed.data-hidden"]


def test_hidden_ends_where_the_device_stands_still_for_a_hundredth_of_the_step() -> None:
    assert suppressed(training(40 * MS, MS - 1), "R-DATA-1") == ["suppressed.data-hidden"]
    assert "suppressed.data-hidden" not in suppressed(training(40 * MS, MS), "R-DATA-1")


def test_as_many_workers_as_cores_are_not_made_more() -> None:
    db = log(training(40 * MS, 40 * MS), **{WORKERS_METRIC: 8, CORES_METRIC: 8})

    assert suppressed(db, "R-DATA-1") == ["suppressed.workers-at-cores"]
    assert found(log(training(40 * MS, 40 * MS), **{WORKERS_METRIC: 7, CORES_METRIC: 8}), "R-DATA-1") is not None


def test_ranks_of_a_host_share_its_cores() -> None:
    db = log(training(40 * MS, 40 * MS), **{WORKERS_METRIC: 4, CORES_METRIC: 8})
    add_rank(db, 1)

    assert suppressed(db, "R-DATA-1") == ["suppressed.workers-at-cores"]


def test_full_shared_memory_comes_first() -> None:
    db = log(training(40 * MS, 40 * MS), **{SHARED_MEMORY_METRIC: (64 << 20) - 1})

    assert suppressed(db, "R-DATA-1") == ["suppressed.shm-full"]
    assert found(log(training(40 * MS, 40 * MS), **{SHARED_MEMORY_METRIC: 64 << 20}), "R-DATA-1") is not None


def test_a_wait_as_short_as_the_hand_over_of_a_batch_stays() -> None:
    at, above = (training(ns, ns, step_ns=10 * MS) for ns in (1_500_000, 1_600_000))

    assert suppressed(at, "R-DATA-1") == ["suppressed.hand-over"]
    assert found(above, "R-DATA-1") is not None


def test_a_loader_without_workers_is_told_so() -> None:
    db = training(40 * MS, 40 * MS)
    db.execute("update operator set name = '_SingleProcessDataLoaderIter.__next__' where phase = 'data'")

    finding = found(db, "R-DATA-1")

    assert finding is not None
    assert finding.advice.message_id == "rule.r-data-1.advice-no-workers"


@pytest.mark.parametrize(("data_s", "expected_ms"), [(0.045, 43.5), (0.060, 58.5)])
def test_a_logged_data_time_has_a_price_too(data_s: float, expected_ms: float) -> None:
    # The guide's row: 45 ms of 100. Two workers make a batch in half of it; the hand-over costs 1.5 ms.
    finding = found(logged(data_s), "R-DATA-1")

    assert finding is not None
    assert finding.gain is not None
    assert (finding.gain.method, finding.gain.expected_ns) == ("direct", round(expected_ms * MS))
    assert finding.confidence == "low"


def test_logged_data_time_within_the_limit_is_quiet() -> None:
    assert advised(logged(0.004), "R-DATA-1").quiet == ("R-DATA-1",)


def test_without_data_ranges_nothing_is_said() -> None:
    assert advised(timeline("r0 step |1111|\nr0 s1 |AA..|"), "R-DATA-1").findings == ()


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -1.0, 1e300])
def test_surroundings_that_are_no_numbers_are_not_known(value: float) -> None:
    db = log(training(40 * MS, 40 * MS), **dict.fromkeys((WORKERS_METRIC, CORES_METRIC, SHARED_MEMORY_METRIC), value))

    assert surroundings(Facts(DrawnRun(db)))[0] == Surroundings(profile_id=0)
    assert found(db, "R-DATA-1") is not None


def calls_in_loading(db: DuckDBPyConnection, *calls: tuple[str, int, int], steps: int = 6) -> DuckDBPyConnection:
    """Python calls in the loading of each step: name, begin in it and length; one that begins later is further in."""
    with together(db):
        for step in range(steps):
            for depth, (name, start_ns, dur_ns) in enumerate(calls):
                insert(db, "span", rank=0, span_id=10 * step + depth, name=name, thread="main",
                       ts_ns=step * 100 * MS + start_ns, dur_ns=dur_ns, depth=depth)  # fmt: skip
    return db


LIBRARY = ("torch/utils/data/dataloader.py(783): _next_data", 0, 40 * MS)


def test_the_function_of_the_program_in_which_loading_spends_its_time_is_named() -> None:
    # 40 ms of loading: 36 of them in __getitem__, 30 of these in read, which decodes for 10.
    db = calls_in_loading(
        training(40 * MS, 40 * MS), LIBRARY, ("set.py(13): __getitem__", MS, 36 * MS),
        ("set.py(40): read", 2 * MS, 30 * MS), ("set.py(55): decode", 3 * MS, 10 * MS),
    )  # fmt: skip

    finding = found(db, "R-DATA-1")

    assert finding is not None
    assert finding.location.site == "set.py(40): read"
    said = Language.load("en").render(finding.message)
    assert "and 75 % of the loading is spent in set.py(40): read; for" in said


def test_a_function_is_named_from_half_of_the_loading_on() -> None:
    half = calls_in_loading(training(40 * MS, 40 * MS), LIBRARY, ("set.py(13): __getitem__", MS, 20 * MS))
    less = calls_in_loading(training(40 * MS, 40 * MS), LIBRARY, ("set.py(13): __getitem__", MS, 20 * MS - 1))

    assert [one.location.site for db in (half, less) for one in advised(db, "R-DATA-1").findings] == [
        "set.py(13): __getitem__",
        "",
    ]


def test_calls_outside_the_loading_do_not_count() -> None:
    db = calls_in_loading(training(40 * MS, 40 * MS), ("train.py(3): forward", 41 * MS, 50 * MS))

    finding = found(db, "R-DATA-1")

    assert finding is not None
    assert finding.location.site == ""
    assert finding.message.message_id == "rule.r-data-1.message"
