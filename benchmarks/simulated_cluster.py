"""Write the profiles of a simulated job of many ranks, with faults of known size and the truth beside them.

    python -m benchmarks.simulated_cluster OUTPUT --dp 8 --tp 2 --pp 4 --fault slow-rank:5:1.1

A folder per rank in the text form of torch_npu, and `truth.json`: per rank and step where the time went, exact to the
nanosecond, and per fault with whom it is to be found, why, and what it costs a step.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from time import perf_counter

from benchmarks.cluster_faults import SPELLINGS, parsed_faults
from benchmarks.cluster_files import StageWriter
from benchmarks.cluster_program import Model
from benchmarks.cluster_shape import Shape
from benchmarks.cluster_timing import Job, Noise, Plan, simulate
from benchmarks.cluster_truth import truth_of

__all__ = ["write_job"]


def write_job(job: Job, folder: Path) -> None:
    """Write all profiles and `truth.json` into a folder that holds none of them yet."""
    folder.mkdir(parents=True, exist_ok=True)
    count = job.plan.shape.ranks_of_stage
    for stage in range(job.plan.shape.pp):
        writer = StageWriter(job, stage)
        for rank in range(stage * count, (stage + 1) * count):
            writer.write(rank, folder)
    (folder / "truth.json").write_text(json.dumps(truth_of(job)))


def main(arguments: list[str] | None = None) -> int:
    chosen = _options().parse_args(arguments)
    try:
        shape = Shape(chosen.dp, chosen.tp, chosen.pp, chosen.ep, chosen.ranks_per_host)
        plan = Plan(
            shape=shape,
            model=Model(layers=chosen.layers, micro_batches=chosen.micro_batches),
            steps=chosen.steps,
            noise=Noise(chosen.noise, chosen.step_noise, chosen.end_jitter),
            faults=parsed_faults(chosen.fault, shape),
            seed=chosen.seed,
        )
    except ValueError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    if chosen.output.exists() and any(chosen.output.iterdir()):
        print(f"error: {chosen.output} is not empty", file=sys.stderr)
        return 2
    begin = perf_counter()
    job = simulate(plan)
    write_job(job, chosen.output)
    size = sum(path.stat().st_size for path in chosen.output.rglob("*") if path.is_file())
    each, seconds = size / shape.ranks / 1e3, perf_counter() - begin
    print(f"{shape.ranks} ranks, {size / 1e6:.1f} MB ({each:.0f} KB each), {seconds:.1f} s")
    return 0


def _options() -> argparse.ArgumentParser:
    forms = "\n".join(f"  {f'{name}:{form}':30} {meaning}" for name, (form, meaning) in SPELLINGS.items())
    options = argparse.ArgumentParser(
        description="Write the profiles of a simulated job of many ranks (torch_npu, text), and truth.json.",
        epilog=f"faults, any number of them:\n{forms}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    options.add_argument("output", type=Path, help="a new or empty folder")
    options.add_argument("--dp", type=int, default=8, help="data-parallel ranks (default: %(default)s)")
    options.add_argument("--tp", type=int, default=1, help="tensor-parallel ranks")
    options.add_argument("--pp", type=int, default=1, help="pipeline stages")
    options.add_argument("--ep", type=int, default=1, help="data-parallel ranks that share experts; divides dp")
    options.add_argument("--ranks-per-host", type=int, default=8)
    options.add_argument("--layers", type=int, default=2, help="layers of each stage")
    options.add_argument("--micro-batches", type=int, default=4)
    options.add_argument("--steps", type=int, default=5)
    options.add_argument(
        "--noise", type=float, default=0.02, help="coefficient of variation of every kernel (lognormal)"
    )
    options.add_argument("--step-noise", type=float, default=0.02, help="that of all kernels of a step together")
    options.add_argument("--end-jitter", type=int, default=0, metavar="NS", help="most by which ends of a call differ")
    options.add_argument("--fault", action="append", default=[], help="see below")
    options.add_argument("--seed", type=int, default=1)
    return options


if __name__ == "__main__":
    sys.exit(main())
