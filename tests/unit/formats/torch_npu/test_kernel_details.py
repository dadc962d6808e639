from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ascend_sn.formats.torch_npu.kernel_details import KernelDetails, metric_name, read_kernel_details
from ascend_sn.model.ledger import Ledger

FULL = "Step Id,Task ID,Stream ID,Name,Type,Accelerator Core,Start Time(us),Duration(us),Wait Time(us),Block Dim"


def read(tmp_path: Path, text: str | bytes) -> tuple[KernelDetails | None, Ledger]:
    path = tmp_path / "kernel_details.csv"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    ledger = Ledger()
    return read_kernel_details(path, "kernel_details.csv", ledger), ledger


def rows(tmp_path: Path, text: str | bytes) -> list[dict[str, Any]]:
    details, _ = read(tmp_path, text)
    assert details is not None
    return details.kernels.to_dicts()


def test_a_row_with_tab_quotes_and_carriage_return(tmp_path: Path) -> None:
    text = (
        FULL + ",Input Shapes\r\n"
        '50,11,2,add,Add,AI_VECTOR_CORE,"1736408883704643.212\t",53.741,0.5,32,"""4096,1;;2048"""\r\n\r\n'
    )

    (row,) = rows(tmp_path, text)

    assert row["ts_ns"] == 1_736_408_883_704_643_212
    assert row["dur_ns"] == 53_741
    assert row["wait_ns"] == 500
    assert row["input_shapes"] == "4096,1;;2048"
    assert (row["stream"], row["block_count"], row["kind"]) == ("2", 32, "compute")
    assert row["output_shapes"] is None


def test_the_oldest_header_and_integer_microseconds(tmp_path: Path) -> None:
    text = (
        "Name,Type,Accelerator Core,Start Time(us),Duration(us),Wait Time(us),Block Dim\n"
        "add,Add,AI_VECTOR_CORE,1695115378713661,7.2,0,1\n"
    )

    (row,) = rows(tmp_path, text)

    assert row["ts_ns"] == 1_695_115_378_713_661_000
    assert (row["dur_ns"], row["stream"]) == (7200, None)


def test_alternative_column_names(tmp_path: Path) -> None:
    text = (
        "Device_id,Op Name,OP Type,Task Type,Task Start Time(us),Task Duration(us),Task Wait Time(us),Block Num\n"
        "3,mm,MatMulV3,AI_CORE,10.5,2,1,20\n"
    )

    (row,) = rows(tmp_path, text)

    assert (row["device_id"], row["name"], row["op_type"], row["core_type"]) == (3, "mm", "MatMulV3", "AI_CORE")
    assert (row["ts_ns"], row["dur_ns"], row["wait_ns"], row["block_count"]) == (10_500, 2000, 1000, 20)


def test_not_available_is_null_and_never_a_text(tmp_path: Path) -> None:
    (row,) = rows(tmp_path, FULL + "\n,N/A,N/A,add,N/A,N/A,1,2,,0\n")

    assert (row["op_type"], row["core_type"], row["stream"], row["wait_ns"], row["block_count"]) == (None,) * 5


def test_kinds(tmp_path: Path) -> None:
    text = FULL + (
        "\n1,1,2,mm,MatMulV2,AI_CORE,1,1,0,1"
        "\n1,2,2,MatmulAllReduce_1,MatmulAllReduce,MIX_AIC,3,1,0,1"
        "\n1,N/A,N/A,hcom_allReduce__210_0_1,hcom_allReduce_,HCCL,5,1,0,0"
        "\n1,N/A,N/A,hcom_send__210_0_1,N/A,COMMUNICATION,7,1,0,0"
        "\n1,3,2,OddFused,OddFused,MIX_AIC,9,1,0,1"
        "\n1,N/A,N/A,OddFusedAicpu,OddFusedAicpu,COMMUNICATION,9,1,0,0\n"
    )

    found = rows(tmp_path, text)

    assert [row["kind"] for row in found] == [
        "compute",
        "fused",
        "communication",
        "communication",
        "fused",
        "communication",
    ]
    assert found[2]["core_type"] == found[3]["core_type"] == "COMMUNICATION"
    assert found[3]["op_type"] == "hcom_send_"


