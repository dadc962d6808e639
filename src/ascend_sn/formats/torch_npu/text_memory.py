"""The memory tables of a text export."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from ascend_sn.formats.reader import Source
from ascend_sn.formats.torch_npu.memory_csv import read_memory_record, read_module_memory, read_operator_memory
from ascend_sn.formats.torch_npu.static_memory import read_static_memory
from ascend_sn.model.ledger import Ledger
from ascend_sn.model.rows import Rows, concatenate
from ascend_sn.model.tables import MEMORY_EVENT, MEMORY_SAMPLE, STATIC_MEMORY

__all__ = ["STATIC_MEMORY_FILE", "read_text_memory", "unread_static_memory"]

STATIC_MEMORY_FILE: Final = "static_op_mem.csv"


def read_text_memory(source: Source, files: Mapping[str, Path], ledger: Ledger) -> dict[str, Rows]:
    """Return memory_sample, memory_event and static_memory out of the CSV files; absent files give no rows."""
    samples = [
        read(files[name], source.relative(files[name]), ledger)
        for name, read in (("memory_record.csv", read_memory_record), ("npu_module_mem.csv", read_module_memory))
        if name in files
    ]
    path = files.get("operator_memory.csv")
    events = None if path is None else read_operator_memory(path, source.relative(path), ledger)
    graphs = files.get(STATIC_MEMORY_FILE)
    static = None if graphs is None else read_static_memory(graphs, source.relative(graphs), ledger)
    return {
        "memory_sample": concatenate(MEMORY_SAMPLE, [rows for rows in samples if rows is not None]),
        "memory_event": events if events is not None else concatenate(MEMORY_EVENT, []),
        "static_memory": static if static is not None else concatenate(STATIC_MEMORY, []),
    }


def unread_static_memory(files: Mapping[str, Path], tables: Mapping[str, Rows]) -> dict[str, str]:
    """Return why `static_memory` is damaged: the file is there and none of its rows is; empty where it is not."""
    if STATIC_MEMORY_FILE not in files or len(tables["static_memory"]):
        return {}
    return {"static_memory": f"no row of {STATIC_MEMORY_FILE} could be read"}
