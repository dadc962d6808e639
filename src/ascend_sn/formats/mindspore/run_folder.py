"""The readers of MindSpore's run folders: text and database exports, and raw data."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ascend_sn.errors import FormatError, NotParsedError
from ascend_sn.formats.mindspore.layout import (
    ANALYSIS_DB,
    SUFFIX,
    output_folder,
    pipeline_files,
    profiler_database,
    run_files,
)
from ascend_sn.formats.reader import Candidate, Reader, Source
from ascend_sn.formats.torch_npu.layout import RunInfo, read_run_info, text_files
from ascend_sn.model.capture import Capture
from ascend_sn.model.ledger import Ledger
from ascend_sn.model.rows import Rows, concatenate
from ascend_sn.model.tables import METRIC

if TYPE_CHECKING:
    from ascend_sn.formats.torch_npu.export import Export

__all__ = ["RAW_READER", "READER", "without_stack"]

_SOURCE_FILE = re.compile(r"\S*\.py\b")
_SEPARATORS: Final = " \t\r\n;,|"


def without_stack(name: str) -> str:
    """Return a kernel's name without the call stack that with_stack appends to it.

    It begins at the first part that is the path of a source file.
    """
    found = _SOURCE_FILE.search(name)
    if found is None:
        return name
    # The separator may stand inside the run of letters before the path: `MatMul;/home/u/net.py(3)`.
    start = max(found[0].rfind(separator) for separator in _SEPARATORS) + 1
    return name[: found.start() + start].rstrip(_SEPARATORS) or name


def _claims(candidate: Candidate) -> bool:
    return candidate.is_folder and output_folder(candidate.path) is not None


def _read(source: Source) -> list[Capture]:
    # Loaded for such a folder only: every input is shown to every reader.
    from ascend_sn.formats.mindspore.coverage import coverage_of
    from ascend_sn.formats.torch_npu.captures import capture_of

    output = output_folder(source.path)
    if output is None:
        raise FormatError(source.path, "no exported profiler data in it")
    ledger = Ledger()
    info = read_run_info(source.path, source.relative, ledger)
    export = _export(source, output, info, ledger)
    tables = dict(export.tables)
    metrics, words = _input_pipeline(source, output, ledger)
    kernels = tables["kernel"]
    tables["kernel"] = kernels.replace(name=kernels.text("name").mapped(without_stack))
    tables["metric"] = concatenate(METRIC, [tables["metric"], *metrics])
    capture = capture_of(source, info, replace(export, tables=tables), ledger, tool="mindspore", coverage=coverage_of)
    if words:
        capture.header = replace(capture.header, config={**capture.header.config, "input_pipeline": words})
    return [capture]


def _export(source: Source, output: Path, info: RunInfo, ledger: Ledger) -> Export:
    database = profiler_database(output)
    if database is not None:
        from ascend_sn.formats.torch_npu.database_export import read_database_export

        try:
            return read_database_export(source, database, info, ledger, analysis=output / ANALYSIS_DB)
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


def _input_pipeline(source: Source, output: Path, ledger: Ledger) -> tuple[list[Rows], dict[str, str]]:
    from ascend_sn.formats.mindspore.input_pipeline import read_dataset, read_pipeline_summary

    dataset, summary = pipeline_files(output)
    metrics: list[Rows] = []
    words: dict[str, str] = {}
    if dataset is not None and (rows := read_dataset(dataset, source.relative(dataset), ledger)) is not None:
        metrics.append(rows)
    if summary is not None:
        rows, words = read_pipeline_summary(summary, source.relative(summary), ledger)
        metrics.append(rows)
    return metrics, words


def _is_raw(candidate: Candidate) -> bool:
    if not candidate.is_folder or not candidate.path.name.endswith(SUFFIX):
        return False
    raw = any(name == "FRAMEWORK" or name.startswith("PROF_") for name in candidate.names)
    return raw and output_folder(candidate.path) is None


def _raw_files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob("profiler_info*.json") if path.is_file())


def _refuse_raw(source: Source) -> list[Capture]:
    raise NotParsedError(
        source.path,
        "the data was collected but not yet parsed; on the machine with MindSpore run: python -c "
        f"'from mindspore.profiler.profiler import analyse; analyse(\"{source.path}\")'",
    )


READER = Reader("mindspore", _claims, run_files, _read)
RAW_READER = Reader("mindspore-raw", _is_raw, _raw_files, _refuse_raw)
