"""Chrome-trace JSON read byte by byte with Decimal times: slow, plain, the measure of the compiled scanner."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

SPACE = b" \t\n\r"
MAX_DEPTH = 256
INT64 = range(-(2**63), 2**63)
WORDS = (b"true", b"false", b"null", b"NaN", b"Infinity", b"-Infinity")
SIMPLE = {b'"': b'"', b"\\": b"\\", b"/": b"/", b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t"}
STRING_STOP = re.compile(rb'["\\]')
CODE = re.compile(rb"\\u([0-9a-fA-F]{4})")
SURROGATES = re.compile(rb"\\u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})")
PEOPLES_NUMBER = re.compile(rb"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
JSON_NUMBER = re.compile(rb"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
FIELDS = ("name", "cat", "pid", "tid", "id", "scope")


class Cut(Exception):
    """The text ends within what is being read."""


class Bad(Exception):
    """The text is no JSON here."""


class TooDeep(Exception):
    """More than MAX_DEPTH containers around each other."""


@dataclass
class Value:
    """A JSON value: `kind` is its first character, `raw` its text as written (texts without the quotes)."""

    kind: str
    raw: bytes
    start: int
    end: int
    members: list[tuple[Value, Value]] = field(default_factory=list)


@dataclass
class Arg:
    kind: int
    text: str | None
    value: int = 0
    number: float | None = None


@dataclass
class Event:
    offset: int
    ph: int = 0
    s: int = 0
    bp: int = 0
    ts: int | None = None
    dur: int | None = None
    texts: dict[str, str | None] = field(default_factory=lambda: dict.fromkeys(FIELDS))
    args: dict[str, Arg] = field(default_factory=dict)
    other_args: str | None = None
    end: int = field(default=0, repr=False)


@dataclass
class Result:
    events: list[Event] = field(default_factory=list)
    damage: dict[str, tuple[int, int]] = field(default_factory=dict)
    metadata: dict[str, Any] = field(default_factory=dict)
    has_list: bool = False

    def note(self, kind: str, offset: int) -> None:
        first, count = self.damage.get(kind, (offset, 0))
        self.damage[kind] = (first, count + 1)


def scan(data: bytes, keys: tuple[str, ...] = (), *, keep_other_args: bool = False) -> Result:
    return _Reader(data, keys, keep_other_args).run()


def unescape(raw: bytes) -> tuple[bytes, set[str]]:
    """Resolve escapes; tells what is broken about the text."""
    flaws = {"control_character"} if re.search(rb"[\x00-\x1f]", raw) else set()
    done, at = b"", 0
    while (slash := raw.find(b"\\", at)) >= 0:
        done, at = done + raw[at:slash], slash
        if (simple := raw[at + 1 : at + 2]) in SIMPLE:
            done, at = done + SIMPLE[simple], at + 2
        elif pair := SURROGATES.match(raw, at):
            high, low = int(pair[1], 16), int(pair[2], 16)
            done, at = done + chr(0x10000 + ((high - 0xD800) << 10) + low - 0xDC00).encode(), pair.end()
        elif single := CODE.match(raw, at):
            code = int(single[1], 16)
            if 0xD800 <= code < 0xE000:
                flaws.add("invalid_utf8")
                code = 0xFFFD
            done, at = done + chr(code).encode(), single.end()
        else:
            flaws.add("bad_escape")
            done, at = done + b"\\", at + 1
    done += raw[at:]
    try:
        done.decode()
    except UnicodeDecodeError:
        flaws.add("invalid_utf8")
    return done, flaws


def nanoseconds(text: bytes) -> tuple[int | None, set[str]]:
    """Convert microseconds as people write them to ns; None with the reason where that cannot be."""
    number = Decimal(text.decode())
    exact = number.scaleb(3) if number else Decimal(0)
    if exact.adjusted() > 25:
        return None, {"time_out_of_range"}
    if exact.adjusted() < -25:
        rounded, lost = 0, bool(exact)
    else:
        whole = exact.quantize(Decimal(1), ROUND_HALF_UP)
        rounded, lost = int(whole), whole != exact
    if abs(rounded) >= 2**63:
        return None, {"time_out_of_range"}
    flaws = {"rounded_time"} if lost else set()
    if b"e" in text.lower():
        flaws.add("exponent_time")
    return rounded, flaws


def plain(value: Value) -> Any:
    """Return a value as Python's json module does."""
    if value.kind == '"':
        return unescape(value.raw)[0].decode(errors="replace")
    if value.kind == "[":
        return [plain(member) for _, member in value.members]
    if value.kind == "{":
        return {plain(key): plain(member) for key, member in value.members}
    if value.kind in "tfn":
        return {"t": True, "f": False, "n": None}[value.kind]
    text = value.raw.decode()
    return int(text) if text.lstrip("-").isdigit() else float(text)


