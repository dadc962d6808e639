"""Why something was not collected, what collects it, and what was damaged, in the reader's language.

The data say all three in English. The English text of a message of the families `reason`, `turn-on` and `example` is
the sentence that is looked for, with placeholders for what differs; the page does the same
(`frontend/src/insight/shell/reasons.ts`). What stays is data: a value, a name, what a library or the system said.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from ascend_sn.report.words.language import Language

__all__ = ["EXAMPLES", "REASONS", "TURN_ON", "example_text", "reason_text", "turn_on_text"]

REASONS: Final = (
    "reason.below-level1", "reason.capture-lacks", "reason.cluster-lacks", "reason.cluster-steps",
    "reason.cluster-sums", "reason.curves-only", "reason.device-missing", "reason.device-missing-causes",
    "reason.export-lacks", "reason.export-none", "reason.few-calls", "reason.few-common", "reason.few-epochs",
    "reason.few-ranks", "reason.few-requests", "reason.few-sizes", "reason.few-steps", "reason.groups-unlisted",
    "reason.kineto-inputs", "reason.kineto-links", "reason.kineto-logged", "reason.kineto-metric",
    "reason.kineto-samples", "reason.kineto-tasks", "reason.launched-nothing", "reason.level", "reason.looked-in",
    "reason.memory-addresses", "reason.memory-only", "reason.mindspore-modules", "reason.msprof-flow",
    "reason.msprof-framework", "reason.msprof-stack", "reason.no-arrows", "reason.no-communication",
    "reason.no-copy", "reason.no-counters", "reason.no-device", "reason.no-framework-operators", "reason.no-graph",
    "reason.no-group", "reason.no-history", "reason.no-kernel", "reason.no-launches", "reason.no-marks",
    "reason.no-matching", "reason.no-member", "reason.no-members", "reason.no-metrics", "reason.no-operators",
    "reason.no-pipeline", "reason.no-ranges", "reason.no-runtime", "reason.no-stacks", "reason.no-static-file",
    "reason.no-step-here", "reason.no-ties", "reason.no-time", "reason.none-happened", "reason.not-requested",
    "reason.nothing", "reason.onnx-host", "reason.onnx-no-node", "reason.onnx-only", "reason.option-off",
    "reason.own-collective", "reason.own-flow", "reason.own-memory", "reason.own-metric", "reason.own-runtime",
    "reason.own-stack", "reason.partial", "reason.processor", "reason.requested-not", "reason.requested-nothing",
    "reason.requested-option", "reason.snapshot-only", "reason.truncated", "reason.unaligned",
    "reason.unknown-writer", "reason.without-cpu", "reason.without-npu",
)  # fmt: skip
TURN_ON: Final = (
    "turn-on.above", "turn-on.before", "turn-on.captures", "turn-on.device", "turn-on.epochs", "turn-on.framework",
    "turn-on.kind", "turn-on.more-steps", "turn-on.or", "turn-on.raw", "turn-on.requests", "turn-on.schedule",
    "turn-on.sizes", "turn-on.spans", "turn-on.stacks", "turn-on.static", "turn-on.step", "turn-on.steps",
    "turn-on.writer", "turn-on.writer-or",
)  # fmt: skip
EXAMPLES: Final = (
    "example.absent-shard", "example.all-batches", "example.arrow-columns", "example.arrow-schema",
    "example.arrow-start", "example.at-place", "example.backwards-nodes", "example.beside-file-of-rank",
    "example.cells", "example.closed-at-last", "example.cluster-no-rank", "example.cluster-none",
    "example.cluster-unusable", "example.complete-events-read", "example.core-share", "example.cut-at-end",
    "example.empty-export", "example.empty-file", "example.ends-early", "example.events-read",
    "example.execution-trace", "example.exports", "example.exports-empty", "example.foreign-files",
    "example.foreign-trace", "example.holds-no-profile", "example.impossible-rows", "example.in-file-of-rank",
    "example.killed", "example.kinds", "example.launch-repaired", "example.left-empty", "example.left-out",
    "example.linked-log", "example.names-are-numbers", "example.newer-version", "example.newest-export",
    "example.no-column", "example.no-complete-event", "example.no-event", "example.no-event-tables",
    "example.no-export", "example.no-operator-of-type", "example.no-room", "example.no-room-or-killed",
    "example.no-time-of-slices", "example.no-timed-events", "example.no-timed-events-recorded", "example.no-times",
    "example.not-a-number", "example.not-a-slice", "example.not-object", "example.not-parsed-cann",
    "example.not-parsed-mindspore", "example.not-parsed-torch-npu", "example.not-sqlite", "example.nothing-back",
    "example.nothing-lost", "example.nothing-lost-because", "example.nothing-recorded", "example.overlap",
    "example.program-ended", "example.rank-assumed", "example.rank-from-name", "example.reader-failed",
    "example.reader-leaves-out",
    "example.repeated-capture", "example.session-clock", "example.snapshot-classes", "example.snapshot-empty",
    "example.snapshot-limit", "example.snapshot-nothing", "example.snapshot-outside", "example.snapshot-pickle",
    "example.snapshot-too-long", "example.snapshot-unreadable", "example.snapshot-unreadable-because",
    "example.sqlite-schema", "example.sqlite-unreadable", "example.taken-as-0", "example.text-beside",
    "example.text-files-beside", "example.texts-unreadable", "example.timeline-columns",
    "example.timeline-compressed", "example.timeline-curves", "example.timeline-cut", "example.timeline-empty",
    "example.timeline-expands", "example.timeline-no-list", "example.timeline-rows", "example.times-left-out",
    "example.too-many-foreign", "example.unmatched-flow", "example.unreadable", "example.values-for",
    "example.waited", "example.waiting", "example.worker-died",
)  # fmt: skip

_INSIDE: Final = ("reason", "option", "example", "problem")
"""Placeholders that stand for such a sentence themselves."""


def reason_text(reason: str, language: Language) -> str:
    """Return why something is absent; a sentence that is not known stays as it is."""
    return _told(reason, REASONS, language)


def turn_on_text(turn_on: str, language: Language) -> str:
    """Return what collects it; what is code stays code."""
    return _told(turn_on, TURN_ON, language)


def example_text(example: str, language: Language) -> str:
    """Return the example of an entry of the damage table; one that is not known is data and stays as it is."""
    return _told(example, EXAMPLES, language)


def _told(said: str, family: tuple[str, ...], language: Language) -> str:
    if language.code == "en" or not said:
        return said
    for message_id, pattern in _patterns(family):
        found = pattern.fullmatch(said)
        if found is not None:
            parts = found.groupdict()
            return language.text(
                message_id,
                **{name: _told(part, family, language) if name in _INSIDE else part for name, part in parts.items()},
            )
    return said


@cache
def _patterns(family: tuple[str, ...]) -> tuple[tuple[str, re.Pattern[str]], ...]:
    """Patterns of the English texts, those with most words of their own first."""
    english = Language.load("en")
    texts = {message_id: english.template(message_id) for message_id in family}
    ordered = sorted(family, key=lambda message_id: -len(re.sub(r"\{\w+\}", "", texts[message_id])))
    return tuple((message_id, re.compile(_pattern(texts[message_id]), re.DOTALL)) for message_id in ordered)


def _pattern(text: str) -> str:
    parts = re.split(r"\{(\w+)\}", text)
    what = {"count": r"\d+"}  # so that no sentence before a number is taken for the number
    return "".join(
        f"(?P<{part}>{what.get(part, '.+?')})" if at % 2 else re.escape(part) for at, part in enumerate(parts)
    )
