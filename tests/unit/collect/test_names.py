"""Numbers of names: one each, whatever comes between."""

from __future__ import annotations

import json
from collections.abc import Callable

from ascend_sn.collect.names import NameTable


class Interrupted(list[str]):
    """Lets a signal handler run once, right after the number of texts was asked for or one was added."""

    def __init__(self, handler: Callable[[], object], at: str) -> None:
        super().__init__()
        self.handler: Callable[[], object] | None = handler
        self.at = at

    def interrupt(self, at: str) -> None:
        handler = self.handler
        if handler is not None and self.at == at:
            self.handler = None
            handler()

    def __len__(self) -> int:
        length = super().__len__()
        self.interrupt("len")
        return length

    def append(self, text: str) -> None:
        self.interrupt("before")
        super().append(text)
        self.interrupt("after")


def test_a_name_of_a_signal_handler_that_comes_between_has_a_number_of_its_own() -> None:
    for at in ("len", "before", "after"):
        names = NameTable()
        lines: list[bytes] = []
        names.write_to(lines.append)
        names.texts = Interrupted(lambda names=names: names.number("in the handler"), at)  # type: ignore[misc]

        found = {name: names.number(name) for name in ("first", "second", "in the handler")}

        assert sorted(found.values()) == [0, 1, 2]
        assert {name: str(names.texts[number]) for name, number in found.items()} == {name: name for name in found}
        written = [json.loads(line) for block in lines for line in block.splitlines()][1:]
        assert {record["text"]: record["id"] for record in written} == found


def test_the_same_name_in_a_signal_handler_has_the_same_number() -> None:
    for at in ("len", "before", "after"):
        names = NameTable()
        inner: list[int] = []
        names.texts = Interrupted(lambda names=names, inner=inner: inner.append(names.number("both")), at)  # type: ignore[misc]

        assert [names.number("both")] == inner
        assert names.known("both") == inner[0]
