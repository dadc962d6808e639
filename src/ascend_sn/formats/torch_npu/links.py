"""Traffic between ranks: from communication_matrix.json or from analysis.db."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from ascend_sn.formats.sqlite_columns import Database
from ascend_sn.formats.torch_npu.communication_parts import TOTAL, json_steps, scaled, step_number
from ascend_sn.formats.torch_npu.groups import op_of
from ascend_sn.formats.torch_npu.limits import rank_of
from ascend_sn.model.ledger import Ledger
from ascend_sn.model.rows import Rows, conform
from ascend_sn.model.tables import COMM_GROUP_MEMBER, LINK
from ascend_sn.model.units import BYTES_PER_MB, NS_PER_MS

__all__ = ["LinkEntry", "collect_links", "group_members", "link_rows", "links_from_database", "links_from_json"]

_STATS = frozenset({"top1", "middle", "bottom1", "bottom2", "bottom3", "total"})


class LinkEntry(msgspec.Struct, frozen=True):
    """One pair of one operation type and step; ranks are places inside the group."""

    step: int | None
    group_hash: str
    op: str
    src: int
    dst: int
    transport: str
    size_bytes: int
    dur_ns: int


def links_from_json(path: Path, file: str, ledger: Ledger) -> list[LinkEntry]:
    """Read communication_matrix.json: the rows `total` of each operation type."""
    entries: list[LinkEntry] = []
    unreadable: list[str] = []
    for step, kind in json_steps(path, file, ledger):
        rows = [
            (key, pair, link, link.get("Op Name"))
            for key, pairs in kind.items()
            if isinstance(pairs, dict) and not key.startswith(TOTAL)
            for pair, link in pairs.items()
            if isinstance(link, dict)
        ]
        collect_links(
            entries,
            unreadable,
            (
                (
                    *(step, *key.partition("@")[::2], *pair.partition("-")[::2], link.get("Transport Type")),
                    *(link.get("Transit Size(MB)"), link.get("Transit Time(ms)"), op_name),
                )
                for key, pair, link, op_name in rows
            ),
        )
    if unreadable:
        ledger.add(file, "unreadable_entry", count=len(unreadable), example=unreadable[0])
    return entries


def links_from_database(database: Database, table: str = "CommAnalyzerMatrix") -> list[LinkEntry]:
    """Read the matrix of analysis.db, or another table of its columns."""
    entries: list[LinkEntry] = []
    unreadable: list[str] = []
    columns = database.read(
        table,
        "step",
        "hccl_op_name",
        "group_name",
        "src_rank",
        "dst_rank",
        "transport_type",
        "transit_size",
        "transit_time",
        "op_name",
    )
    steps = [step_number(str(step)) for step in columns.pop("step")]
    collect_links(entries, unreadable, zip(steps, *columns.values(), strict=True))
    if unreadable:
        place = f"table {table}"
        database.ledger.add(
            database.file, "unreadable_entry", place=place, count=len(unreadable), example=unreadable[0]
        )
    return entries


def link_rows(entries: Sequence[LinkEntry], members: Mapping[str, Sequence[int]]) -> Rows:
    """Return the rows of `link`; ranks are global where the group's members are known (`members` by hash)."""
    known = [members.get(entry.group_hash) for entry in entries]
    placed = [
        group is not None and entry.src < len(group) and entry.dst < len(group)
        for entry, group in zip(entries, known, strict=True)
    ]
    pairs = [
        (group[entry.src], group[entry.dst]) if ok and group is not None else (entry.src, entry.dst)
        for entry, group, ok in zip(entries, known, placed, strict=True)
    ]
    return conform(
        LINK,
        len(entries),
        step=[entry.step for entry in entries],
        group_id=[entry.group_hash for entry in entries],
        op=[entry.op for entry in entries],
        src_rank=[pair[0] for pair in pairs],
        dst_rank=[pair[1] for pair in pairs],
        rank_scope=["global" if ok else "group" for ok in placed],
        transport=[entry.transport for entry in entries],
        size_bytes=[entry.size_bytes for entry in entries],
        dur_ns=[entry.dur_ns for entry in entries],
        bandwidth_bytes_per_s=[
            entry.size_bytes / entry.dur_ns * 1e9 if entry.dur_ns > 0 else None for entry in entries
        ],
    )


def group_members(
    named: Mapping[str, tuple[str | None, Sequence[int]]],
    highest: Mapping[str, int],
    own: Mapping[str, int],
    rank: int | None,
) -> Rows:
    """Return the rows of `comm_group_member`.

    Args:
        named: By group hash, what the metadata says: kind and global ranks in group order.
        highest: By group hash, the highest place seen in traffic; used where the metadata say nothing.
        own: By group hash, this rank's own place.
        rank: This rank.
    """
    rows: list[tuple[str, str | None, int, int, bool, int | None]] = []
    for group, (kind, ranks) in named.items():
        rows += [(group, kind, place, len(ranks), True, member) for place, member in enumerate(ranks)]
    for group, last in highest.items():
        if group in named:
            continue
        size = last + 1
        rows += [(group, None, place, size, False, rank if own.get(group) == place else None) for place in range(size)]
    names = ("group_id", "kind", "group_rank", "group_size", "size_is_exact", "member_rank")
    return conform(COMM_GROUP_MEMBER, len(rows), **{name: [row[i] for row in rows] for i, name in enumerate(names)})


def collect_links(entries: list[LinkEntry], unreadable: list[str], rows: Iterable[tuple[Any, ...]]) -> None:
    """Append the entries that sum an operation type up (`total`, or the operation itself in old files).

    Args:
        entries: Grows by what is usable.
        unreadable: Grows by the key of what is not.
        rows: Step, key, group hash, source, target, transport, size in MB, time in ms, operator name.
    """
    rows = list(rows)
    exact: dict[tuple[str, str], str] = {}
    for _, key, group, *_, op_name in rows:
        if op_name:
            exact.setdefault((_type_and_stat(key)[0], group), op_of(str(op_name)))
    for step, key, group, src, dst, transport, size, time, op_name in rows:
        kind, stat = _type_and_stat(key)
        if stat not in ("total", ""):
            continue
        try:
            entries.append(
                LinkEntry(
                    step=step,
                    group_hash=str(group),
                    # The exporter's pattern order writes `reduce` for reduceScatter; a name tells.
                    op=exact.get((kind, group), op_of(str(op_name or kind))),
                    src=_place(src),
                    dst=_place(dst),
                    transport=str(transport),
                    size_bytes=scaled(size, BYTES_PER_MB),
                    dur_ns=scaled(time, NS_PER_MS),
                )
            )
        except (TypeError, ValueError, ArithmeticError):
            unreadable.append(f"{key} {src}-{dst}")


def _place(value: Any) -> int:
    place = rank_of(value)
    if place is None:
        raise ValueError(f"not a place in a group: {value!r}")
    return place


def _type_and_stat(key: Any) -> tuple[str, str]:
    kind, _, stat = str(key).rpartition("-")
    return (kind, stat) if stat in _STATS else (str(key), "")
