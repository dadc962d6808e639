"""The advisor on the HTML page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ascend_sn.report.document import Findings
from ascend_sn.report.finding_text import (
    evidence_text,
    held_text,
    lacking_text,
    no_findings_text,
    plan_step_text,
    plan_text,
    worth_text,
)
from ascend_sn.report.findings import FindingEntry
from ascend_sn.report.language import Language

__all__ = ["findings_parts"]


@dataclass(frozen=True)
class _Card:
    severity: str
    severity_text: str
    rule: str
    title: str
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
        "finding_cards": [_card(finding, language) for finding in section.rows],
        "no_findings": no_findings_text(section, language),
        "together": plan_text(section, language),
        "plan_steps": [plan_step_text(step, language) for step in section.plan.steps] if section.plan else [],
        "finding_lists": [(language.text(title), lines) for title, lines in lists if lines],
    }


def _card(finding: FindingEntry, language: Language) -> _Card:
    remarks = tuple(finding.gain.remarks) if finding.gain else ()
    return _Card(
        severity=finding.severity,
        severity_text=language.text(f"severity.{finding.severity}"),
        rule=finding.rule,
        title=finding.title,
        worth=worth_text(finding, language),
        description=finding.description,
        advice=language.text("finding.do", advice=finding.suggestion),
        verify=language.text("finding.verify", how=finding.next_step),
        evidence=(*(evidence_text(figure, language) for figure in finding.evidence), *remarks),
    )
