"""Which files a `PROF_*` folder of msprof holds, of the newest export."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

__all__ = ["KINDS", "OUTPUT", "ProfFiles", "has_raw_data", "is_prof_name", "prof_files"]

OUTPUT: Final = "mindstudio_profiler_output"
ANALYZE: Final = "analyze"
KINDS: Final[dict[str, str]] = {
    "op_summary": "csv",
    "op_statistic": "csv",
    "api_statistic": "csv",
    "task_time": "csv",
    "communication_statistic": "csv",
    "step_trace": "csv",
    "memory_record": "csv",
    "operator_memory": "csv",
    "npu_mem": "csv",
    "npu_module_mem": "csv",
    "static_op_mem": "csv",
    "msprof": "json",
}
"""Exports that are read and the suffix of each."""

_FILE = re.compile(
    rf"^(?P<kind>{'|'.join(KINDS)})(?P<numbers>(?:_\d{{1,13}})*)(?:_slice_(?P<slice>\d+))?(?:_(?P<time>\d{{14,17}}))?"
    r"\.(?P<suffix>csv|json)$"
)
_DATABASE = re.compile(r"^msprof_(?P<time>\d{14,17})\.db$")
_PROF = re.compile(r"^PROF_\d+_\d+_[0-9A-Za-z]+$")
_DEVICE = re.compile(r"^device_\d+$")
_TELLING: Final = frozenset({"op_summary", "task_time", "api_statistic", "msprof"})
"""Names by which a folder of exports is known that lost the folder around it."""


@dataclass(frozen=True)
class ProfFiles:
    """Files of one folder.

    Attributes:
        folder: The folder.
        text: Files of the newest export by kind, slices in order; empty files are left out.
        older: Files of earlier exports, which hold the same once more.
        empty: Files without content.
        database: The newest database.
        analyze: Folder with the recorded parts of collectives; it may not exist.
    """

    folder: Path
    text: dict[str, list[Path]] = field(default_factory=dict)
    older: tuple[Path, ...] = ()
    empty: tuple[Path, ...] = ()
    database: Path | None = None

    @property
    def analyze(self) -> Path:
        """Folder with the recorded parts of collectives; it may not exist."""
        return self.folder / ANALYZE

    @property
    def members(self) -> list[Path]:
        """Every file that is read, sorted."""
        found = [path for paths in self.text.values() for path in paths] + [*self.older, *self.empty]
        if self.database is not None:
            log = self.database.with_name(self.database.name + "-wal")
            found += [path for path in (self.database, log) if path.is_file()]
        names = ("communication.json", "communication_matrix.json", "communication_analyzer.db")
        return sorted(found + [path for name in names if (path := self.analyze / name).is_file()])


def prof_files(folder: Path) -> ProfFiles | None:
    """Return what a folder holds; None when it is no output of msprof."""
    output = folder / OUTPUT
    if folder.name == OUTPUT or not folder.is_dir():
        # The folder around it is what is read.
        return None
    places = [folder, output] if output.is_dir() else [folder]
    children = [child for place in places for child in sorted(place.iterdir()) if child.is_file()]
    named = [(found, child) for child in children if (found := _FILE.match(child.name)) is not None]
    named = [(found, child) for found, child in named if KINDS[found["kind"]] == found["suffix"]]
    databases = [(found["time"], child) for child in children if (found := _DATABASE.match(child.name)) is not None]
    if not output.is_dir():
        telling = any(found["kind"] in _TELLING and found["time"] for found, _ in named)
        if not telling and not databases:
            return None
    if not named and not databases:
        return None
    full = [(found, child) for found, child in named if child.stat().st_size > 0]
    text: dict[str, list[Path]] = {}
    older: list[Path] = []
    for kind in KINDS:
        of_kind = [(found["time"] or "", int(found["slice"] or 0), child) for found, child in full if found[1] == kind]
        newest = max((time for time, _, _ in of_kind), default="")
        if of_kind:
            text[kind] = [child for time, _, child in sorted(of_kind) if time == newest]
            older += [child for time, _, child in of_kind if time != newest]
    return ProfFiles(
        folder=folder,
        text=text,
        older=tuple(older),
        empty=tuple(child for _, child in named if child.stat().st_size == 0),
        database=max(databases)[1] if databases else None,
    )


def is_prof_name(name: str) -> bool:
    """Whether msprof itself would give a folder this name."""
    return _PROF.match(name) is not None


def has_raw_data(folder: Path) -> bool:
    """Whether a folder holds what msprof collects: `host` or `device_<id>` with data in it."""
    inside = [child for child in folder.iterdir() if child.is_dir()]
    devices = [child for child in inside if child.name == "host" or _DEVICE.match(child.name)]
    if is_prof_name(folder.name):
        return bool(devices)
    return any(_DEVICE.match(child.name) and (child / "data").is_dir() for child in devices)
