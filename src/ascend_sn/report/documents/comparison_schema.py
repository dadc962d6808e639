"""The JSON Schemas of `compare --format json` and `gate --format json`."""

from __future__ import annotations

from typing import Any

from ascend_sn.report.documents.as_json import schema_of
from ascend_sn.report.documents.comparison import (
    COMPARE_SCHEMA,
    GATE_SCHEMA,
    NULL_SCHEMA,
    ComparisonDocument,
    GateDocument,
    NullDocument,
)

__all__ = ["compare_schema", "gate_schema", "null_schema"]


def compare_schema() -> dict[str, Any]:
    """Return the JSON Schema of `compare --format json`."""
    return schema_of(ComparisonDocument, COMPARE_SCHEMA, "ascend-sn compare")


def gate_schema() -> dict[str, Any]:
    """Return the JSON Schema of `gate --format json`."""
    return schema_of(GateDocument, GATE_SCHEMA, "ascend-sn gate")


def null_schema() -> dict[str, Any]:
    """Return the JSON Schema of `gate --null --format json`."""
    return schema_of(NullDocument, NULL_SCHEMA, "ascend-sn gate --null")
