"""One module per file format: bytes to the rows that the file holds.

Foreign names (columns, categories, process names) appear here and nowhere else.
"""

from __future__ import annotations

from collections.abc import Sequence

from ascend_sn.formats.reader import Candidate, Reader, Source

__all__ = ["Candidate", "Reader", "Source", "readers"]


def readers() -> Sequence[Reader]:
    """Return every reader, strictest first; other packages add theirs through `ascend_sn.readers`."""
    from ascend_sn.formats.registry import READERS

    return READERS
