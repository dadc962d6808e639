"""`doctor` on every kind of damage: the truth, in one line that names the file, and what is whole is used."""

from __future__ import annotations

import gzip
import json
import pickle
import re
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ascend_sn.cli.main import main
from tests.unit.formats.torch_npu.databases import Strings, write_database

EVENTS = [
    {"ph": "X", "cat": "cpu_op", "name": f"aten::op{i}", "pid": 1, "tid": 1, "ts": 10 * i, "dur": 5} for i in range(4)
]
TRACE = json.dumps({"schemaVersion": 1, "deviceProperties": [], "traceEvents": EVENTS})
KERNELS = [
    {"ph": "X", "cat": "kernel", "name": f"k{i}", "pid": 0, "tid": 7, "ts": 100 + 5 * i, "dur": 9}
    | {"args": {"device": 0, "stream": 7, "correlation": i}}
    for i in range(2)
]
CSV_HEADER = ",".join(
    [
        *("Step Id", "Model ID", "Task ID", "Stream ID", "Name", "Type", "Accelerator Core"),
        *("Start Time(us)", "Duration(us)", "Wait Time(us)", "Block Dim\n"),
    ]
)
CSV_ROWS = "".join(
    f"1,0,{i},2,op_{i},MatMul,AI_CORE,{1_760_000_000_000_000 + 10 * i}.{i:03d}\t,5.5,0,8\n" for i in range(4)
)
CSV = CSV_HEADER + CSV_ROWS
OUTPUT = "ASCEND_PROFILER_OUTPUT"
DATABASE = f"{OUTPUT}/ascend_pytorch_profiler.db"
WHOLE = "nothing damaged"

Told = tuple[int, str]


@pytest.fixture
def doctor(capsys: pytest.CaptureFixture[str]) -> Callable[[Path], Told]:
    def run(path: Path) -> Told:
        with pytest.raises(SystemExit) as ended:
            main(["--lang", "en", "doctor", str(path)])
        captured = capsys.readouterr()
        assert isinstance(ended.value.code, int)
        return ended.value.code, captured.out + captured.err

    return run


def lines(said: str, pattern: str) -> list[str]:
    return [line for line in said.splitlines() if re.search(pattern, line)]


@pytest.mark.parametrize(
    ("content", "code", "line"),
    [
        (TRACE[:-60], 0, r"byte \d+\): ends early: 3 events were read"),
        (json.dumps(EVENTS)[:-1], 0, r"the list of events is not closed .*; nothing is lost"),
        (json.dumps(EVENTS)[:-1] + ",]", 0, r"comma before a closing bracket"),
        (TRACE.replace('}, {"ph"', '}, {"ph": {"ph"', 1), 0, r"byte \d+\): damaged events, left out: "),
        (TRACE.replace("}, {", "}, @@@ {", 1), 0, r"something between the events that is no event, skipped: @@@"),
        (TRACE.encode().replace(b"op1", b"op\xff"), 0, r"bytes that are no UTF-8, shown with a replacement mark"),
        (TRACE.replace('"ts": 10', '"ts": NaN'), 0, r"slices without a usable time, left out"),
        (TRACE.replace('"dur": 5', '"dur": Infinity', 1), 0, r"slices without a duration, taken as 0"),
        (TRACE.replace("op1", "op\x01"), 0, r"control character in a text"),
        (TRACE.replace('"dur": 5', '"dur": -5', 1), 0, r"negative durations, left out"),
        (TRACE.replace('"ts": 10', '"ts": 1e300'), 0, r"times beyond any clock, left out: 1e300"),
        (json.dumps([{"ph": "E", "name": "a", "pid": 1, "tid": 1, "ts": 5}, *EVENTS]), 0, r"ends without a beginning"),
        (json.dumps({"traceEvents": EVENTS + KERNELS}), 0, r"pairs of neighbours on one stream overlap; all are kept"),
        (
            gzip.compress((TRACE[:-2] + ", " * 9_000).encode())[:-9],
            0,
            r"compressed file ends early: 4 events were read",
        ),
        (b"", 3, r"given: file is empty; was the session ended\?"),
        (b"\x00\xffrandom" * 99, 3, r"given: not a profile that ascend-sn can read"),
        ('{"traceEvents":' + "[" * 5_000, 3, r"given: no complete event could be read \(too deep\) \(at byte 16\)"),
        (pickle.dumps({"segments": [], "device_traces": [[]]})[:-9], 3, r"given: not a readable memory snapshot: "),
    ],
)
def test_a_damaged_file_is_told_in_one_line(
    tmp_path: Path, doctor: Callable[[Path], Told], content: str | bytes, code: int, line: str
) -> None:
    path = tmp_path / "given"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())

    ended, said = doctor(path)

    assert ended == code
    assert len(lines(said, line)) == 1, said
    assert "Traceback" not in said
    if code:
        assert len(said.splitlines()) == 1


