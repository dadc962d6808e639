"""Read `msprof_*.db`: one export per device."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from ascend_sn.formats.msprof.devices import divided_calls
from ascend_sn.formats.msprof.layout import ProfFiles
from ascend_sn.formats.msprof.other_csv import OtherFiles, read_iterations, read_memory
from ascend_sn.formats.reader import Source
from ascend_sn.formats.sqlite_columns import Database, open_database
from ascend_sn.formats.torch_npu.database_export import read_database_export
from ascend_sn.formats.torch_npu.export import Export
from ascend_sn.formats.torch_npu.layout import RunInfo
from ascend_sn.model.ledger import Ledger
from ascend_sn.model.rows import Rows, concatenate, conform
from ascend_sn.model.tables import BY_NAME, METRIC

__all__ = ["read_database"]

_OF_THE_PROCESS = ("operator", "span", "stack", "flow")
_ANALYSIS_DB = "communication_analyzer.db"


def read_database(source: Source, path: Path, files: ProfFiles, ledger: Ledger) -> list[Export]:
    """Return one export per device, in order of the device ids; text files beside fill in what is lacking.

    Raises:
        FormatError: The database is unreadable or holds none of the tables with events.
    """
    with open_database(path, source.relative(path), Ledger()) as database:
        devices = _devices(database)
    if len(devices) < 2:
        exports = [_read(source, path, files, ledger, None)]
    else:
        exports = []
        for device in devices:
            told = Ledger()
            exports.append(_only_own(_read(source, path, files, told, device), first=not exports))
            # Tables of the process are read once per device; their damage is told once.
            ledger.entries += [entry for entry in told.entries if entry not in ledger.entries]
        calls = divided_calls(exports[0].tables["host_call"], [export.tables["kernel"] for export in exports])
        exports = [
            replace(export, tables=export.tables | {"host_call": own, "kernel": kernels})
            for export, (own, kernels) in zip(exports, calls, strict=True)
        ]
    other = OtherFiles(source, files.text, ledger)
    return [_filled(export, other, None if len(devices) < 2 else export.device_id) for export in exports]


def _devices(database: Database) -> list[int]:
    found = set(database.read("TASK", "deviceId")["deviceId"])
    return sorted(device for device in found if isinstance(device, int) and 0 <= device < 1 << 31)


def _read(source: Source, path: Path, files: ProfFiles, ledger: Ledger, device: int | None) -> Export:
    analysis = files.analyze / _ANALYSIS_DB

    def narrowed(database: Database) -> Database:
        return database if device is None else database.where(dict(_conditions(database, device)))

    export = read_database_export(source, path, RunInfo(), ledger, analysis=analysis, narrowed=narrowed)
    return export if device is None else replace(export, device_id=device)


def _conditions(database: Database, device: int) -> Iterator[tuple[str, str]]:
    for table, columns in database.tables.items():
        if "deviceId" in columns:
            yield table, f"deviceId = {device}"
        elif table == "COMMUNICATION_OP":
            yield table, f"connectionId in (select connectionId from TASK where deviceId = {device})"


def _only_own(export: Export, *, first: bool) -> Export:
    """Leave out what the exporter recorded of other devices' collectives."""
    collectives, links = export.tables["collective"], export.tables["link"]
    own = collectives.valid("kernel_id")
    of_collective = links.valid("collective_id")
    # Collectives without a kernel stand behind the others: ids stay what they are.
    kept = np.where(of_collective, links.values("collective_id") < int(own.sum()), first)
    tables = export.tables | {"collective": collectives.take(own), "link": links.take(kept)}
    if not first:
        tables |= {name: conform(BY_NAME[name], 0) for name in _OF_THE_PROCESS}
    return replace(export, tables=tables)


def _filled(export: Export, other: OtherFiles, device: int | None) -> Export:
    """Add what the database has no table for: operator memory, iterations of graph mode."""
    tables: dict[str, Rows] = dict(export.tables)
    steps, metrics = read_iterations(other, device)
    if not len(tables["step"]):
        tables |= {"step": steps, "metric": concatenate(METRIC, [tables["metric"], metrics])}
    from_text = read_memory(other, device, with_counters=not len(tables["counter"]))
    tables |= {name: rows for name, rows in from_text.items() if not len(tables[name])}
    return replace(export, tables=tables)
