"""Phase of every operator: data, forward, backward, optimizer, other.

A name that says its phase decides for itself and for what it encloses. The threads that the autograd
engine runs on (far ends of forward-backward flows on another thread) are backward as a whole. What is left
in a step before its first backward operator is forward.
"""

from __future__ import annotations

import re
from typing import Final

import numpy as np
import numpy.typing as npt

from ascend_sn._native.codes import distinct
from ascend_sn.derive.positions import positions
from ascend_sn.derive.steps import containing_step
from ascend_sn.model.capture import Capture
from ascend_sn.model.rows import Bool, Int64, Rows, Text

__all__ = ["PHASES", "assign_phases", "phase_of_name"]

PHASES: Final = ("data", "forward", "backward", "optimizer", "other")

_DATA, _FORWARD, _BACKWARD, _OPTIMIZER, _OTHER = range(5)
_UNKNOWN = -1

_PATTERNS: Final = (
    (
        _DATA,
        re.compile(r"DataLoader|^#*\s*(data|dataloader|data_loading|load_batch|data_time)\s*#*$", re.IGNORECASE),
    ),
    (_OPTIMIZER, re.compile(r"^Optimizer\.|^#*\s*(optimizer|optimizer_step|optim)\s*#*$", re.IGNORECASE)),
    (
        _BACKWARD,
        re.compile(
            r"^autograd::engine::evaluate_function|^torch::autograd::|Backward\d*$|^#*\s*(backward|bwd)\s*#*$",
            re.IGNORECASE,
        ),
    ),
    (_FORWARD, re.compile(r"^#*\s*(forward|fwd|loss)\s*#*$", re.IGNORECASE)),
)


def phase_of_name(name: str) -> str | None:
    """Return the phase that an operator's or range's name states, None when it states none."""
    code = _code_of_name(name)
    return None if code == _UNKNOWN else PHASES[code]


def assign_phases(capture: Capture) -> None:
    """Fill `operator.phase` where the reader left it null."""
    rows = capture.rows("operator")
    if not rows.length or bool(rows.valid("phase").all()):
        return
    phase = _stated(rows)
    _inherit(rows, phase)
    phase[(phase == _UNKNOWN) & _on_backward_threads(capture, rows)] = _BACKWARD
    _fill_forward(capture, rows, phase)
    phase[phase == _UNKNOWN] = _OTHER
    capture.tables["operator"] = rows.replace(phase=Text(phase.astype(np.int32), PHASES))


def _code_of_name(name: str) -> int:
    return next((code for code, pattern in _PATTERNS if pattern.search(name)), _UNKNOWN)


def _stated(rows: Rows) -> Int64:
    names = rows.text("name")
    by_name = np.fromiter((_code_of_name(name) for name in names.values), np.int64, len(names.values))
    phase = np.append(by_name, np.int64(_UNKNOWN))[names.codes]
    given = rows.text("phase")
    for code, name in enumerate(PHASES):
        phase[given.matches([name])] = code
    return phase


def _inherit(rows: Rows, phase: Int64) -> None:
    """Give children the phase of the nearest ancestor that has one, level by level."""
    parent = positions(rows.values("operator_id"), rows.values("parent_id"))
    has_parent, depth = rows.valid("parent_id") & (parent >= 0), rows.values("depth")
    order = np.argsort(depth, kind="stable")
    bounds = np.searchsorted(depth[order], np.arange(int(depth.max()) + 2))
    for level in range(1, len(bounds) - 1):
        at = order[bounds[level] : bounds[level + 1]]
        at = at[has_parent[at] & (phase[at] == _UNKNOWN)]
        phase[at] = phase[parent[at]]


def _on_backward_threads(capture: Capture, rows: Rows) -> Bool:
    flows = capture.rows("flow")
    crossing = flows.text("kind").matches(["fwdbwd"]) if flows.length else np.zeros(0, np.bool_)
    if not bool(crossing.any()):
        return np.zeros(rows.length, np.bool_)
    thread, ids = rows.text("thread").codes, rows.values("operator_id")
    src, dst = positions(ids, flows.values("src_id")[crossing]), positions(ids, flows.values("dst_id")[crossing])
    known = (src >= 0) & (dst >= 0)
    from_thread, to_thread = thread[src[known]], thread[dst[known]]
    return np.isin(thread, distinct(to_thread[from_thread != to_thread]))


def _fill_forward(capture: Capture, rows: Rows, phase: Int64) -> None:
    steps, start = capture.rows("step"), rows.values("ts_ns")
    if steps.length:
        window = containing_step(steps.values("ts_ns"), steps.values("dur_ns"), start)
        window_count = steps.length
    else:
        window, window_count = np.zeros(rows.length, np.int64), 1
    first: npt.NDArray[np.int64] = np.full(window_count, np.iinfo(np.int64).max, np.int64)
    backward = (phase == _BACKWARD) & (window >= 0)
    np.minimum.at(first, window[backward], start[backward])
    before = (window >= 0) & (start < first[np.maximum(window, 0)])
    phase[(phase == _UNKNOWN) & before] = _FORWARD
