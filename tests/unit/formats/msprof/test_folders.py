from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from ascend_sn.derive import derive
from ascend_sn.errors import EmptyInputError, FormatError, NotParsedError
from ascend_sn.formats.discover import discover
from ascend_sn.formats.msprof.reader import RAW_READER, READER
from ascend_sn.formats.reader import Candidate, Source
from tests.shared_data import requires_shared, shared_path
from tests.unit.formats.msprof.profs import NAME, STAMP, START_US, op_summary, open_prof, write_csv, write_json
from tests.unit.formats.torch_npu.traces import DEVICE, name, task

KERNEL = {
    **{"Device_id": "0", "Op Name": "A", "Task Type": "AI_CORE"},
    **{"Task Start Time(us)": f"{START_US}.000\t", "Task Duration(us)": "10"},
}


@requires_shared
def test_field_case_of_columns_that_differ() -> None:
    (source,) = discover(shared_path("cases", "dv17_csv_drift", "d_msprof")).sources

    (capture,) = source.reader.read(source)

    kernels = capture.rows("kernel")
    compute = kernels.text("kind").matches(["compute"])
    of_type = kernels.text("op_type").matches(["MatMulV2"])
    assert int(compute.sum()) == 15
    assert int(kernels.text("kind").matches(["communication"]).sum()) == 3
    assert int(kernels.values("dur_ns")[compute].sum()) == 18_000_000
    assert int(kernels.values("dur_ns")[of_type].sum()) == 12_000_000
    assert not len(capture.rows("step"))
    assert capture.ledger.entries == []


def test_a_renamed_folder_is_claimed(tmp_path: Path) -> None:
    op_summary(tmp_path / "what I measured", [KERNEL])

    assert READER.claims(Candidate(tmp_path / "what I measured"))
    assert not RAW_READER.claims(Candidate(tmp_path / "what I measured"))


def test_exports_that_lost_their_folder_are_claimed(tmp_path: Path) -> None:
    op_summary(tmp_path / "a", [KERNEL])
    (tmp_path / "a" / "mindstudio_profiler_output").rename(tmp_path / "copied")

    (capture,) = open_prof(tmp_path / "copied")

    assert len(capture.rows("kernel")) == 1


def test_the_exports_themselves_belong_to_their_folder(tmp_path: Path) -> None:
    path = op_summary(tmp_path / NAME, [KERNEL])

    for opened in (path, path.parent):
        (source,) = discover(opened).sources
        assert (source.reader, source.path) == (READER, tmp_path / NAME)


def test_other_folders_are_not_claimed(tmp_path: Path) -> None:
    (tmp_path / "op_summary.csv").write_text("a,b\n1,2\n")
    (tmp_path / f"msprof_tx_{STAMP}.json").write_text("[]")
    (tmp_path / "host").mkdir()

    assert not READER.claims(Candidate(tmp_path))
    assert not RAW_READER.claims(Candidate(tmp_path))
    assert not READER.claims(Candidate(tmp_path / "op_summary.csv"))


def test_members_are_the_files_that_are_read(tmp_path: Path) -> None:
    folder = tmp_path / NAME
    op_summary(folder, [KERNEL])
    write_csv(folder, "fusion_op", ["a"], [["1"]])
    write_json(folder, "analyze/communication.json", {})
    (folder / f"msprof_{STAMP}.db").write_bytes(b"")

    assert [path.relative_to(folder).as_posix() for path in READER.members(folder)] == [
        "analyze/communication.json",
        f"mindstudio_profiler_output/op_summary_{STAMP}.csv",
        f"msprof_{STAMP}.db",
    ]


@pytest.mark.parametrize("inside", ["host", "device_0"])
def test_raw_data_is_refused_with_the_command_that_exports_it(tmp_path: Path, inside: str) -> None:
    folder = tmp_path / NAME
    (folder / inside / "data").mkdir(parents=True)

    assert RAW_READER.claims(Candidate(folder))
    with pytest.raises(NotParsedError, match=f"msprof --export=on --output={folder}"):
        RAW_READER.read(Source(RAW_READER, folder, folder))


