"""What the forward pass of a step leaves in memory until the peak: the part that grows with the batch."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Final

import msgspec

from ascend_sn.advisor.device_memory import is_of_device

if TYPE_CHECKING:
    from ascend_sn.advisor.facts import Facts
    from ascend_sn.advisor.median_step import MedianStep

__all__ = ["activations_of", "modules_at_peak"]


class _Window(msgspec.Struct):
    start_ns: int
    end_ns: int


class _Curve(msgspec.Struct):
    component: str
    last_floor_bytes: int | None
    last_peak_bytes: int | None


class _Module(msgspec.Struct):
    module: str
    held_bytes: int


def activations_of(facts: Facts, step: MedianStep, modules: Collection[str] | None = None) -> int | None:
    """Return the activations held at the memory peak of a step, bytes; None where they cannot be told.

    With allocation events they are what forward operators allocated; without, and for no modules in particular, they
    are what the curve of the device rises by within the last step.

    Args:
        facts: The analysis results.
        step: The step.
        modules: Module paths whose activations count; all by default.
    """
    from ascend_sn.replay import Unpriced, activation_bytes
    from ascend_sn.replay.choose import Window

    windows = facts.table_rows(
        _OF_STEP if step.step_id is not None else _OF_CAPTURE, _Window, profile_id=step.profile_id, step_id=step.step_id
    )
    for window in windows:
        chosen = Window(
            profile_id=step.profile_id,
            rank=step.rank,
            device_kind=step.device_kind,
            start_ns=window.start_ns,
            end_ns=window.end_ns,
            step_id=step.step_id,
            step=step.step,
        )
        found = activation_bytes(facts.run.db, chosen, modules)
        if not isinstance(found, Unpriced) and found.activation_bytes:
            return found.activation_bytes
    return None if modules is not None else _rise(facts, step.profile_id)


def modules_at_peak(facts: Facts, profile_id: int) -> list[str]:
    """Return the modules that hold memory at the peak, the largest first; a part of one that is there is left out."""
    held: dict[str, int] = {}
    for row in facts.rows(
        "memory_at_peak", _Module, lambda row: row["profile_id"] == profile_id and row["module"] is not None
    ):
        held[row.module] = held.get(row.module, 0) + row.held_bytes
    found: list[str] = []
    for module in sorted(held, key=lambda module: (-held[module], module)):
        if not any(module == path or module.startswith((f"{path}.", f"{path}/")) for path in found):
            found.append(module)
    return found


def _rise(facts: Facts, profile_id: int) -> int | None:
    rows = facts.rows("memory_leak", _Curve, lambda row: row["profile_id"] == profile_id)
    rises = [
        row.last_peak_bytes - row.last_floor_bytes
        for row in rows
        if is_of_device(row.component) and row.last_peak_bytes is not None and row.last_floor_bytes is not None
    ]
    return max(rises, default=None)


_OF_STEP: Final = """
    select ts_ns as start_ns, ts_ns + dur_ns as end_ns
    from step
    where profile_id = $profile_id and step_id = $step_id
"""
_OF_CAPTURE: Final = """
    select min(ts_ns) as start_ns, max(ts_ns) + 1 as end_ns
    from memory_event
    where profile_id = $profile_id and $step_id is null
    having count(*) > 0
"""
