"""Requests by stage and throughput by batch size, as tables."""

from __future__ import annotations

from typing import Final

from ascend_sn.report.documents.inference import Inference
from ascend_sn.report.tables.text import TextTable, columns_of, share_cell, text_table
from ascend_sn.report.words.language import Language
from ascend_sn.report.words.quantities import count_text, duration_text
from ascend_sn.report.words.wording import rank_text

__all__ = ["inference_tables"]

_STAGES: Final = 160
_SIZES: Final = 1_000


def inference_tables(section: Inference | None, language: Language) -> list[TextTable]:
    """Requests by stage, and throughput by batch size."""
    if section is None:
        return []
    several = len({row.profile_id for row in section.stages}) > 1
    stages = [
        (
            (f"{rank_text(row.rank, language)} \u00b7 " if several else "") + language.text(f"latency.{row.stage}"),
            duration_text(row.mean_ns),
            duration_text(row.p50_ns),
            duration_text(row.p90_ns),
            duration_text(row.p99_ns),
            duration_text(row.max_ns),
            share_cell(row.share_ratio),
            duration_text(row.first_ns),
            "-" if row.steady_mean_ns is None else duration_text(row.steady_mean_ns),
        )
        for row in section.stages[:_STAGES]
    ]
    sizes = [
        (
            count_text(row.batch_size),
            count_text(row.runs),
            duration_text(row.mean_ns),
            duration_text(row.p50_ns),
            duration_text(row.p99_ns),
            count_text(round(row.samples_per_s, 1)),
            language.text("batch.highest") if row.is_highest else language.text("batch.knee") if row.is_knee else "",
        )
        for row in section.batch_sizes[:_SIZES]
    ]
    requests = sum(row.requests for row in section.stages if row.stage == "total")
    note = language.text("latency.note", count=requests)
    stage_words = ("stage-of-request", "mean", "p50", "p90", "p99", "max", "share", "first", "later")
    size_words = ("batch", "calls", "mean", "p50", "p99", "throughput", "remark")
    found = [
        text_table("latency.title", note, columns_of(*stage_words), stages, language),
        text_table("batch.title", "", columns_of(*size_words), sizes, language),
    ]
    return [table for table in found if table is not None]
