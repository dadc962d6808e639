"""Until the compiled longest path is there, a plain one stands in for it."""

from __future__ import annotations

import importlib.util
import sys
import types

import numpy as np


def _longest_path(dur, src, dst, weight):  # type: ignore[no-untyped-def]
    order = np.argsort(dst, kind="stable")
    n = len(dur)
    start = np.zeros(n, np.int64)
    end = np.zeros(n, np.int64)
    before = np.full(n, -1, np.int64)
    s, d, w = src[order].tolist(), dst[order].tolist(), weight[order].tolist()
    durs = dur.tolist()
    starts, ends, befores = [0] * n, [0] * n, [-1] * n
    at = 0
    for v in range(n):
        best = None
        while at < len(d) and d[at] == v:
            t = ends[s[at]] + w[at]
            if best is None or t > best:
                best, befores[v] = t, s[at]
            at += 1
        starts[v] = best or 0
        ends[v] = starts[v] + durs[v]
    return np.array(starts, np.int64), np.array(ends, np.int64), np.array(befores, np.int64)


if importlib.util.find_spec("ascend_sn._native.dag") is None:
    stand_in = types.ModuleType("ascend_sn._native.dag")
    stand_in.longest_path = _longest_path  # type: ignore[attr-defined]
    sys.modules["ascend_sn._native.dag"] = stand_in
