"""What is remembered of a run to compare it: plain figures, small enough to be kept in a history.

Nothing after `measure` needs the run itself but the replay of a candidate.
"""

from __future__ import annotations

from statistics import median
from typing import Final, Literal

import msgspec

__all__ = ["FIGURES_VERSION", "Collectives", "Parts", "Peak", "RunFigures", "Scope", "StepFigures", "Work"]

FIGURES_VERSION: Final = 1

Scope = Literal["step", "inferred step", "whole capture", "none"]


class StepFigures(msgspec.Struct, frozen=True, kw_only=True):
    """A steady step, ns: the length on its longest rank, and parts as sums over the ranks.

    The parts are null where no kernel was recorded; `window_ns` is the sum of the ranks' lengths.
    """

    session: int
    number: int
    dur_ns: int
    window_ns: int
    compute_ns: int | None = None
    exposed_comm_ns: int | None = None


class Parts(msgspec.Struct, frozen=True, kw_only=True):
    """All steady steps of all ranks together, ns: compute + exposed_comm + exposed_copy + free = window.

    `free` is the free time by its cause (A04); its sum is the free time.
    """

    window_count: int
    window_ns: int
    compute_ns: int
    exposed_comm_ns: int
    exposed_copy_ns: int
    free: dict[str, int]


class Work(msgspec.Struct, frozen=True, kw_only=True):
    """Kernels of one operator, shape and module in the steady steps of all ranks.

    Attributes:
        kind: compute (fused kernels included), communication or copy.
        op: Operator type; primitive of a collective, direction of a copy.
        shapes: Input shapes; null where not recorded.
        module: Module path; null where not recorded.
        operator: Framework operator that launched it; null where no link was recorded.
        calls: How often.
        total_ns: Sum of the durations; of communication and copies only what no compute (of copies: nor
            communication) ran beside.
    """

    kind: Literal["compute", "communication", "copy"]
    op: str
    shapes: str | None
    module: str | None
    operator: str | None
    calls: int
    total_ns: int


class Collectives(msgspec.Struct, frozen=True, kw_only=True):
    """Collectives of one primitive in the steady steps of all ranks, ns: sums over the calls.

    The parts are null where any call lacks them; `total_ns` is elapsed time, hidden or not.
    """

    op: str
    calls: int
    total_ns: int
    transit_ns: int | None
    wait_ns: int | None


class Peak(msgspec.Struct, frozen=True, kw_only=True):
    """The highest memory of any rank; `basis` says whether allocated or, where that is unknown, reserved memory."""

    peak_bytes: int
    basis: Literal["allocated", "reserved"]
    component: str


class RunFigures(msgspec.Struct, frozen=True, kw_only=True):
    """One run of one job.

    Attributes:
        version: Version of this record.
        name: How the run is called in what is said.
        tool_version: Version of ascend-sn that measured it.
        start_ns: Start of the capture; null where unknown.
        device_kinds: Kinds of its captures (npu, cuda, cpu, host, ...).
        device_names: Chips, where named.
        world_size: Ranks of the job as stated, null where nothing states it.
        ranks: Those that are here.
        profile_count: Captured processes.
        groups: Communicators as `kind size x count`, the structure of the job.
        silent_ranks: Ranks of an accelerator without any device record.
        damage_count: Entries of the damage ledger that lost something.
        scope: What `steps` are.
        all_step_count: Steps before the warm-up was taken out.
        steps: The steady steps by time; of a whole capture the capture as one.
        parts: Where they go; null without kernels.
        work: The kernels in them, the largest first.
        collectives: The collectives in them by primitive.
        has_shapes: Whether any kernel has shapes.
        has_modules: Whether any kernel has a module.
        epochs_ns: Length of each epoch (a start/stop session where several, or an epoch that the program named).
        peak: Highest memory; null where not collected.
        mfu_ratio: Share of the chips' peak that the model's operations use; null where not known.
    """

    version: int
    name: str
    tool_version: str
    start_ns: int | None
    device_kinds: list[str]
    device_names: list[str]
    world_size: int | None
    ranks: list[int]
    profile_count: int
    groups: list[str]
    silent_ranks: list[int | None]
    damage_count: int
    scope: Scope
    all_step_count: int
    steps: list[StepFigures]
    parts: Parts | None = None
    work: list[Work] = []
    collectives: list[Collectives] = []
    has_shapes: bool = False
    has_modules: bool = False
    epochs_ns: list[int] = []
    peak: Peak | None = None
    mfu_ratio: float | None = None

    @property
    def median_step_ns(self) -> float:
        """Median length of the steady steps, ns."""
        return float(median(step.dur_ns for step in self.steps))

    @property
    def size(self) -> int:
        """Ranks of the job: as stated, else as many as are here."""
        return self.world_size or max(len(self.ranks), self.profile_count)
