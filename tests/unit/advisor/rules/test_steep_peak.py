"""R-MEM-4: one operator makes the memory peak."""

from __future__ import annotations

from duckdb import DuckDBPyConnection

from tests.timeline import empty_tables, insert, together
from tests.unit.advisor.advised import advised, found, suppressed
from tests.unit.report.drawn import add_rank

STEP = 100


def steps(spikes: list[int], *, phase: str = "backward", at: int = 55, until: int = 60) -> DuckDBPyConnection:
    """Steps on 1000 bytes: each raises 100 for the activations, and a block of `spikes` for one operator.

    The forward pass is 0 to 50, the backward pass 50 to 100. Four operators hold a quarter of the activations each.
    """
    db = empty_tables()
    add_rank(db, 0)
    with together(db):
        for step, spike in enumerate(spikes):
            begin = step * STEP
            insert(db, "step", rank=0, step_id=step, step=step, ts_ns=begin, dur_ns=STEP, origin="mark")
            operators = [
                ("conv", "forward", 0),
                ("norm", "forward", 5),
                ("relu", "forward", 10),
                ("pool", "forward", 40),
                ("top", phase, at),
                ("conv_backward", "backward", 90),
            ]
            for place, (name, of_phase, start) in enumerate(operators):
                insert(
                    db,
                    "operator",
                    rank=0,
                    operator_id=10 * step + place,
                    thread="main",
                    name=name,
                    ts_ns=begin + start,
                    dur_ns=5,
                    self_ns=5,
                    depth=0,
                    phase=of_phase,
                )
            kept = [(start, "alloc", 25, str(place), place) for place, (_, _, start) in enumerate(operators[:4])]
            gone = [(95, "free", 25, str(place), place) for place in range(4)]
            for ts, kind, size, address, place in (
                *kept,
                (at, "alloc", spike, "s", 4),
                (until, "free", spike, "s", 4),
                *gone,
            ):
                insert(db, "memory_event", rank=0, ts_ns=begin + ts, kind=kind, size_bytes=size, address=address,
                       device="NPU:0", operator_id=10 * step + place)  # fmt: skip
    running = (
        "sum(case kind when 'alloc' then size_bytes else -size_bytes end) over (order by ts_ns, kind desc, address)"
    )
    db.execute(f"""
        update memory_event set allocated_bytes = 1000 + level
        from (select ts_ns, address, kind, {running} as level from memory_event) curve
        where memory_event.ts_ns = curve.ts_ns and memory_event.address = curve.address
          and memory_event.kind = curve.kind
    """)
    return db


def test_an_operator_that_towers_over_every_step_is_named() -> None:
    # 300 and 100: without it 100.
    finding = found(steps([300]), "R-MEM-4")

    assert finding is not None
    params = finding.message.params
    assert (params["operator"], params["held_bytes"], params["height_bytes"]) == ("top", 300, 400)
    assert (params["peak_bytes"], params["saved_bytes"]) == (1400, 300)
    assert (finding.severity, finding.gain) == ("info", None)


def test_half_as_much_again_as_without_it_is_the_threshold() -> None:
    assert advised(steps([50]), "R-MEM-4").quiet == ("R-MEM-4",)
    assert found(steps([51]), "R-MEM-4") is not None


def test_a_step_that_stands_out_is_named() -> None:
    # The usual step rises by 120; step 2 by 181, of which the operator holds 81.
    finding = found(steps([20, 20, 81, 20]), "R-MEM-4", thresholds=["R-MEM-4.steep_above_ratio=1.5"])

    assert finding is not None
    assert finding.message.message_id == "rule.r-mem-4.message-step"
    assert (finding.message.params["step"], finding.message.params["usual_bytes"]) == (2, 120)
    assert finding.message.params["saved_bytes"] == 81


def test_less_than_a_third_of_the_rise_is_not_one_operator() -> None:
    db = steps([42])

    assert advised(db, "R-MEM-4", thresholds=["R-MEM-4.steep_above_ratio=1.4"]).quiet == ("R-MEM-4",)
    assert found(steps([43]), "R-MEM-4", thresholds=["R-MEM-4.steep_above_ratio=1.4"]) is not None


def test_activations_at_the_end_of_the_forward_pass_are_expected() -> None:
    assert suppressed(steps([300], phase="forward", at=45, until=70), "R-MEM-4") == ["suppressed.activations-expected"]


def test_a_peak_within_the_forward_pass_is_not_expected() -> None:
    assert found(steps([300], phase="forward", at=20, until=30), "R-MEM-4") is not None


def test_memory_of_the_host_is_left_out() -> None:
    db = steps([300])
    db.execute("update memory_event set device = 'cpu'")

    assert advised(db, "R-MEM-4").quiet == ("R-MEM-4",)
