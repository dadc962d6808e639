"""R-DATA-2 and R-COPY-1: copies that hold up the step."""

from __future__ import annotations

import pytest
from duckdb import DuckDBPyConnection

from ascend_sn.model.trace_schema import HOST_MEMORY_METRIC
from tests.timeline import empty_tables, insert, together
from tests.unit.advisor.advised import advised, found, suppressed
from tests.unit.report.drawn import add_rank

US = 1_000
STEP = 1000 * US


def copying(
    copy_ns: int,
    *,
    direction: str | None = "h2d",
    name: str = "Memcpy HtoD (Pageable -> Device)",
    call: str | None = None,
    overlapped: bool = False,
    pieces: int = 1,
) -> DuckDBPyConnection:
    """Six steps of 1 ms: copies, then compute to the end; or computing all the time."""
    db = empty_tables()
    add_rank(db, 0)
    with together(db):
        for step in range(6):
            begin = step * STEP
            insert(db, "step", rank=0, step_id=step, step=step, ts_ns=begin, dur_ns=STEP, origin="mark")
            if call is not None:
                insert(db, "host_call", rank=0, host_call_id=step, thread="main", level="acl", name=call, ts_ns=begin,
                       dur_ns=copy_ns)  # fmt: skip
            each = copy_ns // pieces
            for piece in range(pieces):
                insert(
                    db,
                    "kernel",
                    rank=0,
                    kernel_id=100 * step + piece,
                    device_id=0,
                    name=name,
                    kind="copy",
                    stream="2" if overlapped else "1",
                    copy_direction=direction,
                    ts_ns=begin + piece * each,
                    dur_ns=each,
                    size_bytes=each,
                    step_id=step,
                    host_call_id=None if call is None else step,
                )
            start = 0 if overlapped else copy_ns
            insert(
                db,
                "kernel",
                rank=0,
                kernel_id=100 * step + 99,
                device_id=0,
                stream="1",
                name="MatMul",
                kind="compute",
                ts_ns=begin + start,
                dur_ns=STEP - start,
                step_id=step,
            )
    return db


def test_pageable_copies_are_found_and_priced() -> None:
    finding = found(copying(200 * US), "R-DATA-2")

    assert finding is not None
    assert (finding.message.params["exposed_ns"], finding.message.params["exposed_ratio"]) == (200 * US, 0.2)
    assert finding.message.params["how"].message_id == "copy.pageable"
    assert finding.gain is not None
    assert (finding.gain.change, finding.gain.expected_ns) == ("W2", 200 * US)


def test_a_call_that_waits_for_the_copy_is_as_bad() -> None:
    finding = found(copying(200 * US, name="MEMCPY", call="aclrtMemcpy"), "R-DATA-2")

    assert finding is not None
    assert finding.message.params["how"].message_id == "copy.synchronous"


@pytest.mark.parametrize("call", ["aclrtMemcpyAsync", "aclnnInplaceCopy"])
def test_asynchronous_copies_of_unknown_memory_are_not_slow(call: str) -> None:
    assert advised(copying(200 * US, name="MEMCPY", call=call), "R-DATA-2").quiet == ("R-DATA-2",)


def test_a_hundredth_of_the_step_is_the_threshold() -> None:
    assert advised(copying(10 * US), "R-DATA-2").quiet == ()
    assert advised(copying(10 * US - 1), "R-DATA-2").quiet == ("R-DATA-2",)


def test_copies_beside_computing_are_left_alone() -> None:
    assert suppressed(copying(200 * US, overlapped=True), "R-DATA-2") == ["suppressed.copies-overlapped"]


def test_a_host_without_memory_to_lock_is_not_told_to() -> None:
    db = copying(200 * US)
    insert(db, "metric", rank=0, name=HOST_MEMORY_METRIC, ts_ns=0, value=float((4 << 30) - 1))

    assert suppressed(db, "R-DATA-2") == ["suppressed.host-memory-low"]


def test_copies_to_the_host_are_priced_by_reading_them_later() -> None:
    finding = found(copying(200 * US, direction="d2h", name="Memcpy DtoH"), "R-COPY-1")

    assert finding is not None
    assert finding.advice.message_id == "rule.r-copy-1.advice-d2h"
    assert finding.gain is not None
    assert (finding.gain.change, finding.gain.expected_ns) == ("W2", 200 * US)


def test_copies_on_the_device_have_no_price() -> None:
    finding = found(copying(200 * US, direction="d2d", name="Memcpy DtoD"), "R-COPY-1")

    assert finding is not None
    assert (finding.gain, finding.at_stake_ns, finding.severity) == (None, 200 * US, "info")


def test_three_hundredths_of_the_step_are_the_threshold() -> None:
    assert found(copying(30 * US, direction="d2d"), "R-COPY-1") is not None
    assert advised(copying(30 * US - 1, direction="d2d"), "R-COPY-1").quiet == ("R-COPY-1",)


def test_many_small_copies_are_to_be_merged() -> None:
    at = found(copying(200 * US, name="MEMCPY", pieces=10), "R-COPY-1")
    below = found(copying(190 * US, name="MEMCPY", pieces=10), "R-COPY-1")

    assert at is not None
    assert below is not None
    assert at.advice.message_id == "rule.r-copy-1.advice-h2d"
    assert below.advice.message_id == "rule.r-copy-1.advice-small"


def test_slow_uploads_are_told_once() -> None:
    assert suppressed(copying(200 * US), "R-COPY-1") == ["suppressed.see-rule"]


def test_a_copy_without_direction_is_told_as_such() -> None:
    finding = found(copying(200 * US, direction=None, name="MEMCPY"), "R-COPY-1")

    assert finding is not None
    assert finding.message.params["direction"].message_id == "copy.unknown"