def test_a_row_without_a_time_goes_to_the_ledger_with_its_line(tmp_path: Path) -> None:
    details, ledger = read(tmp_path, FULL + "\n1,1,2,a,A,AI_CORE,1,1,0,1\n1,2,2,b,B,AI_CORE,oops,1,0,1\n")

    assert details is not None
    assert len(details.kernels) == 1
    (entry,) = ledger.entries
    assert (entry.kind, entry.place, entry.count) == ("unreadable_cell", "line 3", 1)
    assert "oops" in entry.example


def test_a_negative_length_is_set_aside(tmp_path: Path) -> None:
    details, ledger = read(tmp_path, FULL + "\n1,1,2,a,A,AI_CORE,5,-1,0,1\n1,2,2,b,B,AI_CORE,6,1,0,1\n")

    assert details is not None
    assert details.kernels.text("name").decode() == ["b"]
    assert [(entry.kind, entry.place) for entry in ledger.entries] == [("impossible_time", "line 2")]


def test_a_cut_last_line_is_left_out_and_counted(tmp_path: Path) -> None:
    details, ledger = read(tmp_path, FULL + "\n1,1,2,a,A,AI_CORE,1,1,0,1\n1,2,2,b,B,AI_COR")

    assert details is not None
    assert len(details.kernels) == 1
    assert [(entry.kind, entry.place) for entry in ledger.entries] == [("row_width", "line 3")]


@pytest.mark.parametrize("content", [b"", b"\n\n", b"\x00\xff\xfe", b"a,b,c\n1,2,3\n", b"Name,Start Time(us)\nx,1\n"])
def test_nothing_usable_is_told_and_gives_nothing(tmp_path: Path, content: bytes) -> None:
    details, ledger = read(tmp_path, content)

    assert details is None
    assert len(ledger.entries) == 1


def test_times_that_a_spreadsheet_cut_are_told(tmp_path: Path) -> None:
    details, ledger = read(tmp_path, FULL + "\n1,1,2,a,A,AI_CORE,1.69512E+15,1,0,1\n1,2,2,b,B,AI_CORE,2,1,0,1\n")

    assert details is not None
    assert details.kernels.values("ts_ns").tolist() == [1_695_120_000_000_000_000, 2000]
    assert [(e.kind, e.place, e.count) for e in ledger.entries] == [("exponent_time", "line 2", 1)]


def test_hardware_figures_in_our_units(tmp_path: Path) -> None:
    text = (
        FULL + ",aicore_time(us),aic_mac_ratio,cube_utilization(%),aiv_total_cycles\n"
        "1,1,2,a,A,AI_CORE,1,1,0,1,2.5,0.61,61.2,1000\n"
        "1,2,2,b,B,HCCL,3,1,0,1,N/A,N/A,N/A,N/A\n"
    )

    details, _ = read(tmp_path, text)

    assert details is not None
    found = {row["metric"]: (row["kernel_id"], row["value"]) for row in details.metrics.to_dicts()}
    assert found == {
        "aicore_time": (0, 2500.0),
        "aic_mac_ratio": (0, 0.61),
        "cube_utilization": (0, pytest.approx(0.612)),
        "aiv_total_cycles": (0, 1000.0),
    }


def test_metric_names_lose_their_unit() -> None:
    assert metric_name("aic_mte2_time(us)") == ("aic_mte2_time", 1000.0)
    assert metric_name("aic_ub_read_bw(GB/s)") == ("aic_ub_read_bw", 1.0)
    assert metric_name("aiv_vec_ratio") == ("aiv_vec_ratio", 1.0)
