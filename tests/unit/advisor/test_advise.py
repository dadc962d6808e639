"""From claims to advice: price, severity, order, suppression, plan."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from duckdb import DuckDBPyConnection

from ascend_sn.advisor import rules
from ascend_sn.advisor.advise import advise
from ascend_sn.advisor.rule import Claim, Context, DirectGain, Rule
from ascend_sn.errors import UnknownNameError
from ascend_sn.report.words.language import CODES, Language
from tests.timeline import insert
from tests.unit.advisor.advised import advised
from tests.unit.advisor.rules.test_straggler import MS, training
from tests.unit.report.drawn import DrawnRun, nothing


@pytest.mark.parametrize(
    ("slow_ns", "steps", "severity"), [(12 * MS, 9, "critical"), (9 * MS, 9, "warning"), (6 * MS, 9, "warning")]
)
def test_severity_follows_the_expected_gain(slow_ns: int, steps: int, severity: str) -> None:
    (finding,) = advised(training(slow_ns, steps=steps), "R-IMB-1").findings

    assert finding.severity == severity


@pytest.mark.parametrize(
    ("low_ns", "expected_ns", "severity"),
    [
        (0, 20, "critical"),
        (-1, 20, "warning"),
        (0, 5, "warning"),
        (-1, 5, "info"),
        (-1, 1, "info"),
    ],
)
def test_a_gain_that_is_not_sure_counts_one_level_less(low_ns: int, expected_ns: int, severity: str) -> None:
    def check(context: Context) -> Iterator[Claim]:
        yield Claim(direct=DirectGain(low_ns, expected_ns, 2 * expected_ns, base_ns=100))

    texts = dict.fromkeys(("title", "message", "advice", "verify", "why", "not-when"), "said")
    rule = Rule("X-SURE-1", "sure", "host", "code", check, texts=texts)

    (finding,) = advise(DrawnRun(training(0)), codes=["X-SURE-1"], rules=[rule]).findings

    assert finding.severity == severity


def test_severity_bounds_can_be_set() -> None:
    db = training(12 * MS)

    (finding,) = advised(db, "R-IMB-1", thresholds=["advisor.critical_from_ratio=0.2"]).findings

    assert finding.severity == "warning"


def test_what_gains_too_little_is_held_back_with_its_gain() -> None:
    (held,) = advised(training(6 * MS), "R-IMB-1", thresholds=["advisor.worth_from_ratio=0.5"]).suppressed

    assert held.reason.message_id == "suppressed.small-gain"
    assert held.gain is not None
    assert held.gain.expected_ns == 6 * MS


def test_few_steps_lower_the_confidence() -> None:
    few = advised(training(20 * MS, steps=4, ranks=8), "R-IMB-1").findings
    many = advised(training(20 * MS, steps=12, ranks=8), "R-IMB-1").findings

    assert [finding.confidence for finding in few] == ["low"]
    assert many[0].confidence != "low"


def test_contradictions_in_the_data_lower_the_confidence() -> None:
    db = training(20 * MS, steps=12)
    db.execute("update kernel set dur_ns = -1 where kernel_id > 2 and profile_id = 0")

    assert all(finding.confidence == "low" for finding in advised(db, "R-COMM-0", "R-IMB-1").findings)


def test_gains_of_the_plan_are_marginal_and_never_exceed_the_step() -> None:
    advice = advise(DrawnRun(training(20 * MS, steps=8)))

    assert advice.plan is not None
    assert sum(step.expected_ns for step in advice.plan.steps) <= advice.plan.base_ns
    lengths = [advice.plan.base_ns, *(step.step_ns for step in advice.plan.steps)]
    assert lengths == sorted(lengths, reverse=True)
    assert lengths[-1] == advice.plan.base_ns - sum(step.expected_ns for step in advice.plan.steps)


def test_findings_come_by_the_time_that_is_to_be_had() -> None:
    findings = advise(DrawnRun(training(20 * MS, steps=8))).findings
    times = [finding.at_stake_ns or 0 if finding.gain is None else finding.gain.expected_ns for finding in findings]

    assert times == sorted(times, reverse=True)


def test_topics_choose_rules() -> None:
    advice = advise(DrawnRun(training(20 * MS)), topics=["memory"])

    assert {finding.topic for finding in advice.findings} <= {"memory"}
    assert all(rules.load(code).topic == "memory" for code in advice.quiet)


def test_an_unknown_rule_is_named() -> None:
    with pytest.raises(UnknownNameError, match="R-IMB-1"):
        advise(nothing(), codes=["R-IMB-11"])


def test_a_run_without_anything_gets_no_advice() -> None:
    advice = advise(nothing())

    assert (advice.findings, advice.suppressed, advice.plan, advice.replay) == ((), (), None, None)
    assert {one.code for one in advice.not_collected} | set(advice.quiet) == set(rules.CODES)


@pytest.mark.parametrize("code", rules.CODES)
def test_a_rule_keeps_the_form(code: str) -> None:
    rule = rules.load(code)

    assert rule.code == code
    assert (rules.module_of(code).__doc__ or "").startswith(f"{code} ")


@pytest.mark.parametrize("language", CODES)
def test_everything_said_can_be_read(language: str) -> None:
    advice = advise(DrawnRun(with_absent_members(training(20 * MS))))
    spoken = Language.load("zh" if language == "zh" else "en")

    for finding in advice.findings:
        texts = [spoken.render(text) for text in (finding.title, finding.message, finding.advice, finding.next_step)]
        assert all(texts)
        assert not any("{" in text for text in texts)
    for held in advice.suppressed:
        assert spoken.render(held.reason)


def with_absent_members(db: DuckDBPyConnection) -> DuckDBPyConnection:
    insert(db, "comm_group_member", profile_id=0, rank=0, group_id="g", group_rank=9, group_size=16,
           size_is_exact=True)  # fmt: skip
    return db
