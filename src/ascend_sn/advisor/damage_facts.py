"""What could not be read, by kind."""

from __future__ import annotations

from typing import Final

import msgspec

from ascend_sn.advisor.facts import Facts, asked_once

__all__ = ["LOST", "DamageKind", "damage_kinds"]

LOST: Final = ("lost_rows", "lost_names")
"""Kinds that say that the recorder dropped something, not that a file is damaged."""


class DamageKind(msgspec.Struct):
    """One kind of damage or note, all files together: its entries in the ledger, and the rows that they count."""

    severity: str
    kind: str
    entries: int
    rows: int


@asked_once
def damage_kinds(facts: Facts) -> list[DamageKind]:
    """Return every kind in the ledger, by severity and name."""
    found = facts.table_rows(_BY_KIND, DamageKind) if facts.has_rows("damage") else []
    return sorted(found, key=lambda one: (one.severity, one.kind))


_BY_KIND: Final = """
    select severity, kind, count(*) as entries, sum("count")::bigint as rows
    from damage
    group by all
"""
