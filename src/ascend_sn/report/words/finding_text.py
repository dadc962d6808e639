"""Sentences about findings that several writers share: gains, figures, the plan, what was held back."""

from __future__ import annotations

import re
from typing import Final

from ascend_sn.advisor.finding import Evidence
from ascend_sn.report.documents.findings import FindingEntry, Findings, Gain, LackingRule, PlanEntry, SuppressedEntry
from ascend_sn.report.words.language import Language
from ascend_sn.report.words.printable import printable
from ascend_sn.report.words.quantities import duration_text, quantity_text
from ascend_sn.report.words.reasons import reason_text, turn_on_text

__all__ = [
    "evidence_text",
    "first_sentence",
    "gain_text",
    "held_text",
    "lacking_text",
    "no_findings_text",
    "plan_step_text",
    "plan_text",
    "summary_lines",
    "worth_text",
]

_SENTENCE: Final = re.compile(r".*?(?:\. |\u3002)", re.DOTALL)


def worth_text(finding: FindingEntry, language: Language) -> str:
    """Say what a finding is worth, or why it has no price and what is at stake."""
    if finding.gain is not None:
        return gain_text(finding.gain, finding.confidence, language)
    stake = ""
    if finding.at_stake_ns is not None:
        stake = language.text("finding.at-stake", at_stake_ns=finding.at_stake_ns)
    return " ".join(part for part in (stake, printable(finding.unpriced)) if part)


def first_sentence(text: str) -> str:
    """Return a text up to the end of its first sentence, in either language."""
    found = _SENTENCE.match(text)
    return text if found is None else found[0].rstrip()


def gain_text(gain: Gain, confidence: str, language: Language) -> str:
    """Say a gain with its bounds, and how far it can be trusted; a negative one is a cost."""
    exact = duration_text(gain.low_ns) == duration_text(gain.high_ns)
    trust, per = language.text(f"confidence.{confidence}"), language.text(f"per.{gain.per}")
    if gain.expected_ns < 0:
        return language.text(
            "finding.cost-exact" if exact else "finding.cost",
            cost_ns=-gain.expected_ns,
            cost_ratio=-gain.expected_ratio,
            low_ns=-gain.high_ns,
            high_ns=-gain.low_ns,
            per=per,
            confidence=trust,
        )
    if gain.low_ns < 0:
        return language.text(
            "finding.gain-unsure",
            expected_ns=gain.expected_ns,
            expected_ratio=gain.expected_ratio,
            longer_ns=-gain.low_ns,
            high_ns=gain.high_ns,
            per=per,
            confidence=trust,
        )
    return language.text(
        "finding.gain-exact" if exact else "finding.gain",
        expected_ns=gain.expected_ns,
        expected_ratio=gain.expected_ratio,
        low_ns=gain.low_ns,
        high_ns=gain.high_ns,
        per=per,
        confidence=trust,
    )


def evidence_text(figure: Evidence, language: Language) -> str:
    """Say a figure and where it comes from: `overlap_ratio 3.8 % (communication_overlap, rank 0, step 50)`."""
    where = [figure.source]
    if figure.ranks:
        where.append(language.text("evidence.ranks", ranks=", ".join(map(str, figure.ranks[:8]))))
    if figure.steps:
        where.append(language.text("evidence.steps", steps=", ".join(map(str, figure.steps[:8]))))
    if figure.start_ns is not None and figure.end_ns is not None:
        where.append(f"{figure.start_ns} - {figure.end_ns} ns")
    return printable(f"{figure.name} {quantity_text(figure.name, figure.value)} ({', '.join(where)})")


def plan_text(section: Findings, language: Language) -> str:
    """Say what the changes are worth together, in the order in which to make them; empty without a plan."""
    plan = section.plan
    if plan is None or not plan.steps:
        return ""
    last = plan.steps[-1].step_ns
    return language.text(
        "plan.together",
        base_ns=plan.base_ns,
        step_ns=last,
        gain_ratio=(plan.base_ns - last) / (plan.base_ns or 1),
        order=", ".join(f"{step.id} ({duration_text(step.step_ns)})" for step in plan.steps),
    )


def plan_step_text(step: PlanEntry, language: Language) -> str:
    """Say one change of the plan."""
    return language.text(
        "plan.step",
        title=step.title,
        rule=step.id,
        expected_ns=step.expected_ns,
        step_ns=step.step_ns,
        effort=language.text(f"effort.{step.effort}"),
    )


def no_findings_text(section: Findings, language: Language) -> str:
    """Say that no rule found anything."""
    return language.text("findings.none", count=len(section.quiet))


def held_text(held: SuppressedEntry, language: Language) -> str:
    """Say what was held back, why, and what it would have said."""
    return printable(
        language.text("findings.held", rule=held.id, title=held.title, reason=held.reason, said=held.description)
    )


def lacking_text(one: LackingRule, language: Language) -> str:
    """Say which rule could not look, and what to turn on."""
    reason = printable(reason_text(one.reason, language)) or one.what
    said = language.text("findings.lacks", rule=one.rule, title=one.title, reason=reason)
    return (
        language.text("absent.turn-on", said=said, option=printable(turn_on_text(one.turn_on, language)))
        if one.turn_on
        else said
    )


def summary_lines(section: Findings, language: Language, *, hidden: int = 0) -> list[str]:
    """Say what is not shown: further findings, what was held back, rules that could not look."""
    lines = []
    if hidden > 0:
        lines.append(language.text("findings.more", count=hidden))
    if section.suppressed:
        lines.append(language.text("findings.suppressed", count=len(section.suppressed)))
    if section.lacking:
        lines.append(language.text("findings.lacking", count=len(section.lacking)))
    return [" ".join(lines)] if lines else []
