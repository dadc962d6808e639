"""Flow events of a trace: arrows from slice to slice."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ascend_sn._native.nesting import enclosing
from ascend_sn.formats.chrome.events import Events, thread_keys
from ascend_sn.model.ledger import Ledger
from ascend_sn.model.rows import Int64, Rows, conform
from ascend_sn.model.tables import FLOW

__all__ = ["arrow_rows"]

_START = ord("s")


def arrow_rows(arrows: Events, slices: Events, strings: Sequence[str], file: str, ledger: Ledger) -> Rows:
    """Return an arrow between each two successive points of a flow.

    Points belong together by category, name and id. A point lies in the slice that is open on its thread; one
    in no slice (an arrow that ends before the slice it starts) takes the next slice of the thread. Points
    without partner or slice are counted.

    Args:
        arrows: Starts, steps and ends of flows.
        slices: The slices, by whose position the arrows are given.
        strings: Texts of the file.
        file: Name in the ledger.
        ledger: Takes the number of lost points.
    """
    if not len(arrows):
        return conform(FLOW, 0)
    flow = _numbered(arrows)
    order = np.lexsort((np.arange(len(arrows)), arrows.ts, flow))
    near, far = order[:-1], order[1:]
    joined = (flow[near] == flow[far]) & (arrows.phase[far] != _START)
    near, far = near[joined], far[joined]
    slice_of = _slices_at(arrows, slices)
    known = (slice_of[near] >= 0) & (slice_of[far] >= 0)
    used = np.zeros(len(arrows), np.bool_)
    used[near[known]] = used[far[known]] = True
    lost = int(np.count_nonzero(~used))
    if lost:
        ledger.add(file, "unmatched_flow", count=lost, example="without partner or slice", severity="info")
    return conform(
        FLOW,
        int(np.count_nonzero(known)),
        src_table="span",
        src_id=slice_of[near[known]],
        dst_table="span",
        dst_id=slice_of[far[known]],
        kind="event",
    )


def _numbered(arrows: Events) -> Int64:
    keys = np.stack([arrows.category, arrows.name, arrows.id])
    _, number = np.unique(keys, axis=1, return_inverse=True)
    return number.reshape(-1).astype(np.int64)


def _slices_at(arrows: Events, slices: Events) -> Int64:
    thread, at_thread = thread_keys(slices.pid, slices.tid), thread_keys(arrows.pid, arrows.tid)
    found = enclosing(thread, slices.ts, slices.dur, at_thread, arrows.ts)
    outside = np.flatnonzero(found < 0)
    if len(outside):
        found[outside] = _next_slice(thread, slices.ts, at_thread[outside], arrows.ts[outside])
    return found


def _next_slice(thread: Int64, start: Int64, at_thread: Int64, at: Int64) -> Int64:
    """Return the first slice of the thread that starts at or after the moment, -1 for none."""
    moments, moment = np.unique(np.concatenate([start, at]), return_inverse=True)
    _, number = np.unique(np.concatenate([thread, at_thread]), return_inverse=True)
    keys = number.astype(np.int64) * len(moments) + moment
    own, asked = keys[: len(thread)], keys[len(thread) :]
    order = np.argsort(own, kind="stable")
    place = np.searchsorted(own[order], asked)
    inside = np.flatnonzero(place < len(order))
    found = np.full(len(at), -1, np.int64)
    candidate = order[place[inside]]
    same = thread[candidate] == at_thread[inside]
    found[inside[same]] = candidate[same]
    return found