@pytest.mark.parametrize(
    ("content", "code", "line"),
    [
        (CSV.replace("Duration(us)", "Duration(us) "), 0, WHOLE),
        ("\ufeff" + CSV, 0, WHOLE),
        (CSV.replace("\n", "\r\n"), 0, WHOLE),
        (CSV.replace("5.5", "five", 1), 0, r"kernel_details\.csv \(line 2\): values that cannot be read: .*five"),
        (CSV[:-12], 0, r"kernel_details\.csv \(line 5\): rows with too few or too many cells"),
        (CSV.replace("1760000000000010.001\t", "1.76E+15"), 0, r"\(line 3\): times written with an exponent"),
        (CSV.replace("5.5", "-5.5", 1), 0, r"\(line 2\): rows with an impossible time, left out"),
        (CSV.encode().replace(b"op_1", b"op\xff"), 0, r"kernel_details\.csv: texts with bytes that are no UTF-8"),
        (CSV.replace("Start Time(us)", "Begin"), 3, r"unknown header in .*kernel_details\.csv \(at line 1\)"),
        ("", 3, r"empty file in .*kernel_details\.csv"),
    ],
)
def test_a_damaged_export_is_told_in_one_line(
    tmp_path: Path, doctor: Callable[[Path], Told], content: str | bytes, code: int, line: str
) -> None:
    path = tmp_path / OUTPUT / "kernel_details.csv"
    path.parent.mkdir()
    path.write_bytes(content if isinstance(content, bytes) else content.encode())

    ended, said = doctor(tmp_path)

    assert ended == code
    assert len(lines(said, line)) == 1, said
    assert len(lines(said, "kernel_details.csv .line")) <= 1


def _database(folder: Path) -> Path:
    path = folder / DATABASE
    path.parent.mkdir()
    task = {"startNs": 1_000, "endNs": 9_000, "deviceId": 0, "globalTaskId": 1, "streamId": 2, "taskId": 1}
    write_database(path, Strings(), TASK=[task])
    return path


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:5_000])


def _logged(path: Path) -> Any:
    """Leave a write-ahead log with rows behind, as a profiler that is still open does."""
    connection = sqlite3.connect(path)
    connection.execute("pragma journal_mode = wal")
    connection.execute("update TASK set endNs = endNs + 1")
    connection.commit()
    return connection


def _locked(path: Path) -> Any:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("begin exclusive")
    return connection


def _touched_by_a_viewer(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("create table viewer_state (name text)")
        connection.execute("create index viewer_index on TASK (startNs)")


@pytest.mark.parametrize(
    ("harm", "code", "line"),
    [
        (_cut, 3, r"unreadable database in .*\.db"),
        (_logged, 0, r"was read with its write-ahead log, from a copy"),
        (_locked, 0, WHOLE),
        (_touched_by_a_viewer, 0, WHOLE),
    ],
)
def test_a_database_is_told_in_one_line(
    tmp_path: Path, doctor: Callable[[Path], Told], harm: Callable[[Path], Any], code: int, line: str
) -> None:
    held = harm(_database(tmp_path))
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}

    ended, said = doctor(tmp_path)

    assert ended == code
    assert len(lines(said, line)) == 1, said
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before
    if held is not None:
        held.close()
