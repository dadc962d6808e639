"""R-PROF-3 lost rows: the profiler ran out of room while it recorded."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from ascend_sn.advisor.finding import Evidence
from ascend_sn.advisor.rule import Claim, Context, Rule

__all__ = ["RULE"]


class _Lost(msgspec.Struct):
    kind: str
    rows: int


def check(context: Context) -> Iterator[Claim]:
    """Yield one claim about all rows that were dropped."""
    lost = context.facts.table_rows(_LOST, _Lost)
    rows = sum(one.rows for one in lost)
    if rows < context.limits["rows_from_count"]:
        return
    yield Claim(
        params={"count": rows},
        evidence=tuple(Evidence(name=one.kind, value=one.rows, source="damage") for one in lost),
        severity="warning",
        in_plan=False,
    )


_LOST: Final = """
    select kind, sum("count")::bigint as rows
    from damage
    where kind in ('lost_rows', 'lost_names')
    group by kind
    order by kind
"""

RULE = Rule("R-PROF-3", "lost-rows", "collection", "config", check, is_risk=True)
