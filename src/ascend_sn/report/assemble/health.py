"""The health section: damage, contradictions, ranks, and what was not collected."""

from __future__ import annotations

from typing import Final

import msgspec

from ascend_sn.advisor.damage_facts import damage_kinds
from ascend_sn.advisor.device_data import SilentDevice
from ascend_sn.advisor.facts import Facts
from ascend_sn.report.documents.health import Check, Clock, Coverage, Damage, Difference, Health, Ranks

__all__ = ["health_section"]

_ENTRIES_LISTED: Final = 200

# Rows of these checks are named by other lines of the health section already, or contradict nothing.
_OTHERWISE_SHOWN: Final = ("damaged_rows",)


class _Presence(msgspec.Struct):
    present: int
    expected: int | None
    expected_is_exact: bool
    basis: str
    profiles: int
    missing_ranks: str | None
    duplicate_ranks: str | None
    extra_ranks: str | None
    unknown_rank_count: int


class _Score(msgspec.Struct):
    score: float | None
    rows_checked: int


def health_section(facts: Facts, silent: list[SilentDevice]) -> Health:
    """Return what is known about the quality of a run's data."""
    kinds = damage_kinds(facts)
    damage = facts.table_rows(_LARGEST_DAMAGE, Damage) if kinds else []
    checks: dict[str, Check] = {}
    for row in facts.rows("data_quality", Check):
        if row.violations and row.check not in _OTHERWISE_SHOWN:
            so_far = checks.setdefault(row.check, Check(check=row.check, violations=0, checked=0))
            so_far.violations += row.violations
            so_far.checked = (so_far.checked or 0) + (row.checked or 0)
    scores = facts.rows("data_score", _Score)
    return Health(
        damage_count=sum(one.rows for one in kinds if one.severity == "damage"),
        note_count=sum(one.entries for one in kinds if one.severity != "damage"),
        damage=damage,
        checks=sorted(checks.values(), key=lambda check: check.check),
        score=min((row.score for row in scores if row.score is not None), default=None),
        rows_checked=sum(row.rows_checked for row in scores),
        ranks=_ranks(facts),
        silent_devices=silent,
        not_collected=_not_collected(facts),
        differences=facts.rows("capture_differences", Difference)[:_ENTRIES_LISTED],
        clocks=_clocks(facts),
    )


_LARGEST_DAMAGE: Final = f"""
    select rank, file, place, kind, severity, "count", example
    from damage
    order by severity, "count" desc, file, place
    limit {_ENTRIES_LISTED}
"""


def _clocks(facts: Facts) -> list[Clock]:
    clocks = facts.rows("clock_offsets", Clock)
    return clocks[:_ENTRIES_LISTED] if len(clocks) > 1 else []


def _ranks(facts: Facts) -> Ranks | None:
    found = facts.rows("rank_presence", _Presence)
    if not found:
        return None
    presence = found[0]
    return msgspec.convert(
        {
            **msgspec.structs.asdict(presence),
            "missing_ranks": _numbers(presence.missing_ranks),
            "duplicate_ranks": _numbers(presence.duplicate_ranks),
            "extra_ranks": _numbers(presence.extra_ranks),
        },
        Ranks,
    )


def _not_collected(facts: Facts) -> list[Coverage]:
    return facts.table_rows(
        """
        select table_name as "table", column_name as "column", state, coalesce(any_value(reason), '') as reason,
               coalesce(any_value(turn_on), '') as turn_on, count(*) as profile_count
        from coverage
        where state not in ('collected', 'empty')
        group by table_name, column_name, state
        order by list_position(['missing', 'damaged', 'not_requested', 'unsupported'], state),
                 table_name, column_name nulls first
        """,
        Coverage,
    )


def _numbers(text: str | None) -> list[int]:
    return [int(part) for part in text.split(",")] if text else []
