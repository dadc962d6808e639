"""One capture per rank of a `cluster_analysis_output`, out of figures that others summed up."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from ascend_sn.errors import EmptyInputError, FormatError
from ascend_sn.formats.cluster_output.database import read_cluster_database
from ascend_sn.formats.cluster_output.figures import ClusterFigures
from ascend_sn.formats.cluster_output.layout import ClusterFiles
from ascend_sn.formats.cluster_output.text import read_communication, read_groups, read_matrix, read_step_trace
from ascend_sn.formats.reader import Source
from ascend_sn.formats.sqlite_columns import open_database
from ascend_sn.formats.torch_npu.collectives import CommOps, assemble_collectives
from ascend_sn.formats.torch_npu.limits import rank_of
from ascend_sn.formats.torch_npu.links import link_rows
from ascend_sn.formats.torch_npu.step_trace import step_trace_rows
from ascend_sn.model.capture import Capture, ProfileHeader
from ascend_sn.model.ledger import CoverageEntry, Ledger, kind_words
from ascend_sn.model.rows import Nullable, Rows, Text, concatenate, conform
from ascend_sn.model.tables import COMM_GROUP_MEMBER, LINK

__all__ = ["captures_of"]

_NOT_SUMMED: Final = (
    *("operator", "host_call", "kernel", "kernel_metric", "comm_task", "memory_event", "memory_sample"),
    *("counter", "span", "flow", "stack"),
)
_OWN_CAPTURES: Final = "open the folder with the ranks' own captures"
_MODE: Final = "msprof-analyze cluster -m all"
_WHERE: Final = {
    "metric": "cluster_step_trace_time.csv",
    "collective": "cluster_communication.json",
    "link": "cluster_communication_matrix.json",
    "comm_group_member": "communication_group.json",
}


def captures_of(source: Source, files: ClusterFiles) -> list[Capture]:
    """Return one capture per rank that the files speak of.

    Raises:
        EmptyInputError: They speak of none.
        FormatError: Nothing usable is left of damaged files.
    """
    ledger = Ledger()
    figures, read_from = _figures(source, files, ledger)
    if not figures.ranks:
        damaged = next((entry for entry in ledger.entries if entry.severity == "damage"), None)
        if damaged is not None:
            raise FormatError(
                source.path, f"nothing usable in it: {kind_words(damaged.kind)} in {damaged.file}", damaged.place
            )
        raise EmptyInputError(source.path, "the cluster analysis holds no rank")
    return [
        _capture(source, figures, rank, read_from, ledger if number == 0 else Ledger())
        for number, rank in enumerate(sorted(figures.ranks))
    ]


def _figures(source: Source, files: ClusterFiles, ledger: Ledger) -> tuple[ClusterFigures, str]:
    figures = ClusterFigures()
    has_text = any((files.step_trace, files.communication, files.matrix))
    if files.database is not None:
        file = source.relative(files.database)
        try:
            with open_database(files.database, file, ledger) as database:
                read_cluster_database(database, figures)
        except FormatError as error:
            if not has_text:
                raise
            example = f"{error.problem}; the text files beside it are read instead"
            ledger.add(file, "unreadable_database", place=error.place, example=example)
        if figures.ranks:
            return figures, "db"
    for path, read in (
        (files.step_trace, read_step_trace),
        (files.communication, read_communication),
        (files.matrix, read_matrix),
        (files.groups, read_groups),
    ):
        if path is not None:
            read(path, source.relative(path), ledger, figures)
    return figures, "text"


def _capture(source: Source, figures: ClusterFigures, rank: int, read_from: str, ledger: Ledger) -> Capture:
    own = figures.ranks[rank]
    collectives, per_collective = assemble_collectives(_nothing_ran(), own.parts, None, [])
    between = link_rows(own.links, {})
    tables = {
        "metric": step_trace_rows(own.step_trace),
        "collective": collectives,
        "link": concatenate(LINK, [per_collective, between.replace(rank_scope="global")]),
        "comm_group_member": _members_of(figures, rank),
    }
    return Capture(_header(source, figures, rank, read_from), tables, _coverage(figures, tables), ledger)


def _header(source: Source, figures: ClusterFigures, rank: int, read_from: str) -> ProfileHeader:
    own = figures.ranks[rank]
    arguments = figures.base.get("distributed_args")
    config: dict[str, Any] = {"read_from": read_from}
    if own.places:
        config["parallel_places"] = own.places
    if isinstance(arguments, dict):
        config["distributed_args"] = arguments
    return ProfileHeader(
        format=f"cluster-{read_from}",
        source=source.name,
        device_kind="npu",
        host=own.host,
        rank=rank,
        phase=source.phase,
        device_id=own.device_id,
        world_size=rank_of(arguments.get("world_size")) if isinstance(arguments, dict) else None,
        config=config,
    )


def _members_of(figures: ClusterFigures, rank: int) -> Rows:
    """Groups of the rank; the sets have no order, so that places in a group are not known."""
    rows = [
        (group, kind, len(members), member)
        for group, (kind, members) in figures.groups.items()
        if rank in members
        for member in members
    ]
    names = ("group_id", "kind", "group_size", "member_rank")
    columns = {name: [row[at] for row in rows] for at, name in enumerate(names)}
    return conform(COMM_GROUP_MEMBER, len(rows), size_is_exact=True, **columns)


def _coverage(figures: ClusterFigures, tables: dict[str, Rows]) -> list[CoverageEntry]:
    entries = []
    for name, where in _WHERE.items():
        if name in figures.damaged:
            entries.append(CoverageEntry(name, "damaged", figures.damaged[name]))
        elif len(tables[name]):
            entries.append(CoverageEntry(name, "collected"))
        else:
            reason = f"the cluster analysis does not hold it (looked in {where})"
            entries.append(CoverageEntry(name, "missing", reason, _MODE))
    reason = "a cluster analysis holds sums of captures, not the captures"
    entries += [CoverageEntry(name, "unsupported", reason, _OWN_CAPTURES) for name in _NOT_SUMMED]
    when = "a cluster analysis does not say when the steps were, only what they took"
    return [*entries, CoverageEntry("step", "unsupported", when, _OWN_CAPTURES)]


def _nothing_ran() -> CommOps:
    none = np.zeros(0, np.int64)
    null, text = Nullable(none, np.zeros(0, np.bool_)), Text.constant(None, 0)
    return CommOps(name=text, ts=none, dur=none, kernel_id=null, group=text, count=null, dtype=text)
