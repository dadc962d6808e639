"""The advisor in every view: screen, page of a rule, Markdown, HTML."""

from __future__ import annotations

from functools import cache
from io import StringIO
from typing import get_args

import pytest
from msgspec.structs import replace

from ascend_sn.advisor import rules
from ascend_sn.advisor.thresholds import Thresholds
from ascend_sn.report.assemble.run import assemble
from ascend_sn.report.documents.findings import Gain
from ascend_sn.report.documents.run import Document
from ascend_sn.report.documents.views import Selection, View
from ascend_sn.report.html.run import html_text
from ascend_sn.report.markdown.run import markdown_text
from ascend_sn.report.terminal.findings import write_explanation, write_explanations
from ascend_sn.report.terminal.run import write_screen
from ascend_sn.report.words.finding_text import first_sentence, gain_text
from ascend_sn.report.words.language import Code, Language
from tests.unit.advisor.rules.test_straggler import MS, training
from tests.unit.report.drawn import DrawnRun

LANGUAGES: tuple[Code, ...] = get_args(Code)


@cache
def analysed(code: Code = "en", thresholds: Thresholds | None = None) -> Document:
    """Four ranks, of which rank 2 is late by 20 of 100 ms."""
    return assemble(DrawnRun(training(20 * MS)), Language.load(code), Selection(thresholds=thresholds))


def explained(document: Document, code: str, thresholds: Thresholds) -> str:
    language, target = Language.load("en"), StringIO()
    page = {
        part: language.outline(rules.load(code).text(part)) for part in ("title", "why", "advice", "verify", "not-when")
    }
    write_explanation(document, code, page, thresholds.of(code), language, target)
    return " ".join(target.getvalue().split())


def test_the_screen_numbers_the_advice_with_gain_evidence_and_verification() -> None:
    target = StringIO()

    write_screen(analysed(), Language.load("en"), target, View(), width=80)

    text = " ".join(target.getvalue().split())
    assert "1. critical The other ranks wait for one rank (R-IMB-1) Gain: 20.0 ms per step (20 %" in text
    assert "Rank 2 comes last: the 3 other ranks lose 20.0 ms per step (20 %)" in text
    assert "Verify: Collect all ranks again" in text
    assert "held back (--explain all says why)" in text


def test_what_was_held_back_is_explained_with_what_it_would_have_said() -> None:
    target = StringIO()

    write_explanations(analysed(), Language.load("en"), target)

    text = " ".join(target.getvalue().split())
    assert (
        "R-IMB-2 Ranks wait for each other in turn: the work is uneven: Rank 2 explains it: see R-IMB-1. It would"
        in text
    )
    assert "Rules that could not look" in text
    assert "identity error 0 %" in text


def test_the_page_of_a_rule_shows_thresholds_evidence_and_remarks() -> None:
    thresholds = Thresholds.of_package().with_options(["R-IMB-1.wait_from_ratio=0.04"])

    text = explained(analysed("en", thresholds), "R-IMB-1", thresholds)

    assert text.startswith("R-IMB-1 The other ranks wait for one rank Why it costs time A collective ends when")
    assert "wait_from_ns = 5.00 ms wait_from_ratio = 4.0 % (set by you)" in text
    assert "caused_wait_ns 20.0 ms (stragglers, rank 2)" in text


def test_the_page_of_a_rule_that_found_nothing_says_so() -> None:
    assert explained(analysed(), "R-COMM-6", Thresholds.of_package()).endswith("In this run The pattern is not there.")


@pytest.mark.parametrize("code", LANGUAGES)
def test_markdown_and_html_hold_the_same_findings(code: Code) -> None:
    language, document = Language.load(code), analysed(code)
    first = document.findings.rows[0]

    markdown, page = markdown_text(document, language, View()), html_text(document, language, View())

    for text in (first.title, first.rule, language.text(f"severity.{first.severity}")):
        assert text in markdown
        assert text in page
    assert '<section id="findings">' in page
    assert "<script>alert" not in page


def test_names_from_a_trace_stay_names() -> None:
    db = training(20 * MS)
    db.execute("update kernel set name = '<b>x</b>\\x1b[31m', op_type = '<b>x</b>\\x1b[31m' where name = 'MatMul'")
    language = Language.load("en")
    document = assemble(DrawnRun(db), language)
    target = StringIO()

    write_explanations(document, language, target)

    assert "\x1b" not in target.getvalue()
    assert "<b>x</b>" not in html_text(document, language, View())


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("Do this. Then that.", "Do this."),
        ("Only this", "Only this"),
        ("Set a.b to 0.5 first. Then go.", "Set a.b to 0.5 first."),
        ("\u5148\u505a\u8fd9\u4e2a\u3002\u518d\u505a\u90a3\u4e2a\u3002", "\u5148\u505a\u8fd9\u4e2a\u3002"),
    ],
)
def test_the_first_sentence_ends_with_its_stop(text: str, first: str) -> None:
    assert first_sentence(text) == first


def test_a_gain_that_may_be_a_loss_is_not_promised() -> None:
    gain = Gain(
        low_ns=-109 * MS, expected_ns=13 * MS, high_ns=60 * MS, low_ratio=-0.7, expected_ratio=0.08, high_ratio=0.4,
        base_ns=160 * MS, method="replay",
    )  # fmt: skip

    said = gain_text(gain, "low", Language.load("en"))

    assert said == (
        "Gain: 13.0 ms per step (8.0 %) expected, but none is sure: from 109 ms longer to 60.0 ms shorter, "
        "confidence low."
    )


def test_the_short_gain_of_the_html_says_that_none_is_sure() -> None:
    unsure = Gain(
        low_ns=-5 * MS, expected_ns=13 * MS, high_ns=60 * MS, low_ratio=-0.05, expected_ratio=0.13, high_ratio=0.6,
        base_ns=100 * MS, method="replay",
    )  # fmt: skip
    document = assemble(DrawnRun(training(20 * MS, steps=9)), Language.load("en"))
    (row, *_) = (one for one in document.findings.rows if one.gain is not None)
    findings = replace(document.findings, rows=[replace(row, gain=unsure)])
    page = html_text(replace(document, findings=findings), Language.load("en"), View())

    assert "13.0 ms (13 %), not sure" in page
