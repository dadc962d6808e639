"""Rules that a user brings along and that fail: one line that names the file or the rule, and where it failed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from ascend_sn.advisor.rulebook import rules_of
from ascend_sn.errors import BroughtCodeError, UsageError
from ascend_sn.model.brought_code import call_brought

SHY = "class Shy(Exception):\n    def __str__(self):\n        raise SystemExit\nraise Shy\n"
FAILING = """
from ascend_sn.advisor.rule import Rule

def check(context):
    return 1 / 0

TEXTS = {part: "text" for part in ("title", "message", "advice", "verify", "why", "not-when")}
RULES = (Rule("X-FAILS-1", "fails", "schedule", "code", check, texts=TEXTS),)
"""
TRACE = '{"schemaVersion":1,"traceEvents":[{"ph":"X","name":"aten::mm","cat":"cpu_op","pid":1,"tid":1,"ts":1,"dur":5}]}'


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("raise SystemExit(7)\n", "7 (SystemExit, own.py line 1)"),
        ("\nraise GeneratorExit\n", "GeneratorExit, own.py line 2"),
        (
            "import no_such_module_of_ours\n",
            "No module named 'no_such_module_of_ours' (ModuleNotFoundError, own.py line 1)",
        ),
        ("def f():\n    f()\nf()\n", "maximum recursion depth exceeded (RecursionError, own.py line 2)"),
        ("RULES = (\n", "'(' was never closed (own.py, line 1) (SyntaxError)"),
        ("raise ValueError('two\\nlines')\n", "two lines (ValueError, own.py line 1)"),
        (SHY, "Shy, own.py line 4"),
    ],
)
def test_a_file_that_cannot_be_run_is_named_in_one_line(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / "own.py"
    path.write_text(text)

    with pytest.raises(UsageError) as caught:
        rules_of([str(path)])

    assert str(caught.value).replace(": maximum recursion depth exceeded while calling a Python object", "") == (
        f"{path}: cannot be used: {problem}"
    )


def test_an_interrupt_stays_one() -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        call_brought(interrupted)


def test_a_long_text_is_cut() -> None:
    def failing() -> None:
        raise ValueError("x" * 5_000)

    with pytest.raises(BroughtCodeError) as caught:
        call_brought(failing)

    assert len(str(caught.value)) < 400


def test_a_rule_that_fails_is_named_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(FAILING)
    (tmp_path / "trace.json").write_text(TRACE)
    words = ["analyze", tmp_path / "trace.json", "--rules", tmp_path / "own.py", "--cache-dir", tmp_path / "cache"]
    command = [sys.executable, "-m", "ascend_sn.cli.main", "--lang", "en", *map(str, words)]

    told = subprocess.run(command, capture_output=True, text=True, check=False)

    said = (
        "rule X-FAILS-1 failed: division by zero (ZeroDivisionError, own.py line 5); repair it, or leave its file out"
    )
    assert (told.returncode, told.stderr) == (2, f"ascend-sn: {said}\n")
