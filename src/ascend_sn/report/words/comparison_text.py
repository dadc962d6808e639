"""Sentences and cells of comparisons and of the gate that several writers share."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from ascend_sn.compare.attribution import Contribution
from ascend_sn.compare.comparison import Comparison
from ascend_sn.compare.gate import GateResult, NullTest, Reason
from ascend_sn.compare.history.record import Baseline
from ascend_sn.compare.judge import Judgement
from ascend_sn.compare.recovery import Recovery
from ascend_sn.model.message import Message
from ascend_sn.report.words.language import Language
from ascend_sn.report.words.printable import printable
from ascend_sn.report.words.quantities import bytes_text, duration_text, percent_text

__all__ = [
    "FREE_CAUSES",
    "MATCHED_BY",
    "METRIC_NAMES",
    "VERDICTS",
    "baseline_sentence",
    "cause_text",
    "change_text",
    "gate_sentences",
    "interval_text",
    "limit_text",
    "metric_text",
    "null_sentences",
    "obstacle_sentences",
    "recovery_sentence",
    "signed_duration",
    "spread_text",
    "value_text",
    "verdict_sentences",
    "verdict_word",
]

METRIC_NAMES: Final = {
    "step_time": "compare.metric.step-time",
    "epoch_time": "compare.metric.epoch-time",
    "utilisation": "compare.metric.utilisation",
    "peak_memory": "compare.metric.peak-memory",
    "exposed_communication": "compare.metric.exposed-communication",
    "mfu": "compare.metric.mfu",
}

VERDICTS: Final = {
    "regression": "compare.verdict.regression",
    "possible": "compare.verdict.possible",
    "inconclusive": "compare.verdict.inconclusive",
    "no change": "compare.verdict.no-change",
    "improved": "compare.verdict.improved",
    "scaling": "compare.verdict.scaling",
    "cannot compare": "compare.verdict.cannot-compare",
}

FREE_CAUSES: Final = {
    "data_wait": "compare.free.data-wait",
    "host_python": "compare.free.host-python",
    "dispatch": "compare.free.dispatch",
    "launch_call": "compare.free.launch-call",
    "launch_latency": "compare.free.launch-latency",
    "copy_call": "compare.free.copy-call",
    "host_sync": "compare.free.host-sync",
    "event_wait": "compare.free.event-wait",
    "allocator": "compare.free.allocator",
    "gc": "compare.free.gc",
    "gc_guess": "compare.free.gc-guess",
    "compile": "compare.free.compile",
    "profiler_flush": "compare.free.profiler-flush",
    "unknown": "compare.free.unknown",
}

MATCHED_BY: Final = {
    "op, shape, module": "compare.matched.op-shape-module",
    "op, shape": "compare.matched.op-shape",
    "op, module": "compare.matched.op-module",
    "op": "compare.matched.op",
    "operator": "compare.matched.operator",
}

_SENTENCES: Final = {
    "regression": "compare.said.regression",
    "possible": "compare.said.possible",
    "inconclusive": "compare.said.inconclusive",
    "no change": "compare.said.no-change",
    "improved": "compare.said.improved",
}

_REASONS: Final = {
    "regression": "gate.reason.regression",
    "possible": "gate.reason.possible",
    "inconclusive": "gate.reason.inconclusive",
    "low confidence": "gate.reason.low-confidence",
    "not in candidate": "gate.reason.not-in-candidate",
    "not in baseline": "gate.reason.not-in-baseline",
}

_MOST_RUNS: Final = 100
"""More runs than anybody records to settle a verdict."""

_CHOSEN: Final = {
    "pinned": "history.baseline.pinned",
    "level": "history.baseline.level",
    "newest": "history.baseline.newest",
}

_GATE: Final = {
    "passed": "gate.said.passed",
    "failed": "gate.said.failed",
    "unsure": "gate.said.unsure",
    "cannot compare": "gate.said.cannot-compare",
}


def baseline_sentence(baseline: Baseline) -> Message:
    """Say which runs of which history a candidate was held against, and why these."""
    runs = ", ".join(f"#{one.id}" for one in baseline.runs[:3])
    if len(baseline.runs) > 3:
        runs += f" \u2026 #{baseline.runs[-1].id}"
    params = {"count": len(baseline.runs), "runs": runs, "series": printable(baseline.series)}
    return Message(_CHOSEN[baseline.chosen_by], {**params, "where": printable(baseline.where)})


def obstacle_sentences(obstacles: Iterable[Message]) -> list[Message]:
    """Say that the runs cannot be compared, and why."""
    return [Message("compare.said.cannot-compare", {"why": obstacle}) for obstacle in obstacles]


def verdict_sentences(comparison: Comparison) -> list[Message]:
    """Say the verdict: a sentence for each metric that decides, how sure it is, and what the difference is made of."""
    if comparison.verdict == "cannot compare":
        return []
    said = []
    if comparison.scaling is not None:
        scaling = comparison.scaling
        params = {name: getattr(scaling, name) for name in ("base_size", "candidate_size")}
        texts = {name: f"{getattr(scaling, name):.2f}" for name in ("weak_speed_up", "strong_speed_up")}
        ratios = {
            "weak_efficiency_ratio": scaling.weak_efficiency,
            "strong_efficiency_ratio": scaling.strong_efficiency,
        }
        step = comparison.judgement("step_time")
        steps = {} if step is None else {"base_ns": step.base, "candidate_ns": step.candidate}
        said.append(Message("compare.said.scaling", {**params, **texts, **ratios, **steps}))
        return said
    if comparison.verdict == "scaling":
        step = comparison.judgement("step_time")
        times = {} if step is None else {"base_ns": step.base, "candidate_ns": step.candidate}
        return [Message("compare.said.no-scaling", times)]
    deciding = [one for one in comparison.judgements if one.metric in comparison.decided_by]
    said += [_judgement_sentence(one) for one in deciding]
    said += _confidence(deciding)
    if not deciding:
        said.append(Message("compare.said.nothing-judged"))
    return said


def recovery_sentence(recovery: Recovery) -> Message:
    """Say what restoring a cause would recover."""
    how = "compare.said.recover" if recovery.method == "replay" else "compare.said.share"
    name: object = printable(recovery.name)
    if recovery.kind == "free":
        name = Message(FREE_CAUSES.get(recovery.name, "compare.free.unknown"))
        how = "compare.said.share-free"
    return Message(
        how,
        {
            "name": name,
            "recovered_ns": recovery.recovered_ns,
            # What restoring it saves beyond the regression made up for something that got faster.
            "recovered_ratio": min(recovery.recovered_ratio, 1.0),
            "delta": signed_duration(recovery.delta_ns),
        },
    )


def gate_sentences(result: GateResult) -> list[Message]:
    """Say what the gate decided, and why."""
    said = [Message(_GATE[result.verdict])]
    if result.verdict == "cannot compare":
        # How many runs more would settle it is no question where no number of them would.
        differs = [] if result.comparison.is_same_setup else result.comparison.remarks[:1]
        return [*said, *obstacle_sentences(result.obstacles), *differs]
    said += [_reason(reason, result.comparison) for reason in result.reasons]
    if result.verdict == "passed":
        said += [_judgement_sentence(one) for one in result.comparison.judgements if one.verdict is not None]
    judged = [one for one in result.comparison.judgements if one.verdict is not None]
    return [*said, *_confidence(judged)]


def null_sentences(result: NullTest) -> list[Message]:
    """Say how often the gate would have been wrong."""
    said = []
    for metric in result.metrics:
        how = "gate.null.runs" if metric.method == "runs" else "gate.null.steps"
        params = {"metric": Message(METRIC_NAMES[metric.metric]), "alarms": metric.alarms, "splits": metric.splits}
        said.append(Message(how, {**params, "alarm_ratio": metric.alarms / metric.splits}))
    return said


def metric_text(name: str, language: Language) -> str:
    """Name a metric; shares with their denominator."""
    return language.text(METRIC_NAMES[name])


def verdict_word(verdict: str | None, language: Language) -> str:
    """One word for a verdict; a dash where nothing was judged."""
    return "-" if verdict is None else language.text(VERDICTS[verdict])


def value_text(judgement: Judgement, value: float) -> str:
    """A value in the unit of its metric."""
    if judgement.unit == "ns":
        return duration_text(value)
    return bytes_text(value) if judgement.unit == "bytes" else percent_text(value)


def spread_text(judgement: Judgement, spread: tuple[float, float] | None) -> str:
    """The range of the samples; empty where there is one only, or where both ends read the same."""
    if spread is None:
        return ""
    low, high = (value_text(judgement, end) for end in spread)
    return "" if low == high else f"{low} \u2026 {high}"


def change_text(judgement: Judgement, value: float | None) -> str:
    """A change with its sign: in percent, or in points where it is one of shares."""
    if value is None:
        return "-"
    if judgement.change_kind == "points":
        return f"{100 * value:+.1f} pt"
    if abs(value) >= 10:
        return f"x{1 + value:,.0f}" if value < 1e6 else "\u221e"
    return f"{100 * value:+.1f} %"


def interval_text(judgement: Judgement) -> str:
    """The 95 % interval of the change; a dash where nothing can be said about chance."""
    if judgement.low is None or judgement.high is None:
        return "-"
    low, high = change_text(judgement, judgement.low), change_text(judgement, judgement.high)
    unit = low.rpartition(" ")[2]
    return f"{low.removesuffix(' ' + unit) if high.endswith(' ' + unit) else low} \u2026 {high}"


def limit_text(judgement: Judgement) -> str:
    """The limit, in the direction that is worse."""
    if judgement.limit is None:
        return "-"
    sign = "+" if judgement.worse == "up" else "-"
    return f"{sign}{100 * judgement.limit:g} {'pt' if judgement.change_kind == 'points' else '%'}"


def signed_duration(ns: float) -> str:
    """A time with its sign."""
    return ("+" if ns > 0 else "") + duration_text(ns)


def cause_text(row: Contribution, language: Language) -> str:
    """Name a part of the difference, with shapes and module where they told it apart."""
    if row.kind == "free":
        return language.text("compare.row.free", cause=language.text(FREE_CAUSES.get(row.name, "compare.free.unknown")))
    if row.kind == "concurrent":
        return language.text("compare.row.concurrent")
    if row.kind == "uneven":
        return language.text("compare.row.uneven")
    name = printable(row.name)
    if row.kind == "communication":
        name = language.text("compare.row.communication", name=name)
    elif row.kind == "copy":
        known = row.name in ("h2d", "d2h", "d2d", "h2h")
        name = language.text("compare.row.copy", name=name) if known else language.text("compare.row.copies")
    shapes = f" [{printable(row.shapes)}]" if row.shapes else ""
    module = f" {printable(row.module)}" if row.module else ""
    return name + shapes + module


def _judgement_sentence(one: Judgement) -> Message:
    verdict = one.verdict or "inconclusive"
    interval = Message("compare.said.no-interval")
    if one.low is not None:
        interval = Message("compare.said.interval", {"interval": interval_text(one)})
    return Message(
        _SENTENCES[verdict],
        {
            "metric": Message(METRIC_NAMES[one.metric]),
            "base": value_text(one, one.base),
            "candidate": value_text(one, one.candidate),
            "change": change_text(one, one.change),
            "interval": interval,
            "limit": limit_text(one),
        },
    )


def _confidence(judgements: Iterable[Judgement]) -> list[Message]:
    """Say what the interval does not hold or allows for, and how many more runs would settle it."""
    judged = list(judgements)
    more = max((one.more_runs for one in judged if one.more_runs is not None), default=None)
    said = []
    if any(one.method == "steps" for one in judged):
        said.append(Message("compare.said.low-confidence"))
    predicted = [one.base_count for one in judged if one.method == "prediction"]
    if predicted:
        said.append(Message("compare.said.prediction", {"count": max(predicted)}))
    if any(one.method == "prediction" and one.verdict == "possible" for one in judged):
        said.append(Message("compare.said.disturbed"))
    if any(one.drift_ratio is not None and one.verdict == "possible" for one in judged):
        said.append(Message("compare.said.drift"))
    if more is not None:
        enough = all(one.method == "prediction" for one in judged if one.more_runs)
        which = "compare.said.more-candidates" if enough else "compare.said.more-runs"
        if more > _MOST_RUNS:
            which = "compare.said.too-many-runs"
        said.append(Message(which, {"count": more}))
    return said


def _reason(reason: Reason, comparison: Comparison) -> Message:
    one = comparison.judgement(reason.metric)
    sentence: object = "" if one is None else _judgement_sentence(one)
    return Message(_REASONS[reason.kind], {"metric": Message(METRIC_NAMES[reason.metric]), "sentence": sentence})
