from __future__ import annotations

import json
import shutil
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from ascend_sn.errors import EmptyInputError, FormatError, NotParsedError
from ascend_sn.formats.discover import discover
from ascend_sn.formats.reader import Candidate, Source
from ascend_sn.formats.torch_npu.run_folder import RAW_READER, READER
from tests.unit.formats.kineto.traces import kernel, write
from tests.unit.formats.torch_npu.runs import kernel_csv, open_run, write_csv, write_info, write_json

KERNEL = {"Name": "mm", "Start Time(us)": "1", "Duration(us)": "2", "Accelerator Core": "AI_CORE"}


def test_a_renamed_run_folder_is_claimed(tmp_path: Path) -> None:
    folder = tmp_path / "whatever I called it"
    write_info(folder)
    kernel_csv(folder, [KERNEL])

    assert READER.claims(Candidate(folder))
    assert not RAW_READER.claims(Candidate(folder))
    assert open_run(folder).header.source == "whatever I called it"


def test_the_exports_themselves_belong_to_their_run(tmp_path: Path) -> None:
    write_info(tmp_path, rank=3)
    kernel_csv(tmp_path, [KERNEL])
    output = tmp_path / "ASCEND_PROFILER_OUTPUT"

    assert not READER.claims(Candidate(output))
    (source,) = discover(output).sources
    assert source.path == tmp_path
    assert source.reader is READER


def test_exports_without_their_folder_are_claimed_by_names_that_no_other_tool_gives(tmp_path: Path) -> None:
    write_info(tmp_path / "run")
    kernel_csv(tmp_path / "run", [KERNEL])
    (tmp_path / "run" / "ASCEND_PROFILER_OUTPUT").rename(tmp_path / "copied")
    other = tmp_path / "analyze"
    other.mkdir()
    (other / "communication.json").write_text("{}")

    assert len(open_run(tmp_path / "copied").rows("kernel")) == 1
    assert not READER.claims(Candidate(other))


@pytest.mark.parametrize("place", ["trace_view.json", "ASCEND_PROFILER_OUTPUT/trace_view.json"])
@pytest.mark.parametrize("opened", ["folder", "file"])
def test_a_trace_of_pytorch_stays_one_under_the_name_of_an_export(tmp_path: Path, place: str, opened: str) -> None:
    path = tmp_path / place
    path.parent.mkdir(exist_ok=True)
    write(path.parent, kernel("gemm", 10, 5, correlation=1), name=path.name)

    (source,) = discover(tmp_path if opened == "folder" else path).sources
    (capture,) = source.reader.read(source)

    assert (capture.header.format, len(capture.rows("kernel"))) == ("kineto", 1)


def test_a_trace_of_pytorch_among_exports_is_a_capture_of_its_own(tmp_path: Path) -> None:
    kernel_csv(tmp_path, [KERNEL])
    path = write(tmp_path / "ASCEND_PROFILER_OUTPUT", kernel("gemm", 10, 5), name="trace_view.json")

    (told,) = open_run(tmp_path).ledger.entries
    assert (told.kind, told.file, told.severity) == (
        "foreign_files",
        "ASCEND_PROFILER_OUTPUT/trace_view.json",
        "info",
    )
    (source,) = discover(path).sources
    assert source.reader.name == "kineto"


@pytest.mark.parametrize("name", ["ascend_mindspore_profiler_0.db", "dataset.csv", "minddata_pipeline_raw_0.csv"])
def test_a_mindspore_run_is_not_claimed(tmp_path: Path, name: str) -> None:
    write_info(tmp_path)
    kernel_csv(tmp_path, [KERNEL])
    (tmp_path / "ASCEND_PROFILER_OUTPUT" / name).write_text("")

    assert not READER.claims(Candidate(tmp_path))


def test_a_mindspore_run_is_known_by_its_name_too(tmp_path: Path) -> None:
    folder = tmp_path / "h_1_20251009081320123_ascend_ms"
    write_info(folder)
    kernel_csv(folder, [KERNEL])

    assert not READER.claims(Candidate(folder))


