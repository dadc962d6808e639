"""Communicators of a PyTorch job, from the job's own list or from the calls that name their members."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from ascend_sn._native.codes import first_match
from ascend_sn.errors import JsonTextError
from ascend_sn.formats.chrome.texts import Codes
from ascend_sn.formats.json_text import json_value
from ascend_sn.model.ledger import Ledger
from ascend_sn.model.rows import Rows, conform
from ascend_sn.model.tables import COMM_GROUP_MEMBER

__all__ = ["configured_groups", "group_rows", "only_group"]

Group = tuple[str, str | None, list[int]]
"""Name, kind and members (global ranks)."""

_KINDS: Final = (
    ("default", re.compile(r"default", re.IGNORECASE)),
    ("embd", re.compile(r"embed|embd", re.IGNORECASE)),
    ("tp", re.compile(r"tensor|(?:^|[^a-z])tp(?:[^a-z]|$)", re.IGNORECASE)),
    ("pp", re.compile(r"pipeline|(?:^|[^a-z])pp(?:[^a-z]|$)", re.IGNORECASE)),
    ("ep", re.compile(r"expert|(?:^|[^a-z])ep(?:[^a-z]|$)", re.IGNORECASE)),
    ("cp", re.compile(r"context|(?:^|[^a-z])cp(?:[^a-z]|$)", re.IGNORECASE)),
    ("dp", re.compile(r"data|(?:^|[^a-z])(?:dp|ddp|fsdp)(?:[^a-z]|$)", re.IGNORECASE)),
)


def configured_groups(metadata: dict[str, Any], file: str, ledger: Ledger) -> list[Group]:
    """Return the groups of `distributedInfo.pg_config`; entries without readable members are left out and counted.

    A list of members that the writer cut short (`[0, 1, ...]`) is no damage.
    """
    info = metadata.get("distributedInfo")
    config = info.get("pg_config") if isinstance(info, dict) else None
    groups: list[Group] = []
    odd: list[Any] = []
    for entry in config if isinstance(config, list) else ():
        if not isinstance(entry, dict) or "pg_name" not in entry:
            odd.append(entry)
            continue
        members = _members(entry.get("ranks"))
        if members:
            groups.append((str(entry["pg_name"]), _kind(str(entry.get("pg_desc") or "")), members))
        elif entry.get("ranks") and "..." not in str(entry["ranks"]):
            odd.append(entry["ranks"])
    if odd:
        ledger.add(file, "unreadable_entry", place="pg_config", count=len(odd), example=repr(odd[0]))
    return groups


def only_group(groups: Iterable[Group]) -> str | None:
    """Return the name of the job's group where it has exactly one."""
    names = {name for name, _, _ in groups}
    return names.pop() if len(names) == 1 else None


def group_rows(groups: Sequence[Group], named: Mapping[str, Codes], strings: Sequence[str]) -> Rows:
    """Return the members of all groups: the configured ones, then those that only the calls name.

    Args:
        groups: The configured groups.
        named: The arguments of collectives that name their group, as codes.
        strings: Texts of the file.
    """
    known = {name: (kind, members) for name, kind, members in groups}
    for name, kind, members in _named_groups(named, strings):
        known.setdefault(name, (kind, members))
    rows = [
        (name, kind, place, len(members), member)
        for name, (kind, members) in known.items()
        for place, member in enumerate(members)
    ]
    columns = list(zip(*rows, strict=True)) or [()] * 5
    return conform(
        COMM_GROUP_MEMBER,
        len(rows),
        group_id=list(columns[0]),
        kind=list(columns[1]),
        group_rank=list(columns[2]),
        group_size=list(columns[3]),
        size_is_exact=True,
        member_rank=list(columns[4]),
    )


def _named_groups(named: Mapping[str, Codes], strings: Sequence[str]) -> Iterable[Group]:
    columns = [named[f"Process Group {part}"] for part in ("Name", "Ranks", "Description")]
    first = np.flatnonzero(first_match(columns, columns) == np.arange(len(columns[0])))
    for name, ranks, description in zip(*(column[first].tolist() for column in columns), strict=True):
        if name >= 0 and ranks >= 0:
            listed = _members(strings[ranks])
            if listed:
                yield strings[name], _kind(strings[description] if description >= 0 else ""), listed


def _members(ranks: Any) -> list[int]:
    """Return the ranks of a list or of its text; nothing for a list that was cut (`[0, 1, ...]`)."""
    if isinstance(ranks, str):
        try:
            ranks = json_value(ranks)
        except JsonTextError:
            return []
    if not isinstance(ranks, list) or not all(isinstance(rank, int) for rank in ranks):
        return []
    return ranks


def _kind(description: str) -> str | None:
    return next((kind for kind, pattern in _KINDS if pattern.search(description)), None)
