"""The section of memory copies: directions summed over the profiles."""

from __future__ import annotations

import msgspec

from ascend_sn.advisor.facts import Facts
from ascend_sn.advisor.median_step import WHOLE_CAPTURE
from ascend_sn.analysis import Missing
from ascend_sn.report.assemble.absence import absent
from ascend_sn.report.documents.copies import Copies, Copy

__all__ = ["copies_section"]

_BY_DIRECTION = """
    select direction, host_memory, sum(calls)::bigint as calls, sum(total_ns)::bigint as total_ns,
           round(sum(total_ns) / sum(calls))::bigint as mean_ns, sum(exposed_ns)::bigint as exposed_ns,
           sum(overlapped_ns)::bigint as overlapped_ns, sum(exposed_ns) / nullif($window_ns, 0)::double
               as exposed_share_ratio,
           sum(size_bytes)::bigint as size_bytes,
           sum(size_bytes) / nullif(sum(size_bytes / nullif(bandwidth_bytes_per_s, 0)), 0) as bandwidth_bytes_per_s
    from result
    group by direction, host_memory
    order by total_ns desc, direction, host_memory
"""


class _Window(msgspec.Struct):
    scope: str
    origin: str | None
    window_ns: int
    exposed_copy_ns: int


def copies_section(facts: Facts) -> Copies:
    """Return the section; empty where device work was recorded and no copy among it."""
    missing = facts.missing("copies")
    if missing is not None:
        return absent(Copies, missing)
    told = [
        row for row in facts.rows("step_breakdown", _Window) if row.scope == WHOLE_CAPTURE or row.origin != "inferred"
    ]
    window_ns = sum(row.window_ns for row in told)
    rows = facts.query("copies", _BY_DIRECTION, Copy, window_ns=window_ns)
    if not rows:
        return absent(Copies, Missing("empty", "no memory copy was recorded", ""))
    return Copies(
        collected=True,
        state="collected",
        window_ns=window_ns,
        exposed_ns=sum(row.exposed_copy_ns for row in told),
        rows=rows,
    )
