"""Predicted against measured: what the replay says a change is worth, and what it was worth.

Two processes train with real waiting: the device is a sleep, so that a loaded machine hardly changes it, batches are
made by sleeping, and a gradient exchange is a meeting over a pipe and a sleep. Each change is predicted from the
recording of the training as it is, then made for real; both are run in turn, and medians of steps are compared.

    python benchmarks/replay_prediction.py [rounds]
"""

from __future__ import annotations

import sys
import tempfile
from collections import defaultdict
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from queue import Queue
from statistics import median
from threading import Thread
from time import sleep
from typing import Any

import ascend_sn as sn
from ascend_sn.collect import Profiler
from ascend_sn.replay import (
    Gain,
    Replay,
    Scale,
    Transform,
    Where,
    comm_overlapped,
    input_hidden,
)

STEPS = 30
FORWARD_S, BACKWARD_S, TRANSIT_S, OPTIMIZER_S = 0.010, 0.024, 0.006, 0.003
DATA_S = (0.004, 0.016)
VARIANTS = ("as it is", "loads alike", "backward halved", "input hidden", "buckets overlapped")


def train(rank: int, variant: str, output: str, pipes: list[Connection]) -> None:
    profiler = Profiler(output_path=output)
    data_s = DATA_S[0] if variant == "loads alike" else DATA_S[rank]
    backward_s = BACKWARD_S / 2 if variant == "backward halved" else BACKWARD_S
    batches: Queue[None] = Queue(maxsize=2)
    if variant == "input hidden":
        Thread(target=_make_batches, args=(batches, data_s), daemon=True).start()
    with profiler:
        for _ in range(STEPS):
            with profiler.op("dataloader"):
                if variant == "input hidden":
                    batches.get()
                else:
                    sleep(data_s)
            with profiler.op("forward"):
                sleep(FORWARD_S)
            if variant == "buckets overlapped":
                with profiler.op("backward"):
                    sleep(backward_s / 2)
                    first = Thread(target=_exchange, args=(pipes[0],))
                    first.start()
                    sleep(backward_s / 2)
                with profiler.op("all_reduce", size_bytes=1 << 20):
                    first.join()
                with profiler.op("all_reduce", size_bytes=1 << 20):
                    _exchange(pipes[1])
            else:
                with profiler.op("backward"):
                    sleep(backward_s)
                for pipe in pipes:
                    with profiler.op("all_reduce", size_bytes=1 << 20):
                        _exchange(pipe)
            with profiler.op("optimizer"):
                sleep(OPTIMIZER_S)
            profiler.step()


def _make_batches(batches: Queue[None], data_s: float) -> None:
    for _ in range(STEPS):
        sleep(data_s)
        batches.put(None)


def _exchange(pipe: Connection) -> None:
    pipe.send_bytes(b"g")
    pipe.recv_bytes()
    sleep(TRANSIT_S)


def run(variant: str, folder: Path) -> None:
    context = get_context("spawn")
    pairs = [context.Pipe() for _ in range(2)]
    ranks = [
        context.Process(target=_ranked, args=(rank, variant, str(folder), [pair[rank] for pair in pairs]))
        for rank in range(2)
    ]
    for process in ranks:
        process.start()
    for process in ranks:
        process.join()


def _ranked(rank: int, variant: str, output: str, pipes: list[Connection]) -> None:
    import os

    os.environ.update(RANK=str(rank), WORLD_SIZE="2", LOCAL_RANK=str(rank))
    train(rank, variant, output, pipes)


def measured_ms(folder: Path) -> float:
    with sn.open(folder) as found:
        rows = found.sql("""
            select max(dur_ns) from step where dur_ns > 0 group by step_id having count(*) = 2 order by step_id
        """).fetchall()
    return float(median(dur for (dur,) in rows[3:])) / 1e6


def predicted_ms(folder: Path) -> dict[str, tuple[float, float, float]]:
    with sn.open(folder) as found:
        replay = Replay.of(found)
        assert isinstance(replay, Replay)
        transforms: dict[str, Any] = {
            "loads alike": Transform.exactly(
                "x", Scale(Where(phases=("data",), profile_ids=(1,)), DATA_S[0] / DATA_S[1])
            ),
            "backward halved": Transform.exactly("x", Scale(Where(phases=("backward",)), 0.5)),
            "input hidden": input_hidden(replay.graph, workers=0, cores=64),
            "buckets overlapped": comm_overlapped(replay.graph),
        }
        prices = {}
        for name, transform in transforms.items():
            gain = replay.gain(transform)
            assert isinstance(gain, Gain)
            prices[name] = tuple((replay.base_ns - ns) / 1e6 for ns in (gain.high_ns, gain.expected_ns, gain.low_ns))
        return prices  # type: ignore[return-value]


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    measured: dict[str, list[float]] = defaultdict(list)
    predicted: dict[str, list[tuple[float, float, float]]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as scratch:
        for turn in range(rounds):
            for variant in VARIANTS:
                folder = Path(scratch) / f"{turn}-{VARIANTS.index(variant)}"
                run(variant, folder)
                measured[variant].append(measured_ms(folder))
                if variant == VARIANTS[0]:
                    for name, price in predicted_ms(folder).items():
                        predicted[name].append(price)
    print(f"{'change':22} {'measured ms':>12} {'predicted ms (high .. low)':>30} {'error':>8}")
    for variant in VARIANTS:
        real = median(measured[variant])
        if variant == VARIANTS[0]:
            print(f"{variant:22} {real:12.1f}")
            continue
        high, expected, low = (median(values) for values in zip(*predicted[variant], strict=True))
        error = (expected / real - 1) * 100
        print(f"{variant:22} {real:12.1f} {expected:12.1f} ({high:.1f} .. {low:.1f}) {error:+8.1f} %")


if __name__ == "__main__":
    main()
