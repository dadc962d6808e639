"""Call stacks and module paths of operators, from recorded texts or from the Python frames around them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from ascend_sn._native.nesting import enclosing, nest
from ascend_sn.formats.chrome.events import Events, thread_keys
from ascend_sn.formats.chrome.texts import distinct, text_column
from ascend_sn.model.rows import Int64, Nullable, Rows, Text, conform
from ascend_sn.model.tables import STACK

__all__ = ["Stacks", "stacks_from_frames", "stacks_from_text"]

_MODULE: Final = "nn.Module: "


@dataclass(frozen=True)
class Stacks:
    """The `stack` table, and for every operator its stack and the module it ran in."""

    rows: Rows
    stack_id: Nullable
    module: Text | None


def stacks_from_text(host: Events, strings: Sequence[str]) -> Stacks:
    """Return the stacks written with the operators: frames by semicolons, innermost first."""
    used, numbers = distinct(host.texts["Call stack"])
    frames = [_frames(strings[code]) for code in used.tolist()]
    module = text_column(host.texts["Module Hierarchy"], strings)
    return Stacks(
        conform(STACK, len(frames), stack_id=np.arange(len(frames)), frames=frames),
        Nullable(numbers.astype(np.int64), numbers >= 0),
        module if module.values else None,
    )


def stacks_from_frames(host: Events, frames: Events, strings: Sequence[str]) -> Stacks:
    """Return the stack of Python frames that are open on an operator's thread when it starts.

    Equal stacks get one number: a frame's stack is the pair of its caller's stack and its own name, numbered
    level by level from the outermost frames inwards.
    """
    thread = thread_keys(frames.pid, frames.tid)
    tree = nest(thread, frames.ts, frames.dur)
    chain = _chains(tree.parent, tree.depth, frames.name)
    around = enclosing(thread, frames.ts, frames.dur, thread_keys(host.pid, host.tid), host.ts)
    of_host = np.append(chain.number, np.int64(-1))[around]
    used, numbers = distinct(of_host.astype(np.int32))
    texts, modules = _unrolled(chain, used.tolist(), strings)
    module = Text.of(modules)
    return Stacks(
        conform(STACK, len(texts), stack_id=np.arange(len(texts)), frames=texts),
        Nullable(numbers.astype(np.int64), numbers >= 0),
        Text(np.append(module.codes, np.int32(-1))[numbers], module.values) if module.values else None,
    )


@dataclass(frozen=True)
class _Chains:
    """Distinct stacks: caller's stack (or -1) and name of each, and the stack number of every frame."""

    caller: list[int]
    name: list[int]
    number: Int64


def _chains(parent: Int64, depth: npt.NDArray[np.int32], names: npt.NDArray[np.int32]) -> _Chains:
    number = np.full(len(parent), -1, np.int64)
    caller: list[int] = []
    name: list[int] = []
    order = np.argsort(depth, kind="stable")
    deepest = int(depth.max()) if len(depth) else -1
    bounds = np.searchsorted(depth[order], np.arange(deepest + 2))
    above: npt.NDArray[Any]
    for level in range(deepest + 1):
        at = order[bounds[level] : bounds[level + 1]]
        above = np.where(parent[at] >= 0, number[parent[at]], -1)
        pairs, row = np.unique((above << 32) | names[at].astype(np.int64), return_inverse=True)
        number[at] = len(caller) + row
        caller.extend((pairs >> 32).tolist())
        name.extend((pairs & 0xFFFFFFFF).tolist())
    return _Chains(caller, name, number)


def _unrolled(chain: _Chains, wanted: list[int], strings: Sequence[str]) -> tuple[list[str], list[str | None]]:
    texts: list[str] = []
    modules: list[str | None] = []
    for stack in wanted:
        frames = []
        while stack >= 0:
            frames.append(strings[chain.name[stack]])
            stack = chain.caller[stack]
        texts.append("\n".join(frames))
        path = [frame[len(_MODULE) :] for frame in reversed(frames) if frame.startswith(_MODULE)]
        modules.append(".".join(path) or None)
    return texts, modules


def _frames(text: str) -> str:
    return "\n".join(frame.strip() for frame in text.split(";") if frame.strip())
