"""R-COMM-1 serial communication: collectives run while nothing computes."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from ascend_sn.advisor.communication_changes import overlapped
from ascend_sn.advisor.finding import Evidence, Location
from ascend_sn.advisor.median_step import MedianStep, where
from ascend_sn.advisor.message import Message
from ascend_sn.advisor.rule import Claim, Context, Rule

__all__ = ["RULE"]


class _Compared(msgspec.Struct):
    """Equal kernels beside communication and alone (A19): how many, and their median time."""

    overlapped_count: int
    overlapped_ns: float
    alone_ns: float


class _Exposed(msgspec.Struct):
    """Exposed communication of a profile, and what of it is waiting or nothing at all (A03b)."""

    exposed_comm_ns: int
    exposed_wait_ns: int
    exposed_idle_ns: int


def check(context: Context) -> Iterator[Claim]:
    """Yield one claim, about the rank whose communication stands alone longest."""
    limits = context.limits
    serial = [
        step
        for step in context.steps
        if step.communication_ns > 0
        and step.overlapped_ns < limits["overlap_below_ratio"] * step.communication_ns
        and step.exposed_comm_ns >= limits["exposed_from_ratio"] * step.window_ns
    ]
    if not serial:
        return
    worst = max(serial, key=lambda step: step.exposed_comm_ns)
    overlap_ratio = worst.overlapped_ns / worst.communication_ns
    slowdown = _slowdown(context, worst)
    contended = slowdown is not None and slowdown > limits["contention_from_ratio"]
    hideable_ratio = _hideable_ratio(context, worst)
    yield Claim(
        params={
            "where": where(worst, len(context.steps)),
            "communication_ns": worst.communication_ns,
            "exposed_ns": worst.exposed_comm_ns,
            "exposed_ratio": worst.exposed_comm_ns / worst.window_ns,
            "overlap_ratio": overlap_ratio,
        },
        location=Location(
            profile_ids=tuple(step.profile_id for step in serial),
            ranks=tuple(step.rank for step in serial if step.rank is not None),
        ),
        evidence=_evidence(worst, overlap_ratio, slowdown),
        changes=(overlapped,),
        at_stake_ns=round(worst.exposed_comm_ns * hideable_ratio),
        # The price is that of the bytes; where these are the smaller part, little of it says little.
        tells_hidden=hideable_ratio < limits["told_below_ratio"],
        suppressed_by=Message("suppressed.contention", {"slowdown_ratio": slowdown}) if contended else None,
    )


def _hideable_ratio(context: Context, step: MedianStep) -> float:
    """Share of the exposed communication that is not known to be waiting or idle: only that can be hidden."""
    rows = context.facts.rows("communication_grade", _Exposed, lambda row: row["profile_id"] == step.profile_id)
    if not rows or not rows[0].exposed_comm_ns:
        return 1.0
    return 1 - (rows[0].exposed_wait_ns + rows[0].exposed_idle_ns) / rows[0].exposed_comm_ns


def _slowdown(context: Context, step: MedianStep) -> float | None:
    """How many times longer computing takes beside communication, where enough was seen both ways (A19)."""
    rows = context.facts.rows(
        "contention", _Compared, lambda row: row["kind"] == "compute" and row["profile_id"] == step.profile_id
    )
    seen_ns = sum(row.overlapped_count * row.overlapped_ns for row in rows)
    alone_ns = sum(row.overlapped_count * row.alone_ns for row in rows)
    if not alone_ns or seen_ns < context.limits["contention_seen_from_ratio"] * step.window_ns:
        return None
    return seen_ns / alone_ns


def _evidence(step: MedianStep, overlap_ratio: float, slowdown: float | None) -> tuple[Evidence, ...]:
    ranks = () if step.rank is None else (step.rank,)
    steps = () if step.step is None else (step.step,)
    figures: list[tuple[str, int | float, str]] = [
        ("communication_ns", step.communication_ns, "step_breakdown"),
        ("overlapped_ns", step.overlapped_ns, "step_breakdown"),
        ("exposed_comm_ns", step.exposed_comm_ns, "step_breakdown"),
        ("overlap_ratio", overlap_ratio, "communication_overlap"),
    ]
    if slowdown is not None:
        figures.append(("slowdown_ratio", slowdown, "contention"))
    return tuple(Evidence(name=n, value=v, source=source, ranks=ranks, steps=steps) for n, v, source in figures)


RULE = Rule("R-COMM-1", "serial-communication", "communication", "code", check, needs=("communication_overlap",))
