"""What recording costs the program, measured before each trace and written into it."""

from __future__ import annotations

from time import perf_counter_ns

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["span_cost_ns"]

BATCHES = 9
PAIRS_PER_BATCH = 40


def span_cost_ns(start_op: Callable[[str], None], stop_op: Callable[[str], None]) -> int:
    """Return the nanoseconds of one start/stop pair: the median over a few batches (some 0.5 ms in all).

    Args:
        start_op: As of a profiler that records into a scratch buffer.
        stop_op: Its counterpart.
    """
    costs = []
    for _ in range(BATCHES):
        begin_ns = perf_counter_ns()
        for _ in range(PAIRS_PER_BATCH):
            start_op("calibration")
            stop_op("calibration")
        costs.append((perf_counter_ns() - begin_ns) // PAIRS_PER_BATCH)
    return sorted(costs)[BATCHES // 2]
