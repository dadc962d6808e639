"""Tell people what the gate said, through apprise: the settings, and the delivery in a process of its own.

Whatever goes wrong there - a service that is down, a target that is wrong, a library that crashes or hangs - ends with
that process and is told in one line; the verdict stands. Targets hold tokens: they go to the process by a pipe, and of
them only the kind of service is ever shown.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, get_args

import msgspec

from ascend_sn.compare.settings_file import FILE_NAME, settings_table, with_variables
from ascend_sn.errors import UsageError
from ascend_sn.store.environment import notify_targets

__all__ = ["Delivery", "Kind", "Notification", "NotifySettings", "Request", "deliver", "service_of"]

Occasion = Literal["passed", "unsure", "failed", "cannot compare"]

OCCASIONS: Final = get_args(Occasion)
USUAL: Final[tuple[Occasion, ...]] = ("failed", "cannot compare")
PATIENCE_S: Final = 60.0
"""For all targets together."""

_KNOWN: Final = ("targets", "on", "language")
_SERVICE: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]{0,30})://")

Kind = Literal["success", "warning", "failure"]
"""How a message looks, by apprise."""


class Notification(msgspec.Struct, frozen=True, kw_only=True):
    """What people are told."""

    title: str
    body: str
    kind: Kind


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """What goes to the process that delivers."""

    targets: list[str]
    notification: Notification


class Delivery(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one target.

    Attributes:
        service: Its kind, such as `dingtalk`; nothing else of a target may be shown.
        problem: A message id; null where it was delivered.
    """

    service: str
    problem: str | None = None


@dataclass(frozen=True)
class NotifySettings:
    """Whom to tell.

    Attributes:
        targets: URLs of apprise, variables filled in.
        unset: Variables that targets name and that are not set; these targets are left out.
        on: Verdicts that are told.
        language: Language of the texts; None: that of the command.
    """

    targets: tuple[str, ...]
    unset: tuple[str, ...]
    on: frozenset[Occasion]
    language: Literal["en", "zh"] | None

    @classmethod
    def in_force(cls, folder: Path) -> NotifySettings:
        """Return what `[notify]` of the settings says, and the targets of `ASCEND_SN_NOTIFY` (parted by blanks).

        Raises:
            UsageError: The file sets something that is not there. What a message would show of it is no target.
        """
        path = folder / FILE_NAME
        table = settings_table(path, "notify", _KNOWN)
        written, occasions = table.get("targets", []), table.get("on", list(USUAL))
        for name, values in (("targets", written), ("on", occasions)):
            if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
                raise UsageError(f"{path}: [notify] {name} is not a list of texts")
        for value in occasions:
            if value not in OCCASIONS:
                raise UsageError(f"{path}: [notify] on: {value!r} is none of {', '.join(OCCASIONS)}")
        language = table.get("language")
        if language not in (None, "en", "zh"):
            raise UsageError(f"{path}: [notify] language is en or zh")
        filled = [with_variables(text) for text in [*written, *notify_targets()]]
        return cls(
            targets=tuple(text for text, missing in filled if text and not missing),
            unset=tuple(dict.fromkeys(name for _, missing in filled for name in missing)),
            on=frozenset(occasions),
            language=language,
        )


def deliver(targets: Sequence[str], notification: Notification, *, patience_s: float = PATIENCE_S) -> list[Delivery]:
    """Send a notification to each target, and return what became of it; raises nothing for what goes wrong there."""
    request = msgspec.json.encode(Request(targets=list(targets), notification=notification))
    try:
        done = subprocess.run(
            [sys.executable, "-P", "-m", "ascend_sn.compare.deliver"],
            input=request,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,  # libraries write addresses there, and addresses hold tokens
            timeout=patience_s,
            check=False,
        )
        said, unfinished = done.stdout, "notify.ended"
    except subprocess.TimeoutExpired as late:
        said, unfinished = late.stdout or b"", "notify.late"
    except OSError:
        said, unfinished = b"", "notify.ended"
    found = _deliveries(said)[: len(targets)]
    missing = [Delivery(service=service_of(target), problem=unfinished) for target in targets[len(found) :]]
    return [*found, *missing]


def service_of(target: str) -> str:
    """Return the kind of service that a target names: what stands before its first colon."""
    found = _SERVICE.match(target)
    return found[1].lower() if found else "?"


def _deliveries(said: bytes) -> list[Delivery]:
    found = []
    for line in said.splitlines():
        try:
            found.append(msgspec.json.decode(line, type=Delivery))
        except msgspec.MsgspecError:  # a library printed something
            continue
    return found
