from __future__ import annotations

from pathlib import Path

import pytest

from ascend_sn.errors import EmptyInputError, FormatError, InputError
from ascend_sn.formats.discover import discover
from ascend_sn.formats.msprof.database_file import READER as ALONE
from ascend_sn.formats.reader import Candidate
from tests.shared_data import requires_shared, shared_path
from tests.unit.formats.msprof.profs import NAME, STAMP, op_summary, open_prof, write_csv
from tests.unit.formats.msprof.test_folders import KERNEL
from tests.unit.formats.torch_npu.databases import Strings, write_database


def draw(folder: Path) -> Path:
    """Two devices: MatMul and a collective on device 3, Add on device 4."""
    folder.mkdir(parents=True, exist_ok=True)
    text = Strings()
    core, launch, matmul, add = text("AI_CORE"), text("launch"), text("MatMul"), text("Add")
    tasks = [
        {"startNs": 100, "endNs": 200, "deviceId": 3, "connectionId": 7, "globalTaskId": 0, "taskType": core},
        {"startNs": 110, "endNs": 160, "deviceId": 4, "connectionId": 8, "globalTaskId": 1, "taskType": core},
        {"startNs": 300, "endNs": 320, "deviceId": 3, "connectionId": 9, "globalTaskId": 2, "taskType": text("SDMA")},
    ]
    tasks = [task | {"streamId": 2} for task in tasks]
    info = {"taskType": core}
    return write_database(
        folder / f"msprof_{STAMP}.db",
        text,
        TASK=tasks,
        COMPUTE_TASK_INFO=[
            info | {"name": matmul, "globalTaskId": 0, "opType": matmul},
            info | {"name": add, "globalTaskId": 1, "opType": add},
        ],
        COMMUNICATION_OP=[
            {
                **{"opName": text("hcom_allReduce__210_3_1"), "startNs": 300, "endNs": 400, "connectionId": 9},
                **{"groupName": text("g"), "opId": 0, "count": 4, "dataType": text("FP32")},
            }
        ],
        CANN_API=[
            {
                "startNs": at,
                "endNs": at + 5,
                "type": 10000,
                "globalTid": 1 << 32 | tid,
                "connectionId": c,
                "name": launch,
            }
            for at, tid, c in ((10, 1, 7), (20, 2, 8), (30, 1, 9))
        ],
        TASK_PMU_INFO=[{"globalTaskId": i, "name": text("aic_mac_ratio"), "value": i / 2} for i in range(2)],
        NPU_INFO=[{"id": 3, "name": "Ascend910B"}, {"id": 4, "name": "Ascend910B"}],
        HOST_INFO=[{"hostUid": "u", "hostName": "node-a"}],
    )


def test_each_device_is_a_profile(tmp_path: Path) -> None:
    draw(tmp_path / NAME)

    first, second = open_prof(tmp_path / NAME)

    assert [capture.header.device_id for capture in (first, second)] == [3, 4]
    assert {capture.header.format for capture in (first, second)} == {"msprof-db"}
    assert {(capture.header.host, capture.header.device_name) for capture in (first, second)} == {
        ("node-a", "Ascend910B")
    }
    rows = first.rows("kernel").to_dicts()
    assert [(row["name"], row["kind"], row["ts_ns"], row["host_call_id"]) for row in rows] == [
        ("MatMul", "compute", 100, 0),
        ("hcom_allReduce__210_3_1", "communication", 300, 1),
    ]
    (row,) = second.rows("kernel").to_dicts()
    assert (row["name"], row["host_call_id"], row["dur_ns"]) == ("Add", 0, 50)
    assert [len(capture.rows("collective")) for capture in (first, second)] == [1, 0]
    assert [len(capture.rows("comm_task")) for capture in (first, second)] == [1, 0]
    assert [capture.rows("host_call").values("ts_ns").tolist() for capture in (first, second)] == [[10, 30], [20]]
    assert [capture.rows("kernel_metric").values("value").tolist() for capture in (first, second)] == [[0.0], [0.5]]
    assert first.ledger.entries == []


