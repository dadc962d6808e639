"""`--redact`: nothing that names a person, a host or a place leaves the machine, in any format."""

from __future__ import annotations

import gzip
import json
import zipfile
from pathlib import Path

import duckdb
import pytest

from ascend_sn.cli import main as cli
from ascend_sn.report.document import Damage
from ascend_sn.report.redacted import redacted
from ascend_sn.store.redaction import Redactor
from tests.unit.report.drawn import drawn_document

Capture = pytest.CaptureFixture[str]

SECRETS = ("lihua", "acmeproj", "gpu-n17", "SecretRun7")


def run(capsys: Capture, *words: object) -> str:
    with pytest.raises(SystemExit) as stop:
        cli.main([str(word) for word in words])
    told = capsys.readouterr()
    assert stop.value.code == 0, told.err
    return told.out


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """A trace of PyTorch whose names, stacks, configuration and folder name people, hosts and places."""
    ops = ["aten::mm", "kernel[/home/lihua/acmeproj/net.py]", "MatMul_LiHua_gpu-n17", "lihua@gpu-n17:/mnt/acmeproj/x"]
    events: list[dict[str, object]] = []
    for step in range(3):
        at = 1000.0 + 100 * step
        events.append({"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{step}", "pid": 1, "tid": 1,
                       "ts": at, "dur": 90})  # fmt: skip
        for number, name in enumerate(ops):
            where = "/home/lihua/acmeproj/train.py(3): main;acmeproj/loss.py(7): lihua_loss"
            events.append({"ph": "X", "cat": "cpu_op", "name": name, "pid": 1, "tid": 1, "ts": at + 20 * number,
                           "dur": 10, "args": {"External id": 10 * step + number, "Call stack": where}})  # fmt: skip
    events.append({"ph": "X", "cat": "cpu_op", "name": "/home/lihua/acmeproj/bad.py", "pid": 1, "tid": 1, "ts": None})
    whole = {
        "schemaVersion": 1,
        "hostname": "gpu-n17",
        "user": "lihua",
        "distributedInfo": {"backend": "gloo", "rank": 0, "world_size": 1},
        "traceEvents": events,
    }
    folder = tmp_path / "home" / "lihua" / "acmeproj" / "SecretRun7"
    folder.mkdir(parents=True)
    (folder / "gpu-n17_41.1700000000000.pt.trace.json").write_text(json.dumps(whole))
    return folder


def leaks(text: str) -> list[str]:
    return [secret for secret in SECRETS if secret.casefold() in text.casefold()]


def test_the_hostile_run_leaks_without_it(capsys: Capture, hostile: Path) -> None:
    assert {"lihua", "gpu-n17"} <= set(leaks(run(capsys, "query", hostile, "select name from operator")))


def test_analyze_in_every_format(capsys: Capture, hostile: Path, tmp_path: Path) -> None:
    for name in ("a.html", "a.md", "a.json", "a.csv", "a.xlsx"):
        run(capsys, "analyze", hostile, "--redact", "--output", tmp_path / name)
    texts = [(tmp_path / name).read_text(encoding="utf-8") for name in ("a.html", "a.md", "a.json", "a.csv")]
    with zipfile.ZipFile(tmp_path / "a.xlsx") as book:
        texts += [book.read(name).decode("utf-8", "replace") for name in book.namelist()]
    texts += [
        run(capsys, "analyze", hostile, "--redact"),
        run(capsys, "doctor", hostile, "--redact", "--format", "json"),
    ]

    assert [leaks(text) for text in texts] == [[]] * len(texts)
    operators = [row["name"] for row in json.loads(texts[2])["operators"]["operators"]]
    assert "aten::mm" in operators
    assert "MatMul_user-1_host-1" in operators


def test_figures_are_those_of_the_run(capsys: Capture, hostile: Path) -> None:
    plain, shown = (
        json.loads(run(capsys, "analyze", hostile, "--format", "json", *extra)) for extra in ((), ("--redact",))
    )

    assert shown["breakdown"] == plain["breakdown"]
    assert [row["calls"] for row in shown["operators"]["operators"]] == [
        row["calls"] for row in plain["operators"]["operators"]
    ]


def test_report(capsys: Capture, hostile: Path, tmp_path: Path) -> None:
    run(capsys, "report", hostile, "--redact", "--output", tmp_path / "r.html")

    assert leaks((tmp_path / "r.html").read_text(encoding="utf-8")) == []


def test_compare(capsys: Capture, hostile: Path, tmp_path: Path) -> None:
    other = hostile.with_name("SecretRun7b")
    other.mkdir()
    for file in hostile.iterdir():
        (other / file.name).write_bytes(file.read_bytes())
    for name in ("c.html", "c.md", "c.json"):
        run(capsys, "compare", hostile, other, "--redact", "--output", tmp_path / name)
    texts = [(tmp_path / name).read_text(encoding="utf-8") for name in ("c.html", "c.md", "c.json")]
    texts.append(run(capsys, "compare", hostile, other, "--redact"))

    assert [leaks(text) for text in texts] == [[]] * 4


@pytest.mark.parametrize("table", ["operator", "profile", "damage", "stack", "coverage", "step"])
def test_query(capsys: Capture, hostile: Path, table: str) -> None:
    for output_format in ("text", "csv", "json"):
        assert leaks(run(capsys, "query", hostile, f"from {table}", "--redact", "--format", output_format)) == []


def test_no_query_takes_a_stand_in_apart(capsys: Capture, hostile: Path) -> None:
    out = run(capsys, "query", hostile, "select count(*) as n from operator where name ilike '%li%ua%'", "--redact",
              "--format", "json")  # fmt: skip

    assert json.loads(out) == [{"n": 0}]


def test_export(capsys: Capture, hostile: Path, tmp_path: Path) -> None:
    run(capsys, "export", hostile, "--redact", "--output", tmp_path / "t.json.gz")
    run(capsys, "export", hostile, "--redact", "--format", "csv", "--output", tmp_path / "csv")
    run(capsys, "export", hostile, "--redact", "--format", "parquet", "--output", tmp_path / "parquet")
    texts = [gzip.decompress((tmp_path / "t.json.gz").read_bytes()).decode()]
    texts += [path.read_text(encoding="utf-8") for path in sorted((tmp_path / "csv").iterdir())]
    for path in sorted((tmp_path / "parquet").iterdir()):
        texts.append(str(duckdb.connect().execute(f"from read_parquet('{path}')").fetchall()))

    assert [leaks(text) for text in texts] == [[]] * len(texts)
    assert '"aten::mm"' in texts[0]


def test_examples_of_the_ledger_and_words_of_ours() -> None:
    document = drawn_document()
    entry = Damage(rank=0, file="lihua/run/a.json", place=None, kind="bad_row", severity="damage", count=1,
                   example='{"cwd": "/home/lihua/acmeproj", "row": 3}')  # fmt: skip
    document.health.damage.append(entry)
    shown = redacted(document, Redactor(hosts=["node-a"], users=["collected", "npu"]))

    assert shown.profiles[0].host == "host-1"
    assert shown.health.damage[-1].file.endswith("/a.json")
    assert leaks(shown.health.damage[-1].file + str(shown.health.damage[-1].example)) == []
    assert str(shown.health.damage[-1].example).endswith('"row": 3}')
    assert (shown.operators.state, shown.profiles[0].device_kind) == ("collected", "npu")
    assert shown.breakdown == document.breakdown
