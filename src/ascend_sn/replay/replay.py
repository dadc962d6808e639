"""A step that can be replayed: what it is worth to change it, and what holds it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import cached_property
from typing import Final

import msgspec
from duckdb import DuckDBPyConnection
from msgspec.structs import replace

from ascend_sn.model.kinds import HOST_KINDS
from ascend_sn.replay.build import build_graph
from ascend_sn.replay.choose import FEW_STEPS, Choice, choose
from ascend_sn.replay.critical_path import CriticalPath, critical_path, unexplained_ns
from ascend_sn.replay.engine import Draft, Timing, replayed
from ascend_sn.replay.graph import StepGraph
from ascend_sn.replay.jobs import jobs
from ascend_sn.replay.plan import Candidate, Plan, joint_plan
from ascend_sn.replay.prices import Confidence, Gain, Remark, Transform, Unpriced, least, price
from ascend_sn.store import Run

__all__ = ["MAX_NODES", "Replay"]

MAX_NODES: Final = 200_000
"""Nodes of a graph at most."""

DOUBTFUL_IDENTITY: Final = 0.01
"""Identity error above which gains are trusted less."""

WRONG_IDENTITY: Final = 0.05
"""Identity error above which nothing is priced."""

DOUBTFUL_UNEXPLAINED: Final = 0.10
"""Unexplained share above which no gain is trusted much."""

WRONG_UNEXPLAINED: Final = 0.30
"""Unexplained share above which nothing is priced."""

_NODES_PER_SLICE: Final = 2

_NODES_PER_KERNEL: Final = 2
"""The kernel itself, and the stretch of the thread that ends with its launch."""


class Replay(msgspec.Struct, frozen=True, dict=True):
    """The dependency graph of the median steady step, and its replay without edits.

    Attributes:
        choice: Which step of which profiles.
        graph: Their graph.
        timing: Times of the replay without edits.
    """

    choice: Choice
    graph: StepGraph
    timing: Timing

    @staticmethod
    def of(run: Run | DuckDBPyConnection, profile_ids: Sequence[int] | None = None) -> Replay | Unpriced:
        """Build the graph of a run's median steady step.

        Marked steps are used where there are any; else the whole capture, and inferred steps only where that
        would be more than 200,000 nodes. Where one step of all profiles would be more, small host slices are put
        together, and then fewer profiles are taken.

        Args:
            run: An opened run, or a connection with its tables.
            profile_ids: Profiles to replay; by default those of the largest job (see `jobs`). Of more than 64 so
                many are chosen by wait.

        Returns:
            The replay, or why there is none.
        """
        db = run.db if isinstance(run, Run) else run
        if isinstance(run, Run) and run.detailed is not None:
            # Where only summaries were read nothing ties a profile to its job: those with tables tell.
            known = jobs(db) if profile_ids is None else (profile_ids,)
            detailed = ([profile_id for profile_id in job if profile_id in run.detailed] for job in known)
            profile_ids = max(detailed, key=len, default=[])
        choice = choose(db, profile_ids)
        least, most = _sizes(db, choice)
        if choice.scope == "whole capture" and least > MAX_NODES:
            inferred = choose(db, profile_ids, inferred=True)
            if inferred.step_count:
                choice = inferred
                least, most = _sizes(db, choice)
        if not choice.windows:
            return Unpriced(Remark("replay.nothing-recorded"))
        fine = most <= MAX_NODES
        if least > MAX_NODES and len(choice.windows) > 1:
            choice = _with_fewer(db, choice, profile_ids, MAX_NODES / least)
        while True:
            graph = build_graph(db, choice.windows, fine=fine)
            if len(graph.nodes) <= MAX_NODES:
                found = Replay(choice, graph, replayed(graph))
                if len(graph.guessed) and found.unexplained_ratio > WRONG_UNEXPLAINED:
                    # Waits that lead to what nothing explains are not worth guessing.
                    graph = build_graph(db, choice.windows, fine=fine, guesses=False)
                    return Replay(choice, graph, replayed(graph))
                return found
            if fine:
                fine = False
            elif len(choice.windows) > 1:
                choice = _with_fewer(db, choice, profile_ids, MAX_NODES / len(graph.nodes))
            else:
                return Unpriced(Remark("replay.step-too-large", {"node_count": len(graph.nodes)}))

    @property
    def base_ns(self) -> int:
        """Length of the replayed step without edits."""
        return self.timing.makespan_ns

    @property
    def observed_ns(self) -> int:
        """Length of the step in the capture."""
        return self.graph.observed_ns

    @property
    def violations(self) -> int:
        """Starts that contradict the dependencies: events that begin before what they wait for."""
        return self.graph.violation_count

    @property
    def identity_error_ratio(self) -> float:
        """How far the replay without edits is off the capture; 0 without violations."""
        return abs(self.base_ns - self.observed_ns) / max(self.observed_ns, 1)

    @cached_property
    def unexplained_ratio(self) -> float:
        """Share of the step that is residual of unknown type on the critical path."""
        return unexplained_ns(self.graph, self.timing) / max(self.base_ns, 1)

    @cached_property
    def without_residuals_ns(self) -> int:
        """Length of the step that the dependencies alone predict."""
        return Draft(self.graph).timing(residuals=False).makespan_ns

    @property
    def refusal(self) -> Remark | None:
        """Why nothing can be priced; None when gains can be."""
        if self.base_ns <= 0:
            return Remark("replay.nothing-recorded")
        if self.identity_error_ratio > WRONG_IDENTITY:
            return Remark("replay.identity-error", {"identity_error_ratio": self.identity_error_ratio})
        if self.unexplained_ratio > WRONG_UNEXPLAINED:
            return Remark("replay.unexplained", {"unexplained_ratio": self.unexplained_ratio})
        return None

    @cached_property
    def remarks(self) -> tuple[Remark, ...]:
        """What limits the confidence of every gain."""
        return tuple(remark for _, remark in self._doubts())

    @cached_property
    def confidence(self) -> Confidence:
        """How far any gain on this graph can be trusted at most."""
        return least("high", *(confidence for confidence, _ in self._doubts()))

    def gain(self, transform: Transform | Unpriced | Callable[[StepGraph], Transform | Unpriced]) -> Gain | Unpriced:
        """Price a transformation: how much shorter the step would be.

        Args:
            transform: A transformation of this graph, or a function that makes one of it (`input_hidden`).

        Returns:
            The gain, or why it has no price.
        """
        reason = self.refusal
        if reason is not None:
            return Unpriced(reason)
        if callable(transform):
            transform = transform(self.graph)
        if isinstance(transform, Unpriced):
            return transform
        found = price(self.graph, self.base_ns, transform, self.confidence, self.choice.spread)
        return replace(found, remarks=(*found.remarks, *self.remarks))

    def joint(self, candidates: Sequence[Candidate], conflicts: Collection[tuple[str, str]] = ()) -> Plan | Unpriced:
        """Plan several changes together, with the gain that each still has after the others.

        Args:
            candidates: What could be changed; those that cannot be priced are left to the caller.
            conflicts: Pairs of names of which only one can be part of the plan.
        """
        reason = self.refusal
        if reason is not None:
            return Unpriced(reason)
        return joint_plan(self.graph, self.base_ns, candidates, self.confidence, conflicts)

    def critical_path(self) -> CriticalPath:
        """Return the critical path of the step, its classes of time, and the slack of its operators (A25)."""
        return critical_path(self.graph, self.timing)

    def _doubts(self) -> list[tuple[Confidence, Remark]]:
        found: list[tuple[Confidence, Remark]] = []
        choice = self.choice
        if self.identity_error_ratio > DOUBTFUL_IDENTITY:
            found.append(
                ("medium", Remark("replay.identity-error", {"identity_error_ratio": self.identity_error_ratio}))
            )
        if self.unexplained_ratio > DOUBTFUL_UNEXPLAINED:
            found.append(("low", Remark("replay.unexplained", {"unexplained_ratio": self.unexplained_ratio})))
        if choice.scope == "whole capture":
            found.append(("low", Remark("replay.whole-capture")))
        elif choice.scope == "inferred step":
            found.append(("low", Remark("replay.inferred-steps")))
        elif choice.step_count < FEW_STEPS:
            found.append(("low", Remark("replay.few-steps", {"step_count": choice.step_count})))
        if len(choice.windows) < choice.profile_count:
            params = {"replayed_count": len(choice.windows), "profile_count": choice.profile_count}
            found.append(("medium", Remark("replay.extrapolated", params)))
        if len(self.graph.guessed):
            found.append(("medium", Remark("replay.waits-guessed", {"count": len(self.graph.guessed)})))
        if any(window.device_kind in HOST_KINDS for window in choice.windows):
            found.append(("low", Remark("replay.no-device")))
        return found


def _with_fewer(db: DuckDBPyConnection, choice: Choice, profile_ids: Sequence[int] | None, ratio: float) -> Choice:
    """Return the same choice with a share of its profiles, one less at least."""
    count = len(choice.windows)
    fewer = max(1, min(count - 1, int(count * ratio)))
    return choose(db, profile_ids, inferred=choice.scope == "inferred step", max_profiles=fewer)


def _sizes(db: DuckDBPyConnection, choice: Choice) -> tuple[int, int]:
    """Return how many nodes a choice becomes at least, and how many when every slice is cut out."""
    ((slices, kernels),) = db.execute(
        """
        with replayed as (
            select unnest($profiles) as profile_id, unnest($starts) as start_ns, unnest($ends) as end_ns
        ),
        found as (
            select false as on_device, profile_id, ts_ns, dur_ns from operator
            union all
            select false, profile_id, ts_ns, dur_ns from host_call
            union all
            select true, profile_id, ts_ns, dur_ns from kernel
        )
        select count(*) filter (not on_device), count(*) filter (on_device)
        from found
        join replayed using (profile_id)
        where ts_ns < replayed.end_ns and ts_ns + dur_ns > replayed.start_ns
        """,
        {
            "profiles": [window.profile_id for window in choice.windows],
            "starts": [window.start_ns for window in choice.windows],
            "ends": [window.end_ns for window in choice.windows],
        },
    ).fetchall()
    return _NODES_PER_KERNEL * kernels, _NODES_PER_SLICE * slices + kernels
