"""The checks that the description of the Ascend formats asks of a reader, counted again out of the raw files."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from contextlib import closing
from decimal import ROUND_HALF_UP, Decimal
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from ascend_sn.derive import derive
from ascend_sn.errors import AscendSnError
from ascend_sn.formats.discover import discover
from ascend_sn.model.capture import Capture
from tests.shared_data import requires_shared, shared_path

pytestmark = requires_shared

DATA = shared_path("data", "torch_npu")
OUTPUT = "ASCEND_PROFILER_OUTPUT"
LEVEL1, OTHER_RANK, LEVEL0 = (
    f"text/{name}" for name in ("level1/rank0_ascend_pt", "level1/rank1_ascend_pt", "level0/rank0_ascend_pt")
)
DATABASES = ["db/level1/rank0_ascend_pt", "db/level1/rank1_ascend_pt"]

Moment = tuple[int, int]


@cache
def read(path: Path) -> Capture:
    (source,) = discover(path).sources
    (capture,) = source.reader.read(source)
    derive(capture)
    return capture


@cache
def trace_of(folder: str) -> list[dict[str, Any]]:
    text = (DATA / folder / OUTPUT / "trace_view.json").read_text(encoding="utf-8")
    events: list[dict[str, Any]] = json.loads(text, parse_float=Decimal)
    return events


def ns(microseconds: Any) -> int:
    return int((Decimal(str(microseconds)) * 1000).to_integral_value(ROUND_HALF_UP))


def slices(folder: str, *processes: str) -> list[dict[str, Any]]:
    """Complete slices of the processes of these names."""
    events = trace_of(folder)
    names = {event["pid"]: event["args"]["name"] for event in events if event["name"] == "process_name"}
    return [event for event in events if event["ph"] == "X" and names[event["pid"]] in processes]


def moments(events: list[dict[str, Any]]) -> Counter[Moment]:
    return Counter((ns(event["ts"]), ns(event["dur"])) for event in events)


def moments_of(capture: Capture, *tables: str) -> Counter[Moment]:
    rows = (row for table in tables for row in capture.rows(table).to_dicts())
    return Counter((row["ts_ns"], row["dur_ns"]) for row in rows)


def kinds(capture: Capture) -> Counter[str | None]:
    return Counter(capture.rows("kernel").text("kind").decode())


# 1 and 2: the text exports.


@pytest.mark.parametrize("folder", [LEVEL1, OTHER_RANK, LEVEL0])
def test_the_csv_gives_191_kernels(folder: str) -> None:
    capture = read(DATA / folder)

    assert (kinds(capture)["compute"], kinds(capture)["communication"]) == (187, 4)
    assert [row["step"] for row in capture.rows("step").to_dicts()] == [50]


def test_the_step_trace_of_rank_0_is_kept() -> None:
    metrics = {row["name"].rpartition(".")[2]: row["value"] for row in read(DATA / LEVEL1).rows("metric").to_dicts()}

    assert (metrics["Computing"], metrics["Stage"]) == (8_873_756, 136_581_000)


def test_the_collectives_of_rank_0_are_of_one_group() -> None:
    collectives = read(DATA / LEVEL1).rows("collective").to_dicts()

    assert [(row["op"], row["group_id"]) for row in collectives] == [("allreduce", "17522688603477080586")] * 4


def test_level_0_has_no_types_and_tolerates_arrows_without_an_end() -> None:
    capture = read(DATA / LEVEL0)
    arrows = Counter((event["ph"], event["cat"]) for event in trace_of(LEVEL0) if event["ph"] in "sf")

    assert arrows["s", "HostToDevice"] == 210
    assert not slices(LEVEL0, "CANN")
    assert not (DATA / LEVEL0 / OUTPUT / "communication.json").exists()
    assert set(capture.rows("kernel").text("op_type").decode()) <= {None, "hcom_allReduce_"}
    assert [entry for entry in capture.ledger.entries if entry.severity == "damage"] == []


# 3: the databases.


@pytest.mark.parametrize("folder", DATABASES)
def test_a_database_gives_552_tasks_in_their_classes(folder: str) -> None:
    capture = read(DATA / folder)
    path = next((DATA / folder / OUTPUT).glob("ascend_pytorch_profiler_*.db"))
    with closing(sqlite3.connect(f"file:{path}?immutable=1", uri=True)) as raw:
        ((tasks, connections),) = raw.execute(
            "select (select count(*) from TASK), (select count(distinct id) from CONNECTION_IDS)"
        ).fetchall()

    assert (tasks, connections) == (552, 487)
    assert len(capture.rows("comm_task")) == 296
    assert len(capture.rows("collective")) == kinds(capture)["communication"] == 4
    assert kinds(capture)["compute"] == 187
    # The whole of a collective is a kernel that has no task of its own; parts of kernels are told.
    parts = sum(entry.count for entry in capture.ledger.entries if entry.kind == "task_part")
    assert len(capture.rows("kernel")) - 4 + len(capture.rows("comm_task")) + parts == 552


# 4: sums of the overlap analysis; the unions of the databases are in test_golden.


@pytest.mark.parametrize(("folder", "computing_us"), [(LEVEL1, "8873.756"), (OTHER_RANK, "8878.295")])
def test_the_overlap_analysis_sums_to_the_step_trace(folder: str, computing_us: str) -> None:
    told = [event for event in slices(folder, "Overlap Analysis") if event["name"] == "Computing"]
    metrics = {row["name"].rpartition(".")[2]: row["value"] for row in read(DATA / folder).rows("metric").to_dicts()}

    assert sum(Decimal(event["dur"]) for event in told) == Decimal(computing_us)
    assert metrics["Computing"] == ns(computing_us)


# 6: no time is off by a nanosecond, and no slice is lost or told twice.


@pytest.mark.parametrize("folder", [LEVEL1, OTHER_RANK, LEVEL0])
def test_every_slice_of_the_host_arrives_once_with_its_exact_time(folder: str) -> None:
    capture = read(DATA / folder / OUTPUT / "trace_view.json")

    assert moments_of(capture, "operator", "step", "host_call", "span") == moments(slices(folder, "Python", "CANN"))


@pytest.mark.parametrize("folder", [LEVEL1, OTHER_RANK])
def test_every_task_of_the_device_arrives_once_with_its_exact_time(folder: str, tmp_path: Path) -> None:
    alone = tmp_path / "exported.json"
    alone.write_bytes((DATA / folder / OUTPUT / "trace_view.json").read_bytes())
    capture = read(alone)
    operators = [event for event in slices(folder, "HCCL") if event["name"].startswith("hcom_")]

    assert len(operators) == 4
    assert moments_of(capture, "kernel", "comm_task") == moments([*slices(folder, "Ascend Hardware"), *operators])


# 7: what is cut, empty or away is partial or refused, never a traceback.


@pytest.mark.parametrize("harm", ["cut", "empty", "away"])
@pytest.mark.parametrize("name", sorted(path.name for path in (DATA / LEVEL1 / OUTPUT).glob("*")))
def test_a_harmed_export_leaves_the_others(tmp_path: Path, name: str, harm: str) -> None:
    output = tmp_path / OUTPUT
    output.mkdir()
    for path in (DATA / LEVEL1 / OUTPUT).iterdir():
        (output / path.name).symlink_to(path)
    (output / name).unlink()
    content = (DATA / LEVEL1 / OUTPUT / name).read_bytes()
    if harm != "away":
        (output / name).write_bytes(content[: len(content) // 2] if harm == "cut" else b"")

    try:
        capture = read(tmp_path)
    except AscendSnError as error:
        pytest.fail(f"nothing was left: {error}")

    assert len(capture.rows("kernel")) >= 187 or name == "kernel_details.csv"
    assert len(capture.rows("kernel")) > 0
