"""A30: did the cores run at their rated frequency while they worked?"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from duckdb import DuckDBPyConnection

from ascend_sn._native.intervals import intersect, union
from ascend_sn.analysis.activity import COMPUTE, activities, grouped
from ascend_sn.analysis.kernels.chips import chip_of
from ascend_sn.analysis.kernels.slow_instances import slow_instances
from ascend_sn.analysis.registry import Analysis, Need
from ascend_sn.analysis.relations import Result, listed
from ascend_sn.analysis.window_rows import lengths_within

__all__ = ["ANALYSIS", "frequency"]

BELOW_RATED_RATIO: Final = 0.98
"""A sample below this share of the rated frequency is low; the rest is rounding."""

_TYPES: Final = {
    "profile_id": "integer",
    "rank": "integer",
    "name": "varchar",
    "samples": "bigint",
    "rated_mhz": "double",
    "rated_source": "varchar",
    "min_mhz": "double",
    "busy_mean_mhz": "double",
    "busy_ns": "bigint",
    "low_ns": "bigint",
    "low_ratio": "double",
    "slow_kernels": "bigint",
    "slow_while_low": "bigint",
}


def frequency(db: DuckDBPyConnection) -> Result:
    """Weigh the sampled core frequency with the time in which the device computed.

    A sample holds until the next one, the last to the end of the capture; time before the first is not known. The rated
    frequency is that of the chip table, else the highest sample.

    Args:
        db: A connection with the tables `counter`, `kernel`, `operator`, `step`, `profile`.

    Returns:
        One row per frequency counter (unit MHz) of a profile with kernels: profile_id, rank, name, samples
        (sampled values), rated_mhz (frequency it should run at), rated_source (`chip` or `highest sample`),
        min_mhz (while computing), busy_mean_mhz (mean while computing), busy_ns (computing, with a known
        frequency), low_ns (of it, below 98 % of rated), low_ratio = low_ns / busy_ns, slow_kernels
        (`slow_instances`), slow_while_low (those that started while it was low).
    """
    samples = db.execute("""
        select profile_id, name, ts_ns, value
        from counter
        where unit = 'MHz' and name ilike '%freq%'
        order by profile_id, name, ts_ns
    """).fetchnumpy()
    if not len(samples["ts_ns"]):
        return listed(db, [], _TYPES)
    chips = dict(db.execute("select profile_id, device_name from profile").fetchall())
    slow: dict[int, list[int]] = {}
    for row in slow_instances(db).dicts():
        slow.setdefault(row["profile_id"], []).append(row["ts_ns"])
    parts = grouped(samples["profile_id"])
    rows: list[dict[str, Any]] = []
    for activity in activities(db):
        part = parts.get(activity.profile_id)
        if part is None:
            continue
        names = np.asarray(samples["name"][part], object)
        busy = union(*activity.of_kind(COMPUTE))
        for name in sorted(set(names.tolist())):
            chosen = names == name
            rows.append(
                {
                    "profile_id": activity.profile_id,
                    "rank": activity.rank,
                    "name": name,
                    **_weighed(
                        np.asarray(samples["ts_ns"][part], np.int64)[chosen],
                        np.asarray(samples["value"][part], np.float64)[chosen],
                        busy,
                        chips.get(activity.profile_id),
                        np.array(slow.get(activity.profile_id, []), np.int64),
                    ),
                }
            )
    return listed(db, rows, _TYPES)


def _weighed(ts: Any, mhz: Any, busy: tuple[Any, Any], device_name: str | None, slow: Any) -> dict[str, Any]:
    chip = chip_of(device_name)
    known = chip.frequency_mhz if chip is not None else None
    rated = float(mhz.max()) if known is None else known
    last = max(int(busy[1][-1]) if len(busy[1]) else 0, int(ts[-1]))
    end = np.append(ts[1:], last)
    computing = lengths_within(*busy, ts, end)
    low = mhz < BELOW_RATED_RATIO * rated
    total, low_ns = int(computing.sum()), int(computing[low].sum())
    stretches = union(ts[low], end[low])
    return {
        "samples": len(ts),
        "rated_mhz": rated,
        "rated_source": "highest sample" if known is None else "chip",
        "min_mhz": float(mhz[computing > 0].min()) if total else None,
        "busy_mean_mhz": float((mhz * computing).sum() / total) if total else None,
        "busy_ns": total,
        "low_ns": low_ns,
        "low_ratio": low_ns / total if total else None,
        "slow_kernels": len(slow),
        "slow_while_low": len(intersect(*union(slow, slow + 1), *stretches)[0]) if len(slow) else 0,
    }


ANALYSIS = Analysis(
    code="A30",
    name="frequency",
    title="Core frequency",
    per_profile=frequency,
    needs=(Need("kernel"), Need("counter")),
)
