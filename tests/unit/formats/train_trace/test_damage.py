"""Cut, damaged, renamed and invented files: what is whole is used, the rest is counted, nothing else is raised."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Final

import nanoarrow
import numpy as np
import pytest
from hypothesis import given, strategies as st

from ascend.profiler import Profiler
from ascend_sn.errors import EmptyInputError, FormatError
from ascend_sn.formats.reader import Candidate
from ascend_sn.formats.train_trace.reader import READER, is_trace_head
from ascend_sn.formats.train_trace.stream import read_events
from ascend_sn.model.ledger import Ledger
from tests.unit.formats.train_trace.written import Writing, read, table

V1: Final = Path(__file__).parents[3] / "golden" / "train_trace" / "v1"


@pytest.fixture
def starts() -> list[int]:
    """Where the three batches begin."""
    return []


@pytest.fixture
def three_batches(tmp_path: Path, starts: list[int]) -> Path:
    """A trace of three batches with one, two and three spans."""
    trace = Writing(tmp_path / "run")
    for number in (1, 2, 3):
        for at in range(number):
            trace.span(f"batch {number}", 10 * number + at, 10 * number + at + 1)
        trace.batch()
    starts.extend(trace.starts)
    return trace.close() / "train.trace"


def names(path: Path) -> list[str]:
    (capture,) = read(path)
    return [name for (name,) in table(capture, "span", "name")]


def test_what_is_read_is_what_an_arrow_library_reads(tmp_path: Path) -> None:
    with Profiler(output_path=tmp_path, enable_memory=True) as profiler:
        for number in range(2000):
            with profiler.op(f"op {number % 7}"):
                profiler.log_metric("number", number)
            if number % 900 == 0:
                profiler.save(intermediate=True)

    events = read_events(tmp_path / "train.trace", "train.trace", Ledger())

    with nanoarrow.ArrayStream.from_path(tmp_path / "train.trace") as stream:
        rows = [row for batch in stream for row in batch.iter_tuples()]
    columns = (events.kind, events.thread, events.name_id, events.ts_ns, events.dur_ns, events.value, events.ref)
    assert list(zip(*(column.tolist() for column in columns), strict=True)) == rows


@pytest.mark.parametrize("missing_bytes", [1, 8, 9, 40])
def test_a_cut_file_gives_every_whole_batch(three_batches: Path, missing_bytes: int) -> None:
    data = three_batches.read_bytes()
    three_batches.write_bytes(data[: len(data) - 8 - missing_bytes])

    (capture,) = read(three_batches)

    assert table(capture, "span", "name") == [("batch 1",), ("batch 2",), ("batch 2",)]
    (entry,) = capture.ledger.entries
    assert (entry.kind, entry.severity) == ("truncated", "damage")


def test_without_the_end_mark_nothing_is_missing(three_batches: Path) -> None:
    three_batches.write_bytes(three_batches.read_bytes()[:-8])

    (capture,) = read(three_batches)

    assert len(capture.rows("span")) == 6
    assert capture.ledger.entries == []


def test_cut_anywhere_only_whole_batches_count(three_batches: Path, starts: list[int]) -> None:
    data = three_batches.read_bytes()
    _, second, third = starts
    for size in range(0, len(data), 5):
        three_batches.write_bytes(data[:size])
        expected = 6 if size >= len(data) - 8 else 3 if size >= third else 1 if size >= second else 0

        if expected:
            assert len(names(three_batches)) == expected
        else:
            with pytest.raises((FormatError, EmptyInputError)):
                read(three_batches)


def test_a_damaged_batch_is_skipped_and_named(three_batches: Path, starts: list[int]) -> None:
    data = bytearray(three_batches.read_bytes())
    second = starts[1]
    data[second + 4 : second + 60] = b"\x5a" * 56
    three_batches.write_bytes(data)

    (capture,) = read(three_batches)

    assert table(capture, "span", "name") == [("batch 1",)] + [("batch 3",)] * 3
    (entry,) = capture.ledger.entries
    assert (entry.kind, entry.place, entry.severity) == ("damaged_batch", f"byte {second}", "damage")


def test_a_batch_whose_bytes_are_shifted_is_not_believed(tmp_path: Path) -> None:
    trace = Writing(tmp_path / "run")
    for number in (1, 2):
        for at in range(200):
            trace.span(f"batch {number}", 1000 * number + 2 * at, 1000 * number + 2 * at + 1)
        trace.batch()
    second = trace.starts[1]
    path = trace.close() / "train.trace"
    data = path.read_bytes()
    # Three bytes are lost from the first column of the second batch, and made up for at its end.
    body = second + len(data[second:]) // 4
    path.write_bytes(data[:body] + data[body + 3 : -8] + b"\0\0\0" + data[-8:])

    (capture,) = read(path)

    assert names(path) == ["batch 1"] * 200
    (entry,) = capture.ledger.entries
    assert (entry.kind, entry.place, entry.count) == ("damaged_batch", f"byte {second}", 200)


def test_without_names_the_rows_stay(three_batches: Path) -> None:
    (three_batches.parent / "names.trace").unlink()

    (capture,) = read(three_batches.parent)

    assert len(capture.rows("span")) == 6
    assert {name for (name,) in table(capture, "span", "name")} == {"name 0", "name 1", "name 2"}
    assert {(entry.kind, entry.count) for entry in capture.ledger.entries} == {("missing_names", 1), ("lost_names", 3)}


def test_a_damaged_name_is_counted_and_the_others_stay(three_batches: Path) -> None:
    path = three_batches.parent / "names.trace"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:2], lines[2][:-9], b"\xff{{\n", *lines[3:]]))

    (capture,) = read(three_batches.parent)

    assert [name for (name,) in table(capture, "span", "name")] == ["batch 1"] + ["name 1"] * 2 + ["batch 3"] * 3
    assert {entry.kind for entry in capture.ledger.entries} == {"unreadable_names", "lost_names"}


def test_a_name_with_half_a_surrogate_pair_is_read(tmp_path: Path) -> None:
    with Profiler(output_path=tmp_path) as profiler, profiler.op("a\udcffb"):
        pass

    assert names(tmp_path) == ["a?b"]


def test_an_empty_file_and_a_file_without_rows_say_so(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "train.trace").write_bytes(b"")
    rowless = Writing(tmp_path / "rowless").close()

    with pytest.raises(FormatError):
        read(tmp_path / "empty")
    with pytest.raises(EmptyInputError):
        read(rowless)


def test_it_is_recognised_by_content_under_any_name(tmp_path: Path) -> None:
    renamed = tmp_path / "profile.bin"
    shutil.copy(V1 / "train.trace", renamed)
    (tmp_path / "train.trace").write_text("not ours")

    assert READER.claims(Candidate(renamed))
    assert READER.claims(Candidate(V1))
    assert READER.claims(Candidate(V1 / "train.trace"))
    assert not READER.claims(Candidate(tmp_path))
    assert not READER.claims(Candidate(V1 / "names.trace"))
    assert not is_trace_head(b"")
    assert len(names(renamed)) == 9


def test_runs_beside_each_other_are_captures_of_one_folder(tmp_path: Path) -> None:
    for name in ("", "20250102T000000.000Z_node-a_42", "20250102T000000.000Z_node-a_43"):
        shutil.copytree(V1, tmp_path / "out" / name, dirs_exist_ok=True)
    (tmp_path / "out" / "20250102T000000.000Z_node-a_43" / "train.trace").write_bytes(b"damaged")
    (tmp_path / "out" / "unrelated").mkdir()

    captures = read(tmp_path / "out")

    assert [capture.header.source for capture in captures] == [
        "train.trace",
        "20250102T000000.000Z_node-a_42/train.trace",
    ]
    assert ("unreadable", "20250102T000000.000Z_node-a_43/train.trace") in {
        (entry.kind, entry.file) for entry in captures[0].ledger.entries
    }
    assert [path.relative_to(tmp_path / "out").as_posix() for path in READER.members(tmp_path / "out")][-2:] == [
        "names.trace",
        "train.trace",
    ]


@given(data=st.binary(max_size=600))
def test_random_bytes_raise_nothing_but_a_format_error(data: bytes, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("random")
    (folder / "train.trace").write_bytes(data)
    (folder / "names.trace").write_bytes(data)

    with pytest.raises((FormatError, EmptyInputError)):
        read(folder)


@given(changes=st.lists(st.tuples(st.integers(0, 10_000), st.integers(0, 255)), min_size=1, max_size=12))
def test_a_trace_with_changed_bytes_is_read_or_refused(
    changes: list[tuple[int, int]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("changed")
    for name in ("train.trace", "names.trace"):
        data = np.frombuffer((V1 / name).read_bytes(), np.uint8).copy()
        for place, value in changes:
            data[place % len(data)] = value
        (folder / name).write_bytes(data.tobytes())

    try:
        captures = read(folder)
    except (FormatError, EmptyInputError):
        return
    assert len(captures) == 1