def test_renamed_raw_data_is_known_by_its_content(tmp_path: Path) -> None:
    (tmp_path / "mine" / "device_0" / "data").mkdir(parents=True)

    assert RAW_READER.claims(Candidate(tmp_path / "mine"))


def test_empty_exports_beside_raw_data_are_not_parsed(tmp_path: Path) -> None:
    folder = tmp_path / NAME
    op_summary(folder, []).write_bytes(b"")

    with pytest.raises(EmptyInputError):
        open_prof(folder)
    (folder / "device_0").mkdir()
    with pytest.raises(NotParsedError):
        open_prof(folder)


def test_a_header_without_rows_is_empty(tmp_path: Path) -> None:
    op_summary(tmp_path / NAME, [])

    with pytest.raises(EmptyInputError):
        open_prof(tmp_path / NAME)


@pytest.mark.parametrize(
    ("name", "rank"), [(f"rank_3/{NAME}", 3), ("Rank12", 12), (f"ranking1/{NAME}", None), (NAME, None)]
)
def test_a_rank_is_known_from_the_name_of_the_folder_only(tmp_path: Path, name: str, rank: int | None) -> None:
    op_summary(tmp_path / "in" / name, [KERNEL])

    (capture,) = open_prof(tmp_path / "in" / name)

    assert capture.header.rank == rank
    assert [entry.kind for entry in capture.ledger.entries] == ([] if rank is None else ["rank_from_name"])


def test_a_name_cannot_tell_the_ranks_of_several_devices(tmp_path: Path) -> None:
    op_summary(tmp_path / "rank_3" / NAME, [KERNEL, KERNEL | {"Device_id": "1"}])

    assert [capture.header.rank for capture in open_prof(tmp_path / "rank_3" / NAME)] == [None, None]


def test_a_cut_file_loses_its_last_row_only(tmp_path: Path) -> None:
    path = op_summary(tmp_path / NAME, [KERNEL, KERNEL | {"Op Name": "B"}])
    path.write_bytes(path.read_bytes()[:-40])

    (capture,) = open_prof(tmp_path / NAME)

    assert capture.rows("kernel").text("name").decode() == ["A"]
    assert [(entry.kind, entry.place) for entry in capture.ledger.entries] == [("row_width", "line 3")]


KINDS = ["op_summary", "task_time", "step_trace", "memory_record", "operator_memory", "npu_mem", "api_statistic"]


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_random_bytes_raise_nothing_but_format_errors(tmp_path: Path, data: st.DataObject) -> None:
    folder = tmp_path / NAME
    shutil.rmtree(folder, ignore_errors=True)
    good: dict[str, Any] = {"A": [*name(DEVICE, "Ascend Hardware"), task("MatMul", 0, 10, 7)]}
    write_json(folder, f"mindstudio_profiler_output/msprof_{STAMP}.json", good["A"])
    paths = [write_csv(folder, kind, ["Device_id", "x"], [["0", "1"]]) for kind in KINDS]
    paths += [op_summary(folder, [KERNEL]), folder / "mindstudio_profiler_output" / f"msprof_{STAMP}.json"]
    paths += [folder / f"msprof_{STAMP}.db", write_json(folder, "analyze/communication.json", {})]
    paths += [write_json(folder, "analyze/communication_matrix.json", {})]
    for path in data.draw(st.lists(st.sampled_from(paths), min_size=1, max_size=4)):
        front = data.draw(st.sampled_from([b"", b"SQLite format 3\0", b'{"a": ', b"Device_id,Op Name\n"]))
        path.write_bytes(front + data.draw(st.binary(min_size=1, max_size=200)))

    try:
        for capture in READER.read(Source(READER, folder, folder)):
            derive(capture)
    except (FormatError, EmptyInputError):
        pass
