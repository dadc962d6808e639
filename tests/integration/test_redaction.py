"""`--redact`: nothing that names a person, a host or a place leaves the machine, in any format."""

from __future__ import annotations

import gzip
import json
import sqlite3
import zipfile
import zlib
from contextlib import closing
from pathlib import Path

import duckdb
import pytest

from ascend_sn.cli import main as cli
from ascend_sn.report.documents.health import Damage
from ascend_sn.report.documents.redacted import redacted
from ascend_sn.store.redaction import Redactor
from tests.unit.report.drawn import drawn_document

Capture = pytest.CaptureFixture[str]

SECRETS = ("lihua", "acmeproj", "gpu-n17", "SecretRun7")


def run(capsys: Capture, *words: object, code: int = 0) -> str:
    return both(capsys, *words, code=code)[0]


def both(capsys: Capture, *words: object, code: int = 0) -> tuple[str, str]:
    """Return what a command says on both streams."""
    with pytest.raises(SystemExit) as stop:
        cli.main([str(word) for word in words])
    told = capsys.readouterr()
    assert stop.value.code == code, told.err
    return told.out, told.err


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """A trace of PyTorch whose names, stacks, configuration and folder name people, hosts and places."""
    return hostile_trace(tmp_path / "home" / "lihua" / "acmeproj" / "SecretRun7")


@pytest.fixture
def slower(hostile: Path) -> Path:
    """The same program, in which everything takes four times as long."""
    return hostile_trace(hostile.with_name("SecretRun7-slower"), slow=4)


def hostile_trace(folder: Path, slow: int = 1) -> Path:
    ops = ["aten::mm", "kernel[/home/lihua/acmeproj/net.py]", "MatMul_LiHua_gpu-n17", "lihua@gpu-n17:/mnt/acmeproj/x"]
    events: list[dict[str, object]] = []
    for step in range(12):
        at = 1000.0 + 100 * slow * step
        events.append({"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{step}", "pid": 1, "tid": 1,
                       "ts": at, "dur": 90 * slow})  # fmt: skip
        for number, name in enumerate(ops):
            where = "/home/lihua/acmeproj/train.py(3): main;acmeproj/loss.py(7): lihua_loss"
            args = {"External id": 10 * step + number, "Call stack": where}
            events.append({"ph": "X", "cat": "cpu_op", "name": name, "pid": 1, "tid": 1,
                           "ts": at + 20 * slow * number, "dur": 10 * slow, "args": args})  # fmt: skip
    events.append({"ph": "X", "cat": "cpu_op", "name": "/home/lihua/acmeproj/bad.py", "pid": 1, "tid": 1, "ts": None})
    whole = {
        "schemaVersion": 1,
        "hostname": "gpu-n17",
        "user": "lihua",
        "distributedInfo": {"backend": "gloo", "rank": 0, "world_size": 1},
        "traceEvents": events,
    }
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


