"""R-PROF-5 different captures: ranks were recorded with different settings."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from ascend_sn.advisor.finding import Evidence
from ascend_sn.advisor.rule import Claim, Context, Rule

__all__ = ["RULE"]


class _Difference(msgspec.Struct, kw_only=True):
    """A row of `capture_differences`."""

    setting: str
    usual_value: str
    other_value: str
    other_ranks: str
    other_count: int


def check(context: Context) -> Iterator[Claim]:
    """Yield one claim about all settings that differ."""
    rows = context.facts.rows("capture_differences", _Difference)
    if len({row.setting for row in rows}) < context.limits["settings_from_count"]:
        return
    first = rows[0]
    yield Claim(
        params={
            "count": len({row.setting for row in rows}),
            "setting": first.setting.removeprefix("config."),
            "usual": first.usual_value,
            "other": first.other_value,
            "ranks": first.other_ranks,
        },
        evidence=tuple(
            Evidence(
                name=row.setting,
                value=f"{row.other_value} ({row.other_ranks}) / {row.usual_value}",
                source="capture_differences",
            )
            for row in rows[:8]
        ),
        severity="warning",
        in_plan=False,
    )


RULE = Rule("R-PROF-5", "different-captures", "collection", "config", check, is_risk=True)
