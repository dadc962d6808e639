"""The steps and what they consist of."""

from __future__ import annotations

from typing import Literal

import msgspec

from ascend_sn.advisor.median_step import MedianStep, Phases
from ascend_sn.report.documents.section import Section

__all__ = [
    "Breakdown",
    "ExportedStep",
    "InputPipeline",
    "Step",
    "Steps",
]


class Step(msgspec.Struct, kw_only=True):
    """A training step of one profile; `origin` says what marked it, `inferred` ones are guesses."""

    profile_id: int
    rank: int | None
    step_id: int
    step: int | None
    origin: str
    ts_ns: int
    dur_ns: int


class Steps(Section, kw_only=True):
    """The steps; at most the first thousand are listed.

    `step_count` counts those of all profiles, `job_step_count` those of the job: a step that all its ranks took is one.
    Neither counts inferred ones.
    """

    step_count: int = 0
    job_step_count: int = 0
    inferred_count: int = 0
    rows: list[Step] = []


class InputPipeline(msgspec.Struct, kw_only=True):
    """Time per step that waits for data, as means."""

    profile_id: int
    rank: int | None
    steps: int
    data_ns: int
    compute_ns: int
    window_ns: int
    data_share_ratio: float
    grade: str
    bottleneck: str
    source: str


class ExportedStep(msgspec.Struct, kw_only=True):
    """A figure of the exporter's own step trace, under its own name."""

    rank: int | None
    step: int | None
    figure: str
    dur_ns: int


class Breakdown(Section, kw_only=True):
    """The step breakdown, one row per profile, by rank."""

    scope: Literal["step", "whole capture", "mixed"] = "step"
    ranks: list[MedianStep] = []
    phases: list[Phases] = []
    input_pipeline: list[InputPipeline] = []
    exported: list[ExportedStep] = []
