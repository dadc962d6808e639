"""What restoring a cause recovers, on hand traces."""

from __future__ import annotations

import msgspec
import pytest
from duckdb import DuckDBPyConnection

from ascend_sn.compare.comparison import compared
from ascend_sn.compare.figures import RunFigures
from ascend_sn.compare.measure import figures_of
from ascend_sn.compare.recovery import Recovery
from ascend_sn.compare.restore import recoveries
from ascend_sn.store import Run
from tests.unit.analysis.traces import call, database, kernel, numbered, step
from tests.unit.report.drawn import DrawnRun


def trace(first: int, second: int, hidden: int) -> DuckDBPyConnection:
    """Six steps: A then B on stream 1, beside them H on stream 2; the host waits for all of it at the end."""
    rows = []
    length = 10 + max(first + second, hidden) + 10
    for number in range(6):
        at = number * length
        device = at + 10
        rows += [
            step(at, length, number + 1, session=0),
            call("launch", at, 2),
            call("launch", at + 2, 2),
            call("launch", at + 4, 2),
            call("aclrtSynchronizeDevice", at + 6, length - 6 - 4),
            kernel(device, first, "A", host_call_id=4 * number, step_id=number),
            kernel(device + first, second, "B", host_call_id=4 * number + 1, step_id=number),
            kernel(device, hidden, "H", stream="2", host_call_id=4 * number + 2, step_id=number),
        ]
    return database(numbered(rows))


def opened(*lengths: int) -> tuple[DrawnRun, RunFigures]:
    run = DrawnRun(trace(*lengths))
    return run, figures_of(run, "drawn")


def recovered(before: tuple[int, int, int], after: tuple[int, int, int]) -> dict[str, Recovery]:
    (_, base), (run, candidate) = opened(*before), opened(*after)
    divided = compared([base], [candidate]).attribution
    assert divided is not None
    return {one.name: one for one in recoveries(lambda: run, candidate, divided)}


def test_an_operator_on_the_critical_path_gives_back_what_it_took() -> None:
    found = recovered((400, 300, 100), (400, 500, 100))

    assert set(found) == {"B"}
    assert found["B"].method == "replay"
    assert found["B"].recovered_ratio == pytest.approx(1.0, abs=0.02)


def test_another_kernel_that_takes_its_place_limits_the_recovery() -> None:
    # The step ends with the longer of 400 + B and H = 700: B from 500 back to 200 saves 200 only.
    found = recovered((400, 200, 700), (400, 500, 700))

    assert found["B"].delta_ns == 300
    assert found["B"].recovered_ns == pytest.approx(200, abs=5)


def test_no_regression_has_nothing_to_recover() -> None:
    assert recovered((400, 300, 100), (300, 300, 100)) == {}


def test_a_run_is_opened_only_where_an_operator_is_replayed() -> None:
    (_, base), (_, candidate) = opened(400, 300, 100), opened(400, 500, 100)
    divided = compared([base], [candidate]).attribution
    assert divided is not None
    (row,) = [row for row in divided.rows if row.name == "B"]
    renamed = msgspec.structs.replace(row, kind="communication", name="allreduce")
    of_calls = msgspec.structs.replace(divided, rows=[renamed])

    (found,) = recoveries(not_opened, candidate, of_calls)

    assert (found.name, found.method, found.recovered_ns) == ("allreduce", "measured", row.delta_ns)


def not_opened() -> Run:
    raise AssertionError("nothing is to be replayed")
