"""`gate --notify`: tell people, and never let what goes wrong there change the verdict."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ascend_sn.report.words.language import Language
from ascend_sn.report.words.printable import printable
from ascend_sn.store.environment import pipeline_link

if TYPE_CHECKING:
    from ascend_sn.compare.notify import NotifySettings
    from ascend_sn.report.documents.comparison import GateDocument

__all__ = ["People"]


@dataclass(frozen=True)
class People:
    """Whom the command line asks to tell; null settings: nobody. `with_link`: where the pipeline is, too."""

    settings: NotifySettings | None
    is_dry_run: bool
    with_link: bool = True

    @classmethod
    def of(cls, *, notify: bool, dry_run: bool, with_link: bool = True) -> People:
        """Read the options and, where they ask for it, the settings.

        Raises:
            UsageError: The settings are wrong; this is found before anything is judged.
        """
        if not (notify or dry_run):
            return cls(None, False)
        from ascend_sn.compare.notify import NotifySettings

        return cls(NotifySettings.in_force(Path.cwd()), dry_run, with_link)

    def tell(self, document_in: Callable[[Language], GateDocument], language: Language) -> None:
        """Tell them, in their language; words about it go to standard error."""
        settings = self.settings
        if settings is None:
            return
        for name in settings.unset:
            _say(language.text("notify.unset", name=name))
        theirs = Language.load(settings.language) if settings.language else language
        document = document_in(theirs)
        if document.verdict not in settings.on:
            _say(language.text("notify.not-told", occasions=", ".join(sorted(settings.on)) or "-"))
            return
        if not settings.targets:
            _say(language.text("notify.nobody"))
            return
        from ascend_sn.compare.notify import deliver, service_of
        from ascend_sn.report.notification import gate_notification

        notification = gate_notification(document, theirs, pipeline_link() if self.with_link else None)
        if self.is_dry_run:
            services = ", ".join(service_of(target) for target in settings.targets)
            _say(language.text("notify.dry-run", services=services))
            for line in (notification.title, *notification.body.splitlines()):
                _say(f"  {line}")
            return
        for delivery in deliver(settings.targets, notification):
            if delivery.problem is None:
                _say(language.text("notify.told", service=delivery.service))
            else:
                _say(language.text("notify.failed", service=delivery.service, why=language.text(delivery.problem)))


def _say(text: str) -> None:
    print(printable(text), file=sys.stderr)
