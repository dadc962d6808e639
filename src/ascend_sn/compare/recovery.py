"""What restoring one cause of a regression would give back, as a record; `restore` works it out."""

from __future__ import annotations

from typing import Literal

import msgspec

from ascend_sn.model.message import Message

__all__ = ["Recovery"]


class Recovery(msgspec.Struct, frozen=True, kw_only=True):
    """What restoring one cause would give back.

    Attributes:
        kind: compute, communication, copy or free.
        name: Operator, primitive, direction or cause of free time.
        delta_ns: What it added to the step.
        recovered_ns: What of the step would be saved with it as before.
        recovered_ratio: Of the whole regression.
        method: `replay`: the step was replayed with this cause as before, so that what would take its place is known;
            `measured`: its own share, of what cannot be replayed.
        confidence: Of the replay.
        why_measured: Why there is no replay; null where there is.
    """

    kind: str
    name: str
    delta_ns: int
    recovered_ns: int
    recovered_ratio: float
    method: Literal["replay", "measured"]
    confidence: Literal["high", "medium", "low"]
    why_measured: Message | None = None
