"""R-IMB-1 straggler: the other ranks wait for one."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Final

import msgspec

from ascend_sn.advisor.finding import Evidence, Location
from ascend_sn.advisor.message import Message
from ascend_sn.advisor.rule import Claim, Context, Rule, Slices, TextPart
from ascend_sn.advisor.thresholds import Limits

if TYPE_CHECKING:
    from ascend_sn.replay import StepGraph, Transform, Unpriced

__all__ = ["RULE", "is_uneven_load"]


class _Row(msgspec.Struct, kw_only=True):
    """What is wanted of a row of `stragglers`."""

    profile_id: int
    rank: int | None
    stage: int | None
    peers: int
    steps: int
    own_ns: int
    peer_own_ns: int | None
    calls: int
    last_calls: int
    caused_wait_ns: int
    evidence: str | None
    cause: str | None
    compute_excess_ns: int | None
    data_excess_ns: int | None
    host_excess_ns: int | None
    copy_excess_ns: int | None

    @property
    def lost_ns(self) -> int:
        """What the others wait for it in a step; where no call shows it, what it takes longer than they do."""
        behind = 0 if self.peer_own_ns is None else self.own_ns - self.peer_own_ns
        return self.caused_wait_ns if self.last_calls else max(behind, 0)


def check(context: Context) -> Iterator[Claim]:
    """Yield one claim per straggler, the one that costs most first; of many that are an uneven load that one only."""
    if len(context.profiles) < 2:  # nobody to wait for
        return
    limits = context.limits
    # Ranks that never meet do not wait for each other.
    windows = {step.profile_id: step.window_ns for step in context.steps if step.communication_ns > 0}
    rows = context.facts.rows("stragglers", _Row, lambda row: row["is_straggler"] and row["profile_id"] in windows)
    rows.sort(key=lambda row: -row.lost_ns)
    uneven = _uneven_load(limits, len(rows), len(windows))
    for row in rows[:1] if uneven is not None else rows:
        window_ns = windows[row.profile_id] or 1
        lost_ratio = row.lost_ns / window_ns
        if row.lost_ns <= limits["wait_from_ns"] and lost_ratio <= limits["wait_from_ratio"]:
            continue
        cause = row.cause or "compute"
        excess_ns = getattr(row, f"{cause}_excess_ns") or 0
        yield Claim(
            params={
                "rank": "?" if row.rank is None else row.rank,
                "lost_ns": row.lost_ns,
                "lost_ratio": lost_ratio,
                "count": row.peers - 1,
                "cause": Message(f"cause.{cause}"),
                "excess_ns": excess_ns,
            },
            location=Location(
                profile_ids=(row.profile_id,), ranks=() if row.rank is None else (row.rank,), stage=row.stage
            ),
            evidence=_evidence(row, cause, excess_ns),
            slices=Slices("kernel", "kind in ('compute', 'fused')"),
            changes=(partial(_normalised, profile_id=row.profile_id),),
            at_stake_ns=row.lost_ns,
            suppressed_by=uneven or _set_up_alone(context, row),
            texts={"advice": _ADVICE[cause], **({} if row.last_calls else _BY_SCORE)},
        )


def is_uneven_load(limits: Limits, stragglers: int, ranks: int) -> bool:
    """Whether too many ranks take longer for one of them to be the cause: repairing one gains nothing."""
    return stragglers >= limits["many_from_count"] and stragglers > limits["many_above_ratio"] * ranks


def _uneven_load(limits: Limits, stragglers: int, ranks: int) -> Message | None:
    if not is_uneven_load(limits, stragglers, ranks):
        return None
    return Message("suppressed.uneven-load", {"count": stragglers, "rank_count": ranks})


def _set_up_alone(context: Context, row: _Row) -> Message | None:
    """Say that the only step of a marked capture is the first one, in which ranks meet by set-up alone."""
    if row.steps != 1:
        return None
    first = any(step.profile_id == row.profile_id and step.step in (0, 1) for step in context.steps)
    return Message("suppressed.first-step-only") if first else None


def _normalised(graph: StepGraph, *, profile_id: int) -> Transform | Unpriced:
    from ascend_sn.replay import straggler_normalised

    return straggler_normalised(graph, [profile_id])


def _evidence(row: _Row, cause: str, excess_ns: int) -> tuple[Evidence, ...]:
    figures: list[tuple[str, int | str]] = [("own_ns", row.own_ns), ("last_calls", row.last_calls)]
    figures += [("calls", row.calls), ("caused_wait_ns", row.caused_wait_ns), (f"{cause}_excess_ns", excess_ns)]
    if row.peer_own_ns is not None:
        figures.append(("peer_own_ns", row.peer_own_ns))
    if row.evidence:
        figures.append(("evidence", row.evidence))
    ranks = () if row.rank is None else (row.rank,)
    return tuple(Evidence(name=name, value=value, source="stragglers", ranks=ranks) for name, value in figures)


_BY_SCORE: Final[dict[TextPart, str]] = {"message": "rule.r-imb-1.message-score"}
_ADVICE: Final = {
    "compute": "rule.r-imb-1.advice-compute",
    "data": "rule.r-imb-1.advice-data",
    "host": "rule.r-imb-1.advice-host",
    "copy": "rule.r-imb-1.advice-copy",
}

RULE = Rule("R-IMB-1", "straggler", "communication", "code", check, needs=("stragglers",))
