"""The first bytes of a file, through gzip when it is one; of a trace whose events begin late, a shortened front."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Final

__all__ = ["GZIP_MAGIC", "is_gzip", "read_head"]

GZIP_MAGIC = b"\x1f\x8b"

_OBJECTS: Final = re.compile(rb"(?:\xef\xbb\xbf)?+\s*+(?:\{|\[\s*+(?:\{|\Z)|\Z)")
_PHASE: Final = b'"ph"'
_LONG_TEXT: Final = re.compile(rb'"(?:[^"\\]|\\.){4000,}+"', re.DOTALL)
"""Longer than call stacks are."""

_LONGEST_VALUE: Final = 1_000
_SEARCHED: Final = 64 << 20
"""Bytes in which the first event has to lie; a single member of that length is not read either."""

_WINDOW: Final = 1 << 20


def read_head(path: Path, limit: int) -> bytes:
    """Return at most `limit` bytes from the start of the (decompressed) file; what is readable of a damaged one.

    Where long texts or members come before the first event of a trace, they are left out.
    """
    with path.open("rb") as file:
        head = file.read(limit)
    if head.startswith(GZIP_MAGIC):
        head = _expanded(path, 0, limit)
    if len(head) == limit and _OBJECTS.match(head) and not _tells(head):
        return _front(path, limit) or head
    return head


def is_gzip(path: Path) -> bool:
    """Whether the file starts with the gzip magic."""
    with path.open("rb") as file:
        return file.read(2) == GZIP_MAGIC


def _tells(head: bytes) -> bool:
    """Whether events begin in it, and half of it is more than a few long texts."""
    half = len(head) // 2
    return _PHASE in head and head.rfind(b'"') > half and len(_LONG_TEXT.sub(b'""', head)) > half


def _front(path: Path, limit: int) -> bytes:
    """Return the members before the events, long values emptied, and the first events with their long texts cut."""
    from ascend_sn._native.trace_scan import scan_blocks

    for block in scan_blocks(path, threads=1, block_bytes=_WINDOW):
        if block.count or block.byte_count > _SEARCHED:
            break
    members = ",".join(f"{json.dumps(key)}:{_short(value)}" for key, value in block.metadata.items()).encode()
    if not block.count:
        return (b"{" + members + b"}")[:limit] if members else b""
    opening = b"{" + members + (b"," if members else b"") + b'"traceEvents":[' if block.metadata else b"["
    begin = int(block.offset[0])
    for size in (_WINDOW, _SEARCHED):
        events = _LONG_TEXT.sub(b'""', _expanded(path, begin, size))
        if _PHASE in events:
            break
    return opening[: limit // 2] + events[: limit // 2]


def _short(value: Any) -> str:
    text = json.dumps(value)
    if len(text) <= _LONGEST_VALUE:
        return text
    return "[]" if isinstance(value, list) else "{}" if isinstance(value, dict) else '""'


def _expanded(path: Path, begin: int, size: int) -> bytes:
    """Return the bytes of the expanded file from `begin` on, at most `size`."""
    from ascend_sn._native.byte_source import open_bytes

    source = open_bytes(path)
    try:
        skipped = 0
        while skipped < begin:
            room = memoryview(bytearray(min(_WINDOW, begin - skipped)))
            count = source.fill(room)
            skipped += count
            if count < len(room):
                return b""
        kept = bytearray(size)
        return bytes(memoryview(kept)[: source.fill(memoryview(kept))])
    finally:
        source.close()
