"""Heat maps of the traffic between pairs of ranks, one per transport."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from markupsafe import Markup

from ascend_sn.report.documents.communication import Link
from ascend_sn.report.html.figures import Cell, heat_map
from ascend_sn.report.words.language import Language
from ascend_sn.report.words.quantities import bytes_text, duration_text, rate_text

__all__ = ["LinkMap", "LinkSums", "link_map", "link_sums"]

_SIDE: Final = 32
_MAPS: Final = 4


@dataclass(frozen=True)
class LinkSums:
    """The traffic over one transport: time and bytes of each pair of the busiest ranks."""

    transport: str
    senders: list[int]
    receivers: list[int]
    pairs: dict[tuple[int, int], tuple[int, int]]
    in_groups: bool
    rank_count: int


@dataclass(frozen=True)
class LinkMap:
    """A drawn map and what is to be said about it."""

    transport: str
    note: str
    figure: Markup


def link_sums(links: Sequence[Link]) -> list[LinkSums]:
    """Sum the links of each transport that joins different ranks, the busiest transport first."""
    by_transport: dict[str, list[Link]] = {}
    for link in links:
        if link.src_rank != link.dst_rank:
            by_transport.setdefault(link.transport or "", []).append(link)
    busiest = sorted(by_transport.items(), key=lambda item: -sum(link.dur_ns for link in item[1]))
    return [_sums(transport, group) for transport, group in busiest[:_MAPS]]


def link_map(sums: LinkSums, language: Language) -> LinkMap:
    """Draw the map of a transport, coloured by time."""
    row = {rank: number for number, rank in enumerate(sums.senders)}
    column = {rank: number for number, rank in enumerate(sums.receivers)}
    cells = [
        Cell(row[source], column[target], dur, duration_text(dur), _title(source, target, dur, size))
        for (source, target), (dur, size) in sums.pairs.items()
    ]
    note = [language.text("links.by-group-rank" if sums.in_groups else "links.by-rank")]
    if sums.rank_count > _SIDE:
        note.append(language.text("links.busiest", shown=_SIDE, all=sums.rank_count))
    figure = heat_map(list(map(str, sums.senders)), list(map(str, sums.receivers)), cells, language.text("links.title"))
    return LinkMap(sums.transport, " ".join(note), figure)


def _sums(transport: str, links: list[Link]) -> LinkSums:
    by_time: dict[int, int] = {}
    for link in links:
        for rank in (link.src_rank, link.dst_rank):
            by_time[rank] = by_time.get(rank, 0) + link.dur_ns
    ranks = sorted(sorted(by_time, key=lambda rank: -by_time[rank])[:_SIDE])
    senders = sorted({link.src_rank for link in links}.intersection(ranks))
    receivers = sorted({link.dst_rank for link in links}.intersection(ranks))
    pairs: dict[tuple[int, int], tuple[int, int]] = {}
    for link in links:
        pair = (link.src_rank, link.dst_rank)
        if pair[0] in senders and pair[1] in receivers:
            dur, size = pairs.get(pair, (0, 0))
            pairs[pair] = (dur + link.dur_ns, size + link.size_bytes)
    in_groups = any(link.rank_scope == "group" for link in links)
    return LinkSums(transport, senders, receivers, pairs, in_groups, len(by_time))


def _title(source: int, target: int, dur_ns: int, size_bytes: int) -> str:
    rate = f", {rate_text(size_bytes * 1e9 / dur_ns)}" if dur_ns else ""
    return f"{source} \u2192 {target}: {duration_text(dur_ns)}, {bytes_text(size_bytes)}{rate}"
