"""The published advising interface of asc-tools: `from asc_tools.advisor import Analyzer, AnalysisProfile`."""

from __future__ import annotations

from ascend_sn import AnalysisProfile, Analyzer

__all__ = ["AnalysisProfile", "Analyzer"]
