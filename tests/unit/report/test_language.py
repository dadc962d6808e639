"""Texts by message id: language of the reader, units, singular and plural."""

from __future__ import annotations

import pytest

import ascend_sn
from ascend_sn.advisor.message import Message
from ascend_sn.report.words.language import Language, code_of_environment


@pytest.mark.parametrize(
    ("environment", "code"),
    [
        ({}, "en"),
        ({"LANG": "zh_CN.UTF-8"}, "zh"),
        ({"LANG": "zh_CN.UTF-8", "LC_ALL": "C"}, "en"),
        ({"LANG": "de_DE.UTF-8"}, "en"),
        ({"LANG": "de_DE.UTF-8", "ASCEND_SN_LANG": "zh"}, "zh"),
        ({"LANG": "zh_CN.UTF-8", "ASCEND_SN_LANG": "en"}, "en"),
        ({"LANG": "zh_CN.UTF-8", "ASCEND_SN_LANG": "klingon"}, "zh"),
    ],
)
def test_the_variable_goes_before_the_locale(environment: dict[str, str], code: str) -> None:
    assert code_of_environment(environment) == code


def test_a_message_is_said_in_the_language_that_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    message = Message("effort.code")

    assert (ascend_sn.say(message, "en"), ascend_sn.say(message, "zh")) == ("code", "\u6539\u4ee3\u7801")
    monkeypatch.setenv("ASCEND_SN_LANG", "zh")
    assert ascend_sn.say(message) == "\u6539\u4ee3\u7801"


def test_singular_and_plural() -> None:
    english = Language.load("en")

    assert english.text("health.ranks", count=1) == "1 rank"
    assert english.text("health.ranks", count=2) == "2 ranks"


def test_a_count_in_a_message_without_plural_is_just_a_number() -> None:
    assert Language.load("en").text("breakdown.steady", count=3, low_ns=5_000_000) == "3 steps of 5.00 ms each."


def test_a_message_may_hold_a_message() -> None:
    message = Message("where.worst", {"where": Message("where.rank", {"rank": 2}), "count": 4})

    assert Language.load("en").render(message) == "rank 2, the worst of 4 ranks"
    assert Language.load("zh").render(message) == "rank 2，4 个 rank 中最差"


def test_an_outline_keeps_braces_that_are_meant_as_such() -> None:
    assert Language.load("en").outline("rank {rank} has {{x}}") == "rank \u2026 has {x}"


def test_an_unknown_message_is_known_to_be_unknown() -> None:
    english = Language.load("en")

    assert english.has("health.ranks")
    assert not english.has("no.such.message")
    assert not english.has("")
