"""Kernels that the optimizer of a step launched, by type."""

from __future__ import annotations

from typing import Final

import msgspec

from ascend_sn.advisor.facts import Facts, asked_once
from ascend_sn.model.kinds import COMPUTE_KINDS

__all__ = ["OptimizerKernels", "optimizer_kernels"]


class OptimizerKernels(msgspec.Struct):
    """Kernels of one type that the optimizer phase of a profile launched: all, and those within a step."""

    profile_id: int
    op_type: str
    calls: int
    total_ns: int
    step_calls: int
    step_ns: int


@asked_once
def optimizer_kernels(facts: Facts) -> dict[int, list[OptimizerKernels]]:
    """Return them by profile, the type with most time first."""
    found: dict[int, list[OptimizerKernels]] = {}
    for row in facts.table_rows(_BY_TYPE, OptimizerKernels) if facts.has_rows("operator") else ():
        found.setdefault(row.profile_id, []).append(row)
    for rows in found.values():
        rows.sort(key=lambda row: (-row.total_ns, row.op_type))
    return found


_BY_TYPE: Final = f"""
    select kernel.profile_id, coalesce(kernel.op_type, kernel.name, '(unnamed)') as op_type,
           count(*) as calls, sum(kernel.dur_ns)::bigint as total_ns, count(kernel.step_id) as step_calls,
           coalesce(sum(kernel.dur_ns) filter (where kernel.step_id is not null), 0)::bigint as step_ns
    from kernel
    join (select profile_id, operator_id from operator where phase = 'optimizer') operator
        using (profile_id, operator_id)
    where kernel.kind in {COMPUTE_KINDS}
    group by all
"""
