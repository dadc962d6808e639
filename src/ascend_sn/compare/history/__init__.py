"""Baselines that are remembered: a database of the figures of earlier runs."""

from __future__ import annotations

__all__: list[str] = []
