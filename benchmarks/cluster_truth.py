"""What has to be found in a simulated job: where every step of every rank went, and what each fault costs.

The cost of a fault is measured, not assumed: the job is simulated once more without it, with the same noise.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

import numpy as np

from benchmarks.cluster_faults import TIMED, Fault
from benchmarks.cluster_program import Kernel, Receive
from benchmarks.cluster_shape import HCCS, RDMA, Int64
from benchmarks.cluster_timing import FIRST_STEP, Job, StageRun, simulate

__all__ = ["PARTS", "breakdowns", "clock_offset_ns", "truth_of"]

PARTS: Final = ("window", "compute", "overlapped", "communication", "exposed_comm", "free", "bubble", "first", "last")
"""Figures of a step: as in `step_breakdown`; `bubble` sums the receives, `first` and `last` bound the device's work."""

Parts = dict[str, Int64]


def breakdowns(run: StageRun) -> list[Parts]:
    """Divide every step of a stage by a sweep over the starts and ends; one value per rank and part."""
    found = []
    for step in range(len(run.marks)):
        records = [record for record in run.records if record.step == step]
        start = np.stack([record.start for record in records])
        end = start + np.stack([record.dur for record in records])
        computes = np.array([isinstance(record.task, Kernel) for record in records])
        moments = np.concatenate([start, end])
        order = np.argsort(moments, axis=0, kind="stable")
        moments = np.take_along_axis(moments, order, axis=0)
        change = np.concatenate([np.ones(len(records), np.int64), np.full(len(records), -1)])
        both = np.tile(computes, 2)
        computing = np.cumsum((change * both)[order], axis=0)[:-1] > 0
        moving = np.cumsum((change * ~both)[order], axis=0)[:-1] > 0
        lengths = np.diff(moments, axis=0)
        window = run.step_start[step + 1] - run.step_start[step]
        compute = (lengths * computing).sum(axis=0)
        exposed = (lengths * (moving & ~computing)).sum(axis=0)
        communication = (lengths * moving).sum(axis=0)
        receives = [record.dur for record in records if isinstance(record.task, Receive)]
        found.append(
            {
                "window": window,
                "compute": compute,
                "overlapped": communication - exposed,
                "communication": communication,
                "exposed_comm": exposed,
                "free": window - compute - exposed,
                "bubble": np.sum(receives, axis=0) if receives else np.zeros_like(window),
                "first": moments[0],
                "last": moments[-1],
            }
        )
    return found


def truth_of(job: Job) -> dict[str, Any]:
    """Return what is to be found; durations in ns, steps by their numbers."""
    plan = job.plan
    shape = plan.shape
    stages = [breakdowns(run) for run in job.stages]
    names = ("window", "compute", "overlapped", "communication", "exposed_comm", "free")
    ranks: list[dict[str, Any]] = []
    for rank in range(shape.ranks):
        stage, place = divmod(rank, shape.ranks_of_stage)
        records = job.stages[stage].records
        ranks.append(
            {
                "rank": rank,
                "stage": stage,
                "host": f"node-{rank // shape.ranks_per_host}",
                "clock_offset_ns": clock_offset_ns(job, rank),
                "leak_bytes_per_step": leak_bytes(job, rank),
                "kernels": sum(isinstance(record.task, Kernel) for record in records),
                "collectives": sum(not isinstance(record.task, Kernel) for record in records),
                "steps": {f"{name}_ns": [int(step[name][place]) for step in stages[stage]] for name in names},
            }
        )
    return {
        "dp": shape.dp,
        "tp": shape.tp,
        "pp": shape.pp,
        "ep": shape.ep,
        "ranks_per_host": shape.ranks_per_host,
        "seed": plan.seed,
        "kernel_noise": plan.noise.kernel,
        "step_noise": plan.noise.step,
        "end_jitter_ns": plan.noise.end_jitter_ns,
        "step_numbers": [FIRST_STEP + step for step in range(plan.steps)],
        "sums": {f"{name}_ns": sum(sum(rank["steps"][f"{name}_ns"]) for rank in ranks) for name in names},
        "faults": [_found(job, stages, fault) for fault in plan.faults],
        "ranks": ranks,
    }


def clock_offset_ns(job: Job, rank: int) -> int:
    """How much the clock of a rank's host is ahead."""
    host = rank // job.plan.shape.ranks_per_host
    return sum(round(1_000 * fault.value) for fault in job.plan.of_kind("clock") if fault.who == host)


def leak_bytes(job: Job, rank: int) -> int:
    """Bytes of a rank that stay allocated after every step."""
    return sum(round(fault.value) for fault in job.plan.of_kind("leak") if fault.who == rank)


def _found(job: Job, stages: list[list[Parts]], fault: Fault) -> dict[str, Any]:
    """What is to be found of one fault: with whom, why, and what it costs a step."""
    shape = job.plan.shape
    told: dict[str, Any] = {"fault": fault.text, "kind": fault.kind}
    if fault.kind in ("slow-rank", "slow-memory", "late-host"):
        told |= {"ranks": [fault.who], "cause": "host" if fault.kind == "late-host" else "compute"}
    elif fault.kind == "tokens":
        who = [rank for rank in range(shape.ranks) if shape.expert_place(rank) == fault.who]
        told |= {"ranks": who, "cause": "compute", "place": fault.who}
    elif fault.kind == "vocabulary":
        last = list(range(shape.ranks - shape.ranks_of_stage, shape.ranks))
        told |= {"ranks": last, "cause": "compute", "stage": shape.pp - 1, "columns": round(fault.value)}
    elif fault.kind == "slow-link":
        told |= {"ranks": [fault.who] if fault.other is None else [fault.who, fault.other], "factor": fault.value}
        if fault.other is not None:
            src, dst = np.array([fault.who]), np.array([fault.other])
            told["bandwidth_bytes_per_s"] = round(float(job.links.bytes_per_s(src, dst)[0]))
            told["transport"] = HCCS if job.links.inside_host(src, dst)[0] else RDMA
    elif fault.kind == "leak":
        told |= {"ranks": [fault.who], "bytes_per_step": round(fault.value)}
    else:
        told |= {"host": f"node-{fault.who}", "offset_ns": round(1_000 * fault.value)}
    if fault.kind in TIMED:
        without = simulate(replace(job.plan, faults=tuple(one for one in job.plan.faults if one is not fault)))
        told |= _cost(stages, [breakdowns(run) for run in without.stages], told["ranks"], shape.ranks_of_stage)
    return told


def _cost(
    stages: list[list[Parts]], without: list[list[Parts]], ranks: list[int], ranks_of_stage: int
) -> dict[str, int]:
    """Mean ns per step that all steps take longer, and that the ranks' own time (not waiting) is longer."""

    def mean(found: list[list[Parts]], own: bool) -> float:
        values = []
        for stage, steps in enumerate(found):
            for parts in steps:
                value = parts["window"] - parts["exposed_comm"] if own else parts["window"]
                here = [rank - stage * ranks_of_stage for rank in ranks if rank // ranks_of_stage == stage]
                values.append(value[here] if own else value)
        return float(np.concatenate(values).mean())

    return {
        "step_ns": round(mean(stages, False) - mean(without, False)),
        "own_ns": round(mean(stages, True) - mean(without, True)),
    }
