"""Script, data and policy of the page: nothing in a trace can end its block, and nothing else can run."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from base64 import b64encode
from hashlib import sha256
from pathlib import Path

import pytest

from ascend_sn.report.assemble.run import assemble
from ascend_sn.report.documents.views import View
from ascend_sn.report.html import bundle as html_bundle
from ascend_sn.report.html.bundle import data_block, policy, report_script
from ascend_sn.report.html.run import html_text
from ascend_sn.report.words.language import Language
from tests.unit.report.drawn import drawn_document, nothing
from tests.unit.report.test_pages import HOSTILE, Structure, hostile_run

ENGLISH = Language.load("en")


def digest(text: str) -> str:
    return "'sha256-" + b64encode(sha256(text.encode()).digest()).decode() + "'"


def test_data_cannot_end_their_block() -> None:
    block = data_block({"name": "</script><!--<script>&amp;"})

    assert not set("<>&").intersection(block)
    assert json.loads(block) == {"name": "</script><!--<script>&amp;"}


def test_the_policy_allows_this_style_and_this_script_only() -> None:
    rules = dict(rule.split(" ", 1) for rule in policy("a{}", "f()").split("; "))

    assert rules["default-src"] == rules["base-uri"] == rules["form-action"] == "'none'"
    assert rules["style-src"] == digest("a{}")
    assert rules["script-src"] == digest("f()")


def test_a_page_without_a_script_allows_none() -> None:
    assert "script-src" not in policy("a{}", "")


def test_the_page_holds_what_its_policy_allows() -> None:
    text = html_text(drawn_document(), ENGLISH, View())

    style = re.search(r"<style>(.*?)</style>", text, re.DOTALL)
    scripts = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)

    assert style is not None
    assert digest(style[1]) in text
    assert [digest(script) in text for script in scripts] == [True] * len(scripts)


def test_hostile_names_reach_the_script_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ascend_sn.report.html.run.report_script", lambda: "start()")

    text = html_text(assemble(hostile_run(), ENGLISH), ENGLISH, View())

    page = Structure(text)
    assert page.unclosed == []
    data = json.loads(page.scripts[0])
    labels = [row["label"] for row in data["charts"]["kernels"]["rows"]]
    assert labels == [HOSTILE.replace("\x1b", "\\x1b")]


def test_a_bundle_that_was_not_built_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(html_bundle, "_SCRIPT", tmp_path / "report.js")

    text = html_text(drawn_document(), ENGLISH, View())

    assert report_script() == ""
    assert "<script" not in text
    assert "built without its front end" in text


def test_a_bundle_cannot_end_its_own_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bundle = tmp_path / "report.js"
    bundle.write_text('f("</script>", "<!--")', encoding="utf-8")
    monkeypatch.setattr(html_bundle, "_SCRIPT", bundle)

    assert report_script() == 'f("<\\/script>", "<\\!--")'


def test_an_empty_run_has_a_page_too() -> None:
    page = Structure(html_text(assemble(nothing(), ENGLISH), ENGLISH, View()))

    assert page.unclosed == []


def test_the_screen_loads_nothing_of_the_page() -> None:
    needed = "ascend_sn.cli.analyze, ascend_sn.report.assemble.run, ascend_sn.report.terminal.run"
    code = f"import sys, {needed}; print(*sys.modules)"

    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()

    assert [name for name in loaded if name == "jinja2" or name.startswith("ascend_sn.report.html")] == []
