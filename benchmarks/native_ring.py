"""Cost of recording a span into the ring: nanoseconds per pair of begin and end, the caller's loop taken off."""

from __future__ import annotations

import statistics
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

from ascend_sn._native.ring import Ring

PAIRS = 20_000
ROUNDS = 25


def cost_ns(ring: Ring, work: Callable[[range], None]) -> tuple[float, float]:
    """Return the least and the median cost of one turn of `work`."""
    measured = []
    for _ in range(ROUNDS):
        began = time.thread_time_ns()
        work(range(PAIRS))
        measured.append((time.thread_time_ns() - began) / PAIRS)
        ring.drain()
    return min(measured), statistics.median(measured)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        numbers: dict[str, int] = {}
        ring = Ring.create(
            Path(folder) / "spans.ring", 1 << 16, number=lambda name: numbers.setdefault(name, len(numbers))
        )
        begin, end, append = ring.begin, ring.end, ring.append
        thread = threading.get_native_id()

        def nothing(turns: range) -> None:
            for _ in turns:
                pass

        def numbered(turns: range) -> None:
            for _ in turns:
                begin(7, 16)
                end(7)

        def named(turns: range) -> None:
            for _ in turns:
                begin("forward", 16)
                end("forward")

        def appended(turns: range) -> None:
            for _ in turns:
                append(16, thread, 7, 1_736_408_883_704_643_212, 1_000, -1, -1)

        def clock(turns: range) -> None:
            for _ in turns:
                time.perf_counter_ns()

        loop, _ = cost_ns(ring, nothing)
        print(f"{'':34} {'least ns':>9} {'median':>8} {'reach':>6}")
        for name, work, reach in (
            ("begin and end, name as a number", numbered, "250"),
            ("begin and end, name as a text", named, "250"),
            ("append of seven numbers", appended, "-"),
            ("(one reading of the clock)", clock, "-"),
        ):
            least, median = cost_ns(ring, work)
            print(f"{name:34} {least - loop:9.0f} {median - loop:8.0f} {reach:>6}")
        print(f"rows dropped: {ring.take_dropped()}")


if __name__ == "__main__":
    main()
