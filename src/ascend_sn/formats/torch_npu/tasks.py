"""Kinds of device tasks, and the direction of copies."""

from __future__ import annotations

import re
from typing import Final

import numpy as np

from ascend_sn._native.nesting import enclosing
from ascend_sn.model.rows import Int64, Nullable, Rows, Text

__all__ = ["COPY_DIRECTIONS", "CORE_OF_TASK", "copy_directions", "is_core_task", "joined_transport", "task_kind"]

CORE_OF_TASK: Final = {"KERNEL_AICORE": "AI_CORE", "KERNEL_AIVEC": "AI_VECTOR_CORE", "KERNEL_AICPU": "AI_CPU"}
"""The database's word for a task on a core, and the word of the other exports."""

COPY_DIRECTIONS: Final = {0: "h2h", 1: "h2d", 2: "d2h", 3: "d2d", 5: "d2d", 6: "h2d", 7: "d2h"}
"""Copy operation by the number in the database."""

_CORES = re.compile(r"^(AI_CORE|AI_VECTOR_CORE|AIV|MIX_\w+|KERNEL_AI\w+|KERNEL_MIX\w+|AI_CPU|HCCL_AI_CPU|DSA_SQE)$")
_SYNC = re.compile(r"^(EVENT|NOTIFY|WRITE_VALUE|WAIT_VALUE|STREAM_WAIT|CMO)")
_DIRECTION = re.compile(r"(host|device)_?(?:to|2)_?(host|device)", re.IGNORECASE)


def task_kind(name: str, task_type: str) -> str:
    """Return copy, sync or other for a task that is no kernel and no part of a collective."""
    for word in (name, task_type):
        plain = word.upper().replace(" ", "_")
        if plain.startswith("MEMCPY"):
            return "copy"
        if _SYNC.match(plain):
            return "sync"
    return "other"


def is_core_task(task_type: str) -> bool:
    """Whether a task of this type runs on a core of the chip."""
    return _CORES.match(task_type) is not None


def copy_directions(calls: Rows, call_of_copy: Nullable) -> Text:
    """Return the direction of copies as far as the task queue tells it.

    The Dequeue that encloses the copy's host call is named after what it does
    (`Dequeue@acl_memcpy_host_to_device`).

    Args:
        calls: The table `host_call`.
        call_of_copy: Host call of each copy.
    """
    names = calls.text("name")
    direction = names.mapped(_direction)
    found = np.full(len(call_of_copy), -1, np.int32)
    asked = np.flatnonzero(call_of_copy.valid)
    queue = np.flatnonzero(direction.codes >= 0)
    if len(asked) and len(queue):
        thread = calls.text("thread").codes
        call: Int64 = call_of_copy.values[asked]
        outer = enclosing(
            thread[queue].astype(np.int64),
            calls.values("ts_ns")[queue],
            calls.values("dur_ns")[queue],
            thread[call].astype(np.int64),
            calls.values("ts_ns")[call],
        )
        inside = outer >= 0
        found[asked[inside]] = direction.codes[queue[outer[inside]]]
    return Text(found, direction.values)


def joined_transport(transport: str | None, link: str | None) -> str | None:
    """Return a transport with the link type behind it: `SDMA/HCCS`."""
    if transport is None or transport in ("N/A", "INVALID"):
        return None
    known = link is not None and link not in ("N/A", "INVALID_TYPE", "INVALID", "RESERVED")
    return f"{transport}/{link}" if known else transport


def _direction(name: str) -> str | None:
    found = _DIRECTION.search(name)
    return f"{found[1][0]}2{found[2][0]}".lower() if found else None
