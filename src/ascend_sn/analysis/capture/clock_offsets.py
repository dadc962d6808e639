"""Clock offsets between profiles, from the collectives that they met in, with the error that remains.

A collective ends on all its members at nearly the same moment. The median difference of end times over the
calls of a common group is therefore the offset between two clocks, and the spread and the number of those
differences say what the alignment leaves open. A naive merge of raw clocks looks plausible and is wrong.

Sends and receives are left out: the same number on two ranks is two messages. So are calls of an unknown operation,
which may be such.

Ranks of one host have one clock, but their devices' times were brought to it one by one. So what the collectives say
goes first, over as many ranks as lie between; only who cannot be reached so is aligned by the name of its host. How far
that may be off is what the collectives say of other ranks that have a host in common.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Container, Mapping, Sequence
from math import pi, sqrt
from statistics import NormalDist
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from duckdb import DuckDBPyConnection

from ascend_sn.analysis.outliers import SIGMA_OF_DEVIATION
from ascend_sn.analysis.registry import Analysis, Need
from ascend_sn.analysis.relations import Result, listed, selected
from ascend_sn.model.kinds import UNMATCHED

__all__ = ["ANALYSIS", "OFFSET_TYPES", "clock_offsets", "offsets_between"]

CALLS_AT_LEAST: Final = 3
"""Common calls from which end times are taken as a clock offset; fewer could be any one call's jitter."""

SPREAD_AT_MOST: Final = 0.5
"""Spread of the differences, as a share of the shorter of the two median call durations, beyond which the end
times do not agree well enough to set a clock by: the calls may not be the same ones."""

OUTSIDE_RATIO: Final = 0.01
"""Share of the alignments whose true offset may lie further off than the error says."""

_STUDENT: Final = {3: 9.925, 4: 5.841, 5: 4.604, 6: 4.032, 7: 3.707}
"""Quantiles of Student's t for `OUTSIDE_RATIO`, both sides together, by number of values."""

_NORMAL: Final = NormalDist().inv_cdf(1 - OUTSIDE_RATIO / 2)

_APART_AT_LEAST: Final = 2
"""Measured differences between ranks of one host from which on another one is judged."""

_OF_MEDIAN: Final = sqrt(pi / 2)
"""Standard deviation of a median, in units of that of the mean, at most."""

Columns = Mapping[str, Sequence[Any]]

_CALL_COLUMNS: Final = ("profile_id", "rank", "host", "group_id", "op", "sequence", "ts_ns", "dur_ns")

OFFSET_TYPES: Final = {
    "profile_id": "integer",
    "rank": "integer",
    "reference_profile_id": "integer",
    "offset_ns": "bigint",
    "error_ns": "bigint",
    "calls": "bigint",
    "method": "varchar",
    "reason": "varchar",
}


def clock_offsets(db: DuckDBPyConnection) -> Result:
    """List what the alignment needs of each profile: its matched collectives.

    Args:
        db: A connection with the tables `profile` and `collective`.

    Returns:
        profile_id, rank, host, and of each numbered collective of a known operation (no sends and receives) group_id,
        op, sequence, ts_ns, dur_ns (null for a profile without any).
    """
    return selected(
        db,
        """
        select profile.profile_id, profile.rank, profile.host, group_id, op, sequence, ts_ns, dur_ns
        from profile
        left join (select profile_id, group_id, op, sequence, ts_ns, dur_ns from collective
                   where sequence is not null and not list_contains($unmatched, op)) call using (profile_id)
        order by profile.profile_id, group_id, sequence
    """,
        {"unmatched": list(UNMATCHED)},
    )


def combined_offsets(db: DuckDBPyConnection, parts: Result) -> Result:
    """Align every profile with the first one that it is connected to.

    Returns:
        profile_id, rank, reference_profile_id, offset_ns (subtract it from the profile's times to get the
        reference's; null when it cannot be known), error_ns (what the alignment leaves open: with 99 % the offset
        is not further off, as the spread and the number of the end time differences tell, and no less than 1.4826
        times their median absolute deviation; summed along the way to the reference; null where none was measured;
        an end that comes later on one of two ranks in every call cannot be told from its clock; by host, 99 % as the
        measured differences between ranks of one host tell, null with fewer than two of them), calls (common ones),
        method (`reference`; `collectives`; `host`: same host, hence the same clock; `unknown`), reason (why it is
        unknown).
    """
    rows = parts.dicts()
    columns = {name: [row[name] for row in rows] for name in _CALL_COLUMNS}
    return listed(db, offsets_between(columns), OFFSET_TYPES)


