"""What recording costs the program, measured before each trace and written into it."""

from __future__ import annotations

from time import perf_counter_ns

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    class Marking(Protocol):
        """A profiler that records into a scratch buffer."""

        def start_op(self, name: str) -> None:
            """Open a span."""

        def stop_op(self, name: str) -> None:
            """Close it."""


__all__ = ["span_cost_ns"]

BATCHES = 9
PAIRS_PER_BATCH = 40


def span_cost_ns(profiler: Marking) -> int:
    """Return the nanoseconds of one start/stop pair: the median over a few batches (some 0.1 ms in all)."""
    costs = []
    for _ in range(BATCHES):
        begin_ns = perf_counter_ns()
        for _ in range(PAIRS_PER_BATCH):
            profiler.start_op("calibration")
            profiler.stop_op("calibration")
        costs.append((perf_counter_ns() - begin_ns) // PAIRS_PER_BATCH)
    return sorted(costs)[BATCHES // 2]
