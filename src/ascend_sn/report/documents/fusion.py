"""Kernels that are one, and that could be."""

from __future__ import annotations

from typing import Literal

import msgspec

from ascend_sn.report.documents.section import Section

__all__ = [
    "Fusion",
    "FusionPattern",
    "StepGain",
]


class StepGain(msgspec.Struct, kw_only=True):
    """How much shorter the median step would be, by replay; shares are of that step."""

    low_ns: int
    expected_ns: int
    high_ns: int
    expected_ratio: float
    confidence: Literal["high", "medium", "low"]


class FusionPattern(msgspec.Struct, kw_only=True):
    """Kernels that could be one (`candidate`), or are (`fused`), summed over the profiles.

    Attributes:
        pattern: Operator types by '+'.
        op_types: Operator types as recorded, by blanks.
        before_ns: Time of all instances unfused; null where unknown.
        after_ns: The same when fused.
        is_estimate: `before_ns` is what unfused kernels of the parts take elsewhere in the run.
        fusion_ratio: Fused instances of the pattern over all of them.
        gain: What fusing the candidate is worth for the step; null where that has no price.
    """

    pattern: str
    state: Literal["candidate", "fused"]
    op_types: str
    instances: int
    before_ns: int | None
    after_ns: float | None
    saving_ns: float | None
    saving_ratio: float | None
    share_ratio: float | None
    is_estimate: bool
    fusion_ratio: float
    gain: StepGain | None = None


class Fusion(Section, kw_only=True):
    """Fused kernels and candidates, and the fusion rate of all their instances.

    `unpriced` says why candidates have no price by replay.
    """

    fused_instances: int = 0
    candidate_instances: int = 0
    fusion_ratio: float | None = None
    pattern_count: int = 0
    patterns: list[FusionPattern] = []
    unpriced: str = ""
