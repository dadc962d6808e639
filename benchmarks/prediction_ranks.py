"""Two processes that train together, as they are and changed, recorded by our own profiler.

The device is a sleep, batches are made by sleeping, and a gradient exchange is a meeting over a pipe and a sleep.

    python -m benchmarks.prediction_ranks VARIANT OUTPUT [VARIANT OUTPUT ...]

Variants: as it is, loads alike, backward halved, batches by a thread, first bucket early.
"""

from __future__ import annotations

import os
import sys
from multiprocessing import get_context
from multiprocessing.connection import Connection
from queue import Queue
from threading import Thread
from time import sleep
from typing import Final

from ascend_sn.collect import Profiler

STEPS: Final = 48
FORWARD_S, BACKWARD_S, TRANSIT_S, OPTIMIZER_S = 0.010, 0.024, 0.006, 0.003
DATA_S: Final = (0.004, 0.016)
AS_IT_IS: Final = "as it is"


def train(rank: int, variant: str, output: str, pipes: list[Connection]) -> None:
    profiler = Profiler(output_path=output)
    data_s = DATA_S[0] if variant == "loads alike" else DATA_S[rank]
    backward_s = BACKWARD_S / 2 if variant == "backward halved" else BACKWARD_S
    batches: Queue[None] = Queue(maxsize=2)
    if variant == "batches by a thread":
        Thread(target=_make_batches, args=(batches, data_s), daemon=True).start()
    with profiler:
        for _ in range(STEPS):
            with profiler.op("dataloader"):
                if variant == "batches by a thread":
                    batches.get()
                else:
                    sleep(data_s)
            with profiler.op("forward"):
                sleep(FORWARD_S)
            if variant == "first bucket early":
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


def _ranked(rank: int, wanted: list[tuple[str, str]], pipes: list[Connection]) -> None:
    os.environ.update(RANK=str(rank), WORLD_SIZE="2", LOCAL_RANK=str(rank))
    for variant, output in wanted:
        train(rank, variant, output, pipes)


def main() -> None:
    wanted = list(zip(sys.argv[1::2], sys.argv[2::2], strict=True))
    context = get_context("spawn")
    pairs = [context.Pipe() for _ in range(2)]
    ranks = [context.Process(target=_ranked, args=(rank, wanted, [pair[rank] for pair in pairs])) for rank in range(2)]
    for process in ranks:
        process.start()
    for process in ranks:
        process.join()
    if any(process.exitcode for process in ranks):
        raise SystemExit("a rank has failed")


if __name__ == "__main__":
    main()
