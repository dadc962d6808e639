"""The first bytes of a file, through gzip when it is one."""

from __future__ import annotations

import zlib
from pathlib import Path

__all__ = ["GZIP_MAGIC", "is_gzip", "read_head"]

GZIP_MAGIC = b"\x1f\x8b"


def read_head(path: Path, limit: int) -> bytes:
    """Return at most `limit` bytes from the start of the (decompressed) file; what is readable of a damaged one."""
    with path.open("rb") as file:
        raw = file.read(limit)
    if not raw.startswith(GZIP_MAGIC):
        return raw
    try:
        return zlib.decompressobj(wbits=31).decompress(raw, limit)
    except zlib.error:
        return b""


def is_gzip(path: Path) -> bool:
    """Whether the file starts with the gzip magic."""
    with path.open("rb") as file:
        return file.read(2) == GZIP_MAGIC
