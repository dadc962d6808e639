"""When the host asked for each kernel, aligned with the intervals of `activity`."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
from duckdb import DuckDBPyConnection

from ascend_sn.analysis.activity import grouped
from ascend_sn.analysis.relations import worked_out_once
from ascend_sn.model.kinds import BUSY_KINDS
from ascend_sn.model.rows import Bool, Int64

__all__ = ["Launches", "launches"]

Lane = tuple[int | None, str | None]
"""Device and stream."""


class Launches(msgspec.Struct, frozen=True, eq=False):
    """Launch of every kernel of one profile, in the order of `Activity` (start, then kernel_id).

    Attributes:
        has_call: The host call that launched it is known; `call_start` and `call_end` count only there.
        has_operator: The framework operator is known; `operator_start` and `operator_end` count only there.
        lane: Number of the device and stream it ran on; `lanes` has the texts.
    """

    has_call: Bool
    call_start: Int64
    call_end: Int64
    has_operator: Bool
    operator_start: Int64
    operator_end: Int64
    lane: Int64
    lanes: list[Lane]

    def asked(self) -> tuple[Int64, Int64, Bool]:
        """Return begin and end of the asking (operator or call, whichever begins first), and where it is known."""
        known = self.has_call | self.has_operator
        first = np.where(self.has_operator, self.operator_start, self.call_start)
        first = np.where(self.has_call, np.minimum(first, self.call_start), first)
        last = np.where(self.has_call, self.call_end, self.operator_end)
        return first, last, known


@worked_out_once
def launches(db: DuckDBPyConnection) -> dict[int, Launches]:
    """Return the launches of every profile that has kernels."""
    found = db.execute(f"""
        select kernel.profile_id,
               call.ts_ns                         as call_start,
               call.ts_ns + call.dur_ns           as call_end,
               operator.ts_ns                     as operator_start,
               operator.ts_ns + operator.dur_ns   as operator_end,
               hash(kernel.device_id, kernel.stream) as lane
        from kernel
        left join host_call call using (profile_id, host_call_id)
        left join operator using (profile_id, operator_id)
        where kernel.kind in {BUSY_KINDS}
        order by kernel.profile_id, kernel.ts_ns, kernel.kernel_id
    """).fetchnumpy()
    lanes = {
        number: (device, stream)
        for number, device, stream in db.execute(
            "select distinct hash(device_id, stream), device_id, stream from kernel"
        ).fetchall()
    }
    return {profile_id: _launches(found, part, lanes) for profile_id, part in grouped(found["profile_id"]).items()}


def _launches(found: dict[str, Any], part: slice, lanes: dict[int, Lane]) -> Launches:
    call_start, has_call = _split(found["call_start"][part])
    call_end, _ = _split(found["call_end"][part])
    operator_start, has_operator = _split(found["operator_start"][part])
    operator_end, _ = _split(found["operator_end"][part])
    hashes, lane = np.unique(np.asarray(found["lane"][part]), return_inverse=True)
    own = [lanes[number] for number in hashes.tolist()]
    return Launches(
        has_call, call_start, call_end, has_operator, operator_start, operator_end, lane.astype(np.int64), own
    )


def _split(column: npt.NDArray[Any]) -> tuple[Int64, Bool]:
    missing = np.ma.getmaskarray(column)
    return np.ma.getdata(column).astype(np.int64), ~missing
