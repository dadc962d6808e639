"""The advisor on the screen: numbered advice, what it is worth, how to verify it; and the page of a rule."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, TextIO

from rich.console import Console
from rich.text import Text

from ascend_sn.advisor.finding import Evidence
from ascend_sn.report.documents.findings import FindingEntry, Findings
from ascend_sn.report.documents.run import Document
from ascend_sn.report.terminal.blocks import INDENT, Blocks
from ascend_sn.report.terminal.wrapping import wrapped
from ascend_sn.report.words.finding_text import (
    evidence_text,
    first_sentence,
    held_text,
    lacking_text,
    no_findings_text,
    plan_step_text,
    plan_text,
    summary_lines,
    worth_text,
)
from ascend_sn.report.words.language import Language
from ascend_sn.report.words.printable import printable
from ascend_sn.report.words.quantities import quantity_text

__all__ = ["write_advice", "write_explanation", "write_explanations"]

_SHOWN: Final = 3
_COLOURS: Final = {"critical": "bold #D55E00", "warning": "bold #E69F00", "info": "bold #0072B2"}
_WIDTH: Final = 100


def write_advice(blocks: Blocks, section: Findings, *, in_full: bool = False) -> None:
    """Write the first findings, the plan, and how much is not shown.

    On one screen a finding is its price and what to do, the first one also what was measured and how to verify it; in
    full it is everything that it says.
    """
    language, rows = blocks.language, section.rows
    shown = rows if in_full else rows[:_SHOWN]
    blocks.heading("findings.title")
    for number, finding in enumerate(shown, 1):
        _write_finding(blocks, number, finding, _lines(finding, language, is_first=number == 1, in_full=in_full))
    if not rows:
        blocks.indented([no_findings_text(section, language)])
    together = plan_text(section, language)
    if together and len(rows) > 1:
        blocks.indented([together])
    blocks.indented(summary_lines(section, language, hidden=len(rows) - len(shown)))


def _lines(finding: FindingEntry, language: Language, *, is_first: bool, in_full: bool) -> list[str]:
    """What is written below the title of a finding, a paragraph each."""
    worth, measured, advice, verify = (
        worth_text(finding, language),
        finding.description,
        finding.suggestion,
        finding.next_step,
    )
    if not in_full:
        worth, measured, verify = (first_sentence(text) for text in (worth, measured, verify))
    if not in_full and not is_first:
        advice = first_sentence(advice)
    do, check = language.text("finding.do", advice=advice), language.text("finding.verify", how=verify)
    return [worth, measured, do, check] if in_full or is_first else [worth, do]


def _write_finding(blocks: Blocks, number: int, finding: FindingEntry, lines: Sequence[str]) -> None:
    language = blocks.language
    severity = language.text(f"severity.{finding.severity}")
    head = printable(f"{severity} {finding.title} ({finding.rule})")
    for at, part in enumerate(wrapped(head, blocks.columns - INDENT - 3)):
        line = Text(f"{number}. " if at == 0 else "   ").append(part, style="bold")
        if at == 0:
            line.stylize(_COLOURS[finding.severity], 3, 3 + len(severity))
        blocks.line(line)
    for text in lines:
        _paragraph(blocks, printable(text), 3)


def write_explanations(document: Document, language: Language, stream: TextIO) -> None:
    """Write every finding with its evidence, what was held back and why, and which rules could not look."""
    blocks = _blocks(stream, language)
    section = document.findings
    write_advice(blocks, section, in_full=True)
    if section.plan is not None and section.plan.steps:
        _titled(blocks, "plan.title", [plan_step_text(step, language) for step in section.plan.steps])
    _titled(blocks, "findings.held-back", [held_text(held, language) for held in section.suppressed])
    _titled(blocks, "findings.could-not-look", [lacking_text(one, language) for one in section.lacking])
    _titled(blocks, "findings.replay", _replay_lines(section, language))
    if section.quiet:
        _titled(blocks, "findings.quiet", [", ".join(section.quiet)])


def write_explanation(
    document: Document,
    code: str,
    page: Mapping[str, str],
    thresholds: Mapping[str, float],
    language: Language,
    stream: TextIO,
) -> None:
    """Write the page of one rule: what it is, its thresholds, and what it says of this run.

    Args:
        document: The analysed run.
        code: Code of the rule.
        page: Its texts by part: title, why, advice, verify, not-when.
        thresholds: Its thresholds in force, by name.
        language: Language of the headings.
        stream: Where to write.
    """
    blocks = _blocks(stream, language)
    section = document.findings
    blocks.console.print(Text(f"{code}  {page['title']}", style="bold"))
    for part in ("why", "advice", "verify", "not-when"):
        _titled(blocks, f"rule-page.{part}", [page[part]])
    changed = {name.rpartition(".")[2] for name in section.changed_thresholds if name.startswith(f"{code}.")}
    own = language.text("rule-page.changed")
    _titled(
        blocks,
        "rule-page.thresholds",
        [
            f"{name} = {quantity_text(name, value)}" + (f"  {own}" if name in changed else "")
            for name, value in thresholds.items()
        ],
    )
    blocks.console.print()
    blocks.heading("rule-page.this-run")
    found = [finding for finding in section.rows if finding.rule == code]
    for number, finding in enumerate(found, 1):
        _write_finding(blocks, number, finding, _lines(finding, language, is_first=True, in_full=True))
        _figures(blocks, finding.evidence)
        for remark in finding.gain.remarks if finding.gain else []:
            _paragraph(blocks, f"- {printable(remark)}", 3)
    for held in section.suppressed:
        if held.rule == code:
            _paragraph(blocks, held_text(held, language), 0)
            _figures(blocks, held.evidence)
    for lacking in section.lacking:
        if lacking.rule == code:
            _paragraph(blocks, lacking_text(lacking, language), 0)
    if code in section.quiet:
        _paragraph(blocks, language.text("rule-page.quiet"), 0)


def _figures(blocks: Blocks, evidence: Sequence[Evidence]) -> None:
    for figure in evidence:
        _paragraph(blocks, f"- {evidence_text(figure, blocks.language)}", 3)


def _replay_lines(section: Findings, language: Language) -> list[str]:
    replay = section.replay
    if replay is None:
        return []
    figures = language.text(
        "findings.replayed",
        base_ns=replay.base_ns,
        observed_ns=replay.observed_ns,
        identity_error_ratio=replay.identity_error_ratio,
        unexplained_ratio=replay.unexplained_ratio,
        without_residuals_ns=replay.without_residuals_ns,
    )
    return [figures, *replay.remarks, *([replay.refused] if replay.refused else [])]


def _titled(blocks: Blocks, title: str, lines: Sequence[str]) -> None:
    if not lines:
        return
    blocks.console.print()
    blocks.heading(title)
    for line in lines:
        _paragraph(blocks, printable(line), 0)


def _paragraph(blocks: Blocks, text: str, more: int) -> None:
    """Write a wrapped paragraph, `more` columns further in than tables."""
    for part in wrapped(text, blocks.columns - INDENT - more) if text else []:
        blocks.line(Text(" " * more + part))


def _blocks(stream: TextIO, language: Language) -> Blocks:
    console = Console(file=stream, highlight=False, emoji=False, markup=False)
    return Blocks(language, console, min(console.width, _WIDTH))
