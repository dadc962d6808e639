"""The function of the user's program in which data loading spends its time, where Python calls were recorded."""

from __future__ import annotations

from typing import Final

import msgspec

from ascend_sn.advisor.facts import Facts
from ascend_sn.advisor.user_frame import user_frame

__all__ = ["LoadingCall", "loading_call"]


class LoadingCall(msgspec.Struct):
    """A Python function that runs while data are loaded.

    Attributes:
        name: File, line and name: `train.py(12): __getitem__`.
        total_ns: Time inside it, over all its calls.
        loading_ns: Time of all loading, of which that is a part.
    """

    name: str
    total_ns: int
    loading_ns: int


def loading_call(facts: Facts, profile_id: int, from_ratio: float) -> LoadingCall | None:
    """Return the innermost function of the user's program that takes a share of the loading of a profile, or more.

    Worker processes of a loader are not recorded: what takes their time is not found.
    """
    calls = facts.table_rows(_CALLS, LoadingCall, profile_id=profile_id, from_ratio=from_ratio)
    return next((call for call in calls if user_frame(call.name) is not None), None)


# Loading inside loading counts once. Calls come innermost first.
_CALLS: Final = r"""
    with loading as (
        select thread, ts_ns, ts_ns + dur_ns as end_ns
        from operator
        where profile_id = $profile_id and phase = 'data' and dur_ns > 0
        window earlier as (partition by thread order by ts_ns, dur_ns desc
                           rows between unbounded preceding and 1 preceding)
        qualify ts_ns >= coalesce(max(ts_ns + dur_ns) over earlier, ts_ns)
    ),
    call as (
        select span.name, span.dur_ns, span.depth
        from span
        asof join loading on span.thread = loading.thread and span.ts_ns >= loading.ts_ns
        where span.profile_id = $profile_id
          and span.ts_ns + span.dur_ns <= loading.end_ns
          and regexp_matches(span.name, '\.py\(\d+\): ')
    ),
    whole as (
        select sum(end_ns - ts_ns)::bigint as loading_ns from loading
    )
    select name, sum(dur_ns)::bigint as total_ns, any_value(loading_ns) as loading_ns
    from call, whole
    group by name
    having total_ns >= $from_ratio * any_value(loading_ns)
    order by max(depth) desc nulls last, total_ns desc, name
"""
