"""The damage ledger and the coverage list: what could not be read, and what was asked for.

"Not collected", "collected and empty", "damaged" and "zero" are four different things; these two lists
keep them apart, and every view shows them first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

import msgspec

from ascend_sn.model.rows import Rows, conform
from ascend_sn.model.tables import COVERAGE, DAMAGE

__all__ = [
    "LAUNCHES_IN_REASON", "CoverageEntry", "DamageEntry", "Ledger", "Severity", "State", "coverage_rows", "kind_words",
    "launches_text",
]  # fmt: skip

Severity = Literal["info", "damage"]
State = Literal["collected", "empty", "missing", "not_requested", "damaged", "unsupported"]

_EXAMPLE_LENGTH = 200
_SPELLED = {"csv": "CSV", "json": "JSON", "utf8": "UTF-8"}


def kind_words(kind: str) -> str:
    """Return a kind of damage in words, for messages that are written where no catalogue is at hand."""
    return " ".join(_SPELLED.get(word, word) for word in kind.split("_"))


class DamageEntry(msgspec.Struct, frozen=True):
    """One kind of trouble at one place of a file; `count` says how often it was met."""

    file: str
    place: str
    kind: str
    count: int
    example: str
    severity: Severity


@dataclass(frozen=True)
class CoverageEntry:
    """What happened to a table, or to one column of it.

    States: `collected`; `empty` (asked for, none happened); `missing` (asked for, nothing came);
    `not_requested`; `damaged`; `unsupported` (the source or device cannot deliver it).
    """

    table_name: str
    state: State
    reason: str = ""
    turn_on: str = ""
    column_name: str | None = None


LAUNCHES_IN_REASON: Final = r"(\d+) launches"
"""Finds in the reason of missing kernels how many the host launched, as `launches_text` says it."""


def launches_text(count: int) -> str:
    """Say in a reason how many kernels the host launched; no table holds the number where no kernel came."""
    return f"{count} launches"


class Ledger(msgspec.Struct):
    """Collects damage of one profile (or of the whole input) while it is read."""

    entries: list[DamageEntry] = msgspec.field(default_factory=list)

    def add(
        self,
        file: str,
        kind: str,
        *,
        place: str = "",
        count: int = 1,
        example: str = "",
        severity: Severity = "damage",
    ) -> None:
        """Record trouble; `kind` is a stable word such as `truncated`, `example` is shortened."""
        if len(example) > _EXAMPLE_LENGTH:
            example = example[: _EXAMPLE_LENGTH - 1] + "\u2026"
        self.entries.append(DamageEntry(file, place, kind, count, example, severity))

    def rows(self) -> Rows:
        """Return the `damage` table."""
        entries = self.entries
        return conform(
            DAMAGE,
            len(entries),
            file=[entry.file for entry in entries],
            place=[entry.place for entry in entries],
            kind=[entry.kind for entry in entries],
            severity=[entry.severity for entry in entries],
            count=[entry.count for entry in entries],
            example=[entry.example for entry in entries],
        )


def coverage_rows(entries: list[CoverageEntry]) -> Rows:
    """Return the `coverage` table."""
    return conform(
        COVERAGE,
        len(entries),
        table_name=[entry.table_name for entry in entries],
        column_name=[entry.column_name for entry in entries],
        state=[entry.state for entry in entries],
        reason=[entry.reason for entry in entries],
        turn_on=[entry.turn_on for entry in entries],
    )
