"""R-PROF-1 no device data: the host launched work, and the capture holds none of it."""

from __future__ import annotations

from collections.abc import Iterator

from ascend_sn.advisor.device_data import silent_devices
from ascend_sn.advisor.finding import Evidence, Location
from ascend_sn.advisor.rule import Claim, Context, Rule

__all__ = ["RULE"]


def check(context: Context) -> Iterator[Claim]:
    """Yield one claim about all profiles without device records."""
    silent = silent_devices(context.facts)
    if not silent:
        return
    ranks = tuple(one.rank for one in silent if one.rank is not None)
    yield Claim(
        params={
            "count": len(silent),
            "launch_count": sum(one.launch_count for one in silent),
            "ranks": ", ".join(map(str, ranks[:8])) or "?",
        },
        location=Location(ranks=ranks),
        evidence=tuple(
            Evidence(
                name="launch_count",
                value=one.launch_count,
                source="host_call",
                ranks=() if one.rank is None else (one.rank,),
            )
            for one in silent[:8]
        ),
        severity="critical",
        in_plan=False,
    )


RULE = Rule("R-PROF-1", "no-device-data", "collection", "config", check, is_risk=True)
