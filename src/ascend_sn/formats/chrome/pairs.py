"""Slices written as two events: begin and end on a thread, or on an asynchronous track."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ascend_sn.formats.chrome.events import Events, thread_keys
from ascend_sn.model.ledger import Ledger
from ascend_sn.model.rows import Int64

__all__ = ["Pairs", "match", "paired", "paired_by_id"]

_BEGINS = (ord("B"), ord("b"), ord("S"))


@dataclass(frozen=True)
class Pairs:
    """Which event begins and which ends each slice (positions), and what found no partner."""

    begin: Int64
    end: Int64
    open: Int64
    stray: Int64


def match(track: Int64, ts: Int64, begins: npt.NDArray[np.bool_]) -> Pairs:
    """Match ends to the latest open begin of their track, in order of time, then of the file.

    Args:
        track: Number of the track of each event.
        ts: Moment of each event, ns.
        begins: True for a begin, false for an end.
    """
    order = np.lexsort((np.arange(len(ts)), ts, track))
    stray = _strays(track[order], begins[order])
    kept = order[~stray]
    step = np.where(begins[kept], 1, -1)
    # The depth of a begin and of its end is the same: count from before the begin, and after the end.
    depth = np.cumsum(step) - begins[kept]
    nested = np.lexsort((np.arange(len(kept)), depth, track[kept]))
    at = kept[nested]
    same = np.zeros(len(at), np.bool_)
    if len(at) > 1:
        same[:-1] = (
            begins[at[:-1]]
            & ~begins[at[1:]]
            & (track[at[:-1]] == track[at[1:]])
            & (depth[nested[:-1]] == depth[nested[1:]])
        )
    first = np.flatnonzero(same)
    begin, end = at[first], at[first + 1]
    by_file = np.argsort(begin, kind="stable")
    closed = np.zeros(len(ts), np.bool_)
    closed[begin] = True
    return Pairs(begin[by_file], end[by_file], np.flatnonzero(begins & ~closed), np.sort(order[stray]))


def paired(events: Events, file: str, ledger: Ledger) -> Events:
    """Return begin/end events of threads as slices; an unmatched begin ends with the last event.

    Ends without a begin are left out. Both go to the ledger with their number.
    """
    return _slices(events, thread_keys(events.pid, events.tid), file, ledger)


def paired_by_id(events: Events, file: str, ledger: Ledger) -> Events:
    """Return asynchronous begin/end events as slices: those of one category and id belong together."""
    return _slices(events, thread_keys(events.category, events.id), file, ledger)


def _slices(events: Events, track: Int64, file: str, ledger: Ledger) -> Events:
    if not len(events):
        return events
    found = match(track, events.ts, np.isin(events.phase, _BEGINS))
    last = int(events.ts.max())
    begin = np.concatenate([found.begin, found.open])
    end_ts = np.concatenate([events.ts[found.end], np.full(len(found.open), last, np.int64)])
    order = np.argsort(begin, kind="stable")
    if len(found.open):
        ledger.add(file, "unclosed_slice", count=len(found.open), example="closed at the last event")
    if len(found.stray):
        ledger.add(file, "unmatched_end", count=len(found.stray), example="left out")
    slices = events.take(begin[order])
    return slices.lasting(end_ts[order] - slices.ts)


def _strays(track: Int64, begins: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Return the ends that come when nothing is open: where the running sum of a track finds a new low."""
    total = np.cumsum(np.where(begins, 1, -1))
    starts = np.flatnonzero(np.append(True, track[1:] != track[:-1])) if len(track) else np.zeros(0, np.int64)
    before = np.zeros(len(starts), np.int64)
    before[1:] = total[starts[1:] - 1] if len(starts) > 1 else before[1:]
    lengths = np.diff(np.append(starts, len(track)))
    level = total - np.repeat(before, lengths)
    # One running minimum for all tracks: each track is shifted below the former one.
    shift = np.repeat(np.arange(len(starts)) * (2 * len(track) + 2), lengths)
    low = np.minimum.accumulate(np.minimum(level, 0) - shift) + shift
    earlier = np.append(np.int64(0), low[:-1])
    earlier[starts] = 0
    return (level < earlier) & ~begins
