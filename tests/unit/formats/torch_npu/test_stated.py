"""What a run states about itself may be anything: it is used, or it is in the ledger, never dropped in silence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ascend_sn.formats.torch_npu.run_folder import READER
from ascend_sn.model.capture import Capture
from tests.unit.formats.torch_npu.databases import Strings, write_database
from tests.unit.formats.torch_npu.runs import kernel_csv, open_run

KERNEL = {"Name": "mm", "Start Time(us)": "1", "Duration(us)": "2", "Accelerator Core": "AI_CORE"}
OUTPUT = "ASCEND_PROFILER_OUTPUT"


def told(capture: Capture) -> list[tuple[str, str, str, int]]:
    return [(entry.file, entry.kind, entry.place, entry.count) for entry in capture.ledger.entries]


def run(folder: Path, **files: Any) -> Capture:
    kernel_csv(folder, [KERNEL])
    for name, value in files.items():
        text = value if isinstance(value, str) else json.dumps(value)
        (folder / f"{name}.json").write_text(text)
    return open_run(folder)


@pytest.mark.parametrize("rank", ["seven", -7, 1.5, [1], 1 << 40, True])
def test_a_rank_that_cannot_be_one_is_told(tmp_path: Path, rank: Any) -> None:
    capture = run(tmp_path, profiler_info={"rank_id": rank})

    assert capture.header.rank is None
    assert told(capture) == [("profiler_info.json", "unreadable_metadata", "rank_id", 1)]


@pytest.mark.parametrize(("rank", "known"), [(None, None), (-1, None), ("-1", None), ("3", 3), (0, 0)])
def test_a_rank_and_the_sign_for_none_are_no_damage(tmp_path: Path, rank: Any, known: int | None) -> None:
    capture = run(tmp_path, profiler_info={"rank_id": rank})

    assert (capture.header.rank, told(capture)) == (known, [])


def test_ranks_that_contradict_are_told(tmp_path: Path) -> None:
    capture = run(tmp_path, profiler_info_3={"rank_id": 5})

    assert capture.header.rank == 5
    (entry,) = capture.ledger.entries
    assert (entry.file, entry.place, entry.example) == ("profiler_info_3.json", "rank_id", "5 in a file of rank 3")


def test_two_files_of_different_ranks_are_told(tmp_path: Path) -> None:
    capture = run(tmp_path, profiler_info_3={}, profiler_info_4={})

    assert capture.header.rank == 4
    assert told(capture) == [("profiler_info_4.json", "unreadable_metadata", "rank_id", 1)]


@pytest.mark.parametrize(
    ("info", "place"),
    [
        ({"config": 7}, "config"),
        ({"config": {"common_config": []}}, "common_config"),
        ({"config": {"experimental_config": "x"}}, "experimental_config"),
        ({"config": {"experimental_config": {"_profiler_level": 3}}}, "_profiler_level"),
        ({"start_info": 1}, "start_info"),
        ({"end_info": "x"}, "end_info"),
        ({"cann_version": 8}, "cann_version"),
    ],
)
def test_a_setting_of_another_kind_is_told(tmp_path: Path, info: Any, place: str) -> None:
    assert told(run(tmp_path, profiler_info=info)) == [("profiler_info.json", "unreadable_metadata", place, 1)]


@pytest.mark.parametrize(
    ("metadata", "kind", "place", "count"),
    [
        ({"parallel_group_info": []}, "unreadable_metadata", "parallel_group_info", 1),
        (
            {"parallel_group_info": {"a": 1, "b": {"global_ranks": [0, "x"]}}},
            "unreadable_entry",
            "parallel_group_info",
            2,
        ),
        ({"distributed_args": 4}, "unreadable_metadata", "distributed_args", 1),
        ({"distributed_args": {"world_size": "many"}}, "unreadable_metadata", "world_size", 1),
        ([1], "unknown_structure", "", 1),
        ("{", "json_syntax", "", 1),
    ],
)
def test_metadata_of_another_kind_are_told(tmp_path: Path, metadata: Any, kind: str, place: str, count: int) -> None:
    assert told(run(tmp_path, profiler_metadata=metadata)) == [("profiler_metadata.json", kind, place, count)]


def test_json_that_is_nested_too_deeply_is_said_so(tmp_path: Path) -> None:
    capture = run(tmp_path, profiler_info='{"config":' + "[" * 100_000)

    (entry,) = capture.ledger.entries
    assert (entry.kind, entry.example) == ("json_syntax", "nested too deeply")


def test_a_database_is_no_better(tmp_path: Path) -> None:
    strings = Strings()
    folder = tmp_path / OUTPUT
    folder.mkdir()
    write_database(
        folder / "ascend_pytorch_profiler.db",
        strings,
        TASK=[{"startNs": 1, "endNs": 9, "deviceId": 2, "globalTaskId": 1, "streamId": 2, "taskId": 1}],
        RANK_DEVICE_MAP=[{"rankId": -9, "deviceId": 2}],
        META_DATA=[
            {"name": "ENV_VARIABLES", "value": "{" + '"a":{' * 20_000},
            {"name": "parallel_group_info", "value": '{"a": {"global_ranks": "all"}}'},
        ],
    )

    capture = open_run(tmp_path)

    assert capture.header.rank is None
    assert [entry[1:] for entry in told(capture)] == [
        ("unreadable_metadata", "RANK_DEVICE_MAP.rankId", 1),
        ("unreadable_metadata", "META_DATA ENV_VARIABLES", 1),
        ("unreadable_entry", "parallel_group_info", 1),
    ]


@pytest.mark.parametrize(
    ("content", "kind", "place"),
    [
        (b"", "empty_file", ""),
        (b"\xff\xfe\x00\x12" * 50, "unknown_header", "line 1"),
        (b"Name,Input Shapes\naten::mm,\n\xff,\n", "invalid_utf8", "line 3"),
    ],
)
def test_damaged_operator_details_are_told_though_nothing_of_them_is_needed(
    tmp_path: Path, content: bytes, kind: str, place: str
) -> None:
    kernel_csv(tmp_path, [KERNEL])
    (tmp_path / OUTPUT / "operator_details.csv").write_bytes(content)

    capture = open_run(tmp_path)

    assert told(capture) == [(f"{OUTPUT}/operator_details.csv", kind, place, 1)]
    assert capture.ledger.entries[0].severity == "info"
    assert READER.members(tmp_path)[-1].name == "operator_details.csv"
