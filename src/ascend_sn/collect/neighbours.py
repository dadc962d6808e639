"""The profilers of one process know of each other: the framework tells its operators to one recording only."""

from __future__ import annotations

import os
import weakref

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from ascend_sn.collect.profiler import Profiler

__all__ = ["ask_others_aside", "is_alone", "note_recording", "stand_aside_by"]

_recorded: list[tuple[int, weakref.ref[Profiler]]] = []
"""Who has opened a session, and in which process: a forked child inherits the list of its parent."""

_asides: list[Callable[[Profiler], None]] = []


def note_recording(profiler: Profiler) -> None:
    """Take note that a profiler has opened a session in this process."""
    here = os.getpid()
    if not any(process == here and known() is profiler for process, known in _recorded):
        _recorded.append((here, weakref.ref(profiler)))


def is_alone(profiler: Profiler) -> bool:
    """Say whether no other profiler of this process has ever recorded."""
    here = os.getpid()
    return all(known() is profiler for process, known in _recorded if process == here)


def stand_aside_by(stand_aside: Callable[[Profiler], None]) -> None:
    """Call a function, from now on, with each profiler that is about to record the framework too."""
    _asides.append(stand_aside)


def ask_others_aside(profiler: Profiler) -> None:
    """Tell those who asked for it that a profiler is about to record the framework."""
    for stand_aside in tuple(_asides):
        stand_aside(profiler)
