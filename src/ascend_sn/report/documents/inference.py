"""What the document holds of inference: requests by stage, throughput by batch size."""

from __future__ import annotations

from typing import Literal

import msgspec

from ascend_sn.report.documents.section import Section

__all__ = [
    "BatchSize",
    "Inference",
    "RequestStage",
]


class RequestStage(msgspec.Struct, kw_only=True):
    """What one stage of the requests of a profile takes; the stages sum to `total`.

    `stage` is total, copy_in, inference, copy_out or gap; `source` says what a request is: a range, or a step.
    """

    profile_id: int
    rank: int | None
    stage: Literal["total", "copy_in", "inference", "copy_out", "gap"]
    source: str
    requests: int
    mean_ns: float
    p50_ns: float
    p90_ns: float
    p99_ns: float
    max_ns: int
    share_ratio: float | None
    first_ns: int
    steady_mean_ns: float | None


class BatchSize(msgspec.Struct, kw_only=True):
    """Runs of one batch size: latency, samples per second, whether it is the knee or the best."""

    profile_id: int
    rank: int | None
    batch_size: int
    runs: int
    mean_ns: float
    p50_ns: float
    p99_ns: float
    samples_per_s: float
    is_knee: bool
    is_highest: bool


class Inference(Section, kw_only=True):
    """Requests by stage, and throughput by batch size; either may be empty."""

    stages: list[RequestStage] = []
    batch_sizes: list[BatchSize] = []
