"""R-PROF-3 lost rows: the profiler ran out of room while it recorded."""

from __future__ import annotations

from collections.abc import Iterator

from ascend_sn.advisor.damage_facts import LOST, damage_kinds
from ascend_sn.advisor.finding import Evidence
from ascend_sn.advisor.rule import Claim, Context, Rule

__all__ = ["RULE"]


def check(context: Context) -> Iterator[Claim]:
    """Yield one claim about all rows that were dropped."""
    lost: dict[str, int] = {}
    for one in damage_kinds(context.facts):
        if one.kind in LOST:
            lost[one.kind] = lost.get(one.kind, 0) + one.rows
    rows = sum(lost.values())
    if rows < context.limits["rows_from_count"]:
        return
    yield Claim(
        params={"count": rows},
        evidence=tuple(Evidence(name=kind, value=lost[kind], source="damage") for kind in sorted(lost)),
        severity="warning",
        in_plan=False,
    )


RULE = Rule("R-PROF-3", "lost-rows", "collection", "config", check, is_risk=True)
