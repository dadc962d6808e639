"""Operators recorded by us beside plain torch.profiler on a training step; and how soon they can be read.

Pairs of blocks of steps, with and without, in an order that changes; process CPU time, writing included, without
the start and the stop of the profilers. The figure is the median of the pairs' ratios, the bound the one-sided 95 %
bound of that median by order statistics, which asks nothing of the distribution of the noise.
"""

from __future__ import annotations

import json
import statistics
import tempfile
from math import comb
from typing import Final

from benchmarks.measured import python, run_measured

__all__ = ["print_operator_overhead", "print_stop_to_result"]

_NETWORK: Final = """
import json, sys, time
import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile
from ascend.profiler import Profiler
torch.set_num_threads(1)
torch.manual_seed(1)
layer = nn.TransformerEncoderLayer(64, 4, 128, dropout=0.0, batch_first=True)
model = nn.Sequential(nn.Linear(32, 64), nn.TransformerEncoder(layer, 2, enable_nested_tensor=False), nn.Linear(64, 10))
optimizer = torch.optim.AdamW(model.parameters())
inputs, labels = torch.randn(8, 32, 32), torch.randint(0, 10, (8 * 32,))
def step():
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(inputs).flatten(0, 1), labels)
    loss.backward()
    optimizer.step()
def block(count, after=None):
    for turn in range(count + 1):
        if turn == 1:  # what came before the first step has taken the caches
            began = time.process_time_ns()
        step()
        if after is not None:
            after()
    return (time.process_time_ns() - began) / count
block(20)
"""
_PAIRS: Final = (
    _NETWORK
    + """
import tempfile
kind, pairs, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
def plain():
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as one:
        return block(count, one.step)
def ours(folder):
    one = Profiler(output_path=folder, backend="torch")
    one.start()
    taken = block(count, one.step)
    one.stop()
    assert not one.fault_counts, one.fault_counts
    return taken
def marked(folder):
    one = Profiler(output_path=folder, backend="host")
    one.start()
    for name, module in model.named_modules():
        module.forward = in_span(one, name or "model", module.forward)
    taken = block(count, one.step)
    for module in model.modules():
        del module.forward
    one.stop()
    assert not one.fault_counts, one.fault_counts
    return taken
def in_span(one, name, forward):
    def spanned(*inputs, **named):
        one.start_op(name)
        try:
            return forward(*inputs, **named)
        finally:
            one.stop_op(name)
    return spanned
with tempfile.TemporaryDirectory() as folder:
    with_it = {"operators": ours, "modules": marked, "noise": lambda _: block(count)}[kind]
    without = plain if kind == "operators" else lambda: block(count)
    with_it(folder), without()
    found = []
    for pair in range(pairs):
        if pair % 2:
            b, a = with_it(folder), without()
        else:
            a, b = without(), with_it(folder)
        found.append((a, b))
print(json.dumps(found))
"""
)
_RESULT: Final = (
    _NETWORK
    + """
import os
from ascend_sn.collect.backends.kineto_rows import read_window
from ascend_sn.collect.config import ProfilerConfig
from ascend_sn.collect.names import NameTable
way, folder, shapes = sys.argv[1], sys.argv[2], sys.argv[3] == "shapes"
path = os.path.join(folder, "window.json")
if way == "ours":
    one = Profiler(output_path=os.path.join(folder, "run"), backend="torch", trace_level=2 if shapes else 1)
    one.start()
    block(100, one.step)
    began, clock = time.process_time_ns(), time.perf_counter_ns()
    one.stop()
    stopped, stopped_clock = time.process_time_ns(), time.perf_counter_ns()
    import ascend_sn
    run = ascend_sn.open(one.output_folder)
    (count,) = run.sql("select count(*) from operator").fetchall()[0]
    print(json.dumps({"stop_ns": stopped - began, "open_ns": time.process_time_ns() - stopped, "count": count,
        "stop_s": (stopped_clock - clock) / 1e9, "open_s": (time.perf_counter_ns() - stopped_clock) / 1e9}))
else:
    one = profile(activities=[ProfilerActivity.CPU], record_shapes=shapes)
    one.start()
    block(100)
    began = time.process_time_ns()
    one.stop()
    stop_ns = time.process_time_ns() - began
    began = time.process_time_ns()
    if way == "export":
        one.export_chrome_trace(path)
        exported = time.process_time_ns()
        window = read_window(path, NameTable(), ProfilerConfig())
        count = sum(len(part[0]) for part in window.parts)
        print(json.dumps({"export_ns": exported - began, "scan_ns": time.process_time_ns() - exported,
            "stop_ns": stop_ns, "count": count}))
    else:
        columns = [[] for _ in range(8)]
        for event in one.profiler.kineto_results.events():
            cells = (event.name(), event.start_ns(), event.duration_ns(), event.start_thread_id(),
                     event.correlation_id(), event.sequence_nr(), str(event.shapes()), str(event.dtypes()))
            for column, cell in zip(columns, cells):
                column.append(cell)
        print(json.dumps({"raw_ns": time.process_time_ns() - began, "count": len(columns[0])}))
"""
)


