"""Totals counted by hand on drawn rows: 1 column of the drawing = 1 ms."""

from __future__ import annotations

from array import array
from typing import Any

from ascend.profiler import Profiler
from ascend_sn.collect.names import NameTable
from ascend_sn.collect.recorder import double_as_int64
from ascend_sn.collect.summary import Totals, _Sum, summary_text
from ascend_sn.model.trace_schema import LOST, METRIC, NOT_GIVEN, SPAN, SPAN_DATA, STEP

MS = 1_000_000


def totals_of(*spans: tuple[str, int, int], thread: int = 1, kind: int = SPAN) -> Totals:
    totals = Totals(NameTable())
    add_spans(totals, *spans, thread=thread, kind=kind)
    return totals


def add_spans(totals: Totals, *spans: tuple[str, int, int], thread: int = 1, kind: int = SPAN) -> None:
    """Add spans (name, start ms, end ms) in the order in which they end."""
    for name, start, end in spans:
        add_row(totals, kind, thread, totals.names.number(name), start * MS, (end - start) * MS)


def add_row(totals: Totals, kind: int, thread: int, name_id: int, ts: int, dur: int, value: int = -1) -> None:
    row = (kind, thread, name_id, ts, dur, value, NOT_GIVEN)
    totals.add(tuple(array(code, [cell]) for code, cell in zip("Biiqqqq", row, strict=True)))


def in_ms(totals: Totals) -> dict[str, int]:
    return {name: ns // MS for name, ns in totals.class_ns.items() if ns}


def test_phases_side_by_side() -> None:
    # |dd|fff|bbbbbb|o|
    totals = totals_of(("dataloader", 0, 2), ("forward", 2, 5), ("backward", 5, 11), ("optimizer", 11, 12))

    assert in_ms(totals) == {"data": 2, "forward": 3, "backward": 6, "optimizer": 1}


def test_communication_inside_backward_is_taken_out_of_it() -> None:
    # backward   |bbbbbbbbbb|
    # all_reduce |   aaa    |
    totals = totals_of(("all_reduce", 3, 6), ("backward", 0, 10))

    assert in_ms(totals) == {"backward": 7, "communication": 3}


def test_computing_inside_a_phase_belongs_to_the_phase() -> None:
    # forward |ffffffffff|    then matmul alone |mm|
    # block   | bbbbbbb  |
    # matmul  |  mm  h   |    (h: a copy inside the block)
    totals = totals_of(("matmul", 2, 4), ("h2d", 6, 7), ("block", 1, 8), ("forward", 0, 10), ("matmul", 10, 12))

    assert in_ms(totals) == {"forward": 9, "copy": 1, "compute": 2}


def test_an_outer_span_that_says_nothing_takes_nothing() -> None:
    totals = totals_of(("forward", 0, 3), ("backward", 3, 7), ("my block", 0, 9))

    assert in_ms(totals) == {"forward": 3, "backward": 4}


def test_threads_do_not_take_from_each_other() -> None:
    totals = totals_of(("forward", 2, 5), thread=1)
    add_spans(totals, ("backward", 0, 10), thread=2)

    assert in_ms(totals) == {"forward": 3, "backward": 10}


def test_a_given_kind_goes_before_the_name() -> None:
    assert in_ms(totals_of(("forward", 0, 4), kind=SPAN_DATA)) == {"data": 4}


def test_an_outer_span_over_thousands_of_inner_ones_stays_exact() -> None:
    inner = [("all_reduce", 2 * number, 2 * number + 1) for number in range(3000)]

    totals = totals_of(*inner, ("forward", 0, 6000))

    assert in_ms(totals) == {"communication": 3000, "forward": 3000}


def test_operations_steps_and_losses_in_the_table() -> None:
    totals = totals_of(("forward", 0, 2), ("forward", 10, 16))
    add_row(totals, STEP, 1, NOT_GIVEN, 0, 10 * MS, 0)
    add_row(totals, STEP, 1, NOT_GIVEN, 10 * MS, 20 * MS, 1)
    add_row(totals, LOST, 1, NOT_GIVEN, 0, 0, 7)

    lines = summary_text(totals, title="title").splitlines()

    assert lines[0] == "title"
    assert "steps: 2, average 15.000 ms, longest 20.000 ms" in lines
    assert "rows lost: 7" in lines
    (operation,) = (line.split() for line in lines if line.split()[:2] == ["forward", "2"])
    assert operation == ["forward", "2", "8.000", "4.000", "6.000"]


def test_the_guides_rows_of_data_and_computing_time() -> None:
    assert bottleneck(data_s=0.045, compute_ms=55) == "bottleneck: data"
    assert bottleneck(data_s=0.012, compute_ms=55) == "bottleneck: compute"
    assert bottleneck(data_s=0.008, compute_ms=55) == "bottleneck: compute"


def bottleneck(*, data_s: float, compute_ms: int) -> str:
    totals = totals_of(("forward", 0, compute_ms))
    add_row(totals, METRIC, 1, totals.names.number("data_time"), 0, 0, double_as_int64(data_s))
    (line,) = (line for line in summary_text(totals, title="").splitlines() if line.startswith("bottleneck"))
    return line.partition(" (")[0]


def test_nothing_recorded_is_said() -> None:
    assert Profiler().summary() == "ascend-sn: nothing recorded yet"


def test_a_metric_logged_while_the_table_is_made_does_no_harm() -> None:
    class Interrupted(list[str]):
        """Names; looking one up is where a signal handler logs the first value of another metric."""

        def __getitem__(self, at: Any) -> Any:
            totals.metrics.setdefault(len(totals.metrics), _Sum())
            return super().__getitem__(at)

    names = NameTable()
    totals = Totals(names)
    names.texts = Interrupted(["loss", "accuracy", "signals", "further"])
    totals.metrics[0] = _Sum()
    totals.metrics[0].add(0.5)

    assert [line.split() for line in summary_text(totals, title="t").splitlines()[-1:]] == [["loss", "1", "0.5", "0.5"]]
