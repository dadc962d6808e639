"""What a notebook shows of a document: verdict, health, the step by rank, findings; HTML without script."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Final

from ascend_sn.report.language import Language
from ascend_sn.report.printable import printable
from ascend_sn.report.quantities import duration_text
from ascend_sn.report.wording import health_text, rank_text, subject_text

if TYPE_CHECKING:
    from ascend_sn.report.document import Document

__all__ = ["document_html"]

_RANKS: Final = 16
_FINDINGS: Final = 10
_PARTS: Final = ("window_ns", "compute_ns", "exposed_comm_ns", "exposed_copy_ns", "free_ns")


def document_html(document: Document) -> str:
    """Return the summary of a document in its language; all texts in it are escaped."""
    language = Language.load(document.language)
    pieces = [
        f"<p><strong>{_safe(subject_text(document, language))}</strong><br>",
        _safe(health_text(document.health, language)),
        "</p><ul>",
        *(f"<li>{_safe(statement.text)}</li>" for statement in document.verdict),
        "</ul>",
    ]
    ranks = document.breakdown.ranks
    if ranks:
        rows = [
            [rank_text(row.rank, language), *(duration_text(getattr(row, part)) for part in _PARTS)]
            for row in ranks[:_RANKS]
        ]
        pieces.append(_table(["rank", *(part.removesuffix("_ns") for part in _PARTS)], rows))
        if len(ranks) > _RANKS:
            pieces.append(f"<p>{_RANKS} / {len(ranks)}</p>")
    if document.findings.rows:
        found = [[row.rule, row.title, row.suggestion] for row in document.findings.rows[:_FINDINGS]]
        pieces.append(_table([], found))
    return "".join(pieces)


def _table(names: list[str], rows: list[list[str]]) -> str:
    head = "".join(f"<th>{_safe(name)}</th>" for name in names)
    body = "".join(f"<tr>{''.join(f'<td>{_safe(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table>{f'<thead><tr>{head}</tr></thead>' if names else ''}<tbody>{body}</tbody></table>"


def _safe(text: str) -> str:
    return escape(printable(text))