def offsets_between(calls: Columns) -> list[dict[str, Any]]:
    """Compute the rows of `combined_offsets` from the columns of `clock_offsets`."""
    profiles = _profiles(calls)
    ends = _ends(calls)
    together = _Together(profiles, ends)
    rows: dict[int, dict[str, Any]] = {}
    for first in profiles:
        if first in rows:
            continue
        rows[first] = _row(first, profiles, first, 0, 0, 0, "reference")
        pending, by_host = deque([first]), deque[tuple[int, int, int]]()
        while pending or by_host:
            if not pending:  # who is on the same host only comes after all that collectives lead to
                near, far, count = by_host.popleft()
                if far not in rows:
                    total = _sum(rows[near]["error_ns"], _error_of_host(profiles, rows))
                    rows[far] = _row(far, profiles, first, rows[near]["offset_ns"], total, count, "host")
                    pending.append(far)
                continue
            near = pending.popleft()
            for far in together.left_with(near, rows):
                step = _step(ends, near, far)
                if step is not None:
                    offset, error, count = step
                    total = _sum(rows[near]["error_ns"], error)
                    rows[far] = _row(
                        far, profiles, first, rows[near]["offset_ns"] + offset, total, count, "collectives"
                    )
                    pending.append(far)
                elif profiles[near][1] is not None and profiles[near][1] == profiles[far][1]:
                    by_host.append((near, far, len(ends.get(near, {}).keys() & ends.get(far, {}).keys())))
    for profile_id, row in rows.items():
        if len(profiles) > 1 and row["method"] == "reference" and not _leads_others(profile_id, rows):
            row.update(method="unknown", offset_ns=None, error_ns=None, reason=_why(ends.get(profile_id)))
    return [rows[profile_id] for profile_id in sorted(rows)]


def _profiles(calls: Columns) -> dict[int, tuple[int | None, str | None]]:
    columns = zip(calls["profile_id"], calls["rank"], calls["host"], strict=True)
    return {profile_id: (rank, host) for profile_id, rank, host in columns}


Ends = dict[tuple[Any, ...], tuple[int, int]]


def _ends(calls: Columns) -> dict[int, Ends]:
    """End time and duration of every numbered call, by profile and by what it is the same call as."""
    found: dict[int, Ends] = {}
    names = ("profile_id", "group_id", "op", "sequence", "ts_ns", "dur_ns")
    for profile_id, group_id, op, sequence, ts, dur in zip(*(calls[name] for name in names), strict=True):
        if sequence is not None and op not in UNMATCHED:
            found.setdefault(profile_id, {})[group_id, op, sequence] = (ts + dur, dur)
    return found


class _Together:
    """Which profiles have a communicator or a host in common: the others cannot be aligned directly."""

    def __init__(self, profiles: dict[int, tuple[int | None, str | None]], ends: dict[int, Ends]) -> None:
        self._order = {profile_id: at for at, profile_id in enumerate(profiles)}
        self._places = {
            profile_id: {("group", key[0]) for key in ends.get(profile_id, {})}
            | ({("host", host)} if host is not None else set())
            for profile_id, (_, host) in profiles.items()
        }
        self._members: dict[tuple[str, Any], list[int]] = {}
        for profile_id, places in self._places.items():
            for place in places:
                self._members.setdefault(place, []).append(profile_id)

    def left_with(self, profile_id: int, known: Container[int]) -> list[int]:
        """Return those together with a profile that are not known yet, in the order of the profiles."""
        found: set[int] = set()
        for place in self._places[profile_id]:
            # Who is known stays known: a large communicator is gone through once, not once for each of its members.
            self._members[place] = [other for other in self._members[place] if other not in known]
            found.update(self._members[place])
        return sorted(found, key=self._order.__getitem__)


