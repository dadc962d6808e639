from __future__ import annotations

from pathlib import Path

from ascend_sn.formats.torch_npu.memory_csv import read_memory_record, read_module_memory, read_operator_memory
from ascend_sn.model.ledger import Ledger

OPERATORS = (
    "Name,Size(KB),Allocation Time(us),Release Time(us),Active Release Time(us),Duration(us),"
    "Allocation Total Allocated(MB),Allocation Total Reserved(MB),Release Total Allocated(MB),Stream Ptr,Device Type\n"
)


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "memory.csv"
    path.write_text(text)
    return path


def test_a_curve_in_bytes(tmp_path: Path) -> None:
    text = (
        "Component,Timestamp(us),Total Allocated(MB),Total Reserved(MB),Total Active(MB),Stream Ptr,Device Type\r\n"
        "APP,1736408883573957.920\t,,2109.6015625,,,NPU:0\r\n"
        "PTA,1736408883694624.810\t,954.37,1452.0,0.0,897357296,NPU:0\r\n"
    )

    rows = read_memory_record(write(tmp_path, text), "memory_record.csv", Ledger())

    assert rows is not None
    app, pta = rows.to_dicts()
    assert (app["component"], app["ts_ns"]) == ("APP", 1_736_408_883_573_957_920)
    assert (app["allocated_bytes"], app["reserved_bytes"], app["active_bytes"]) == (None, 2_212_077_568, None)
    assert (pta["allocated_bytes"], pta["active_bytes"]) == (1_000_729_477, 0)


def test_modules_are_components_of_their_own_and_negative_is_unknown(tmp_path: Path) -> None:
    text = "Component,Timestamp(us),Total Reserved(MB),Device\nGE,1.5,2.0,NPU:0\nHCCL,2.5,-0.0009765625,NPU:0\n"

    rows = read_module_memory(write(tmp_path, text), "npu_module_mem.csv", Ledger())

    assert rows is not None
    assert [(row["component"], row["ts_ns"], row["reserved_bytes"]) for row in rows.to_dicts()] == [
        ("module:GE", 1500, 2 << 20),
        ("module:HCCL", 2500, None),
    ]


def test_a_sample_of_no_component_is_left_out_and_counted(tmp_path: Path) -> None:
    text = "Component,Timestamp(us),Total Reserved(MB)\nGE,1.5,2.0\n,2.5,3.0\n"

    for read in (read_memory_record, read_module_memory):
        ledger = Ledger()
        rows = read(write(tmp_path, text), "memory.csv", ledger)

        assert rows is not None
        assert [row["reserved_bytes"] for row in rows.to_dicts()] == [2 << 20]
        assert [(entry.kind, entry.place, entry.count) for entry in ledger.entries] == [
            ("unreadable_cell", "line 3", 1)
        ]


def test_an_allocation_and_its_release(tmp_path: Path) -> None:
    text = OPERATORS + (
        "aten::empty,0.5,10.000\t,30.000\t,29.500\t,20.000\t,1.0,4.0,0.5,77,NPU:0\n"
        "aten::mm,2,20.000\t,,,,2.0,4.0,,77,NPU:0\n"
    )

    rows = read_operator_memory(write(tmp_path, text), "operator_memory.csv", Ledger())

    assert rows is not None
    assert [(row["kind"], row["operator_name"], row["ts_ns"], row["size_bytes"]) for row in rows.to_dicts()] == [
        ("alloc", "aten::empty", 10_000, 512),
        ("alloc", "aten::mm", 20_000, 2048),
        ("free", "aten::empty", 30_000, 512),
    ]
    first, _, last = rows.to_dicts()
    assert first["address"] == last["address"] != rows.to_dicts()[1]["address"]
    assert (first["allocated_bytes"], first["reserved_bytes"]) == (1 << 20, 4 << 20)
    assert (last["allocated_bytes"], last["reserved_bytes"]) == (1 << 19, None)
    assert (first["device"], first["stream"]) == ("NPU:0", "77")


def test_a_block_from_before_the_window_is_only_freed(tmp_path: Path) -> None:
    text = OPERATORS + ",-4,,30.000\t,,,,,1.0,77,NPU:0\n"

    rows = read_operator_memory(write(tmp_path, text), "operator_memory.csv", Ledger())

    assert rows is not None
    assert [(row["kind"], row["size_bytes"], row["operator_name"]) for row in rows.to_dicts()] == [("free", 4096, None)]


def test_unreadable_rows_are_counted_with_their_line(tmp_path: Path) -> None:
    ledger = Ledger()

    rows = read_operator_memory(write(tmp_path, OPERATORS + "a,x,1,,,,,,,,\nb,1,1,,,,,,,,\n"), "f.csv", ledger)

    assert rows is not None
    assert len(rows) == 1
    assert [(entry.kind, entry.place) for entry in ledger.entries] == [("unreadable_cell", "line 2")]
