"""The few parts of the flatbuffer encoding that Arrow messages need, with every bound checked."""

from __future__ import annotations

from struct import Struct
from typing import Final

__all__ = ["BadBufferError", "FlatTable", "root_table"]

_U8: Final = Struct("<B")
_U16: Final = Struct("<H")
_I32: Final = Struct("<i")
_U32: Final = Struct("<I")
_I64: Final = Struct("<q")

MAX_ELEMENTS: Final = 1_000_000


class BadBufferError(ValueError):
    """Bytes that are not what the encoding allows."""


def root_table(data: bytes) -> FlatTable:
    """Return the outermost table of a buffer."""
    return FlatTable(data, _read(_U32, data, 0))


class FlatTable:
    """A table inside a buffer; fields are asked for by number, in the order of the schema file."""

    def __init__(self, data: bytes, place: int) -> None:
        self._data = data
        self._place = place
        self._vtable = place - _read(_I32, data, place)
        self._vtable_length = _read(_U16, data, self._vtable)

    def integer(self, field: int, width_bits: int, default: int = 0) -> int:
        """Return an integer field of 8 (unsigned), 32 or 64 bits; the default where it is not stored."""
        offset = self._offset(field)
        code = {8: _U8, 32: _I32, 64: _I64}[width_bits]
        return _read(code, self._data, self._place + offset) if offset else default

    def table(self, field: int) -> FlatTable | None:
        """Return a table that a field refers to."""
        place = self._target(field)
        return None if place is None else FlatTable(self._data, place)

    def text(self, field: int) -> str | None:
        """Return a text; bytes that are not UTF-8 become U+FFFD."""
        place = self._target(field)
        if place is None:
            return None
        length = _read(_U32, self._data, place)
        return _slice(self._data, place + 4, length).decode("utf-8", "replace")

    def tables(self, field: int) -> list[FlatTable]:
        """Return the tables of a vector field."""
        place = self._target(field)
        if place is None:
            return []
        entries = range(place + 4, place + 4 + 4 * self._count(place), 4)
        return [FlatTable(self._data, entry + _read(_U32, self._data, entry)) for entry in entries]

    def pairs(self, field: int) -> list[tuple[int, int]]:
        """Return the structs of a vector field whose elements are two int64 each."""
        place = self._target(field)
        if place is None:
            return []
        entries = range(place + 4, place + 4 + 16 * self._count(place), 16)
        return [(_read(_I64, self._data, entry), _read(_I64, self._data, entry + 8)) for entry in entries]

    def _count(self, place: int) -> int:
        count = _read(_U32, self._data, place)
        if count > min(MAX_ELEMENTS, len(self._data)):
            raise BadBufferError(f"a vector of {count} elements in {len(self._data)} bytes")
        return count

    def _offset(self, field: int) -> int:
        entry = 4 + 2 * field
        return _read(_U16, self._data, self._vtable + entry) if entry + 2 <= self._vtable_length else 0

    def _target(self, field: int) -> int | None:
        offset = self._offset(field)
        if not offset:
            return None
        place = self._place + offset
        return place + _read(_U32, self._data, place)


def _read(code: Struct, data: bytes, place: int) -> int:
    number: int = code.unpack(_slice(data, place, code.size))[0]
    return number


def _slice(data: bytes, place: int, length: int) -> bytes:
    if place < 0 or place + length > len(data):
        raise BadBufferError(f"{length} bytes at {place} of {len(data)}")
    return data[place : place + length]
