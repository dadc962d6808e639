"""R-HOST-6: stretches of the step in which the host records nothing."""

from __future__ import annotations

import pytest
from duckdb import DuckDBPyConnection

from tests.timeline import insert, timeline
from tests.unit.advisor.advised import advised, found, suppressed
from tests.unit.replay.drawings import launch

MS = 1_000_000
ALL_LONG = "R-HOST-6.long_to_ratio=1"
"""Drawings hold few slices, so that each stretch between them may be a long one."""


def silent(
    operators: str, kernels: str, *, device: str = "npu", calls: str = "", steps: str = ""
) -> DuckDBPyConnection:
    """Draw one process, a character a millisecond; the step is the whole drawing unless it is given."""
    drawn = f"r0 step |{steps or '1' * len(kernels)}|\nr0 s1 |{kernels}|\nr0 host |{operators}|"
    db = timeline(drawn)
    launch(db, calls)
    for table in ("step", "kernel", "host_call", "operator"):
        db.execute(f"update {table} set ts_ns = ts_ns * {MS}, dur_ns = dur_ns * {MS}")
    db.execute("update profile set device_kind = ?", [device])
    return db


def test_a_sleep_between_operators_is_told_where_it_is_and_priced() -> None:
    # One thread: operators 0..6 and 14..20, nothing from 6 to 14; on a CPU they are the kernels.
    finding = found(
        silent("ffffff........bbbbbb", "AAAAAA........BBBBBB", device="cpu"), "R-HOST-6", thresholds=[ALL_LONG]
    )

    assert finding is not None
    params = finding.message.params
    assert (params["silent_ns"], params["longest_ns"], params["silent_ratio"]) == (8 * MS, 8 * MS, 0.4)
    assert (params["before"], params["after"]) == ("forward", "backward")
    assert finding.gain is not None
    assert (finding.gain.low_ns, finding.gain.expected_ns, finding.gain.base_ns) == (4 * MS, 8 * MS, 20 * MS)


@pytest.mark.parametrize(("threshold", "is_told"), [(0.39, True), (0.4, True), (0.41, False)])
def test_it_is_told_from_the_threshold_on(threshold: float, is_told: bool) -> None:
    db = silent("ffffff........bbbbbb", "AAAAAA........BBBBBB", device="cpu")

    quiet = advised(db, "R-HOST-6", thresholds=[ALL_LONG, f"R-HOST-6.silent_from_ratio={threshold}"]).quiet

    assert (quiet == ()) is is_told


@pytest.mark.parametrize(("least_ms", "silent_ms"), [(2, 6), (3, 4), (4, 4)])
def test_short_stretches_are_the_way_between_operators(least_ms: int, silent_ms: int) -> None:
    # Stretches of 2 and 4 ms.
    db = silent("fff..bbb....oooooooo", "AAA..BBB....CCCCCCCC", device="cpu")

    finding = found(db, "R-HOST-6", thresholds=[ALL_LONG, f"R-HOST-6.stretch_from_ns={least_ms * MS}"])

    assert finding is not None
    assert finding.message.params["silent_ns"] == silent_ms * MS


def test_what_the_device_works_through_is_held_back() -> None:
    # Launched at 0 and 1, the device works from 1 to 18; the program sleeps from 2 to 8 meanwhile.
    db = silent("ff......ffffffffffff", ".AAAAAAAAABBBBBBBB..", calls="AB..................")

    assert suppressed(db, "R-HOST-6", thresholds=[ALL_LONG]) == ["suppressed.no-gain"]


def test_loading_data_and_other_threads_are_no_silence() -> None:
    db = silent("ffffff........bbbbbb", "AAAAAA........BBBBBB", device="cpu")
    insert(db, "span", span_id=0, name="next", kind="data", domain="user", ts_ns=6 * MS, dur_ns=8 * MS)
    assert advised(db, "R-HOST-6", thresholds=[ALL_LONG]).quiet == ("R-HOST-6",)

    db = timeline("r0 step |11111111111111111111|\nr0 s1 |AA................BB|\nr0 host |ff................bb|\n"
                  "r0 host2 |..xxxxxxxxxxxxxxxx..|")  # fmt: skip
    assert advised(db, "R-HOST-6", thresholds=[ALL_LONG, "R-HOST-6.stretch_from_ns=1"]).quiet == ("R-HOST-6",)


def test_the_mark_around_the_longest_stretch_is_named_but_not_one_of_the_whole_step() -> None:
    db = silent("ffffff........bbbbbb", "AAAAAA........BBBBBB", device="cpu")
    insert(db, "span", span_id=0, name="ProfilerStep#1", domain="annotation", ts_ns=0, dur_ns=20 * MS)
    insert(db, "span", span_id=1, name="logging", domain="user", ts_ns=5 * MS, dur_ns=8 * MS)

    finding = found(db, "R-HOST-6", thresholds=[ALL_LONG])

    assert finding is not None
    assert finding.message.message_id == "rule.r-host-6.message-mark"
    assert finding.message.params["mark"] == "logging"


def test_the_line_of_the_program_is_named_where_stacks_were_recorded() -> None:
    db = silent("ffffff........bbbbbb", "AAAAAA........BBBBBB", device="cpu")
    insert(db, "stack", stack_id=0, frames="torch/nn/modules/linear.py(1): forward\ntrain.py(12): main")
    db.execute("update operator set stack_id = 0 where name = 'forward'")

    finding = found(db, "R-HOST-6", thresholds=[ALL_LONG])

    assert finding is not None
    assert finding.message.params["before"] == "forward (train.py(12): main)"
    assert finding.location.site == "train.py(12): main"


def test_the_edges_of_the_recording_and_captures_without_operators_say_nothing() -> None:
    edge = silent("........ffffffffffff", "........AAAAAAAAAAAA", device="cpu")
    none = silent("....................", "AAAAAA........BBBBBB", calls="A............B......")
    marks = silent("ffffff........bbbbbb", "AAAAAA........BBBBBB", device="host")

    assert [advised(db, "R-HOST-6", thresholds=[ALL_LONG]).quiet for db in (edge, none, marks)] == [("R-HOST-6",)] * 3


@pytest.mark.parametrize(
    ("operators", "kernels", "is_told"),
    [("fffff..bb........ooo", "AAAAA..BB........CCC", False), ("ff.b.f.b........oooo", "AA.B.C.D........EEEE", True)],
)
def test_a_recording_that_holds_only_some_operators_says_nothing(operators: str, kernels: str, is_told: bool) -> None:
    # Stretches of 2 and 8 ms, both long; and of three times 1 ms and 8 ms, of which one is long.
    db = silent(operators, kernels, device="cpu")

    assert (found(db, "R-HOST-6", thresholds=[f"R-HOST-6.stretch_from_ns={2 * MS}"]) is not None) is is_told
