"""How much of a step goes to kernels so short that starting them costs as much as running them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec
import numpy as np

from ascend_sn.advisor.facts import Facts, asked_once
from ascend_sn.advisor.median_step import MedianStep
from ascend_sn.analysis.activity import COMPUTE, NO_STEP, Activity, activities
from ascend_sn.model.kinds import COMPUTE_KINDS

__all__ = ["SmallKernels", "launched_as_graph", "small_kernels"]


class SmallKernels(msgspec.Struct, kw_only=True):
    """Short kernels of one profile over its steps.

    Attributes:
        kernels: All computing kernels.
        small: Those that are short.
        small_ns: Time of the short ones.
        gap_ns: Time in which the device did nothing right before one of them, each gap cut.
        steps: Steps that these are of.
    """

    kernels: int
    small: int
    small_ns: int
    gap_ns: int
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
    activity = next((one for one in activities(facts.run.db) if one.profile_id == profile_id), None)
    if activity is None:
        return None
    counts = activity.kind == COMPUTE
    if any(scope == "step" and origin != "inferred" for scope, origin in _windows(activity)):
        counts &= activity.step_id != NO_STEP
    dur = activity.end - activity.start
    busy_until = np.maximum.accumulate(activity.end)
    gap = np.zeros(len(dur), np.int64)
    gap[1:] = np.maximum(activity.start[1:] - busy_until[:-1], 0)
    small = counts & (dur <= small_to_ns)
    if not counts.any():
        return None
    return SmallKernels(
        kernels=int(counts.sum()),
        small=int(small.sum()),
        small_ns=int(dur[small].sum()),
        gap_ns=round(float(np.minimum(gap[small], gap_to_ns).sum())),
        steps=step_count,
    )


def _windows(activity: Activity) -> Iterator[tuple[str, str | None]]:
    return zip(activity.windows.scope, activity.windows.origin, strict=True)


def launched_as_graph(facts: Facts, step: MedianStep) -> int:
    """Return how many computing kernels of a profile were launched as part of a captured graph."""
    rows = facts.table_rows(_OF_GRAPHS, _Count, profile_id=step.profile_id)
    return rows[0].kernels


class _Count(msgspec.Struct):
    kernels: int


_OF_GRAPHS: Final = f"""
    select count(*) as kernels
    from kernel
    join (select profile_id, host_call_id, name from host_call) call using (profile_id, host_call_id)
    where profile_id = $profile_id and kind in {COMPUTE_KINDS}
      and regexp_matches(call.name, 'GraphLaunch|ModelExecute|mdlExecute|mdlRIExecute', 'i')
      and (step_id is not null or profile_id not in (select profile_id from step where origin <> 'inferred'))
"""
