"""Which event of the trace is which row of kernel_details.csv."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ascend_sn.formats.torch_npu.matching import common_codes, left_over, lookup, occurrence, packed
from ascend_sn.formats.torch_npu.trace_device import DeviceEvents
from ascend_sn.model.rows import Int64, Nullable, Rows

__all__ = ["matched_by_name", "matched_events"]

Mask = npt.NDArray[np.bool_]


def matched_events(csv: Rows, wanted: Mask, found: DeviceEvents, task: tuple[Nullable, Nullable] | None) -> Int64:
    """Event of each CSV row by start and name (or task id), one nanosecond apart at most; -1 for none.

    Args:
        csv: Rows of kernel_details.csv.
        wanted: Which of them to match.
        found: The events.
        task: Task ids of the rows and of the events; they repeat, and stand in where a name is damaged.
    """
    result = np.full(len(csv), -1, np.int64)
    names = common_codes(csv.text("name"), found.name)
    streams = common_codes(csv.text("stream"), found.stream)
    ts = csv.values("ts_ns")
    taken = np.zeros(len(found.ts), np.bool_)
    # With the stream first: two streams may start the same kernel at the same time.
    passes: list[list[tuple[Int64, Int64]]] = [[names, streams], [names]]
    if task is not None:
        ids = (np.where(task[0].valid, task[0].values, -1), np.where(task[1].valid, task[1].values, -2))
        passes.append([streams, ids])
    for keyed in passes:
        for shift in (0, 1, -1):
            known = np.logical_and.reduce([of_csv >= 0 for of_csv, _ in keyed])
            rows = np.flatnonzero(wanted & (result < 0) & known)
            free = np.flatnonzero(~taken)
            if not len(rows) or not len(free):
                continue
            columns = [(of_event[free], of_csv[rows]) for of_csv, of_event in keyed]
            keys, asked = packed(*columns, (found.ts[free], ts[rows] + shift))
            # The n-th of equal rows belongs to the n-th of equal events.
            keys, asked = packed((keys, asked), (occurrence(keys), occurrence(asked)))
            at = lookup(keys, asked)
            result[rows[at >= 0]] = free[at[at >= 0]]
            taken[free[at[at >= 0]]] = True
    return result


def matched_by_name(csv: Rows, wanted: Mask, matched: Int64, found: DeviceEvents) -> Int64:
    """Match what is left by a name that occurs once on either side."""
    csv_names, event_names = common_codes(csv.text("name"), found.name)
    rows = np.flatnonzero(wanted & (matched < 0))
    free = left_over(len(found.ts), matched)
    once_csv = _once(csv_names[rows])
    once_event = _once(event_names[free])
    at = lookup(event_names[free[once_event]], csv_names[rows[once_csv]])
    result = matched.copy()
    result[rows[once_csv][at >= 0]] = free[once_event][at[at >= 0]]
    return result


def _once(codes: Int64) -> Mask:
    _, positions, counts = np.unique(codes, return_inverse=True, return_counts=True)
    return np.asarray(counts[positions] == 1)
