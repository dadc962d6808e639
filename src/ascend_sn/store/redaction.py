"""Stand-ins for paths, users and hosts, for texts that leave the machine.

A path becomes `path-1`; the name of a file with a known ending stays behind it, as `path-1/train.py`. A user becomes
`user-1`, a host or its address `host-1`. The same text has the same stand-in as long as the redactor lives.
"""

from __future__ import annotations

import getpass
import json
import re
import socket
from collections.abc import Iterable
from typing import Final

import msgspec

__all__ = ["Redactor", "of_this_machine"]

_GENERIC: Final = frozenset(
    {
        "root",
        "admin",
        "administrator",
        "user",
        "users",
        "ubuntu",
        "debian",
        "centos",
        "work",
        "data",
        "test",
        "app",
        "docker",
        "jenkins",
        "runner",
        "nobody",
        "default",
        "public",
        "shared",
        "ma-user",
        "hwhiaiuser",
        "localhost",
        "localdomain",
        "unknown",
        "none",
        "null",
    }
)
"""Accounts and hosts that say nothing about anyone."""

_SLASH: Final = r"(?:\\?/|%2[Ff])"
_SEPARATOR: Final = rf"(?:{_SLASH}|\\{{1,4}})"
_CHARACTER: Final = r"[^\s/\\\"'`<>|:*?,;(){}\[\]=%\x00-\x1f]"
_NAME: Final = rf"{_CHARACTER}++"
_FOLDER: Final = rf"{_NAME}(?: {_NAME}){{0,3}}+{_SEPARATOR}++"
_ENDINGS: Final = (
    "py|pyc|ipynb|c|cc|cpp|cxx|cu|cuh|h|hpp|so|sh|csv|json|db|sqlite|gz|zip|pt|pth|bin|pickle|pkl|safetensors|trace|"
    "parquet|xlsx|html|md|txt|log|toml|yaml|yml|ini|cfg|onnx|om|arrow|tar"
)
_FILE: Final = re.compile(rf"[\w.+-]+?\.(?:{_ENDINGS})(?:\.\d+)*", re.IGNORECASE)

_URL: Final = (
    r"(?<![A-Za-z0-9+.-])(?P<scheme>[A-Za-z][A-Za-z0-9+.-]{1,20}+)://(?P<authority>[^\s/\"'<>]*)(?P<rest>[^\s\"'<>]*)"
)
_HOME: Final = rf"{_SEPARATOR}(?:home|[Uu]sers){_SEPARATOR}++(?:{_FOLDER})*+(?:{_NAME})?"
_ABSOLUTE: Final = (
    rf"(?<![A-Za-z0-9_.%/\\-])(?:~[\w.-]*+{_SEPARATOR}++|[A-Za-z]:{_SEPARATOR}++|\\{{2,4}}|{_SLASH}++)"
    rf"(?:(?:{_FOLDER})++(?:{_NAME})?|[A-Za-z_.]{_NAME})"
)
_RELATIVE: Final = rf"(?<![\w./\\-])(?:{_NAME}{_SEPARATOR}++)+{_CHARACTER}+?\.(?:{_ENDINGS})(?![A-Za-z0-9_])"
_PATH: Final = re.compile(rf"{_URL}|(?P<path>{_HOME}|{_ABSOLUTE}|{_RELATIVE})")
_PARTS: Final = re.compile(_SEPARATOR)

_ADDRESS: Final = re.compile(r"(?<![\w.])(?:\d{1,3}\.){3}\d{1,3}(?![\w.]*\d)")
_MAIL: Final = re.compile(r"(?<![\w.+-])([\w.+-]+)@([\w-]+(?:\.[\w-]+)*\.[A-Za-z]{2,})(?![\w-])")

