"""Write large traces with known truth: the list form of Ascend, the object form of Kineto."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

EPOCH_NS = 1_736_408_883_000_000_000
FRAMES = ";\r\n".join(f"/opt/train/module_{i}.py({10 * i + 7}): forward_{i}" for i in range(12))
SHAPES = ";\r\n".join(["64,3,224,224", "64,3,11,11", "64", "", ""])


@dataclass
class Truth:
    """What a reader of the written trace has to find; times in ns."""

    events: int = 0
    slices: int = 0
    dur_ns: int = 0


def write_ascend(path: Path, size_bytes: int) -> Truth:
    """Write a trace in list form, times as text, one line, as `trace_view.json` is."""
    return _write(path, size_bytes, _ascend, "[", "]", ", ")


def write_kineto(path: Path, size_bytes: int) -> Truth:
    """Write a trace in object form, one event after another on its own lines, times as numbers."""
    head = '{"schemaVersion": 1, "distributedInfo": {"rank": 0, "world_size": 1},\n "traceEvents": [\n'
    return _write(path, size_bytes, _kineto, head, '\n], "traceName": "trace.json"}', ",\n")


def _write(
    path: Path, size_bytes: int, events: Callable[[int], Iterator[str]], head: str, tail: str, comma: str
) -> Truth:
    truth, written, turn = Truth(), len(head), 0
    with path.open("w") as file:
        file.write(head)
        while written < size_bytes:
            texts = list(events(turn))
            part = (comma if turn else "") + comma.join(texts)
            file.write(part)
            written += len(part)
            truth.events += len(texts)
            truth.slices += sum('"ph": "X"' in text for text in texts)
            truth.dur_ns += _dur_ns(turn) * 4
            turn += 1
        file.write(tail)
    return truth


def _dur_ns(turn: int) -> int:
    return 1_000 + turn * 7 % 90_000


def _us(ns: int) -> str:
    return f"{ns // 1000}.{ns % 1000:03d}"


def _ascend(turn: int) -> Iterator[str]:
    start, dur = EPOCH_NS + turn * 100_003, _us(_dur_ns(turn))
    frames, shapes = json.dumps(FRAMES), json.dumps(SHAPES)
    yield (
        f'{{"ph": "X", "name": "aten::op_{turn % 97}", "pid": 3096504, "tid": 3096504, "ts": "{_us(start)}", '
        f'"dur": {dur}, "cat": "cpu_op", "args": {{"Sequence number": {turn}, "Fwd thread id": 0, '
        f'"Input Dims": {shapes}, "Input type": "float;\\r\\nfloat;\\r\\nfloat", "Call stack": {frames}}}}}'
    )
    yield (
        f'{{"ph": "X", "name": "Enqueue", "pid": 3096504, "tid": 3096504, "ts": "{_us(start + 20)}", '
        f'"dur": {dur}, "cat": "enqueue", "args": {{"correlation_id": {turn}}}}}'
    )
    yield (
        f'{{"name": "Node@launch", "pid": 3170820032, "tid": 3105075, "ts": "{_us(start + 5_000)}", "dur": {dur}, '
        f'"args": {{"Thread Id": 3105075, "Mode": "launch", "level": "node", "id": "aclnn_{turn % 97}", '
        f'"item_id": "Op{turn % 97}", "connection_id": {turn + 5}}}, "ph": "X"}}'
    )
    yield (
        f'{{"name": "Op{turn % 97}", "pid": 3170820512, "tid": 2, "ts": "{_us(start + 9_000)}", "dur": {dur}, '
        f'"args": {{"Model Id": 4294967295, "Task Type": "AI_CORE", "Physic Stream Id": 2, "Task Id": {turn % 65536}, '
        f'"Batch Id": 0, "Subtask Id": 4294967295, "connection_id": {turn + 5}}}, "ph": "X"}}'
    )
    for letter, pid, ts in (("s", 3096504, start), ("f", 3170820512, start + 9_000)):
        yield (
            f'{{"ph": "{letter}", "bp": "e", "name": "torch_to_npu", "id": {start + 9_000}, "pid": {pid}, '
            f'"tid": {3096504 if letter == "s" else 2}, "ts": "{_us(ts)}", "cat": "async_npu"}}'
        )


def _kineto(turn: int) -> Iterator[str]:
    start, dur = EPOCH_NS + turn * 100_003, _us(_dur_ns(turn))
    yield (
        f'  {{\n    "ph": "X", "cat": "cpu_op", "name": "aten::op_{turn % 97}", "pid": 1234, "tid": 1234,\n'
        f'    "ts": {_us(start)}, "dur": {dur},\n    "args": {{\n      "External id": {turn},"Record function id": 0, '
        f'"Sequence number": {turn}, "Fwd thread id": 0, "Ev Idx": {turn}, '
        f'"Input Dims": [[64, 3, 224, 224], [64, 3, 11, 11], [64], []], "Input type": ["float", "float", "float", ""]'
        f"\n    }}\n  }}"
    )
    yield (
        f'  {{\n    "ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1234, "tid": 1234,\n'
        f'    "ts": {_us(start + 5_000)}, "dur": {dur},\n    "args": {{\n      "External id": {turn}, "cbid": 211, '
        f'"correlation": {turn}\n    }}\n  }}'
    )
    yield (
        f'  {{\n    "ph": "X", "cat": "kernel", "name": "void at::native::kernel_{turn % 97}<float, 4>(int, float*)", '
        f'"pid": 0, "tid": 7,\n    "ts": {_us(start + 9_000)}, "dur": {dur},\n    "args": {{\n      '
        f'"External id": {turn}, "queued": 0, "device": 0, "context": 1, "stream": 7, "correlation": {turn}, '
        f'"registers per thread": 32, "shared memory": 0, "blocks per SM": 4.5, "warps per SM": 32.0, '
        f'"grid": [512, 1, 1], "block": [128, 1, 1], "est. achieved occupancy %": 50\n    }}\n  }}'
    )
    yield (
        f'  {{\n    "ph": "X", "cat": "user_annotation", "name": "step", "pid": 1234, "tid": 1234,\n'
        f'    "ts": {_us(start)}, "dur": {dur},\n    "args": {{\n      "External id": {turn}\n    }}\n  }}'
    )
    for letter, pid, ts in (("s", 1234, start + 5_000), ("f", 0, start + 9_000)):
        yield (
            f'  {{\n    "ph": "{letter}", "id": {turn}, "pid": {pid}, "tid": {pid or 7}, "ts": {_us(ts)},\n    '
            f'"cat": "ac2g", "name": "ac2g", "bp": "e"\n  }}'
        )
