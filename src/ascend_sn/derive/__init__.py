"""Columns of one profile that need joins: nesting, links, steps, phases.

A reader gives the rows that its files hold; `derive` fills what follows from them, by the same rules for
every format.
"""

from __future__ import annotations

from ascend_sn._native.memory import release_free
from ascend_sn.derive.launches import repair_launches
from ascend_sn.derive.links import link_kernels
from ascend_sn.derive.nested import nest_operators, nest_spans
from ascend_sn.derive.phases import assign_phases
from ascend_sn.derive.steps import assign_steps, ensure_steps
from ascend_sn.model.capture import Capture

__all__ = ["derive"]


def derive(capture: Capture) -> None:
    """Fill the derived columns of a capture, in place; what a reader already gave is kept."""
    row_count = sum(rows.length for rows in capture.tables.values())
    release_free(row_count)
    nest_operators(capture)
    nest_spans(capture)
    link_kernels(capture)
    repair_launches(capture)
    ensure_steps(capture)
    assign_steps(capture)
    assign_phases(capture)
    release_free(row_count)
