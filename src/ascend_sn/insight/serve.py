"""Serve the page: a socket, a token, the addresses to print, and an end at Ctrl-C."""

from __future__ import annotations

import asyncio
import contextlib
import getpass
import logging
import secrets
import socket
import time
from collections.abc import Callable
from types import FrameType
from typing import Final
from urllib.parse import urlsplit

import msgspec
import uvicorn
from starlette.applications import Starlette

from ascend_sn.errors import UsageError
from ascend_sn.insight.connections import CONNECTIONS, BoundedConnection
from ascend_sn.insight.guard import Guard

__all__ = ["Address", "Listening", "listening", "serve"]

_ANSWERS: Final = 2 * CONNECTIONS
"""Answers in the making, with those to clients that were hung up on; more are refused."""

_HEADER_BYTES: Final = 64 * 1024
_IDLE_S: Final = 75
_CLOSING_S: Final = 1
_LOOPBACK: Final = "127.0.0.1"
_ANY: Final = frozenset({"0.0.0.0", "::", ""})


class Address(msgspec.Struct, frozen=True):
    """Where a server is reached.

    Attributes:
        url: The page, with the token.
        frame: The page for a frame, where cookies of another site are not kept; also with the token.
        tunnel: Command that makes it reachable from another machine; empty where it listens to others.
        port: Its port.
        token: The secret.
    """

    url: str
    frame: str
    tunnel: str
    port: int
    token: str


class Listening(msgspec.Struct, frozen=True):
    """A socket that listens, and who may come."""

    sockets: tuple[socket.socket, ...]
    address: Address
    hosts: frozenset[str] | None
    origin: str
    base_path: str


def listening(host: str = _LOOPBACK, port: int = 0, base_url: str = "") -> Listening:
    """Listen on a port, a free one where it is 0.

    Args:
        host: Address to listen on.
        port: Port to listen on.
        base_url: Where a proxy shows the server: a whole URL, or a path; `{port}` in it stands for the port.

    Raises:
        UsageError: The port is taken, the host is none of this machine, or the base URL is none.
    """
    if base_url and not _is_base(base_url):
        raise UsageError(f"--base-url: a URL or a path that begins with one /, without a query, not {base_url!r}")
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        made = socket.create_server((host, port), family=family, backlog=128)
    except OSError as error:
        raise UsageError(f"cannot listen on {host}:{port}: {error.strerror or error}") from error
    # Answers go out at once; connections take it over from the socket that listens, asyncio does not set it on these.
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    bound = made.getsockname()[1]
    token = secrets.token_urlsafe(24)
    proxy = urlsplit(base_url.replace("{port}", str(bound)))
    shown = _LOOPBACK if host == "localhost" else socket.gethostname() if host in _ANY else host
    base_path = f"{proxy.path.rstrip('/')}/"
    origin = f"{proxy.scheme}://{proxy.netloc}" if proxy.hostname else ""
    start = f"{origin or f'http://{_in_url(shown)}:{bound}'}{base_path}"
    return Listening(
        sockets=(made,),
        address=Address(
            url=f"{start}?token={token}",
            frame=f"{start if origin or not base_url else base_path}t/{token}/",
            tunnel="" if origin or not _is_loopback(host) else _tunnel(bound),
            port=bound,
            token=token,
        ),
        hosts=None if base_url and not origin else frozenset({*_own_names(host), *_named(proxy.hostname)}),
        origin=origin,
        base_path=base_path,
    )


def serve(
    app: Starlette,
    at: Listening,
    *,
    ready: Callable[[], None] | None = None,
    ended: Callable[[int | None, bool], None] | None = None,
    idle_exit_s: float | None = None,
    is_over: Callable[[], bool] | None = None,
) -> None:
    """Serve until interrupted.

    Args:
        app: The application.
        at: Where it listens.
        ready: Called once it answers.
        ended: Called once it listens no more, with the signal that ended it (None for none) and whether answers are
            still being worked out. Whoever wants to be quick ends the process: these cannot be broken off.
        idle_exit_s: End after so many seconds without a request; None for never.
        is_over: Asked now and then whether to end.

    Raises:
        KeyboardInterrupt: Ctrl-C.
    """
    guarded = Guard(app, token=at.address.token, hosts=at.hosts, origin=at.origin, base_path=at.base_path)
    server = _Server(
        uvicorn.Config(
            guarded,
            access_log=False,
            date_header=True,
            h11_max_incomplete_event_size=_HEADER_BYTES,
            http=BoundedConnection,
            lifespan="off",
            limit_concurrency=_ANSWERS,
            log_level="error",
            proxy_headers=False,
            server_header=False,
            timeout_graceful_shutdown=_CLOSING_S,
            timeout_keep_alive=_IDLE_S,
            ws="none",
        ),
        ready,
        ended,
        idle_exit_s,
        is_over,
    )
    server.run(sockets=list(at.sockets))


class _Server(uvicorn.Server):
    """Tells when it answers, and ends when nobody asks any more."""

    def __init__(
        self,
        config: uvicorn.Config,
        ready: Callable[[], None] | None,
        ended: Callable[[int | None, bool], None] | None,
        idle_exit_s: float | None,
        is_over: Callable[[], bool] | None,
    ) -> None:
        super().__init__(config)
        self._ready = ready
        self._ended = ended
        self._signal: int | None = None
        self._idle_exit_s = idle_exit_s
        self._is_over = is_over
        self._answered = 0
        self._asked_at = time.monotonic()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self._ready is not None and self.started:
            await asyncio.to_thread(self._ready)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._signal = sig
        super().handle_exit(sig, frame)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        # Answers that are broken off are no defects; each would be logged with a traceback.
        logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
        await super().shutdown(sockets)
        if self._ended is not None:
            self._ended(self._signal, bool(self.server_state.tasks))

    async def on_tick(self, counter: int) -> bool:
        if self._is_over is not None and self._is_over():
            return True
        if self.server_state.total_requests != self._answered or self.server_state.tasks:
            self._answered, self._asked_at = self.server_state.total_requests, time.monotonic()
        elif self._idle_exit_s is not None and time.monotonic() - self._asked_at >= self._idle_exit_s:
            return True
        return await super().on_tick(counter)


def _is_base(base_url: str) -> bool:
    """Tell whether an address is a place of the page: `//host/` would be another host, a query would be lost."""
    try:
        parts = urlsplit(base_url.replace("{port}", "1"))
        is_url = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
    is_path = not parts.scheme and not parts.netloc and base_url.startswith("/") and not base_url.startswith("//")
    is_plain = base_url.isprintable() and not any(sign in base_url for sign in "?#\\ @")
    return is_plain and (is_url or is_path)


def _named(host: str | None) -> list[str]:
    return [host] if host else []


def _is_loopback(host: str) -> bool:
    return host == "localhost" or host.startswith("127.") or host == "::1"


def _own_names(host: str) -> set[str]:
    """Names under which a server that listens to other machines is addressed."""
    if _is_loopback(host):
        return {host}
    names = {host, socket.gethostname(), socket.getfqdn()}
    if host in _ANY:
        with contextlib.suppress(OSError):
            names |= {str(found[4][0]) for found in socket.getaddrinfo(socket.gethostname(), None)}
    return names - _ANY


def _in_url(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _tunnel(port: int) -> str:
    try:
        user = f"{getpass.getuser()}@"
    except (KeyError, OSError):  # a user without a name
        user = ""
    return f"ssh -N -L {port}:{_LOOPBACK}:{port} {user}{socket.gethostname()}"
