"""The document as one self-contained HTML page that fetches nothing.

Every figure is there twice: as a table or drawing that needs no script, and as data for the bundled script, which puts
a living chart in the place of the drawing. Print shows the drawings.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from markupsafe import Markup

from ascend_sn.report.documents.communication import Operation
from ascend_sn.report.documents.run import Document
from ascend_sn.report.documents.views import View
from ascend_sn.report.html.bundle import data_block, policy, report_script
from ascend_sn.report.html.chart_data import Chart, ReportData
from ascend_sn.report.html.charts import LATENCY, PARTS, charts_of
from ascend_sn.report.html.communication import LinkSums, link_map, link_sums
from ascend_sn.report.html.drawings import drawings_of
from ascend_sn.report.html.figures import Part, share_bar, split_bar
from ascend_sn.report.html.findings import findings_parts
from ascend_sn.report.html.memory import memory_curves
from ascend_sn.report.html.overview import health_parts, overview_parts
from ascend_sn.report.html.page import STYLE, page_text
from ascend_sn.report.html.timeline import drawn_timeline, lanes_table, packed_timeline, timeline_note
from ascend_sn.report.tables.cluster import cluster_lines, cluster_tables
from ascend_sn.report.tables.inference import inference_tables
from ascend_sn.report.tables.path import path_tables
from ascend_sn.report.tables.text import (
    copies_table,
    data_table,
    fusion_tables,
    grade_table,
    hot_spot_table,
    leak_table,
    shape_table,
    step_table,
    total_row,
    wait_table,
)
from ascend_sn.report.words.language import Language
from ascend_sn.report.words.printable import printable, shortened
from ascend_sn.report.words.quantities import bytes_text, count_text, duration_text, percent_text, rate_text
from ascend_sn.report.words.wording import (
    absence_text,
    fusion_rate_text,
    members_text,
    rank_text,
    ranking_text,
    share_text,
    subject_parts,
)

__all__ = ["html_text"]

_ROWS: Final = 20
_MOST_ROWS: Final = 1_000
_MOST_BYTES: Final = 3_000_000
_FEWER_ROWS: Final = (300, 100, 30)
_NAME_WIDTH: Final = 90
_TERMS: Final = ("step", "compute", "exposed", "copy", "free", "stage", "transit", "wait", "idle", "kernel", "operator")
_LABELS: Final = (
    "appearance.system",
    "appearance.light",
    "appearance.dark",
    "table.search",
    "timeline.title",
    "timeline.keys",
    "timeline.start",
    "timeline.slices",
    "timeline.busy",
)


def html_text(document: Document, language: Language, view: View) -> str:
    """Return the page, of 3 MB at most.

    Rankings show twenty rows unless the view asks for another number, and a thousand at most, fewer where the page
    would grow too large; of more than 32 ranks the telling ones are drawn. Where the package was built without its
    front end, the page holds drawings and tables only.
    """
    text = _page(document, language, view)
    for rows in _FEWER_ROWS:
        if len(text.encode()) <= _MOST_BYTES:
            break
        text = _page(document, language, replace(view, top_k=rows))
    return text


def _page(document: Document, language: Language, view: View) -> str:
    script = report_script()
    sums = link_sums(document.communication.links)
    charts = charts_of(document, language, sums)
    return page_text(
        "report.html.j2",
        language,
        document=document,
        view=view,
        script=Markup(script),
        policy=Markup(policy(STYLE, script)),
        data=data_block(_data(document, language, view, charts)) if script else "",
        absence=lambda section: absence_text(section, language),
        rank=lambda number: rank_text(number, language),
        name=lambda text: shortened(text or "-", _NAME_WIDTH),
        duration=duration_text,
        size=bytes_text,
        percent=percent_text,
        count=count_text,
        rate=rate_text,
        share_text=share_text,
        share_bar=share_bar,
        ranking=lambda rows, total: ranking_text(len(rows), total, language),
        chips=subject_parts(document, language)[1:],
        profiles=len(document.profiles),
        terms=_TERMS,
        drawings=drawings_of(charts, language),
        **health_parts(document, language),
        **overview_parts(document, language),
        **findings_parts(document.findings, language),
        **_rankings(document, view),
        **_communication(document, language, sums),
        **memory_curves(document, language),
        **_timeline(document, language),
        **_tables(document, language, view),
    )


def _data(document: Document, language: Language, view: View, charts: dict[str, Chart]) -> ReportData:
    return ReportData(
        language=language.code,
        labels={name: language.text(name) for name in _LABELS},
        charts=charts,
        timeline=packed_timeline(document.timeline, language) if "timeline" in view.sections else None,
    )


def _rankings(document: Document, view: View) -> dict[str, Any]:
    rows = min(view.top_k or _ROWS, _MOST_ROWS)
    sizes = [
        (max(peak.peak_allocated_bytes or 0, peak.peak_reserved_bytes or 0, peak.peak_active_bytes or 0), peak)
        for peak in document.memory.peaks
    ]
    peaks = [peak for size, peak in sorted(sizes, key=lambda pair: -pair[0]) if size]
    return {
        "kernels": document.operators.kernels[:rows],
        "operators": document.operators.operators[:rows],
        "links": document.communication.links[:rows],
        "memory_operators": document.memory.operators[:rows],
        "peaks": peaks[:rows],
        "peak_count": len(peaks),
    }


def _communication(document: Document, language: Language, sums: list[LinkSums]) -> dict[str, Any]:
    section = document.communication
    rows = [(row, False) for row in section.operations[:_ROWS]]
    if section.total is not None and len(section.operations) > 1:
        rows.append((section.total, True))
    known = [name for name in PARTS if section.total is not None and getattr(section.total, f"{name}_ns")]
    return {
        "members": members_text(section.total, language) if section.total is not None else "",
        "operations": [(row, split_bar(_shares(row, language), printable(row.op)), is_sum) for row, is_sum in rows],
        "comm_legend": [Part(name, language.text(f"part.{name}_ns"), 0, "") for name in known],
        "maps": [link_map(one, language) for one in sums],
    }


def _timeline(document: Document, language: Language) -> dict[str, Any]:
    timeline = document.timeline
    if timeline is None or not timeline.lanes:
        return {"timeline": None}
    return {
        "timeline": timeline,
        "timeline_note": timeline_note(timeline, language),
        "timeline_figure": drawn_timeline(timeline, language),
        "lanes": lanes_table(timeline, language),
    }


def _tables(document: Document, language: Language, view: View) -> dict[str, Any]:
    fusion = document.fusion
    return {
        "data_table": data_table(document.breakdown, language),
        "step_table": step_table(document.steps, language),
        "shapes": shape_table(document.operators, language, view),
        "grades": grade_table(document.communication, language),
        "waits": wait_table(document.communication, language, view),
        "memory_total": total_row(document.memory, language),
        "hot_spots": hot_spot_table(document.memory, language, view),
        "leaks": leak_table(document.memory, language),
        "cluster_lines": [] if document.cluster is None else cluster_lines(document.cluster, language),
        "cluster_tables": cluster_tables(document.cluster, language, view),
        "path_tables": path_tables(document.critical_path, language, view),
        "copies": copies_table(document.copies, language),
        "fusion_rate": fusion_rate_text(fusion, language) if fusion is not None and fusion.collected else "",
        "fusion": fusion_tables(fusion, language, view),
        "inference": inference_tables(document.inference, language),
        "latency_legend": [Part(stage, language.text(f"latency.{stage}"), 0, "") for stage in LATENCY],
    }


def _shares(row: Operation, language: Language) -> list[Part]:
    return [
        Part(name, language.text(f"part.{name}_ns"), value, duration_text(value))
        for name in PARTS
        for value in [getattr(row, f"{name}_ns") or 0]
    ]
