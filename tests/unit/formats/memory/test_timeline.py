"""Raw memory timelines and their curves."""

from __future__ import annotations

import gzip
import itertools
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from ascend_sn.errors import AscendSnError, EmptyInputError, FormatError
from ascend_sn.formats.memory_timeline import READER, read
from ascend_sn.formats.reader import Candidate, Source
from ascend_sn.model.capture import Capture
from tests.shared_data import requires_shared, shared_path


def write(folder: Path, content: Any) -> Path:
    path = folder / "memory.raw.json.gz"
    path.write_bytes(gzip.compress(json.dumps(content).encode()))
    return path


def captured(path: Path) -> Capture:
    (capture,) = read(Source(READER, path, path))
    return capture


def rows(capture: Capture, table: str, *columns: str) -> list[tuple[Any, ...]]:
    return [tuple(row[column] for column in columns) for row in capture.rows(table).to_dicts()]


def test_changes_become_events_and_every_row_a_point_of_its_category(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        [[-1, 1, 100, 0], [50, 2, 40, 7], [60, 3, -40, 7], [60, 3, 40, 4], [70, 4, -40, 4]],
    )

    capture = captured(path)

    assert READER.claims(Candidate(path))
    assert rows(capture, "memory_event", "ts_ns", "kind", "size_bytes") == [
        (50, "alloc", 100),
        (50, "alloc", 40),
        (70, "free", 40),
    ]
    assert rows(capture, "memory_sample", "ts_ns", "component", "allocated_bytes") == [
        (50, "parameter", 100),
        (50, "all", 100),
        (50, "unknown", 40),
        (50, "all", 140),
        (60, "unknown", 0),
        (60, "all", 100),
        (60, "activation", 40),
        (60, "all", 140),
        (70, "activation", 0),
        (70, "all", 100),
    ]
    assert capture.header.device_kind == "host"


def test_actions_from_zero_are_an_npus(tmp_path: Path) -> None:
    capture = captured(write(tmp_path, [[10, 0, 8, 0], [20, 1, 4, 7], [30, 3, -4, 7]]))

    assert capture.header.device_kind == "npu"
    assert rows(capture, "memory_event", "kind") == [("alloc",), ("alloc",), ("free",)]


def test_curves_are_samples(tmp_path: Path) -> None:
    path = write(tmp_path, [[1000, 2000.5], [[0, 5, 0, 0, 0, 1, 0, 0, 0], [0, 5, 0, 0, 0, 0, 0, 0, 2]]])

    found = rows(captured(path), "memory_sample", "ts_ns", "component", "allocated_bytes")

    assert READER.claims(Candidate(path))
    assert len(found) == 18
    assert [row for row in found if row[1] == "all"] == [(1_000_000, "all", 6), (2_000_500, "all", 7)]


def test_rows_of_other_shapes_are_counted(tmp_path: Path) -> None:
    capture = captured(write(tmp_path, [[10, 1, 8, 0], [20, 9, 4, 7], [30, 1, 4], "x", [40, 1, 1.5, 0]]))

    assert len(capture.rows("memory_event")) == 1
    assert [(entry.kind, entry.count) for entry in capture.ledger.entries] == [("unreadable_rows", 4)]


@requires_shared
def test_the_sample_has_its_peak_and_its_end() -> None:
    path = shared_path("data", "kineto", "memory_analysis", "memory_timeline.raw.gz")
    raw = json.loads(gzip.decompress(path.read_bytes()))
    running = list(itertools.accumulate(row[2] for row in raw))

    capture = captured(path)
    totals = [
        size for component, size in rows(capture, "memory_sample", "component", "allocated_bytes") if component == "all"
    ]

    assert READER.claims(Candidate(path))
    assert totals == running
    assert (max(totals), totals[-1]) == (3_082_832_104, 332_060_904)
    assert len(capture.rows("memory_event")) == sum(row[1] in (1, 2, 4) for row in raw)


@pytest.mark.parametrize(
    ("content", "error"),
    [
        (b"", EmptyInputError),
        (b"[]", EmptyInputError),
        (b"{}", FormatError),
        (b"[[1,2", FormatError),
        (b"[[9]]", FormatError),
        (b"\x1f\x8b\x08\x00cut", FormatError),
    ],
)
def test_empty_cut_and_foreign_files(tmp_path: Path, content: bytes, error: type[AscendSnError]) -> None:
    path = tmp_path / "memory.raw.json.gz"
    path.write_bytes(content)

    with pytest.raises(error):
        captured(path)


@given(st.binary(max_size=100))
def test_random_bytes_raise_only_our_errors(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.mktemp("random") / "memory.json"
    path.write_bytes(data)

    READER.claims(Candidate(path))
    with pytest.raises(AscendSnError):
        captured(path)


def test_of_several_events_of_a_category_at_one_moment_the_last_level_counts(tmp_path: Path) -> None:
    path = write(tmp_path, [[50, 2, 100, 4], [60, 4, -40, 4], [60, 4, -50, 4], [60, 2, 5, 0]])

    found = rows(captured(path), "memory_sample", "ts_ns", "component", "allocated_bytes")

    assert [row for row in found if row[1] != "all"] == [
        (50, "activation", 100),
        (60, "activation", 10),
        (60, "parameter", 5),
    ]
    assert [row[2] for row in found if row[1] == "all"] == [100, 60, 10, 15]
