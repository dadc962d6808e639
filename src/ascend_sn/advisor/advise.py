"""From a run to advice: every rule looks, claims are priced on the replayed step, graded and ranked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Final, get_args

from ascend_sn.advisor.after_causes import CAUSES, Priced, left_after_causes
from ascend_sn.advisor.costliest import located
from ascend_sn.advisor.device_texts import DEVICE_TEXTS, text_on
from ascend_sn.advisor.facts import Facts
from ascend_sn.advisor.finding import Advice, Finding, NotCollected, Severity, Suppressed, Topic
from ascend_sn.advisor.joint import Option, planned
from ascend_sn.advisor.message import Message
from ascend_sn.advisor.pricing import Price, priced, quality_of
from ascend_sn.advisor.rule import Claim, Context, Lacking, Outcome, Rule, Shared, TextPart
from ascend_sn.advisor.rulebook import Rulebook, placeholders
from ascend_sn.advisor.rules import CODES
from ascend_sn.advisor.thresholds import GENERAL, Limits, Thresholds
from ascend_sn.errors import BroughtCodeError, UnknownNameError, UsageError
from ascend_sn.model.brought_code import call_brought
from ascend_sn.store import Run

__all__ = ["advise"]

_ORDER: Final[dict[Severity, int]] = {"critical": 0, "warning": 1, "info": 2}

_TOPICS: Final = get_args(Topic)
_EXAMPLE: Final = "Thresholds.of_package().with_options(['R-HOST-2.waited_from_ratio=0.1'])"

_LEFT_RATIO: Final = 0.1
"""A gain of which less than this is left after its cause is held back."""

_CAUSES_OF_WAITING: Final = (*CAUSES, "R-PP-1")
"""Rules whose priced findings are the causes of what ranks wait for each other."""


def advise(
    run: Run,
    *,
    topics: Collection[Topic] | None = None,
    codes: Iterable[str] | None = None,
    thresholds: Thresholds | None = None,
    facts: Facts | None = None,
    rules: Sequence[Rule] = (),
    looking: Callable[[str], None] | None = None,
) -> Advice:
    """Let the rules look at a run.

    Args:
        run: An opened run, as `ascend_sn.open` returns it; no path.
        topics: Only rules of these topics, a list of texts such as `["memory"]`; all by default.
        codes: Only these rules, a list of texts such as `["R-DATA-1"]`; all by default.
        thresholds: What is in force instead of the thresholds of the package, a `Thresholds` of
            `ascend_sn.advisor.thresholds`.
        facts: Analysis results of the same run, so that none is worked out twice.
        rules: Rules of one's own, which look after those of the package.
        looking: Is told the code of each rule before it looks.

    Returns:
        Findings by the time that is to be had, risks first; what was held back; which rules could not look; the plan.

    Raises:
        TypeError: A path in the place of an opened run, a text in the place of a list, or thresholds that are a dict.
        UnknownNameError: No rule of such a code, or no such topic.
        UsageError: A rule of one's own has no code, one that is taken, or lacks a text.
    """
    _check(run, topics, codes, thresholds)
    book = Rulebook(rules)
    in_force = (thresholds or Thresholds.of_package()).with_rules(book.limits)
    general = in_force.of(GENERAL)
    shared = Shared(facts or Facts(run))
    wanted = [book.load(code) for code in (book.codes if codes is None else codes)]
    told: list[Priced] = []
    suppressed: list[Suppressed] = []
    not_collected: list[NotCollected] = []
    quiet: list[str] = []
    for rule in wanted:
        if topics is not None and rule.topic not in topics:
            continue
        if looking is not None:
            looking(rule.code)
        outcomes = _looked(rule, shared, in_force.of(rule.code))
        if not outcomes:
            quiet.append(rule.code)
        seen: Counter[str] = Counter()
        for outcome in outcomes:
            if isinstance(outcome, NotCollected):
                not_collected.append(outcome)
                continue
            seen[rule.code] += 1
            name = rule.code if seen[rule.code] == 1 else f"{rule.code}#{seen[rule.code]}"
            price = Price() if outcome.suppressed_by else priced(shared, outcome, general)
            reason = outcome.suppressed_by or _not_worth(rule, price, general)
            if reason is not None and outcome.tells_hidden and outcome.suppressed_by is None:
                price, reason = Price(unpriced=Message("unpriced.hidden"), confidence=price.confidence), None
            if reason is not None:
                suppressed.append(_suppressed(shared.facts, rule, outcome, name, price, reason))
                continue
            told.append(Priced(rule, outcome, name, price))
    told = left_after_causes(shared, told)
    by_cause = {one.name: one for one in told if _is_small(one, general)}
    for one in by_cause.values():
        cause = next(other.rule.code for other in told if other.rule.code in CAUSES and other.change is not None)
        reason = Message("suppressed.told-by", {"rule": cause})
        suppressed.append(_suppressed(shared.facts, one.rule, one.claim, one.name, one.price, reason))
    findings = {one.name: _finding(shared.facts, one, general) for one in told if one.name not in by_cause}
    options = [
        Option(findings[one.name], one.change, one.price.gain.expected_ratio)
        for one in told
        if one.name in findings and one.change is not None and one.price.gain is not None and one.claim.in_plan
    ]
    left = {one.name: one.left_ns for one in told if one.left_ns is not None}
    return Advice(
        findings=tuple(_ranked(findings.values(), book, left)),
        suppressed=tuple(suppressed),
        not_collected=tuple(not_collected),
        quiet=tuple(quiet),
        plan=planned(shared, options),
        replay=quality_of(shared),
    )


def _check(run: object, topics: object, codes: object, thresholds: object) -> None:
    """Refuse what would fail somewhere inside, or find nothing in silence."""
    if not isinstance(run, Run):
        raise TypeError(f"run must be an opened run, such as ascend_sn.open(PATH), not {type(run).__name__}")
    for name, given in (("topics", topics), ("codes", codes)):
        if isinstance(given, str):
            raise TypeError(f"{name} must be a list, such as [{given!r}], not a text")
    if thresholds is not None and not isinstance(thresholds, Thresholds):
        raise TypeError(f"thresholds must be a Thresholds, such as {_EXAMPLE}, not {type(thresholds).__name__}")
    for topic in topics if isinstance(topics, Collection) else ():
        if topic not in _TOPICS:
            nearest = next(iter(get_close_matches(str(topic), _TOPICS, n=1)), None)
            raise UnknownNameError("topic", str(topic), _TOPICS, nearest)


def _looked(rule: Rule, shared: Shared, limits: Limits) -> list[Claim | NotCollected]:
    """Return what a rule claims, or what it lacks."""
    lacking = [Lacking(name) for name in rule.needs if shared.facts.missing(name) is not None]
    outcomes: list[Outcome] = [*lacking[:1]] or _checked(rule, Context(shared, limits))
    return [_not_collected(rule, one, shared.facts) if isinstance(one, Lacking) else one for one in outcomes]


def _checked(rule: Rule, context: Context) -> list[Outcome]:
    if rule.code in CODES:
        return list(rule.check(context))
    try:
        outcomes = call_brought(lambda: list(rule.check(context)))
    except BroughtCodeError as error:
        raise UsageError(f"rule {rule.code} failed: {error}; repair it, or leave its file out") from error
    except UsageError as error:
        raise UsageError(f"rule {rule.code}: {error}") from error
    for one in outcomes:
        _check_brought(rule, one)
    return outcomes


def _check_brought(rule: Rule, outcome: object) -> None:
    """Refuse what a rule of the user yields where no sentence can be made of it."""
    if isinstance(outcome, Lacking):
        return
    if not isinstance(outcome, Claim):
        raise UsageError(f"rule {rule.code}: it yields {type(outcome).__name__}, not a Claim")
    for part in ("title", "message", "advice", "verify"):
        lacking = placeholders(rule.text(part)) - outcome.params.keys()
        if part not in outcome.texts and lacking:
            names = ", ".join(f"{{{name}}}" for name in sorted(lacking))
            raise UsageError(f"rule {rule.code}: its text {part} has {names}, which the claim has no parameter for")


def _not_collected(rule: Rule, lacking: Lacking, facts: Facts) -> NotCollected:
    missing = facts.missing(lacking.analysis)
    return NotCollected(
        code=rule.code,
        topic=rule.topic,
        what=lacking.analysis,
        state="missing" if missing is None else missing.state,
        reason=lacking.reason or ("" if missing is None else missing.reason),
        turn_on=lacking.turn_on or ("" if missing is None else missing.turn_on),
    )


def _not_worth(rule: Rule, price: Price, general: Limits) -> Message | None:
    """Say why a price speaks against the advice; None where it does not."""
    if rule.is_risk or price.gain is None or price.gain.expected_ratio >= general["worth_from_ratio"]:
        return None
    if price.gain.expected_ns <= 0:
        return Message("suppressed.no-gain")
    params = {"gain_ns": price.gain.expected_ns, "gain_ratio": price.gain.expected_ratio}
    return Message("suppressed.small-gain", params)


def _is_small(one: Priced, general: Limits) -> bool:
    """Whether next to nothing is left of a gain, and most of it goes with its cause."""
    gain = one.price.gain
    if gain is None or one.left_ns is None:
        return False
    least_ns = max(general["worth_from_ratio"] * gain.base_ns, _LEFT_RATIO * gain.expected_ns)
    return one.left_ns < min(least_ns, gain.expected_ns / 2)


def _finding(facts: Facts, one: Priced, general: Limits) -> Finding:
    rule, claim, price = one.rule, one.claim, one.price
    return Finding(
        id=one.name,
        code=rule.code,
        topic=rule.topic,
        severity=claim.severity if rule.is_risk and claim.severity else _severity(price, general),
        confidence=price.confidence,
        title=_text(facts, rule, claim, "title"),
        message=_text(facts, rule, claim, "message"),
        advice=_text(facts, rule, claim, "advice"),
        next_step=_text(facts, rule, claim, "verify"),
        location=located(facts, rule.topic, claim),
        evidence=claim.evidence,
        effort=claim.effort or rule.effort,
        grade=claim.grade,
        gain=price.gain,
        unpriced=price.unpriced,
        at_stake_ns=claim.at_stake_ns,
    )


def _suppressed(facts: Facts, rule: Rule, claim: Claim, name: str, price: Price, reason: Message) -> Suppressed:
    return Suppressed(
        id=name,
        code=rule.code,
        topic=rule.topic,
        reason=reason,
        title=_text(facts, rule, claim, "title"),
        message=_text(facts, rule, claim, "message"),
        location=located(facts, rule.topic, claim),
        evidence=claim.evidence,
        gain=price.gain,
    )


def _text(facts: Facts, rule: Rule, claim: Claim, part: TextPart) -> Message:
    text = claim.texts.get(part, rule.text(part))
    if text in DEVICE_TEXTS:
        kinds = {row["profile_id"]: row["device_kind"] for row in facts.profiles}
        text = text_on(text, {kinds.get(one) for one in claim.location.profile_ids or kinds})
    return Message(text, dict(claim.params))


def _severity(price: Price, general: Limits) -> Severity:
    """Only a price makes a finding severe; a gain that is not sure counts one level less."""
    if price.gain is None or price.gain.expected_ratio < general["warning_from_ratio"]:
        return "info"
    if price.gain.expected_ratio >= general["critical_from_ratio"]:
        return "critical" if price.gain.is_sure else "warning"
    return "warning" if price.gain.is_sure else "info"


def _ranked(findings: Iterable[Finding], book: Rulebook, left: Mapping[str, int]) -> list[Finding]:
    """Risks first, by severity; then by the time that is to be had, or that is at stake where nothing is priced.

    Where a cause of the waiting between ranks is found and priced, that is what holds the step: what ranks wait for
    each other counts with it alone, and nothing is to be had of what the replay finds not to hold the step today. Of
    what such a cause may have as a consequence, that counts which is `left` after it.
    """
    found = list(findings)
    causes = any(one.code in _CAUSES_OF_WAITING and one.gain is not None for one in found)
    nothing = ("unpriced.hidden", "unpriced.cause-elsewhere") if causes else ()

    def rank(finding: Finding) -> tuple[int, int, int]:
        risk = book.load(finding.code).is_risk and finding.severity != "info"
        if finding.gain is not None:
            to_be_had = left.get(finding.id, finding.gain.expected_ns)
        else:
            counts = finding.unpriced is None or finding.unpriced.message_id not in nothing
            to_be_had = (finding.at_stake_ns or 0) if counts else 0
        return (_ORDER[finding.severity] if risk else len(_ORDER), -to_be_had, _ORDER[finding.severity])

    return sorted(found, key=rank)
