"""What a forked child inherits: nothing. It must not write into its parent's files."""

from __future__ import annotations

import os
import weakref

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["call_in_children"]

_forgetting: set[weakref.WeakMethod[Callable[[], None]]] = set()
_hooks: list[object] = []


def call_in_children(forget: Callable[[], None]) -> None:
    """Call a method, as long as its object lives, in every child that this process forks from now on.

    Args:
        forget: A bound method that drops what belongs to the parent process.
    """
    if not _hooks:  # once, at the first recording: the hook cannot be taken away again
        os.register_at_fork(after_in_child=_forget)
        _hooks.append(_forget)
    # Without a callback: that of a method complains on stderr where the interpreter ends before the object.
    _forgetting.difference_update([known for known in _forgetting if known() is None])
    _forgetting.add(weakref.WeakMethod(forget))


def _forget() -> None:
    for known in list(_forgetting):
        forget = known()
        if forget is not None:
            forget()
