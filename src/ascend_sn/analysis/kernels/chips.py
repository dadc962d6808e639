"""What chips can do at most: the table of `chips.toml`."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import msgspec

__all__ = ["Chip", "chip_of", "chips"]


class Chip(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Peak figures of a chip; what is not given is not known.

    Attributes:
        name: Name of the entry.
        names: Regular expressions of the device names it stands for.
        sources: Where the figures come from.
        flops_per_s: Dense operations per second by data type (float16, bfloat16, tf32, float32, float8, int8).
        memory_bytes_per_s: Bandwidth of the device memory.
        links: Bytes per second of one stream and direction, by transport.
        frequency_mhz: Rated frequency of the cores.
    """

    name: str
    names: tuple[str, ...]
    sources: tuple[str, ...]
    flops_per_s: dict[str, float] = {}
    memory_bytes_per_s: float | None = None
    links: dict[str, float] = {}
    frequency_mhz: float | None = None

    def peak(self, dtype: str | None) -> float | None:
        """Return the operations per second for a data type (as `shapes.plain_dtype` names it), None if unknown."""
        return None if dtype is None else self.flops_per_s.get(dtype)


class _Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    chip: tuple[Chip, ...]


@cache
def chips() -> tuple[Chip, ...]:
    """Return the table that comes with the package."""
    text = Path(__file__).with_name("chips.toml").read_text("utf-8")
    return msgspec.convert(tomllib.loads(text), _Table).chip


def chip_of(device_name: str | None, table: Sequence[Chip] | None = None) -> Chip | None:
    """Return the entry for a device name, None where there is none; no name is guessed from a part of it."""
    if device_name is None:
        return None
    plain = device_name.strip()
    for chip in chips() if table is None else table:
        if any(re.fullmatch(pattern, plain, re.IGNORECASE) for pattern in chip.names):
            return chip
    return None
