"""Every exception that ascend-sn raises on purpose.

`cli.main` turns an `AscendSnError` into one line on stderr and its `exit_code`; any other exception is a
defect and exits 4 with a traceback.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

__all__ = [
    "AscendSnError",
    "BroughtCodeError",
    "EmptyInputError",
    "FormatError",
    "HistoryError",
    "HistoryVersionError",
    "InputError",
    "JsonTextError",
    "NoBaselineError",
    "NotCollectedError",
    "NotComparableError",
    "NotParsedError",
    "NothingChosenError",
    "ProfilerError",
    "ProfilerPathError",
    "ProfilerStateError",
    "QueryError",
    "ReaderError",
    "RunVersionError",
    "StoreError",
    "UnknownNameError",
    "UsageError",
]


class AscendSnError(Exception):
    """Base of all errors raised on purpose; `exit_code` is what the command line ends with."""

    exit_code = 3

    def __reduce__(self) -> tuple[Any, ...]:
        # Exceptions are copied by calling the class with `args`, which here are not what the class takes.
        return _restored, (type(self), self.args, self.__dict__)


def _restored(kind: type[AscendSnError], args: tuple[Any, ...], attributes: dict[str, Any]) -> AscendSnError:
    """Return an error as another process raised it."""
    error = kind.__new__(kind)
    error.args = args
    error.__dict__.update(attributes)
    return error


class UsageError(AscendSnError):
    """The caller asked for something that has no meaning (a wrong option or a wrong combination)."""

    exit_code = 2


class UnknownNameError(UsageError):
    """A name that is not one of the known ones; `nearest` is the likeliest meant one, if any."""

    def __init__(self, what: str, name: str, known: Sequence[str], nearest: str | None) -> None:
        self.what, self.name, self.known, self.nearest = what, name, tuple(known), nearest
        hint = f"; did you mean {nearest!r}?" if nearest else f"; known: {', '.join(known)}"
        super().__init__(f"unknown {what} {name!r}{hint}")


class QueryError(UsageError):
    """A query of a user that is not allowed, is wrong, or takes too much; the message says which."""


class InputError(AscendSnError):
    """The input cannot be used; `path` is the file or folder."""

    def __init__(self, path: Path | str, problem: str) -> None:
        self.path, self.problem = Path(path), problem
        super().__init__(f"{path}: {problem}")


class FormatError(InputError):
    """A file of a recognised format in which nothing usable is left; `place` says where it broke."""

    def __init__(self, path: Path | str, problem: str, place: str = "") -> None:
        self.place = place
        super().__init__(path, f"{problem} (at {place})" if place else problem)


class EmptyInputError(InputError):
    """The input was read and holds no timed events."""


class NothingChosenError(InputError):
    """A shard of an input for which no capture is left: there are more shards than captures."""


class NotParsedError(InputError):
    """Raw profiler data that its own tool has not parsed yet."""


class JsonTextError(AscendSnError):
    """A text that should be JSON and is not; the message says where it breaks."""


class ReaderError(AscendSnError):
    """A reader of another package that cannot be used; the message names its entry point."""


class BroughtCodeError(AscendSnError):
    """Code of a user or of another package that failed; the message says how, and in which line."""


class NotCollectedError(AscendSnError):
    """A result was asked for whose data was not collected; `turn_on` names the option that collects it."""

    def __init__(self, what: str, reason: str, turn_on: str) -> None:
        self.what, self.reason, self.turn_on = what, reason, turn_on
        hint = f"; turn on {turn_on}" if turn_on else ""
        super().__init__(f"{what} was not collected: {reason}{hint}")


class NotComparableError(AscendSnError):
    """Two runs that cannot be compared; the message says why."""


class HistoryError(AscendSnError):
    """The history of baselines cannot be used; `where` names it without its password."""

    def __init__(self, where: str, problem: str) -> None:
        self.where, self.problem = where, problem
        super().__init__(f"{where}: {problem}")


class NoBaselineError(HistoryError):
    """A history that holds nothing to compare with yet."""


class HistoryVersionError(HistoryError):
    """A history written by a newer version of ascend-sn than this one."""

    def __init__(self, where: str, found: int, supported: int) -> None:
        self.found, self.supported = found, supported
        super().__init__(
            where, f"history version {found} is newer than this ascend-sn reads ({supported}); upgrade ascend-sn"
        )


class StoreError(InputError):
    """The run folder or the cache cannot be read or written."""


class RunVersionError(StoreError):
    """A run folder written by a newer version of ascend-sn than this one."""

    def __init__(self, path: Path | str, found: int, supported: int) -> None:
        self.found, self.supported = found, supported
        super().__init__(
            path,
            f"run folder version {found} is newer than this ascend-sn reads ({supported}); upgrade ascend-sn",
        )


class ProfilerError(AscendSnError):
    """Base of what the recorder raises at an explicit `start()`."""


class ProfilerStateError(ProfilerError):
    """The recorder was asked for something that its state does not allow (`start()` while recording)."""


class ProfilerPathError(ProfilerError):
    """The recorder's output folder cannot be created or written; `path` names it."""

    def __init__(self, path: Path | str, problem: str) -> None:
        self.path = Path(path)
        super().__init__(f"{path}: {problem}")
