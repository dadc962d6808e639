"""Where PyTorch shows the steps of a program: optimizers and data loaders."""

from __future__ import annotations

from functools import wraps

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__ = ["watch_data_loaders", "watch_optimizers"]


def watch_optimizers(stepped: Callable[[object], None]) -> None:
    """Call `stepped(optimizer)` behind every step of every optimizer."""
    from torch.optim.optimizer import register_optimizer_step_post_hook

    def after_step(optimizer: object, _arguments: object, _named: object) -> None:
        stepped(optimizer)

    register_optimizer_step_post_hook(after_step)


def watch_data_loaders(asked: Callable[[bool, int], None]) -> None:
    """Call `asked(with_gradients, workers)` before every batch that a data loader with so many workers is asked for."""
    import torch
    from torch.utils.data import dataloader

    iterator: Any = dataloader._BaseDataLoaderIter
    original = iterator.__next__

    @wraps(original)
    def next_batch(self: Any) -> Any:
        asked(torch.is_grad_enabled(), self._num_workers)
        return original(self)

    iterator.__next__ = next_batch
