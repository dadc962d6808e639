"""What people are told of a gate: a title that says it all, and the sentences behind it."""

from __future__ import annotations

from typing import Final

from ascend_sn.compare.notify import Kind, Notification
from ascend_sn.report.documents.comparison import GateDocument
from ascend_sn.report.tables.comparison import side_text
from ascend_sn.report.words.language import Language
from ascend_sn.report.words.printable import printable, shortened

__all__ = ["gate_notification"]

_TITLES: Final = {
    "passed": "notify.title.passed",
    "unsure": "notify.title.unsure",
    "failed": "notify.title.failed",
    "cannot compare": "notify.title.cannot-compare",
}
_KINDS: Final[dict[str, Kind]] = {
    "passed": "success",
    "unsure": "warning",
    "failed": "failure",
    "cannot compare": "failure",
}
_NAME: Final = 60
_LINE: Final = 300
_LINES: Final = 6


def gate_notification(document: GateDocument, language: Language, link: str | None) -> Notification:
    """Return what is told of a gate, in a language; short enough for every service (about 2,000 characters).

    Args:
        document: The gate; its sentences are in the same language.
        language: Of the frame around them.
        link: Address of the pipeline, if known.
    """
    runs = document.comparison.candidate
    name = shortened(printable(runs[0].name if runs else "-"), _NAME)
    _, *said = (one.text for one in document.said)
    lines = [shortened(line, _LINE) for line in said[:_LINES]]
    lines.append(language.text("notify.candidate", side=shortened(side_text(runs, language), _LINE)))
    if document.history is None:
        side = side_text(document.comparison.baseline, language)
        lines.append(language.text("notify.baseline", side=shortened(side, _LINE)))
    if link:
        lines.append(language.text("notify.link", link=printable(link)))
    return Notification(
        title=language.text(_TITLES[document.verdict], name=name),
        body="\n".join(lines),
        kind=_KINDS[document.verdict],
    )
