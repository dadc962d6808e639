"""Bytes of a file in order, plain or gzip, however the file is named."""

from __future__ import annotations

import os
import zlib
from typing import BinaryIO, Final, Protocol

__all__ = ["ByteSource", "FileBytes", "GivenBytes", "GzipBytes", "open_bytes"]

GZIP_MAGIC: Final = b"\x1f\x8b"
_READ_SIZE: Final = 1 << 18
_CRUMB: Final = 16
# Trace files shrink 10 to 60 times. What grows further than this, and large, was made to fill the memory.
_USUAL_RATIO: Final = 30
_LARGEST_RATIO: Final = 300
_FREE_EXPANSION: Final = 1 << 30

Damage = tuple[str, int, int, str]


class ByteSource(Protocol):
    """Something read once from front to end.

    Attributes:
        damage: What was wrong, as (kind, offset in the bytes handed out, count, example).
        likely_size: About how many bytes will come.
    """

    damage: list[Damage]
    likely_size: int

    def fill(self, room: memoryview) -> int:
        """Write the next bytes to `room` and return how many; fewer than fit means the end is reached."""
        ...

    def close(self) -> None:
        """Close what was opened."""
        ...


def open_bytes(source: bytes | str | os.PathLike[str]) -> ByteSource:
    """Open a path, or bytes that are given as such; gzip is recognised by content.

    Raises:
        OSError: The file cannot be read.
    """
    if isinstance(source, bytes):
        return GivenBytes(source)
    file = open(source, "rb")  # noqa: SIM115 - closed by the object that it is handed to
    try:
        magic = file.read(2)
        file.seek(0)
    except OSError:
        file.close()
        raise
    return GzipBytes(file) if magic == GZIP_MAGIC else FileBytes(file)


class GivenBytes:
    """Bytes already in memory, as a source."""

    def __init__(self, content: bytes) -> None:
        self.damage: list[Damage] = []
        self.likely_size = len(content)
        self._content = memoryview(content)

    def fill(self, room: memoryview) -> int:
        """Write the next bytes to `room`."""
        part = self._content[: len(room)]
        room[: len(part)] = part
        self._content = self._content[len(part) :]
        return len(part)

    def close(self) -> None:
        """Let the bytes go."""
        self._content.release()


class FileBytes:
    """A plain file as a source."""

    def __init__(self, file: BinaryIO) -> None:
        self.damage: list[Damage] = []
        self.likely_size = os.fstat(file.fileno()).st_size
        self._file = file

    def fill(self, room: memoryview) -> int:
        """Write the next bytes to `room`."""
        done = 0
        while done < len(room):
            count = self._file.readinto(room[done:])  # type: ignore[attr-defined]
            if not count:
                break
            done += count
        return done

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class GzipBytes:
    """A gzip file of one or several members as a source; a cut or damaged one gives what comes before."""

    def __init__(self, file: BinaryIO) -> None:
        self.damage: list[Damage] = []
        self.likely_size = _USUAL_RATIO * os.fstat(file.fileno()).st_size
        self._file = file
        self._member = zlib.decompressobj(wbits=31)
        self._input = b""
        self._taken = self._given = 0
        self._ended = self._careful = False

    def fill(self, room: memoryview) -> int:
        """Write the next expanded bytes to `room`."""
        done = 0
        while done < len(room) and not self._ended:
            part = self._expand(len(room) - done)
            room[done : done + len(part)] = part
            done += len(part)
            self._given += len(part)
            if self._given > _FREE_EXPANSION and self._given > _LARGEST_RATIO * self._taken:
                self._end("gzip_expansion", f"more than {_LARGEST_RATIO} times the size of the file")
        return done

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _expand(self, most: int) -> bytes:
        if self._member.eof:
            self._next_member()
        if not self._input and not self._ended:
            self._input = self._file.read(_READ_SIZE)
            self._taken += len(self._input)
            if not self._input:
                self._end("gzip_truncated", "the compressed data stop within a member")
        if self._ended:
            return b""
        # After an error the same input is gone through again in crumbs, to get all that comes before.
        taken, rest = (self._input[:_CRUMB], self._input[_CRUMB:]) if self._careful else (self._input, b"")
        before = None if self._careful else self._member.copy()
        try:
            part = self._member.decompress(taken, most)
        except zlib.error as error:
            if before is None:
                self._end("gzip_damaged", str(error))
            else:
                self._member, self._careful = before, True
            return b""
        self._input = (self._member.unused_data if self._member.eof else self._member.unconsumed_tail) + rest
        return part

    def _next_member(self) -> None:
        while not self._input.lstrip(b"\0"):  # tapes and block devices pad with zeros
            self._input = self._file.read(_READ_SIZE)
            self._taken += len(self._input)
            if not self._input:
                self._ended = True
                return
        self._input = self._input.lstrip(b"\0")
        if len(self._input) < len(GZIP_MAGIC):
            self._input += self._file.read(_READ_SIZE)
        if self._input.startswith(GZIP_MAGIC):
            self._member = zlib.decompressobj(wbits=31)
        else:
            self._end("gzip_trailing_data", "no further member follows")

    def _end(self, kind: str, example: str) -> None:
        self._ended = True
        self.damage.append((kind, self._given, 1, example))
