"""What a rank of a simulated job does in a step: a transformer's kernels, collectives, the 1F1B order of a pipeline."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

__all__ = ["VECTOR", "Call", "Kernel", "Mark", "Model", "Receive", "Send", "Task", "stage_program"]

US: Final = 1_000

CUBE, VECTOR, MIXED = "AI_CORE", "AI_VECTOR_CORE", "MIX_AIC"


@dataclass(frozen=True)
class Model:
    """Sizes of the work; the kernels' times are for these."""

    layers: int = 2
    micro_batches: int = 4
    hidden: int = 4096
    sequence: int = 2048


@dataclass(frozen=True)
class Kernel:
    """A compute kernel; `of_expert` marks those whose time goes with the tokens of an expert rank."""

    op_type: str
    core: str
    base_ns: int
    inputs: tuple[tuple[int, ...], ...]
    output: tuple[int, ...]
    of_expert: bool = False
    is_extra: bool = False


@dataclass(frozen=True)
class Call:
    """A collective of the rank's group of a kind; what follows on the compute stream waits for it if it `blocks`."""

    op: str
    kind: str
    size_bytes: int
    blocks: bool = True


@dataclass(frozen=True)
class Send:
    """Activations to the next stage (`forward`), or gradients to the one before."""

    micro_batch: int
    forward: bool
    size_bytes: int


@dataclass(frozen=True)
class Receive:
    micro_batch: int
    forward: bool
    size_bytes: int


@dataclass(frozen=True)
class Mark:
    """A point of the program: a phase of a micro-batch begins or ends, or gradients have to be there (`join`)."""

    what: str
    micro_batch: int = -1


Task = Kernel | Call | Send | Receive | Mark


def stage_program(model: Model, stage: int, stages: int, kinds: frozenset[str], vocabulary: int = 0) -> Iterator[Task]:
    """Yield the tasks of a step of a stage, in the order of its compute stream.

    Args:
        model: Sizes.
        stage: Which one, from 0.
        stages: How many there are.
        kinds: Kinds of communicators that have more than one member.
        vocabulary: Columns of an output layer of the last stage; 0 for none.
    """
    count = model.micro_batches
    output = vocabulary if stage == stages - 1 else 0
    warm_up = min(stages - 1 - stage, count)
    for micro_batch in range(warm_up):
        yield from _forward(model, stage, stages, kinds, micro_batch, output)
    for micro_batch in range(count):
        if micro_batch + warm_up < count:
            yield from _forward(model, stage, stages, kinds, micro_batch + warm_up, output)
        yield from _backward(model, stage, stages, kinds, micro_batch)
    yield Mark("join")
    if "mp" in kinds:
        yield Call("allReduce", "mp", 512)
    yield Mark("optimizer")
    for _ in range(4):
        yield Kernel("ApplyAdamW", VECTOR, 160 * US, ((8 * model.hidden, 1024),), (8 * model.hidden, 1024))
    yield Mark("end")


def _forward(
    model: Model, stage: int, stages: int, kinds: frozenset[str], micro_batch: int, output: int
) -> Iterator[Task]:
    if stage > 0:
        yield Receive(micro_batch, True, _activation_bytes(model))
    yield Mark("forward", micro_batch)
    hidden, tokens = model.hidden, model.sequence
    for _ in range(model.layers):
        yield _vector("RmsNorm", 18, tokens, hidden)
        yield _matmul(150, tokens, hidden, 3 * hidden)
        yield _attention("FlashAttentionScore", 120, tokens, hidden)
        yield _matmul(60, tokens, hidden, hidden)
        yield from _reduced(model, kinds)
        yield _vector("Add", 12, tokens, hidden)
        yield _vector("RmsNorm", 18, tokens, hidden)
        yield from _exchanged(model, kinds)
        yield _matmul(180, tokens, hidden, 4 * hidden, of_expert="ep" in kinds)
        yield _vector("Swish", 20, tokens, 4 * hidden, of_expert="ep" in kinds)
        yield _matmul(170, tokens, 4 * hidden, hidden, of_expert="ep" in kinds)
        yield from _exchanged(model, kinds)
        yield from _reduced(model, kinds)
    if stage == stages - 1:
        yield from _loss(model, output)
    yield Mark("forward-end", micro_batch)
    if stage < stages - 1:
        yield Send(micro_batch, True, _activation_bytes(model))


