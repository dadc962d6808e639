"""The readers of torch_npu run folders: text and database exports, and raw data that nobody parsed yet."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ascend_sn.errors import FormatError, NotParsedError
from ascend_sn.formats.reader import Candidate, Reader, Source
from ascend_sn.formats.torch_npu.layout import (
    RunInfo,
    output_folder,
    profiler_database,
    read_run_info,
    run_files,
    text_files,
)
from ascend_sn.model.capture import Capture
from ascend_sn.model.ledger import Ledger

if TYPE_CHECKING:
    from ascend_sn.formats.torch_npu.export import Export

__all__ = ["RAW_READER", "READER"]


def _claims(candidate: Candidate) -> bool:
    return candidate.is_folder and output_folder(candidate.path) is not None


def _read(source: Source) -> list[Capture]:
    from ascend_sn.formats.torch_npu.captures import capture_of

    output = output_folder(source.path)
    if output is None:
        raise FormatError(source.path, "no exported profiler data in it")
    ledger = Ledger()
    info = read_run_info(source.path, source.relative, ledger)
    return [capture_of(source, info, _export(source, output, info, ledger), ledger)]


def _export(source: Source, output: Path, info: RunInfo, ledger: Ledger) -> Export:
    # Each is loaded when it is needed: a rank has one of the two.
    database = profiler_database(output)
    if database is not None:
        from ascend_sn.formats.torch_npu.database_export import read_database_export

        try:
            return read_database_export(source, database, info, ledger)
        except FormatError as error:
            ledger.add(
                source.relative(database),
                "unreadable_database",
                place=error.place,
                example=f"{error.problem}; the text export beside it is read instead",
            )
    from ascend_sn.formats.torch_npu.text_export import read_text_export

    files = text_files(output, source.relative, ledger)
    return read_text_export(source, files, info, ledger)


def _is_raw(candidate: Candidate) -> bool:
    if not candidate.is_folder or output_folder(candidate.path) is not None:
        return False
    names = candidate.names
    return "FRAMEWORK" in names and any(name.startswith("PROF_") for name in names)


def _raw_files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob("profiler_info*.json") if path.is_file())


def _refuse_raw(source: Source) -> list[Capture]:
    raise NotParsedError(
        source.path,
        "the data was collected but not yet parsed; on the machine with torch_npu run: python -c "
        f"'from torch_npu.profiler.profiler import analyse; analyse(\"{source.path}\")'",
    )


READER = Reader("torch_npu", _claims, run_files, _read)
RAW_READER = Reader("torch_npu-raw", _is_raw, _raw_files, _refuse_raw)
