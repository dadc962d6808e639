"""Which files a run folder of torch_npu holds, and what it says about itself."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from ascend_sn.formats.json_text import json_object
from ascend_sn.formats.kineto.recognise import is_kineto
from ascend_sn.formats.metadata import stated, stated_number
from ascend_sn.formats.reader import Candidate
from ascend_sn.formats.sqlite_columns import is_sqlite
from ascend_sn.formats.torch_npu.limits import RANK_LIMIT, rank_of, whole
from ascend_sn.model.ledger import Ledger

__all__ = [
    "ANALYSIS_DB",
    "MINDSPORE_FILE",
    "OUTPUT",
    "TEXT_FILES",
    "RunInfo",
    "check_groups",
    "export_names",
    "output_folder",
    "profiler_database",
    "read_run_info",
    "run_files",
    "text_files",
]

OUTPUT: Final = "ASCEND_PROFILER_OUTPUT"
ANALYSIS_DB: Final = "analysis.db"
PROFILER_DB: Final = re.compile(r"^ascend_pytorch_profiler(_-?\d+)?\.db$")
TRACE_FILE: Final = "trace_view.json"
TEXT_FILES: Final = (
    TRACE_FILE,
    "kernel_details.csv",
    "operator_details.csv",
    "step_trace_time.csv",
    "communication.json",
    "communication_matrix.json",
    "memory_record.csv",
    "operator_memory.csv",
    "npu_module_mem.csv",
    "static_op_mem.csv",
)
"""Text exports that are read; operator_details.csv and the statistics repeat what others hold."""

_TELLING: Final = frozenset({TRACE_FILE, "kernel_details.csv"})
"""Names that no other tool gives; the others occur elsewhere too."""

MINDSPORE_FILE = re.compile(r"^(ascend_mindspore_profiler.*\.db|dataset\.csv|minddata_pipeline_.*)$")
_INFO = re.compile(r"^profiler_info(?:_(-?\d+))?\.json$")
_FOLDER = re.compile(r"^(?P<host>.+)_(?P<pid>\d+)_\d{14,20}_ascend_(pt|ms)$")


@dataclass(frozen=True)
class RunInfo:
    """What `profiler_info*.json` and `profiler_metadata.json` say; empty where they are absent or damaged."""

    config: dict[str, Any] = field(default_factory=dict)
    experimental: dict[str, Any] = field(default_factory=dict)
    metadata: dict[str, Any] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    rank: int | None = None
    start_ns: int | None = None
    host: str | None = None
    pid: int | None = None

    @property
    def level(self) -> str | None:
        """Level_none, Level0, Level1 or Level2."""
        level = self.experimental.get("_profiler_level")
        return level if isinstance(level, str) else None

    @property
    def groups(self) -> dict[str, dict[str, Any]]:
        """`parallel_group_info`: communicators of this rank by id."""
        groups = self.metadata.get("parallel_group_info")
        if not isinstance(groups, dict):
            return {}
        return {key: value for key, value in groups.items() if isinstance(value, dict)}


def output_folder(folder: Path) -> Path | None:
    """Return the folder with the exports: `ASCEND_PROFILER_OUTPUT`, or the folder itself when it holds them.

    MindSpore writes the same tree; its runs are not ours.
    """
    if folder.name.endswith("_ascend_ms"):
        return None
    inside = folder / OUTPUT
    if inside.is_dir():
        names = export_names(inside)
        ours = not any(MINDSPORE_FILE.match(name) for name in names)
        return inside if ours and any(name in TEXT_FILES or PROFILER_DB.match(name) for name in names) else None
    if folder.name == OUTPUT or not folder.is_dir():
        # The run folder around it is what is read.
        return None
    names = export_names(folder)
    ours = not any(MINDSPORE_FILE.match(name) for name in names)
    return folder if ours and any(name in _TELLING or PROFILER_DB.match(name) for name in names) else None


def export_names(output: Path) -> list[str]:
    """Return the names of files among exports, without a trace of PyTorch that was only given an export's name."""
    files = (child for child in output.iterdir() if child.is_file())
    return [child.name for child in files if child.name != TRACE_FILE or not _is_of_pytorch(child)]


def _is_of_pytorch(path: Path) -> bool:
    """Whether a trace is PyTorch's own; torch_npu writes lists, PyTorch objects."""
    candidate = Candidate(path)
    try:
        return candidate.head.lstrip().startswith(b"{") and is_kineto(candidate)
    except OSError:
        return False