def test_text_beside_it_adds_what_a_database_lacks(tmp_path: Path) -> None:
    folder = tmp_path / NAME
    draw(folder)
    header = [
        *("Device_id", "Name", "Size(KB)", "Allocation Time(us)"),
        *("Allocation Total Allocated(KB)", "Allocation Total Reserved(KB)"),
    ]
    write_csv(folder, "operator_memory", header, [["4", "Add", "3", "1.5", "6", "9"]])

    first, second = open_prof(folder)

    assert [len(capture.rows("memory_event")) for capture in (first, second)] == [0, 1]
    assert second.rows("memory_event").values("ts_ns").tolist() == [1500]


def test_an_unreadable_database_falls_back_to_the_text(tmp_path: Path) -> None:
    folder = tmp_path / NAME
    path = draw(folder)
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(FormatError):
        open_prof(folder)

    op_summary(folder, [KERNEL])
    (capture,) = open_prof(folder)

    assert capture.header.format == "msprof-text"
    assert [entry.kind for entry in capture.ledger.entries] == ["unreadable_database"]


def test_the_newest_database_counts(tmp_path: Path) -> None:
    draw(tmp_path / NAME)
    (tmp_path / NAME / "msprof_20240101000000.db").write_bytes(b"nothing")

    assert len(open_prof(tmp_path / NAME)) == 2


def test_a_database_on_its_own_is_known_by_its_tables(tmp_path: Path) -> None:
    renamed = draw(tmp_path / NAME).rename(tmp_path / "mine.dat")

    (source,) = discover(renamed).sources
    captures = source.reader.read(source)

    assert source.reader is ALONE
    assert [(capture.header.format, capture.header.device_id) for capture in captures] == [
        ("ascend-db", 3),
        ("ascend-db", 4),
    ]


def test_the_name_that_msmonitor_gives_tells_process_and_rank(tmp_path: Path) -> None:
    path = draw(tmp_path / NAME).rename(tmp_path / "msmonitor_4711_20251009081320123_5.db")

    (source,) = discover(path).sources
    header = source.reader.read(source)[0].header

    assert (header.rank, header.pid) == (5, 4711)


@requires_shared
def test_a_database_of_a_framework_keeps_its_operators(tmp_path: Path) -> None:
    parts = ("data", "torch_npu", "db", "level1", "rank0_ascend_pt", "ASCEND_PROFILER_OUTPUT")
    alone = tmp_path / "renamed"
    alone.write_bytes(shared_path(*parts, "ascend_pytorch_profiler_0.db").read_bytes())

    (source,) = discover(alone).sources
    (capture,) = source.reader.read(source)

    kernels = capture.rows("kernel")
    assert int(kernels.text("kind").matches(["compute"]).sum()) == 187
    assert len(capture.rows("collective")) == 4
    assert len(capture.rows("operator")) > 0


@pytest.mark.parametrize("length", [0, 16, 100, 3000])
def test_cut_and_other_databases_are_told(tmp_path: Path, length: int) -> None:
    path = draw(tmp_path / NAME)
    cut = tmp_path / "cut.db"
    cut.write_bytes(path.read_bytes()[:length])

    assert not ALONE.claims(Candidate(cut))
    with pytest.raises((InputError, EmptyInputError)):
        discover(cut)


@requires_shared
def test_real_tables_of_one_device_are_one_profile(tmp_path: Path) -> None:
    parts = ("data", "torch_npu", "db", "level1", "rank1_ascend_pt", "ASCEND_PROFILER_OUTPUT")
    folder = tmp_path / NAME
    (folder / "analyze").mkdir(parents=True)
    database = shared_path(*parts, "ascend_pytorch_profiler_1.db").read_bytes()
    (folder / f"msprof_{STAMP}.db").write_bytes(database)
    (folder / "analyze" / "communication_analyzer.db").write_bytes(shared_path(*parts, "analysis.db").read_bytes())

    (capture,) = open_prof(folder)

    assert int(capture.rows("kernel").text("kind").matches(["compute"]).sum()) == 187
    collectives = capture.rows("collective")
    assert len(collectives) == 4
    assert set(collectives.text("method").decode()) == {"recorded"}
    assert len(capture.rows("comm_task")) == 296
