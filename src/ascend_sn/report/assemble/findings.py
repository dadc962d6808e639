"""The advisor's part of the document: its messages become text."""

from __future__ import annotations

import msgspec

from ascend_sn.advisor.advise import advise
from ascend_sn.advisor.facts import Facts
from ascend_sn.advisor.finding import Advice, Finding, NotCollected, Plan, PricedGain, ReplayQuality, Suppressed
from ascend_sn.advisor.rulebook import Rulebook
from ascend_sn.report.assemble.told import Told
from ascend_sn.report.documents.findings import (
    FindingEntry,
    Findings,
    Gain,
    LackingRule,
    PlanEntry,
    PlanOfChanges,
    ReplayFigures,
    SuppressedEntry,
)
from ascend_sn.report.documents.views import Selection
from ascend_sn.report.words.language import Language

__all__ = ["asked", "findings_section"]


def asked(facts: Facts, selection: Selection, told: Told) -> Advice | None:
    """Let the advisor look at the run, telling which rule looks; None where it is not asked."""
    if not selection.advice:
        return None
    told.more(len(Rulebook(selection.rules).codes))
    return advise(facts.run, thresholds=selection.thresholds, facts=facts, rules=selection.rules, looking=told.part)


def findings_section(advice: Advice | None, language: Language, selection: Selection) -> Findings:
    """Return what the advisor said, in a language."""
    if advice is None:
        return Findings(collected=False, state="not_requested", reason="the advisor was not asked")
    thresholds = selection.thresholds
    book = Rulebook(selection.rules)
    return Findings(
        collected=True,
        state="collected" if advice.findings else "empty",
        rows=[_entry(finding, language) for finding in advice.findings],
        suppressed=[_suppressed(held, language) for held in advice.suppressed],
        lacking=[_lacking(one, book, language) for one in advice.not_collected],
        quiet=list(advice.quiet),
        plan=None if advice.plan is None else _plan(advice.plan, language),
        replay=None if advice.replay is None else _replay(advice.replay, language),
        changed_thresholds=sorted(thresholds.changed) if thresholds else [],
    )


def _entry(finding: Finding, language: Language) -> FindingEntry:
    return FindingEntry(
        id=finding.id,
        rule=finding.code,
        topic=finding.topic,
        severity=finding.severity,
        grade=finding.grade,
        confidence=finding.confidence,
        title=language.render(finding.title),
        description=language.render(finding.message),
        suggestion=language.render(finding.advice),
        next_step=language.render(finding.next_step),
        message_id=finding.message.message_id,
        params=msgspec.to_builtins(finding.message.params),
        location=finding.location,
        evidence=list(finding.evidence),
        gain=_gain(finding.gain, language),
        unpriced=language.render(finding.unpriced) if finding.unpriced else "",
        at_stake_ns=finding.at_stake_ns,
        effort=finding.effort,
    )


def _suppressed(held: Suppressed, language: Language) -> SuppressedEntry:
    return SuppressedEntry(
        id=held.id,
        rule=held.code,
        topic=held.topic,
        title=language.render(held.title),
        description=language.render(held.message),
        reason=language.render(held.reason),
        location=held.location,
        evidence=list(held.evidence),
        gain=_gain(held.gain, language),
    )


def _gain(gain: PricedGain | None, language: Language) -> Gain | None:
    if gain is None:
        return None
    return Gain(
        low_ns=gain.low_ns,
        expected_ns=gain.expected_ns,
        high_ns=gain.high_ns,
        low_ratio=gain.low_ratio,
        expected_ratio=gain.expected_ratio,
        high_ratio=gain.high_ratio,
        base_ns=gain.base_ns,
        method=gain.method,
        change=gain.change,
        per=gain.per,
        remarks=[language.render(remark) for remark in gain.remarks],
    )


def _lacking(one: NotCollected, book: Rulebook, language: Language) -> LackingRule:
    return LackingRule(
        rule=one.code,
        topic=one.topic,
        title=language.outline(book.load(one.code).text("title")),
        what=one.what,
        state=one.state,
        reason=one.reason,
        turn_on=one.turn_on,
    )


def _plan(plan: Plan, language: Language) -> PlanOfChanges:
    steps = [
        PlanEntry(
            id=step.id,
            rule=step.code,
            title=language.render(step.title),
            effort=step.effort,
            confidence=step.confidence,
            low_ns=step.low_ns,
            expected_ns=step.expected_ns,
            high_ns=step.high_ns,
            step_ns=step.step_ns,
        )
        for step in plan.steps
    ]
    return PlanOfChanges(
        base_ns=plan.base_ns, steps=steps, too_small=list(plan.too_small), in_conflict=list(plan.in_conflict)
    )


def _replay(quality: ReplayQuality, language: Language) -> ReplayFigures:
    return ReplayFigures(
        scope=quality.scope,
        ranks=list(quality.ranks),
        observed_ns=quality.observed_ns,
        base_ns=quality.base_ns,
        identity_error_ratio=quality.identity_error_ratio,
        unexplained_ratio=quality.unexplained_ratio,
        without_residuals_ns=quality.without_residuals_ns,
        confidence=quality.confidence,
        remarks=[language.render(remark) for remark in quality.remarks],
        refused=language.render(quality.refused) if quality.refused else "",
    )
