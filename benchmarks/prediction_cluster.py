"""What the advice says a fault of a simulated job costs, against what it does cost: the same job without it.

    python -m benchmarks.prediction_cluster [--only WORDS]

The simulation draws the same noise with and without a fault, so that the difference of the median steps is what its
removal gains. Every cell writes a job, opens it as any other input, and asks for advice.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import numpy as np

import ascend_sn
from benchmarks.cluster_faults import parsed_faults
from benchmarks.cluster_shape import Shape
from benchmarks.cluster_timing import Job, Plan, simulate
from benchmarks.simulated_cluster import write_job

__all__ = ["CELLS", "Cell", "Prediction", "median_step_ns", "predicted"]


@dataclass(frozen=True)
class Cell:
    """A fault of a job, and the rule that has to find it, with the ranks or the stage that it has to name."""

    shape: Shape
    fault: str
    rule: str
    ranks: tuple[int, ...] = ()
    stage: int | None = None


@dataclass(frozen=True)
class Prediction:
    """What came of a cell; ns per step. `place` is that of the finding in the advice, from 1; None without one.

    `first` is the code of the finding that came first, `greatest_ns` the greatest expected gain of any finding.
    """

    cell: Cell
    step_ns: int
    true_ns: int
    low_ns: int | None
    expected_ns: int | None
    high_ns: int | None
    place: int | None
    first: str
    greatest_ns: int

    @property
    def is_within(self) -> bool:
        """Whether the truth lies between the bounds, or within 10 % of what was expected."""
        if self.low_ns is None or self.expected_ns is None or self.high_ns is None:
            return False
        return self.low_ns <= self.true_ns <= self.high_ns or abs(self.expected_ns - self.true_ns) <= 0.1 * self.true_ns


EIGHT: Final = Shape(dp=2, tp=2, pp=2)
MANY: Final = Shape(dp=4, tp=4, pp=4)
EXPERTS: Final = Shape(dp=4, pp=2, ep=4)

CELLS: Final = (
    Cell(EIGHT, "slow-rank:5:1.1", "R-IMB-1", (5,)),
    Cell(EIGHT, "slow-rank:5:1.3", "R-IMB-1", (5,)),
    Cell(EIGHT, "late-host:5:200", "R-IMB-1", (5,)),
    Cell(EIGHT, "slow-link:5:4", "R-COMM-5", (5,)),
    Cell(EIGHT, "vocabulary:65536", "R-PP-1", stage=1),
    Cell(EXPERTS, "tokens:1:1.5", "R-IMB-2", (1, 5)),
    Cell(MANY, "slow-rank:21:1.1", "R-IMB-1", (21,)),
    Cell(MANY, "slow-rank:21:1.3", "R-IMB-1", (21,)),
    Cell(MANY, "late-host:21:200", "R-IMB-1", (21,)),
    Cell(MANY, "slow-link:21:4", "R-COMM-5", (21,)),
    Cell(MANY, "vocabulary:65536", "R-PP-1", stage=3),
)


def median_step_ns(job: Job) -> int:
    """Return the median length of the steps but the first, each being that of its longest rank."""
    by_stage = [np.diff(np.stack(stage.step_start), axis=0) for stage in job.stages]
    return int(np.median(np.concatenate(by_stage, axis=1).max(axis=1)[1:]))


def predicted(cell: Cell, folder: Path, *, steps: int = 6, seed: int = 1) -> Prediction:
    """Write the job of a cell below a folder, ask for advice, and compare."""
    plan = Plan(cell.shape, steps=steps, faults=parsed_faults([cell.fault], cell.shape), seed=seed)
    job = simulate(plan)
    step_ns, without_ns = median_step_ns(job), median_step_ns(simulate(replace(plan, faults=())))
    write_job(job, folder / "job")
    with ascend_sn.open(folder / "job", cache_dir=folder / "cache") as run:
        findings = ascend_sn.advise(run).findings
    found = [
        (place, finding)
        for place, finding in enumerate(findings, 1)
        if finding.code == cell.rule
        and finding.location.ranks[: len(cell.ranks)] == cell.ranks
        and cell.stage in (None, finding.location.stage)
    ]
    place, finding = found[0] if found else (None, None)
    gain = None if finding is None else finding.gain
    return Prediction(
        cell=cell,
        step_ns=step_ns,
        true_ns=step_ns - without_ns,
        low_ns=None if gain is None else gain.low_ns,
        expected_ns=None if gain is None else gain.expected_ns,
        high_ns=None if gain is None else gain.high_ns,
        place=place,
        first=findings[0].code if findings else "",
        greatest_ns=max((one.gain.expected_ns for one in findings if one.gain is not None), default=0),
    )


def main(arguments: Sequence[str] | None = None) -> int:
    options = argparse.ArgumentParser(description="What the advice says a fault costs, against what it does cost.")
    options.add_argument("--ranks-at-most", type=int, default=64, help="leave larger jobs out")
    options.add_argument("--only", default="", help="only cells such as '64 slow-link'")
    chosen = options.parse_args(arguments)
    print("| ranks | fault | step ms | true ms | rule | low / expected / high ms | place | first |")
    print("|---:|---|---:|---:|---|---|---:|---|")
    for cell in CELLS:
        words = f"{cell.shape.ranks} {cell.fault}"
        if cell.shape.ranks <= chosen.ranks_at_most and chosen.only in words:
            with TemporaryDirectory() as folder:
                print(_row(predicted(cell, Path(folder))), flush=True)
    return 0


def _row(found: Prediction) -> str:
    bounds = " / ".join(
        "-" if ns is None else f"{ns / 1e6:.2f}" for ns in (found.low_ns, found.expected_ns, found.high_ns)
    )
    cells = (
        str(found.cell.shape.ranks),
        f"`{found.cell.fault}`",
        f"{found.step_ns / 1e6:.1f}",
        f"{found.true_ns / 1e6:.2f}",
        found.cell.rule,
        bounds,
        "-" if found.place is None else str(found.place),
        found.first,
    )
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    sys.exit(main())
