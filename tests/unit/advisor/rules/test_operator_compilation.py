"""R-HOST-4: operators that are compiled after the warm-up."""

from __future__ import annotations

from duckdb import DuckDBPyConnection

from tests.timeline import timeline
from tests.unit.advisor.advised import advised, found, suppressed
from tests.unit.replay.drawings import launch


def stepped(calls: str, *, steps: str = "5" * 20, kernels: str = "..AAA.....BBBBBBBB..") -> DuckDBPyConnection:
    """Step 5 of a training; `c` in `calls` compiles."""
    db = timeline(f"r0 step |{steps}|\nr0 s1 |{kernels}|\nr0 host |{'f' * len(kernels)}|")
    launch(db, calls)
    db.execute("update host_call set name = 'aclopCompileAndExecute' where name = 'c'")
    return db


def test_compiling_that_delays_a_launch_is_found_and_priced() -> None:
    # Compiling 4..9; the device is free 5..10.
    finding = found(stepped("AA..cccccBB........."), "R-HOST-4")

    assert finding is not None
    params = finding.message.params
    assert (params["compile_count"], params["compile_ns"], params["free_ns"]) == (1, 5, 4)
    assert finding.at_stake_ns == 4
    assert finding.gain is not None
    assert finding.gain.expected_ns > 0
    assert finding.effort == "config"


def test_compiling_that_nothing_waits_for_is_told_without_a_price() -> None:
    db = stepped("AB..ccccc...........", kernels="AAAAAAAAAABBBBBBBBBB")

    finding = found(db, "R-HOST-4")

    assert finding is not None
    assert (finding.gain, finding.severity) == (None, "info")
    assert finding.unpriced is not None
    assert finding.unpriced.message_id == "unpriced.hidden"


def test_calls_within_a_compilation_count_once() -> None:
    db = stepped("AA..cccccBB.........")
    db.execute("insert into host_call by name select * replace (99 as host_call_id, ts_ns + 1 as ts_ns, 2 as dur_ns, "
               "'opCompile' as name) from host_call where name = 'aclopCompileAndExecute'")  # fmt: skip

    finding = found(db, "R-HOST-4")

    assert finding is not None
    assert (finding.message.params["compile_ns"], finding.message.params["compile_count"]) == (5, 1)


def test_it_counts_from_the_threshold_on() -> None:
    # 2 of 20: 10 %.
    db = stepped("AA..cc...BB.........")

    assert advised(db, "R-HOST-4", thresholds=["R-HOST-4.compiled_from_ratio=0.10"]).quiet == ()
    assert advised(db, "R-HOST-4", thresholds=["R-HOST-4.compiled_from_ratio=0.11"]).quiet == ("R-HOST-4",)


def test_the_first_steps_are_warm_up() -> None:
    assert suppressed(stepped("AA..cccccBB.........", steps="2" * 20), "R-HOST-4") == ["suppressed.only-warm-up"]
    assert suppressed(stepped("AA..cccccBB.........", steps="3" * 20), "R-HOST-4") == []


def test_of_several_steps_those_after_the_warm_up_count() -> None:
    # 3 of compiling in step 2, 1 in step 3.
    db = stepped("AA..ccc....cBB......", steps="2" * 10 + "3" * 10)

    finding = found(db, "R-HOST-4")

    assert finding is not None
    assert (finding.message.params["compile_ns"], finding.message.params["compile_count"]) == (1, 1)


def test_without_compilations_there_is_nothing_to_say() -> None:
    assert advised(stepped("AA.......BB........."), "R-HOST-4").quiet == ("R-HOST-4",)
