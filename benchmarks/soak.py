"""What a long recording and many short ones leave behind in the process that is recorded.

    python -m benchmarks.soak [--minutes N] [--starts N] [--without]

A numpy network trains for real on one thread, recorded with memory capture. Once a second the process notes its
resident memory, what a pair of start and stop costs the thread that trains, and what everything but that thread
took of a processor. Then recordings are started and stopped: as sessions of one profiler, and as profilers with a
folder each. Answers are printed as one line of JSON after the table.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import threading
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

import numpy as np
import psutil

from ascend_sn.collect.config import ProfilerConfig
from ascend_sn.collect.demo_network import SIZES, Network
from ascend_sn.collect.profiler import Profiler

__all__ = ["Held", "Sample", "Slope", "held_over_starts", "slope_of", "trained"]

BATCH: Final = 64
PAIRS: Final = 500
STEPS_A_SECOND: Final = 10_000
"""Room for the steps between two samples; more than it takes."""

SETTLED_AFTER_STARTS: Final = 50
BLOCKS: Final = 12
"""The series is averaged over this many blocks, so that neighbours that resemble each other count once."""

T_95: Final = 2.228
"""Student's t for 95 % on both sides with `BLOCKS - 2` degrees of freedom."""

KIB: Final = 1024


@dataclass(frozen=True)
class Sample:
    """The process at a moment; costs are those since the sample before.

    Attributes:
        at_s: Seconds since the start of the recording.
        resident_bytes: Resident memory of the whole process.
        pair_ns: A pair of start and stop on the thread that trains, mean of 500.
        aside_ratio: Processor time of all other threads, of the elapsed time.
        step_ns: Median step.
    """

    at_s: float
    resident_bytes: int
    pair_ns: float
    aside_ratio: float
    step_ns: float


@dataclass(frozen=True)
class Slope:
    """A straight line through block means; `low` and `high` hold the slope with 95 % confidence."""

    per_minute: float
    low: float
    high: float


@dataclass(frozen=True)
class Held:
    """What a process holds."""

    resident_bytes: int
    threads: int
    descriptors: int


