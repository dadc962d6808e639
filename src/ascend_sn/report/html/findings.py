"""The advisor on the HTML page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from ascend_sn.report.documents.findings import FindingEntry, Findings
from ascend_sn.report.words.finding_text import (
    evidence_text,
    held_text,
    lacking_text,
    no_findings_text,
    plan_step_text,
    plan_text,
    worth_text,
)
from ascend_sn.report.words.language import Language
from ascend_sn.report.words.quantities import duration_text, percent_text

__all__ = ["findings_parts"]

_CARDS: Final = 200


@dataclass(frozen=True)
class _Card:
    severity: str
    severity_text: str
    rule: str
    title: str
    gain: str
    effort: str
    worth: str
    description: str
    advice: str
    verify: str
    evidence: tuple[str, ...]


def findings_parts(section: Findings, language: Language) -> dict[str, Any]:
    """Return what the template shows: a card per finding, the plan, and lists of the rest."""
    lists = (
        ("findings.held-back", [held_text(one, language) for one in section.suppressed]),
        ("findings.could-not-look", [lacking_text(one, language) for one in section.lacking]),
    )
    return {
        "finding_cards": [_card(finding, language) for finding in section.rows[:_CARDS]],
        "more_findings": language.text("findings.more", count=len(section.rows) - _CARDS)
        if len(section.rows) > _CARDS
        else "",
        "replay_note": _replay_note(section, language),
        "no_findings": no_findings_text(section, language),
        "together": plan_text(section, language),
        "plan_steps": [plan_step_text(step, language) for step in section.plan.steps] if section.plan else [],
        "finding_lists": [(language.text(title), lines[:_CARDS]) for title, lines in lists if lines],
    }


def _replay_note(section: Findings, language: Language) -> str:
    """Say how well the replayed step, on which gains are priced, explains the capture; empty where none was."""
    replay = section.replay
    if replay is None:
        return ""
    if replay.refused:
        return language.text("replay.refused", reason=replay.refused)
    return language.text(
        "replay.quality",
        observed_ns=replay.observed_ns,
        base_ns=replay.base_ns,
        error_ratio=replay.identity_error_ratio,
        unexplained_ratio=replay.unexplained_ratio,
        confidence=language.text(f"confidence.{replay.confidence}"),
    )


def _gain(finding: FindingEntry, language: Language) -> str:
    """The expected gain in a few characters; what is at stake where there is no price."""
    if finding.gain is not None:
        per = "" if finding.gain.per == "step" else " / " + language.text(f"per.{finding.gain.per}")
        unsure = ", " + language.text("gain.not-sure") if finding.gain.low_ns < 0 < finding.gain.expected_ns else ""
        return f"{duration_text(finding.gain.expected_ns)} ({percent_text(finding.gain.expected_ratio)}){per}{unsure}"
    return "-" if finding.at_stake_ns is None else f"\u2264 {duration_text(finding.at_stake_ns)}"


def _card(finding: FindingEntry, language: Language) -> _Card:
    remarks = tuple(finding.gain.remarks) if finding.gain else ()
    return _Card(
        severity=finding.severity,
        severity_text=language.text(f"severity.{finding.severity}"),
        rule=finding.rule,
        title=finding.title,
        gain=_gain(finding, language),
        effort=language.text(f"effort.{finding.effort}"),
        worth=worth_text(finding, language),
        description=finding.description,
        advice=language.text("finding.do", advice=finding.suggestion),
        verify=language.text("finding.verify", how=finding.next_step),
        evidence=(*(evidence_text(figure, language) for figure in finding.evidence), *remarks),
    )
