"""The advisor in Markdown."""

from __future__ import annotations

from collections.abc import Iterator

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
from ascend_sn.report.words.printable import markdown_cell

__all__ = ["findings_lines"]


def findings_lines(section: Findings, language: Language) -> list[str]:
    """Return the advice, the plan, what was held back and which rules could not look, as lines."""
    lines = [] if section.rows else [markdown_cell(no_findings_text(section, language))]
    for number, finding in enumerate(section.rows, 1):
        lines += _finding(number, finding, language)
    together = plan_text(section, language)
    if section.plan is not None and together:
        lines += ["", f"### {language.text('plan.title')}", "", markdown_cell(together), ""]
        lines += [f"- {markdown_cell(plan_step_text(step, language))}" for step in section.plan.steps]
    held = [held_text(one, language) for one in section.suppressed]
    lacking = [lacking_text(one, language) for one in section.lacking]
    for title, texts in (("findings.held-back", held), ("findings.could-not-look", lacking)):
        if texts:
            lines += ["", f"### {language.text(title)}", "", *(f"- {markdown_cell(text)}" for text in texts)]
    return lines


def _finding(number: int, finding: FindingEntry, language: Language) -> Iterator[str]:
    severity = language.text(f"severity.{finding.severity}")
    yield from ("", f"### {number}. {markdown_cell(finding.title)}", "")
    yield f"**{severity}** \u00b7 {finding.rule} \u00b7 {markdown_cell(worth_text(finding, language))}"
    for text in (
        finding.description,
        language.text("finding.do", advice=finding.suggestion),
        language.text("finding.verify", how=finding.next_step),
    ):
        yield from ("", markdown_cell(text))
    if finding.evidence:
        yield ""
    for figure in finding.evidence:
        yield f"- {markdown_cell(evidence_text(figure, language))}"
