"""Parts of requests: what is open on the track of a request is a part of it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ascend_sn._native.nesting import nest
from ascend_sn.formats.chrome.events import Events, thread_keys
from ascend_sn.formats.chrome.texts import text_column
from ascend_sn.model.requests import PHASE_FLOW, REQUEST_DOMAIN
from ascend_sn.model.rows import Int64, Rows, conform
from ascend_sn.model.tables import FLOW

__all__ = ["phase_rows", "requests_of"]


def requests_of(tracked: Events, strings: Sequence[str]) -> Int64:
    """Return of each asynchronous slice the request that it is a part of, -1 where it is none.

    Slices of the category `request` and one id are a request and what is inside of it.
    """
    request = text_column(tracked.category, strings).matches([REQUEST_DOMAIN])
    found = np.full(len(tracked), -1, np.int64)
    at = np.flatnonzero(request)
    if not len(at):
        return found
    own = tracked.take(at)
    parent = nest(thread_keys(own.category, own.id), own.ts, own.dur).parent
    while bool((inner := (parent >= 0) & (parent[parent] >= 0)).any()):
        parent[inner] = parent[parent[inner]]
    found[at] = np.where(parent >= 0, at[parent], -1)
    return found


def phase_rows(request: Int64, first: int) -> Rows:
    """Return an arrow from each request to every part of it; `first` is the number of the first asynchronous slice."""
    parts = np.flatnonzero(request >= 0)
    return conform(
        FLOW,
        len(parts),
        src_table="span",
        src_id=request[parts] + first,
        dst_table="span",
        dst_id=parts + first,
        kind=PHASE_FLOW,
    )
