"""Transformations of communication: W3 overlap, W4 faster links, W5 compression, W6 bigger buckets."""

from __future__ import annotations

from typing import Final

import msgspec
import numpy as np

from ascend_sn.analysis.shapes import plain_dtype
from ascend_sn.model.rows import Int64
from ascend_sn.replay.edits import Edit, SetDur
from ascend_sn.replay.graph import Collective, StepGraph
from ascend_sn.replay.overlap import StartWhenReady, ready_order
from ascend_sn.replay.prices import Bound, Remark, Transform, Unpriced

__all__ = ["AlphaBeta", "alpha_beta", "buckets_merged", "comm_compressed", "comm_faster", "comm_overlapped"]

CONTENTION: Final = (1.2, 1.05, 1.0)
"""Longer computing while communication runs beside it: low, expected, high."""

LINK_RATIOS: Final = (0.6, 0.8, 1.0)
"""Share of the hardware's bandwidth that collectives reach: low, expected, high."""

ENCODE_BYTES_PER_S: Final = (50e9, 200e9)
"""Speed of encoding and decoding: low and expected; in the high case it is hidden."""

COMPRESSED_RATIO: Final = 0.5
"""Size of float32 values sent as float16."""

SMALL_RATIO: Final = 0.5
"""A message is small when the fixed cost is more than this share of its transit."""

_FIT_SIZES: Final = 3
_FIT_SPREAD: Final = 4.0

_REDUCING: Final = ("allreduce", "reducescatter")


class AlphaBeta(msgspec.Struct, frozen=True):
    """Transit = alpha + size / bandwidth, with the quartiles of alpha over all pairs of messages (A16)."""

    alpha_ns: float
    low_alpha_ns: float
    high_alpha_ns: float
    bytes_per_ns: float


def comm_overlapped(graph: StepGraph) -> Transform | Unpriced:
    """W3: a collective of gradients may start when its last gradient is ready, in the order of the buckets.

    Gradients become ready through the backward work in proportion to their bytes. Computing beside communication
    is slower by the factor of contention. In the high case all of the communication that is
    known to move bytes is hidden.
    """
    buckets = ready_order(graph, _REDUCING)
    if not buckets:
        return Unpriced(Remark("replay.no-gradient-communication"))
    transits = np.concatenate([bucket.transit for bucket in buckets])
    hidden = SetDur(transits[np.isin(transits, graph.transit[_known(graph, sized=False)])], 0)
    low, expected, high = (
        tuple[Edit, ...](StartWhenReady(bucket, contention) for bucket in buckets) for contention in CONTENTION
    )
    return Transform("W3", Bound(low), Bound(expected), Bound((*high, hidden)))


def comm_faster(graph: StepGraph, *, bytes_per_s: float, alpha_ns: float | None = None) -> Transform | Unpriced:
    """W4: transit := alpha + traffic / target bandwidth, where that is less.

    Args:
        graph: The replayed step.
        bytes_per_s: Bandwidth of the hardware's links that a collective can use.
        alpha_ns: Fixed cost of a call; by default fitted, else nothing.
    """
    chosen = _known(graph, sized=True)
    if not len(chosen):
        return Unpriced(Remark("replay.transit-unknown"))
    if alpha_ns is None:
        fitted = alpha_beta(_sizes(graph, chosen), graph.nodes.dur[graph.transit[chosen]])
        alpha_ns = 0.0 if fitted is None else fitted.alpha_ns
    traffic = np.array([_traffic(graph.collectives[at]) for at in chosen.tolist()])

    def at(ratio: float) -> Bound:
        times = alpha_ns + traffic / (bytes_per_s * ratio / 1e9)
        return Bound((SetDur(graph.transit[chosen], np.rint(times).astype(np.int64)),))

    return Transform.of("W4", (at(ratio) for ratio in LINK_RATIOS))


