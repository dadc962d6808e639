"""A01 across profiles: settings in which the captures of one job differ.

Ranks that were captured with different settings cannot be compared rank by rank: a rank with stacks and shapes
recorded is slower, one without memory events seems to use none.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec
from duckdb import DuckDBPyConnection

from ascend_sn.analysis.registry import Analysis, Need
from ascend_sn.analysis.relations import Result, listed, selected

__all__ = ["ANALYSIS", "capture_differences"]

_OWN_TO_A_PROCESS: Final = frozenset(
    {"device_id", "group_rank", "output_path", "overhead", "parallel_places", "rank", "rank_id", "trace_id"}
)
"""Entries of a configuration that are different on every rank by nature."""

_VALUE_LENGTH: Final = 60

_TYPES: Final = {
    "setting": "varchar",
    "usual_value": "varchar",
    "usual_count": "bigint",
    "other_value": "varchar",
    "other_ranks": "varchar",
    "other_count": "bigint",
}


def capture_differences(db: DuckDBPyConnection) -> Result:
    """List the configuration of each capture.

    Args:
        db: A connection with the table `profile`.

    Returns:
        profile_id, rank, device_kind, device_name, format, versions and config (JSON texts).
    """
    return selected(
        db,
        """
        select profile_id, rank, device_kind, device_name, format, versions, config
        from profile
        order by profile_id
    """,
    )


def combined_differences(db: DuckDBPyConnection, parts: Result) -> Result:
    """Compare the captures setting by setting.

    Returns:
        One row per setting and unusual value: setting (nested ones by dots), usual_value (the most frequent one;
        of equally frequent ones that of the lowest profile_id) and usual_count (profiles that have it),
        other_value, other_ranks (the first ten, by commas; `?` for an unknown rank), other_count (profiles that have
        the other value). `absent` stands for a setting that a capture does not have. Sorted by setting and value.
    """
    captures = [
        (row["rank"], _settings(*(row[key] for key in ("device_kind", "device_name", "format", "versions", "config"))))
        for row in sorted(parts.dicts(), key=lambda row: int(row["profile_id"]))
    ]
    rows: list[dict[str, Any]] = []
    for setting in sorted({key for _, settings in captures for key in settings}):
        ranks: dict[str, list[str]] = {}
        for rank, settings in captures:
            ranks.setdefault(settings.get(setting, "absent"), []).append("?" if rank is None else str(rank))
        usual = max(ranks, key=lambda value: len(ranks[value]))
        rows.extend(
            {
                "setting": setting,
                "usual_value": usual,
                "usual_count": len(ranks[usual]),
                "other_value": value,
                "other_ranks": ",".join(ranks[value][:10]),
                "other_count": len(ranks[value]),
            }
            for value in sorted(ranks)
            if value != usual
        )
    return listed(db, rows, _TYPES)


def _settings(kind: str, name: str | None, form: str, versions: str | None, config: str | None) -> dict[str, str]:
    found = {"device_kind": kind, "format": form}
    if name is not None:
        found["device_name"] = name
    for prefix, text in (("versions", versions), ("config", config)):
        _flatten(prefix, msgspec.json.decode(text) if text else {}, found)
    return found


def _flatten(prefix: str, value: Any, found: dict[str, str]) -> None:
    if isinstance(value, dict):
        for key, inner in value.items():
            if key not in _OWN_TO_A_PROCESS:
                _flatten(f"{prefix}.{key}", inner, found)
        return
    text = msgspec.json.encode(value).decode()
    found[prefix] = text if len(text) <= _VALUE_LENGTH else text[: _VALUE_LENGTH - 1] + "\u2026"


ANALYSIS = Analysis(
    code="A01",
    name="capture_differences",
    title="Differing captures",
    per_profile=capture_differences,
    combine=combined_differences,
    needs=(Need("profile"),),
)
