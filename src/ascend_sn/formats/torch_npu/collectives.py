"""Rows of collectives out of communication operators and the parts that were recorded of them."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from ascend_sn.formats.torch_npu.communication_parts import OpParts, TaskParts
from ascend_sn.formats.torch_npu.groups import dtype_bytes, parse_op_name
from ascend_sn.formats.torch_npu.limits import whole
from ascend_sn.model.rows import Int64, Nullable, Rows, Text, concatenate, conform
from ascend_sn.model.tables import COLLECTIVE, LINK

__all__ = ["CommOps", "assemble_collectives"]

_NEAR_NS = 2_000
"""Start times in communication.json are rounded to a quarter of a microsecond."""


class CommOps(msgspec.Struct, frozen=True, eq=False):
    """Communication operators as a source records them, in file order.

    Attributes:
        name: Name without a hash.
        ts: Start in nanoseconds.
        dur: Length in nanoseconds.
        kernel_id: Kernel row of each.
        group: Group hash where the source itself names the group.
        count: Elements.
        dtype: Type of the elements.
    """

    name: Text
    ts: Int64
    dur: Int64
    kernel_id: Nullable
    group: Text
    count: Nullable
    dtype: Text


def assemble_collectives(
    ops: CommOps, parts: Sequence[OpParts], tasks: TaskParts | None, known_groups: Sequence[str]
) -> tuple[Rows, Rows]:
    """Return the rows of `collective` and, per collective and transport, of `link`.

    Args:
        ops: What ran.
        parts: What the exporter recorded of them; entries without an operator become rows of their own.
        tasks: Parts from plane tasks, used where the exporter recorded none; index = operator.
        known_groups: Hashes of the communicators of this rank, to complete the digits in a name.
    """
    names = ops.name.decode()
    matched, unmatched = _match(names, ops.ts.tolist(), parts)
    builder = _Builder(known_groups)
    groups, counts, dtypes = ops.group.decode(), _optional(ops.count), ops.dtype.decode()
    kernels = _optional(ops.kernel_id)
    for i, name in enumerate(names):
        recorded = matched.get(i)
        timing = _timing(recorded, tasks, i, int(ops.dur[i]))
        builder.add(name or "", kernels[i], int(ops.ts[i]), int(ops.dur[i]), groups[i], counts[i], dtypes[i], timing)
        if recorded is not None:
            builder.add_traffic(recorded)
    for recorded in unmatched:
        timing = _timing(recorded, None, 0, recorded.dur_ns)
        builder.add(recorded.name, None, recorded.start_ns, recorded.dur_ns, recorded.group_hash, None, None, timing)
        builder.add_traffic(recorded)
    return builder.rows()


class _Timing(msgspec.Struct, frozen=True):
    transit: int | None = None
    wait: int | None = None
    sync: int | None = None
    idle: int | None = None
    group: str | None = None


class _Builder:
    """Collects collectives one by one; there are few against the kernels."""

    def __init__(self, known_groups: Sequence[str]) -> None:
        self._known_groups = known_groups
        self._columns: list[tuple[object, ...]] = []
        self._links: list[tuple[object, ...]] = []

    def add(
        self,
        name: str,
        kernel_id: int | None,
        ts: int,
        dur: int,
        group: str | None,
        count: int | None,
        dtype: str | None,
        timing: _Timing,
    ) -> None:
        parsed = parse_op_name(name)
        group = group or timing.group or self._completed(parsed.digits)
        width = None if dtype is None else dtype_bytes(dtype)
        size = None if count is None or width is None else whole(count * width)
        method = None if timing.transit is None and timing.wait is None else "recorded"
        self._columns.append(
            (
                *(kernel_id, parsed.op, name, group, parsed.index, size, dtype, ts, dur),
                *(timing.wait, timing.sync, timing.transit, timing.idle, method),
            )
        )

    def add_traffic(self, parts: OpParts) -> None:
        collective_id = len(self._columns) - 1
        group, op = self._columns[-1][3], self._columns[-1][1]
        for traffic in parts.traffic:
            bandwidth = traffic.size_bytes / traffic.dur_ns * 1e9 if traffic.dur_ns > 0 else None
            self._links.append(
                (
                    parts.step,
                    collective_id,
                    group,
                    op,
                    traffic.transport,
                    traffic.size_bytes,
                    traffic.dur_ns,
                    bandwidth,
                )
            )

    def rows(self) -> tuple[Rows, Rows]:
        names = (
            *("kernel_id", "op", "name", "group_id", "sequence", "size_bytes", "dtype", "ts_ns", "dur_ns"),
            *("wait_ns", "sync_ns", "transit_ns", "idle_ns", "method"),
        )
        length = len(self._columns)
        columns = {name: [row[i] for row in self._columns] for i, name in enumerate(names)}
        link_names = (
            *("step", "collective_id", "group_id", "op", "transport", "size_bytes", "dur_ns"),
            "bandwidth_bytes_per_s",
        )
        links = {name: [row[i] for row in self._links] for i, name in enumerate(link_names)}
        return (
            conform(COLLECTIVE, length, collective_id=np.arange(length, dtype=np.int64), **columns),
            conform(LINK, len(self._links), **links) if self._links else concatenate(LINK, []),
        )

    def _completed(self, digits: str | None) -> str | None:
        """A name has only the last digits of its group's hash; they are completed when that is unambiguous."""
        if digits is None:
            return None
        fitting = [group for group in self._known_groups if group.endswith(digits)]
        return fitting[0] if len(fitting) == 1 else f"*{digits}"


def _match(
    names: Sequence[str | None], starts: Sequence[int], parts: Sequence[OpParts]
) -> tuple[dict[int, OpParts], list[OpParts]]:
    """Pair operators and recorded parts by name; where a name repeats, by the nearest start."""
    by_name: dict[str, list[OpParts]] = {}
    for part in parts:
        by_name.setdefault(part.name, []).append(part)
    seen: dict[str, int] = {}
    for name in names:
        if name is not None:
            seen[name] = seen.get(name, 0) + 1
    matched: dict[int, OpParts] = {}
    for i, name in enumerate(names):
        candidates = by_name.get(name or "", [])
        if not candidates:
            continue
        best = min(candidates, key=lambda part: abs(part.start_ns - starts[i]))
        unique = len(candidates) == 1 and seen[name or ""] == 1
        if unique or abs(best.start_ns - starts[i]) <= _NEAR_NS:
            matched[i] = best
            candidates.remove(best)
    return matched, [part for candidates in by_name.values() for part in candidates]


def _timing(parts: OpParts | None, tasks: TaskParts | None, index: int, dur: int) -> _Timing:
    if parts is not None:
        moved = sum(traffic.dur_ns for traffic in parts.traffic)
        # The master plane may have moved nothing while others did: their time, at most what is not waiting.
        transit = parts.transit_ns if parts.transit_ns > 0 or moved == 0 else min(moved, max(dur - parts.wait_ns, 0))
        return _Timing(transit, parts.wait_ns, parts.sync_ns, _idle(dur, transit, parts.wait_ns), parts.group_hash)
    if tasks is not None and bool(tasks.known[index]):
        transit, wait = int(tasks.transit_ns[index]), int(tasks.wait_ns[index])
        return _Timing(transit, wait, int(tasks.sync_ns[index]), _idle(dur, transit, wait))
    return _Timing()


def _idle(dur: int, transit: int, wait: int) -> int:
    return max(dur - transit - wait, 0)


def _optional(numbers: Nullable) -> list[int | None]:
    pairs = zip(numbers.values.tolist(), numbers.valid.tolist(), strict=True)
    return [value if ok else None for value, ok in pairs]
