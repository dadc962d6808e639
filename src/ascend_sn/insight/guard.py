"""Who may ask: a token once, then a cookie; the right Host and Origin; small requests; headers that forbid the rest."""

from __future__ import annotations

import hashlib
import hmac
from http.cookies import CookieError, SimpleCookie
from typing import Final
from urllib.parse import parse_qs, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ascend_sn.insight.answers import ApiError, failed, is_api

__all__ = ["BODY_LIMIT", "CONTENT_POLICY", "Guard"]

BODY_LIMIT: Final = 1_000_000
"""Bytes of the largest body that is read."""

CONTENT_POLICY: Final = "; ".join(
    (
        "default-src 'self'",
        "style-src 'self'",
        "img-src 'self' data: blob:",
        "object-src 'none'",
        "base-uri 'none'",
        "form-action 'none'",
        # A notebook on the same machine may show the page in a frame.
        "frame-ancestors 'self' http://127.0.0.1:* http://localhost:*",
    )
)

_HEADERS: Final = {
    "Content-Security-Policy": CONTENT_POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
_LOOPBACK: Final = frozenset({"127.0.0.1", "localhost", "::1"})
_CODES: Final = {403: "no_access", 405: "wrong_method", 413: "too_large", 421: "wrong_host"}
_METHODS: Final = frozenset({"GET", "HEAD", "PUT"})


class Guard:
    """Stands before the application. Whoever does not show the token sees nothing of it.

    Args:
        app: The application.
        token: The secret of this server.
        hosts: Names under which it may be addressed beside those of the loopback; None for any, behind a proxy that
            passes on the name of its own.
        origin: Origin of the page where a proxy changes it, such as `https://hub.example`.
        base_path: Path under which a proxy shows it; both whole and shortened paths are understood.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        token: str,
        hosts: frozenset[str] | None = frozenset(),
        origin: str = "",
        base_path: str = "/",
    ) -> None:
        self._app = app
        self._token = token.encode()
        self._hosts = None if hosts is None else _LOOPBACK | {host.lower() for host in hosts}
        self._origin = origin
        self._base_path = base_path.rstrip("/")
        # Cookies know no ports: two servers of one machine must not take each other's away.
        self.cookie = f"ascend_sn_{hashlib.sha256(self._token).hexdigest()[:12]}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or pass it on."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers[name] = value
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        inside, is_known = self._inside(scope)
        refused = self._refusal(inside, is_known=is_known)
        if isinstance(refused, _Refused) and is_api(inside["path"]):
            refused = failed(ApiError(refused.status_code, refused.code, refused.said))
        if refused is not None:
            await refused(inside, receive, with_headers)
            return
        await self._app(inside, _limited(receive), with_headers)

    def _inside(self, scope: Scope) -> tuple[Scope, bool]:
        """The request without what stands before its path, and whether the token did.

        That is the path of a proxy, and `t/TOKEN/`: a page in the frame of a notebook is given no cookies.
        """
        path = scope["path"]
        if self._base_path and path.startswith(f"{self._base_path}/"):
            path = path[len(self._base_path) :]
        is_known = False
        if path.startswith("/t/"):
            shown, slash, rest = path.removeprefix("/t/").partition("/")
            is_known = bool(slash) and self._matches(shown)
            path = f"/{rest}" if is_known else path
        raw = path.encode("utf-8", "surrogateescape")
        return {**scope, "path": path, "raw_path": raw, "root_path": ""}, is_known

    def _refusal(self, scope: Scope, *, is_known: bool) -> Response | None:
        """What is answered to a request that is not passed on."""
        headers = Headers(scope=scope)
        host = _host_name(headers.get("host", ""))
        if len(headers.getlist("host")) != 1 or (self._hosts is not None and host not in self._hosts):
            return _said(421, "this server is not addressed by that name")
        if scope["method"] not in _METHODS:
            return _said(405, "only GET, HEAD and PUT are answered")
        origin = headers.get("origin")
        if origin is not None and not self._is_own(origin, headers["host"]):
            return _said(403, "requests of other pages are not answered")
        if headers.get("sec-fetch-site") == "cross-site" and headers.get("sec-fetch-mode") != "navigate":
            return _said(403, "requests of other pages are not answered")
        if not self._is_short(headers):
            return _said(413, f"a body holds at most {BODY_LIMIT} bytes")
        if scope["path"] == "/" and b"token=" in scope["query_string"]:
            return self._entered(scope)
        if not is_known and not self._has_token(headers):
            return _said(403, "no access: open the address that `ascend-sn view` printed")
        return None

    def _entered(self, scope: Scope) -> Response:
        """Exchange the token of the printed address for a cookie."""
        asked = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])
        if len(asked) != 1 or not self._matches(asked[0]):
            return _said(403, "no access: open the address that `ascend-sn view` printed")
        # Relative, so that it holds behind any proxy.
        answer = RedirectResponse("./", 303)
        answer.set_cookie(
            self.cookie,
            self._token.decode(),
            path=f"{self._base_path}/",
            httponly=True,
            samesite="lax",
            secure=self._origin.startswith("https:"),
        )
        return answer

    def _has_token(self, headers: Headers) -> bool:
        scheme, _, shown = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and self._matches(shown.strip()):
            return True
        cookies = SimpleCookie()
        try:
            cookies.load(headers.get("cookie", ""))
        except CookieError:
            return False
        return self.cookie in cookies and self._matches(cookies[self.cookie].value)

    def _matches(self, shown: str) -> bool:
        return hmac.compare_digest(shown.encode("utf-8", "surrogateescape"), self._token)

    def _is_own(self, origin: str, host: str) -> bool:
        if self._origin and origin == self._origin:
            return True
        try:
            parts = urlsplit(origin)
        except ValueError:
            return False
        return parts.scheme in ("http", "https") and parts.netloc.lower() == host.lower()

    def _is_short(self, headers: Headers) -> bool:
        length = headers.get("content-length", "0")
        return length.isdecimal() and len(length) < 16 and int(length) <= BODY_LIMIT


def _limited(receive: Receive) -> Receive:
    """Let no more than the largest body through, whatever its headers say."""
    taken = 0

    async def limited() -> Message:
        nonlocal taken
        message = await receive()
        taken += len(message.get("body", b""))
        return message if taken <= BODY_LIMIT else {"type": "http.disconnect"}

    return limited


def _host_name(host: str) -> str:
    """The name without its port, in small letters; empty where it is none."""
    try:
        return (urlsplit(f"//{host}").hostname or "").lower()
    except ValueError:
        return ""


class _Refused(PlainTextResponse):
    """A refusal for a browser; what it says is there for the API too."""

    def __init__(self, status: int, said: str) -> None:
        self.said = said
        self.code = _CODES[status]
        super().__init__(f"{said}\n", status)


def _said(status: int, text: str) -> Response:
    return _Refused(status, text)
