"""Ranks whose host alone is slower than those of the others, though all run the same program.

What such a rank lacks is not another program: advice about launches or the batch would treat what one host does wrong.
"""

from __future__ import annotations

import msgspec

from ascend_sn.advisor.facts import Facts, asked_once
from ascend_sn.advisor.message import Message

__all__ = ["late_host_explains", "late_hosts"]


class _Row(msgspec.Struct):
    """What is wanted of a row of `stragglers`."""

    profile_id: int
    rank: int | None


@asked_once
def late_hosts(facts: Facts) -> dict[int, int | None]:
    """Return the ranks that the others wait for because of their host, by profile."""
    rows = facts.rows("stragglers", _Row, lambda row: row["is_straggler"] and row["cause"] == "host")
    return {row.profile_id: row.rank for row in rows}


def late_host_explains(facts: Facts, profile_id: int) -> Message | None:
    """Say that a profile's host is a straggler; None where it is not."""
    late = late_hosts(facts)
    if profile_id not in late:
        return None
    rank = late[profile_id]
    return Message("suppressed.straggler-explains", {"rank": "?" if rank is None else rank})
