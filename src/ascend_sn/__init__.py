"""Profile training and inference on Ascend NPUs, CUDA and CPU: collect, analyse, advise, look, compare."""

from __future__ import annotations

from ascend_sn._version import __version__

TYPE_CHECKING = False  # not from typing: that import alone costs several milliseconds in the user's process
if TYPE_CHECKING:
    from typing import Any

    from ascend_sn import analysis, replay
    from ascend_sn.advisor.advise import advise
    from ascend_sn.compare.runs import compare
    from ascend_sn.report.analyzer import AnalysisProfile, Analyzer
    from ascend_sn.report.documents.run import Document
    from ascend_sn.report.opened import analyze, open_run as open
    from ascend_sn.report.words.language import say
    from ascend_sn.store import Run

__all__ = [
    "AnalysisProfile",
    "Analyzer",
    "Document",
    "Run",
    "__version__",
    "advise",
    "analysis",
    "analyze",
    "compare",
    "open",
    "replay",
    "say",
]


def __getattr__(name: str) -> Any:
    """Load the reading side only when it is used: the recorder imports this package in the user's process."""
    if name in ("analyze", "open"):
        from ascend_sn.report import opened

        return opened.analyze if name == "analyze" else opened.open_run
    if name == "Document":
        from ascend_sn.report.documents.run import Document

        return Document
    if name == "Run":
        from ascend_sn.store import Run

        return Run
    if name == "advise":
        from ascend_sn.advisor.advise import advise

        return advise
    if name == "say":
        from ascend_sn.report.words.language import say

        return say
    if name in ("AnalysisProfile", "Analyzer"):
        from ascend_sn.report import analyzer

        return getattr(analyzer, name)
    if name in ("analysis", "compare", "replay"):  # the package `compare` can be called
        from importlib import import_module

        return import_module(f"ascend_sn.{name}")
    raise AttributeError(f"module 'ascend_sn' has no attribute {name!r}")


def __dir__() -> list[str]:
    """Name what is public, loaded or not: `dir()` and completion show it."""
    return sorted(__all__)
