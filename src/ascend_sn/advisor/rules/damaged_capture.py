"""R-PROF-2 damaged capture: files or rows could not be read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from ascend_sn.advisor.finding import Evidence
from ascend_sn.advisor.rule import Claim, Context, Rule

__all__ = ["RULE"]


class _Damaged(msgspec.Struct):
    """One kind of damage, all files together."""

    kind: str
    files: int
    rows: int


class _Score(msgspec.Struct):
    score: float | None


def check(context: Context) -> Iterator[Claim]:
    """Yield one claim about everything that is damaged; critical where a tenth of the rows contradict themselves."""
    damaged = context.facts.table_rows(_DAMAGED, _Damaged)
    scores = context.facts.query("data_score", "select min(score) as score from result", _Score)
    score = scores[0].score if scores else None
    poor = score is not None and score < context.limits["score_below_ratio"]
    if not damaged:
        return
    yield Claim(
        params={
            "count": sum(one.rows for one in damaged),
            "kinds": ", ".join(one.kind.replace("_", " ") for one in damaged[:3]),
        },
        evidence=(
            *(Evidence(name=one.kind, value=one.rows, source="damage") for one in damaged[:8]),
            *([] if score is None else [Evidence(name="score", value=score, source="data_score")]),
        ),
        severity="critical" if poor else "warning",
        in_plan=False,
    )


_DAMAGED: Final = """
    select kind, count(distinct file) as files, sum("count")::bigint as rows
    from damage
    where severity = 'damage' and kind not in ('lost_rows', 'lost_names')
    group by kind
    order by rows desc, kind
"""

RULE = Rule("R-PROF-2", "damaged-capture", "collection", "config", check, is_risk=True)