def comm_compressed(graph: StepGraph, *, ratio: float = COMPRESSED_RATIO) -> Transform | Unpriced:
    """W5: gradients are sent smaller; the part of the transit that depends on the size shrinks.

    Args:
        graph: The replayed step.
        ratio: Size afterwards, in units of the size of float32 values.
    """
    known = _known(graph, sized=True)
    chosen = (
        known[[plain_dtype(graph.collectives[at].dtype) == "float32" for at in known.tolist()]] if len(known) else known
    )
    if not len(chosen):
        return Unpriced(Remark("replay.no-float32-communication"))
    transit, sizes = graph.transit[chosen], _sizes(graph, chosen)
    dur = graph.nodes.dur[transit]
    fitted = alpha_beta(sizes, dur)
    alpha = np.minimum(0.0 if fitted is None else fitted.alpha_ns, dur)

    def at(bytes_per_s: float | None) -> Bound:
        encode = 0.0 if bytes_per_s is None else 2 * sizes / (bytes_per_s / 1e9)
        return Bound((SetDur(transit, np.rint(alpha + (dur - alpha) * ratio + encode).astype(np.int64)),))

    return Transform("W5", at(ENCODE_BYTES_PER_S[0]), at(ENCODE_BYTES_PER_S[1]), at(None))


def buckets_merged(graph: StepGraph) -> Transform | Unpriced:
    """W6: small messages of one group and operation become one, sent when the last of them is ready.

    Each message less saves the fixed cost alpha: its lower quartile, its fit, its upper quartile. How merging
    delays an overlap shows in the replay, since the merged message starts with its last part.
    """
    known = _known(graph, sized=True)
    fits: dict[tuple[str | None, str], list[int]] = {}
    for at in known.tolist():
        collective = graph.collectives[at]
        fits.setdefault((collective.group_id, collective.op), []).append(at)
    edits: list[list[Edit]] = [[], [], []]
    for members in fits.values():
        chosen = np.array(members, np.int64)
        dur = graph.nodes.dur[graph.transit[chosen]]
        fitted = alpha_beta(_sizes(graph, chosen), dur)
        if fitted is None:
            continue
        small = chosen[fitted.alpha_ns > SMALL_RATIO * dur]
        small = small[np.argsort(graph.nodes.start[graph.transit[small]], kind="stable")]
        if len(small) < 2:
            continue
        transit = graph.transit[small]
        total = int(graph.nodes.dur[transit].sum())
        for bound, alpha in zip(edits, (fitted.low_alpha_ns, fitted.alpha_ns, fitted.high_alpha_ns), strict=True):
            merged = max(round(total - (len(small) - 1) * max(alpha, 0.0)), 0)
            bound.append(SetDur(transit[:-1], 0))
            bound.append(SetDur(transit[-1:], np.array([merged], np.int64), raises=True))
    if not edits[0]:
        return Unpriced(Remark("replay.no-small-messages"))
    return Transform.of("W6", (Bound(tuple(bound)) for bound in edits))


def alpha_beta(sizes: Int64, transit: Int64) -> AlphaBeta | None:
    """Fit the cost of messages by the median of all pairs; None below three sizes or a range of four.

    Args:
        sizes: Bytes.
        transit: ns.
    """
    distinct = np.unique(sizes)
    if len(distinct) < _FIT_SIZES or distinct[-1] < _FIT_SPREAD * max(int(distinct[0]), 1):
        return None
    first, second = np.triu_indices(len(sizes), 1)
    apart = sizes[first] != sizes[second]
    slopes = (transit[second] - transit[first])[apart] / (sizes[second] - sizes[first])[apart]
    slope = float(np.median(slopes))
    if slope <= 0:
        return None
    low, middle, high = np.percentile(transit - slope * sizes, [25, 50, 75]).tolist()
    return AlphaBeta(max(middle, 0.0), max(low, 0.0), max(high, 0.0), 1 / slope)


def _known(graph: StepGraph, *, sized: bool) -> Int64:
    """Return the collectives whose transit is known, and their size if asked for."""
    return np.array(
        [
            at
            for at, collective in enumerate(graph.collectives)
            if collective.transit_known and not (sized and not collective.size_bytes)
        ],
        np.int64,
    )


def _sizes(graph: StepGraph, chosen: Int64) -> Int64:
    return np.array([graph.collectives[at].size_bytes or 0 for at in chosen.tolist()], np.int64)


def _traffic(collective: Collective) -> float:
    """Return the bytes that each link carries (A14's bus factors); without a group size those of the payload."""
    size, members = float(collective.size_bytes or 0), collective.group_size
    if members is None or members < 2:
        return size
    if collective.op == "allreduce":
        return size * 2 * (members - 1) / members
    if collective.op in ("allgather", "reducescatter", "alltoall", "alltoallv"):
        return size * (members - 1) / members
    return size
