"""A reader of its own for the tests of the store: a text file that says how many kernels to give.

A file holds the line `drawn` and then `name=value` lines (rank, kernels, processes, trouble). Calls are counted.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from ascend_sn.errors import FormatError
from ascend_sn.formats.reader import Candidate, Reader, Source
from ascend_sn.model.capture import Capture, ProfileHeader
from ascend_sn.model.ledger import CoverageEntry
from ascend_sn.model.rows import conform
from ascend_sn.model.tables import COUNTER, KERNEL, OPERATOR, STEP

MARK = b"drawn\n"


@dataclass
class DrawnReader:
    """Gives captures and remembers the names of the sources it read."""

    calls: list[str] = field(default_factory=list)

    @property
    def reader(self) -> Reader:
        return Reader("drawn", self._claims, self._members, self._read)

    def _claims(self, candidate: Candidate) -> bool:
        return not candidate.is_folder and candidate.head.startswith(MARK)

    def _members(self, path: Path) -> list[Path]:
        return [path]

    def _read(self, source: Source) -> list[Capture]:
        self.calls.append(source.name)
        lines = source.path.read_text(encoding="utf-8").splitlines()[1:]
        said = dict(line.split("=", 1) for line in lines if line)
        if said.get("trouble"):
            raise FormatError(source.path, said["trouble"])
        return [_capture(source, said, number) for number in range(int(said.get("processes", 1)))]


def write_drawn(path: Path, **said: int | str) -> Path:
    """Write a drawn profile; folders above it are made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(MARK + "".join(f"{name}={value}\n" for name, value in said.items()).encode())
    return path


def _capture(source: Source, said: dict[str, str], number: int) -> Capture:
    count = int(said.get("kernels", 3))
    rank = int(said["rank"]) + number if "rank" in said else None
    header = ProfileHeader(
        format="drawn",
        source=source.name,
        device_kind="npu",
        host="host-0",
        pid=100 + number,
        rank=rank,
        phase=source.phase,
        versions={"drawn": "1"},
        config={"名": "值"},
    )
    capture = Capture(header, coverage=[CoverageEntry("memory_event", "not_requested", turn_on="memory=True")])
    capture.tables["kernel"] = conform(
        KERNEL,
        count,
        kernel_id=list(range(count)),
        device_id=0,
        stream="2",
        name=[f"矩阵乘{at % 2}" for at in range(count)],
        op_type=[None if at % 2 else "MatMulV2" for at in range(count)],
        kind="compute",
        ts_ns=[1_736_408_883_704_643_212 + 10 * at for at in range(count)],
        dur_ns=7,
        block_count=[None if at % 3 else 24 for at in range(count)],
    )
    capture.tables["operator"] = conform(
        OPERATOR, 2, operator_id=[0, 1], thread="main", name=["outer", "inner"], ts_ns=[0, 10], dur_ns=[100, 50]
    )
    capture.tables["step"] = conform(
        STEP, 1, step_id=0, step=5, ts_ns=1_736_408_883_704_643_200, dur_ns=100, origin="mark"
    )
    capture.tables["counter"] = conform(COUNTER, 2, name="AI Core Freq", unit="MHz", ts_ns=[1, 2], value=[1850.5, None])
    if said.get("lost"):
        capture.ledger.add(source.name, "bad_row", place="line 3", count=int(said["lost"]))
    return capture
