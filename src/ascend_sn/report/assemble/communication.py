"""The communication section: primitives summed over the profiles, and traffic between pairs of ranks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from ascend_sn.advisor.facts import Facts
from ascend_sn.advisor.median_step import WHOLE_CAPTURE
from ascend_sn.report.assemble.absence import absent
from ascend_sn.report.assemble.pairs import rank_pairs
from ascend_sn.report.documents.communication import Communication, CommunicationGrade, Link, Operation

__all__ = ["communication_section"]

_LINKS_LISTED: Final = 1_024
"""Pairs in the document, the slow ones first: a full map of 32 ranks, or the slowest pairs of more."""

_GRADES_LISTED: Final = 1_000


class _Summary(msgspec.Struct, kw_only=True):
    """A primitive of one profile."""

    profile_id: int
    op: str
    calls: int
    total_ns: int
    transit_ns: int | None
    wait_ns: int | None
    idle_ns: int | None
    unknown_ns: int
    exposed_ns: int | None
    window_ns: int | None
    size_bytes: int | None
    members_present: int | None
    members_expected: int | None
    members_exact: bool


class _Window(msgspec.Struct):
    scope: str
    origin: str | None
    window_ns: int
    exposed_comm_ns: int


def communication_section(facts: Facts, *, fused_ns: int, in_detail: bool) -> Communication:
    """Return the section.

    Args:
        facts: The analysis results.
        fused_ns: Compute of fused compute-and-communication kernels in the median steps.
        in_detail: With the grade of every rank, the traffic between pairs and their waits.
    """
    missing = facts.missing("communication_summary")
    if missing is not None:
        section = absent(Communication, missing)
        section.fused_ns = fused_ns or None
        return section
    rows = facts.rows("communication_summary", _Summary)
    windows = {row.profile_id: row.window_ns for row in rows}
    window_ns = _sum(windows.values())
    by_op: dict[str, list[_Summary]] = {}
    for row in rows:
        by_op.setdefault(row.op, []).append(row)
    operations = [_summed(op, group, window_ns, _sum(row.exposed_ns for row in group)) for op, group in by_op.items()]
    told = [
        row for row in facts.rows("step_breakdown", _Window) if row.scope == WHOLE_CAPTURE or row.origin != "inferred"
    ]
    exposed_ns, all_windows_ns = sum(row.exposed_comm_ns for row in told), sum(row.window_ns for row in told)
    links, link_count = _links(facts) if in_detail else ([], 0)
    pairs = rank_pairs(facts) if in_detail else []
    return Communication(
        collected=True,
        state="collected",
        total=_summed("total", rows, all_windows_ns or window_ns, exposed_ns if told else None),
        operations=sorted(operations, key=lambda row: (-row.total_ns, row.op)),
        grades=facts.rows("communication_grade", CommunicationGrade)[:_GRADES_LISTED] if in_detail else [],
        fused_ns=fused_ns or None,
        link_count=link_count,
        links=links,
        pair_count=len(pairs),
        pairs=sorted(pairs, key=lambda pair: -(pair.mean_wait_ns or 0))[:_LINKS_LISTED],
    )


def _summed(op: str, rows: list[_Summary], window_ns: int | None, exposed_ns: int | None) -> Operation:
    calls, total_ns = sum(row.calls for row in rows), sum(row.total_ns for row in rows)
    grouped = [row for row in rows if row.members_present is not None and row.members_expected]
    fewest = min(grouped, key=lambda row: (row.members_present or 0) / (row.members_expected or 1), default=None)
    return Operation(
        op=op,
        calls=calls,
        total_ns=total_ns,
        mean_ns=round(total_ns / calls) if calls else 0,
        transit_ns=_sum(row.transit_ns for row in rows),
        wait_ns=_sum(row.wait_ns for row in rows),
        idle_ns=_sum(row.idle_ns for row in rows),
        unknown_ns=sum(row.unknown_ns for row in rows),
        exposed_ns=exposed_ns,
        share_ratio=total_ns / window_ns if window_ns else None,
        exposed_share_ratio=exposed_ns / window_ns if window_ns and exposed_ns is not None else None,
        size_bytes=_sum(row.size_bytes for row in rows),
        members_present=fewest.members_present if fewest else None,
        members_expected=fewest.members_expected if fewest else None,
        members_exact=fewest.members_exact if fewest else False,
    )


def _links(facts: Facts) -> tuple[list[Link], int]:
    """Pairs of ranks, summed over the profiles that saw them, the slow ones first."""
    links = facts.query(
        "link_matrix",
        f"""
        select group_id, src_rank, dst_rank, rank_scope, transport,
               sum(size_bytes)::bigint as size_bytes, sum(dur_ns)::bigint as dur_ns,
               sum(size_bytes) * 1e9 / nullif(sum(dur_ns), 0) as bandwidth_bytes_per_s,
               min(robust_z) as robust_z, any_value(pattern) as pattern
        from result
        where src_rank is not null and dst_rank is not null
        group by group_id, src_rank, dst_rank, rank_scope, transport
        order by any_value(pattern) is null, sum(dur_ns) desc, src_rank, dst_rank, transport
        limit {_LINKS_LISTED}
        """,
        Link,
    )
    if len(links) < _LINKS_LISTED:
        return links, len(links)
    ((count,),) = facts.run.db.execute(
        "select count(distinct (group_id, src_rank, dst_rank, transport)) from link where src_rank is not null"
    ).fetchall()
    return links, count


def _sum(values: Iterable[int | None]) -> int | None:
    """Sum what is known; None when nothing is."""
    known = [value for value in values if value is not None]
    return sum(known) if known else None
