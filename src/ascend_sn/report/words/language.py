"""The reader's language: texts come from the catalogues in `locale/` by message id, as late as possible."""

from __future__ import annotations

import gettext
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final, Literal, get_args

import msgspec

from ascend_sn.advisor.message import Message
from ascend_sn.report.words.quantities import quantity_text

__all__ = ["CODES", "DOMAIN", "LOCALE_FOLDER", "Code", "Language", "code_of_environment", "say"]

Code = Literal["en", "zh"]
CODES: Final = get_args(Code)
DOMAIN: Final = "ascend_sn"
LOCALE_FOLDER: Final = Path(__file__).parents[2] / "locale"

_LOCALE_VARIABLES: Final = ("LC_ALL", "LC_MESSAGES", "LANG")


class Language(msgspec.Struct, frozen=True):
    """One language; `text` looks a message up and fills it in."""

    code: Code
    _catalogue: gettext.NullTranslations

    @classmethod
    def load(cls, code: Code) -> Language:
        """Load the compiled catalogue of a language; the build compiles it beside its source."""
        return cls(code, gettext.translation(DOMAIN, LOCALE_FOLDER, [code]))

    def text(self, message_id: str, /, **params: object) -> str:
        """Return the text of a message.

        Args:
            message_id: Key of the message in the catalogues.
            params: What its placeholders stand for. A number is formatted by the unit in its name, so
                `wait_ns=1500` reads `1.50 us`. `count` also chooses between singular and plural.
        """
        count = params.get("count")
        template = message_id
        if isinstance(count, int):
            template = self._catalogue.ngettext(message_id, message_id, count)
        if template == message_id:
            template = self._catalogue.gettext(message_id)
        return template.format_map({name: self._filled(name, value) for name, value in params.items()})

    def render(self, message: Message) -> str:
        """Return the text of a message."""
        return self.text(message.message_id, **message.params)

    def outline(self, message_id: str) -> str:
        """Return the text of a message that is not about anything yet: an ellipsis for what would be filled in."""
        # A doubled brace is one that is meant as such, as in every text that is filled.
        shown = {"{{": "{", "}}": "}"}
        return re.sub(
            r"\{\{|\}\}|\{\w+\}", lambda found: shown.get(found[0], "\u2026"), self._catalogue.gettext(message_id)
        )

    def template(self, message_id: str) -> str:
        """Return the text of a message with its placeholders as they are."""
        return self._catalogue.gettext(message_id)

    def has(self, message_id: str) -> bool:
        """Whether the catalogues hold a message of this id."""
        return bool(message_id) and self._catalogue.gettext(message_id) != message_id

    def _filled(self, name: str, value: object) -> str:
        return self.render(value) if isinstance(value, Message) else quantity_text(name, value)


def code_of_environment(environment: Mapping[str, str] | None = None) -> Code:
    """Return the language that the user's environment asks for: `ASCEND_SN_LANG`, else the locale."""
    variables = os.environ if environment is None else environment
    chosen = variables.get("ASCEND_SN_LANG", "").lower()
    if chosen[:2] in CODES:
        return "zh" if chosen.startswith("zh") else "en"
    wanted = next((variables[name] for name in _LOCALE_VARIABLES if variables.get(name)), "")
    return "zh" if wanted.lower().startswith("zh") else "en"


def say(message: Message, language: Code | None = None) -> str:
    """Return a message as text, such as the `title`, `message`, `advice` or `next_step` of a finding.

    Args:
        message: What a result of ours holds where a sentence is meant.
        language: `en` or `zh`; by default what the environment asks for.
    """
    return Language.load(language or code_of_environment()).render(message)
