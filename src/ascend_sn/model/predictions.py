"""What a report predicted, kept with the run, so that a later comparison can hold it against what came of it."""

from __future__ import annotations

from typing import Final, Literal

import msgspec

__all__ = ["PREDICTIONS_VERSION", "Prediction", "Predictions"]

PREDICTIONS_VERSION: Final = 1


class Prediction(msgspec.Struct, frozen=True, kw_only=True):
    """The predicted gain of one finding, ns per step of `base_ns`: low <= expected <= high.

    `order` is its place in the joint plan, from 1; then `after_ns` is the length of the step with it and those before
    it. Both are null for a change that is not in the plan.
    """

    id: str
    rule: str
    confidence: Literal["high", "medium", "low"]
    method: Literal["replay", "direct"]
    change: str
    low_ns: int
    expected_ns: int
    high_ns: int
    base_ns: int
    order: int | None = None
    after_ns: int | None = None


class Predictions(msgspec.Struct, frozen=True, kw_only=True):
    """All predictions of one analysis.

    Attributes:
        version: Version of this record.
        tool_version: Version of ascend-sn that made them.
        made_ns: When, ns since the epoch.
        input: Name of the input.
        job: Job they are about; empty where the input holds one.
        rows: One per finding with a price.
    """

    version: int
    tool_version: str
    made_ns: int
    input: str
    job: str
    rows: tuple[Prediction, ...] = ()
