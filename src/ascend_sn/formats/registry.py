"""The readers of this package, strictest first, each loaded when it is first asked.

A folder of one profiler is claimed by one of the first readers; loading all of them would cost as much as reading
a small capture.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Final, Generic, TypeVar, overload

from ascend_sn.errors import AscendSnError, BroughtCodeError, InputError, ReaderError
from ascend_sn.formats.reader import Candidate, Reader, Source
from ascend_sn.model.brought_code import call_brought

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

__all__ = ["READERS", "Readers"]

_T = TypeVar("_T")

_PLACES: Final = (
    ("train_trace.reader", "READER"),
    ("mindspore.run_folder", "READER"),
    ("mindspore.run_folder", "RAW_READER"),
    ("torch_npu.run_folder", "READER"),
    ("torch_npu.run_folder", "RAW_READER"),
    ("msprof.reader", "READER"),
    ("msprof.reader", "RAW_READER"),
    ("cluster_output.reader", "READER"),
    ("msprof.database_file", "READER"),
    ("torch_npu.trace_file", "READER"),
    ("kineto.reader", "READER"),
    ("kineto.reader", "EXECUTION_TRACE"),
    ("onnxruntime", "READER"),
    ("memory_snapshot", "READER"),
    ("memory_timeline", "READER"),
    ("chrome.reader", "READER"),
)


ENTRY_POINT_GROUP: Final = "ascend_sn.readers"


class Readers(Sequence[Reader]):
    """Ours in their order, then those of other packages, which are looked for when none of ours claims."""

    @cached_property
    def _found(self) -> tuple[Reader | ReaderError, ...]:
        from importlib.metadata import entry_points

        return tuple(map(_loaded, entry_points(group=ENTRY_POINT_GROUP)))

    @property
    def _added(self) -> tuple[Reader, ...]:
        return tuple(found for found in self._found if isinstance(found, Reader))

    @property
    def unusable(self) -> tuple[ReaderError, ...]:
        """Why readers of other packages are left out, as far as they have been looked for."""
        found = self.__dict__.get("_found", ())
        return tuple(one for one in found if isinstance(one, ReaderError))

    def __len__(self) -> int:
        return len(_PLACES) + len(self._added)

    @overload
    def __getitem__(self, at: int) -> Reader: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Reader]: ...
    def __getitem__(self, at: int | slice) -> Reader | Sequence[Reader]:
        if isinstance(at, slice):
            return [self[number] for number in range(*at.indices(len(self)))]
        if at >= len(_PLACES):
            return self._added[at - len(_PLACES)]
        module, name = _PLACES[at]
        reader = getattr(import_module(f"ascend_sn.formats.{module}"), name)
        assert isinstance(reader, Reader)
        return reader


def _loaded(entry: EntryPoint) -> Reader | ReaderError:
    """Return the reader of another package, or why it cannot be used."""
    place = f"the reader {entry.name!r} of {ENTRY_POINT_GROUP} ({entry.value})"
    try:
        reader = call_brought(entry.load)
    except AscendSnError as error:
        return ReaderError(f"{place} cannot be imported: {error}; repair or uninstall its package")
    if not isinstance(reader, Reader):
        return ReaderError(f"{place} is no Reader but {type(reader).__name__}; repair or uninstall its package")
    return Reader(
        reader.name,
        _Brought(reader.claims, place),
        _Brought(reader.members, place),
        _Brought(reader.read, place),
        sums_up=reader.sums_up,
    )


class _Brought(Generic[_T]):
    """A function of another package's reader; whatever it raises is an error that names the reader."""

    def __init__(self, function: Callable[..., _T], place: str) -> None:
        self.function, self.place = function, place

    def __call__(self, given: Candidate | Path | Source) -> _T:
        try:
            return call_brought(self.function, given)
        except BroughtCodeError as error:
            if isinstance(error.__cause__, OSError):
                raise error.__cause__ from None  # a file that cannot be read, which who asked for it says
            path = given if isinstance(given, Path) else given.path
            raise InputError(path, f"{self.place} failed: {error}") from error


READERS: Final = Readers()
