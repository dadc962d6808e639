"""A16: start-up cost and bandwidth of collectives: transit = alpha + size / bandwidth."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt
from duckdb import DuckDBPyConnection

from ascend_sn.analysis.communication.collective_parts import completed_parts
from ascend_sn.analysis.registry import COMBINED_VIEW, Analysis, Need
from ascend_sn.analysis.relations import Result, listed, selected
from ascend_sn.analysis.trend import theil_sen

__all__ = ["ANALYSIS", "alpha_beta", "combined_fit"]

SIZES_AT_LEAST: Final = 3
"""Different sizes that a fit needs."""

RANGE_AT_LEAST: Final = 4
"""Times the smallest size that the largest one must be."""

_TYPES: Final = {
    "group_id": "varchar",
    "op": "varchar",
    "transport": "varchar",
    "calls": "bigint",
    "sizes": "bigint",
    "min_bytes": "bigint",
    "max_bytes": "bigint",
    "total_bytes": "bigint",
    "transit_ns": "bigint",
    "fitted": "boolean",
    "reason": "varchar",
    "alpha_ns": "double",
    "alpha_low_ns": "double",
    "alpha_high_ns": "double",
    "bandwidth_bytes_per_s": "double",
    "knee_bytes": "double",
    "small_calls_ratio": "double",
    "small_bytes_ratio": "double",
    "alpha_time_ratio": "double",
}


def alpha_beta(db: DuckDBPyConnection) -> Result:
    """List the transport that moved most bytes of each collective.

    Args:
        db: A connection with the tables `collective`, `kernel`, `step`, `link`.

    Returns:
        profile_id, collective_id, transport (not LOCAL), of the collectives of which links were recorded.
    """
    return selected(
        db,
        """
        select profile_id, collective_id, arg_max(transport, (size_bytes, transport)) as transport
        from link
        where collective_id is not null and transport <> 'LOCAL'
        group by profile_id, collective_id
        order by profile_id, collective_id
    """,
    )


def combined_fit(db: DuckDBPyConnection, parts: Result) -> Result:
    """Fit transit = alpha + size / bandwidth per group, operation and transport, over the calls of all ranks.

    The line goes through the median transit of each size (Theil-Sen, so that stragglers do not move it) and needs
    three sizes with a fourfold range. A call is small where alpha is more than half of its expected transit, that is
    below knee = alpha x bandwidth.

    Returns:
        group_id, op, transport, calls (with known size and transit), sizes (different ones), min_bytes,
        max_bytes, total_bytes, transit_ns (sum), fitted, reason (why not: `sizes`, `range`, or `slope` where
        larger messages are not slower), alpha_ns (transit of a call without bytes), alpha_low_ns and
        alpha_high_ns (each: quartile of what the line leaves at size 0), bandwidth_bytes_per_s (reciprocal slope of
        the line), knee_bytes (size whose transit is half alpha), small_calls_ratio (share of the calls below the
        knee), small_bytes_ratio (share of the bytes in them), alpha_time_ratio (alpha of all calls over their
        transit, at most 1); sorted by transit.
    """
    parts.keep(COMBINED_VIEW)
    found = db.execute(f"""
        select group_id, op, transport,
               list(size_bytes order by profile_id, collective_id) as size_bytes,
               list(transit_ns order by profile_id, collective_id) as transit_ns
        from {completed_parts(db)}
        left join {COMBINED_VIEW} using (profile_id, collective_id)
        where size_bytes > 0 and transit_ns > 0
        group by group_id, op, transport
    """).fetchall()
    rows = [
        {"group_id": group, "op": op, "transport": transport, **_fit(np.array(sizes), np.array(transits))}
        for group, op, transport, sizes, transits in found
    ]
    rows.sort(key=lambda row: (-row["transit_ns"], row["group_id"] or "", row["op"], row["transport"] or ""))
    return listed(db, rows, _TYPES)


def _fit(size: npt.NDArray[np.int64], transit: npt.NDArray[np.int64]) -> dict[str, Any]:
    distinct, of_size = np.unique(size, return_inverse=True)
    typical = np.array([np.median(transit[of_size == at]) for at in range(len(distinct))])
    row: dict[str, Any] = dict.fromkeys(_TYPES)
    for name in ("group_id", "op", "transport"):
        del row[name]
    row |= {
        "calls": len(size),
        "sizes": len(distinct),
        "min_bytes": int(distinct[0]),
        "max_bytes": int(distinct[-1]),
        "total_bytes": int(size.sum()),
        "transit_ns": int(transit.sum()),
        "fitted": False,
    }
    if len(distinct) < SIZES_AT_LEAST:
        return row | {"reason": "sizes"}
    if distinct[-1] < RANGE_AT_LEAST * distinct[0]:
        return row | {"reason": "range"}
    line = theil_sen(distinct, typical)
    if line is None or line.slope <= 0:
        return row | {"reason": "slope"}
    left = typical - line.slope * distinct
    alpha = max(float(np.median(left)), 0.0)
    low, high = (max(float(np.quantile(left, share)), 0.0) for share in (0.25, 0.75))
    small = size < alpha / line.slope
    return row | {
        "fitted": True,
        "alpha_ns": alpha,
        "alpha_low_ns": low,
        "alpha_high_ns": high,
        "bandwidth_bytes_per_s": 1e9 / line.slope,
        "knee_bytes": alpha / line.slope,
        "small_calls_ratio": float(small.mean()),
        "small_bytes_ratio": float(size[small].sum() / size.sum()),
        "alpha_time_ratio": min(alpha * len(size) / float(transit.sum()), 1.0),
    }


ANALYSIS = Analysis(
    code="A16",
    name="alpha_beta",
    title="Start-up cost and bandwidth of collectives",
    per_profile=alpha_beta,
    combine=combined_fit,
    needs=(Need("collective"),),
)
