"""What either export of a run gives: tables, and what it says about the process."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from ascend_sn.formats.torch_npu.coverage import Delivery
from ascend_sn.formats.torch_npu.groups import group_hash, group_kind
from ascend_sn.formats.torch_npu.layout import RunInfo
from ascend_sn.formats.torch_npu.limits import rank_of
from ascend_sn.formats.torch_npu.links import LinkEntry
from ascend_sn.model.rows import Int64, Rows

__all__ = ["Export", "first_device", "highest_places", "named_groups", "own_places"]


@dataclass(frozen=True)
class Export:
    """Tables of one capture and the identity as far as the export tells it.

    `metadata` is what the database repeats of `profiler_metadata.json`.
    """

    read_from: Literal["db", "text"]
    tables: dict[str, Rows]
    delivery: Delivery
    host: str | None = None
    pid: int | None = None
    rank: int | None = None
    start_ns: int | None = None
    device_id: int | None = None
    device_name: str | None = None
    versions: dict[str, str] = field(default_factory=dict)
    metadata: dict[str, Any] = field(default_factory=dict)


def named_groups(info: RunInfo) -> Mapping[str, tuple[str | None, Sequence[int]]]:
    """Return kind and global ranks of each communicator in the metadata, by group hash."""
    groups: dict[str, tuple[str | None, Sequence[int]]] = {}
    for key, group in info.groups.items():
        ranks = group.get("global_ranks")
        if isinstance(ranks, list) and all(rank_of(rank) is not None for rank in ranks):
            groups[group_hash(key)] = (group_kind(str(group.get("group_name", ""))), ranks)
    return groups


def first_device(kernels: Rows) -> int | None:
    """Return the device most kernels ran on; None when no row names one."""
    devices = kernels.values("device_id")[kernels.valid("device_id")]
    if not len(devices):
        return None
    found, counts = np.unique(devices, return_counts=True)
    return int(found[counts.argmax()])


def own_places(collectives: Rows, comm_tasks: Rows, links: Sequence[LinkEntry]) -> dict[str, int]:
    """Return this rank's place in each group: the source of its own plane tasks, else of its own links."""
    sources: dict[str, set[int]] = {}
    for entry in links:
        sources.setdefault(entry.group_hash, set()).add(entry.src)
    places = {group: next(iter(of_group)) for group, of_group in sources.items() if len(of_group) == 1}
    for group, src, _ in _pairs(collectives, comm_tasks):
        if len(src):
            numbers, counts = np.unique(src, return_counts=True)
            places[group] = int(numbers[counts.argmax()])
    return places


def highest_places(collectives: Rows, comm_tasks: Rows, links: Sequence[LinkEntry]) -> dict[str, int]:
    """Return the highest place seen in each group: its size is at least one more."""
    highest: dict[str, int] = {}
    for group, src, dst in _pairs(collectives, comm_tasks):
        places = np.concatenate([src, dst])
        if len(places):
            highest[group] = int(places.max())
    for entry in links:
        highest[entry.group_hash] = max(highest.get(entry.group_hash, 0), entry.src, entry.dst)
    return highest


def _pairs(collectives: Rows, comm_tasks: Rows) -> Iterator[tuple[str, Int64, Int64]]:
    """Sources and targets of the plane tasks of each group."""
    groups = collectives.text("group_id")
    of_task = groups.codes[comm_tasks.values("collective_id")] if len(comm_tasks) else np.zeros(0, np.int32)
    src, dst = comm_tasks.values("src_rank"), comm_tasks.values("dst_rank")
    with_src, with_dst = comm_tasks.valid("src_rank"), comm_tasks.valid("dst_rank")
    for code, group in enumerate(groups.values):
        mine = of_task == code
        yield group, src[mine & with_src].astype(np.int64), dst[mine & with_dst].astype(np.int64)
