"""The document as JSON text, and the JSON Schema that describes it."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from ascend_sn.report.documents.run import SCHEMA, Document
from ascend_sn.report.health_page import DOCTOR_SCHEMA, DoctorDocument

__all__ = ["analyze_schema", "doctor_schema", "json_text", "schema_of"]

_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"


def json_text(document: msgspec.Struct) -> str:
    """Return a document as indented JSON, ending in a line feed; the timeline is left to the HTML report."""
    if isinstance(document, Document):
        document = msgspec.structs.replace(document, timeline=None)
    return msgspec.json.format(msgspec.json.encode(document), indent=2).decode() + "\n"


def analyze_schema() -> dict[str, Any]:
    """Return the JSON Schema of `analyze --format json`."""
    return schema_of(Document, SCHEMA, "ascend-sn analyze")


def doctor_schema() -> dict[str, Any]:
    """Return the JSON Schema of `doctor --format json`."""
    return schema_of(DoctorDocument, DOCTOR_SCHEMA, "ascend-sn doctor")


def schema_of(type_: type, identity: str, title: str) -> dict[str, Any]:
    """Return the JSON Schema of a document."""
    return {
        "$schema": _DIALECT,
        "$id": f"urn:{identity.replace('/', ':')}",
        "title": title,
        **msgspec.json.schema(type_),
    }
