"""A33: what the latency of a request is made of: copy in, inference, copy out, the rest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from duckdb import DuckDBPyConnection

from ascend_sn._native.intervals import subtract, union
from ascend_sn.analysis.activity import grouped
from ascend_sn.analysis.registry import Analysis, Need
from ascend_sn.analysis.relations import Result, listed
from ascend_sn.analysis.window_rows import lengths_within
from ascend_sn.model.kinds import BUSY_KINDS
from ascend_sn.model.requests import REQUEST_DOMAIN
from ascend_sn.model.rows import Int64

__all__ = ["ANALYSIS", "STAGES", "Divided", "divided_requests", "inference_latency"]

STAGES: Final = ("total", "copy_in", "inference", "copy_out", "gap")

_TYPES: Final = {
    "profile_id": "integer",
    "rank": "integer",
    "stage": "varchar",
    "source": "varchar",
    "requests": "bigint",
    "mean_ns": "double",
    "p50_ns": "double",
    "p90_ns": "double",
    "p95_ns": "double",
    "p99_ns": "double",
    "max_ns": "bigint",
    "share_ratio": "double",
    "first_ns": "bigint",
    "steady_mean_ns": "double",
}

_WORK: Final = 0
_COPY: Final = 1
_COPY_IN: Final = 2
_COPY_OUT: Final = 3


@dataclass(frozen=True, eq=False)
class Divided:
    """The requests of a profile by start, and of each the ns of every stage.

    Attributes:
        rank: Rank of the profile; null where it has none.
        source: `request` or `step`.
        start: Arrival, ns in the profile's own clock.
        lengths: ns by stage; `total` is the sum of the others.
    """

    rank: int | None
    source: str
    start: Int64
    lengths: dict[str, Int64]

    def of(self, ts_ns: int, dur_ns: int) -> dict[str, int] | None:
        """Return the stages of the request of a time, without the total; None where there is none."""
        first, past = np.searchsorted(self.start, [ts_ns, ts_ns + 1]).tolist()
        for at in range(first, past):
            if int(self.lengths["total"][at]) == dur_ns:
                return {stage: int(self.lengths[stage][at]) for stage in STAGES[1:]}
        return None


def inference_latency(db: DuckDBPyConnection) -> Result:
    """Divide every request by what ran meanwhile; the stages sum to the total exactly.

    A request is a range of the domain `request`; where there is none, a marked step of a profile that neither trains
    (no backward or optimizer phase) nor communicates. Inference is the time with a kernel, copy_in what is left with a
    copy to the device, copy_out what is left with a copy back, gap the rest. A copy whose direction is not known goes
    in before the request's first kernel and out after it; copies on the device are inference.

    Args:
        db: A connection with the tables `span`, `step`, `operator`, `collective`, `kernel`, `profile`.

    Returns:
        One row per profile and stage (total, copy_in, inference, copy_out, gap): profile_id, rank, stage, source
        (`request` or `step`), requests, mean_ns, p50_ns, p90_ns, p95_ns, p99_ns, max_ns, share_ratio (of the summed
        total), first_ns (of the first request), steady_mean_ns (of the others; null for a single one).
    """
    rows = [
        {"profile_id": profile_id, "rank": one.rank, "source": one.source, "requests": len(one.start), "stage": stage,
         **_figures(one.lengths[stage], int(one.lengths["total"].sum()))}
        for profile_id, one in divided_requests(db).items()
        for stage in STAGES
    ]  # fmt: skip
    return listed(db, rows, _TYPES)


def divided_requests(db: DuckDBPyConnection) -> dict[int, Divided]:
    """Return the requests of every profile that has some and ran kernels, divided as `inference_latency` tells.

    Args:
        db: A connection with the tables `span`, `step`, `operator`, `collective`, `kernel`, `profile`.
    """
    requests = db.execute(
        """
        with asked as (
            select profile_id, ts_ns, dur_ns, 'request' as source
            from span
            where domain = $domain and dur_ns > 0
        ),
        trained as (
            select profile_id from operator where phase in ('backward', 'optimizer')
            union
            select profile_id from collective
        ),
        found as (
            select * from asked
            union all
            select profile_id, ts_ns, dur_ns, 'step'
            from step
            where origin <> 'inferred' and dur_ns > 0
              and profile_id not in (select profile_id from asked union all select profile_id from trained)
        )
        select found.profile_id, profile.rank, found.ts_ns as start_ns, found.ts_ns + dur_ns as end_ns, found.source
        from found
        left join profile using (profile_id)
        order by found.profile_id, found.ts_ns, dur_ns
        """,
        {"domain": REQUEST_DOMAIN},
    ).fetchnumpy()
    if not len(requests["profile_id"]):
        return {}
    kernels = db.execute(f"""
        select profile_id,
               case when kind <> 'copy' then {_WORK}
                    when copy_direction is null then {_COPY}
                    when copy_direction = 'h2d' then {_COPY_IN}
                    when copy_direction = 'd2h' then {_COPY_OUT}
                    else {_WORK}
               end::utinyint as what,
               ts_ns as start_ns, ts_ns + dur_ns as end_ns
        from kernel
        where kind in {BUSY_KINDS}
        order by profile_id, ts_ns, kernel_id
    """).fetchnumpy()
    parts = grouped(kernels["profile_id"])
    found = {}
    for profile_id, part in grouped(requests["profile_id"]).items():
        if profile_id in parts:
            asked = {name: column[part] for name, column in requests.items()}
            ran = {name: column[parts[profile_id]] for name, column in kernels.items()}
            found[profile_id] = _divided(asked, ran)
    return found


def _divided(asked: dict[str, Any], ran: dict[str, Any]) -> Divided:
    low, high = np.asarray(asked["start_ns"], np.int64), np.asarray(asked["end_ns"], np.int64)
    start, end = np.asarray(ran["start_ns"], np.int64), np.asarray(ran["end_ns"], np.int64)
    what = _directed(np.asarray(ran["what"], np.uint8), start, low)
    work = union(start[what == _WORK], end[what == _WORK])
    copied_in = subtract(*union(start[what == _COPY_IN], end[what == _COPY_IN]), *work)
    copied_out = union(start[what == _COPY_OUT], end[what == _COPY_OUT])
    copied_out = subtract(*subtract(*copied_out, *work), *copied_in)
    lengths = {
        "total": high - low,
        "copy_in": lengths_within(*copied_in, low, high),
        "inference": lengths_within(*work, low, high),
        "copy_out": lengths_within(*copied_out, low, high),
    }
    lengths["gap"] = lengths["total"] - lengths["copy_in"] - lengths["inference"] - lengths["copy_out"]
    rank = asked["rank"][0]
    return Divided(None if rank is np.ma.masked else int(rank), str(asked["source"][0]), low, lengths)


def _directed(what: npt.NDArray[np.uint8], start: Int64, low: Int64) -> npt.NDArray[np.uint8]:
    """Give copies without a direction one: in before the first work of their request, out after it."""
    if not bool((what == _COPY).any()):
        return what
    request = np.searchsorted(low, start, side="right") - 1
    first = np.full(len(low) + 1, np.iinfo(np.int64).max, np.int64)
    working = what == _WORK
    np.minimum.at(first, request[working], start[working])
    guessed = np.where(start < first[request], np.uint8(_COPY_IN), np.uint8(_COPY_OUT))
    return np.where(what == _COPY, guessed, what)


def _figures(length: Int64, total: int) -> dict[str, Any]:
    p50, p90, p95, p99 = (float(value) for value in np.quantile(length, [0.5, 0.9, 0.95, 0.99]))
    return {
        "mean_ns": float(length.mean()),
        "p50_ns": p50,
        "p90_ns": p90,
        "p95_ns": p95,
        "p99_ns": p99,
        "max_ns": int(length.max()),
        "share_ratio": int(length.sum()) / total,
        "first_ns": int(length[0]),
        "steady_mean_ns": float(length[1:].mean()) if len(length) > 1 else None,
    }


ANALYSIS = Analysis(
    code="A33",
    name="inference_latency",
    title="Latency of inference",
    per_profile=inference_latency,
    needs=(Need("kernel"), Need("span", alternatives=("step",))),
)
