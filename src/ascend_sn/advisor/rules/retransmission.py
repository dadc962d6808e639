"""R-COMM-6 retransmission: a single transfer takes seconds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from ascend_sn.advisor.finding import Evidence, Location
from ascend_sn.advisor.rule import Claim, Context, Rule

__all__ = ["RULE"]


class _Call(msgspec.Struct, kw_only=True):
    """The longest transit of a group (A14), and how many are as long."""

    profile_id: int
    rank: int | None
    group_id: str | None
    op: str
    name: str | None
    step: int | None
    ts_ns: int
    dur_ns: int
    transit_ns: int
    calls: int


def check(context: Context) -> Iterator[Claim]:
    """Yield one claim per group, the longest transit first."""
    from_ns = context.limits["transit_from_ns"]
    for call in context.facts.query("collective_parts", _LONGEST, _Call, from_ns=from_ns):
        ranks = () if call.rank is None else (call.rank,)
        yield Claim(
            params={
                "op": call.op,
                "transit_ns": call.transit_ns,
                "rank": "?" if call.rank is None else call.rank,
                "call_count": call.calls,
            },
            location=Location(profile_ids=(call.profile_id,), ranks=ranks, group_id=call.group_id, names=(call.op,)),
            evidence=(
                Evidence(
                    name="transit_ns",
                    value=call.transit_ns,
                    source="collective_parts",
                    ranks=ranks,
                    steps=() if call.step is None else (call.step,),
                    start_ns=call.ts_ns,
                    end_ns=call.ts_ns + call.dur_ns,
                ),
            ),
            severity="critical",
            in_plan=False,
        )


_LONGEST: Final = """
    select profile_id, rank, group_id, op, name, step, ts_ns, dur_ns, transit_ns,
           count(*) over (partition by group_id) as calls
    from result
    where transit_ns >= $from_ns
    qualify row_number() over (partition by group_id order by transit_ns desc, profile_id, ts_ns) = 1
    order by transit_ns desc
"""

RULE = Rule("R-COMM-6", "retransmission", "communication", "config", check, needs=("collective_parts",), is_risk=True)
