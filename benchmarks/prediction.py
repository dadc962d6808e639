"""Predicted against measured: what the replay says that a change is worth, and what it was worth.

Trainings are recorded as they are, each change is priced on that recording, then the change is made for real and
recorded, too. Both are run in turn, so that the load of the machine is shared alike; figures are medians of the
rounds. The cells are fixed here, and every one of them is printed, also where the prediction failed.

    python -m benchmarks.prediction [--rounds 3] [--only WORDS]

Three rounds take less than five minutes on two cores that are not crowded.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, median
from time import perf_counter
from typing import Final

import ascend_sn as sn
from ascend_sn.replay import (
    Gain,
    Replay,
    Scale,
    StepGraph,
    Transform,
    Unpriced,
    Where,
    chains_of,
    chains_within,
    comm_overlapped,
    fused,
    input_hidden,
    syncs_removed,
)
from benchmarks.measured import ROOT
from benchmarks.prediction_device import AT_END, CHAIN, IN_STEP
from benchmarks.prediction_ranks import AS_IT_IS, DATA_S

CORES: Final = len(os.sched_getaffinity(0))
WARM_UP_STEPS: Final = 12
BLOCK: Final = 4
"""Steps of which the mean is one sample: several workers deliver their batches in groups."""

Change = Callable[[StepGraph], Transform | Unpriced]


@dataclass(frozen=True)
class Cell:
    """A change: the program and its variants, how it is priced, and whether it takes all cores or more."""

    name: str
    program: str
    before: str
    after: str
    change: Change
    is_crowded: bool = False


def _workers(kind: str, milliseconds: int, workers: int) -> Cell:
    return Cell(
        f"W1: {workers} workers, a batch takes {milliseconds} ms of {kind}ing",
        "prediction_torch",
        f"{kind} {milliseconds} ms, 0 workers",
        f"{kind} {milliseconds} ms, {workers} workers",
        lambda graph: input_hidden(graph, workers=0, cores=CORES, to_workers=workers),
        is_crowded=kind == "work" and workers >= CORES,
    )


def _normalised(size: str) -> Cell:
    return Cell(
        f"W7: nine {size} PyTorch operators on the processor become one (layer norm)",
        "prediction_torch",
        f"nine {size} operators",
        f"one {size} operator",
        lambda graph: fused(graph, chains_within(graph, ["normalise"])),
        is_crowded=True,
    )


def _ranks(name: str, after: str, change: Change) -> Cell:
    return Cell(name, "prediction_ranks", AS_IT_IS, after, change, is_crowded=CORES < 2)


CELLS: Final = (
    _workers("wait", 8, 1),
    _workers("wait", 8, 2),
    _workers("wait", 50, 1),
    _workers("wait", 50, 2),
    _workers("work", 20, 1),
    _workers("work", 20, 2),
    Cell(
        "W11: three of four synchronisations of a step removed",
        "prediction_device",
        "four parts, each waits",
        "four parts, the last waits",
        lambda graph: syncs_removed(graph, Where(names=(IN_STEP,))),
    ),
    Cell(
        "W11: the only synchronisation of a step removed",
        "prediction_device",
        "loss read",
        "loss not read",
        lambda graph: syncs_removed(graph, Where(names=(AT_END,))),
    ),
    Cell(
        "W7: chains of six kernels fused, the device is busy with them",
        "prediction_device",
        "long chains",
        "long chains fused",
        lambda graph: fused(graph, chains_of(graph, [f"{name}_kernel" for name in CHAIN])),
    ),
    Cell(
        "W7: chains of six kernels fused, the host takes longer than the device",
        "prediction_device",
        "short chains",
        "short chains fused",
        lambda graph: fused(graph, chains_of(graph, [f"{name}_kernel" for name in CHAIN])),
    ),
    _normalised("small"),
    _normalised("large"),
    _ranks(
        "W9: of two ranks the slow one loads as the other does",
        "loads alike",
        lambda _: Transform.exactly("W9", Scale(Where(phases=("data",), profile_ids=(1,)), DATA_S[0] / DATA_S[1])),
    ),
    _ranks(
        "W10: two ranks, backward pass halved",
        "backward halved",
        lambda _: Transform.exactly("W10", Scale(Where(phases=("backward",)), 0.5)),
    ),
    _ranks(
        "W1: two ranks, batches made by a thread",
        "batches by a thread",
        lambda graph: input_hidden(graph, workers=0, cores=64, to_workers=1),
    ),
    _ranks("W3: two ranks, first bucket reduced beside the backward pass", "first bucket early", comm_overlapped),
)


@dataclass(frozen=True)
class Prediction:
    """Shares of the step that a change takes away: low, expected, high; or why it has no price."""

    low: float
    expected: float
    high: float
    reason: str | None = None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="", help="Cells whose name has these letters in it.")
    arguments = parser.parse_args()
    cells = [cell for cell in CELLS if arguments.only in cell.name]
    measured: dict[tuple[str, str], list[float]] = defaultdict(list)
    predicted: dict[str, list[Prediction]] = defaultdict(list)
    begin = perf_counter()
    with tempfile.TemporaryDirectory() as scratch:
        for turn in range(arguments.rounds):
            for program in dict.fromkeys(cell.program for cell in cells):
                mine = [cell for cell in cells if cell.program == program]
                variants = dict.fromkeys(variant for cell in mine for variant in (cell.before, cell.after))
                folders = {variant: Path(scratch) / f"{turn}-{program}-{at}" for at, variant in enumerate(variants)}
                _run(program, folders)
                for variant, folder in folders.items():
                    with sn.open(folder, cache_dir=Path(scratch) / "cache") as run:
                        measured[program, variant].append(_step_ms(run))
                        priced = [cell for cell in mine if cell.before == variant]
                        replay = Replay.of(run) if priced else None
                    for cell in priced:
                        predicted[cell.name].append(_predicted(replay, cell.change))
    _print(cells, measured, predicted)
    load = ", ".join(f"{one:.1f}" for one in os.getloadavg())
    print(f"\n{arguments.rounds} rounds, {CORES} cores, load {load}, {perf_counter() - begin:.0f} s")


def _run(program: str, folders: dict[str, Path]) -> None:
    # The allocator keeps what it has, so that no step is about pages that the system hands out.
    kept = {"MALLOC_MMAP_THRESHOLD_": str(1 << 25), "MALLOC_TRIM_THRESHOLD_": str(1 << 30)}
    environment = {**os.environ, "OMP_NUM_THREADS": "1", **kept}
    wanted = [word for variant, folder in folders.items() for word in (variant, str(folder))]
    command = [sys.executable, "-m", f"benchmarks.{program}", *wanted]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{program}: {done.stderr}")


def _step_ms(run: sn.Run) -> float:
    """Return the length of a step: the median of means of four, without the first twelve, of the slowest rank."""
    rows = run.sql("select step, max(dur_ns) from step where dur_ns > 0 group by step order by step").fetchall()
    steady = [dur / 1e6 for _, dur in rows[WARM_UP_STEPS:]]
    return float(median(mean(steady[at : at + BLOCK]) for at in range(0, len(steady) - BLOCK + 1, BLOCK)))


def _predicted(replay: Replay | Unpriced | None, change: Change) -> Prediction:
    gain = replay.gain(change) if isinstance(replay, Replay) else replay
    if isinstance(gain, Gain):
        return Prediction(gain.low_ratio, gain.expected_ratio, gain.high_ratio)
    return Prediction(0.0, 0.0, 0.0, gain.reason.message_id if gain is not None else "nothing recorded")


def _print(
    cells: list[Cell], measured: dict[tuple[str, str], list[float]], predicted: dict[str, list[Prediction]]
) -> None:
    print("| change | as it is ms | changed ms | predicted ms | low .. high | off | within |")
    print("|---|---:|---:|---:|---|---:|---|")
    for cell in cells:
        before_ms, after_ms = measured[cell.program, cell.before], measured[cell.program, cell.after]
        before, after = median(before_ms), median(after_ms)
        figures = f"{_with_range(before_ms)} | {_with_range(after_ms)}"
        prices = predicted[cell.name]
        reasons = {price.reason for price in prices} - {None}
        if reasons:
            print(f"| {cell.name} | {figures} | no price: {', '.join(map(str, reasons))} | | | **no** |")
            continue
        worst, expected, best = (
            before * (1 - median(getattr(price, name) for price in prices)) for name in ("low", "expected", "high")
        )
        error = expected / after - 1
        within = best <= after <= worst
        verdict = "yes" if within and (abs(error) <= 0.10 or cell.is_crowded) else "**no**"
        print(f"| {cell.name} | {figures} | {expected:.1f} | {worst:.1f} .. {best:.1f} | {error:+.1%} | {verdict} |")


def _with_range(rounds_ms: list[float]) -> str:
    """Return the median of the rounds, and the least and the greatest of them."""
    return f"{median(rounds_ms):.1f} ({min(rounds_ms):.1f} .. {max(rounds_ms):.1f})"


if __name__ == "__main__":
    main()
