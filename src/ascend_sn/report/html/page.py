"""Pages: a template, filled in with values that are escaped."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from ascend_sn.report.words.language import Language
from ascend_sn.report.words.printable import printable

__all__ = ["STYLE", "page_text"]

_TEMPLATES: Final = Path(__file__).parents[1] / "templates"

STYLE: Final = "\n" + "".join((_TEMPLATES / name).read_text(encoding="utf-8") for name in ("colours.css", "style.css"))
"""What stands in the style of every page; the web page of `view` has the same colours."""


def page_text(template: str, language: Language, **values: Any) -> str:
    """Return a page with its style inside; names are escaped, control characters made visible."""
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=lambda value: printable(value) if isinstance(value, str) and not isinstance(value, Markup) else value,
        trim_blocks=True,
    )
    page = environment.get_template(template)
    return page.render(language=language, t=language.text, style=Markup(STYLE), **values)
