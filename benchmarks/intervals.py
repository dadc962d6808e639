"""Interval sets, nesting and the longest path beside HolisticTraceAnalysis and networkx, on the same numbers.

    python -m benchmarks.intervals [--rounds N]

The peers' own functions run on the smallest table that they accept; the making of the numbers is not counted.
"""

from __future__ import annotations

import argparse
from typing import Final

from benchmarks.compared import Comparison, Side, compare

__all__ = ["comparisons"]

KERNELS: Final = """
import json, sys, time
import numpy as np
dice, count = np.random.default_rng(3), {count}
ts = np.cumsum(dice.integers(1, 2_000, count))
dur = dice.integers(1, 1_500, count)
kind = (dice.random(count) < 0.3).astype(np.uint8)
"""
SAID: Final = """
print(json.dumps({"cpu_s": time.process_time() - began, "found": found}))
"""
IDLE: Final = """
from ascend_sn._native.intervals import union_length
began = time.process_time()
end = ts + dur
found = int(end.max() - ts.min()) - union_length(ts, end)
"""
HTA_IDLE: Final = """
import pandas as pd
from hta.analyzers.breakdown_analysis import BreakdownAnalysis
frame = pd.DataFrame({{"ts": ts, "dur": dur}})
began = time.process_time()
found = int(BreakdownAnalysis._get_idle_time_for_kernels(frame)[0])
"""
OVERLAP: Final = """
from ascend_sn._native.intervals import sweep
began = time.process_time()
end = ts + dur
swept = sweep(ts, end, kind, 2, int(ts.min()), int(end.max()))
found = round(100 * float(swept[3] / (swept[2] + swept[3])), 2)
"""
HTA_OVERLAP: Final = """
import pandas as pd
from types import SimpleNamespace
from hta.analyzers.communication_analysis import CommunicationAnalysis
table = SimpleNamespace(get_sym_table=lambda: ["gemm", "ncclKernel_AllReduce"])
frame = pd.DataFrame({{"ts": ts, "dur": dur, "name": kind, "stream": 7}})
trace = SimpleNamespace(symbol_table=table, traces={{0: frame}})
began = time.process_time()
result = CommunicationAnalysis.get_comm_comp_overlap(trace, visualize=False)
found = float(result["comp_comm_overlap_pctg"].iloc[0])
"""
NESTED: Final = """
import json, time
import numpy as np
count = {count}
level, root = np.arange(count) % 8, np.arange(count) // 8 * 10_000
ts, dur = root + level * 10, 9_000 - level * 1_000
"""
NEST: Final = """
from ascend_sn._native.nesting import nest
began = time.process_time()
nested = nest(np.zeros(count, np.int32), ts, dur)
found = int(nested.depth.sum())
"""
HTA_NEST: Final = """
import pandas as pd
from hta.common.call_stack import CallStackGraph, CallStackIdentity
frame = pd.DataFrame({{"index": np.arange(count), "ts": ts, "dur": dur, "stream": -1, "index_correlation": 0}})
began = time.process_time()
graph = CallStackGraph(frame, CallStackIdentity(0, 1, 1))
found = int(sum(graph.depth.loc[index] for index in range(count)))
"""
GRAPH: Final = """
import json, time
import numpy as np
dice, count = np.random.default_rng(1), {count}
durs, node = dice.integers(1, 1_000, count), np.arange(1, count)
launched = np.maximum(node - dice.integers(1, 50_000, count - 1), 0)
src, dst = np.concatenate([node - 1, launched]), np.concatenate([node, node])
weight = dice.integers(0, 500, len(src))
order = np.argsort(dst, kind="stable")
src, dst, weight = src[order], dst[order], weight[order]
"""
PATH: Final = """
from ascend_sn._native.dag import longest_path
began = time.process_time()
path = longest_path(durs, src, dst, weight)
found = int(path.end.max())
"""
NETWORKX_PATH: Final = """
import networkx as nx
graph = nx.DiGraph()
for a, b, w in zip(src.tolist(), dst.tolist(), (weight + durs[dst]).tolist()):
    graph.add_edge(a, b, weight=max(w, graph.edges[a, b]["weight"]) if graph.has_edge(a, b) else w)
began = time.process_time()
found = int(nx.dag_longest_path_length(graph) + durs[0])
"""


def comparisons() -> list[Comparison]:
    """Return the comparisons; peers that take minutes at the size of the plan get a smaller one."""
    many, some, few = 10_000_000, 1_000_000, 200_000
    return [
        _comparison("idle time of 10 M kernels", KERNELS, many, IDLE, "HTA", HTA_IDLE, 15),
        _comparison("overlap ratio of 1 M kernels", KERNELS, some, OVERLAP, "HTA", HTA_OVERLAP, 15),
        _comparison("parent and depth of 200 k slices", NESTED, few, NEST, "HTA", HTA_NEST, None),
        _comparison("longest path over 200 k nodes", GRAPH, few, PATH, "networkx", NETWORKX_PATH, None),
    ]


def _comparison(
    what: str,
    numbers: str,
    count: int,
    own: str,
    peer: str,
    theirs: str,
    reach: float | None,
) -> Comparison:
    made = numbers.format(count=count)
    ours, other = (
        Side("ascend-sn", made + own + SAID),
        Side(peer, made + theirs.replace("{{", "{").replace("}}", "}") + SAID),
    )
    return Comparison(what, ours, [other], reach)


def main() -> None:
    options = argparse.ArgumentParser(description="Intervals, nesting and the longest path beside peers.")
    options.add_argument("--rounds", type=int, default=3)
    compare(comparisons(), options.parse_args().rounds)


if __name__ == "__main__":
    main()
