"""What a forked child inherits: nothing. It must not write into its parent's files."""

from __future__ import annotations

import os
import weakref

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    class Forkable(Protocol):
        """Something with state that a forked child has to let go of."""

        def forget_parent(self) -> None:
            """Drop what belongs to the parent process; runs in the child."""


__all__ = ["forget_in_children"]

_recording: weakref.WeakSet[Forkable] = weakref.WeakSet()
_hooks: list[object] = []


def forget_in_children(profiler: Forkable) -> None:
    """Call `profiler.forget_parent()` in every child that this process forks from now on."""
    if not _hooks:  # once, at the first recording: the hook cannot be taken away again
        os.register_at_fork(after_in_child=_forget)
        _hooks.append(_forget)
    _recording.add(profiler)


def _forget() -> None:
    for profiler in list(_recording):
        profiler.forget_parent()
