"""What a notebook shows of a run and of a document: HTML with a static drawing, no script, no style sheet."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Final

from ascend_sn.report.documents.views import Selection, telling_ranks
from ascend_sn.report.html.figures import Bar, Part, even_ticks, stacked_bars, standalone
from ascend_sn.report.words.language import Language, code_of_environment
from ascend_sn.report.words.printable import printable
from ascend_sn.report.words.quantities import count_text, duration_text
from ascend_sn.report.words.wording import health_text, rank_text, ranking_text, share_text, subject_text

if TYPE_CHECKING:
    from ascend_sn.advisor.median_step import MedianStep
    from ascend_sn.report.documents.run import Document
    from ascend_sn.store import Run

__all__ = ["document_html", "run_html"]

_RANKS: Final = 16
_PROFILES: Final = 16
_FINDINGS: Final = 10
_PARTS: Final = ("compute", "exposed_comm", "exposed_copy", "free")


def run_html(run: Run) -> str:
    """Return the summary of a run in the language of the environment; no advice, so that it is there at once."""
    from ascend_sn.report.assemble.run import assemble

    language = Language.load(code_of_environment())
    document = assemble(run, language, Selection(details=frozenset(), advice=False))
    pieces = _summary(document, language)
    steps: dict[int, int] = {}
    for step in document.steps.rows:
        steps[step.profile_id] = steps.get(step.profile_id, 0) + 1
    rows = [
        [
            rank_text(one.rank, language),
            one.device_name or one.device_kind or "-",
            one.format,
            one.source,
            count_text(steps.get(one.profile_id, 0)),
        ]
        for one in document.profiles
    ]
    heads = [language.text(f"column.{name}") for name in ("rank", "device", "format", "source", "steps")]
    pieces += _table(heads, rows, _PROFILES, language)
    return "".join(pieces)


def document_html(document: Document) -> str:
    """Return the summary of a document in its language, with what the advisor says; all texts in it are escaped."""
    language = Language.load(document.language)
    pieces = _summary(document, language)
    rows = [[row.rule, row.title, row.suggestion] for row in document.findings.rows]
    heads = [language.text(f"column.{name}") for name in ("rule", "finding", "advice")]
    pieces += _table(heads, rows, _FINDINGS, language)
    return "".join(pieces)


def _summary(document: Document, language: Language) -> list[str]:
    """What it is, how whole it is, the verdict, and the median step of each rank, drawn and in figures."""
    pieces = [
        f"<p><strong>{_safe(subject_text(document, language))}</strong><br>",
        _safe(health_text(document.health, language)),
        "</p><ul>",
        *(f"<li>{_safe(statement.text)}</li>" for statement in document.verdict),
        "</ul>",
    ]
    ranks = telling_ranks(document.breakdown.ranks, _RANKS)
    if ranks:
        note = "breakdown.of-capture" if document.breakdown.scope == "whole capture" else "breakdown.of-step"
        pieces.append(f"<p>{_safe(language.text('breakdown.title'))}: {_safe(language.text(note))}</p>")
        pieces.append(_drawn(ranks, language))
        rows = [
            [
                rank_text(row.rank, language),
                duration_text(row.window_ns),
                *(
                    f"{duration_text(value)} {share_text(value, row.window_ns)}"
                    for value in (getattr(row, f"{part}_ns") for part in _PARTS)
                ),
            ]
            for row in ranks
        ]
        heads = [language.text("column.rank"), language.text("column.window"), *_labels(language)]
        pieces += _table(heads, rows, _RANKS, language)
        if len(ranks) < len(document.breakdown.ranks):
            count = len(document.breakdown.ranks)
            pieces.append(f"<p>{_safe(language.text('breakdown.telling-ranks', count=count))}</p>")
    return pieces


def _drawn(ranks: Sequence[MedianStep], language: Language) -> str:
    """The step of each rank as a bar of its parts, with colours of its own."""
    labels = _labels(language)
    bars = [
        Bar(
            rank_text(row.rank, language),
            tuple(
                Part(part, label, value, f"{duration_text(value)} {share_text(value, row.window_ns)}")
                for part, label in zip(_PARTS, labels, strict=True)
                for value in [getattr(row, f"{part}_ns")]
            ),
        )
        for row in ranks
    ]
    ticks = [(tick, duration_text(tick) if tick else "0") for tick in even_ticks(max(row.window_ns for row in ranks))]
    return standalone(stacked_bars(bars, ticks, language.text("breakdown.title")))


def _labels(language: Language) -> list[str]:
    return [language.text(f"part.{part}_ns") for part in _PARTS]


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]], most: int, language: Language) -> list[str]:
    """A table of the first rows, and how many there are; nothing without rows."""
    if not rows:
        return []
    head = "".join(f"<th>{_safe(name)}</th>" for name in heads)
    body = "".join(f"<tr>{''.join(f'<td>{_safe(cell)}</td>' for cell in row)}</tr>" for row in rows[:most])
    rest = [f"<p>{_safe(ranking_text(most, len(rows), language))}</p>"] if len(rows) > most else []
    return [f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>", *rest]


def _safe(text: str) -> str:
    return escape(printable(text))
