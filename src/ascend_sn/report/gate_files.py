"""What continuous integration reads of the gate: JUnit XML, annotations of GitHub, code quality of GitLab."""

from __future__ import annotations

import json
import re
from hashlib import sha256
from typing import Final
from xml.etree import ElementTree

from ascend_sn.report.documents.comparison import GateDocument
from ascend_sn.report.words.comparison_text import METRIC_NAMES, change_text, limit_text, value_text
from ascend_sn.report.words.language import Language
from ascend_sn.report.words.printable import printable

__all__ = ["github_annotations", "gitlab_report", "junit_xml"]

_NOT_XML: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_SUITE: Final = "ascend-sn gate"


def junit_xml(document: GateDocument, language: Language) -> str:
    """Return the gate as JUnit XML: one test case per metric; what cannot be compared is an error."""
    comparison = document.comparison
    judged = [one for one in comparison.metrics if one.limit is not None]
    failing = {reason.metric: reason for reason in document.reasons if reason.fails}
    unsure = {reason.metric: reason for reason in document.reasons if not reason.fails}
    text = "\n".join(one.text for one in document.said)
    cannot = document.verdict == "cannot compare"
    others = [name for name in (*failing, *unsure) if name not in {one.metric for one in judged}]
    names = [*(one.metric for one in judged), *others] if not cannot else ["comparison"]
    values = {
        one.metric: f"{value_text(one, one.base)} \u2192 {value_text(one, one.candidate)} "
        f"({change_text(one, one.change)}; {limit_text(one)})"
        for one in judged
    }
    suite = ElementTree.Element(
        "testsuite",
        name=_SUITE,
        tests=str(len(names)),
        failures=str(len(failing)),
        errors=str(int(cannot)),
        skipped="0",
        time=f"{comparison.analysis_ns / 1e9:.3f}",
    )
    suite.append(ElementTree.Comment(f" {document.generator} "))
    for name in names:
        shown = language.text(METRIC_NAMES[name]) if name in METRIC_NAMES else name
        case = ElementTree.SubElement(suite, "testcase", classname="ascend-sn.gate", name=_xml(shown), time="0")
        if cannot:
            ElementTree.SubElement(case, "error", message=_xml(_headline(document)), type="cannot compare").text = _xml(
                text
            )
        elif name in failing:
            kind = failing[name].kind
            ElementTree.SubElement(case, "failure", message=_xml(_about(document, shown)), type=kind).text = _xml(text)
        elif name in unsure:
            ElementTree.SubElement(case, "system-out").text = _xml(_about(document, shown))
        else:
            ElementTree.SubElement(case, "system-out").text = _xml(values[name])
    root = ElementTree.Element("testsuites")
    root.append(suite)
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def github_annotations(document: GateDocument) -> str:
    """Return workflow commands that GitHub shows beside the change: an error, a warning, or a notice."""
    level = {"failed": "error", "cannot compare": "error", "unsure": "warning", "passed": "notice"}[document.verdict]
    headline, *rest = (one.text for one in document.said)
    title = _property(f"{_SUITE}: {headline}")
    return f"::{level} title={title}::{_data(chr(10).join(rest) or headline)}\n"


def gitlab_report(document: GateDocument) -> str:
    """Return a code quality report of GitLab: one entry per metric that does not simply pass, none where all do."""
    entries = []
    if document.verdict == "cannot compare":
        entries.append(("comparison", "blocker", " ".join(one.text for one in document.said)))
    for reason in document.reasons:
        severity = "major" if reason.fails else "minor"
        entries.append((reason.metric, severity, " ".join(one.text for one in document.said)))
    report = [
        {
            "description": printable(text),
            "check_name": f"ascend-sn gate: {name}",
            "generator": document.generator,
            "fingerprint": sha256(f"ascend-sn gate {name}".encode()).hexdigest(),
            "severity": severity,
            "location": {"path": "ascend-sn.toml", "lines": {"begin": 1}},
        }
        for name, severity, text in entries
    ]
    return json.dumps(report, ensure_ascii=False, indent=2) + "\n"


def _headline(document: GateDocument) -> str:
    return " ".join(one.text for one in document.said[:2])


def _about(document: GateDocument, metric: str) -> str:
    """The first sentence that is about a metric, else the headline."""
    return next((one.text for one in document.said[1:] if metric in one.text), document.said[0].text)


def _xml(text: str) -> str:
    return _NOT_XML.sub("\ufffd", printable(text) if "\n" not in text else text)


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
