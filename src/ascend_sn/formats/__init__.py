"""One module per file format: bytes to the rows that the file holds.

Foreign names (columns, categories, process names) appear here and nowhere else.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import entry_points

from ascend_sn.formats.reader import Candidate, Reader, Source

__all__ = ["Candidate", "Reader", "Source", "readers"]

ENTRY_POINT_GROUP = "ascend_sn.readers"


def readers() -> Sequence[Reader]:
    """Return every reader, strictest first; other packages add theirs through `ascend_sn.readers`."""
    from ascend_sn.formats import registry

    added = tuple(entry.load() for entry in entry_points(group=ENTRY_POINT_GROUP))
    return registry.Readers(added) if added else registry.READERS
