"""A training with an operator of its own that takes as long as told: `gated_training.py OUTPUT MILLISECONDS`."""

from __future__ import annotations

import sys
import time

import torch
from torch import nn

from ascend.profiler import Profiler

STEPS = 14
OUTPUT, MILLISECONDS = sys.argv[1], float(sys.argv[2])


@torch.library.custom_op("gated::rescale", mutates_args=())
def rescale(values: torch.Tensor) -> torch.Tensor:
    """Numpy does the work: the operator has none of PyTorch's below it."""
    time.sleep(MILLISECONDS / 1000)
    return torch.from_numpy(values.numpy() * 2)


torch.set_num_threads(1)
torch.manual_seed(1)
model = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4))
optimizer = torch.optim.SGD(model.parameters(), 0.1)
profiler = Profiler(output_path=OUTPUT)
profiler.start()
for _ in range(STEPS):
    with torch.no_grad():
        batch = rescale(torch.randn(8, 16))
    optimizer.zero_grad()
    torch.autograd.backward(model(batch).square().mean())
    optimizer.step()
    profiler.step()
profiler.stop()
