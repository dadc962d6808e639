"""The reference page of the web page's API: its routes, from their own words."""

from __future__ import annotations

import inspect
from collections.abc import Mapping

from starlette.routing import Route

from ascend_sn.insight.app import API, api_routes
from ascend_sn.insight.runs import Note, Served
from ascend_sn.insight.viewport import BLOCK, COLUMNS, HEAD
from ascend_sn.store import Location
from ascend_sn.store.input import Input

__all__ = ["insight_api_page", "undocumented"]

_HEAD = """
# API of the web page

<!-- Written by scripts/generate_reference.py: change the code it describes, not this page. -->

`ascend-sn view` serves the page at `/` and this API below `{api}/`. Everything but the page's address with its token
needs the cookie that it sets, or the header `Authorization: Bearer TOKEN`; see
[Look at a run in the browser](../how-to/view.md).

- Answers are JSON unless said otherwise. Whole numbers that may exceed 2^53 (times of a clock, keys) are texts; times
  from the origin of a profile and lengths are numbers of nanoseconds.
- An error has a status of 400 or more and `{{"error": {{"code": "...", "message": "...", "hint": "..."}}}}`.
  `still_reading` (503) says that the run is not ready: `session` tells its progress.
- `RUN` is the letter of a run: `a`, `b`, in the order of the command line.
- Reads change nothing, so that any number of tabs may ask at once. Version 1 gains fields and addresses; what is there
  keeps its meaning.
"""

_FRAME = """
## Frame of a viewport

Little endian, each part aligned to its numbers.

| part | fields |
|---|---|
| head, {head} bytes | {head_fields} |
| a block per track and depth, {block} bytes each | {block_fields} |
| columns over all rows, one after another | {columns} |

`magic` is `ASV1`. In a block `rows` is the number of its rows, `slices` how many slices these stand for, `in_lane` how
many the depth of the track has in all. A row with `count` 1 is a slice; another stands for `count` neighbours that
share a pixel: `busy` is their time together, `slice` and `name` those of the longest. Rows of a curve have the highest
value as `busy`.
"""


def insight_api_page() -> str:
    """Return the page."""
    parts = [_HEAD.format(api=API).strip()]
    for route in _routes():
        methods = ", ".join(sorted((route.methods or {"GET"}) - {"HEAD"}))
        path = route.path.replace("{run}", "RUN").replace("{name}", "NAME").lstrip("/")
        parts += [f"## {methods} {path}", *_paragraphs(route)]
    parts.append(
        _FRAME.format(
            head=HEAD.itemsize,
            head_fields=_fields({name: HEAD[name].str for name in HEAD.names or ()}),
            block=BLOCK.itemsize,
            block_fields=_fields({name: BLOCK[name].str for name in BLOCK.names or ()}),
            columns=_fields(dict(COLUMNS)),
        ).strip()
    )
    return "\n\n".join(parts) + "\n"


def undocumented() -> list[str]:
    """Return the addresses whose code does not say what they answer."""
    return [route.path for route in _routes() if not (route.endpoint.__doc__ or "").strip()]


def _routes() -> list[Route]:
    return api_routes(Served([Input.of("run")], _NothingSaid()))


def _paragraphs(route: Route) -> list[str]:
    text = inspect.cleandoc(route.endpoint.__doc__ or "")
    return [" ".join(part.split()) for part in text.split("\n\n")]


def _fields(types: Mapping[str, str]) -> str:
    names = {"<u4": "u32", "<f8": "f64", "u1": "u8", "|u1": "u8"}
    return ", ".join(f"`{name}` {names[type_]}" for name, type_ in types.items())


class _NothingSaid:
    """No documents are asked for while the routes are listed."""

    def document(self, location: Location, code: str, job: str | None, progress: Note) -> bytes:
        return b""

    def comparison(self, baseline: Input, candidate: Input, code: str) -> bytes:
        return b""

    def history(self, place: str, code: str) -> bytes:
        return b""

    def text(self, code: str, key: str, params: Mapping[str, object]) -> str:
        return key