def test_other_folders_and_files_are_not_claimed(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("x")

    assert not READER.claims(Candidate(tmp_path))
    assert not READER.claims(Candidate(tmp_path / "notes.txt"))
    assert not RAW_READER.claims(Candidate(tmp_path))


def test_empty_exports_beside_raw_data_are_raw(tmp_path: Path) -> None:
    write_info(tmp_path)
    (tmp_path / "FRAMEWORK").mkdir()
    (tmp_path / "PROF_000001_20251009081320123_ABC").mkdir()

    assert not READER.claims(Candidate(tmp_path))
    assert RAW_READER.claims(Candidate(tmp_path))
    with pytest.raises(NotParsedError):
        RAW_READER.read(Source(RAW_READER, tmp_path, tmp_path))


def test_members_are_the_files_that_are_read_in_order(tmp_path: Path) -> None:
    write_info(tmp_path, rank=0)
    kernel_csv(tmp_path, [KERNEL])
    write_csv(tmp_path, "op_statistic.csv", ["a"], [["1"]])
    output = tmp_path / "ASCEND_PROFILER_OUTPUT"
    (output / "ascend_pytorch_profiler_0.db").write_bytes(b"")
    (output / "ascend_pytorch_profiler_0.db-wal").write_bytes(b"")

    names = [path.relative_to(tmp_path).as_posix() for path in READER.members(tmp_path)]

    assert names == [
        "ASCEND_PROFILER_OUTPUT/ascend_pytorch_profiler_0.db",
        "ASCEND_PROFILER_OUTPUT/ascend_pytorch_profiler_0.db-wal",
        "ASCEND_PROFILER_OUTPUT/kernel_details.csv",
        "profiler_info_0.json",
    ]


def test_identity_from_the_folder_and_the_two_json_files(tmp_path: Path) -> None:
    folder = tmp_path / "node-7_4711_20251009081320123_ascend_pt"
    write_info(folder, rank=5)
    info = json.loads((folder / "profiler_info_5.json").read_text())
    info |= {"rank_id": "5", "torch_npu_version": "2.1.0", "cann_version": "8.0"}
    info["start_info"] = {"start_monotonic": 1_000}
    info["end_info"] = {"collectionTimeEnd": 10_000, "MonotonicTimeEnd": 4_000}
    (folder / "profiler_info_5.json").write_text(json.dumps(info))
    groups = {"ab": {"group_name": "default_group", "group_rank": 0, "global_ranks": [4, 5]}}
    (folder / "profiler_metadata.json").write_text(json.dumps({"parallel_group_info": groups}))
    kernel_csv(folder, [KERNEL])

    header = open_run(folder).header

    assert (header.host, header.pid, header.rank, header.world_size) == ("node-7", 4711, 5, 2)
    assert header.start_ns == 7_000
    assert header.versions == {"torch_npu": "2.1.0", "cann": "8.0"}
    assert (header.format, header.device_kind) == ("torch_npu-text", "npu")
    assert header.config["read_from"] == "text"


def test_a_run_without_a_rank_has_none(tmp_path: Path) -> None:
    write_info(tmp_path)
    kernel_csv(tmp_path, [KERNEL])

    assert open_run(tmp_path).header.rank is None


def test_damaged_json_beside_whole_exports_is_told(tmp_path: Path) -> None:
    write_info(tmp_path, rank=2)
    kernel_csv(tmp_path, [KERNEL])
    (tmp_path / "profiler_info_2.json").write_text('{"config": ')
    (tmp_path / "profiler_metadata.json").write_bytes(b"\xff\xfe")

    capture = open_run(tmp_path)

    assert capture.header.rank == 2
    assert [(e.file, e.kind) for e in capture.ledger.entries] == [
        ("profiler_info_2.json", "json_syntax"),
        ("profiler_metadata.json", "invalid_utf8"),
        ("profiler_metadata.json", "json_syntax"),
    ]


def test_bytes_of_another_encoding_cost_only_the_text_they_stand_in(tmp_path: Path) -> None:
    write_info(tmp_path)
    kernel_csv(tmp_path, [KERNEL])
    info = {"torch_npu_version": "2.1.0", "hostname": "NAME"}
    (tmp_path / "profiler_info.json").write_bytes(
        json.dumps(info).encode().replace(b"NAME", "\u8282\u70b9".encode("gbk"))
    )

    capture = open_run(tmp_path)

    assert capture.header.versions == {"torch_npu": "2.1.0"}
    assert [(e.file, e.kind) for e in capture.ledger.entries] == [("profiler_info.json", "invalid_utf8")]


def test_steps_of_kernel_rows_where_there_is_no_trace(tmp_path: Path) -> None:
    write_info(tmp_path)
    kernel_csv(
        tmp_path,
        [
            {**KERNEL, "Step Id": "4", "Start Time(us)": "10"},
            {**KERNEL, "Step Id": "4", "Start Time(us)": "20", "Duration(us)": "5"},
            {**KERNEL, "Step Id": "5", "Start Time(us)": "24"},
            {**KERNEL, "Step Id": "", "Start Time(us)": "90"},
        ],
    )

    steps = open_run(tmp_path).rows("step").to_dicts()

    # The second kernel of step 4 ends after step 5 started.
    assert [(step["step"], step["ts_ns"], step["dur_ns"], step["origin"]) for step in steps] == [
        (4, 10_000, 14_000, "inferred"),
        (5, 24_000, 2_000, "inferred"),
    ]


def test_exports_without_timed_rows_are_empty_input(tmp_path: Path) -> None:
    write_info(tmp_path)
    kernel_csv(tmp_path, [])

    with pytest.raises(EmptyInputError):
        open_run(tmp_path)


def test_nothing_but_damage_names_the_first_damage(tmp_path: Path) -> None:
    write_info(tmp_path)
    write_csv(tmp_path, "kernel_details.csv", ["a", "b"], [["1", "2"]])

    with pytest.raises(FormatError, match=r"unknown header in ASCEND_PROFILER_OUTPUT/kernel_details\.csv"):
        open_run(tmp_path)


def test_what_was_not_asked_for_is_not_requested(tmp_path: Path) -> None:
    write_info(tmp_path, profile_memory=False, with_stack=False, record_shapes=False)
    kernel_csv(tmp_path, [KERNEL])

    states = {e.table_name: (e.state, e.turn_on) for e in open_run(tmp_path).coverage if e.column_name is None}

    assert states["memory_event"] == ("not_requested", "torch_npu.profiler.profile(profile_memory=True)")
    assert states["stack"] == ("not_requested", "torch_npu.profiler.profile(with_stack=True)")
    assert states["kernel"][0] == "collected"
    assert states["operator"][0] == "missing"
    assert states["collective"][0] == "empty"


@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    name=st.sampled_from(
        [
            *("kernel_details.csv", "trace_view.json", "communication.json", "communication_matrix.json"),
            *("memory_record.csv", "operator_memory.csv", "npu_module_mem.csv", "step_trace_time.csv"),
            *("ascend_pytorch_profiler_0.db", "analysis.db"),
        ]
    ),
    content=st.binary(max_size=400) | st.text(max_size=200).map(lambda text: text.encode("utf-8", "replace")),
    magic=st.sampled_from(
        [b"", b"SQLite format 3\0", b"\xef\xbb\xbf", b"[{", b"\x1f\x8b", b"Name,Start Time(us),Duration(us)\n"]
    ),
)
def test_random_bytes_raise_format_errors_only(tmp_path: Path, name: str, content: bytes, magic: bytes) -> None:
    folder = tmp_path / "run"
    shutil.rmtree(folder, ignore_errors=True)
    write_info(folder)
    (folder / "ASCEND_PROFILER_OUTPUT" / name).write_bytes(magic + content)

    with suppress(FormatError, EmptyInputError):
        if READER.claims(Candidate(folder)):
            open_run(folder)


def test_random_bytes_beside_whole_files_cost_nothing_else(tmp_path: Path) -> None:
    write_info(tmp_path)
    kernel_csv(tmp_path, [KERNEL])
    for name in ("communication.json", "communication_matrix.json", "memory_record.csv", "step_trace_time.csv"):
        (tmp_path / "ASCEND_PROFILER_OUTPUT" / name).write_bytes(bytes(range(256)))
    write_json(tmp_path, "trace_view.json", [])

    capture = open_run(tmp_path)

    assert len(capture.rows("kernel")) == 1
    assert {Path(entry.file).name for entry in capture.ledger.entries} >= {"communication.json", "memory_record.csv"}
