"""What makes the page live: the bundled script, its data as harmless text, and the policy over both."""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import msgspec
from markupsafe import Markup

__all__ = ["data_block", "policy", "report_script"]

_SCRIPT: Final = Path(__file__).parents[2] / "_web" / "report.js"


def report_script() -> str:
    """Return the bundled script; empty where the package was built without a front end."""
    try:
        text = _SCRIPT.read_text(encoding="utf-8")
    except OSError:
        return ""
    # Within a page only the sequence itself ends a script; in a string of JavaScript the backslash means nothing.
    return text.replace("</script", "<\\/script").replace("<!--", "<\\!--")


def data_block(data: Any) -> Markup:
    """Return data as JSON for a script element that is not run: no text in it can end the element."""
    text = msgspec.json.encode(data).decode()
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)


def policy(style: str, script: str) -> str:
    """Return the Content Security Policy of a page that holds just this style and, unless it is empty, this script."""
    rules = ["default-src 'none'", f"style-src '{_digest(style)}'", "img-src data:", "base-uri 'none'"]
    if script:
        rules.append(f"script-src '{_digest(script)}'")
    return "; ".join([*rules, "form-action 'none'"])


def _digest(text: str) -> str:
    return "sha256-" + b64encode(sha256(text.encode()).digest()).decode()
