"""Rules that a user brings along and that fail: one line that names the file or the rule, and where it failed."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from ascend_sn.advisor.advise import advise
from ascend_sn.advisor.rule import Claim, Context, Rule
from ascend_sn.advisor.rulebook import PARTS, Rulebook, rules_of
from ascend_sn.errors import BroughtCodeError, UsageError
from ascend_sn.model.brought_code import call_brought
from tests.unit.advisor.rules.test_straggler import training
from tests.unit.report.drawn import DrawnRun

SHY = "class Shy(Exception):\n    def __str__(self):\n        raise SystemExit\nraise Shy\n"
FAILING = """
from ascend_sn.advisor.rule import Rule

def check(context):
    return 1 / 0

TEXTS = {part: "text" for part in ("title", "message", "advice", "verify", "why", "not-when")}
RULES = (Rule("X-FAILS-1", "fails", "host", "code", check, texts=TEXTS),)
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


def test_a_file_that_is_not_there_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"nowhere\.py: no such file$"):
        rules_of([str(tmp_path / "nowhere.py")])


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            {"topic": "schedule"},
            "its topic is 'schedule', which is none of communication, memory, compute, host, data, ",
        ),
        ({"effort": "much"}, "its effort is 'much', which is none of config, code, model"),
    ],
)
def test_a_word_that_is_none_of_ours_is_refused(given: dict[str, str], said: str) -> None:
    texts = dict.fromkeys(PARTS, "text")
    rule = Rule("X-WORD-1", "word", "host", "code", lambda context: (), texts=texts)

    with pytest.raises(UsageError, match=f"rule X-WORD-1: {said}"):
        Rulebook([msgspec.structs.replace(rule, **given)])


@pytest.mark.parametrize(
    ("analysis", "said"),
    [
        ("step_breakdwn", "unknown analysis 'step_breakdwn'; did you mean 'step_breakdown'?"),
        ("step_breakdown", "unknown column of step_breakdown 'window'; did you mean 'window_ns'?"),
    ],
)
def test_a_name_that_a_rule_has_wrong_is_named_with_the_rule(analysis: str, said: str) -> None:
    def check(context: Context) -> Iterator[Claim]:
        context.facts.rows(analysis, Wrong)
        yield Claim()

    rule = Rule("X-NAME-1", "name", "host", "code", check, texts=dict.fromkeys(PARTS, "text"))

    with pytest.raises(UsageError) as caught:
        advise(DrawnRun(training(0)), codes=["X-NAME-1"], rules=[rule])

    assert str(caught.value) == f"rule X-NAME-1: {said}"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("50 % {", "its text title: Single '{' encountered in format string; a brace of its own is doubled"),
        ("{0}", "its text title has {0}, which is no name of a parameter"),
        ("{rank.real}", "its text title has {rank.real}, which is no name of a parameter"),
    ],
)
def test_a_malformed_text_is_refused(text: str, said: str) -> None:
    rule = Rule(
        "X-TEXT-1", "text", "host", "code", lambda context: (), texts=dict.fromkeys(PARTS, "t") | {"title": text}
    )

    with pytest.raises(UsageError) as caught:
        Rulebook([rule])

    assert str(caught.value) == f"rule X-TEXT-1: {said}"


@pytest.mark.parametrize(
    ("yielded", "said"),
    [
        (Claim(params={"rank": 0}), "its text message has {step_ns}, which the claim has no parameter for"),
        ({"rank": 0}, "it yields dict, not a Claim"),
    ],
)
def test_a_claim_of_which_no_sentence_can_be_made_is_refused(yielded: Claim, said: str) -> None:
    texts = dict.fromkeys(PARTS, "t") | {"message": "{rank} {step_ns} {{}}"}
    rule = Rule("X-TEXT-2", "text", "host", "code", lambda context: [yielded], texts=texts)

    with pytest.raises(UsageError) as caught:
        advise(DrawnRun(training(0)), codes=["X-TEXT-2"], rules=[rule])

    assert str(caught.value) == f"rule X-TEXT-2: {said}"


class Wrong(msgspec.Struct):
    window: int


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
