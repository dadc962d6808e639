"""Host rows that the text and the database export have in common: steps, queue arrows, words."""

from __future__ import annotations

import re
from typing import Final

import numpy as np

from ascend_sn.formats.torch_npu.matching import lookup
from ascend_sn.model.rows import Int64, Nullable, Rows, Text, conform
from ascend_sn.model.tables import FLOW, STEP

__all__ = [
    "LEVELS",
    "frames_of",
    "is_step",
    "item_list",
    "launch_count",
    "queue_flows",
    "step_number_of",
    "step_rows",
]

LEVELS: Final[dict[str, str]] = {
    "hccl": "communication",
    "HCCL": "communication",
    "Hccl": "communication",
    "AscendCL": "acl",
    "Node": "node",
    "Model": "model",
    "Runtime": "runtime",
}
"""The source's word for the level of a host call, where it is not ours."""

_STEP = re.compile(r"^ProfilerStep#(\d+)$")
_SEPARATOR = re.compile(r";\r?\n")


def is_step(name: str) -> bool:
    """Whether an operator is the mark of a step."""
    return _STEP.match(name) is not None


def step_number_of(name: str) -> int | None:
    """Return N of `ProfilerStep#N`."""
    found = _STEP.match(name)
    return int(found[1]) if found and len(found[1]) < 19 else None


def item_list(text: str) -> str | None:
    """Return a list of shapes or types, one tensor behind the other by ';'; None when there is none."""
    return _SEPARATOR.sub(";", text) if text and text != "N/A" else None


def frames_of(text: str) -> str | None:
    """Return a call stack by line feeds, innermost first; None when there is none."""
    return _SEPARATOR.sub("\n", text) if text else None


def step_rows(number: Nullable, ts: Int64, dur: Int64, origin: str = "mark") -> Rows:
    """Return the rows of `step` in time order; windows of the host between marks."""
    order = np.argsort(ts, kind="stable")
    return conform(
        STEP,
        len(ts),
        step_id=np.arange(len(ts), dtype=np.int64),
        step=Nullable(number.values[order], number.valid[order]),
        session=0,
        ts_ns=ts[order],
        dur_ns=dur[order],
        origin=origin,
    )


def queue_flows(names: Text, keys: Nullable) -> Rows:
    """Return arrows from each Enqueue to the Dequeue of the same correlation; position = host_call_id."""
    is_enqueue = names.where(lambda name: name.startswith("Enqueue"))
    enqueued = np.flatnonzero(is_enqueue & keys.valid)
    dequeued = np.flatnonzero(~is_enqueue & keys.valid)
    origin = lookup(keys.values[enqueued], keys.values[dequeued])
    paired = origin >= 0
    return conform(
        FLOW,
        int(paired.sum()),
        src_table="host_call",
        src_id=enqueued[origin[paired]],
        dst_table="host_call",
        dst_id=dequeued[paired],
        kind="queue",
    )


def launch_count(calls: Rows) -> int:
    """Return how many host calls launch device work: node launches, else operator calls of AscendCL."""
    nodes = int(calls.text("level").matches(["node"]).sum())
    if nodes:
        return nodes
    of_operators = calls.text("name").where(
        lambda name: name.startswith(("aclnn", "aclop", "hcom_")) or "Launch" in name
    )
    return int((calls.text("level").matches(["acl", "runtime"]) & of_operators).sum())