_QUOTE: Final = r"\\{0,4}[\"']"
_USERS: Final = (
    re.compile(rf"(?:home|[Uu]sers)(?:{_SEPARATOR})++([^/\\\s\"%:;,]+)"),
    re.compile(
        rf"{_QUOTE}(?:user|user_?name|logname|owner){_QUOTE}\s{{0,4}}:\s{{0,4}}{_QUOTE}([^\"'\\]+)", re.IGNORECASE
    ),
    re.compile(r"\b(?:USER|LOGNAME|USERNAME)=([^\s;,\"']+)"),
    _MAIL,
    re.compile(r"(?<![\w/])~([A-Za-z][\w.-]*)/"),
)
_HOSTS: Final = (
    re.compile(rf"{_QUOTE}(?:host|host_?name|node_?name){_QUOTE}\s{{0,4}}:\s{{0,4}}{_QUOTE}([^\"'\\]+)", re.IGNORECASE),
    re.compile(r"\b(?:HOSTNAME|HOST|NODENAME)=([^\s;,\"']+)"),
    re.compile(r"(?:^|[/\\\s])([A-Za-z][\w.-]*?)_\d+_\d{14,}_ascend_\w+"),
    re.compile(r"(?:^|[/\\\s])([A-Za-z][\w.-]*?)_\d+(?:\.\d+)?\.pt\.trace\.json"),
)


def of_this_machine() -> tuple[list[str], list[str]]:
    """Return the names of the hosts and users of this machine."""
    try:
        users = [getpass.getuser()]
    except (OSError, KeyError):  # a container whose user has no entry
        users = []
    return [socket.gethostname()], users


class _Known(msgspec.Struct):
    stand_ins: list[tuple[str, str, str]]
    names: dict[str, str]
    node_names: bool


