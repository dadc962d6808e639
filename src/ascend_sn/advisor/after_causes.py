"""What other findings are still worth once the causes of the waiting between ranks are dealt with.

A rank that comes late lets the hosts of the others wait for their devices, and makes communication long. Whoever does
something about that treats what another finding is the cause of: it is ordered by what is left of it, and held back
where nothing is.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

import msgspec

from ascend_sn.advisor.facts import Facts
from ascend_sn.advisor.finding import PricedGain
from ascend_sn.advisor.message import Message
from ascend_sn.advisor.pricing import Price
from ascend_sn.advisor.rule import Claim, Rule, Shared

if TYPE_CHECKING:
    from ascend_sn.replay import Transform

__all__ = ["CAUSES", "Priced", "left_after_causes"]

CAUSES: Final = ("R-COMM-5", "R-IMB-1", "R-IMB-2")
"""Rules whose findings, where the replay prices them, are the causes of what ranks wait for each other."""

_TOLD_BELOW_RATIO: Final = 0.9
"""What is left of a gain is said where it is less than this share of it."""

_CONSEQUENCES: Final = ("communication", "host")
"""Topics of what waiting for others looks like."""


class Priced(msgspec.Struct, frozen=True):
    """A claim of a rule that is told, and its price.

    Attributes:
        rule: The rule.
        claim: What it claims.
        name: Id of the finding.
        price: Its price, as if nothing else were changed.
        left_ns: What is still gained after the causes are dealt with; None where that is not asked.
    """

    rule: Rule
    claim: Claim
    name: str
    price: Price
    left_ns: int | None = None

    @property
    def change(self) -> Transform | None:
        """What was replayed for it."""
        return self.price.transform if self.price.gain is not None else None


class _Host(msgspec.Struct):
    """What is wanted of a row of `stragglers`."""

    profile_id: int


def left_after_causes(shared: Shared, told: Sequence[Priced]) -> list[Priced]:
    """Return the claims with what is left of those that may be consequences, and say so beside their price."""
    causes = [one for one in told if one.rule.code in CAUSES and one.change is not None]
    if not causes:
        return list(told)
    rules = ", ".join(dict.fromkeys(one.rule.code for one in causes))
    before_ns = _replayed_ns(shared, causes)
    found = []
    for one in told:
        gain = one.price.gain
        if gain is not None and one.change is not None and _may_follow(shared.facts, one):
            left_ns = min(round(before_ns - _replayed_ns(shared, [*causes, one])), gain.expected_ns)
            one = msgspec.structs.replace(one, left_ns=left_ns)
            if left_ns < _TOLD_BELOW_RATIO * gain.expected_ns:
                remark = Message("gain.after-cause", {"rules": rules, "left_ns": max(left_ns, 0)})
                one = msgspec.structs.replace(one, price=_remarked(one.price, gain, remark))
        found.append(one)
    return found


def _may_follow(facts: Facts, one: Priced) -> bool:
    """Whether a claim can be what a cause does: it is none itself, nor about the host that is late."""
    if one.rule.code in CAUSES or one.rule.topic not in _CONSEQUENCES:
        return False
    late = facts.rows("stragglers", _Host, lambda row: row["is_straggler"] and row["cause"] == "host")
    return one.rule.topic != "host" or not {row.profile_id for row in late} & set(one.claim.location.profile_ids)


def _replayed_ns(shared: Shared, claims: Iterable[Priced]) -> float:
    from ascend_sn.replay import Replay
    from ascend_sn.replay.prices import replayed_ns

    replay = shared.replay
    bounds = [claim.change.expected for claim in claims if claim.change is not None]
    return replayed_ns(replay.graph, *bounds) if isinstance(replay, Replay) else 0.0


def _remarked(price: Price, gain: PricedGain, remark: Message) -> Price:
    return msgspec.structs.replace(price, gain=msgspec.structs.replace(gain, remarks=(*gain.remarks, remark)))
