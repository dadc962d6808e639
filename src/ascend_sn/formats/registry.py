"""The readers of this package, strictest first."""

from __future__ import annotations

from ascend_sn.formats.reader import Reader

READERS: tuple[Reader, ...] = ()