class Redactor:
    """Replaces what it knows as users and hosts, and everything that reads like a path.

    Show it all texts with `learn` before the first `text`: a user is recognised by the home folder in one text, and
    then replaced in every other one.
    """

    def __init__(self, *, hosts: Iterable[str] = (), users: Iterable[str] = (), node_names: bool = False) -> None:
        """Start with what is known.

        Args:
            hosts: Names of hosts; of a full name the first part counts as well.
            users: Names of users.
            node_names: Operators of the run are nodes of a model, named like `/layer/Conv`: such a name stays,
                unless it ends like a file or lies in a home folder.
        """
        self._stand_ins: dict[tuple[str, str], str] = {}
        self._names: dict[str, str] = {}
        self._pattern: re.Pattern[str] | None = None
        self._node_names = node_names
        for host in hosts:
            self._know("host", host)
        for user in users:
            self._know("user", user)

    def known(self) -> bytes:
        """Return all that it knows, as JSON; it names what the stand-ins stand for."""
        known = {
            "stand_ins": [[kind, name, shown] for (kind, name), shown in self._stand_ins.items()],
            "names": self._names,
            "node_names": self._node_names,
        }
        return json.dumps(known).encode()  # names may hold bytes that are no text, which msgspec does not write

    def know_again(self, known: bytes) -> None:
        """Know what another one knew, and nothing else; `known` is what that one returned.

        Raises:
            ValueError: It is not.
        """
        try:
            state = msgspec.convert(json.loads(known), _Known)
        except (msgspec.ValidationError, ValueError, RecursionError) as error:
            raise ValueError(f"no list of stand-ins: {error}") from error
        self._stand_ins = {(kind, name): shown for kind, name, shown in state.stand_ins}
        self._names = dict(state.names)
        self._node_names = state.node_names
        self._pattern = None

    def know_host(self, name: str) -> None:
        """Take a name for that of a host."""
        self._know("host", name)

    def know_user(self, name: str) -> None:
        """Take a name for that of a user."""
        self._know("user", name)

    def keep_node_names(self) -> None:
        """Leave names of the nodes of a model as they are, see `node_names`."""
        self._node_names = True

    def learn(self, text: str) -> None:
        """Look for names of users and hosts in a text."""
        for pattern in _USERS:
            for match in pattern.finditer(text):
                self._know("user", match[1])
        for pattern in _HOSTS:
            for match in pattern.finditer(text):
                self._know("host", match[1])

    def learn_input(self, name: str) -> None:
        """Take the name of an input for a path wherever it stands, if no word of a sentence looks like it."""
        if len(name) > 5 and not (name.isascii() and name.isalpha()):
            self._names.setdefault(name.casefold(), self._stand_in("path", name))
            self._pattern = None

    def learn_place(self, path: str) -> None:
        """Take a path for one wherever it stands, also where it does not look like one."""
        if not _FILE.fullmatch(_PARTS.split(path)[-1]):  # such a one is recognised, and keeps the name of its file
            self.learn_input(path)

    def text(self, text: str) -> str:
        """Return a text with stand-ins in place of all that is known or recognised."""
        if not text:
            return text
        named = self._named(text)
        named = _MAIL.sub(lambda match: f"{self._user(match[1])}@{self._host(match[2])}", named)
        named = _PATH.sub(self._path, named) if "/" in named or "\\" in named or "%2" in named else named
        return _ADDRESS.sub(lambda match: self._host(match[0]), named)

    def place(self, text: str) -> str:
        """Return the stand-in of a text that is a path, absolute or relative."""
        named = self._named(text)
        if text in ("", ".", "-") or _FILE.fullmatch(text) or _STAND_IN.fullmatch(named):
            return named
        if "://" in text:
            return self.text(text)
        return self._shortened(named)

    def _know(self, kind: str, name: str) -> None:
        name = name.strip()
        if len(name) < 2 or name.isdigit() or name.casefold() in _GENERIC:
            return
        key = name.casefold()
        if key in self._names:
            return
        self._names[key] = self._stand_in(kind, name)
        first = key.partition(".")[0]
        if kind == "host" and len(first) > 1 and not first.isdigit() and first not in _GENERIC:
            self._names.setdefault(first, self._names[key])
        self._pattern = None

    def _named(self, text: str) -> str:
        if not self._names:
            return text
        if self._pattern is None:
            longest_first = sorted(self._names, key=len, reverse=True)
            joined = "|".join(re.escape(name) for name in longest_first)
            self._pattern = re.compile(rf"(?<![A-Za-z0-9])(?:{joined})(?![A-Za-z0-9])", re.IGNORECASE)
        names = self._names
        return self._pattern.sub(lambda match: names[match[0].casefold()], text)

    def _user(self, name: str) -> str:
        return name if _STAND_IN.fullmatch(name) else self._stand_in("user", name)

    def _host(self, name: str) -> str:
        known = _STAND_IN.fullmatch(name) or name.casefold() in _GENERIC or name in ("127.0.0.1", "0.0.0.0")
        return name if known else self._stand_in("host", name)

    def _path(self, match: re.Match[str]) -> str:
        scheme, path = match["scheme"], match["path"]
        if path is not None:
            return path if self._node_names and _is_node_name(path) else self._shortened(path)
        if scheme.casefold() == "file":
            return self._shortened(match["authority"] + match["rest"])
        host, colon, port = match["authority"].rpartition("@")[2].partition(":")
        rest = match["rest"]
        where = f"{self._host(host)}{colon}{port}" if host else ""
        return f"{scheme}://{where}" + (f"/{self._shortened(rest)}" if len(rest) > 1 else rest)

    def _shortened(self, path: str) -> str:
        tail = path[len(path.rstrip("\\")) :]  # of a quotation mark behind it
        parts = _PARTS.split(path[: len(path) - len(tail)])
        if len(parts) > 1 and _FILE.fullmatch(parts[-1]):
            folder = "/".join(parts[:-1])
            return f"{self._stand_in('path', folder)}/{parts[-1]}{tail}"
        return self._stand_in("path", "/".join(parts).rstrip("/")) + tail

    def _stand_in(self, kind: str, name: str) -> str:
        key = kind, name.casefold() if kind != "path" else name
        if key not in self._stand_ins:
            number = 1 + sum(1 for known, _ in self._stand_ins if known == kind)
            self._stand_ins[key] = f"{kind}-{number}"
        return self._stand_ins[key]


_STAND_IN: Final = re.compile(r"(?:host|user|path)-\d+")


def _is_node_name(path: str) -> bool:
    last = path.rpartition("/")[2]
    in_home = re.match(rf"{_SEPARATOR}(?:home|[Uu]sers|root|tmp|mnt|opt|usr|var){_SEPARATOR}", path) is not None
    return path.startswith("/") and not in_home and _FILE.fullmatch(last) is None
