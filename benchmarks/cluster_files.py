"""Write the profile of one rank of a simulated job as torch_npu does: text export, level 1, profile_memory.

What a reader needs is there: marks of steps and phases, launches, kernels with shapes, collectives with their parts,
traffic between ranks, the exporter's step trace, memory. What nobody joins on (arrows, hardware ratios, tasks inside of
collectives) is left out, so that a thousand ranks fit on a disk.

All ranks of a stage do the same in the same order, so their files differ in numbers only: every line is a template that
is made once per stage, and a rank's file is one formatting of the templates in the order of its times.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from benchmarks.cluster_memory import write_memory
from benchmarks.cluster_program import Call, Kernel, Send
from benchmarks.cluster_shape import HCCS, RDMA, Int64, is_mesh
from benchmarks.cluster_timing import (
    FIRST_STEP,
    LAUNCH_NS,
    PYTHON_NS,
    Job,
    Record,
    call_of,
    late_ns,
    pair_bytes,
    token_share,
)
from benchmarks.cluster_truth import breakdowns, clock_offset_ns

__all__ = ["EPOCH_NS", "StageWriter"]

EPOCH_NS: Final = 1_760_000_000_000_000_000
NONE: Final = 4_294_967_295
COMPUTE_STREAM: Final = 2
BYTES_OF_ELEMENT: Final = 2

COLUMNS: Final = (
    "Step Id,Device_id,Model ID,Task ID,Stream ID,Name,Type,OP State,Accelerator Core,Start Time(us),Duration(us),"
    "Wait Time(us),Block Dim,Mix Block Dim,HF32 Eligible,Input Shapes,Input Data Types,Input Formats,Output Shapes,"
    "Output Data Types,Output Formats,Context ID"
)
STEP_COLUMNS: Final = (
    "Device_id,Step,Computing,Communication(Not Overlapped),Overlapped,Communication,Free,Stage,Bubble,"
    "Communication(Not Overlapped and Exclude Receive),Preparing"
)


@dataclass(frozen=True)
class _Lines:
    """Templates of a record's lines; numbers are filled in, `@kind@` is for the digits of the rank's communicator."""

    details: str
    device: str
    launch: str
    parts: str


class StageWriter:
    """Writes the ranks of a stage."""

    def __init__(self, job: Job, stage: int) -> None:
        self._job, self._stage = job, stage
        self._first = stage * job.plan.shape.ranks_of_stage
        run = job.stages[stage]
        self._run, self._parts = run, breakdowns(run)
        self._start = np.stack([record.start for record in run.records])
        self._dur = np.stack([record.dur for record in run.records])
        self._called = np.stack([record.called for record in run.records])
        self._calls = np.array([not isinstance(record.task, Kernel) for record in run.records])
        self._wait = np.stack([record.wait for record in run.records])
        self._transit = np.stack([record.transit for record in run.records])
        self._lines: dict[float, list[_Lines]] = {}

    def write(self, rank: int, folder: Path) -> Path:
        """Write the profile of a rank below `folder` and return its folder."""
        host, pid = rank // self._job.plan.shape.ranks_per_host, 40_000 + rank
        run = folder / f"node-{host}_{pid}_20251009085320000_ascend_pt"
        output = run / "ASCEND_PROFILER_OUTPUT"
        output.mkdir(parents=True)
        at, clock = rank - self._first, EPOCH_NS + clock_offset_ns(self._job, rank)
        share = token_share(self._job.plan, rank)
        if share not in self._lines:
            self._lines[share] = [_lines_of(number, record, share) for number, record in enumerate(self._run.records)]
        lines = self._lines[share]
        (run / f"profiler_info_{rank}.json").write_text(self._info(rank, at, clock))
        (run / "profiler_metadata.json").write_text(self._metadata(rank))
        (output / "kernel_details.csv").write_text(self._details(lines, rank, at, clock), newline="")
        (output / "trace_view.json").write_text(self._trace(lines, rank, at, clock))
        (output / "step_trace_time.csv").write_text(self._step_trace(rank, at))
        if self._calls.any():
            (output / "communication.json").write_text(self._communication(lines, rank, at, clock))
            (output / "communication_matrix.json").write_text(self._matrix(rank))
        write_memory(self._job, self._run, rank, at, clock, output)
        return run

    def _info(self, rank: int, at: int, clock: int) -> str:
        end = int(self._run.step_start[-1][at])
        schedule = {"wait": 0, "active": self._job.plan.steps, "warmup": 1, "repeat": 1, "skip_first": FIRST_STEP - 1}
        common = {
            "activities": ["ProfilerActivity.CPU", "ProfilerActivity.NPU"],
            "schedule": schedule,
            "record_shapes": False,
            "profile_memory": True,
            "with_stack": False,
            "with_flops": False,
            "with_modules": False,
        }
        experimental = {
            "_profiler_level": "Level1",
            "_aic_metrics": "ACL_AICORE_NONE",
            "_data_simplification": True,
            "_export_type": ["text"],
        }
        return json.dumps(
            {
                "config": {"common_config": common, "experimental_config": experimental},
                "start_info": {"syscnt_enable": True, "freq": 100, "start_cnt": 0, "start_monotonic": 0},
                "end_info": {"collectionTimeEnd": clock + end, "MonotonicTimeEnd": end},
                "rank_id": rank,
            }
        )

    def _metadata(self, rank: int) -> str:
        shape = self._job.plan.shape
        groups = {}
        for kind, group_of in shape.group_of.items():
            group = group_of[rank]
            groups[group.id] = {
                "group_name": kind,
                "group_rank": group.ranks.index(rank),
                "global_ranks": list(group.ranks),
            }
        sizes = {
            "tensor_model_parallel_size": shape.tp,
            "pipeline_model_parallel_size": shape.pp,
            "data_parallel_size": shape.dp,
            "expert_model_parallel_size": shape.ep,
            "world_size": shape.ranks,
            "rank": rank,
        }
        return json.dumps({"distributed_args": sizes, "parallel_group_info": groups})

    def _details(self, lines: Sequence[_Lines], rank: int, at: int, clock: int) -> str:
        start, dur = self._start[:, at], self._dur[:, at]
        order = np.argsort(start, kind="stable")
        start, dur = start[order], dur[order]
        idle = np.zeros_like(start)
        idle[1:] = np.maximum(start[1:] - np.maximum.accumulate(start + dur)[:-1], 0)
        numbers = _us(start + clock, dur, idle)
        device = str(rank % self._job.plan.shape.ranks_per_host)
        text = "".join([lines[row].details for row in order.tolist()]) % numbers
        return f"{COLUMNS}\r\n{self._named(text, rank).replace('@device@', device)}"

    def _trace(self, lines: Sequence[_Lines], rank: int, at: int, clock: int) -> str:
        pid, device = 40_000 + rank, rank % self._job.plan.shape.ranks_per_host
        launch = np.full(len(lines), LAUNCH_NS + late_ns(self._job.plan, rank), np.int64)
        events = self._host_events(at, clock)
        events.append(",".join([one.launch for one in lines]) % _us(self._called[:, at] + clock, launch))
        events.append(",".join([one.device for one in lines]) % _us(self._start[:, at] + clock, self._dur[:, at]))
        processes = {"Python": (pid, "CPU"), "CANN": (pid << 10 | 7 << 5, "CPU")}
        processes |= {
            "Ascend Hardware": (pid << 10 | 13 << 5 | device, f"NPU {device}"),
            "Communication": (pid << 10 | 15 << 5 | device, f"NPU {device}"),
        }
        for name, (number, label) in processes.items():
            events += [
                _metadata("process_name", number, 0, "name", name),
                _metadata("process_labels", number, 0, "labels", label),
            ]
        for kind, group_of in self._job.plan.shape.group_of.items():
            thread = f"Group {group_of[rank].id} Communication"
            events.append(_metadata("thread_name", processes["Communication"][0], _THREADS[kind], "name", thread))
        text = self._named("[" + ",".join(events) + "]", rank)
        for name, mark in (("Python", "@pid@"), ("CANN", "@cann@"), ("Ascend Hardware", "@npu@")):
            text = text.replace(mark, str(processes[name][0]))
        return text.replace("@hccl@", str(processes["Communication"][0]))

    def _host_events(self, at: int, clock: int) -> list[str]:
        """Marks of steps and phases, and the wait for the device at the end of each step."""
        run = self._run
        events = []
        for step, marks in enumerate(run.marks):
            start, end = int(run.step_start[step][at]), int(run.step_start[step + 1][at])
            events.append(_operator(f"ProfilerStep#{FIRST_STEP + step}", start + clock, end - start))
            moments = {(what, micro_batch): int(moment[at]) + clock for what, micro_batch, moment in marks}
            for (what, micro_batch), moment in moments.items():
                if what in ("forward", "backward"):
                    events.append(_operator(what, moment, moments[f"{what}-end", micro_batch] - moment))
                elif what == "optimizer":
                    events.append(_operator("Optimizer.step#AdamW.step", moment, moments["end", -1] - moment))
            waiting = int(run.launched[step][at])
            call = '{"name":"AscendCL@aclrtSynchronizeDevice","pid":@cann@,"tid":@pid@,"ts":"%d.%03d","dur":%d.%03d,'
            call += '"args":{"level":"acl"},"ph":"X"}'
            events.append(call % (*divmod(waiting + clock, 1000), *divmod(end - PYTHON_NS - waiting, 1000)))
        return events

    def _step_trace(self, rank: int, at: int) -> str:
        device = rank % self._job.plan.shape.ranks_per_host
        rows = [STEP_COLUMNS]
        for step, parts in enumerate(self._parts):
            one = {name: int(values[at]) for name, values in parts.items()}
            span = one["last"] - one["first"]
            figures = (
                *(one["compute"], one["exposed_comm"], one["overlapped"], one["communication"]),
                *(span - one["compute"] - one["exposed_comm"], span - one["bubble"], one["bubble"]),
                *(one["exposed_comm"] - one["bubble"], one["first"] - int(self._run.step_start[step][at])),
            )
            rows.append(
                ",".join([str(device), str(FIRST_STEP + step), *(f"{ns // 1000}.{ns % 1000:03d}" for ns in figures)])
            )
        return "\n".join(rows) + "\n"

    def _communication(self, lines: Sequence[_Lines], rank: int, at: int, clock: int) -> str:
        start, dur = self._start[:, at], self._dur[:, at]
        wait, transit = self._wait[:, at], self._transit[:, at]
        numbers = _us_and_ms(start + clock, dur, transit, wait, dur - wait - transit)
        per_record = len(numbers) // len(lines)
        steps = []
        for step in range(self._job.plan.steps):
            found: dict[str, list[str]] = {"p2p": [], "collective": []}
            for number, record in enumerate(self._run.records):
                if record.step == step and not isinstance(record.task, Kernel):
                    text = lines[number].parts % tuple(numbers[number * per_record : (number + 1) * per_record])
                    found["collective" if isinstance(record.task, Call) else "p2p"].append(text)
            blocks = ",".join(f'"{name}":{{{",".join(texts)}}}' for name, texts in found.items())
            steps.append(f'"step{FIRST_STEP + step}":{{{blocks}}}')
        return self._named("{" + ",".join(steps) + "}", rank)

    def _matrix(self, rank: int) -> str:
        steps = {}
        for step in range(self._job.plan.steps):
            found: dict[str, dict[str, Any]] = {"p2p": {}, "collective": {}}
            for (kind, op, size, target), count in self._traffic(step, rank).items():
                group = self._job.plan.shape.group_of[kind][rank]
                block = found["p2p" if op == "send" else "collective"].setdefault(
                    f"{op.lower()}-total@{group.hash}", {}
                )
                for other in _targets(group.ranks, rank, kind, target):
                    src, dst = np.array([rank]), np.array([other])
                    link = block.setdefault(
                        f"{group.ranks.index(rank)}-{group.ranks.index(other)}",
                        {
                            "Transport Type": HCCS if self._job.links.inside_host(src, dst)[0] else RDMA,
                            "bytes": 0,
                            "ns": 0,
                        },
                    )
                    link["bytes"] += count * size
                    link["ns"] += count * int(self._job.links.time_ns(size, src, dst)[0])
            for block in (block for blocks in found.values() for block in blocks.values()):
                for link in block.values():
                    size, time_ns = link.pop("bytes"), link.pop("ns")
                    link |= {"Transit Size(MB)": size / 1e6, "Transit Time(ms)": time_ns / 1e6}
                    link["Bandwidth(GB/s)"] = round(size / time_ns, 4)
            steps[f"step{FIRST_STEP + step}"] = found
        return json.dumps(steps)

    def _traffic(self, step: int, rank: int) -> dict[tuple[str, str, int, int | None], int]:
        """How often a rank sent how many bytes: kind of communicator, operation, bytes of a link, and to whom."""
        shape = self._job.plan.shape
        counts: dict[tuple[str, str, int, int | None], int] = {}
        for record in self._run.records:
            task = record.task
            if record.step != step or not isinstance(task, Call | Send):
                continue
            key: tuple[str, str, int, int | None]
            if isinstance(task, Call):
                size = len(shape.group_of[task.kind][rank].ranks)
                key = (task.kind, task.op, pair_bytes(size, task.kind, task.op, task.size_bytes), None)
            else:
                key = ("pp", "send", task.size_bytes, rank + (1 if task.forward else -1) * shape.ranks_of_stage)
            counts[key] = counts.get(key, 0) + 1
        return counts

    def _named(self, text: str, rank: int) -> str:
        for kind, group_of in self._job.plan.shape.group_of.items():
            hash_ = group_of[rank].hash
            text = text.replace(f"@{kind}@", hash_[-3:]).replace(f"@{kind}-hash@", hash_)
        return text


_THREADS: Final = {kind: place for place, kind in enumerate(("tp", "ep", "dp", "pp", "mp"))}


def _lines_of(number: int, record: Record, share: float) -> _Lines:
    task, step = record.task, FIRST_STEP + record.step
    launched = '{"name":"Node@launch","pid":@cann@,"tid":@pid@,"ts":"%%d.%%03d","dur":%%d.%%03d,"args":{"level":"node",'
    launched += '"item_id":"%s","connection_id":%d},"ph":"X"}'
    ran = '{"name":"%s","pid":%s,"tid":%d,"ts":"%%d.%%03d","dur":%%d.%%03d,"args":{%s,"connection_id":%d},"ph":"X"}'
    times = "%d.%03d\t,%d.%03d,%d.%03d"
    if isinstance(task, Kernel):
        name = f"aclnn{task.op_type}_{task.op_type}"
        inputs, output = (_scaled(task, sizes, share) for sizes in (task.inputs, (task.output,)))
        types, formats = (";".join([word] * len(task.inputs)) for word in ("DT_BF16", "ND"))
        details = (
            f"{step},@device@,{NONE},{number % 65536},{COMPUTE_STREAM},{name},{task.op_type},dynamic,"
            f'{task.core},{times},24,0,NO,"""{inputs}""",{types},{formats},"""{output}""",DT_BF16,ND,N/A\r\n'
        )
        about = f'"Task Type":"AI_CORE","Physic Stream Id":{COMPUTE_STREAM},"Task Id":{number % 65536}'
        device = ran % (name, "@npu@", COMPUTE_STREAM, about, number + 1)
        return _Lines(details, device, launched % (name, number + 1), "")
    op, kind = call_of(task)
    name = f"hcom_{op}__@{kind}@_{record.sequence}_1"
    nothing = ",".join(["N/A"] * 10)
    details = f"{step},@device@,{NONE},N/A,N/A,{name},hcom_{op}_,N/A,COMMUNICATION,{times},{nothing}\r\n"
    about = f'"data_type":"BFP16","alg_type":"MESH-RING","count":{task.size_bytes // BYTES_OF_ELEMENT}'
    device = ran % (name, "@hccl@", _THREADS[kind], about, number + 1)
    parts = (
        f'"{name}@@{kind}-hash@":{{"Communication Time Info":{{"Start Timestamp(us)":%d.%03d,'
        '"Elapse Time(ms)":%d.%06d,"Transit Time(ms)":%d.%06d,"Wait Time(ms)":%d.%06d,'
        '"Synchronization Time(ms)":%d.%06d,"Idle Time(ms)":%d.%06d}}'
    )
    return _Lines(details, device, launched % (name, number + 1), parts)


def _scaled(task: Kernel, tensors: Iterable[tuple[int, ...]], share: float) -> str:
    """Shapes as text; the tokens of an expert rank are the first dimension."""
    texts = []
    for sizes in tensors:
        first = round(sizes[0] * share) if task.of_expert and share != 1 else sizes[0]
        texts.append(",".join(map(str, (first, *sizes[1:]))))
        share = 1 if task.core == "AI_CORE" else share  # of a matrix product, only the left factor has tokens
    return ";".join(texts)


def _targets(members: tuple[int, ...], rank: int, kind: str, target: int | None) -> list[int]:
    """Whom a rank sends to: the one that is meant, all others of a mesh, the next one of a ring."""
    if target is not None:
        return [target]
    if is_mesh(kind, len(members)):
        return [other for other in members if other != rank]
    return [members[(members.index(rank) + 1) % len(members)]]


def _us(*columns: Int64) -> tuple[int, ...]:
    """Whole microseconds and the nanoseconds behind the point, of each column, row by row."""
    return tuple(np.stack([part for column in columns for part in divmod(column, 1_000)], axis=1).ravel().tolist())


def _us_and_ms(start: Int64, dur: Int64, transit: Int64, wait: Int64, idle: Int64) -> list[int]:
    columns = [*divmod(start, 1_000)]
    for column in (dur, transit, wait, wait, idle):
        columns += divmod(column, 1_000_000)
    found: list[int] = np.stack(columns, axis=1).ravel().tolist()
    return found


def _operator(name: str, ts: int, dur: int) -> str:
    text = '{"ph":"X","name":"%s","pid":@pid@,"tid":@pid@,"ts":"%d.%03d","dur":%d.%03d,"cat":"cpu_op",'
    return (text + '"args":{"Sequence number":-1,"Fwd thread id":0}}') % (name, *divmod(ts, 1000), *divmod(dur, 1000))


def _metadata(kind: str, pid: int, tid: int, key: str, value: str) -> str:
    return f'{{"name":"{kind}","pid":{pid},"tid":{tid},"args":{{"{key}":"{value}"}},"ph":"M"}}'