def print_operator_overhead(pairs: int = 100) -> None:
    """Print the extra cost of operators against plain torch.profiler, of marked modules and of nothing at all."""
    print("| a training step | without ms | with ms | extra % (median of pairs) | upper 95 % bound | reach |")
    print("|---|---:|---:|---:|---:|---:|")
    for kind, count, what, reach in (  # steps a block: few of those whose results torch.profiler has to build
        ("operators", 4, "all operators with shapes, beside plain torch.profiler", "<= 5 %"),
        ("modules", 12, "a span around every module, beside nothing", "<= 5 %"),
        ("noise", 12, "nothing beside nothing", ""),
    ):
        found: list[tuple[float, float]] = run_measured([*python(_PAIRS), kind, str(pairs), str(count)]).said
        ratios = sorted(b / a - 1 for a, b in found)
        extra, bound = statistics.median(ratios), ratios[_upper_place(len(ratios))]
        without, with_it = (statistics.median(side) / 1e6 for side in zip(*found, strict=True))
        print(
            f"| {what} | {without:.2f} | {with_it:.2f} | {extra * 100:+.1f} | {bound * 100:+.1f} | {reach} |",
            flush=True,
        )


def _upper_place(count: int) -> int:
    """Return the place, among sorted values, that lies above the true median with 95 % probability."""
    place = next(k for k in range(count) if sum(comb(count, j) for j in range(k, count + 1)) <= 0.05 * 2**count)
    return place - 1


def print_stop_to_result(rounds: int) -> None:
    """Print what a recorded operator costs after the stop: by the export and the scanner, by the raw results, by us."""
    sides = [(way, shapes) for shapes in ("shapes", "no shapes") for way in ("export", "raw", "ours")]
    found: dict[tuple[str, str], list[dict[str, float]]] = {side: [] for side in sides}
    for _ in range(rounds):
        for way, shapes in sides:
            with tempfile.TemporaryDirectory() as folder:
                found[way, shapes].append(run_measured([*python(_RESULT), way, folder, shapes]).said)

    def us(way: str, shapes: str, key: str) -> str:
        return f"{statistics.median(one[key] / one['count'] for one in found[way, shapes]) / 1e3:.1f}"

    print("| CPU us an operator | with shapes | without |")
    print("|---|---:|---:|")
    for way, what, keys in (
        ("export", "PyTorch's own stop", ("stop_ns",)),
        ("export", "`export_chrome_trace`, then the native scanner", ("export_ns", "scan_ns")),
        ("raw", "PyTorch's raw results to the same columns", ("raw_ns",)),
        ("ours", "`Profiler.stop()`, all of it", ("stop_ns",)),
        ("ours", "`ascend_sn.open()`: tables", ("open_ns",)),
    ):
        shown = (" + ".join(us(way, shapes, key) for key in keys) for shapes in ("shapes", "no shapes"))
        print(f"| {what} | {' | '.join(shown)} |")
    elapsed = [statistics.median(one[key] for one in found["ours", "shapes"]) for key in ("stop_s", "open_s")]
    print(json.dumps({"elapsed s of stop": round(elapsed[0], 3), "of open": round(elapsed[1], 3)}))


if __name__ == "__main__":
    print_operator_overhead()
    print_stop_to_result(3)
