"""How much of a step goes to kernels so short that starting them costs as much as running them."""

from __future__ import annotations

from typing import Final

import msgspec

from ascend_sn.advisor.facts import Facts, asked_once
from ascend_sn.advisor.median_step import MedianStep

__all__ = ["SmallKernels", "small_kernels"]


class SmallKernels(msgspec.Struct, kw_only=True):
    """Short kernels of one profile over its steps.

    Attributes:
        kernels: All computing kernels.
        small: Those that are short.
        small_ns: Time of the short ones.
        gap_ns: Time in which the device did nothing right before one of them, each gap cut.
        graph_launched: Kernels that were launched as part of a captured graph.
        steps: Steps that these are of.
    """

    kernels: int
    small: int
    small_ns: int
    gap_ns: int
    graph_launched: int
    steps: int

    @property
    def small_ratio(self) -> float:
        """Share of the kernels that are short."""
        return self.small / self.kernels

    @property
    def small_per_step(self) -> float:
        """Short kernels in a step."""
        return self.small / self.steps

    @property
    def step_ns(self) -> int:
        """Their time in a step, with the gaps before them."""
        return (self.small_ns + self.gap_ns) // self.steps


def small_kernels(facts: Facts, step: MedianStep, small_to_ns: float, gap_to_ns: float) -> SmallKernels | None:
    """Count the kernels of a profile up to a length; None without kernels.

    Args:
        facts: The run.
        step: The median step of the profile; only kernels within marked steps count, where there are any.
        small_to_ns: Longest kernel that counts as short.
        gap_to_ns: A longer gap before one counts for so much: the rest has other reasons.
    """
    return _counted(facts, step.profile_id, small_to_ns, gap_to_ns, step.step_count)


@asked_once
def _counted(
    facts: Facts, profile_id: int, small_to_ns: float, gap_to_ns: float, step_count: int
) -> SmallKernels | None:
    rows = facts.table_rows(
        _COUNTED, SmallKernels, profile_id=profile_id, small=small_to_ns, gap=gap_to_ns, steps=step_count
    )
    return rows[0] if rows else None


_COUNTED: Final = """
    with placed as (
        select kernel.kind, kernel.dur_ns, kernel.step_id, call.name as call_name,
               greatest(kernel.ts_ns - max(kernel.ts_ns + kernel.dur_ns) over earlier, 0) as gap_ns
        from kernel
        left join (select profile_id, host_call_id, name from host_call) call using (profile_id, host_call_id)
        where profile_id = $profile_id and kind in ('compute', 'fused', 'communication', 'copy')
        window earlier as (order by kernel.ts_ns, kernel.kernel_id rows between unbounded preceding and 1 preceding)
    )
    select count(*) as kernels,
           count(*) filter (where dur_ns <= $small) as small,
           coalesce(sum(dur_ns) filter (where dur_ns <= $small), 0)::bigint as small_ns,
           coalesce(sum(least(gap_ns, $gap)) filter (where dur_ns <= $small), 0)::bigint as gap_ns,
           count(*) filter (
               where regexp_matches(call_name, 'GraphLaunch|ModelExecute|mdlExecute|mdlRIExecute', 'i')
           ) as graph_launched,
           $steps::bigint as steps
    from placed
    where kind in ('compute', 'fused')
      and (step_id is not null
           or $profile_id not in (select profile_id from step where origin <> 'inferred'))
    having count(*) > 0
"""
