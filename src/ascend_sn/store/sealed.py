"""Small files that are kept for a later time: written whole or not at all, with the sum of what they hold.

A changed digit makes another figure without an error. Files of earlier versions have no sum, and are taken as they are.
"""

from __future__ import annotations

import os
import re
import stat
import tempfile
import zlib
from pathlib import Path
from typing import Final, TypeVar

import msgspec

__all__ = ["BrokenSealError", "check_object", "decoded", "read_sealed", "sealed_object", "write_sealed"]

_Held = TypeVar("_Held")

_SEAL: Final = re.compile(rb"\ncrc32 ([0-9a-f]{8})\n\Z")
_SEAL_BYTES: Final = len(b"\ncrc32 01234567\n")
_LAST_FIELD: Final = re.compile(rb',\n "crc32": "([0-9a-f]{8})"\n\}\Z')
_LAST_FIELD_BYTES: Final = len(b',\n "crc32": "01234567"\n}')
_CHANGED: Final = "its bytes are not those that were written"


class BrokenSealError(ValueError):
    """What lies there is not what was written; the message says how that was seen."""


def write_sealed(path: Path, data: bytes) -> None:
    """Write a file beside its place first, then put it there.

    Raises:
        OSError: It cannot be written; what lay there stays.
    """
    descriptor, temporary = tempfile.mkstemp(dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data + b"\ncrc32 %08x\n" % zlib.crc32(data))
        Path(temporary).replace(path)
    except OSError:
        Path(temporary).unlink(missing_ok=True)
        raise


def read_sealed(path: Path) -> bytes:
    """Return what was written.

    Raises:
        OSError: It cannot be read, or is no file.
        BrokenSealError: It is something else.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)  # a pipe would be waited for
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise BrokenSealError("it is no file")
        held = file.read()
    seal = _SEAL.search(held, max(len(held) - _SEAL_BYTES, 0))
    if seal is None:
        return held
    data = held[: seal.start()]
    if zlib.crc32(data) != int(seal[1], 16):
        raise BrokenSealError(_CHANGED)
    return data


def sealed_object(data: bytes) -> bytes:
    """Give a JSON object a last field with the sum of what stands before it, so that it stays JSON for everybody."""
    before = data.rstrip().removesuffix(b"}").rstrip()
    return before + b',\n "crc32": "%08x"\n}' % zlib.crc32(before)


def check_object(data: bytes) -> None:
    """Compare a JSON object with its last field; one without it is of an earlier version.

    Raises:
        BrokenSealError: It is another one than was written.
    """
    seal = _LAST_FIELD.search(data, max(len(data) - _LAST_FIELD_BYTES, 0))
    if seal is not None and zlib.crc32(memoryview(data)[: seal.start()]) != int(seal[1], 16):
        raise BrokenSealError(_CHANGED)


def decoded(path: Path, kind: type[_Held]) -> _Held:
    """Return what was written as JSON.

    Raises:
        OSError: It cannot be read.
        BrokenSealError: It is something else, or no such JSON.
    """
    try:
        return msgspec.json.decode(read_sealed(path), type=kind)
    except RecursionError as error:
        raise BrokenSealError("nested too deeply") from error
    except msgspec.MsgspecError as error:
        raise BrokenSealError(str(error)) from error
