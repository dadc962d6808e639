"""R-DATA-3: no number of workers keeps up."""

from __future__ import annotations

from duckdb import DuckDBPyConnection

from ascend_sn.model.trace_schema import CORES_METRIC, WORKERS_METRIC
from tests.unit.advisor.advised import advised, found
from tests.unit.advisor.rules.test_data_starved import MS, log, training


def waiting(data_ns: int, *, workers: int, cores: int) -> DuckDBPyConnection:
    return log(training(data_ns, data_ns), **{WORKERS_METRIC: workers, CORES_METRIC: cores})


def test_production_that_all_cores_cannot_hide_is_found_and_priced() -> None:
    # Two workers that are waited for 80 of 100 ms take 200 ms for a batch; three give one every 66.7 ms, and 20 of
    # compute need one every 20.
    finding = found(waiting(80 * MS, workers=2, cores=4), "R-DATA-3")

    assert finding is not None
    assert (finding.message.params["production_ns"], finding.message.params["most"]) == (200 * MS, 3)
    assert finding.gain is not None
    # Half the production on three workers takes 33.3 ms, more than the 20 ms of compute and the hand-over.
    assert (finding.gain.change, finding.gain.expected_ns) == ("W1", 100 * MS - 33_333_333)


def test_what_the_cores_just_make_is_enough() -> None:
    # Two workers make one every 66.7 ms on three cores: enough for 66,666,667 ns of compute, not for less.
    assert advised(waiting(33_333_333, workers=2, cores=4), "R-DATA-3").quiet == ("R-DATA-3",)
    assert found(waiting(33_333_433, workers=2, cores=4), "R-DATA-3") is not None


def test_a_loader_without_workers_gets_some_first_and_both_rules_name_the_same_number() -> None:
    # 80 of 100 ms wait on two cores: with the two workers of R-DATA-1 one batch comes every 40 ms for 20 of compute.
    advice = advised(waiting(80 * MS, workers=0, cores=2), "R-DATA-1", "R-DATA-3")

    assert [(held.code, held.reason.message_id) for held in advice.suppressed] == [
        ("R-DATA-3", "suppressed.workers-first")
    ]
    assert [(one.code, one.advice.params["more"]) for one in advice.findings] == [("R-DATA-1", 2)]


def test_workers_that_are_waited_for_take_as_many_steps_as_they_are() -> None:
    # Four workers on four cores give a batch per step of 100 ms, so one takes 400 ms.
    finding = found(waiting(30 * MS, workers=4, cores=4), "R-DATA-3")

    assert finding is not None
    assert (finding.message.params["production_ns"], finding.message.params["most"]) == (400 * MS, 4)


def test_a_short_wait_for_workers_may_be_the_hand_over() -> None:
    assert advised(waiting(20 * MS - 100, workers=4, cores=4), "R-DATA-3").quiet == ("R-DATA-3",)
    assert found(waiting(20 * MS, workers=4, cores=4), "R-DATA-3") is not None


def test_a_short_wait_is_quiet() -> None:
    assert advised(waiting(4 * MS, workers=0, cores=1), "R-DATA-3").quiet == ("R-DATA-3",)


def test_workers_of_unknown_number_are_told_without_a_price() -> None:
    db = training(20 * MS, 20 * MS)
    db.execute("update operator set name = '_MultiProcessingDataLoaderIter.__next__' where phase = 'data'")

    finding = found(db, "R-DATA-3")

    assert finding is not None
    assert (finding.severity, finding.gain) == ("info", None)
    assert finding.unpriced is not None
    assert finding.unpriced.message_id == "unpriced.production-unknown"


def test_below_a_fifth_of_the_step_unknown_workers_are_not_told() -> None:
    db = training(20 * MS - 100, 20 * MS - 100)
    db.execute("update operator set name = '_MultiProcessingDataLoaderIter.__next__' where phase = 'data'")

    assert advised(db, "R-DATA-3").quiet == ("R-DATA-3",)
