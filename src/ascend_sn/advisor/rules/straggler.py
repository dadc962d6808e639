"""R-IMB-1 straggler: the other ranks wait for one, or for a few that are slow alike."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Final

import msgspec

from ascend_sn.advisor.facts import Facts
from ascend_sn.advisor.finding import Evidence, Location
from ascend_sn.advisor.heavier_work import has_more_work, work_shared
from ascend_sn.advisor.message import Message
from ascend_sn.advisor.rank_names import ranks_named
from ascend_sn.advisor.rule import Claim, Context, Outcome, Rule, Slices, TextPart
from ascend_sn.advisor.thresholds import Limits
from ascend_sn.advisor.too_few import missing_ranks
from ascend_sn.model.kinds import COMPUTE_KINDS

if TYPE_CHECKING:
    from ascend_sn.replay import Replay, StepGraph, Transform, Unpriced

__all__ = ["RULE", "Straggler", "uneven_load"]

_ALONE_RATIO: Final = 0.2
"""Where repairing one of several gains this share of what repairing all gains, each is told alone."""

_ENOUGH_RATIO: Final = 0.5
"""Else so many are told together that they gain this share of it."""

_TRIED_ALONE: Final = 8
"""Stragglers whose repair alone is tried, those that cost most."""


class Straggler(msgspec.Struct, kw_only=True):
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
        return self.caused_wait_ns if self.last_calls else self.behind_ns

    @property
    def behind_ns(self) -> int:
        """What it takes longer in a step than the others do."""
        return 0 if self.peer_own_ns is None else max(self.own_ns - self.peer_own_ns, 0)

    @property
    def excess_ns(self) -> int:
        """What its cause makes it longer by."""
        return int(getattr(self, f"{self.cause or 'compute'}_excess_ns") or 0)

    def has_more_work(self, facts: Facts) -> bool | None:
        """Whether it is longer because it has more to do; None where nothing tells."""
        return has_more_work(facts, self.profile_id) if self.cause == "compute" else False


def check(context: Context) -> Iterator[Outcome]:
    """Yield a claim for each straggler, or for those that hold the step together, the one that costs most first.

    Of many that are an uneven load, and of several that have more to do, it holds back the one that costs most: R-IMB-2
    is about them.
    """
    if len(context.profiles) < 2:  # nobody to wait for
        if (lacking := missing_ranks(context, "stragglers")) is not None:
            yield lacking
        return
    windows, rows = _stragglers(context)
    uneven, reason = uneven_load(context)
    if uneven and reason is not None:
        yield _claim(context, uneven[:1], windows, reason)
    lost = [row for row in rows if row not in uneven and row.lost_ns > _least_ns(context, windows[row.profile_id])]
    hidden = [row for row in rows if row not in uneven and row not in lost]
    for together in _holding_together(context, lost, hidden):
        yield _claim(context, together, windows, _set_up_alone(context, together[0]))


def uneven_load(context: Context) -> tuple[list[Straggler], Message | None]:
    """Return the stragglers that are an uneven load, the one that costs most first, and how that is known."""
    windows, rows = _stragglers(context)
    unlike = [row for row in rows if row.has_more_work(context.facts) is not False]
    heavier = [row for row in unlike if row.has_more_work(context.facts)]
    if len(heavier) > 1:
        # Those of whom nothing tells, as they were not replayed, are taken to be like these.
        alike = [*heavier, *(row for row in unlike if row not in heavier)]
        return alike, Message("suppressed.more-work", {"ranks": ranks_named(row.rank for row in alike)})
    if _is_many(context.limits, len(unlike), len(windows)):
        return unlike, Message("suppressed.uneven-load", {"count": len(unlike), "rank_count": len(windows)})
    return [], None


def _stragglers(context: Context) -> tuple[dict[int, int], list[Straggler]]:
    """The step of each rank that communicates, and the stragglers that are late enough, the costliest first.

    The others hardly wait for one that is late where they wait for a later one anyway.
    """
    # Ranks that never meet do not wait for each other.
    windows = {step.profile_id: step.window_ns or 1 for step in context.steps if step.communication_ns > 0}
    rows = context.facts.rows("stragglers", Straggler, lambda row: row["is_straggler"] and row["profile_id"] in windows)
    rows = [row for row in rows if max(row.lost_ns, row.behind_ns) > _least_ns(context, windows[row.profile_id])]
    return windows, sorted(rows, key=lambda row: (-row.lost_ns, -row.behind_ns, row.profile_id))


def _least_ns(context: Context, window_ns: int) -> float:
    return min(context.limits["wait_from_ns"], context.limits["wait_from_ratio"] * window_ns)


def _holding_together(context: Context, lost: list[Straggler], hidden: list[Straggler]) -> Iterator[list[Straggler]]:
    """Part stragglers into those that have to be repaired together to gain anything, and each of the others alone.

    Those that hide behind others are told with them only.
    """
    from ascend_sn.replay import Unpriced

    rows = [*lost, *hidden] if lost else []
    count = min(len(rows), 1)
    if len(rows) > 1:
        replay = context.replay
        if not isinstance(replay, Unpriced) and replay.refusal is None:
            all_ns = _gain_ns(replay, rows)
            if max(_gain_ns(replay, [row]) for row in lost[:_TRIED_ALONE]) < _ALONE_RATIO * all_ns:
                while count < len(rows) and _gain_ns(replay, rows[:count]) < _ENOUGH_RATIO * all_ns:
                    count = min(2 * count, len(rows))
    yield from [rows[:count]] if rows else []
    yield from ([row] for row in lost[count:])


def _gain_ns(replay: Replay, rows: list[Straggler]) -> int:
    from ascend_sn.replay import Unpriced

    found = replay.gain(partial(_normalised, profile_ids=tuple(row.profile_id for row in rows)))
    return 0 if isinstance(found, Unpriced) else found.expected_ns


def _claim(context: Context, rows: list[Straggler], windows: dict[int, int], reason: Message | None) -> Claim:
    first = rows[0]
    causes = list(dict.fromkeys(row.cause or "compute" for row in rows))
    profile_ids = tuple(row.profile_id for row in rows)
    more_work = len(rows) == 1 and first.has_more_work(context.facts)
    lost_ns = max(row.lost_ns for row in rows)
    return Claim(
        params={
            "rank": "?" if first.rank is None else first.rank,
            "ranks": ranks_named(row.rank for row in rows),
            "lost_ns": lost_ns,
            "lost_ratio": max(row.lost_ns / windows[row.profile_id] for row in rows),
            "count": first.peers - 1,
            "cause": Message(f"cause.{causes[0]}") if len(causes) == 1 else Message("cause.several"),
            "excess_ns": max(row.excess_ns for row in rows),
        },
        location=Location(
            profile_ids=profile_ids,
            ranks=tuple(sorted(row.rank for row in rows if row.rank is not None)),
            stage=first.stage if len({row.stage for row in rows}) == 1 else None,
        ),
        evidence=tuple(figure for row in rows for figure in _evidence(row)),
        slices=Slices("kernel", f"kind in {COMPUTE_KINDS}"),
        changes=(work_shared(context.facts) if more_work else partial(_normalised, profile_ids=profile_ids),),
        at_stake_ns=lost_ns,
        suppressed_by=reason,
        texts=_texts(context, rows, causes),
    )


def _texts(context: Context, rows: list[Straggler], causes: list[str]) -> dict[TextPart, str]:
    advice = _ADVICE[causes[0]] if len(causes) == 1 else "rule.r-imb-1.advice"
    if causes == ["compute"]:
        told = {row.has_more_work(context.facts) for row in rows}
        advice = _ADVICE_BY_WORK[told.pop()] if len(told) == 1 else advice
    if len(rows) > 1:
        return {"advice": advice, "title": "rule.r-imb-1.title-several", "message": "rule.r-imb-1.message-several"}
    return {"advice": advice, **({} if rows[0].last_calls else _BY_SCORE)}


def _is_many(limits: Limits, stragglers: int, ranks: int) -> bool:
    """Whether too many ranks take longer for one of them to be the cause: repairing one gains nothing."""
    return stragglers >= limits["many_from_count"] and stragglers > limits["many_above_ratio"] * ranks


def _set_up_alone(context: Context, row: Straggler) -> Message | None:
    """Say that the only step of a marked capture is the first one, in which ranks meet by set-up alone."""
    if row.steps != 1:
        return None
    first = any(step.profile_id == row.profile_id and step.step in (0, 1) for step in context.steps)
    return Message("suppressed.first-step-only") if first else None


def _normalised(graph: StepGraph, *, profile_ids: tuple[int, ...]) -> Transform | Unpriced:
    from ascend_sn.replay import straggler_normalised

    return straggler_normalised(graph, profile_ids)


def _evidence(row: Straggler) -> Iterator[Evidence]:
    figures: list[tuple[str, int | str]] = [("own_ns", row.own_ns), ("last_calls", row.last_calls)]
    figures += [("calls", row.calls), ("caused_wait_ns", row.caused_wait_ns)]
    figures.append((f"{row.cause or 'compute'}_excess_ns", row.excess_ns))
    if row.peer_own_ns is not None:
        figures.append(("peer_own_ns", row.peer_own_ns))
    if row.evidence:
        figures.append(("evidence", row.evidence))
    ranks = () if row.rank is None else (row.rank,)
    yield from (Evidence(name=name, value=value, source="stragglers", ranks=ranks) for name, value in figures)


_BY_SCORE: Final[dict[TextPart, str]] = {"message": "rule.r-imb-1.message-score"}
_ADVICE: Final = {
    "compute": "rule.r-imb-1.advice-compute",
    "data": "rule.r-imb-1.advice-data",
    "host": "rule.r-imb-1.advice-host",
    "copy": "rule.r-imb-1.advice-copy",
}
_ADVICE_BY_WORK: Final = {
    None: "rule.r-imb-1.advice-compute",
    False: "rule.r-imb-1.advice-same-work",
    True: "rule.r-imb-1.advice-more-work",
}
"""Of computing that takes longer: nothing tells why; the same kernels are slower; there is more to compute."""

RULE = Rule("R-IMB-1", "straggler", "communication", "code", check, needs=("stragglers",))
