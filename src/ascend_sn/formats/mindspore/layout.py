"""Which files a run folder of the MindSpore profiler holds."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from ascend_sn.formats.sqlite_columns import is_sqlite
from ascend_sn.formats.torch_npu.layout import MINDSPORE_FILE, OUTPUT, TEXT_FILES, export_names

__all__ = ["ANALYSIS_DB", "SUFFIX", "output_folder", "pipeline_files", "profiler_database", "run_files"]

ANALYSIS_DB: Final = "communication_analyzer.db"
DATASET: Final = "dataset.csv"
SUFFIX: Final = "_ascend_ms"

_DATABASE = re.compile(r"^ascend_mindspore_profiler(_-?\d+)?\.db$")
_SUMMARY = re.compile(r"^minddata_pipeline_summary(_-?\d+)?\.(csv|json)$")
_INFO = re.compile(r"^profiler_(info(_-?\d+)?|metadata)\.json$")


def output_folder(folder: Path) -> Path | None:
    """Return the folder with the exports; None when these are not MindSpore's.

    The tree is that of torch_npu: MindSpore's is told by its name, or by files that only MindSpore writes.
    """
    if folder.name == OUTPUT or not folder.is_dir():
        # The run folder around it is what is read.
        return None
    inside = folder / OUTPUT
    output = inside if inside.is_dir() else folder
    names = export_names(output)
    profiled = any(name in TEXT_FILES or _DATABASE.match(name) for name in names)
    own = any(MINDSPORE_FILE.match(name) for name in names)
    if own and (inside.is_dir() or profiled):
        return output
    return output if profiled and folder.name.endswith(SUFFIX) else None


def profiler_database(output: Path) -> Path | None:
    """Return the profiler database among the exports, if there is one."""
    found = sorted(child for child in output.iterdir() if _DATABASE.match(child.name) and child.is_file())
    return next((path for path in found if is_sqlite(path)), found[0] if found else None)


def pipeline_files(output: Path) -> tuple[Path | None, Path | None]:
    """Return dataset.csv and the summary of the input pipeline; of the latter JSON goes before CSV."""
    summaries = sorted((child for child in output.iterdir() if _SUMMARY.match(child.name)), key=_json_first)
    files = [path for path in summaries if path.is_file()]
    full = [path for path in files if path.stat().st_size > 0] or files
    dataset = output / DATASET
    return dataset if dataset.is_file() else None, full[0] if full else None


def run_files(folder: Path) -> list[Path]:
    """Return the files that are read, sorted."""
    files = [child for child in folder.iterdir() if _INFO.match(child.name)]
    output = output_folder(folder)
    if output is not None:
        files += [path for path in pipeline_files(output) if path is not None]
        for name in export_names(output):
            base = name.removesuffix("-wal")
            if base in (*TEXT_FILES, ANALYSIS_DB) or _DATABASE.match(base):
                files.append(output / name)
    return sorted(path for path in set(files) if path.is_file())


def _json_first(path: Path) -> tuple[bool, str]:
    return path.suffix != ".json", path.name
