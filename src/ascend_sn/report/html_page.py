"""Pages without any script: the template, filled in with values that are escaped."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from ascend_sn.report.language import Language
from ascend_sn.report.printable import printable

__all__ = ["page_text"]

_TEMPLATES: Final = Path(__file__).parent / "templates"


def page_text(template: str, language: Language, **values: Any) -> str:
    """Return a page: inline style, static SVG, nothing fetched; names are escaped, control characters made visible."""
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=lambda value: printable(value) if isinstance(value, str) and not isinstance(value, Markup) else value,
        trim_blocks=True,
    )
    style = Markup((_TEMPLATES / "style.css").read_text(encoding="utf-8"))
    return environment.get_template(template).render(language=language, t=language.text, style=style, **values)
