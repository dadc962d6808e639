"""The JSON Schemas of `history --format json`."""

from __future__ import annotations

from typing import Any

from ascend_sn.report.documents.as_json import schema_of
from ascend_sn.report.documents.history import HISTORY_SCHEMA, TREND_SCHEMA, HistoryDocument, TrendDocument

__all__ = ["history_schema", "trend_schema"]


def history_schema() -> dict[str, Any]:
    """Return the JSON Schema of `history list|record|show|pin|unpin|prune --format json`."""
    return schema_of(HistoryDocument, HISTORY_SCHEMA, "ascend-sn history")


def trend_schema() -> dict[str, Any]:
    """Return the JSON Schema of `history trend --format json`."""
    return schema_of(TrendDocument, TREND_SCHEMA, "ascend-sn history trend")
