"""Trainings in PyTorch on the processor, as they are and changed, recorded by our own profiler.

A batch takes a while to make, by waiting (storage) or by work of the processor (decoding); the device is a wait of
20 ms, so that the processor is idle meanwhile, as it is beside a real accelerator. In the other training the input is
normalised by nine operators or by the one that does the same.

    python -m benchmarks.prediction_torch VARIANT OUTPUT [VARIANT OUTPUT ...]
"""

from __future__ import annotations

import sys
from time import sleep, thread_time
from typing import Final

import torch
from torch import nn
from torch.nn import functional
from torch.utils.data import DataLoader, Dataset

from ascend_sn.collect import Profiler

STEPS: Final = 48
DEVICE_S: Final = 0.020
LOADERS: Final = {
    f"{kind} {milliseconds} ms, {workers} workers": (kind, milliseconds / 1e3, workers)
    for kind, milliseconds, counts in (("wait", 8, (0, 1, 2)), ("wait", 50, (0, 1, 2)), ("work", 20, (0, 1, 2)))
    for workers in counts
}
"""Variants of the first training: what making a batch takes, and how many processes make batches."""

NORMALISED: Final = {
    "nine large operators": (False, 4, 128, 4096),
    "one large operator": (True, 4, 128, 4096),
    "nine small operators": (False, 64, 32, 512),
    "one small operator": (True, 64, 32, 512),
}
"""Variants of the second training: whether one operator does it, how many views of the input there are, their size."""


class Batches(Dataset[torch.Tensor]):
    """Makes every batch anew: `wait` sleeps, `work` keeps a processor busy for that much of its time."""

    def __init__(self, kind: str, seconds: float) -> None:
        self.kind, self.seconds = kind, seconds

    def __len__(self) -> int:
        return STEPS

    def __getitem__(self, index: int) -> torch.Tensor:
        if index >= STEPS:
            raise IndexError
        if self.kind == "wait":
            sleep(self.seconds)
        else:
            end = thread_time() + self.seconds
            while thread_time() < end:
                pass
        return torch.full((32, 128), float(index % 7))


def load(kind: str, seconds: float, workers: int, profiler: Profiler) -> None:
    model = nn.Sequential(nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 10))
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    loader: DataLoader[torch.Tensor] = DataLoader(Batches(kind, seconds), batch_size=None, num_workers=workers)
    labels = torch.zeros(32, dtype=torch.long)
    with profiler:
        for batch in loader:
            optimizer.zero_grad()
            with profiler.op("forward"):
                loss = functional.cross_entropy(model(batch), labels)
            torch.autograd.backward(loss)
            with profiler.op("device", "compute"):
                sleep(DEVICE_S)
            optimizer.step()
            profiler.step()


def normalise(as_one: bool, count: int, rows: int, width: int, profiler: Profiler) -> None:
    model = nn.Linear(width, 64)
    optimizer = torch.optim.SGD(model.parameters(), 0.001)
    views = [torch.randn(rows, width) for _ in range(count)]
    weight, bias = torch.randn(width), torch.randn(width)
    with profiler:
        for _ in range(STEPS):
            optimizer.zero_grad()
            with profiler.op("forward"):
                seen = []
                for view in views:
                    with profiler.op("normalise"):
                        seen.append((_one if as_one else _nine)(view, weight, bias))
                loss = model(seen[0]).square().mean()
            torch.autograd.backward(loss)
            optimizer.step()
            profiler.step()


def _nine(view: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    mean = torch.mean(view, 1, True)
    centred = torch.sub(view, mean)
    variance = torch.mean(torch.mul(centred, centred), 1, True)
    scale = torch.rsqrt(torch.add(variance, 1e-5))
    return torch.add(torch.mul(torch.mul(centred, scale), weight), bias)


def _one(view: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    return functional.layer_norm(view, weight.shape, weight, bias)


def main() -> None:
    torch.set_num_threads(1)
    for variant, output in zip(sys.argv[1::2], sys.argv[2::2], strict=True):
        torch.manual_seed(1)
        profiler = Profiler(output_path=output)
        if variant in LOADERS:
            load(*LOADERS[variant], profiler)
        else:
            normalise(*NORMALISED[variant], profiler)
        if profiler.fault_counts:
            raise SystemExit(f"the recording is not whole: {profiler.fault_counts}")


if __name__ == "__main__":
    main()
