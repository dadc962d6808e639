"""A program that knows nothing of profilers: it trains, and lets a forked and a spawned child train.

`python found_training.py STEPS [STOP_FILE]`: with a file it goes on until that file is there.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
import time
from typing import Any


def train(steps: int, stop_file: str | None = None) -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.set_num_threads(1)
    model = nn.Linear(8, 2)
    optimizers: list[Any] = [torch.optim.SGD([parameter], 0.1) for parameter in model.parameters()]
    data = DataLoader(TensorDataset(torch.randn(steps * 4, 8), torch.randint(0, 2, (steps * 4,))), batch_size=4)
    while True:
        for inputs, labels in data:
            torch.autograd.backward(nn.functional.cross_entropy(model(inputs), labels))
            for optimizer in optimizers:
                optimizer.step()
                optimizer.zero_grad()
        if stop_file is None or os.path.exists(stop_file):
            return
        time.sleep(0.02)


if __name__ == "__main__":
    train(int(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else None)
    if len(sys.argv) == 2:
        for method, steps in (("fork", 2), ("spawn", 3)):
            context: Any = multiprocessing.get_context(method)
            child = context.Process(target=train, args=(steps,))
            child.start()
            child.join()
