"""Components of `memory_sample` that are parts of one whole, and so may be added up."""

from __future__ import annotations

from typing import Final

__all__ = ["MEMORY_CATEGORIES", "MODULE_PREFIX"]

MEMORY_CATEGORIES: Final = (
    "parameter",
    "optimizer state",
    "input",
    "temporary",
    "activation",
    "gradient",
    "autograd detail",
    "unknown",
)
"""What a tensor is for, as PyTorch's memory profiler tells it; in the order of its numbers."""

MODULE_PREFIX: Final = "module:"
"""Begins the names of modules of the device's software: some are called like allocators (GE, APP)."""
