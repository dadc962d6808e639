"""The readers of this package, strictest first, each loaded when it is first asked.

A folder of one profiler is claimed by one of the first readers; loading all of them would cost as much as reading
a small capture.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Final, overload

from ascend_sn.errors import ReaderError
from ascend_sn.formats.reader import Reader

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

__all__ = ["READERS", "Readers"]

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
    def _added(self) -> tuple[Reader, ...]:
        from importlib.metadata import entry_points

        return tuple(_loaded(entry) for entry in entry_points(group=ENTRY_POINT_GROUP))

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


def _loaded(entry: EntryPoint) -> Reader:
    """Return the reader of another package.

    Raises:
        ReaderError: It cannot be imported, or is no reader.
    """
    place = f"the reader {entry.name!r} of {ENTRY_POINT_GROUP} ({entry.value})"
    try:
        reader = entry.load()
    except (ImportError, SyntaxError, NameError, AttributeError, TypeError, ValueError, OSError) as error:
        raise ReaderError(f"{place} cannot be imported: {error}; repair or uninstall its package") from error
    if not isinstance(reader, Reader):
        raise ReaderError(f"{place} is no Reader but {type(reader).__name__}; repair or uninstall its package")
    return reader


READERS: Final = Readers()
