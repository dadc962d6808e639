"""Memory of a rank of a simulated job: the curve of its allocator, and the blocks that make it."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from benchmarks.cluster_timing import Job, StageRun
from benchmarks.cluster_truth import leak_bytes

__all__ = ["ACTIVATION_BYTES", "FLOOR_BYTES", "write_memory"]

FLOOR_BYTES: Final = 8 << 30
"""Parameters, gradients and the optimizer's state: allocated all the time."""

ACTIVATION_BYTES: Final = 256 << 20
"""What a micro-batch keeps from its forward to its backward pass."""

RESERVED_BYTES: Final = 24 << 30

_CURVE: Final = (
    "Component,Timestamp(us),Total Allocated(MB),Total Reserved(MB),Total Active(MB),Stream Ptr,Device Type\r\n"
)
_BLOCKS: Final = (
    "Name,Size(KB),Allocation Time(us),Release Time(us),Active Release Time(us),Duration(us),Active Duration(us),"
    "Allocation Total Allocated(MB),Allocation Total Reserved(MB),Allocation Total Active(MB),"
    "Release Total Allocated(MB),Release Total Reserved(MB),Release Total Active(MB),Stream Ptr,Device Type\r\n"
)


def write_memory(job: Job, run: StageRun, rank: int, at: int, clock: int, output: Path) -> None:
    """Write memory_record.csv and operator_memory.csv of a rank.

    Args:
        job: The job.
        run: What the rank's stage did.
        rank: The rank.
        at: Its place in the stage.
        clock: What is added to its times.
        output: Folder of the exports.
    """
    leak, level, device = leak_bytes(job, rank), FLOOR_BYTES, rank % job.plan.shape.ranks_per_host
    curve, blocks = [_CURVE], [_BLOCKS]
    for step, marks in enumerate(run.marks):
        curve.append(_sample(int(run.step_start[step][at]) + clock, level, device))
        live: dict[int, tuple[int, int]] = {}
        for what, micro_batch, moments in marks:
            moment = int(moments[at]) + clock
            if what == "forward":
                level += ACTIVATION_BYTES
                live[micro_batch] = (moment, level)
            elif what == "backward-end":
                level -= ACTIVATION_BYTES
                blocks.append(_block("aten::linear", ACTIVATION_BYTES, live.pop(micro_batch), (moment, level), device))
            elif what == "optimizer" and leak:
                level += leak
                blocks.append(_block("aten::cat", leak, (moment, level), None, device))
            else:
                continue
            curve.append(_sample(moment, level, device))
    curve.append(_sample(int(run.step_start[-1][at]) + clock, level, device))
    (output / "memory_record.csv").write_text("".join(curve), newline="")
    (output / "operator_memory.csv").write_text("".join(blocks), newline="")


def _sample(moment: int, level: int, device: int) -> str:
    return f"PTA,{_us(moment)}\t,{_mib(level)},{_mib(RESERVED_BYTES)},{_mib(level)},1,NPU:{device}\r\n"


def _block(name: str, size: int, begin: tuple[int, int], end: tuple[int, int] | None, device: int) -> str:
    def totals(level: int) -> str:
        return f"{_mib(level)},{_mib(RESERVED_BYTES)},{_mib(level)}"

    if end is None:
        released, after = ",,,", ",,"
    else:
        length = _us(end[0] - begin[0])
        released, after = f"{_us(end[0])}\t,{_us(end[0])}\t,{length},{length}", totals(end[1])
    return f"{name},{size / 1024!r},{_us(begin[0])}\t,{released},{totals(begin[1])},{after},1,NPU:{device}\r\n"


def _mib(size: int) -> str:
    """A multiple of 512 bytes is a finite decimal."""
    return repr(size / (1 << 20))


def _us(ns: int) -> str:
    return f"{ns // 1000}.{ns % 1000:03d}"
