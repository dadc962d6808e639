"""R-PROF-2 damaged capture: files or rows could not be read."""

from __future__ import annotations

from collections.abc import Iterator

from ascend_sn.advisor.damage_facts import LOST, damage_kinds
from ascend_sn.advisor.finding import Evidence
from ascend_sn.advisor.rule import Claim, Context, Rule

__all__ = ["RULE"]


def check(context: Context) -> Iterator[Claim]:
    """Yield one claim about everything that is damaged; critical where a tenth of the rows contradict themselves."""
    damaged = [one for one in damage_kinds(context.facts) if one.severity == "damage" and one.kind not in LOST]
    if not damaged:
        return
    damaged.sort(key=lambda one: (-one.rows, one.kind))
    score = context.shared.score
    poor = score is not None and score < context.limits["score_below_ratio"]
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


RULE = Rule("R-PROF-2", "damaged-capture", "collection", "config", check, is_risk=True)
