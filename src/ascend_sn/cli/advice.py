"""What commands do with findings: the page of a rule, and the severity at which they fail."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

from ascend_sn.report.words.language import Language

if TYPE_CHECKING:
    from ascend_sn.advisor.rulebook import Rulebook
    from ascend_sn.advisor.thresholds import Thresholds
    from ascend_sn.report.documents.run import Document

__all__ = ["ALL_RULES", "check_rule", "print_explanation", "reaches"]

ALL_RULES: Final = "all"
"""In place of a rule: every finding, what was held back and why, which rules could not look."""

_LEVELS: Final = ("critical", "warning", "info")
_PAGE: Final = ("title", "why", "advice", "verify", "not-when")


def check_rule(name: str, book: Rulebook) -> str:
    """Return the code that the user means, or `all`.

    Raises:
        UnknownNameError: No rule of that code.
    """
    return ALL_RULES if name.lower() == ALL_RULES else book.load(name.upper()).code


def print_explanation(
    document: Document, rule: str, book: Rulebook, thresholds: Thresholds, language: Language
) -> None:
    """Write to standard output what a rule is and what it says of the run; of all rules what they say."""
    from ascend_sn.report.terminal.findings import write_explanation, write_explanations

    if rule == ALL_RULES:
        write_explanations(document, language, sys.stdout)
        return
    found = book.load(rule)
    page = {part: language.outline(found.text(part)) for part in _PAGE}
    write_explanation(document, rule, page, thresholds.of(rule), language, sys.stdout)


def reaches(severity: str, level: str | None) -> bool:
    """Whether a severity is the level to fail on, or worse."""
    return level in _LEVELS and _LEVELS.index(severity) <= _LEVELS.index(level)
