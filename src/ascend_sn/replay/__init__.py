"""What-if replay: the dependency graph of a step, edits of it, and what they are worth.

`Replay.of(run)` builds the graph of the median steady step; `gain` prices a transformation (W1 to W15), `joint`
plans several, `critical_path` says what holds the step.
"""

from __future__ import annotations

from ascend_sn.replay.communication_transforms import buckets_merged, comm_compressed, comm_faster, comm_overlapped
from ascend_sn.replay.critical_path import CriticalPath, OperatorCriticality, PathPart
from ascend_sn.replay.edits import (
    Edit,
    Insert,
    Lengthen,
    Merge,
    MoveStream,
    Remove,
    RetargetDep,
    Scale,
    ScaleEdges,
    SetDur,
    Unblock,
)
from ascend_sn.replay.fusion_transforms import chains_of, chains_within, fused
from ascend_sn.replay.graph import StepGraph, TimeClass
from ascend_sn.replay.host_transforms import gc_removed, launches_removed, silence_removed, syncs_removed
from ascend_sn.replay.input_transforms import copies_pinned, input_hidden, results_read_later
from ascend_sn.replay.jobs import jobs
from ascend_sn.replay.memory_transforms import MemoryChange, activation_bytes, batch_doubled, recomputed
from ascend_sn.replay.operator_transforms import lower_precision, operators_to, operators_to_cohort
from ascend_sn.replay.path_analyses import ANALYSES, operator_slack, path_classes, path_slices
from ascend_sn.replay.plan import Candidate, Plan, PlanStep
from ascend_sn.replay.prices import Bound, Gain, Remark, Transform, Unpriced
from ascend_sn.replay.rank_transforms import straggler_normalised
from ascend_sn.replay.replay import Replay
from ascend_sn.replay.selectors import Where
from ascend_sn.replay.uneven_work import WorkExcess, work_balanced, work_excesses

__all__ = [
    "ANALYSES",
    "Bound",
    "Candidate",
    "CriticalPath",
    "Edit",
    "Gain",
    "Insert",
    "Lengthen",
    "MemoryChange",
    "Merge",
    "MoveStream",
    "OperatorCriticality",
    "PathPart",
    "Plan",
    "PlanStep",
    "Remark",
    "Remove",
    "Replay",
    "RetargetDep",
    "Scale",
    "ScaleEdges",
    "SetDur",
    "StepGraph",
    "TimeClass",
    "Transform",
    "Unblock",
    "Unpriced",
    "Where",
    "WorkExcess",
    "activation_bytes",
    "batch_doubled",
    "buckets_merged",
    "chains_of",
    "chains_within",
    "comm_compressed",
    "comm_faster",
    "comm_overlapped",
    "copies_pinned",
    "fused",
    "gc_removed",
    "input_hidden",
    "jobs",
    "launches_removed",
    "lower_precision",
    "operator_slack",
    "operators_to",
    "operators_to_cohort",
    "path_classes",
    "path_slices",
    "recomputed",
    "results_read_later",
    "silence_removed",
    "straggler_normalised",
    "syncs_removed",
    "work_balanced",
    "work_excesses",
]