class _Reader:
    def __init__(self, data: bytes, keys: tuple[str, ...], keep_other_args: bool) -> None:
        self.data, self.keys, self.keep = data, keys, keep_other_args
        self.result = Result()

    # JSON text

    def space(self, at: int) -> int:
        while at < len(self.data) and self.data[at] in SPACE:
            at += 1
        return at

    def byte(self, at: int) -> bytes:
        return self.data[at : at + 1]

    def fail(self, at: int) -> Exception:
        return Cut() if at >= len(self.data) else Bad()

    def string(self, at: int) -> Value:
        start = at
        at += 1
        while True:
            stop = STRING_STOP.search(self.data, at)
            if stop is None:
                raise Cut
            if stop[0] == b'"':
                return Value('"', self.data[start + 1 : stop.start()], start, stop.end())
            at = stop.start() + 2

    def number(self, at: int) -> Value:
        match = JSON_NUMBER.match(self.data, at)
        tail = match.end() if match else at
        broken = match is None or (
            (self.byte(tail) == b"." and match[2] is None and match[3] is None)
            or (self.byte(tail) in (b"e", b"E") and match[3] is None)
        )
        if broken:
            while tail < len(self.data) and self.byte(tail) in b"0123456789+-.eE":
                tail += 1
            raise self.fail(tail)
        if tail >= len(self.data):
            raise Cut
        return Value("0", self.data[at:tail], at, tail)

    def word(self, at: int, word: bytes) -> Value:
        for i in range(len(word)):
            if self.data[at + i : at + i + 1] != word[i : i + 1]:
                raise self.fail(at + i)
        return Value(chr(word[0]), word, at, at + len(word))

    def key(self, at: int) -> tuple[Value, int]:
        if self.byte(at) != b'"':
            raise self.fail(at)
        key = self.string(at)
        at = self.space(key.end)
        if self.byte(at) != b":":
            raise self.fail(at)
        return key, self.space(at + 1)

    def value(self, at: int, depth: int) -> Value:
        first = self.byte(at)
        if first == b'"':
            return self.string(at)
        if first in (b"{", b"["):
            return self.container(at, depth)
        for word in WORDS:
            if self.data[at : at + 2] == b"-I" if word[0] == 0x2D else (first and first == word[:1]):
                return self.word(at, word)
        if first and first in b"-0123456789":
            return self.number(at)
        raise self.fail(at)

    def container(self, at: int, depth: int) -> Value:
        if depth >= MAX_DEPTH:
            raise TooDeep
        start, is_object = at, self.byte(at) == b"{"
        close = b"}" if is_object else b"]"
        found = Value("{" if is_object else "[", b"", start, 0)
        at = self.space(at + 1)
        if self.byte(at) != close:
            while True:
                key = Value('"', b"", at, at)
                if is_object:
                    key, at = self.key(at)
                member = self.value(at, depth + 1)
                found.members.append((key, member))
                at = self.space(member.end)
                if self.byte(at) == close:
                    break
                if self.byte(at) != b",":
                    raise self.fail(at)
                at = self.space(at + 1)
        found.end = at + 1
        found.raw = self.data[start : found.end]
        return found

    # Events

    def event(self, at: int, *, marked: bool) -> Event | None:
        """Return the event at a brace; None where an object is no event for lack of `ph`."""
        whole = self.container(at, 0)
        event, id2 = Event(at, end=whole.end), None
        flaws: list[tuple[str, int]] = []
        has_phase = False
        for key, value in whole.members:
            name = unescape(key.raw)[0].decode(errors="replace")
            if name == "ph":
                has_phase = value.kind == '"'
            if name in ("ph", "s", "bp"):
                setattr(event, name, value.raw[0] if value.kind == '"' and len(value.raw) == 1 else 0)
            elif name in FIELDS:
                event.texts[name] = self.text(value, flaws)
            elif name in ("ts", "dur"):
                setattr(event, name, self.time(value, flaws))
            elif name == "id2" and value.kind == "{":
                for inner, member in value.members:
                    if inner.raw in (b"local", b"global"):
                        id2 = self.text(member, flaws)
            elif name == "args":
                self.arguments(event, value, flaws)
        if event.texts["id"] is None:
            event.texts["id"] = id2
        if marked and not has_phase:
            return None
        for kind, offset in flaws:
            self.result.note(kind, offset)
        return event

    def text(self, value: Value, flaws: list[tuple[str, int]]) -> str | None:
        if value.kind == "n":
            return None
        if value.kind == '"':
            text, broken = unescape(value.raw)
            flaws += [(kind, value.start + 1) for kind in sorted(broken)]
            return text.decode(errors="replace")
        try:
            value.raw.decode()
        except UnicodeDecodeError:
            flaws.append(("invalid_utf8", value.start))
        return value.raw.decode(errors="replace")

    def time(self, value: Value, flaws: list[tuple[str, int]]) -> int | None:
        text, where = value.raw, value.start
        if value.kind == '"':
            text = unescape(value.raw)[0].strip(SPACE)
            if text == b"" or text.lower() == b"n/a":
                return None
            if not PEOPLES_NUMBER.fullmatch(text):
                word = text.lower().removeprefix(b"-") if text[:1] == b"-" else text.lower().removeprefix(b"+")
                flaws.append(("not_a_number" if word in (b"nan", b"inf", b"infinity") else "bad_time", where))
                return None
        elif value.kind != "0":
            if value.kind != "n":
                flaws.append(("not_a_number" if value.kind in "NI-" else "bad_time", where))
            return None
        found, broken = nanoseconds(text)
        flaws += [(kind, where) for kind in sorted(broken)]
        return found

    def arguments(self, event: Event, value: Value, flaws: list[tuple[str, int]]) -> None:
        event.args, event.other_args = {}, None
        if value.kind != "{":
            if self.keep and value.kind != "n":
                # A text is kept with its quotes here: it is the JSON text of the arguments.
                raw = self.data[value.start : value.end]
                event.other_args = self.text(Value("raw", raw, value.start, value.end), flaws)
            return
        others = []
        for key, member in value.members:
            name = unescape(key.raw)[0].decode(errors="replace")
            if name in self.keys:
                event.args[name] = self.argument(member, flaws)
            else:
                others.append(self.data[key.start : member.end])
        if others and self.keep:
            raw = b"{" + b",".join(others) + b"}"
            event.other_args = self.text(Value("raw", raw, value.start, value.end), flaws)

    def argument(self, value: Value, flaws: list[tuple[str, int]]) -> Arg:
        text = self.text(value, flaws)
        raw = value.raw.decode(errors="replace")
        if value.kind == "0":
            if raw.lstrip("-").isdigit() and int(raw) in INT64:
                return Arg(2, text, int(raw), float(int(raw)))
            return Arg(3, text, 0, float(raw))
        if value.kind in "NI-":
            return Arg(3, text, 0, float(raw))
        if value.kind in "tf":
            return Arg(4, text, int(value.kind == "t"), float(value.kind == "t"))
        return Arg({'"': 1, "n": 5, "{": 6, "[": 6}[value.kind], text)

    # The file

    def run(self) -> Result:
        at = 3 if self.data.startswith(b"\xef\xbb\xbf") else 0
        at = self.space(at)
        first = self.byte(at)
        if first == b"[":
            self.result.has_list = True
            self.after(self.list(at + 1, 0))
        elif first == b"{":
            self.object(at + 1, 0)
        elif first:
            self.result.note("damaged_header", at)
            self.after(self.seek(at))
        return self.result

    def after(self, at: int | None) -> None:
        """Look at what follows the top-level value; None: the end of the file was reached before."""
        while at is not None:
            at = self.space(at)
            if at >= len(self.data):
                return
            self.result.note("trailing_data", at)
            at = self.seek(at)

    def object(self, at: int | None, comma: int) -> None:
        result = self.result
        while at is not None:
            at = self.space(at)
            start, first = at, self.byte(at)
            if not first:
                result.note("unclosed_array" if result.has_list else "truncated", at)
                return
            if first == b"}":
                if comma == 1:
                    result.note("trailing_comma", at)
                return self.after_object(at + 1)
            if first == b",":
                if comma != 2:
                    result.note("extra_comma", at)
                at, comma = at + 1, 1
                continue
            try:
                if first != b'"':
                    raise Bad
                key, at = self.key(at)
                if unescape(key.raw)[0] == b"traceEvents" and self.byte(at) == b"[":
                    if result.has_list:
                        result.note("duplicate_trace_events", start)
                    if comma == 2:
                        result.note("missing_comma", start)
                    result.has_list = True
                    at, comma = self.list(at + 1, 0), 2
                    continue
                value = self.value(at, 1)
            except (Cut, Bad, TooDeep) as error:
                result.note("truncated" if isinstance(error, Cut) else "damaged_header", start)
                at, comma = self.seek(start), 2
                continue
            if unescape(key.raw)[0] == b"traceEvents":
                result.note("trace_events_no_list", start)
            else:
                self.member(key, value)
            if comma == 2:
                result.note("missing_comma", start)
            at, comma = value.end, 2

    def after_object(self, at: int | None) -> None:
        while at is not None:
            at = self.space(at)
            if at >= len(self.data):
                return
            self.result.note("trailing_data", at)
            at = self.seek(at)
            if at is not None:
                return self.object(at, 2)

    def member(self, key: Value, value: Value) -> None:
        try:
            self.result.metadata[unescape(key.raw)[0].decode(errors="replace")] = plain(value)
        except ValueError:  # a number of thousands of digits
            self.result.note("damaged_metadata", 0)

    def seek(self, at: int) -> int | None:
        """Find the next event by its `ph`, and take the list from there."""
        while True:
            at = self.data.find(b"{", at)
            if at < 0:
                return None
            inside = self.space(at + 1)
            if inside >= len(self.data) or self.byte(inside) == b'"':
                try:
                    event = self.event(at, marked=True)
                    if event is not None:
                        self.result.events.append(event)
                        return self.list(event.end, 2)
                except (Cut, Bad, TooDeep):
                    pass
            at += 1

    def list(self, at: int, comma: int) -> int | None:
        """Take elements; return the place after the closing bracket, None where the file ends before."""
        result = self.result
        while True:
            at = self.space(at)
            start, first = at, self.byte(at)
            if not first:
                result.note("unclosed_array", at)
                return None
            if first == b"]":
                if comma == 1:
                    result.note("trailing_comma", at)
                return at + 1
            if first == b",":
                if comma != 2:
                    result.note("extra_comma", at)
                at, comma = at + 1, 1
                continue
            try:
                if first == b"{":
                    event = self.event(at, marked=False)
                    assert event is not None
                    result.events.append(event)
                    at = event.end
                else:
                    at = self.value(at, 0).end
                    result.note("not_an_object", start)
            except TooDeep:
                result.note("too_deep", start)
                return self.seek(start + 1)
            except Cut:
                result.note("truncated", start)
                return self.seek(start + 1)
            except Bad:
                result.note("damaged_event" if first == b"{" else "garbage", start)
                return self.seek(start + 1)
            if comma == 2:
                result.note("missing_comma", start)
            comma = 2
