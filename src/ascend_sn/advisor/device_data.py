"""Profiles whose host launched work that the device did not record: what the device did is unknown, not idle."""

from __future__ import annotations

from typing import Final

import msgspec

from ascend_sn.advisor.facts import Facts, asked_once
from ascend_sn.model.ledger import LAUNCHES_IN_REASON

__all__ = ["SilentDevice", "silent_devices"]

_ACCELERATORS: Final = ("npu", "cuda", "rocm", "xpu")


class SilentDevice(msgspec.Struct):
    """A profile of an accelerator without any device record, and what its host launched meanwhile."""

    rank: int | None
    launch_count: int


class _Checked(msgspec.Struct):
    """How many kernels of a profile there are to judge (A01)."""

    profile_id: int
    rows_checked: int


@asked_once
def silent_devices(facts: Facts) -> list[SilentDevice]:
    """Return the profiles without device records, by rank.

    Launches are counted by the reader of the format, which says their number where it says that kernels are missing;
    else they are the host calls that are called launches.
    """
    accelerated = {row["profile_id"] for row in facts.profiles if row["device_kind"] in _ACCELERATORS}
    with_kernels = {row.profile_id for row in facts.rows("data_score", _Checked) if row.rows_checked}
    silent = accelerated - with_kernels
    if not silent:
        return []
    return facts.table_rows(
        """
        with told as (
            select profile_id, max(try_cast(regexp_extract(reason, $launches, 1) as bigint)) as launch_count
            from coverage
            where table_name = 'kernel' and state not in ('collected', 'not_requested', 'unsupported')
            group by profile_id
        ),
        counted as (
            select profile_id, count(*) as launch_count
            from host_call
            where name ilike '%launch%'
            group by profile_id
        )
        select profile.rank, coalesce(told.launch_count, counted.launch_count, 0) as launch_count
        from profile
        left join told using (profile_id)
        left join counted using (profile_id)
        where profile_id in $silent and (told.profile_id is not null or counted.profile_id is not null)
        order by profile.rank
        """,
        SilentDevice,
        silent=sorted(silent),
        launches=LAUNCHES_IN_REASON,
    )