def profiler_database(output: Path) -> Path | None:
    """Return the profiler database among the exports, if there is one."""
    found = sorted(child for child in output.iterdir() if PROFILER_DB.match(child.name) and child.is_file())
    return next((path for path in found if is_sqlite(path)), found[0] if found else None)


def run_files(folder: Path) -> list[Path]:
    """Return the files that are read, sorted."""
    files = [child for child in folder.iterdir() if _INFO.match(child.name) or child.name == "profiler_metadata.json"]
    output = output_folder(folder)
    if output is not None:
        for name in export_names(output):
            base = name.removesuffix("-wal")
            if name in TEXT_FILES or base == ANALYSIS_DB or PROFILER_DB.match(base):
                files.append(output / name)
    return sorted(path for path in files if path.is_file())


def text_files(output: Path, name_of: Callable[[Path], str], ledger: Ledger) -> dict[str, Path]:
    """Return the text exports by name; a trace of PyTorch's own among them is left alone, and said."""
    trace = output / TRACE_FILE
    if trace.is_file() and _is_of_pytorch(trace):
        ledger.add(
            name_of(trace), "foreign_files", example="a trace of PyTorch itself; open it on its own", severity="info"
        )
    return {name: output / name for name in export_names(output) if name in TEXT_FILES}


def read_run_info(folder: Path, name_of: Callable[[Path], str], ledger: Ledger) -> RunInfo:
    """Read the two JSON files beside the exports; `name_of(path)` names a file in the ledger."""
    info: dict[str, Any] = {}
    rank: int | None = None
    file = ""
    for path in sorted(child for child in folder.iterdir() if _INFO.match(child.name) and child.is_file()):
        found = _INFO.match(path.name)
        file = name_of(path)
        info = json_object(path, file, ledger)
        named = rank_of(found[1]) if found is not None else None
        told = stated_number(info, "rank_id", RANK_LIMIT, file, ledger)
        chosen = named if told is None else told
        if told is not None and named is not None and told != named:
            ledger.add(file, "unreadable_metadata", place="rank_id", example=f"{told} in a file of rank {named}")
        if rank is not None and chosen is not None and chosen != rank:
            ledger.add(file, "unreadable_metadata", place="rank_id", example=f"{chosen}, beside a file of rank {rank}")
        rank = chosen
    metadata_path = folder / "profiler_metadata.json"
    metadata_file = name_of(metadata_path)
    metadata = json_object(metadata_path, metadata_file, ledger) if metadata_path.is_file() else {}
    check_groups(metadata, metadata_file, ledger)
    config = _object(info, "config", file, ledger)
    experimental = _object(config, "experimental_config", file, ledger)
    stated(experimental, "_profiler_level", str, file, ledger)
    named_folder = _FOLDER.match(folder.name)
    return RunInfo(
        config=_object(config, "common_config", file, ledger),
        experimental=experimental,
        metadata=metadata,
        versions={
            key.removesuffix("_version"): version
            for key in ("torch_npu_version", "mindspore_version", "cann_version")
            if (version := stated(info, key, str, file, ledger)) is not None
        },
        rank=rank,
        start_ns=_start_ns(_object(info, "start_info", file, ledger), _object(info, "end_info", file, ledger)),
        host=named_folder["host"] if named_folder else None,
        pid=whole(named_folder["pid"]) if named_folder else None,
    )


def check_groups(metadata: dict[str, Any], file: str, ledger: Ledger) -> None:
    """Count the communicators whose members cannot be read, and what else is not as it should be."""
    stated_number(_object(metadata, "distributed_args", file, ledger), "world_size", RANK_LIMIT, file, ledger)
    groups = stated(metadata, "parallel_group_info", dict, file, ledger) or {}
    odd = [key for key, group in groups.items() if not _has_members(group)]
    if odd:
        ledger.add(file, "unreadable_entry", place="parallel_group_info", count=len(odd), example=odd[0])


def _has_members(group: Any) -> bool:
    ranks = group.get("global_ranks") if isinstance(group, dict) else None
    return isinstance(ranks, list) and all(rank_of(rank) is not None for rank in ranks)


def _start_ns(start: dict[str, Any], end: dict[str, Any]) -> int | None:
    """Both clocks are known at the end only: the start is as far back as the monotonic clock says."""
    times = (
        whole(end.get("collectionTimeEnd")),
        whole(end.get("MonotonicTimeEnd")),
        whole(start.get("start_monotonic")),
    )
    if times[0] is None or times[1] is None or times[2] is None:
        return None
    return whole(times[0] - (times[1] - times[2]))


def _object(values: dict[str, Any], key: str, file: str, ledger: Ledger) -> dict[str, Any]:
    return stated(values, key, dict, file, ledger) or {}
