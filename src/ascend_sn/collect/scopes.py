"""Spans by `with` and by decorator."""

from __future__ import annotations

from functools import wraps

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType
    from typing import ParamSpec, TypeVar

    from ascend_sn.collect.profiler import Profiler

    P = ParamSpec("P")
    R = TypeVar("R")

__all__ = ["OpScope", "recorded_function"]

_ASYNCHRONOUS = 0x80 | 0x200  # code flags of coroutine functions and asynchronous generators


class OpScope:
    """`with profiler.op(name):`; the span is closed when the body ends, also by an exception."""

    __slots__ = ("_begin", "_name", "_profiler")

    def __init__(self, profiler: Profiler, name: str, begin: Callable[[], None]) -> None:
        self._profiler = profiler
        self._name = name
        self._begin = begin

    def __enter__(self) -> None:
        self._begin()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._profiler.stop_op(self._name)


def recorded_function(profiler: Profiler, function: Callable[P, R]) -> Callable[P, R]:
    """Return the function with each call as a span; a call outside a session is a session of its own.

    Raises:
        TypeError: For a coroutine function or an asynchronous generator, whose calls only begin the work.
    """
    code = getattr(function, "__code__", None)
    if code is not None and code.co_flags & _ASYNCHRONOUS:
        raise TypeError(f"{function!r} is asynchronous; use `with profiler.op(...)` inside it")
    name = getattr(function, "__qualname__", None) or type(function).__name__

    @wraps(function)
    def recorded(*args: P.args, **kwargs: P.kwargs) -> R:
        if profiler.is_recording:
            with profiler.op(name):
                return function(*args, **kwargs)
        with profiler, profiler.op(name):
            return function(*args, **kwargs)

    return recorded