def trained(output: Path, seconds: float, every_s: float = 1.0, *, is_recorded: bool = True) -> list[Sample]:
    """Train while recording with memory capture; return a sample for about every `every_s` seconds.

    Without `is_recorded` the same is done with a profiler that is off: what grows then is not the recorder's.
    """
    config = ProfilerConfig(output_path=output, enable_memory=True, backend="auto" if is_recorded else "off")
    profiler = Profiler(config)
    network = Network(profiler)
    random = np.random.default_rng(seed=2)
    images = random.standard_normal((BATCH, SIZES[0])).astype(np.float32)
    labels = random.integers(0, SIZES[-1], BATCH)
    process = psutil.Process()
    # Written once before, so that what is noted here takes no memory later: at_s, resident, pair, aside, step.
    noted = np.full((int(seconds / every_s) + 2, 5), np.nan)
    steps = np.full(int(every_s * STEPS_A_SECOND), -1, np.int64)
    count = step_count = 0
    with profiler:
        began = last = time.perf_counter()
        aside = _aside_s()
        while last - began < seconds:
            profiler.step()
            step_began = time.perf_counter_ns()
            with profiler.op("forward"):
                probabilities = network.forward(images)
            with profiler.op("backward"):
                gradients = network.backward(probabilities, labels)
            with profiler.op("optimizer"):
                network.update(gradients)
            steps[step_count % len(steps)] = time.perf_counter_ns() - step_began
            step_count += 1
            now = time.perf_counter()
            if now - last >= every_s:
                taken, aside = _aside_s() - aside, _aside_s()
                resident, pair_ns = process.memory_info().rss, _pair_ns(profiler)
                measured = steps[: min(step_count, len(steps))]
                measured.sort()
                median_ns = measured[len(measured) // 2]
                noted[count] = now - began, resident, pair_ns, taken / (now - last), median_ns
                count, step_count, last = count + 1, 0, now
    if profiler.fault_counts:
        raise RuntimeError(f"the recording failed: {profiler.fault_counts}")
    return [Sample(at_s, int(resident), *rest) for at_s, resident, *rest in noted[:count].tolist()]


def slope_of(at_s: list[float], values: list[float]) -> Slope:
    """Return the growth of a series per minute, by least squares through the means of equal blocks.

    Raises:
        ValueError: Fewer values than blocks.
    """
    if len(values) < BLOCKS:
        raise ValueError(f"{len(values)} values are too few for {BLOCKS} blocks")
    minutes = np.array([block.mean() for block in np.array_split(np.array(at_s) / 60, BLOCKS)])
    means = np.array([block.mean() for block in np.array_split(np.array(values), BLOCKS)])
    apart = minutes - minutes.mean()
    spread = float((apart**2).sum())
    slope = float((apart * means).sum()) / spread
    rest = means - means.mean() - slope * apart
    error = float(np.sqrt((rest**2).sum() / (BLOCKS - 2) / spread))
    return Slope(slope, slope - T_95 * error, slope + T_95 * error)


def held_over_starts(folder: Path, starts: int, *, anew: bool) -> list[Held]:
    """Start and stop `starts` recordings with a span each; return what the process holds after every one.

    Args:
        folder: Where the files go.
        starts: How often.
        anew: Each with a profiler and a folder of its own, instead of sessions of one.
    """
    process = psutil.Process()
    one = Profiler(output_path=folder / "one", enable_memory=True)
    held = []
    for number in range(starts):
        profiler = Profiler(output_path=folder / str(number), enable_memory=True) if anew else one
        profiler.start()
        with profiler.op("work"):
            pass
        profiler.stop()
        if profiler.fault_counts:
            raise RuntimeError(f"the recording failed: {profiler.fault_counts}")
        held.append(Held(process.memory_info().rss, threading.active_count(), process.num_fds()))
    return held


def _aside_s() -> float:
    return time.process_time() - time.thread_time()


def _pair_ns(profiler: Profiler) -> float:
    began = time.thread_time_ns()
    for _ in range(PAIRS):
        profiler.start_op("measured")
        profiler.stop_op("measured")
    return (time.thread_time_ns() - began) / PAIRS


def main() -> None:
    options = argparse.ArgumentParser(description="Record for long and often; say what stays behind.")
    options.add_argument("--minutes", type=float, default=10)
    options.add_argument("--starts", type=int, default=500)
    options.add_argument("--without", action="store_true", help="train with a profiler that is off, for comparison")
    chosen = options.parse_args()
    if os.environ.get("OPENBLAS_NUM_THREADS") != "1":  # numpy reads it when it is loaded
        os.execve(
            sys.executable,
            [sys.executable, "-m", "benchmarks.soak", *sys.argv[1:]],
            {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
        )
    with tempfile.TemporaryDirectory() as scratch:
        output = Path(scratch) / "run"
        samples = trained(output, 60 * chosen.minutes, is_recorded=not chosen.without)
        size = sum(path.stat().st_size for path in output.rglob("*") if path.is_file())
        repeated = {
            anew: held_over_starts(Path(scratch) / str(anew), chosen.starts, anew=anew) for anew in (False, True)
        }
    settled = [sample for sample in samples if sample.at_s > samples[-1].at_s / 10]
    memory = slope_of([sample.at_s for sample in settled], [sample.resident_bytes / KIB for sample in settled])
    minute = max(1, round(len(samples) / chosen.minutes))
    first, last = samples[:minute], samples[-minute:]
    done = "trained" if chosen.without else "recorded"
    print(f"{done} {samples[-1].at_s:.0f} s, {size / 1e6:.0f} MB of files")
    print(
        f"resident memory: {settled[0].resident_bytes / 1e6:.1f} MB, at the end {settled[-1].resident_bytes / 1e6:.1f}"
    )
    print(f"growth a minute: {memory.per_minute:.1f} KiB, 95 % within {memory.low:.1f} and {memory.high:.1f}")
    for name in ("pair_ns", "aside_ratio", "step_ns"):
        before, after = (statistics.median(getattr(sample, name) for sample in part) for part in (first, last))
        print(f"{name}: first minute {before:.4g}, last minute {after:.4g}")
    for anew, held in repeated.items():
        print("profilers with a folder each" if anew else "sessions of one profiler")
        for at in sorted({min(SETTLED_AFTER_STARTS, len(held)) - 1, len(held) // 2, len(held) - 1}):
            print(f"  after {at + 1}: {asdict(held[at])}")
    print(json.dumps({"slope_kib_per_minute": asdict(memory), "bytes": size}))


if __name__ == "__main__":
    main()
