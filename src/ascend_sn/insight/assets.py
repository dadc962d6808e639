"""The files of the page; where they were not built, a page that says how."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, PlainTextResponse, Response
from starlette.routing import Route

__all__ = ["WEB_FOLDER", "asset_routes"]

WEB_FOLDER: Final = Path(__file__).parent.parent / "_web" / "insight"

_TYPES: Final = {
    ".css": "text/css", ".html": "text/html", ".js": "text/javascript", ".json": "application/json",
    ".png": "image/png", ".svg": "image/svg+xml", ".woff2": "font/woff2",
}  # fmt: skip

_NOT_BUILT: Final = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>ascend-sn</title></head><body>
<h1>The page was not built</h1>
<p>The API under <code>api/v1/</code> answers. To build the page, install Node (20.19, 22.12 or later) and run
<code>python hatch_build.py</code> in the checkout, or install the package again.</p>
<p lang="zh">页面尚未构建，<code>api/v1/</code> 下的接口可以使用。要构建页面，请安装 Node（20.19、22.12 或更高版本），
在源码目录运行 <code>python hatch_build.py</code>，或重新安装本软件包。</p>
</body></html>
"""


def asset_routes(folder: Path = WEB_FOLDER) -> list[Route]:
    """Return the routes of the page itself."""

    def page(_request: Request) -> Response:
        index = folder / "index.html"
        if not index.is_file():
            return HTMLResponse(_NOT_BUILT)
        return FileResponse(index, media_type="text/html")

    def asset(request: Request) -> Response:
        wanted = request.path_params["path"]
        path = folder / "assets" / wanted
        root = os.path.realpath(folder / "assets")
        real = os.path.realpath(path) if "\0" not in wanted else ""
        type_ = _TYPES.get(Path(real).suffix)
        if not real.startswith(f"{root}{os.sep}") or not os.path.isfile(real) or type_ is None:
            return PlainTextResponse("there is no such file\n", 404)
        # Names of assets change with their content.
        return FileResponse(real, media_type=type_, headers={"Cache-Control": "private, max-age=31536000, immutable"})

    return [Route("/", page, methods=["GET"]), Route("/assets/{path:path}", asset, methods=["GET"])]
