"""The readers of `PROF_*` folders: exported data, and raw data that nobody exported yet."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from ascend_sn.errors import EmptyInputError, FormatError, NotParsedError
from ascend_sn.formats.msprof.layout import ProfFiles, has_raw_data, prof_files
from ascend_sn.formats.reader import Candidate, Reader, Source
from ascend_sn.formats.torch_npu.layout import RunInfo
from ascend_sn.model.capture import Capture
from ascend_sn.model.ledger import Ledger

if TYPE_CHECKING:
    from ascend_sn.formats.torch_npu.export import Export

__all__ = ["RAW_READER", "READER"]

_RANK = re.compile(r"(?:^|[_.-])rank[_-]?(\d{1,6})(?:$|[_.-])", re.IGNORECASE)


def _claims(candidate: Candidate) -> bool:
    return candidate.is_folder and prof_files(candidate.path) is not None


def _members(folder: Path) -> list[Path]:
    files = prof_files(folder)
    return [] if files is None else files.members


def _read(source: Source) -> list[Capture]:
    files = prof_files(source.path)
    if files is None:
        raise FormatError(source.path, "no exported profiler data in it")
    if not files.text and files.database is None:
        if has_raw_data(source.path):
            raise _not_exported(source.path)
        raise EmptyInputError(source.path, "every exported file is empty; was the export interrupted?")
    ledger = Ledger()
    for path in files.empty:
        ledger.add(source.relative(path), "empty_file", example="taken as not collected", severity="info")
    if files.older:
        example = f"{source.relative(files.older[0])}: the newest export of each kind is read"
        ledger.add(source.name, "older_export", count=len(files.older), example=example, severity="info")
    return _captures(source, _exports(source, files, ledger), ledger)


def _exports(source: Source, files: ProfFiles, ledger: Ledger) -> list[Export]:
    # Loaded for such a folder only: every input is shown to every reader.
    if files.database is not None:
        from ascend_sn.formats.msprof.database import read_database

        try:
            return read_database(source, files.database, files, ledger)
        except FormatError as error:
            if not files.text:
                raise
            ledger.add(
                source.relative(files.database),
                "unreadable_database",
                place=error.place,
                example=f"{error.problem}; the text export beside it is read instead",
            )
    from ascend_sn.formats.msprof.text_export import read_text_export

    return read_text_export(source, files, ledger)


def _captures(source: Source, exports: list[Export], ledger: Ledger) -> list[Capture]:
    """One capture per device; one that came to nothing is told in the ledger as long as another did not."""
    from ascend_sn.formats.msprof.coverage import coverage_of
    from ascend_sn.formats.torch_npu.captures import capture_of

    # A process of several devices is several ranks, or none: the name cannot tell which.
    info = RunInfo(rank=_rank_in_names(source, ledger) if len(exports) == 1 else None)
    captures: list[Capture] = []
    failures: list[FormatError | EmptyInputError] = []
    for export in exports:
        told = ledger if not captures else Ledger()
        try:
            captures.append(capture_of(source, info, export, told, tool="msprof", coverage=coverage_of))
        except (FormatError, EmptyInputError) as error:
            failures.append(error)
    if not captures:
        raise failures[0]
    for failure in failures:
        ledger.add(source.name, "empty_device", example=failure.problem, severity="info")
    return captures


def _rank_in_names(source: Source, ledger: Ledger) -> int | None:
    """Rank in the name of the folder or of the one around it; msprof itself records none."""
    for folder in (source.path, source.path.absolute().parent):
        found = _RANK.search(folder.name)
        if found is not None:
            example = f"rank {found[1]} is taken from the name {folder.name}"
            ledger.add(source.name, "rank_from_name", example=example, severity="info")
            return int(found[1])
    return None


def _is_raw(candidate: Candidate) -> bool:
    return candidate.is_folder and prof_files(candidate.path) is None and has_raw_data(candidate.path)


def _raw_files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob("*/*_info*") if path.is_file())


def _refuse_raw(source: Source) -> list[Capture]:
    raise _not_exported(source.path)


def _not_exported(folder: Path) -> NotParsedError:
    return NotParsedError(
        folder,
        f"the data was collected but not yet parsed; on a machine with CANN run: msprof --export=on --output={folder}",
    )


READER = Reader("msprof", _claims, _members, _read)
RAW_READER = Reader("msprof-raw", _is_raw, _raw_files, _refuse_raw)
