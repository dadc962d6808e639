"""The document as flat tables of raw figures, for spreadsheets: names of columns carry the unit, None is not known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from ascend_sn.report.documents.run import Document
from ascend_sn.report.documents.views import SectionName, View

__all__ = ["Cell", "FlatTable", "flat_tables"]

Cell = str | int | float | bool | None

_LONG: Final = ("params", "location", "evidence", "remarks")
"""Fields that are nested without bounds; JSON has them."""


@dataclass(frozen=True)
class FlatTable:
    """A table with at least one row; names in it come from traces and are not escaped."""

    name: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]


def flat_tables(document: Document, view: View) -> list[FlatTable]:
    """Return the tables of the sections that a view shows; the first one says what wrote them and of what.

    What was not collected is in the table `not_collected`, never a row of zeros.
    """
    head = FlatTable(
        "report",
        ("generator", "schema", "language", "input", "job"),
        ((document.generator, document.schema, document.language, document.input, document.job),),
    )
    said = FlatTable("verdict", ("text",), tuple((statement.text,) for statement in document.verdict))
    health = document.health
    tables = [head, said, *_made({"damage": health.damage, "not_collected": health.not_collected})]
    for name, parts in _sections(document).items():
        if name in view.sections:
            tables += _made({part: rows[: view.top_k] for part, rows in parts.items()})
    return tables


def _sections(document: Document) -> dict[SectionName, dict[str, Sequence[msgspec.Struct]]]:
    breakdown, operators, communication, memory = (
        document.breakdown,
        document.operators,
        document.communication,
        document.memory,
    )
    spots, path, cluster = memory.hot_spots, document.critical_path, document.cluster
    return {
        "breakdown": {
            "cluster_ranks": [] if cluster is None else cluster.worst,
            "cluster_stages": [] if cluster is None else cluster.stages,
            "cluster_links": [] if cluster is None else cluster.slow_links,
            "cluster_spreads": [] if cluster is None else cluster.spreads,
            "breakdown": breakdown.ranks,
            "phases": breakdown.phases,
            "input_pipeline": breakdown.input_pipeline,
            "exported_steps": breakdown.exported,
        },
        "critical_path": {}
        if path is None
        else {"critical_path": path.classes, "critical_slices": path.slices, "operator_slack": path.operators},
        "findings": {"findings": document.findings.rows, "held_back": document.findings.suppressed},
        "operators": {
            "kernels": operators.kernels,
            "operators": operators.operators,
            "kernel_shapes": operators.shapes,
        },
        "communication": {
            "communication": communication.operations,
            "communication_total": [] if communication.total is None else [communication.total],
            "communication_grade": communication.grades,
            "links": communication.links,
            "rank_pairs": communication.pairs,
        },
        "memory": {
            "memory_peak": memory.peaks,
            "memory_by_operator": memory.operators,
            "memory_total": [] if memory.total is None else [memory.total],
            "memory_at_peak": [] if spots is None else spots.holders,
            "memory_leak": memory.leaks,
        },
        "copies": {"copies": [] if document.copies is None else document.copies.rows},
        "fusion": {"fusion": [] if document.fusion is None else document.fusion.patterns},
        "inference": {
            "requests": [] if document.inference is None else document.inference.stages,
            "batch_sizes": [] if document.inference is None else document.inference.batch_sizes,
        },
    }


def _made(tables: dict[str, Sequence[msgspec.Struct]]) -> list[FlatTable]:
    return [_table(name, rows) for name, rows in tables.items() if rows]


def _table(name: str, rows: Sequence[msgspec.Struct]) -> FlatTable:
    flat = [_flat(row) for row in rows]
    columns = tuple(dict.fromkeys(column for row in flat for column in row))
    return FlatTable(name, columns, tuple(tuple(row.get(column) for column in columns) for row in flat))


def _flat(row: msgspec.Struct, prefix: str = "") -> dict[str, Cell]:
    """Fields by name; those of a nested struct under its own name, lists left to JSON."""
    found: dict[str, Cell] = {}
    for name in row.__struct_fields__:
        value: Any = getattr(row, name)
        if name in _LONG or isinstance(value, list | tuple | dict):
            continue
        if isinstance(value, msgspec.Struct):
            found |= _flat(value, f"{prefix}{name}_")
        else:
            found[prefix + name] = value
    return found
