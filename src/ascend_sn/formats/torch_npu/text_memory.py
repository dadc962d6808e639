"""The memory tables of a text export."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ascend_sn.formats.reader import Source
from ascend_sn.formats.torch_npu.memory_csv import read_memory_record, read_module_memory, read_operator_memory
from ascend_sn.model.ledger import Ledger
from ascend_sn.model.rows import Rows, concatenate
from ascend_sn.model.tables import MEMORY_EVENT, MEMORY_SAMPLE

__all__ = ["read_text_memory"]


def read_text_memory(source: Source, files: Mapping[str, Path], ledger: Ledger) -> dict[str, Rows]:
    """Return memory_sample and memory_event out of the three CSV files; absent files give no rows."""
    samples = [
        read(files[name], source.relative(files[name]), ledger)
        for name, read in (("memory_record.csv", read_memory_record), ("npu_module_mem.csv", read_module_memory))
        if name in files
    ]
    path = files.get("operator_memory.csv")
    events = None if path is None else read_operator_memory(path, source.relative(path), ledger)
    return {
        "memory_sample": concatenate(MEMORY_SAMPLE, [rows for rows in samples if rows is not None]),
        "memory_event": events if events is not None else concatenate(MEMORY_EVENT, []),
    }
