"""R-PROF-1 to 5: what is wrong with a capture."""

from __future__ import annotations

import pytest

from tests.timeline import empty_tables, insert, timeline, together
from tests.unit.advisor.advised import advised, found
from tests.unit.report.drawn import add_rank


def test_launches_without_device_records_are_critical() -> None:
    db = empty_tables()
    add_rank(db, 0)
    with together(db):
        for number in range(15):
            insert(db, "host_call", rank=0, host_call_id=number, thread="main", name="aclrtLaunchKernel", ts_ns=number,
                   dur_ns=1)  # fmt: skip

    finding = found(db, "R-PROF-1")

    assert finding is not None
    assert (finding.severity, finding.message.params["launch_count"]) == ("critical", 15)


@pytest.mark.parametrize(
    "reason",
    [
        "the host made 12 launches, the device recorded nothing",
        "12 launches on the host, 0 device records: device data is missing",
    ],
)
def test_the_reader_says_how_many_launches_there_were(reason: str) -> None:
    db = empty_tables()
    add_rank(db, 0)
    insert(db, "coverage", rank=0, table_name="kernel", state="missing", reason=reason)

    finding = found(db, "R-PROF-1")

    assert finding is not None
    assert finding.message.params["launch_count"] == 12


def test_a_host_alone_needs_no_device_data() -> None:
    db = empty_tables()
    add_rank(db, 0, device_kind="cpu")
    insert(db, "host_call", rank=0, host_call_id=0, thread="main", name="launch", ts_ns=0, dur_ns=1)

    assert advised(db, "R-PROF-1").quiet == ("R-PROF-1",)


def test_damage_is_a_warning_and_critical_where_the_data_contradict_themselves() -> None:
    whole, torn = timeline("r0 s1 |AAAA.BBBB|"), timeline("r0 s1 |AAAA.BBBB|")
    for db in (whole, torn):
        insert(db, "damage", file="trace.json", kind="truncated", severity="damage", count=3)
        insert(db, "damage", file="trace.json", kind="rounded_time", severity="note", count=9)
    torn.execute("update kernel set ts_ns = 2 where name = 'B'")  # two kernels at once on one stream

    warning, critical = found(whole, "R-PROF-2"), found(torn, "R-PROF-2")

    assert warning is not None
    assert critical is not None
    assert (warning.severity, critical.severity) == ("warning", "critical")
    assert warning.message.params["count"] == 3


def test_lost_rows_are_told_apart_from_damage() -> None:
    db = timeline("r0 s1 |AAAA|")
    insert(db, "damage", file="train.trace", kind="lost_rows", severity="damage", count=7)

    finding = found(db, "R-PROF-3")

    assert finding is not None
    assert (finding.severity, finding.message.params["count"]) == ("warning", 7)
    assert advised(db, "R-PROF-2").quiet == ("R-PROF-2",)


@pytest.mark.parametrize(("unprofiled", "is_found"), [(100, False), (95.3, False), (95.2, True)])
def test_five_percent_of_overhead_are_allowed(unprofiled: float, is_found: bool) -> None:
    db = timeline(f"r0 step |{'1' * 100}|\nr0 s1 |{'A' * 100}|")
    insert(db, "metric", rank=0, name="unprofiled_step_ns", step=1, ts_ns=0, value=unprofiled)

    assert (found(db, "R-PROF-4") is not None) == is_found


def test_settings_that_differ_between_ranks_are_named() -> None:
    db = empty_tables()
    for rank in range(3):
        add_rank(db, rank, config='{"with_stack": %s}' % ("true" if rank == 2 else "false"))

    finding = found(db, "R-PROF-5")

    assert finding is not None
    assert finding.message.params == {
        "count": 1, "setting": "with_stack", "usual": "false", "other": "true", "ranks": "2",
    }  # fmt: skip


def test_equal_settings_are_no_finding() -> None:
    db = empty_tables()
    for rank in range(3):
        add_rank(db, rank, config='{"with_stack": true}')

    assert advised(db, "R-PROF-5").quiet == ("R-PROF-5",)
