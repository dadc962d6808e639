"""Trainings that the tests record: small, real, and they measure themselves.

`python recorded_training.py KIND OUTPUT [options]` prints what it measured as one line of JSON.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any


def cnn() -> Any:
    from torch import nn

    return nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 6 * 6, 10))


def transformer() -> Any:
    from torch import nn

    layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True)
    return nn.Sequential(nn.Flatten(2), nn.Linear(64, 16), layer, nn.Flatten(), nn.Linear(48, 10))


def batches(workers: int, steps: int) -> Any:
    import torch
    from torch.utils.data import DataLoader, TensorDataset

    generator = torch.Generator().manual_seed(1)
    images = torch.randn(steps * 4, 3, 8, 8, generator=generator)
    labels = torch.randint(0, 10, (steps * 4,), generator=generator)
    return DataLoader(TensorDataset(images, labels), batch_size=4, num_workers=workers)


class Waits:
    """Passes batches on and notes how long each one was waited for."""

    def __init__(self, loader: Any) -> None:
        self.loader, self.seconds = loader, [0.0][:0]

    def __iter__(self) -> Iterator[Any]:
        iterator = iter(self.loader)
        while True:
            begin = time.perf_counter()
            try:
                batch = next(iterator)
            except StopIteration:
                return
            self.seconds.append(time.perf_counter() - begin)
            yield batch


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("kind", choices=["cnn", "transformer"])
    parser.add_argument("output")
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--distributed", action="store_true")
    parser.add_argument("--config", type=json.loads, default={})
    arguments = parser.parse_args()

    import torch
    import torch.distributed

    from ascend.profiler import Profiler

    torch.set_num_threads(1)
    rank = 0
    if arguments.distributed:
        torch.distributed.init_process_group("gloo")
        rank = torch.distributed.get_rank()
    plain = train(arguments, None)
    profiler = Profiler(output_path=arguments.output, **arguments.config)
    profiler.start()
    measured = train(arguments, profiler)
    held = torch.empty(1_000_003)
    del held
    profiler.stop()
    measured |= {"rank": rank, "pid": os.getpid(), "faults": profiler.fault_counts}
    measured["is_as_without"] = (measured["digest"], measured["losses"]) == (plain["digest"], plain["losses"])
    sys.stdout.write(f"{json.dumps(measured)}\n")  # at once: the lines of two ranks must not run into each other
    if arguments.distributed:
        torch.distributed.destroy_process_group()


def train(arguments: argparse.Namespace, profiler: Any) -> dict[str, Any]:
    """Train from the same start, recorded or not, and return what was measured."""
    import torch
    import torch.distributed
    from torch import nn

    torch.manual_seed(1)
    model = {"cnn": cnn, "transformer": transformer}[arguments.kind]()
    if arguments.distributed:
        model = nn.parallel.DistributedDataParallel(model)
    optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
    loader = Waits(batches(arguments.workers, arguments.steps))
    reduced = 0
    step_seconds, losses = [], []
    begin = time.perf_counter()
    for images, labels in loader:
        optimizer.zero_grad()
        with profiler.op("forward") if profiler else nullcontext():
            loss = nn.functional.cross_entropy(model(images), labels)
        torch.autograd.backward(loss)
        optimizer.step()
        if arguments.distributed:
            total = loss.detach().reshape(1).clone()
            torch.distributed.all_reduce(total)
            reduced += 1
        losses.append(loss.item())
        if profiler:
            profiler.step()
        now = time.perf_counter()
        step_seconds.append(now - begin)
        begin = now
    digest = hashlib.sha256()
    for parameter in model.parameters():
        digest.update(parameter.detach().numpy().tobytes())
    return {
        "step_seconds": step_seconds,
        "wait_seconds": loader.seconds,
        "reduced": reduced,
        "losses": losses,
        "digest": digest.hexdigest(),
    }


if __name__ == "__main__":
    main()