def test_gate(capsys: Capture, hostile: Path, slower: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_SERVER_URL", "https://gpu-n17.example.com")
    monkeypatch.setenv("GITHUB_REPOSITORY", "lihua/acmeproj")
    monkeypatch.setenv("GITHUB_RUN_ID", "7")
    monkeypatch.setenv("ASCEND_SN_NOTIFY", "json://127.0.0.1/lihua")
    files = [tmp_path / name for name in ("g.xml", "g.html", "g.md", "g.json", "gitlab.json")]
    words = ["gate", slower, "--baseline", hostile]
    outputs = [word for path in files[:-1] for word in ("--output", path)]

    told = [*both(capsys, *words, *outputs, "--gitlab", files[-1], "--github", "--redact", code=1)]
    for output_format in ("json", "md", "junit"):
        told.append(run(capsys, *words, "--format", output_format, "--redact", code=1))
    notified = both(capsys, *words, "--notify-dry-run", "--redact", code=1)[1]

    written = [path.read_text(encoding="utf-8") for path in files]
    assert [leaks(text) for text in (told[0], *told[2:], *written, notified)] == [[]] * 10
    assert "user-1" in written[2]
    plain = json.loads(run(capsys, *words, "--format", "json", code=1))
    shown = json.loads(written[3])
    assert [one["candidate"] for one in shown["comparison"]["metrics"]] == [
        one["candidate"] for one in plain["comparison"]["metrics"]
    ]


def test_history(capsys: Capture, hostile: Path, slower: Path, tmp_path: Path) -> None:
    place = tmp_path / "home" / "lihua" / "acmeproj" / "perf.db"
    words = ("--history", place, "--redact")
    told = [run(capsys, "history", "record", hostile, *words, "--note", "by lihua on gpu-n17", "--branch", "lihua/fix")]
    told += both(capsys, "gate", slower, *words, "--record", code=1)
    for action in (["list"], ["show", "2"], ["trend"], ["pin", "1"]):
        told.append(run(capsys, "history", *action, *words))
        told.append(run(capsys, "history", *action, *words, "--format", "json"))
    for name in ("t.html", "t.json"):
        run(capsys, "history", "trend", *words, "--output", tmp_path / name)
        told.append((tmp_path / name).read_text(encoding="utf-8"))

    assert [leaks(text) for text in told] == [[]] * len(told)
    assert [leaks(text) for text in stored(place)] == [[]] * 2
    assert "user-1" in stored(place)[0]


def test_a_capture_is_in_the_history_once_with_or_without_stand_ins(
    capsys: Capture, hostile: Path, tmp_path: Path
) -> None:
    words = ("history", "record", hostile, "--history", tmp_path / "perf.db")
    run(capsys, *words, "--redact")

    out, err = both(capsys, *words, "--redact", "--format", "json")
    _, plain = both(capsys, *words)

    assert [one["id"] for one in json.loads(out)["runs"]] == [1]
    assert "#1" in err
    assert "#1" in plain


def test_a_gate_on_what_was_recorded_with_stand_ins_finds_the_same_operators(
    capsys: Capture, hostile: Path, slower: Path, tmp_path: Path
) -> None:
    words = ("--history", tmp_path / "perf.db", "--redact")
    run(capsys, "history", "record", hostile, *words)

    document = json.loads(run(capsys, "gate", slower, *words, "--format", "json", code=1))

    rows = [row for row in document["comparison"]["difference"]["rows"] if row["kind"] == "compute"]
    assert [row["state"] for row in rows] == ["both"] * 4
    assert any(row["name"].startswith("MatMul_user-1_host-") for row in rows)


def stored(place: Path) -> list[str]:
    """Everything that a history holds of each run."""
    with closing(sqlite3.connect(place)) as db:
        db.row_factory = sqlite3.Row
        rows = [dict(row) for row in db.execute("select * from ascend_sn_run order by id")]
    figures = [zlib.decompress(row.pop("figures")).decode() for row in rows]
    return [f"{row}{text}" for row, text in zip(rows, figures, strict=True)]


@pytest.mark.parametrize("table", ["operator", "profile", "damage", "stack", "coverage", "step"])
def test_query(capsys: Capture, hostile: Path, table: str) -> None:
    for output_format in ("text", "csv", "json"):
        assert leaks(run(capsys, "query", hostile, f"from {table}", "--redact", "--format", output_format)) == []


@pytest.mark.parametrize("table", ["operator", "profile", "damage", "stack", "step"])
def test_query_into_parquet(capsys: Capture, hostile: Path, tmp_path: Path, table: str) -> None:
    file = tmp_path / "answer.parquet"
    run(capsys, "query", hostile, f"from {table}", "--redact", "--output", file)

    with duckdb.connect() as db:
        rows = db.execute("from read_parquet(?)", [str(file)]).fetchall()
        assert rows
        assert leaks(str(rows)) == []
        assert leaks(str(db.execute("from parquet_kv_metadata(?)", [str(file)]).fetchall())) == []
    assert leaks(file.read_bytes().decode("latin-1")) == []


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
