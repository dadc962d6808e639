"""An absent section, made from what the analysis says about what it misses."""

from __future__ import annotations

from typing import TypeVar

import msgspec

from ascend_sn.analysis import Missing
from ascend_sn.report.documents.section import Section

__all__ = ["absent"]

_SectionType = TypeVar("_SectionType", bound=Section)


def absent(section: type[_SectionType], missing: Missing) -> _SectionType:
    """Return a section that was not collected and says why."""
    return msgspec.convert(
        {"collected": False, "state": missing.state, "reason": missing.reason, "turn_on": missing.turn_on}, section
    )
