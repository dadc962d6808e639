"""What recording costs: spans beside torch's `record_function` and VizTracer, operators beside plain torch.profiler.

    python -m benchmarks.recording [--rounds N] [--only spans|operators|result]

Every side runs in a process of its own, in turn. CPU time counts. "Caller" is the thread that records, its loop
taken off; "all" is the whole process from before the first span until the result lies on the disk, divided by the
spans.
"""

from __future__ import annotations

import argparse
import statistics
from dataclasses import dataclass
from typing import Final

from benchmarks.measured import python, run_measured
from benchmarks.recording_operators import print_operator_overhead, print_stop_to_result

__all__ = ["SIDES", "Side", "span_costs"]

_TIMING: Final = """
import gc, json, os, sys, tempfile, time
COUNT = {count}
def loop():
    for _ in range(COUNT):
        pass
def cost(work):
    gc.collect()
    began = time.thread_time_ns(); loop(); middle = time.thread_time_ns(); work(); ended = time.thread_time_ns()
    return (ended - middle - (middle - began)) / COUNT
def size(path):
    return sum(os.path.getsize(os.path.join(at, name)) for at, _, names in os.walk(path) for name in names)
with tempfile.TemporaryDirectory() as folder:
{body}
    print(json.dumps({{"caller_ns": caller_ns, "all_ns": all_ns, "bytes": size(folder) / COUNT}}))
"""

_OURS: Final = """
    from ascend.profiler import Profiler
    profiler = Profiler(output_path=folder + "/run")
    profiler.start()
    def work():
        for _ in range(COUNT):
            profiler.start_op("work")
            profiler.stop_op("work")
    began = time.process_time_ns()
    caller_ns = cost(work)
    profiler.stop()
    all_ns = (time.process_time_ns() - began) / COUNT
    assert not profiler.fault_counts, profiler.fault_counts
"""
_OURS_IN_STEPS: Final = """
    from ascend.profiler import Profiler
    profiler = Profiler(output_path=folder + "/run")
    profiler.start()
    def work():
        for _ in range(COUNT // 1000):
            for _ in range(1000):
                profiler.start_op("work")
                profiler.stop_op("work")
            time.sleep(0.002)  # the program does something else
    began = time.process_time_ns()
    caller_ns = cost(work)
    profiler.stop()
    all_ns = (time.process_time_ns() - began) / COUNT
    assert not profiler.fault_counts, profiler.fault_counts
"""
_TORCH: Final = """
    import torch
    from torch.profiler import ProfilerActivity, profile, record_function
    def work():
        for _ in range(COUNT):
            with record_function("work"):
                pass
    with profile(activities=[ProfilerActivity.CPU]):  # what is loaded at the first use is no cost of a span
        pass
    one = profile(activities=[ProfilerActivity.CPU])
    one.start()
    began = time.process_time_ns()
    caller_ns = cost(work)
    one.stop()
    one.export_chrome_trace(folder + "/trace.json")
    all_ns = (time.process_time_ns() - began) / COUNT
"""
_VIZTRACER: Final = """
    from viztracer import VizTracer
    tracer = VizTracer(tracer_entries=COUNT + 1000, verbose=0, output_file=folder + "/trace.json")
    {define}
    tracer.start()
    began = time.process_time_ns()
    caller_ns = cost(work)
    tracer.stop()
    tracer.save()
    all_ns = (time.process_time_ns() - began) / COUNT
"""
_LOG_EVENT: Final = """
    def work():
        for _ in range(COUNT):
            with tracer.log_event("work"):
                pass
"""
_CALLS: Final = """
    def traced():
        pass
    def work():
        for _ in range(COUNT):
            traced()
"""


@dataclass(frozen=True)
class Side:
    """One way to record a span; `count` spans a process, `reach` the least ratio to ours."""

    name: str
    body: str
    count: int
    reach: float | None = None


SIDES: Final = (
    Side("ascend-sn, as fast as it goes", _OURS, 200_000),
    Side("ascend-sn, 1000 a step", _OURS_IN_STEPS, 200_000),
    Side("torch record_function", _TORCH, 50_000, 30),
    Side("VizTracer log_event", _VIZTRACER.format(define=_LOG_EVENT.strip()), 200_000, 20),
    Side("VizTracer, a function call", _VIZTRACER.format(define=_CALLS.strip()), 200_000, 20),
)


def span_costs(rounds: int) -> list[tuple[Side, float, float, float]]:
    """Return for each side the medians: ns of the caller, ns of all, bytes on the disk, each by span."""
    found: dict[str, list[dict[str, float]]] = {side.name: [] for side in SIDES}
    for _ in range(rounds):
        for side in SIDES:
            code = _TIMING.format(count=side.count, body=side.body)
            found[side.name].append(run_measured(python(code)).said)
    medians = {
        name: {key: statistics.median(one[key] for one in said) for key in said[0]} for name, said in found.items()
    }
    return [
        (side, medians[side.name]["caller_ns"], medians[side.name]["all_ns"], medians[side.name]["bytes"])
        for side in SIDES
    ]


def print_span_costs(rounds: int) -> None:
    """Print a row for each side, with its ratio to ours."""
    costs = span_costs(rounds)
    ours = costs[0]
    print("| one span | caller ns | all ns | bytes | caller / ours | all / ours | reach |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    for side, caller_ns, all_ns, size in costs:
        reach = f">= {side.reach:g}" if side.reach else "<= 250 ns"
        print(
            f"| {side.name} | {caller_ns:.0f} | {all_ns:.0f} | {size:.0f} "
            f"| {caller_ns / ours[1]:.1f} | {all_ns / ours[2]:.1f} | {reach} |",
            flush=True,
        )


def main() -> None:
    options = argparse.ArgumentParser(description="What recording costs.")
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--only", choices=("spans", "operators", "result"), action="append")
    chosen = options.parse_args()
    only = chosen.only or ["spans", "operators", "result"]
    if "spans" in only:
        print_span_costs(chosen.rounds)
    if "operators" in only:
        print_operator_overhead()
    if "result" in only:
        print_stop_to_result(chosen.rounds)


if __name__ == "__main__":
    main()
