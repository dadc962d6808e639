"""The fusion section: patterns summed over the profiles, the fusion rate, candidates priced by replay."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from ascend_sn.advisor.facts import Facts
from ascend_sn.analysis.registry import Missing, Need, missing_needs
from ascend_sn.report.assemble.absence import absent
from ascend_sn.report.documents.fusion import Fusion, FusionPattern, StepGain
from ascend_sn.report.words.language import Language

if TYPE_CHECKING:
    from ascend_sn.replay import Replay, StepGraph, Transform, Unpriced

__all__ = ["fusion_section"]

_PATTERNS_LISTED: Final = 100
_PRICED: Final = 8
"""Candidates that are replayed: those with the largest savings."""

_LINKS: Final = (Need("kernel", "output_shapes"), Need("operator", "module"))
"""What ties a kernel to the next one; one of them is enough."""

_BY_PATTERN: Final = """
    with summed as (
        select pattern, state, op_types, sum(instances)::bigint as instances,
               case when count(before_ns) = count(*) then sum(before_ns)::bigint end as before_ns,
               case when count(after_ns) = count(*) then sum(after_ns) end           as after_ns,
               case when count(saving_ns) = count(*) then sum(saving_ns) end         as saving_ns,
               sum(before_ns) / nullif(sum(before_ns / nullif(share_ratio, 0)), 0)   as share_ratio,
               bool_or(is_estimate) as is_estimate
        from result
        group by pattern, state, op_types
    )
    select * exclude (share_ratio), saving_ns / nullif(before_ns, 0) as saving_ratio,
           case when before_ns is not null then share_ratio end as share_ratio,
           sum(case state when 'fused' then instances else 0 end) over of_pattern
               / sum(instances) over of_pattern::double as fusion_ratio
    from summed
    window of_pattern as (partition by pattern)
    order by saving_ns desc nulls last, before_ns desc nulls last, state, op_types
"""


def fusion_section(facts: Facts, language: Language) -> Fusion:
    """Return the section; it is absent where nothing tells which kernels feed each other.

    To find no pattern is a result too.
    """
    missing = facts.missing("fusion_candidates")
    if missing is not None:
        return absent(Fusion, missing)
    patterns = facts.query("fusion_candidates", _BY_PATTERN, FusionPattern)
    unlinked = None if patterns else _unlinked(facts)
    if unlinked is not None:
        return absent(Fusion, unlinked)
    counts = {state: sum(row.instances for row in patterns if row.state == state) for state in ("fused", "candidate")}
    found = Fusion(
        collected=True,
        state="collected",
        fused_instances=counts["fused"],
        candidate_instances=counts["candidate"],
        fusion_ratio=counts["fused"] / sum(counts.values()) if patterns else None,
        pattern_count=len(patterns),
        patterns=patterns[:_PATTERNS_LISTED],
    )
    if counts["candidate"]:
        _price(found, facts, language)
    return found


def _unlinked(facts: Facts) -> Missing | None:
    """Say what would tie kernels together, the part that can be turned on first; None where something does."""
    missing = [missing_needs((need,), facts.run.db) for need in _LINKS]
    known = [one for one in missing if one is not None]
    if len(known) < len(missing):
        return None
    told = [one for one in known if one.state != "missing" or one.turn_on]
    if told:
        return min(told, key=lambda one: not one.turn_on)
    return Missing("missing", "neither shapes of outputs nor modules were recorded", "")


def _price(section: Fusion, facts: Facts, language: Language) -> None:
    """Replay the median step with each of the best candidates fused, as far as their savings are known."""
    from ascend_sn.replay import Unpriced

    replay = facts.replay
    reason = replay.reason if isinstance(replay, Unpriced) else replay.refusal
    if isinstance(replay, Unpriced) or reason is not None:
        known = reason is not None and language.has(reason.message_id)
        section.unpriced = language.text(reason.message_id, **reason.params) if known and reason else ""
        return
    candidates = [row for row in section.patterns if row.state == "candidate" and row.saving_ns is not None]
    for row in candidates[:_PRICED]:
        row.gain = _gain(replay, row.op_types)


def _gain(replay: Replay, op_types: str) -> StepGain | None:
    from ascend_sn.replay import Unpriced

    found = replay.gain(partial(_fused, op_types=op_types))
    if isinstance(found, Unpriced):
        return None
    return StepGain(
        low_ns=found.low_ns,
        expected_ns=found.expected_ns,
        high_ns=found.high_ns,
        expected_ratio=found.expected_ratio,
        confidence=found.confidence,
    )


def _fused(graph: StepGraph, *, op_types: str) -> Transform | Unpriced:
    from ascend_sn.replay import chains_of, fused

    return fused(graph, chains_of(graph, op_types.split(" ")))
