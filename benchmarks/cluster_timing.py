"""When everything happens in a simulated job: a discrete simulation, vectorised over the ranks of a stage.

A rank has a host that launches ahead of its device, one compute stream, and a stream per communicator. A kernel
starts when the stream is free and it has been launched. A collective starts on each member when that one comes to
it; bytes move once the last member has come, and it ends on all of them together (up to `end_jitter_ns`). Sends do not
hold the compute stream up, receives do. At the end of a step the host waits for the device. So every wait is a
consequence. All times are whole nanoseconds of one true clock; offsets of hosts come in when files are written.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import log1p, prod, sqrt
from typing import Final

import numpy as np
import numpy.typing as npt

from benchmarks.cluster_faults import Fault
from benchmarks.cluster_program import VECTOR, Call, Kernel, Mark, Model, Receive, Send, stage_program
from benchmarks.cluster_shape import Int64, Links, Shape, Slowing, is_mesh, pairs_of

__all__ = [
    "FIRST_STEP",
    "LAUNCH_NS",
    "PYTHON_NS",
    "Job",
    "Noise",
    "Plan",
    "Record",
    "StageRun",
    "call_of",
    "late_ns",
    "pair_bytes",
    "simulate",
    "token_share",
]

FIRST_STEP: Final = 10
LAUNCH_NS: Final = 4_000
"""Host time of a launch; the device gets to know of it `LATENCY_NS` later."""

LATENCY_NS: Final = 2_000
GAP_NS: Final = 400
"""Least time between two tasks of the compute stream."""

PYTHON_NS: Final = 50_000
"""Host time between two steps."""

ALPHA_NS: Final = 12_000
"""Time of a collective of no bytes."""

SIZED_BY_GROUP: Final = {"allReduce": 2.0, "alltoall": 1.0}
"""Times that a rank sends its bytes, spread over the others."""

Reals = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Noise:
    """Coefficients of variation: of each kernel by itself, and of all kernels of a step together."""

    kernel: float = 0.02
    step: float = 0.02
    end_jitter_ns: int = 0


@dataclass(frozen=True)
class Plan:
    """What is simulated."""

    shape: Shape
    model: Model = field(default_factory=Model)
    steps: int = 5
    noise: Noise = field(default_factory=Noise)
    faults: tuple[Fault, ...] = ()
    seed: int = 1

    def of_kind(self, kind: str) -> tuple[Fault, ...]:
        return tuple(fault for fault in self.faults if fault.kind == kind)


@dataclass(eq=False)
class Record:
    """What one task of a stage's program did; arrays hold a value per rank of the stage.

    Attributes:
        task: What it is.
        step: Place of the step, from 0.
        sequence: Number in its communicator; 0 for a kernel.
        called: Start of the host's call.
        start: Start on the device; of a collective, when this member came to it.
        dur: Length on the device.
        wait: Of a collective, what it waited for the last member.
        transit: Of a collective, what its bytes took.
    """

    task: Kernel | Call | Send | Receive
    step: int
    sequence: int
    called: Int64
    start: Int64
    dur: Int64
    wait: Int64
    transit: Int64

    @property
    def call(self) -> tuple[str, str] | None:
        """Operation and kind of communicator; None for a kernel."""
        return None if isinstance(self.task, Kernel) else call_of(self.task)


@dataclass(eq=False)
class StageRun:
    """All that the ranks of a stage did.

    Attributes:
        records: In the order of the program.
        step_start: Step marks of the hosts, one row per step and one for the end of the last.
        launched: Ends of the hosts' last launch of each step.
        marks: Host times of the marks, by step: what, micro-batch, one per rank.
    """

    records: list[Record] = field(default_factory=list)
    step_start: list[Int64] = field(default_factory=list)
    launched: list[Int64] = field(default_factory=list)
    marks: list[list[tuple[str, int, Int64]]] = field(default_factory=list)


@dataclass(frozen=True, eq=False)
class Job:
    """A simulated job: its plan, its links, and what every stage did."""

    plan: Plan
    links: Links
    stages: list[StageRun]


def simulate(plan: Plan) -> Job:
    """Let the stages run until all are done; the same plan gives the same times."""
    slowings = tuple(Slowing(fault.who, fault.other, fault.value) for fault in plan.of_kind("slow-link"))
    links = Links(plan.shape, slowings)
    between = _Between(plan, links)
    stages = [_Stage(plan, number, links, between) for number in range(plan.shape.pp)]
    running = [stage.run() for stage in stages]
    while running:
        # A turn in which nobody comes any further would be a deadlock of the program.
        before = [stage.progress for stage in stages]
        running = [one for one in running if next(one, "done") != "done"]
        if running and before == [stage.progress for stage in stages]:
            raise RuntimeError("the stages wait for each other")
    return Job(plan, links, [stage.done for stage in stages])


class _Between:
    """What stages tell each other: what they send, and when they come to the collectives of `mp`."""

    def __init__(self, plan: Plan, links: Links) -> None:
        shape = plan.shape
        self.sent: dict[tuple[int, int, bool, int], Record] = {}
        self.arrived: dict[int, list[Int64]] = {}
        members = shape.members("mp")
        self.mp_transit = _transit(links, members, "mp", "allReduce", 512) if members.shape[1] > 1 else None

    def meet(self, step: int, stages: int, dp: int) -> Int64 | None:
        """When the last member of each `mp` group came, per rank of a stage; None while any is still to come."""
        arrivals = self.arrived.get(step, [])
        if len(arrivals) < stages:
            return None
        latest = np.stack(arrivals).reshape(stages, dp, -1).max(axis=(0, 2))
        return np.repeat(latest, len(arrivals[0]) // dp)


class _Stage:
    """The ranks of a stage, side by side."""

    def __init__(self, plan: Plan, number: int, links: Links, between: _Between) -> None:
        shape = plan.shape
        self._plan, self._number, self._links, self._between = plan, number, links, between
        self._count = shape.ranks_of_stage
        self._first = number * self._count
        self._random = np.random.default_rng([plan.seed, number])
        self._extra_random = np.random.default_rng([plan.seed, number, 1])
        ranks = range(self._first, self._first + self._count)
        self._slow = np.array([_slowness(plan, "slow-rank", rank) for rank in ranks])
        self._slow_memory = np.array([_slowness(plan, "slow-memory", rank) for rank in ranks])
        self._tokens = np.array([token_share(plan, rank) for rank in ranks])
        self._late = np.array([late_ns(plan, rank) for rank in ranks], np.int64)
        self._local = {
            kind: members - self._first
            for kind in ("tp", "ep", "dp")
            if (members := _of_stage(shape, kind, self._first, self._count)).shape[1] > 1
        }
        self._transits: dict[Call, Int64] = {}
        self._sequences: dict[str, int] = {}
        self._host = np.zeros(self._count, np.int64)
        self._ready = np.zeros(self._count, np.int64)
        self._streams: dict[str, Int64] = {}
        self.progress = 0
        self.done = StageRun()

    def run(self) -> Iterator[None]:
        """Do all steps; yields while it waits for another stage."""
        plan = self._plan
        kinds = frozenset(plan.shape.group_of)
        columns = sum(round(fault.value) for fault in plan.of_kind("vocabulary"))
        tasks = list(stage_program(plan.model, self._number, plan.shape.pp, kinds, columns))
        jitter = _lognormal(np.random.default_rng([plan.seed, 1_000_003]), plan.noise.step, plan.steps)
        for step in range(plan.steps):
            self._host = self._host + PYTHON_NS
            self.done.step_start.append(self._host)
            self.done.marks.append([])
            sends: list[Record] = []
            for task in tasks:
                self.progress += 1
                if isinstance(task, Kernel):
                    self._compute(task, step, float(jitter[step]))
                elif isinstance(task, Receive):
                    yield from self._receive(task, step)
                elif isinstance(task, Send):
                    sends.append(self._send(task, step))
                elif isinstance(task, Call):
                    yield from self._call(task, step)
                else:
                    self._mark(task, step)
            self.done.launched.append(self._host)
            while any(not record.transit.any() for record in sends):
                yield
            ends = [record.start + record.dur for record in sends]
            self._host = np.maximum.reduce([self._host, self._ready, *self._streams.values(), *ends])
        self.done.step_start.append(self._host + PYTHON_NS)
        self.progress += 1

    def _compute(self, task: Kernel, step: int, jitter: float) -> None:
        random = self._extra_random if task.is_extra else self._random
        share = self._slow * self._tokens if task.of_expert else self._slow
        share = share * self._slow_memory if task.core == VECTOR else share
        spread = _lognormal(random, self._plan.noise.kernel, self._count)
        dur = np.maximum(np.rint(task.base_ns * jitter * share * spread).astype(np.int64), 1)
        called, free = self._launch()
        self._ready = free + dur
        nothing = np.zeros(self._count, np.int64)
        self.done.records.append(Record(task, step, 0, called, free, dur, nothing, nothing))

    def _launch(self) -> tuple[Int64, Int64]:
        """Return when the host calls, and when the device can start what comes next on its compute stream."""
        called = self._host
        self._host = called + LAUNCH_NS + self._late
        return called, np.maximum(self._ready + GAP_NS, self._host + LATENCY_NS)

    def _call(self, task: Call, step: int) -> Iterator[None]:
        called, start = self._launch()
        start = np.maximum(start, self._streams.get(task.kind, start))
        if task.kind == "mp":
            between, shape = self._between, self._plan.shape
            between.arrived.setdefault(step, []).append(start)
            while (met := between.meet(step, shape.pp, shape.dp)) is None:
                yield
            transit = np.repeat(self._mp_transit(), shape.tp)
        else:
            members = self._local[task.kind]
            met = np.empty(self._count, np.int64)
            met[members] = start[members].max(axis=1)[:, None]
            transit = self._transit_of(task, members)
        end = met + transit + self._end_jitter()
        self._streams[task.kind] = end
        if task.blocks:
            self._ready = end
        self.done.records.append(
            Record(task, step, self._next(task.kind), called, start, end - start, met - start, transit)
        )

    def _mp_transit(self) -> Int64:
        transit = self._between.mp_transit
        if transit is None:
            raise RuntimeError("a collective of one member")
        return transit

    def _transit_of(self, task: Call, members: Int64) -> Int64:
        if task not in self._transits:
            of_group = _transit(self._links, members + self._first, task.kind, task.op, task.size_bytes)
            transit = np.empty(self._count, np.int64)
            transit[members] = of_group[:, None]
            self._transits[task] = transit
        return self._transits[task]

    def _end_jitter(self) -> Int64:
        most = self._plan.noise.end_jitter_ns
        return self._random.integers(0, most + 1, self._count) if most else np.zeros(self._count, np.int64)

    def _send(self, task: Send, step: int) -> Record:
        called, start = self._launch()
        nothing = np.zeros(self._count, np.int64)
        record = Record(task, step, self._next("send"), called, start, nothing, nothing, nothing)
        self.done.records.append(record)
        self._between.sent[step, self._number, task.forward, task.micro_batch] = record
        return record

    def _receive(self, task: Receive, step: int) -> Iterator[None]:
        called, start = self._launch()
        source = self._number - 1 if task.forward else self._number + 1
        key = (step, source, task.forward, task.micro_batch)
        while key not in self._between.sent:
            yield
        sent = self._between.sent[key]
        # The sends of a direction follow each other; the end of the one before is known, it was received before.
        stream = f"from {source}"
        sent.start = np.maximum(sent.start, self._streams.get(stream, sent.start))
        ranks = self._first + np.arange(self._count)
        far = ranks + (source - self._number) * self._count
        transit = ALPHA_NS + self._links.time_ns(task.size_bytes, far, ranks)
        met = np.maximum(start, sent.start)
        end = met + transit
        sent.dur, sent.wait, sent.transit = end - sent.start, met - sent.start, transit
        self._ready = end
        self._streams[stream] = end
        self.done.records.append(
            Record(task, step, self._next("receive"), called, start, end - start, met - start, transit)
        )

    def _mark(self, task: Mark, step: int) -> None:
        if task.what == "join" and "dp" in self._streams:
            self._ready = np.maximum(self._ready, self._streams["dp"])
        else:
            self.done.marks[step].append((task.what, task.micro_batch, self._host))

    def _next(self, kind: str) -> int:
        self._sequences[kind] = self._sequences.get(kind, -1) + 1
        return self._sequences[kind]


def _of_stage(shape: Shape, kind: str, first: int, count: int) -> Int64:
    members = shape.members(kind)
    return members[(members[:, 0] >= first) & (members[:, 0] < first + count)]


def _slowness(plan: Plan, kind: str, rank: int) -> float:
    return prod(fault.value for fault in plan.of_kind(kind) if fault.who == rank)


def call_of(task: Call | Send | Receive) -> tuple[str, str]:
    """Operation and kind of communicator of a call."""
    if isinstance(task, Call):
        return task.op, task.kind
    return ("send" if isinstance(task, Send) else "receive"), "pp"


def token_share(plan: Plan, rank: int) -> float:
    """Tokens of a rank's experts, as a multiple of an even share; what one gets more, the others get less."""
    place, count = plan.shape.expert_place(rank), plan.shape.ep
    return prod(
        fault.value if fault.who == place else (count - fault.value) / (count - 1) for fault in plan.of_kind("tokens")
    )


def late_ns(plan: Plan, rank: int) -> int:
    """Host time of a launch beyond the usual."""
    return sum(round(1_000 * fault.value) for fault in plan.of_kind("late-host") if fault.who == rank)


def _transit(links: Links, members: Int64, kind: str, op: str, size_bytes: int) -> Int64:
    """What a collective of each group (a row) takes once all are there: its slowest link decides."""
    bytes_of_pair = pair_bytes(members.shape[1], kind, op, size_bytes)
    slowest: Int64 = links.time_ns(bytes_of_pair, *pairs_of(members, kind)).max(axis=1)
    return ALPHA_NS + slowest


def pair_bytes(size: int, kind: str, op: str, size_bytes: int) -> int:
    """Bytes that go over one link of a group in a collective."""
    sent = SIZED_BY_GROUP[op] * size_bytes
    return round(sent / size) if is_mesh(kind, size) else round(sent * (size - 1) / size)


def _lognormal(random: np.random.Generator, variation: float, count: int) -> Reals:
    """Factors of mean 1 with a coefficient of variation."""
    sigma = sqrt(log1p(variation * variation))
    return np.exp(sigma * random.standard_normal(count) - sigma * sigma / 2)
