"""The document of a run: everything that any view shows, typed. `analyze --format json` is this, encoded.

Every section has `collected` and `state`; an absent one also `reason` and `turn_on`. Times are int64 ns, sizes bytes,
shares ratios from 0 to 1; null means that a figure was not collected, never zero. Lists that grow with the run are
bounded and stand beside their full count (`..._count`).
"""

from __future__ import annotations

from typing import Final, Literal

import msgspec

from ascend_sn.report.documents.cluster import Cluster
from ascend_sn.report.documents.communication import Communication
from ascend_sn.report.documents.copies import Copies
from ascend_sn.report.documents.critical_path import CriticalPathSection
from ascend_sn.report.documents.findings import Findings
from ascend_sn.report.documents.fusion import Fusion
from ascend_sn.report.documents.health import Health
from ascend_sn.report.documents.inference import Inference
from ascend_sn.report.documents.memory import Memory
from ascend_sn.report.documents.operators import Operators
from ascend_sn.report.documents.section import Statement
from ascend_sn.report.documents.steps import Breakdown, Steps
from ascend_sn.report.documents.timeline import StepTimeline
from ascend_sn.report.words.language import Code

__all__ = ["SCHEMA", "Document", "Profile"]

SCHEMA: Final = "ascend-sn/analyze/1"


class Profile(msgspec.Struct, kw_only=True):
    """A captured process."""

    profile_id: int
    rank: int | None
    host: str | None
    pid: int | None
    device_kind: str
    device_id: int | None
    device_name: str | None
    format: str
    source: str
    phase: str | None
    world_size: int | None
    session_count: int | None
    start_ns: int | None


class Document(msgspec.Struct, kw_only=True):
    """One run, as every view shows it.

    Where the input holds several jobs that have nothing to do with each other, `jobs` names them and `job` is the
    one that is shown; else both are empty. `capture_ns` is the longest profile's, from its first record to its last;
    null where nobody asked for the timeline. `copies`, `fusion` and `critical_path` are null where nobody asked for
    them, `inference` where nothing was inferred, `cluster` for fewer than sixteen ranks. `timeline` is for the HTML
    report; in JSON it is always null.
    """

    schema: Literal["ascend-sn/analyze/1"]
    generator: str
    language: Code
    input: str
    job: str = ""
    jobs: list[str] = []
    capture_ns: int | None = None
    verdict: list[Statement]
    health: Health
    cluster: Cluster | None = None
    profiles: list[Profile]
    steps: Steps
    breakdown: Breakdown
    operators: Operators
    communication: Communication
    memory: Memory
    copies: Copies | None = None
    fusion: Fusion | None = None
    inference: Inference | None = None
    critical_path: CriticalPathSection | None = None
    timeline: StepTimeline | None = None
    findings: Findings

    def json(self) -> str:
        """Return the document as indented JSON, as `ascend-sn analyze --format json` writes it."""
        from ascend_sn.report.documents.as_json import json_text

        return json_text(self)

    def markdown(self) -> str:
        """Return the document as Markdown."""
        from ascend_sn.report.documents.views import View
        from ascend_sn.report.markdown.run import markdown_text
        from ascend_sn.report.words.language import Language

        return markdown_text(self, Language.load(self.language), View())

    def html(self) -> str:
        """Return the document as one self-contained HTML page of 3 MB at most."""
        from ascend_sn.report.documents.views import View
        from ascend_sn.report.html.run import html_text
        from ascend_sn.report.words.language import Language

        return html_text(self, Language.load(self.language), View())

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the summary, all texts escaped."""
        from ascend_sn.report.html.notebook import document_html

        return document_html(self)
