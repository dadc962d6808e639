"""Texts of rules that differ by kind of device: what a rule says to do must exist on the device that was recorded.

The text of a rule holds on any device. Where one kind has a name for it (a variable, a call, a tool, a unit of the
chip), the text with that name stands here.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

__all__ = ["DEVICE_TEXTS", "text_on"]

DEVICE_TEXTS: Final = {
    "rule.r-comm-2.advice": {"npu": "rule.r-comm-2.advice-npu", "cuda": "rule.r-comm-2.advice-cuda"},
    "rule.r-freq-1.advice": {"npu": "rule.r-freq-1.advice-npu", "cuda": "rule.r-freq-1.advice-cuda"},
    "rule.r-host-2.advice-blocking": {
        "npu": "rule.r-host-2.advice-blocking-npu",
        "cuda": "rule.r-host-2.advice-blocking-cuda",
    },
    "rule.r-host-2.message-blocking": {
        "npu": "rule.r-host-2.message-blocking-npu",
        "cuda": "rule.r-host-2.message-blocking-cuda",
    },
    "rule.r-host-3.verify-likely": {"npu": "rule.r-host-3.verify-likely-npu"},
    "rule.r-host-4.advice": {"npu": "rule.r-host-4.advice-npu", "cuda": "rule.r-host-4.advice-cuda"},
    "rule.r-host-1.advice": {"npu": "rule.r-host-1.advice-npu", "cuda": "rule.r-host-1.advice-cuda"},
    "rule.r-op-1.advice": {"npu": "rule.r-op-1.advice-npu"},
    "rule.r-mem-3.advice": {"npu": "rule.r-mem-3.advice-npu", "cuda": "rule.r-mem-3.advice-cuda"},
    "rule.r-mem-5.advice": {"npu": "rule.r-mem-5.advice-npu", "cuda": "rule.r-mem-5.advice-cuda"},
    "rule.r-op-4.title": {"npu": "rule.r-op-4.title-npu"},
    "rule.r-op-4.title-operator": {"npu": "rule.r-op-4.title-operator-npu"},
    "rule.r-op-4.message": {"npu": "rule.r-op-4.message-npu"},
    "rule.r-op-4.advice": {"npu": "rule.r-op-4.advice-npu"},
    "rule.r-op-4.verify": {"npu": "rule.r-op-4.verify-npu"},
    "rule.r-op-6.advice-format": {"npu": "rule.r-op-6.advice-format-npu"},
    "rule.r-opt-1.advice": {"npu": "rule.r-opt-1.advice-npu"},
    "rule.r-prof-1.advice": {"npu": "rule.r-prof-1.advice-npu", "cuda": "rule.r-prof-1.advice-cuda"},
}
"""Ids of texts, and for kinds of devices (`profile.device_kind`) the id that is said in its place."""


def text_on(message_id: str, device_kinds: Collection[str | None]) -> str:
    """Return the id of the text for the devices that a claim is about; of several kinds, the one that holds on any."""
    variants = DEVICE_TEXTS.get(message_id)
    if variants is None or len(kinds := set(device_kinds)) != 1:
        return message_id
    return variants.get(next(iter(kinds)) or "", message_id)
