#!/usr/bin/env python3
"""Record the training of a small network: the automation script of the guide, complete.

python examples/profiling.py --output result
python examples/profiling.py --ops MatMul Conv2d LayerNorm Softmax
python examples/profiling.py --epochs 3
ascend-sn report --input result --output report.html
"""

from __future__ import annotations

import argparse
from typing import Any

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

from ascend.profiler import Profiler, ProfilerConfig


class Images(Dataset[dict[str, Any]]):
    """Images and labels that are made up."""

    def __len__(self) -> int:
        return 64

    def __getitem__(self, index: int) -> dict[str, Any]:
        return {"input": torch.full((3, 16, 16), index / 64), "label": index % 10}


def build_model() -> nn.Module:
    """Return a small convolutional network."""
    return nn.Sequential(
        nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Flatten(), nn.LayerNorm(8 * 14 * 14), nn.Linear(8 * 14 * 14, 10)
    )


def main() -> None:
    """Train for some epochs, each one a session of the recording."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--output", default="profiling")
    parser.add_argument("--ops", nargs="+", default=["MatMul", "Conv2d", "LayerNorm"])
    parser.add_argument("--epochs", type=int, default=1)
    args = parser.parse_args()

    config = ProfilerConfig(output_path=args.output, trace_ops=args.ops, enable_memory=True, enable通信=True)
    profiler = Profiler(config)
    device = "npu" if hasattr(torch, "npu") else "cuda" if torch.cuda.is_available() else "cpu"
    model = build_model().to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    loss_fn = nn.CrossEntropyLoss()
    dataloader = DataLoader(Images(), batch_size=16)
    for _ in range(args.epochs):
        profiler.start()
        for batch_idx, batch in enumerate(dataloader):
            data, target = batch["input"].to(device), batch["label"].to(device)
            optimizer.zero_grad()
            loss = loss_fn(model(data), target)
            loss.backward()
            optimizer.step()
            profiler.step()
            if batch_idx % 100 == 0:
                profiler.save(intermediate=True)
        profiler.stop()
    profiler.save()
    print(f"Profiling complete. See {args.output}")


if __name__ == "__main__":
    main()
