"""Steps: the marked ones, else inferred ones; and the step that launched each kernel (A02)."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from ascend_sn.derive.positions import positions
from ascend_sn.model.capture import Capture
from ascend_sn.model.kinds import COMPUTE_KINDS
from ascend_sn.model.ledger import CoverageEntry
from ascend_sn.model.rows import Int64, Nullable, conform
from ascend_sn.model.tables import STEP

__all__ = ["assign_steps", "ensure_steps", "period"]

MATCH_AT_LEAST: Final = 0.9
"""Share of kernels whose name must recur one period later (analyses.md, A02)."""

_MAX_SEQUENCE: Final = 500_000
_MAX_LAGS: Final = 64


def ensure_steps(capture: Capture) -> None:
    """Infer steps from the rhythm of the kernels where the capture has no marks; say so in the coverage."""
    if capture.rows("step").length:
        return
    if not any((entry.table_name, entry.column_name) == ("step", None) for entry in capture.coverage):
        capture.coverage.append(
            CoverageEntry(
                "step",
                "missing",
                reason="no step marks in the capture",
                turn_on="call prof.step() (or Profiler.step()) once per training step",
            )
        )
    kernels = capture.rows("kernel")
    busy = kernels.text("kind").matches(COMPUTE_KINDS) if kernels.length else np.zeros(0, np.bool_)
    start, dur = kernels.values("ts_ns")[busy], kernels.values("dur_ns")[busy]
    order = np.argsort(start, kind="stable")
    codes = kernels.text("name").codes[busy][order]
    lag = period(codes)
    if lag is None:
        return
    count = len(codes) // lag
    first = start[order][::lag]
    # A step ends where the next one begins, even one that the capture holds only the beginning of.
    ends = np.append(first[1:], (start + dur).max())[:count]
    first = first[:count]
    capture.tables["step"] = conform(
        STEP, count, step_id=np.arange(count), ts_ns=first, dur_ns=ends - first, origin="inferred"
    )


def period(codes: npt.NDArray[np.int32]) -> int | None:
    """Return the lag at which a sequence of names repeats best, None when it does not repeat.

    Lags are taken from the distances between recurrences of the rarest names. At least two names and two
    whole periods are needed, and 90 % of the names must match one period later; the smallest of equally good
    lags is taken: `ABCABCABC` has period 3.
    """
    codes = codes[:_MAX_SEQUENCE]
    names, counts = np.unique(codes, return_counts=True)
    if len(names) < 2:
        return None
    lags: set[int] = set()
    repeated = names[counts >= 2][np.argsort(counts[counts >= 2], kind="stable")]
    for name in repeated[:8]:
        lags.update(np.diff(np.flatnonzero(codes == name)).tolist())
    candidates = sorted(lag for lag in lags if 2 <= lag <= len(codes) // 2)[:_MAX_LAGS]
    matched = [(float(np.mean(codes[lag:] == codes[:-lag])), -lag) for lag in candidates]
    best = max(matched, default=(0.0, 0))
    return -best[1] if best[0] >= MATCH_AT_LEAST else None


def assign_steps(capture: Capture) -> None:
    """Fill `kernel.step_id`: the step that launched it; where no link exists, the one in which it starts.

    A step that the reader gave (because the file names it) is kept.
    """
    kernels, steps = capture.rows("kernel"), capture.rows("step")
    if not kernels.length or not steps.length:
        return
    moment = kernels.values("ts_ns").copy()
    calls, operators = capture.rows("host_call"), capture.rows("operator")
    for table, column, id_name in (
        (calls, "host_call_id", "host_call_id"),
        (operators, "operator_id", "operator_id"),
    ):
        at = positions(table.values(id_name), kernels.values(column))
        linked = kernels.valid(column) & (at >= 0)
        moment[linked] = table.values("ts_ns")[at[linked]]
    found = containing_step(steps.values("ts_ns"), steps.values("dur_ns"), moment)
    given = kernels.valid("step_id")
    step_id = np.where(given, kernels.values("step_id"), steps.values("step_id")[np.maximum(found, 0)])
    capture.tables["kernel"] = kernels.replace(step_id=Nullable(step_id, given | (found >= 0)))


def containing_step(start: Int64, dur: Int64, moment: Int64) -> Int64:
    """Return the position of the latest step that contains each moment, -1 for none; steps are in time order."""
    at = np.searchsorted(start, moment, side="right") - 1
    inside = (at >= 0) & (moment < (start + dur)[np.maximum(at, 0)])
    return np.where(inside, at, -1).astype(np.int64)
