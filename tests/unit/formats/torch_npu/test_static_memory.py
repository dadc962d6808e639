"""static_op_mem.csv, drawn after its documentation, in the folders of the tools that write it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ascend_sn.formats.mindspore.run_folder import READER as MINDSPORE
from ascend_sn.formats.reader import Candidate, Source
from ascend_sn.formats.torch_npu.static_memory import read_static_memory
from ascend_sn.model.capture import Capture
from ascend_sn.model.ledger import Ledger
from tests.unit.formats.msprof import profs
from tests.unit.formats.torch_npu.runs import START_US, kernel_csv, open_run, write_csv, write_info

HEADER = ("Device_id", "Op Name", "Model Name", "Graph ID", "Node Index Start", "Node Index End", "Size(KB)")
ROWS = (
    ("host", "Add_1", "net", "3", "0", "2", "1.5"),
    ("host", "Weights", "net", "3", "1", "4294967295", "4"),
    ("host", "TOTAL", "net", "3", "0", "4294967295", "8"),
)
KERNEL = {
    **{"Step Id": "1", "Name": "MatMul", "Type": "MatMul", "Accelerator Core": "AI_CORE"},
    **{"Start Time(us)": f"{START_US}.000\t", "Duration(us)": "10"},
}
EXPECTED = [
    ("host", "net", "3", "Add_1", 0, 2, 1536, False),
    ("host", "net", "3", "Weights", 1, None, 4096, False),
    ("host", "net", "3", "TOTAL", None, None, 8192, True),
]


def read(tmp_path: Path, text: str) -> tuple[list[dict[str, Any]] | None, Ledger]:
    path = tmp_path / "static_op_mem.csv"
    path.write_text(text)
    ledger = Ledger()
    rows = read_static_memory(path, "static_op_mem.csv", ledger)
    return None if rows is None else rows.to_dicts(), ledger


def pieces(capture: Capture) -> list[tuple[Any, ...]]:
    names = ("device", "model", "graph_id", "operator_name", "first_node", "last_node", "size_bytes", "is_total")
    return [tuple(row[name] for name in names) for row in capture.rows("static_memory").to_dicts()]


def state(capture: Capture) -> tuple[str, str]:
    (entry,) = [entry for entry in capture.coverage if entry.table_name == "static_memory"]
    return entry.state, entry.turn_on


def test_a_run_of_torch_npu_has_the_memory_of_its_graphs(tmp_path: Path) -> None:
    write_info(tmp_path)
    kernel_csv(tmp_path, [KERNEL])
    write_csv(tmp_path, "static_op_mem.csv", HEADER, ROWS)

    capture = open_run(tmp_path)

    assert pieces(capture) == EXPECTED
    assert state(capture)[0] == "collected"


def test_a_run_of_mindspore_has_it_too(tmp_path: Path) -> None:
    folder = tmp_path / "node-a_41000_20251009081320123_ascend_ms"
    write_info(folder)
    write_csv(folder, "static_op_mem.csv", HEADER, ROWS)

    assert MINDSPORE.claims(Candidate(folder))
    (capture,) = MINDSPORE.read(Source(MINDSPORE, folder, folder))

    assert pieces(capture) == EXPECTED


def test_of_a_folder_of_msprof_the_newest_export_is_read(tmp_path: Path) -> None:
    folder = tmp_path / profs.NAME
    profs.write_csv(folder, "static_op_mem", HEADER, ROWS)
    profs.write_csv(folder, "static_op_mem_20200101000000.csv", HEADER, ROWS[:1])

    (capture,) = profs.open_prof(folder)

    assert pieces(capture) == EXPECTED
    assert state(capture)[0] == "collected"


def test_without_the_file_it_is_not_collected(tmp_path: Path) -> None:
    write_info(tmp_path)
    kernel_csv(tmp_path, [KERNEL])

    told, option = state(open_run(tmp_path))

    assert told == "not_requested"
    assert "profile_memory=True" in option


def test_a_file_without_a_usable_row_is_damaged(tmp_path: Path) -> None:
    write_info(tmp_path)
    kernel_csv(tmp_path, [KERNEL])
    write_csv(tmp_path, "static_op_mem.csv", HEADER, [("host", "Add", "net", "3", "0", "2", "much")])

    assert state(open_run(tmp_path))[0] == "damaged"


@pytest.mark.parametrize(
    "row",
    [
        "host,Add,net,3,x,2,1",  # no number
        "host,Add,net,3,0,,1",
        "host,Add,net,3,0,2,",
        "host,Add,net,3,0,2,-1",  # less than nothing
        "host,Add,net,3,-1,2,1",
        "host,Add,net,3,5,3,1",  # ends before it begins
        "host,Add,net,3,0,4294967296,1",  # beyond the end of every graph
        "host,Add,net,3,0,2,1e300",
        "host,TOTAL,net,3,0,2,much",
    ],
)
def test_a_row_that_cannot_be_right_is_counted_with_its_line(tmp_path: Path, row: str) -> None:
    rows, ledger = read(tmp_path, ",".join(HEADER) + f"\nhost,Mul,net,3,0,1,1\n{row}\n")

    assert rows is not None
    assert [one["operator_name"] for one in rows] == ["Mul"]
    assert [(entry.kind, entry.place, entry.count) for entry in ledger.entries] == [("unreadable_cell", "line 3", 1)]


@pytest.mark.parametrize("missing", ["Op Name", "Node Index Start", "Node Index End"])
def test_a_header_without_a_needed_column_is_told(tmp_path: Path, missing: str) -> None:
    header = ",".join(name for name in HEADER if name != missing)

    rows, ledger = read(tmp_path, header + "\n1,2,3,4,5,6\n")

    assert rows is None
    assert [(entry.kind, entry.example) for entry in ledger.entries] == [("unknown_header", f"no column {missing!r}")]


def test_names_that_are_not_there_stay_unknown(tmp_path: Path) -> None:
    rows, ledger = read(tmp_path, "Op Name,Node Index Start,Node Index End,Size(KB)\nAdd,0,1,1\n")

    assert rows is not None
    assert [(one["device"], one["model"], one["graph_id"]) for one in rows] == [(None, None, None)]
    assert not ledger.entries


@pytest.mark.parametrize(("unit", "expected"), [("KB", 2048), ("MB", 2 << 20), ("B", 2)])
def test_the_header_names_the_unit(tmp_path: Path, unit: str, expected: int) -> None:
    rows, _ = read(tmp_path, f"Op Name,Node Index Start,Node Index End,Size({unit})\nAdd,0,1,2\n")

    assert rows is not None
    assert [one["size_bytes"] for one in rows] == [expected]


def test_a_size_of_another_unit_is_not_guessed(tmp_path: Path) -> None:
    rows, ledger = read(tmp_path, "Op Name,Node Index Start,Node Index End,Size(pages)\nAdd,0,1,2\n")

    assert rows == []
    assert [(entry.kind, entry.example) for entry in ledger.entries] == [("unknown_header", "no column 'Size(KB)'")]
