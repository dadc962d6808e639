"""`ascend-sn mcp`, driven by the client of the official SDK over standard input and output."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from ascend_sn.mcp.bounds import CHARACTERS, answer, table
from ascend_sn.mcp.server import TOOLS
from tests.unit.compare.recorded import recorded

TRACE = Path(__file__).resolve().parents[1] / "golden" / "train_trace" / "v1"


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("agents") / "recording"
    folder.mkdir()
    for name in ("train.trace", "names.trace"):
        shutil.copyfile(TRACE / name, folder / name)
    return folder


def asked(words: list[object], *calls: tuple[str, dict[str, Any]]) -> tuple[Any, list[Any]]:
    """Start the server, call its tools one after the other, and return the tools it has and what it answered."""

    async def talk() -> tuple[Any, list[Any]]:
        server = StdioServerParameters(
            command=sys.executable,
            args=["-m", "ascend_sn.cli.main", "mcp", *map(str, words)],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
        )
        async with Client(stdio_client(server)) as client:
            tools = await client.list_tools()
            return tools.tools, [await client.call_tool(name, arguments) for name, arguments in calls]

    return asyncio.run(talk())


def content(result: Any) -> Any:
    assert not result.is_error, result.content[0].text
    return json.loads(result.content[0].text)


def test_an_agent_asks_for_everything(recording: Path) -> None:
    tools, found = asked(
        [recording],
        ("list_runs", {}),
        ("data_health", {}),
        ("step_breakdown", {"run": "recording"}),
        ("findings", {}),
        ("operators", {"by": "operators"}),
        ("communication", {}),
        ("memory", {}),
        ("compare_runs", {"baseline": "recording", "candidate": "recording"}),
        ("tables", {"name": "step"}),
        ("query", {"sql": "select i from range(50) t(i) order by i", "limit": 3}),
    )
    runs, health, steps, findings, _, _, _, comparison, step, rows = map(content, found)

    assert sorted(tool.name for tool in tools) == sorted(TOOLS)
    assert all(tool.annotations.read_only_hint and tool.description for tool in tools)
    (run,) = runs["runs"]
    assert (run["run"], run["step_count"], run["damage_count"]) == ("recording", 2, 3)
    assert health["damage"]["rows"][0]["file"] == "train.trace"
    (rank,) = steps["breakdown"]["ranks"]["rows"]
    assert rank["compute_ns"] + rank["exposed_comm_ns"] + rank["exposed_copy_ns"] + rank["free_ns"] == rank["window_ns"]
    assert all("evidence" in row for row in findings["findings"]["rows"])
    assert comparison["verdict"] in ("no change", "inconclusive", "cannot compare")
    assert "ts_ns" in [column["name"] for column in step["columns"]]
    assert (rows["rows"], rows["row_count"], rows["shown_count"]) == ([[0], [1], [2]], 50, 3)


def test_a_step_that_two_ranks_took_is_one(tmp_path: Path) -> None:
    for rank in (0, 1):
        recorded(tmp_path / "job" / f"rank{rank}", [1000.0] * 3, rank=rank, size=2)

    _, found = asked([tmp_path / "job"], ("list_runs", {}), ("step_breakdown", {}))
    listed, breakdown = map(content, found)

    (run,) = listed["runs"]
    assert (run["profile_count"], run["step_count"], breakdown["step_count"]) == (2, 3, 3)


def test_refusals_are_one_line_and_reach_nothing(recording: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret.csv"
    secret.write_text("a\n1\n")
    _, found = asked(
        [recording],
        ("query", {"sql": f"select * from read_csv('{secret}')"}),
        ("query", {"sql": "create table t (a int)"}),
        ("query", {"sql": "select 1", "run": "/etc"}),
        ("operators", {"by": "nothing"}),
        ("tables", {"name": "nothing"}),
    )
    texts = [result.content[0].text for result in found]

    assert [result.is_error for result in found] == [True] * 5
    assert "its tables can be read" in texts[0]
    assert "exactly one SELECT" in texts[1]
    assert "unknown run '/etc'" in texts[2]
    assert all("\n" not in text and "Traceback" not in text for text in texts)


def test_an_answer_is_never_longer_than_it_says(recording: Path) -> None:
    _, (wide, many) = asked(
        [recording],
        ("query", {"sql": "select repeat('x', 100000) as long"}),
        ("query", {"sql": "select i, repeat('y', 900) as text from range(1000) t(i)", "limit": 1000}),
    )

    assert "(100000 characters)" in wide.content[0].text
    assert len(many.content[0].text) <= CHARACTERS
    shown = content(many)
    assert shown["row_count"] == 1000
    assert shown["shown_count"] == 200
    assert len(shown["rows"]) + shown["shortened"]["rows_left_out"]["rows"] == 200


def test_redacted_answers_name_nobody(tmp_path: Path) -> None:
    folder = tmp_path / "home" / "lihua" / "acmeproj-x"
    folder.mkdir(parents=True)
    for name in ("train.trace", "names.trace"):
        shutil.copyfile(TRACE / name, folder / name)
    _, found = asked(
        [folder, "--redact"],
        ("list_runs", {}),
        ("data_health", {}),
        ("query", {"sql": "select host from profile"}),
        ("compare_runs", {"baseline": "run-1", "candidate": "run-1"}),
        ("query", {"sql": "select 1", "run": "acmeproj"}),
    )
    texts = [result.content[0].text for result in found]

    assert [name for name in ("lihua", "acmeproj-x") for text in texts if name in text] == []
    assert content(found[2])["rows"] == [["host-1"]]


def test_without_the_sdk_one_line_says_what_to_install(recording: Path) -> None:
    program = "import sys; sys.modules['mcp'] = None; from ascend_sn.cli.main import main; main(sys.argv[1:])"
    done = subprocess.run(
        [sys.executable, "-c", program, "mcp", str(recording)],
        capture_output=True, text=True, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}, check=False,
    )  # fmt: skip

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "ascend-sn: the SDK for agents is not installed: pip install 'ascend-sn[mcp]'\n"


def test_a_table_counts_what_it_leaves_out() -> None:
    assert table(({"a": i} for i in range(5)), 2) == {"row_count": 5, "shown_count": 2, "rows": [{"a": 0}, {"a": 1}]}


@pytest.mark.parametrize(
    "content",
    [
        {"text": {str(i): "z" * 900 for i in range(100)}},
        {"text": {str(i): "z" * 90 for i in range(10_000)}, "kept": 1},
        {"a": {"b": {"c" * 90_000: 1}}},
        {"rows": [{"name": "n" * 900, "more": {str(i): "m" * 900 for i in range(60)}}], "row_count": 1},
        {"rows": [["x" * 900] * 100]},
        {str(i): [i] for i in range(9_000)},
        {"\u4e2d" * 3: '\u4e2d\n"' * 40_000},
    ],
)
def test_an_answer_stays_json_whatever_is_too_long(content: dict[str, Any]) -> None:
    text = answer(content)

    shown = json.loads(text)
    assert len(text) <= CHARACTERS
    assert shown["shortened"]["reason"] if "shortened" in shown else "characters)" in text


def test_what_an_answer_lacks_is_counted() -> None:
    shown = json.loads(answer({"kept": 1, "text": {str(i): "z" * 90 for i in range(10_000)}}))

    assert shown["kept"] == 1
    assert len(shown["text"]) + shown["shortened"]["fields_left_out"]["text"] == 10_000
    assert shown["shortened"]["texts_cut_to"] == 40
    assert shown["text"]["0"] == "z" * 40 + "… (90 characters)"


def test_a_single_long_row_is_kept_with_shorter_texts() -> None:
    shown = json.loads(answer({"rows": [{str(i): "m" * 900 for i in range(60)}]}))

    (row,) = shown["rows"]
    assert row["0"] == "m" * 300 + "… (900 characters)"
