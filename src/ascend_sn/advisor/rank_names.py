"""Several ranks as a short text that is the same in every language."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

__all__ = ["ranks_named"]

_NAMED_AT_MOST: Final = 6
"""Ranks and stretches of ranks that are written out."""


def ranks_named(ranks: Iterable[int | None]) -> str:
    """Return ranks in ascending order, those that follow each other as a stretch: `2, 8-15`; `?` for no number."""
    stretches: list[list[int]] = []
    unknown = False
    for rank in sorted({-1 if rank is None else rank for rank in ranks}):
        if rank < 0:
            unknown = True
        elif stretches and rank == stretches[-1][1] + 1:
            stretches[-1][1] = rank
        else:
            stretches.append([rank, rank])
    texts = [f"{low}" if low == high else f"{low}-{high}" for low, high in stretches]
    texts += ["?"] if unknown else []
    return ", ".join([*texts[:_NAMED_AT_MOST], *(["..."] if len(texts) > _NAMED_AT_MOST else [])])
