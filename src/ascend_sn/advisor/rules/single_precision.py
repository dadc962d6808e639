"""R-OP-7 single precision: most matrix work is done in float32."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import msgspec

from ascend_sn.advisor.evidence import figures, place
from ascend_sn.advisor.median_step import where
from ascend_sn.advisor.rule import Claim, Context, Rule

if TYPE_CHECKING:
    from ascend_sn.replay import StepGraph, Transform, Unpriced

__all__ = ["RULE"]


class _Group(msgspec.Struct):
    profile_id: int
    op_type: str
    input_dtypes: str | None
    total_ns: int
    share_ratio: float


class _Sums:
    """Time of the matrix operators of one rank by precision."""

    def __init__(self) -> None:
        self.total_ns = self.single_ns = self.low_ns = 0
        self.share_ratio = 0.0
        self.names: list[str] = []


def check(context: Context) -> Iterator[Claim]:
    """Yield one claim, about the rank with most float32 matrix time."""
    from ascend_sn.analysis.shapes import plain_dtypes

    limits = context.limits
    steps = {step.profile_id: step for step in context.device_steps}
    sums: dict[int, _Sums] = {}
    matrix = context.facts.rows("roofline", _Group, lambda row: row["family"] is not None)
    for group in sorted(matrix, key=_longest_first):
        dtypes = plain_dtypes(group.input_dtypes) or ()
        if group.profile_id not in steps or not any(dtypes):
            continue
        own = sums.setdefault(group.profile_id, _Sums())
        own.total_ns += group.total_ns
        if "float32" in dtypes:
            own.single_ns += group.total_ns
            own.share_ratio += group.share_ratio
            own.names = list(dict.fromkeys([*own.names, group.op_type]))
        elif any(dtype in _LOW for dtype in dtypes):
            own.low_ns += group.total_ns
    found = [
        (steps[profile_id], own)
        for profile_id, own in sums.items()
        if own.single_ns > limits["single_above_ratio"] * own.total_ns
        and own.low_ns < limits["low_below_ratio"] * own.total_ns
        and own.share_ratio * steps[profile_id].compute_ns >= limits["time_from_ratio"] * steps[profile_id].window_ns
    ]
    if not found:
        return
    step, own = max(found, key=lambda pair: pair[1].single_ns)
    time_ns = round(own.share_ratio * step.compute_ns)
    yield Claim(
        params={
            "where": where(step, len(context.steps)),
            "single_ratio": own.single_ns / own.total_ns,
            "time_ns": time_ns,
            "share_ratio": own.share_ratio,
            "names": ", ".join(own.names[:3]),
        },
        location=place(step, own.names),
        evidence=figures(
            step,
            "roofline",
            {"matrix_ns": own.total_ns, "float32_ns": own.single_ns, "low_precision_ns": own.low_ns},
        ),
        changes=(_in_half,),
        at_stake_ns=time_ns,
    )


def _longest_first(group: _Group) -> tuple[int, str, bool, str, int]:
    return -group.total_ns, group.op_type, group.input_dtypes is None, group.input_dtypes or "", group.profile_id


def _in_half(graph: StepGraph) -> Transform | Unpriced:
    from ascend_sn.replay import lower_precision

    return lower_precision(graph)


_LOW: Final = ("float16", "bfloat16", "float8", "int8")

RULE = Rule("R-OP-7", "single-precision", "compute", "code", check, needs=("roofline",))
