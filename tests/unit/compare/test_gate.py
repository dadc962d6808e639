"""What passes the gate, and what its self-test counts."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from ascend_sn.compare.comparison import compared
from ascend_sn.compare.figures import Peak, RunFigures
from ascend_sn.compare.gate import GateResult, gated, null_test
from ascend_sn.compare.metrics import DEFAULT_LIMITS
from ascend_sn.compare.settings import GateSettings
from ascend_sn.errors import NotComparableError, UsageError
from ascend_sn.report.documents.comparison import comparison_document, gate_document
from ascend_sn.report.gate_files import github_annotations, gitlab_report, junit_xml
from ascend_sn.report.words.comparison_text import gate_sentences
from ascend_sn.report.words.language import Language
from tests.unit.compare.made import run_of, work


def runs(median: float, *, count: int = 5, seed: int = 0, variation: float = 0.01, **more: Any) -> list[RunFigures]:
    lengths = np.rint(1000 * median * np.exp(variation * np.random.default_rng(seed).standard_normal(count)))
    return [run_of([int(one)] * 6, work("A", 6, 5 * int(one)), **more) for one in lengths]


def gate(base: list[RunFigures], candidate: list[RunFigures], **settings: Any) -> GateResult:
    return gated(base, candidate, GateSettings(**settings))


def test_enough_runs_and_no_change_pass_without_a_word() -> None:
    found = gate(runs(100), runs(101, seed=1))

    assert (found.verdict, found.reasons) == ("passed", [])


def test_a_regression_fails_and_says_which() -> None:
    found = gate(runs(100), runs(120, seed=1))

    assert found.verdict == "failed"
    assert [(reason.metric, reason.kind) for reason in found.reasons] == [("step_time", "regression")]


def test_a_possible_regression_is_a_warning_and_strictly_a_failure() -> None:
    base, candidate = runs(100, variation=0.3), runs(118, seed=1, variation=0.3)

    found, strictly = gate(base, candidate), gate(base, candidate, strict=True)

    assert {reason.kind for reason in found.reasons} <= {"possible", "inconclusive"}
    assert (found.verdict, strictly.verdict) == ("unsure", "failed")


def test_confidence_needs_five_runs() -> None:
    found = gate(runs(100, count=4), runs(100, count=4, seed=1), require_confidence=True)

    assert found.verdict == "failed"
    assert {reason.kind for reason in found.reasons} == {"low confidence"}


def test_a_watched_metric_that_the_candidate_lost_is_said() -> None:
    peak = Peak(peak_bytes=1000, basis="allocated", component="PTA")

    found = gate(runs(100, peak=peak), runs(100, seed=1))

    assert found.verdict == "unsure"
    assert [(reason.metric, reason.kind) for reason in found.reasons] == [("peak_memory", "not in candidate")]
    assert gate(runs(100, peak=peak), runs(100, seed=1), strict=True).verdict == "failed"


def test_a_declared_metric_must_be_there() -> None:
    found = gate(runs(100), runs(100, seed=1), declared=frozenset({"mfu"}))

    assert (found.verdict, found.obstacles[0].message_id) == ("cannot compare", "gate.not-there")


def test_what_differs_beside_an_obstacle_of_another_kind_is_not_named_as_one() -> None:
    found = gate(runs(100), runs(100, seed=1, tool_version="9"), declared=frozenset({"mfu"}))

    assert [one.message_id for one in found.comparison.remarks] == ["compare.other-version"]
    assert [one.message_id for one in gate_sentences(found)] == [
        "gate.said.cannot-compare",
        "compare.said.cannot-compare",
    ]


@pytest.mark.parametrize("more", [{"device_kinds": ["cuda"]}, {"ranks": [0, 1]}, {"steps": []}])
def test_another_setup_cannot_be_judged(more: dict[str, Any]) -> None:
    assert gate(runs(100), runs(100, seed=1, **more)).verdict == "cannot compare"


def test_the_self_test_counts_the_splits_that_fail() -> None:
    quiet = null_test(runs(100, count=20), {"step_time": 0.1})
    # Two fast and two slow runs: one split of six has both fast ones first.
    torn = null_test([*runs(100, count=2), *runs(200, count=2, seed=1)], {"step_time": 0.1})

    assert (quiet.metrics[0].alarms, quiet.metrics[0].splits, quiet.metrics[0].method) == (0, 200, "runs")
    assert quiet.runs_per_side == 10
    assert torn.metrics[0].method == "steps"
    assert 15 <= torn.metrics[0].alarms <= 55


def test_the_self_test_of_one_run_splits_its_steps() -> None:
    lengths = np.rint(1000 * np.exp(0.02 * np.random.default_rng(2).standard_normal(60))).astype(int).tolist()

    found = null_test([run_of(lengths)], DEFAULT_LIMITS)

    assert [(one.metric, one.method) for one in found.metrics] == [("step_time", "steps"), ("utilisation", "steps")]
    assert found.runs_per_side is None
    assert found.metrics[0].alarms == 0


def test_too_little_cannot_be_split() -> None:
    with pytest.raises(NotComparableError, match="four runs"):
        null_test([run_of([100] * 5)], DEFAULT_LIMITS)


def test_limits_are_percent_and_off_takes_one_out() -> None:
    found = GateSettings().with_limits(["step-time = 5 %", "utilisation=off"])

    assert dict(found.limits) == {"step_time": 0.05, "epoch_time": 0.1, "peak_memory": 0.05}
    assert found.declared == {"step_time"}


def test_a_metric_without_limit_cannot_be_chosen() -> None:
    with pytest.raises(UsageError, match="--limit mfu="):
        GateSettings().only(["mfu"])


def test_hostile_names_stay_harmless_in_every_file() -> None:
    evil = '\x1b[31m<b>&"\u202e]]>%0A::error::\n| x |'
    base, slow = ([run_of([length] * 9, work(evil, 9, 9 * length // 2))] for length in (1000, 2000))
    comparison = compared(base, slow)
    language = Language.load("en")
    document = comparison_document(comparison, base, slow, language, analysis_ns=1)
    found = gate_document(gated(base, slow, GateSettings()), document, language)

    files = (junit_xml(found, language), github_annotations(found), gitlab_report(found))

    assert not any("\x1b" in text or "\u202e" in text for text in files)
    assert files[1].count("\n") == 1
    assert json.loads(files[2])[0]["severity"] == "major"
