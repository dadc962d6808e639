"""Runs as people open them in Python: they show themselves in a notebook, and give the document of all reports."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, ParamSpec

from ascend_sn import store
from ascend_sn.store import Run

if TYPE_CHECKING:
    from ascend_sn.report.documents.run import Document
    from ascend_sn.report.words.language import Code

__all__ = ["analyze", "open_run"]

_Given = ParamSpec("_Given")


def analyze(
    run: Run,
    *,
    top_k: int | None = None,
    op_time_threshold_ms: float | None = None,
    advice: bool = True,
    language: Code | None = None,
) -> Document:
    """Work out everything that the reports show of a run.

    Args:
        run: An opened run.
        top_k: Rows of each ranking; 100 by default.
        op_time_threshold_ms: Total time from which an operator or a kernel type is listed.
        advice: Whether the advisor looks at the run.
        language: Of the sentences, `en` or `zh`; by default what the environment asks for.

    Returns:
        The document of `ascend-sn analyze --format json`: its fields are the sections, its methods `json`, `markdown`
        and `html` the reports. A notebook shows its summary.
    """
    from ascend_sn.report.assemble.run import assemble
    from ascend_sn.report.documents.views import View, selection_of
    from ascend_sn.report.words.language import Language, code_of_environment

    selection = selection_of(view=View(top_k=top_k), threshold_ms=op_time_threshold_ms, advice=advice)
    return assemble(run, Language.load(language or code_of_environment()), selection)


def _shown_in_notebooks(opens: Callable[_Given, Run]) -> Callable[_Given, Run]:
    @wraps(opens)
    def opened(*args: _Given.args, **kwargs: _Given.kwargs) -> Run:
        run = opens(*args, **kwargs)
        run.display = _displayed
        return run

    return opened


def _displayed(run: Run) -> str:
    from ascend_sn.report.html.notebook import run_html

    return run_html(run)


open_run = _shown_in_notebooks(store.open_run)
