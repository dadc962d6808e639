"""Commands that take several paths read them as one input."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ascend_sn.store.mapping import Outcome, in_turn
from tests.unit.cli.conftest import run

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def ranks(tmp_path: Path) -> list[str]:
    """Traces of two ranks of one job; rank 1 runs two kernels."""
    paths = []
    for rank in range(2):
        kernels = [
            {
                "ph": "X",
                "cat": "kernel",
                "name": "k",
                "pid": 0,
                "tid": 7,
                "ts": 10 * at,
                "dur": 5,
                "args": {"device": 0},
            }
            for at in range(rank + 1)
        ]
        trace = {"schemaVersion": 1, "distributedInfo": {"rank": rank, "world_size": 2}, "traceEvents": kernels}
        path = tmp_path / "run" / f"rank{rank}.json"
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(trace))
        paths.append(str(path))
    return paths


def test_analyze_shows_both_ranks(capsys: Capture, ranks: list[str]) -> None:
    code, out, _ = run(capsys, "analyze", *ranks, "--format", "json")

    document = json.loads(out)
    assert code == 0
    assert document["input"] == "run/{rank0.json, rank1.json}"
    assert [profile["rank"] for profile in document["profiles"]] == [0, 1]
    assert document["jobs"] == []


def test_input_may_be_repeated(capsys: Capture, ranks: list[str]) -> None:
    named = run(capsys, "doctor", "--input", ranks[0], "--input", ranks[1], "--format", "json")

    assert named == run(capsys, "doctor", ranks[1], "--input", ranks[0], "--format", "json")
    assert json.loads(named[1])["input"] == "run/{rank0.json, rank1.json}"


def test_one_that_is_missing_is_named_in_one_line(capsys: Capture, ranks: list[str]) -> None:
    code, out, err = run(capsys, "analyze", *ranks, ranks[0] + ".gone")

    assert (code, out) == (3, "")
    assert err == f"ascend-sn: {ranks[0]}.gone: no such file or folder\n"


def test_the_query_stands_behind_the_paths(capsys: Capture, ranks: list[str]) -> None:
    sql = "select rank, count(*) as n from kernel group by 1 order by 1"
    code, out, _ = run(capsys, "query", *ranks, sql, "--format", "csv")

    assert (code, out.split()) == (0, ["rank,n", "0,1", "1,2"])


def test_a_word_that_is_neither_path_nor_query_is_named(capsys: Capture, ranks: list[str]) -> None:
    code, _, err = run(capsys, "query", ranks[0], "gone.json", "select 1")

    assert code == 2
    assert err == "ascend-sn: unexpected 'gone.json': no such file or folder; put the query in quotes, as one word\n"


def test_export_and_ingest_take_several(capsys: Capture, ranks: list[str], tmp_path: Path) -> None:
    trace, kept = tmp_path / "trace.json", tmp_path / "kept"

    assert run(capsys, "export", *ranks, "--output", trace)[0] == 0
    assert run(capsys, "ingest", *ranks, "--output", kept, "--format", "json")[0] == 0

    events = json.loads(trace.read_text())["traceEvents"]
    assert sum(event["ph"] == "X" and event["name"] == "k" for event in events) == 3
    assert run(capsys, "query", kept, "select count(*) as n from kernel", "--format", "csv")[1].split() == ["n", "3"]


def test_nothing_is_written_into_any_of_them(
    capsys: Capture, ranks: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders = [tmp_path / name for name in ("a", "b")]
    for folder, rank in zip(folders, ranks, strict=True):
        folder.mkdir()
        Path(rank).rename(folder / "trace.json")
    monkeypatch.chdir(folders[1])

    report = run(capsys, "report", *folders)
    ingest = run(capsys, "ingest", *folders, "--output", folders[0] / "kept")

    assert (report[0], report[1]) == (ingest[0], ingest[1]) == (2, "")
    assert "the current folder lies in the input" in report[2]
    assert "lies inside the input" in ingest[2]
    assert [sorted(path.name for path in folder.iterdir()) for folder in folders] == [["trace.json"]] * 2


@pytest.mark.parametrize("command", ["analyze", "report", "compare", "doctor", "ingest"])
def test_many_ranks_are_read_by_several_processes_whatever_the_command(
    capsys: Capture, ranks: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    shares: list[int] = []

    def dealt(function: Any, items: Any, size_bytes: Any, /) -> Iterator[Outcome[Any]]:
        shares.append(len(items))
        return in_turn(function, items, size_bytes)

    for module in ("cli.opening", "cli.comparing", "cluster.choice"):
        monkeypatch.setattr(f"ascend_sn.{module}.as_fits", dealt)
    folder = str(Path(ranks[0]).parent)
    words: dict[str, list[object]] = {
        "report": ["--output", tmp_path / "report.html"],
        "ingest": ["--output", tmp_path / "out"],
        "compare": [folder],
    }

    code, _, err = run(capsys, command, folder, *words.get(command, []))

    assert code == 0, err
    assert 2 in shares
