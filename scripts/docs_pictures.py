"""Hook of MkDocs: a picture that was not taken (`make pictures`) is told in words instead of breaking the page."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final

__all__ = ["on_page_markdown"]

_PICTURE: Final = re.compile(r"!\[([^\]]*)\]\((pictures/[^)]+)\)")


def on_page_markdown(markdown: str, page: Any, **_kwargs: Any) -> str:
    """Return the page with the descriptions of pictures that are not there."""
    folder = Path(page.file.abs_src_path).parent
    return told(markdown, folder)


def told(markdown: str, folder: Path) -> str:
    """Put the description of each picture that the folder lacks in its place."""

    def shown(found: re.Match[str]) -> str:
        return found[0] if (folder / found[2]).is_file() else f"*[{found[1]}]*"

    return _PICTURE.sub(shown, markdown)
