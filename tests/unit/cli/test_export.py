"""`ascend-sn export`: the forms, the choice of ranks and steps, and what is refused."""

from __future__ import annotations

import csv
import gzip
import json
from pathlib import Path

import duckdb
import pytest

import ascend_sn
from tests.unit.cli.conftest import run

Capture = pytest.CaptureFixture[str]


def test_a_chrome_trace_plain_and_packed(capsys: Capture, recording: Path, tmp_path: Path) -> None:
    plain, packed = tmp_path / "trace.json", tmp_path / "trace.json.gz"

    assert run(capsys, "export", recording, "--output", plain)[0] == 0
    assert run(capsys, "export", recording, "--output", packed)[0] == 0

    trace = json.loads(plain.read_text("utf-8"))
    assert json.loads(gzip.decompress(packed.read_bytes())) == trace
    assert [e["name"] for e in trace["traceEvents"] if e.get("cat") == "steps"] == ["step 0", "step 1"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["recording", "trace.json", "trace.json.gz"]


def test_our_own_reader_finds_the_slices_again(capsys: Capture, recording: Path, tmp_path: Path) -> None:
    target = tmp_path / "trace.json"
    run(capsys, "export", recording, "--output", target)

    written = [e for e in json.loads(target.read_text("utf-8"))["traceEvents"] if e["ph"] == "X"]
    with ascend_sn.open(target) as again:
        found = again.sql("select name, dur_ns from span order by all").fetchall()
    assert len(written) > 4
    assert found == sorted((e["name"], round(e["dur"] * 1000)) for e in written)


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_a_file_per_table(capsys: Capture, recording: Path, tmp_path: Path, form: str) -> None:
    folder = tmp_path / "tables"
    code, out, _ = run(capsys, "export", recording, "--format", form, "--output", folder)

    assert code == 0
    assert str(folder) in out
    with ascend_sn.open(recording) as opened:
        expected = opened.sql("select step_id, dur_ns from step order by step_id").fetchall()
    if form == "csv":
        with (folder / "step.csv").open(encoding="utf-8") as file:
            found = [(int(row["step_id"]), int(row["dur_ns"])) for row in csv.DictReader(file)]
    else:
        query = f"select step_id, dur_ns from read_parquet('{folder}/step.parquet') order by step_id"
        found = duckdb.connect().execute(query).fetchall()
    assert found == expected
    assert len(expected) == 2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--output", "{tmp}/nowhere/trace.json"], "there is no folder"),
        (["--output", "{tmp}/recording"], "exists"),
        (["--output", "{tmp}/a.json", "--ranks", "7"], "none of these ranks"),
        (["--output", "{tmp}/a.json", "--ranks", "one"], "numbers and ranges"),
        (["--output", "{tmp}/a.json", "--ranks", "3-1"], "ends before it begins"),
        (["--output", "{tmp}/a.json", "--steps", "90-99"], "none of these steps"),
        (["--output", "{tmp}/a.json", "--steps", "0,1"], "one step or one range"),
        (["--output", "{tmp}/a", "--format", "csv", "--steps", "1"], "belong to --format chrome"),
    ],
)
def test_what_cannot_be_done_is_one_line(
    capsys: Capture, recording: Path, tmp_path: Path, words: list[str], said: str
) -> None:
    code, out, err = run(capsys, "export", recording, *(word.format(tmp=tmp_path) for word in words))

    assert (code, out) == (2, "")
    assert said in err
    assert err.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["recording"]
