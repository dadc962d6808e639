"""The text output of a cluster analysis: one CSV file and three JSON files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from ascend_sn.formats.cluster_output.figures import ClusterFigures, ranks_in
from ascend_sn.formats.csv_columns import Cells, read_csv_columns
from ascend_sn.formats.json_text import json_object
from ascend_sn.formats.torch_npu.communication_parts import TOTAL, op_from_json, step_number
from ascend_sn.formats.torch_npu.groups import group_kind
from ascend_sn.formats.torch_npu.limits import rank_of
from ascend_sn.formats.torch_npu.links import LinkEntry, collect_links
from ascend_sn.formats.torch_npu.step_trace import STEP_TRACE_COLUMNS, STEP_TRACE_METRIC, step_trace_value
from ascend_sn.model.ledger import Ledger
from ascend_sn.model.units import decimal_text_to_int

__all__ = ["PLACES", "read_communication", "read_groups", "read_matrix", "read_step_trace"]

PLACES: Final = {"DP Index": "dp", "PP Index": "pp", "TP Index": "tp"}
_RANK_ROW: Final = "rank"


def read_step_trace(path: Path, file: str, ledger: Ledger, into: ClusterFigures) -> None:
    """Read cluster_step_trace_time.csv; rows of stages are maxima over their ranks and left out."""
    table = read_csv_columns(path, file, ledger, required=("Type", "Index", "Computing"))
    if table is None:
        into.damaged["metric"] = f"{file} could not be read"
        return
    steps = table.numbers("Step")
    figures = {column: cells for column in STEP_TRACE_COLUMNS.values() if (cells := table.numbers(column)) is not None}
    places = {kind: cells for column, kind in PLACES.items() if (cells := table.get(column)) is not None}
    bad = 0
    for row, (type_, index) in enumerate(zip(table.get("Type") or (), table.get("Index") or (), strict=True)):
        if type_.strip() != _RANK_ROW:
            continue
        rank = rank_of(index)
        if rank is None:
            ledger.add(file, "unreadable_cell", place=table.place(row), example=f"Index = {index!r}")
            continue
        step = None if steps is None else decimal_text_to_int(steps[row], 0)
        bad += _add_row(figures, row, step, into.of(rank).step_trace)
        for kind, cells in places.items():
            place = rank_of(cells[row])
            if place is not None:
                into.of(rank).places[kind] = place
    if bad:
        ledger.add(file, "unreadable_cell", count=bad)


def read_communication(path: Path, file: str, ledger: Ledger, into: ClusterFigures) -> None:
    """Read cluster_communication.json: the parts of every collective of every rank."""
    unreadable: list[str] = []
    for group, step, entries in _steps(path, file, ledger, unreadable, into, "collective"):
        members = ranks_in(group)
        for key, of_ranks in entries.items():
            if key.startswith(TOTAL):
                continue
            hash_ = key.partition("@")[2]
            if members and hash_:
                into.add_group(hash_, None, members)
            if not isinstance(of_ranks, dict):
                unreadable.append(key)
                continue
            for rank_text, entry in of_ranks.items():
                rank = rank_of(rank_text)
                try:
                    if rank is None:
                        raise ValueError(rank_text)
                    parts = op_from_json(key, step, entry)
                except (KeyError, TypeError, ValueError, ArithmeticError):
                    unreadable.append(f"{key} of rank {rank_text}")
                else:
                    into.of(rank).parts.append(parts)
    _report(unreadable, file, ledger)


def read_matrix(path: Path, file: str, ledger: Ledger, into: ClusterFigures) -> None:
    """Read cluster_communication_matrix.json: traffic of every pair of ranks."""
    unreadable: list[str] = []
    entries: list[LinkEntry] = []
    for _, step, operations in _steps(path, file, ledger, unreadable, into, "link"):
        rows: list[tuple[Any, ...]] = []
        for key, pairs in operations.items():
            if key.startswith(TOTAL):
                continue
            for pair, link in pairs.items() if isinstance(pairs, dict) else ():
                if not isinstance(link, dict):
                    unreadable.append(f"{key} {pair}")
                    continue
                rows.append(
                    (
                        *(step, *key.partition("@")[::2], *pair.partition("-")[::2], link.get("Transport Type")),
                        *(link.get("Transit Size(MB)"), link.get("Transit Time(ms)"), link.get("Op Name")),
                    )
                )
        collect_links(entries, unreadable, rows)
    for entry in entries:
        into.of(entry.src).links.append(entry)
    _report(unreadable, file, ledger)


def read_groups(path: Path, file: str, ledger: Ledger, into: ClusterFigures) -> None:
    """Read communication_group.json: newer files name the groups, older ones list their ranks only."""
    content = json_object(path, file, ledger, with_decimals=True)
    named = content.get("comm_group_parallel_info")
    unreadable: list[Any] = []
    for entry in named if isinstance(named, list) else ():
        if isinstance(entry, dict):
            members = _members(entry.get("rank_set"))
            into.add_group(_text(entry.get("group_name")), group_kind(_text(entry.get("pg_name")) or ""), members)
    for kind in ("collective", "p2p"):
        lists = content.get(kind)
        for ranks in lists if isinstance(lists, list) else ():
            members = _members(ranks)
            if len(members) < len(ranks if isinstance(ranks, list) else [ranks]):
                unreadable.append(ranks)
            into.add_group(None, None, members)
    if unreadable:
        ledger.add(file, "unreadable_entry", count=len(unreadable), example=str(unreadable[0]))


def _add_row(columns: dict[str, Cells], row: int, step: int | None, into: list[tuple[str, int | None, float]]) -> int:
    """Take one row of figures in; return how many of its cells are unreadable."""
    bad = 0
    for column, cells in columns.items():
        value = step_trace_value(cells[row])
        if value is None:
            bad += 1
        else:
            into.append((STEP_TRACE_METRIC + column, step, value))
    return bad


def _steps(
    path: Path, file: str, ledger: Ledger, unreadable: list[str], into: ClusterFigures, table: str
) -> Iterator[tuple[str, int | None, dict[str, Any]]]:
    """Yield group, step and operations of a file that is nested so."""
    groups = json_object(path, file, ledger, with_decimals=True)
    if not groups:
        into.damaged[table] = f"{file} could not be read"
    for group, steps in groups.items():
        for step, operations in steps.items() if isinstance(steps, dict) else [("", None)]:
            if isinstance(operations, dict):
                yield group, step_number(step), operations
            else:
                unreadable.append(f"{group} {step}".strip())


def _members(ranks: Any) -> tuple[int, ...]:
    if isinstance(ranks, list):
        found = [rank_of(rank) for rank in ranks]
        return tuple(rank for rank in found if rank is not None) if None not in found else ()
    return ranks_in(ranks)


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _report(unreadable: list[str], file: str, ledger: Ledger) -> None:
    if unreadable:
        ledger.add(file, "unreadable_entry", count=len(unreadable), example=unreadable[0])