def _backward(model: Model, stage: int, stages: int, kinds: frozenset[str], micro_batch: int) -> Iterator[Task]:
    if stage < stages - 1:
        yield Receive(micro_batch, False, _activation_bytes(model))
    yield Mark("backward", micro_batch)
    hidden, tokens = model.hidden, model.sequence
    for _ in range(model.layers):
        yield from _exchanged(model, kinds)
        for rows, columns in ((tokens, 4 * hidden), (4 * hidden, hidden)):
            yield _matmul(165, rows, hidden, columns, of_expert="ep" in kinds)
        yield _vector("SwiGluGrad", 26, tokens, 4 * hidden, of_expert="ep" in kinds)
        for rows, columns in ((tokens, hidden), (hidden, 4 * hidden)):
            yield _matmul(170, rows, 4 * hidden, columns, of_expert="ep" in kinds)
        yield from _exchanged(model, kinds)
        yield from _reduced(model, kinds)
        yield _vector("RmsNormGrad", 30, tokens, hidden)
        for rows, columns in ((tokens, hidden), (hidden, hidden)):
            yield _matmul(60, rows, hidden, columns)
        yield _attention("FlashAttentionScoreGrad", 260, tokens, hidden)
        for rows, columns in ((tokens, hidden), (hidden, 3 * hidden)):
            yield _matmul(150, rows, 3 * hidden, columns)
        yield from _reduced(model, kinds)
        yield _vector("RmsNormGrad", 30, tokens, hidden)
        if "dp" in kinds and micro_batch == model.micro_batches - 1:
            yield Call("allReduce", "dp", 8_388_608, blocks=False)
    yield Mark("backward-end", micro_batch)
    if stage > 0:
        yield Send(micro_batch, False, _activation_bytes(model))


def _loss(model: Model, output: int) -> Iterator[Task]:
    if output:
        shape, time_ns = (model.sequence, output), 40 * US * output // model.hidden
        inputs = ((model.sequence, model.hidden), (model.hidden, output))
        yield Kernel("MatMulV2", CUBE, time_ns, inputs, shape, is_extra=True)
        yield Kernel("LogSoftmaxV2", VECTOR, time_ns // 8, (shape,), shape, is_extra=True)
    yield _vector("ReduceMean", 8, model.sequence, 1)


def _reduced(model: Model, kinds: frozenset[str]) -> Iterator[Task]:
    if "tp" in kinds:
        yield Call("allReduce", "tp", 2_097_152)


def _exchanged(model: Model, kinds: frozenset[str]) -> Iterator[Task]:
    if "ep" in kinds:
        yield Call("alltoall", "ep", 2_097_152)


def _activation_bytes(model: Model) -> int:
    return 2 * model.sequence * model.hidden // 8


def _vector(op_type: str, us: int, rows: int, columns: int, *, of_expert: bool = False) -> Kernel:
    return Kernel(op_type, VECTOR, us * US, ((rows, columns),), (rows, columns), of_expert)


def _matmul(us: int, rows: int, inner: int, columns: int, *, of_expert: bool = False) -> Kernel:
    return Kernel("MatMulV2", CUBE, us * US, ((rows, inner), (inner, columns)), (rows, columns), of_expert)


def _attention(op_type: str, us: int, tokens: int, hidden: int) -> Kernel:
    shape = (tokens, 1, hidden)
    return Kernel(op_type, MIXED, us * US, (shape, shape, shape), shape)
