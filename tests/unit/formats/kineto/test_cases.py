"""The field cases that hold a PyTorch trace, by their truth blocks."""

from __future__ import annotations

from pathlib import Path

import pytest

from ascend_sn._native.intervals import union_length
from ascend_sn.errors import EmptyInputError
from ascend_sn.formats.kineto.reader import READER
from ascend_sn.formats.reader import Candidate
from ascend_sn.model.capture import Capture
from tests.shared_data import requires_shared, shared_path
from tests.unit.formats.kineto.traces import captured, ledger, rows, state

pytestmark = requires_shared


def case(*parts: str) -> Path:
    return shared_path("cases", *parts)


def kernel_sum_us(capture: Capture) -> float:
    return int(capture.rows("kernel").values("dur_ns").sum()) / 1000


def test_dv01_a_cut_trace_gives_every_complete_event() -> None:
    path = case("dv01_truncated_trace", "kineto_cut.json")

    capture = captured(path)

    assert READER.claims(Candidate(path))
    (cut,) = (entry for entry in capture.ledger.entries if entry.kind == "truncated")
    assert "113 events" in cut.example
    assert cut.severity == "damage"
    assert state(capture, "kernel") == "damaged"


def test_dv02_memory_that_was_asked_for_and_did_not_come_is_missing() -> None:
    capture = captured(case("dv02_memory_asked_but_absent", "trace.json"))

    (entry,) = (one for one in capture.coverage if one.table_name == "memory_event")

    assert entry.state == "missing"
    assert "nothing was recorded" in entry.reason
    assert state(capture, "memory_sample") == "missing"
    assert len(capture.rows("kernel")) == 40


def test_dv03_damaged_names_keep_their_kernels() -> None:
    capture = captured(case("dv03_invalid_utf8", "trace.json"))

    assert len(capture.rows("kernel")) == 40
    assert kernel_sum_us(capture) == 2400
    assert "invalid_utf8" in ledger(capture)
    assert any("\ufffd" in str(name) for (name,) in rows(capture, "kernel", "name"))


@pytest.mark.parametrize("name", ["unclosed.json", "trailing_comma.json"])
def test_dv04_open_ends_lose_nothing(name: str) -> None:
    path = case("dv04_unclosed_array", name)

    capture = captured(path)

    assert READER.claims(Candidate(path))
    assert len(capture.rows("kernel")) == 40
    assert kernel_sum_us(capture) == 2400
    assert all(entry.severity == "info" for entry in capture.ledger.entries)
    assert state(capture, "kernel") == "collected"


def test_dv04_a_trailing_comma_is_told() -> None:
    assert "trailing_comma" in ledger(captured(case("dv04_unclosed_array", "trailing_comma.json")))


@pytest.mark.parametrize("name", ["list.json", "object.json", "object_late_events.json"])
def test_dv05_all_containers_hold_the_same(name: str) -> None:
    path = case("dv05_container_shapes", name)

    capture = captured(path)

    assert READER.claims(Candidate(path))
    assert len(capture.rows("kernel")) == 40
    assert len(capture.rows("operator")) == 40


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("empty_list.json", "this file holds no timed events"),
        ("empty_object.json", "this file holds no timed events"),
        ("zero_bytes.json", "file is empty; was the session ended"),
    ],
)
def test_dv05_empty_containers_are_refused_in_words(name: str, said: str) -> None:
    with pytest.raises(EmptyInputError, match=said):
        captured(case("dv05_container_shapes", name))


def test_dv06_metadata_alone_is_no_capture() -> None:
    with pytest.raises(EmptyInputError, match="no timed events were recorded"):
        captured(case("dv06_metadata_only", "trace.json"))


def test_dv09_overlapping_kernels_are_kept_and_counted() -> None:
    capture = captured(case("dv09_partial_overlap", "trace.json"))
    kernels = capture.rows("kernel")
    start = kernels.values("ts_ns")

    assert len(kernels) == 20
    assert kernel_sum_us(capture) == 1600
    assert union_length(start, start + kernels.values("dur_ns")) == 1_400_000
    assert ledger(capture)["overlapping_slices"] == 10
    assert capture.ledger.entries[0].severity == "info"


def test_dv10_without_rank_the_name_gives_host_and_process() -> None:
    capture = captured(case("dv10_no_rank_info", "host_1234.1760000000.pt.trace.json"))

    assert capture.header.rank is None
    assert (capture.header.host, capture.header.pid) == ("host", 1234)
    assert len(capture.rows("kernel")) == 40


def test_dv11_no_marks_no_steps() -> None:
    capture = captured(case("dv11_no_step_marks", "trace.json"))

    assert len(capture.rows("step")) == 0
    assert len(capture.rows("kernel")) == 40


def test_dv14_communication_by_the_start_of_the_name() -> None:
    capture = captured(case("dv14_comm_kernel_names", "trace.json"))

    found = rows(capture, "kernel", "kind", "dur_ns")
    communication = [dur for kind, dur in found if kind == "communication"]

    assert len(communication) == 4
    assert sum(communication) == 2_000_000
    assert sum(dur for kind, dur in found if kind == "compute") == 1_300_000
    assert [op for (op,) in rows(capture, "collective", "op")] == ["allreduce", "allreduce", "sendrecv", "allgather"]
    assert set(rows(capture, "span", "domain")) == {("gpu_annotation",)}
