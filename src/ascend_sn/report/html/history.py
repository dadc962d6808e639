"""The trend of a history as one self-contained HTML page."""

from __future__ import annotations

from ascend_sn.report.documents.history import TrendDocument, metric_value
from ascend_sn.report.html.page import page_text
from ascend_sn.report.html.trend_figure import trend_chart
from ascend_sn.report.words.comparison_text import METRIC_NAMES
from ascend_sn.report.words.history_text import trend_sentences
from ascend_sn.report.words.language import Language

__all__ = ["trend_html"]


def trend_html(document: TrendDocument, language: Language) -> str:
    """Return the page: each metric with its chart and its lasting changes, then the runs."""
    names = {trend.metric: language.text(METRIC_NAMES[trend.metric]) for trend in document.metrics}
    cards = [
        {
            "name": names[trend.metric],
            "chart": trend_chart(trend, names[trend.metric]),
            "said": trend_sentences(trend, document.fewest, language),
            "is_worse": bool(trend.changes) and trend.changes[-1].is_worse,
        }
        for trend in document.metrics
    ]
    return page_text(
        "history.html.j2", language, document=document, cards=cards, rows=_rows(document), names=list(names.values())
    )


def _rows(document: TrendDocument) -> list[list[str]]:
    """A row for each run, the newest first, with the value of each metric."""
    labels = {point.run: point.label for trend in document.metrics for point in trend.points}
    values = {(point.run, trend.metric): point.value for trend in document.metrics for point in trend.points}
    return [
        [
            labels[run],
            *(
                metric_value(trend.metric, values[run, trend.metric]) if (run, trend.metric) in values else "-"
                for trend in document.metrics
            ),
        ]
        for run in sorted(labels, reverse=True)
    ]
