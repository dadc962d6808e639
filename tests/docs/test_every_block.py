"""Every shell and Python block of the pages is run by a test, or stands in a list with the reason why it is not.

A block is known by its page, the heading above it and its kind. One that only compiles counts as not run.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from ascend_sn.cli.main import COMMANDS
from ascend_sn.collect.demo_training import run_demo_training
from tests.docs.blocks import PAGES, REPOSITORY, SHELL, Block, blocks
from tests.integration.demo_repository import shell, shell_environment

Key = tuple[str, str, str]

ELSEWHERE: Final = {
    "docs/how-to/add-a-reader.md": "tests/docs/test_extending.py",
    "docs/how-to/capture.md": "tests/integration/test_capture_page.py",
    "docs/how-to/clusters.md": "tests/docs/test_clusters.py",
    "docs/how-to/custom-rule.md": "tests/docs/test_extending.py",
    "docs/tutorials/find-a-leak.md": "tests/docs/test_tutorials.py",
    "docs/tutorials/first-run.md": "tests/docs/test_tutorials.py",
    "docs/tutorials/guard-a-repository.md": "tests/integration/demo_repository.py",
    "docs/zh/first-run.md": "tests/docs/test_tutorials.py",
}
"""Pages of which all blocks are run by a test of their own, or are those of a page that is."""

HERE: Final[frozenset[Key]] = frozenset(
    {
        ("README.md", "Use it", "shell"),
        ("README.md", "Use it", "python"),
        ("docs/how-to/advice.md", "Why is something not advised?", "shell"),
        ("docs/how-to/advice.md", "Other thresholds", "shell"),
        ("docs/how-to/advice.md", "What the advice cannot know", "shell"),
        ("docs/how-to/advice.md", "From Python", "python"),
        ("docs/how-to/compare-runs.md", "Compare two runs", "shell"),
        ("docs/how-to/compare-runs.md", "Other limits, files, Python", "shell"),
        ("docs/how-to/compare-runs.md", "Other limits, files, Python", "python"),
        ("docs/how-to/gate-in-ci.md", "Limits", "shell"),
        ("docs/how-to/gate-in-ci.md", "Against a history", "shell"),
        ("docs/how-to/gate-in-ci.md", "What the service shows", "shell"),
        ("docs/how-to/python-tables.md", "Work with a run in Python", "python"),
        ("docs/how-to/reports.md", "One file to look at and to pass on", "shell"),
        ("docs/how-to/reports.md", "What holds the step?", "python"),
        ("docs/how-to/reports.md", "Which operators take the time?", "shell"),
        ("docs/how-to/reports.md", "Is communication the bottleneck?", "shell"),
        ("docs/how-to/reports.md", "Where does the memory go?", "shell"),
        ("docs/how-to/reports.md", "What would fusing kernels bring?", "shell"),
        ("docs/how-to/reports.md", "In a spreadsheet", "shell"),
        ("docs/how-to/reports.md", "From Python", "python"),
        ("docs/reference/analyses.md", "Analyses", "python"),
        ("docs/reference/analyses.md", "Of the replayed step", "python"),
        ("docs/reference/profiler.md", "Profiler", "python"),
        ("docs/reference/profiler.md", "A script's own `--profile`", "python"),
    }
)
"""Blocks that are run here, each in a folder that holds what the pages take for granted."""

_JUDGES = "only parsed: its exit code depends on the machine; the tutorial of the gate runs the same"
_HISTORY = "only parsed: names runs that a history of months would hold"
_SERVING = "serves until it is interrupted; test_view and test_tutorials do that"
_GENERATED = "only parsed: examples made from the help of the command, whose own tests run it"

NOT_RUN: Final[dict[Key, str]] = {
    ("README.md", "Set up", "shell"): "`make demo` and `make test` build an environment of their own",
    ("README.zh.md", "安装", "shell"): "as in README.md",
    ("README.zh.md", "使用", "shell"): "the commands of README.md, as test_readme asserts",
    ("README.zh.md", "使用", "python"): "the programs of README.md; only compiled",
    ("CONTRIBUTING.md", "To green tests", "shell"): "`make` builds an environment and runs these tests",
    ("docs/explanation/stragglers.md", "To see for yourself", "shell"): "simulates for minutes",
    ("docs/how-to/advice.md", "What the advice cannot know", "python"): "a line of a program; only compiled",
    ("docs/how-to/advice.md", "In a pipeline", "shell"): _JUDGES,
    ("docs/how-to/agents.md", "Let an agent ask about a run", "shell"): "installs, and serves until it is ended",
    ("docs/how-to/compare-runs.md", "Several runs per side", "shell"): "only parsed: ten recordings take long",
    (
        "docs/how-to/compare-runs.md",
        "Was the advice right?",
        "shell",
    ): "only parsed: needs a run that was advised before",
    (
        "docs/how-to/export.md",
        "Take a run to other tools",
        "shell",
    ): "only parsed: two ways to write one folder; test_export runs them",
    (
        "docs/how-to/redact.md",
        "Give results away",
        "shell",
    ): "only parsed: sends a notification; test_redaction runs the rest",
    ("docs/how-to/gate-in-ci.md", "Fail a pipeline when performance gets worse", "shell"): _JUDGES,
    ("docs/how-to/gate-in-ci.md", "From the baseline to the repaired change", "shell"): "a training of the reader",
    ("docs/how-to/gate-in-ci.md", "One run or five?", "shell"): "a training of the reader",
    ("docs/how-to/gate-in-ci.md", "Tell people", "shell"): "only parsed: sends a notification",
    ("docs/how-to/performance-history.md", "Remember baselines", "shell"): _HISTORY,
    ("docs/how-to/performance-history.md", "Where it is", "shell"): "only parsed: names a database server",
    ("docs/how-to/performance-history.md", "What the gate judges against", "shell"): _HISTORY,
    ("docs/how-to/performance-history.md", "Look after it", "shell"): _HISTORY,
    (
        "docs/how-to/query.md",
        "Ask a run with SQL",
        "shell",
    ): "only parsed: reads a file of the reader; test_query runs the SQL",
    ("docs/how-to/view.md", "Look at a run in the browser", "shell"): _SERVING,
    ("docs/how-to/view.md", "From a program or a notebook", "python"): _SERVING,
    ("docs/reference/train-trace.md", "Reading it yourself", "python"): "only compiled: reads one file of a recording",
    **{("docs/reference/cli.md", f"ascend-sn {name}", "shell"): _GENERATED for name in COMMANDS},
}
"""Blocks that no test runs, with the reason; the commands among them are held against the command line."""

_RECORDINGS: Final = ("result", "before", "after", "baseline", "candidate", "new", "old")
"""Names that the pages give to recordings."""

_NUMBERED: Final = ("b", "c", "old", "new", "run")
_SERVES: Final = re.compile(r"^ascend-sn view .*\n", re.MULTILINE)
"""A web page serves until it is interrupted: `test_view` and `test_tutorials` do that."""


def kind(block: Block) -> str | None:
    """Return what runs a block: shell or python; None for text, settings and the like."""
    if block.language in SHELL:
        return "shell"
    return "python" if block.language in {"python", "py"} else None


def keyed() -> Iterator[tuple[Key, Block]]:
    """Every block that could be run, with what it is known by."""
    for page in PAGES:
        text = re.sub(r"^```.*?^```$", _blank, page.read_text(encoding="utf-8"), flags=re.M | re.S)
        lines = text.splitlines()
        for block in blocks(page):
            what = kind(block)
            if what is not None:
                headings = [line for line in lines[: block.line] if line.startswith("#")]
                yield (str(page.relative_to(REPOSITORY)), headings[-1].lstrip("# "), what), block


def _blank(found: re.Match[str]) -> str:
    """As many lines, with nothing in them: a comment of a program is no heading."""
    return "\n" * found[0].count("\n")


ALL: Final = list(keyed())
RUN_HERE: Final = [block for key, block in ALL if key in HERE]


def test_every_block_is_run_or_has_a_reason() -> None:
    listed = {key for key, _ in ALL if key[0] not in ELSEWHERE}

    assert listed == HERE | set(NOT_RUN)
    assert not HERE & set(NOT_RUN)
    assert all(NOT_RUN.values())


@pytest.mark.parametrize(("page", "test"), ELSEWHERE.items())
def test_a_page_of_its_own_test_is_named_there(page: str, test: str) -> None:
    text = (REPOSITORY / test).read_text(encoding="utf-8")

    assert (REPOSITORY / page).name in text


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recording of two ranks, as a reader of the pages would have one."""
    folder = tmp_path_factory.mktemp("recording") / "run"
    run_demo_training(folder)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("block", RUN_HERE, ids=lambda block: block.place)
def test_the_block_runs(block: Block, recording: Path, tmp_path: Path) -> None:
    for name in (*_RECORDINGS, *(f"{name}{number}" for name in _NUMBERED for number in range(1, 6))):
        shutil.copytree(recording, tmp_path / name)
    environment = shell_environment(tmp_path)
    if kind(block) == "python":
        done = subprocess.run(
            [sys.executable, "-c", block.text],
            cwd=tmp_path,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=300,
            check=False,
        )
    else:
        done = shell(_SERVES.sub("", block.text), tmp_path, environment)

    assert done.returncode == 0, done.stdout
