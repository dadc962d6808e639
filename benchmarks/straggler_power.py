"""How often a straggler is named without one, and how often one is found: the tables of docs/explanation/stragglers.md.

    python -m benchmarks.straggler_power [--runs 200] [--slowed 100] [--ranks 16 --ranks 256] [--noise 0.02 ...]

The jobs of a size and noise are spread over four shapes.

Jobs are simulated (`simulated_cluster`), not written: what the analysis reads of them, own times and collectives, goes
straight into its tables. Every kernel of every rank varies by itself, and all kernels of a step together by 5 %.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from duckdb import DuckDBPyConnection

from ascend_sn.analysis.ranks.stragglers import combined_stragglers
from ascend_sn.analysis.registry import settled_once
from ascend_sn.analysis.relations import Result, keep_columns, listed, selected
from benchmarks.cluster_faults import parsed_faults
from benchmarks.cluster_program import Model
from benchmarks.cluster_shape import KINDS, Int64, Shape
from benchmarks.cluster_timing import Job, Noise, Plan, simulate
from benchmarks.cluster_truth import breakdowns
from tests.timeline import empty_tables

__all__ = ["SHAPES", "judged"]

SHAPES: Final = {
    16: (Shape(16), Shape(4, 4), Shape(2, 2, 4), Shape(8, 2, ep=8)),
    256: (Shape(256), Shape(32, 8), Shape(16, 4, 4), Shape(64, 4, ep=8)),
}
MODEL: Final = Model(layers=2, micro_batches=2)
_OPS: Final = ("allReduce", "alltoall", "send", "receive")
_CALL_TYPES: Final = {
    "profile_id": "integer",
    "group_id": "varchar",
    "op": "integer",
    "sequence": "bigint",
    "step_id": "integer",
    "wait_ns": "bigint",
}
STEP_NOISE: Final = 0.05
SLOWDOWN: Final = 1.1


def judged(job: Job) -> list[dict[str, Any]]:
    """What `stragglers` says of a job."""
    db = empty_tables()
    try:
        settled_once("collective_parts", db, lambda: _calls(db, job))
        return combined_stragglers(db, _own_times(db, job)).dicts()
    finally:
        db.close()


def _own_times(db: DuckDBPyConnection, job: Job) -> Result:
    """The rows that `stragglers` makes of each profile."""
    shape = job.plan.shape
    rows = []
    for stage, run in enumerate(job.stages):
        for step, parts in enumerate(breakdowns(run)):
            own = parts["window"] - parts["exposed_comm"]
            for at in range(shape.ranks_of_stage):
                rank = stage * shape.ranks_of_stage + at
                rows.append(
                    {
                        "profile_id": rank,
                        "rank": rank,
                        "stage": stage if shape.pp > 1 else None,
                        "step_key": step,
                        "own_ns": int(own[at]),
                        "exposed_comm_ns": int(parts["exposed_comm"][at]),
                        "compute_ns": int(parts["compute"][at]),
                        "data_ns": 0,
                        "host_ns": int(parts["free"][at]),
                        "copy_ns": 0,
                    }
                )
    return listed(db, rows, dict.fromkeys(rows[0], "bigint"))


def _calls(db: DuckDBPyConnection, job: Job) -> Result:
    """What `collective_parts` would say: the parts are recorded, so nothing is left to complete."""
    shape = job.plan.shape
    columns: dict[str, list[Int64]] = {name: [] for name in _CALL_TYPES}
    for stage, run in enumerate(job.stages):
        ranks = stage * shape.ranks_of_stage + np.arange(shape.ranks_of_stage)
        for record in run.records:
            if record.call is None:
                continue
            op, kind = record.call
            groups = np.array([shape.group_of[kind][rank].ranks[0] for rank in ranks.tolist()])
            same = {"op": _OPS.index(op), "step_id": record.step, "sequence": record.sequence}
            of_rank = {"profile_id": ranks, "group_id": len(KINDS) * groups + KINDS.index(kind), "wait_ns": record.wait}
            for name, column in columns.items():
                column.append(of_rank[name] if name in of_rank else np.full(len(ranks), same[name]))
    keep_columns(db, "calls", {name: np.concatenate(parts) for name, parts in columns.items()}, _CALL_TYPES)
    names = ", ".join(f"'{op.lower()}'" for op in _OPS)
    return selected(db, f"select * replace ([{names}][op + 1] as op), wait_ns as sync_ns from calls")


def false_alarms(shape: Shape, noise: float, runs: int) -> int:
    """In how many jobs without a fault anybody is called a straggler."""
    return sum(
        any(row["is_straggler"] for row in judged(simulate(_plan(shape, noise, seed, ()))))
        for seed in range(1, runs + 1)
    )


def found(shape: Shape, noise: float, runs: int) -> tuple[int, int]:
    """In how many jobs with a slow rank that one is found with its cause, and in how many anybody else is named."""
    hits = others = 0
    for seed in range(1, runs + 1):
        slow = int(np.random.default_rng([seed, 7]).integers(shape.ranks))
        named = {
            row["rank"]: row["cause"]
            for row in judged(simulate(_plan(shape, noise, seed, (f"slow-rank:{slow}:{SLOWDOWN}",))))
            if row["is_straggler"]
        }
        hits += named.pop(slow, None) == "compute"
        others += bool(named)
    return hits, others


def of_whole_steps(ranks: int, noise: float, steps: int, runs: int) -> tuple[int, int]:
    """Where nothing averages out: each rank's own time of a step varies as a whole, and no calls tell who is late.

    Returns in how many runs anybody is named without a fault, and in how many the slow rank is found.
    """
    alarms = hits = 0
    db = empty_tables()
    for seed in range(1, runs + 1):
        random = np.random.default_rng([seed, ranks, steps])
        own = 20_000_000 * np.exp(noise * random.standard_normal((ranks, steps)) + random.normal(0, STEP_NOISE, steps))
        alarms += bool(_named_by_time(db, own))
        own[ranks // 2] *= SLOWDOWN
        hits += ranks // 2 in _named_by_time(db, own)
    db.close()
    return alarms, hits


def _named_by_time(db: DuckDBPyConnection, own: npt.NDArray[np.float64]) -> set[int]:
    rows = [
        {
            **dict.fromkeys(("data_ns", "host_ns", "copy_ns", "exposed_comm_ns"), 0),
            **{"profile_id": rank, "rank": rank, "stage": None, "step_key": step},
            **{"own_ns": round(time_ns), "compute_ns": round(time_ns)},
        }
        for rank, times in enumerate(own.tolist())
        for step, time_ns in enumerate(times)
    ]
    found = combined_stragglers(db, listed(db, rows, dict.fromkeys(rows[0], "bigint"))).dicts()
    return {row["rank"] for row in found if row["is_straggler"]}


def _plan(shape: Shape, noise: float, seed: int, faults: Sequence[str]) -> Plan:
    return Plan(shape, MODEL, noise=Noise(noise, STEP_NOISE), faults=parsed_faults(faults, shape), seed=seed)


def main() -> None:
    options = argparse.ArgumentParser(description="False and missed stragglers in simulated jobs.")
    options.add_argument("--runs", type=int, default=200, help="jobs without a fault, for every size and noise")
    options.add_argument("--slowed", type=int, default=100, help="jobs with a slow rank, likewise")
    options.add_argument("--ranks", type=int, action="append", choices=list(SHAPES))
    options.add_argument("--noise", type=float, action="append", help="coefficient of variation of every kernel")
    chosen = options.parse_args()
    print("| ranks | dp x tp x pp | noise of kernels | named without a fault | slow rank found | others named, too |")
    print("|---|---|---|---|---|---|")
    for ranks in chosen.ranks or SHAPES:
        for shape in SHAPES[ranks]:
            for noise in chosen.noise or (0.02, 0.05, 0.10):
                runs, slowed = chosen.runs // len(SHAPES[ranks]), chosen.slowed // len(SHAPES[ranks])
                alarms = false_alarms(shape, noise, runs)
                hits, others = found(shape, noise, slowed)
                sizes = f"{shape.dp} x {shape.tp} x {shape.pp}" + (f", ep {shape.ep}" if shape.ep > 1 else "")
                print(
                    f"| {ranks} | {sizes} | {100 * noise:.0f} % | {alarms} of {runs} | {hits} of {slowed} | {others} |",
                    flush=True,
                )
    print("\n| ranks | steps | noise of whole steps | named without a fault | slow rank found |")
    print("|---|---|---|---|---|")
    for ranks in chosen.ranks or SHAPES:
        for steps in (5, 20, 80):
            for noise in chosen.noise or (0.02, 0.05, 0.10):
                alarms, hits = of_whole_steps(ranks, noise, steps, chosen.runs)
                told = f"{alarms} of {chosen.runs} | {hits} of {chosen.runs}"
                print(f"| {ranks} | {steps} | {100 * noise:.0f} % | {told} |", flush=True)


if __name__ == "__main__":
    main()
