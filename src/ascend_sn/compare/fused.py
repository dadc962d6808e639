"""Which chains of kernels became one kernel between two runs (or the other way round), and what that brought."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from typing import Final, Literal

import msgspec
import numpy as np
from duckdb import DuckDBPyConnection

from ascend_sn.analysis.registry import Need
from ascend_sn.compare.sequences import MOST_EDITS, Hunk, hunks
from ascend_sn.model.kinds import COMPUTE_KINDS
from ascend_sn.model.rows import Int64
from ascend_sn.replay.choose import steady_steps
from ascend_sn.replay.jobs import jobs

__all__ = ["FUSED_NEEDS", "MOST_RANKS", "FusedChain", "FusedChanges", "fused_changes", "ranks_to_align"]

FUSED_NEEDS: Final = (Need("kernel"),)
"""What both runs must have recorded."""

MOST_RANKS: Final = 8
"""Ranks that are looked at, spread evenly over those of both runs."""

NAMED_KERNELS: Final = 12
"""Different kernels in a row that a chain names."""

State = Literal["fused", "split"]


class FusedChain(msgspec.Struct, frozen=True, kw_only=True):
    """A chain of kernels in the place of which the other run has fewer kernels, one of them of a new type.

    Attributes:
        state: `fused`: the candidate has fewer kernels; `split`: it has more.
        before: Types of the kernels of the baseline, in order; `Mul x3` for three in a row, `(Mul, Add) x3` for pairs.
        after: The same of the candidate.
        before_kernels: Kernels of the chain in the baseline.
        after_kernels: Kernels in their place in the candidate.
        count: How often per step and rank.
        before_ns: Time of all of them in the baseline, ns per step and rank.
        after_ns: The same in the candidate.
        gain_ns: What the candidate saves of it; negative where it lost.
        base_example: Profile and kernel of the baseline: the first of the chain, where it takes longest.
        candidate_example: The same of the candidate.
    """

    state: State
    before: str
    after: str
    before_kernels: int
    after_kernels: int
    count: float
    before_ns: float
    after_ns: float
    gain_ns: float
    base_example: tuple[int, int]
    candidate_example: tuple[int, int]


class FusedChanges(msgspec.Struct, frozen=True, kw_only=True):
    """What was fused and what was split, the largest gain first.

    Attributes:
        chains: The chains.
        rank_count: Ranks that were looked at.
        unlike_count: Ranks of these whose kernels differ by more than can be aligned; they are not in the chains.
        base_kernels: Compute kernels per step and rank on the busiest stream of the baseline.
        candidate_kernels: The same of the candidate.
    """

    chains: list[FusedChain]
    rank_count: int
    unlike_count: int
    base_kernels: float
    candidate_kernels: float

    @property
    def gain_ns(self) -> float:
        """What the candidate saves of all chains, ns per step and rank; negative where it lost."""
        return sum(one.gain_ns for one in self.chains)


def fused_changes(base: DuckDBPyConnection, candidate: DuckDBPyConnection) -> FusedChanges:
    """Align the kernels of two runs and return the chains in the place of which the other run has a fused kernel.

    Of each rank that both runs have, the compute kernels on the busiest stream are compared by type, in their order
    of start, step by step: the sequence of types that most steady steps have, with the mean time of each of its
    kernels over these steps (of a capture without steps the whole of it). Where the sequences differ, several kernels
    in the place of fewer are a chain, if a type among the fewer does not occur in the chain itself. What stands
    elsewhere than before, is only new, or is only gone is none. Time between kernels is not in the figures.

    Args:
        base: A connection to the tables of the baseline.
        candidate: One to those of the candidate.
    """
    found = [_profiles(base), _profiles(candidate)]
    chosen = ranks_to_align(set(found[0]), set(found[1]))
    numbers: dict[str, int] = {}
    rows: dict[tuple[State, str, str], list[_Found]] = {}
    lengths = [0, 0]
    unlike = 0
    for rank in chosen:
        own = _sequence(base, found[0][rank], numbers)
        its = _sequence(candidate, found[1][rank], numbers)
        lengths = [lengths[0] + len(own.code), lengths[1] + len(its.code)]
        differences = hunks(own.code, its.code, most=MOST_EDITS)
        if differences is None:
            unlike += 1
            continue
        names = list(numbers)
        for hunk in differences:
            state = _state(own.code, its.code, hunk)
            if state is not None:
                one = _found(own, its, hunk, names)
                rows.setdefault((state, one.before, one.after), []).append(one)
    looked_at = max(len(chosen) - unlike, 1)
    chains = [_chain(state, one, looked_at) for (state, _, _), one in rows.items()]
    return FusedChanges(
        chains=sorted(chains, key=lambda one: (-one.gain_ns, one.before, one.after)),
        rank_count=len(chosen),
        unlike_count=unlike,
        base_kernels=lengths[0] / max(len(chosen), 1),
        candidate_kernels=lengths[1] / max(len(chosen), 1),
    )


def ranks_to_align(base: set[int | None], candidate: set[int | None]) -> list[int | None]:
    """Return the ranks to look at of those that two runs have: all, or 8 that are spread evenly over them."""
    ranks = sorted(base & candidate, key=lambda rank: (rank is None, rank or 0))
    if not ranks:
        return []
    return [ranks[round(at)] for at in np.linspace(0, len(ranks) - 1, min(len(ranks), MOST_RANKS))]


class _Sequence(msgspec.Struct, frozen=True, eq=False):
    """Kernels of the usual step of a profile: numbers of their types, mean times, ids in the first such step."""

    profile_id: int
    code: Int64
    dur_ns: Int64
    kernel_id: Int64


class _Found(msgspec.Struct, frozen=True):
    before: str
    after: str
    kernels: tuple[int, int]
    before_ns: int
    after_ns: int
    base_example: tuple[int, int]
    candidate_example: tuple[int, int]


def _profiles(db: DuckDBPyConnection) -> dict[int | None, int]:
    """A profile of each rank; of several that of the larger job, then the first one."""
    ranks = dict(db.execute("select profile_id, rank from profile").fetchall())
    found: dict[int | None, int] = {}
    for members in jobs(db):
        for profile_id in members:
            found.setdefault(ranks[profile_id], profile_id)
    return found


def _sequence(db: DuckDBPyConnection, profile_id: int, numbers: dict[str, int]) -> _Sequence:
    steps = steady_steps(db, [profile_id]) or steady_steps(db, [profile_id], inferred=True)
    of_steps = "step_id is not null" if steps else "true"
    found = db.execute(
        f"""
        with ours as (
            select kernel_id, ts_ns, dur_ns, hash(device_id, stream) as lane, {"step_id" if steps else "0 as step_id"},
                   coalesce(op_type, name, '(unnamed)') as type
            from kernel
            where profile_id = $profile and kind in {COMPUTE_KINDS} and {of_steps}
        ), busiest as (
            select lane from ours group by lane order by sum(dur_ns) desc, lane limit 1
        )
        select step_id::bigint as step_id, kernel_id::bigint as kernel_id, dur_ns::bigint as dur_ns, type
        from ours
        join busiest using (lane)
        order by step_id, ts_ns, kernel_id
        """,
        {"profile": profile_id},
    ).fetchnumpy()
    types, inverse = np.unique(found["type"].astype(str), return_inverse=True)
    codes = np.array([numbers.setdefault(str(name), len(numbers)) for name in types.tolist()], np.int64)
    code = codes[inverse] if len(codes) else np.empty(0, np.int64)
    step_ids = np.asarray(found["step_id"], np.int64)
    if steps:
        steady = _step_ids(db, profile_id, [(step.session, step.number) for step in steps])
        kept = np.isin(step_ids, steady)
    else:
        kept = np.ones(len(step_ids), np.bool_)
    edges = np.flatnonzero(np.diff(step_ids[kept])) + 1
    places = np.split(np.flatnonzero(kept), edges)
    usual, _ = Counter(code[one].tobytes() for one in places).most_common(1)[0]
    alike = [one for one in places if code[one].tobytes() == usual]
    dur = np.mean([np.asarray(found["dur_ns"], np.int64)[one] for one in alike], axis=0)
    return _Sequence(profile_id, code[alike[0]], np.rint(dur).astype(np.int64), found["kernel_id"][alike[0]])


def _step_ids(db: DuckDBPyConnection, profile_id: int, keys: Sequence[tuple[int, int]]) -> list[int]:
    rows = db.execute(
        """
        select step_id, coalesce(session, 0), coalesce(step, step_id) from step where profile_id = $profile
        """,
        {"profile": profile_id},
    ).fetchall()
    wanted = set(keys)
    return [step_id for step_id, *key in rows if tuple(key) in wanted]


def _state(own: Int64, its: Int64, hunk: Hunk) -> State | None:
    before, after = own[hunk.base_from : hunk.base_to].tolist(), its[hunk.other_from : hunk.other_to].tolist()
    if 0 < len(after) < len(before) and set(after) - set(before):
        return "fused"
    if 0 < len(before) < len(after) and set(before) - set(after):
        return "split"
    return None


def _found(own: _Sequence, its: _Sequence, hunk: Hunk, names: Sequence[str]) -> _Found:
    here, there = slice(hunk.base_from, hunk.base_to), slice(hunk.other_from, hunk.other_to)
    return _Found(
        before=_named(own.code[here], names),
        after=_named(its.code[there], names),
        kernels=(hunk.base_to - hunk.base_from, hunk.other_to - hunk.other_from),
        before_ns=int(own.dur_ns[here].sum()),
        after_ns=int(its.dur_ns[there].sum()),
        base_example=(own.profile_id, int(own.kernel_id[hunk.base_from])),
        candidate_example=(its.profile_id, int(its.kernel_id[hunk.other_from])),
    )


def _named(code: Int64, names: Sequence[str]) -> str:
    period = next((one for one in range(2, len(code) // 2 + 1) if _repeats(code, one)), None)
    if period is not None and not _repeats(code, 1):
        return f"({_named(code[:period], names)}) x{len(code) // period}"
    runs = [(names[one], len(list(same))) for one, same in groupby(code.tolist())]
    told = [name if count == 1 else f"{name} x{count}" for name, count in runs[:NAMED_KERNELS]]
    left = sum(count for _, count in runs[NAMED_KERNELS:])
    return ", ".join(told) + (f", +{left}" if left else "")


def _repeats(code: Int64, period: int) -> bool:
    return len(code) % period == 0 and bool(np.array_equal(code[period:], code[:-period]))


def _chain(state: State, found: Sequence[_Found], ranks: int) -> FusedChain:
    longest = max(found, key=lambda one: max(one.before_ns, one.after_ns))
    before, after = (
        sum(times) / ranks for times in zip(*((one.before_ns, one.after_ns) for one in found), strict=True)
    )
    return FusedChain(
        state=state,
        before=longest.before,
        after=longest.after,
        before_kernels=longest.kernels[0],
        after_kernels=longest.kernels[1],
        count=len(found) / ranks,
        before_ns=before,
        after_ns=after,
        gain_ns=before - after,
        base_example=longest.base_example,
        candidate_example=longest.candidate_example,
    )
