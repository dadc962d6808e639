"""Parent, depth and self time of operators; depth of spans."""

from __future__ import annotations

import numpy as np

from ascend_sn._native.nesting import nest
from ascend_sn.model.capture import Capture
from ascend_sn.model.rows import Nullable

__all__ = ["nest_operators", "nest_spans"]


def nest_operators(capture: Capture) -> None:
    """Fill `parent_id`, `depth` and `self_ns` of the operators by containment on their thread."""
    rows = capture.rows("operator")
    if not rows.length:
        return
    found = nest(rows.text("thread").codes, rows.values("ts_ns"), rows.values("dur_ns"))
    ids = rows.values("operator_id")
    has_parent = found.parent >= 0
    parent = Nullable(ids[np.maximum(found.parent, 0)], has_parent)
    capture.tables["operator"] = rows.replace(parent_id=parent, depth=found.depth, self_ns=found.self_ns)


def nest_spans(capture: Capture) -> None:
    """Fill `depth` of the spans that have none, by containment on their thread and domain."""
    rows = capture.rows("span")
    if not rows.length or bool(rows.valid("depth").all()):
        return
    thread, domain = rows.text("thread").codes.astype(np.int64), rows.text("domain").codes.astype(np.int64)
    found = nest(thread * (int(domain.max()) + 2) + domain, rows.values("ts_ns"), rows.values("dur_ns"))
    capture.tables["span"] = rows.replace(depth=found.depth)
