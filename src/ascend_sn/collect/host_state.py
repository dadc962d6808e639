"""What the host has for this process: cores, memory that is left, shared memory that is left."""

from __future__ import annotations

import os

from ascend_sn.model.trace_schema import CORES_METRIC, HOST_MEMORY_METRIC, SHARED_MEMORY_METRIC

__all__ = ["host_state"]

_MEMORY_FILE = "/proc/meminfo"
_SHARED_MEMORY = "/dev/shm"


def host_state() -> dict[str, int]:
    """Return figures by the name of their metric; what the system does not tell is left out."""
    found: dict[str, int] = {}
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    if cores:
        found[CORES_METRIC] = cores
    left = _memory_left()
    if left is not None:
        found[HOST_MEMORY_METRIC] = left
    try:
        room = os.statvfs(_SHARED_MEMORY)
    except OSError:
        return found
    found[SHARED_MEMORY_METRIC] = room.f_bavail * room.f_frsize
    return found


def _memory_left() -> int | None:
    try:
        with open(_MEMORY_FILE, encoding="ascii") as lines:
            for line in lines:
                name, _, value = line.partition(":")
                if name == "MemAvailable":
                    return int(value.split()[0]) * 1024
    except (OSError, ValueError):
        return None
    return None
