"""R-HOST-1: a device that is free because nothing was launched."""

from __future__ import annotations

from duckdb import DuckDBPyConnection

from tests.timeline import insert, timeline
from tests.unit.advisor.advised import advised, found, suppressed
from tests.unit.replay.drawings import launch


def stepped(kernels: str, calls: str, *, host: str = "") -> DuckDBPyConnection:
    """A step; capitals of `calls` launch the kernels of that name, `host` are operators on the same thread."""
    db = timeline(f"r0 step |{'1' * len(kernels)}|\nr0 s1 |{kernels}|\nr0 host |{host}|")
    launch(db, calls)
    db.execute("""
        update kernel set operator_id = (
            select operator_id from operator
            join host_call call on call.ts_ns >= operator.ts_ns and call.ts_ns < operator.ts_ns + operator.dur_ns
            where call.host_call_id = kernel.host_call_id
        )
    """)
    return db


def test_a_starving_device_is_found_and_priced_by_launching_the_step_as_a_graph() -> None:
    # Free 0..8, 12..16 and 20..24: 16; with something launched 7..8 and 15..16 only.
    db = stepped(
        "........AAAA....BBBB....",
        ".....AAA.....BBB........",
        host="..ffffff...fffff........",
    )

    finding = found(db, "R-HOST-1")

    assert finding is not None
    params = finding.message.params
    assert (params["free_ns"], params["free_ratio"]) == (16, 16 / 24)
    assert params["before"].params["preparing_ns"] == 8
    assert finding.gain is not None
    assert (finding.gain.change, finding.severity) == ("W8", "critical")
    assert 0 < finding.gain.low_ns <= finding.gain.expected_ns <= finding.gain.high_ns <= 16


def test_at_the_share_without_a_launch_nothing_is_said() -> None:
    # Free 10 of 25; nothing launched in 2 + 2 of them: 40 %. One more is too much.
    kernels = "AAAAA.....BBBBB.....CCCCC"

    assert advised(stepped(kernels, "A......B.........C.......", host="f" * 25), "R-HOST-1").quiet == ("R-HOST-1",)
    assert advised(stepped(kernels, "A......B..........C......", host="f" * 25), "R-HOST-1").quiet == ()


def test_at_the_share_of_free_time_nothing_is_said() -> None:
    # Free 2 of 20: 10 %; 3 of 20 is more.
    assert advised(stepped("AAAAAAAAA..BBBBBBBBB", "A..........B........"), "R-HOST-1").quiet == ("R-HOST-1",)
    assert advised(stepped("AAAAAAAAA...BBBBBBBB", "A...........B......."), "R-HOST-1").quiet == ()


def test_unknown_launches_say_nothing() -> None:
    db = stepped("AA...BB...CC...DD...", ".....B..............")

    assert advised(db, "R-HOST-1").quiet == ("R-HOST-1",)


def test_waiting_for_data_is_left_to_its_own_rule() -> None:
    db = stepped("..........AAAAAAAAAA", ".........A..........", host="dddddddd.f..........")

    assert suppressed(db, "R-HOST-1") == ["suppressed.other-cause"]
    assert suppressed(db, "R-HOST-1", thresholds=["R-HOST-1.other_cause_from_ratio=1"]) != ["suppressed.other-cause"]


def test_no_graph_is_advised_across_waits() -> None:
    # Two kernels and a wait: more than one wait for five kernels.
    kernels, host = "........AAAA....BBBB....", "..ffffffffffffffff......"

    assert suppressed(stepped(kernels, ".....AAA.sss.BBB........", host=host), "R-HOST-1") == [
        "suppressed.waits-between"
    ]
    assert suppressed(stepped(kernels, ".....AAA.....BBB........", host=host), "R-HOST-1") == []


def changing(shapes: list[str]) -> DuckDBPyConnection:
    """Three steps, in each a kernel with one of the shapes that starts late."""
    db = stepped("....AA....BB....CC", "..AA....BB....CC..", host="ffff..ffff..ffff..")
    db.execute("delete from step")
    for number in range(3):
        insert(db, "step", rank=0, step_id=number, step=number, ts_ns=6 * number, dur_ns=6, origin="mark")
        db.execute("update kernel set step_id = ?, op_type = 'X', input_shapes = ? where kernel_id = ?",
                   [number, shapes[number], number])  # fmt: skip
    return db


def test_shapes_seen_once_make_a_captured_graph_doubtful() -> None:
    changing_finding = found(changing(["1", "2", "3"]), "R-HOST-1")
    steady_finding = found(changing(["1", "1", "1"]), "R-HOST-1")

    assert changing_finding is not None
    assert steady_finding is not None
    assert changing_finding.advice.message_id == "rule.r-host-1.advice-shapes"
    assert changing_finding.confidence == "low"
    assert steady_finding.advice.message_id == "rule.r-host-1.advice-npu"


def test_without_shapes_nothing_is_said_of_them() -> None:
    db = changing(["1", "2", "3"])
    db.execute("update kernel set input_shapes = null")

    finding = found(db, "R-HOST-1")

    assert finding is not None
    assert finding.advice.message_id == "rule.r-host-1.advice-npu"
    assert "shapes_once_ratio" not in {evidence.name for evidence in finding.evidence}


def test_a_capture_without_a_device_is_never_host_bound() -> None:
    db = stepped("....AA....BB....CC", "..AA....BB....CC..", host="ffff..ffff..ffff..")
    db.execute("update profile set device_kind = 'cpu'")

    assert advised(db, "R-HOST-1").quiet == ("R-HOST-1",)
