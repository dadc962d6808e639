"""R-OP-5 unaligned shapes: matrix products whose inner axes do not fill the blocks that the cores work on."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Final

import msgspec

from ascend_sn.advisor.changes import typed_to_share
from ascend_sn.advisor.evidence import figures, place
from ascend_sn.advisor.median_step import MedianStep, where
from ascend_sn.advisor.message import Message
from ascend_sn.advisor.rule import Claim, Context, Rule
from ascend_sn.advisor.thresholds import Limits

if TYPE_CHECKING:
    from ascend_sn.replay import StepGraph, Transform, Unpriced

__all__ = ["RULE", "padding_ratio"]


class _Group(msgspec.Struct):
    """Equal matrix operators of one rank (A12)."""

    profile_id: int
    op_type: str
    family: str
    input_shapes: str
    input_dtypes: str | None
    total_ns: int
    share_ratio: float
    flops: int | None
    flops_per_s: float | None


def check(context: Context) -> Iterator[Claim]:
    """Yield a claim per operator type with enough time in unaligned shapes, the longest first."""
    limits = context.limits
    steps = {step.profile_id: step for step in context.device_steps if _has_blocks(context, step)}
    groups: dict[tuple[int, str], list[_Group]] = {}
    matrix = context.facts.rows(
        "roofline",
        _Group,
        lambda row: row["profile_id"] in steps and row["family"] in _FAMILIES and row["input_shapes"] is not None,
    )
    for group in sorted(matrix, key=lambda group: (-group.total_ns, group.op_type, group.input_shapes)):
        groups.setdefault((group.profile_id, group.op_type), []).append(group)
    seen: set[str] = set()
    for (profile_id, op_type), own in sorted(groups.items(), key=lambda item: -sum(one.total_ns for one in item[1])):
        odd = [group for group in own if padding_ratio(group.family, group.input_shapes, limits) > 0]
        if op_type not in seen and sum(group.share_ratio for group in odd) >= limits["share_from_ratio"]:
            seen.add(op_type)
            yield _claim(context, steps[profile_id], own, odd)


def padding_ratio(family: str, input_shapes: str, limits: Limits) -> float:
    """Return how much larger the inputs are when padded to whole blocks, 0 where they fill them."""
    from ascend_sn.analysis.shapes import shapes_of

    tensors = [shape for shape in shapes_of(input_shapes) or () if len(shape) >= 2]
    if not tensors:
        return 0.0
    # A head that is no multiple of the block is padded by the attention kernel itself; of products both axes count.
    block = int(limits["head_block_count"] if family == "attention" else limits["axis_block_count"])
    axes = tensors[0][-1:] if family == "attention" else [axis for tensor in tensors[:2] for axis in tensor[-2:]]
    grown = 1.0
    for axis in dict.fromkeys(axes):
        if axis > 1:
            grown *= -(-axis // block) * block / axis
    return grown - 1


def _claim(context: Context, step: MedianStep, own: list[_Group], odd: list[_Group]) -> Claim:
    limits = context.limits
    worst = max(odd, key=lambda group: group.total_ns)
    share = sum(group.share_ratio for group in odd)
    padding = padding_ratio(worst.family, worst.input_shapes, limits)
    peer = _aligned_peer(own, odd, worst, limits)
    ratio = 1.0
    reason = None
    if peer is None:
        reason = Message("suppressed.no-aligned-peer", {"op_type": worst.op_type})
    else:
        ratio = (worst.flops_per_s or 0.0) / peer * (1 + padding)
        if ratio >= 1:
            reason = Message("suppressed.padding-costs-more", {"padding_ratio": padding})
    # Of the whole type only the unaligned part becomes quicker.
    kept = 1 - sum(group.total_ns for group in odd) / sum(group.total_ns for group in own)
    scaled = kept + (1 - kept) * min(ratio, 1.0)
    return Claim(
        params={
            "where": where(step, len(context.steps)),
            "op_type": worst.op_type,
            "shapes": worst.input_shapes,
            "share_ratio": share,
            "padding_ratio": padding,
            "block": int(limits["head_block_count"] if worst.family == "attention" else limits["axis_block_count"]),
        },
        location=place(step, [worst.op_type]),
        evidence=figures(
            step,
            "roofline",
            {
                "input_shapes": worst.input_shapes,
                "total_ns": sum(group.total_ns for group in odd),
                "flops_per_s": worst.flops_per_s,
                "aligned_flops_per_s": peer,
                "padding_ratio": padding,
            },
        ),
        changes=(partial(_aligned, op_type=worst.op_type, ratio=scaled),),
        at_stake_ns=round(share * step.compute_ns * (1 - min(ratio, 1.0))),
        suppressed_by=reason,
    )


def _aligned_peer(own: list[_Group], odd: list[_Group], worst: _Group, limits: Limits) -> float | None:
    """Return the best rate of aligned operators that differ from an unaligned one in its unaligned axes alone.

    Products of other shapes run at other rates whether aligned or not, so that they say nothing about padding.
    """
    peers = [
        group.flops_per_s
        for group in own
        if group not in odd
        and group.input_dtypes == worst.input_dtypes
        and group.flops_per_s
        and group.flops
        and worst.flops
        and 1 / limits["alike_to_ratio"] <= group.flops / worst.flops <= limits["alike_to_ratio"]
        and _is_aligned_twin(worst, group, limits)
    ]
    return max(peers, default=None)


def _is_aligned_twin(odd: _Group, peer: _Group, limits: Limits) -> bool:
    """Whether all axes of two operators are the same but those that do not fill blocks in the first one."""
    from ascend_sn.analysis.shapes import shapes_of

    block = int(limits["head_block_count"] if odd.family == "attention" else limits["axis_block_count"])
    ours, theirs = shapes_of(odd.input_shapes) or (), shapes_of(peer.input_shapes) or ()
    if [len(shape) for shape in ours] != [len(shape) for shape in theirs]:
        return False
    pairs = [pair for mine, other in zip(ours, theirs, strict=True) for pair in zip(mine, other, strict=True)]
    return all(mine == other or mine % block for mine, other in pairs)


def _has_blocks(context: Context, step: MedianStep) -> bool:
    """Whether the device works on fixed blocks: Ascend's matrix cores do."""
    return any(one.profile_id == step.profile_id and one.device_kind == "npu" for one in context.profiles)


def _aligned(graph: StepGraph, *, op_type: str, ratio: float) -> Transform | Unpriced:
    return typed_to_share(graph, (op_type,), (min(1.0, (1 + ratio) / 2), ratio, ratio))


_FAMILIES: Final = ("matmul", "grouped_matmul", "attention")

RULE = Rule("R-OP-5", "unaligned-shapes", "compute", "model", check, needs=("roofline",))