def _step(ends: dict[int, Ends], near: int, far: int) -> tuple[int, int, int] | None:
    """Return offset, error and common calls from `near` to `far`, None when no collectives connect them."""
    own, other = ends.get(near, {}), ends.get(far, {})
    common = own.keys() & other.keys()
    if len(common) < CALLS_AT_LEAST:
        return None
    differences = np.sort(np.array([other[key][0] - own[key][0] for key in common], np.int64))
    offset = _median(differences)
    spread = round(SIGMA_OF_DEVIATION * float(np.median(np.abs(differences - offset))))
    length = min(float(np.median([side[key][1] for key in common])) for side in (own, other))
    if spread > SPREAD_AT_MOST * length:
        return None
    return offset, max(spread, _error_of_median(differences, offset)), len(common)


def _sum(known: int | None, error: int | None) -> int | None:
    return None if known is None or error is None else known + error


def _error_of_host(profiles: dict[int, tuple[int | None, str | None]], rows: dict[int, dict[str, Any]]) -> int | None:
    """How far two ranks of one host may be apart, as those are for which collectives tell; None with fewer than two.

    Their differences are taken for normal around zero: another one is not beyond this with 99 %, nor are these.
    """
    first: dict[tuple[int, str], int] = {}
    apart: list[int] = []
    for profile_id, row in sorted(rows.items()):
        host = profiles[profile_id][1]
        if host is not None and row["method"] != "host" and row["error_ns"] is not None:
            place = row["reference_profile_id"], host
            if place in first:
                apart.append(abs(row["offset_ns"] - first[place]) + row["error_ns"])
            first.setdefault(place, row["offset_ns"])
    if len(apart) < _APART_AT_LEAST:
        return None
    deviation = sqrt(sum(one * one for one in apart) / len(apart))
    return max(round(_student(len(apart)) * deviation), *apart)


def _student(free: int) -> float:
    """Quantile of Student's t for `OUTSIDE_RATIO`, both sides together, by degrees of freedom."""
    if free + 1 in _STUDENT:
        return _STUDENT[free + 1]
    # The first terms of Fisher's expansion: within a thousandth from seven degrees of freedom on.
    z = _NORMAL
    return (
        z
        + (z**3 + z) / (4 * free)
        + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * free**2)
        + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * free**3)
    )


def _median(ordered: npt.NDArray[np.int64]) -> int:
    """The median in whole nanoseconds; a float64 could not hold the difference of two epochs."""
    low, high = int(ordered[(len(ordered) - 1) // 2]), int(ordered[len(ordered) // 2])
    return (low + high) // 2


def _error_of_median(ordered: npt.NDArray[np.int64], middle: int) -> int:
    """How far the median of ever more such differences may be from that of these.

    From eight on whatever their distribution: so many of them lie on one side of it only by a chance that is left out.
    Fewer do not reach that certainty by their order; they are taken for normal.
    """
    count = len(ordered)
    if count in _STUDENT:
        deviation = float(np.std((ordered - middle).astype(np.float64), ddof=1))
        return round(_STUDENT[count] * _OF_MEDIAN * deviation / sqrt(count))
    beyond = _left_out(count)
    return max(middle - int(ordered[beyond]), int(ordered[-1 - beyond]) - middle)


def _left_out(count: int) -> int:
    """How many of so many ordered values on each side are not needed to hold their true median (binomial, normal)."""
    return int(max((count - _NORMAL * sqrt(count) - 1) / 2, 0))


def _leads_others(profile_id: int, rows: dict[int, dict[str, Any]]) -> bool:
    return profile_id == min(rows) or any(
        row["reference_profile_id"] == profile_id and other != profile_id for other, row in rows.items()
    )


def _why(ends: Ends | None) -> str:
    if not ends:
        return "no collectives that could be matched across ranks were recorded"
    return f"fewer than {CALLS_AT_LEAST} common collectives, or their ends do not agree"


def _row(
    profile_id: int,
    profiles: dict[int, tuple[int | None, str | None]],
    reference: int,
    offset: int,
    error: int | None,
    calls: int,
    method: str,
) -> dict[str, Any]:
    return {
        "profile_id": profile_id,
        "rank": profiles[profile_id][0],
        "reference_profile_id": reference,
        "offset_ns": offset,
        "error_ns": error,
        "calls": calls,
        "method": method,
        "reason": None,
    }


ANALYSIS = Analysis(
    code="A14",
    name="clock_offsets",
    title="Clock offsets between ranks",
    per_profile=clock_offsets,
    combine=combined_offsets,
    needs=(Need("profile"),),
)
