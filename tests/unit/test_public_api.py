"""The public interface is frozen: what is in the listing stays, and nothing is added by accident."""

from __future__ import annotations

from difflib import unified_diff
from types import ModuleType, SimpleNamespace

from scripts.public_api import LISTING, listing, signature


def test_the_public_interface_is_the_one_that_is_listed() -> None:
    listed, found = LISTING.read_text(encoding="utf-8"), listing()

    difference = "\n".join(unified_diff(listed.splitlines(), found.splitlines(), "listed", "found", lineterm="", n=1))
    assert not difference, (
        f"{difference}\n\nA name or parameter that is gone or changed breaks programs of users. If it is meant: "
        "python scripts/public_api.py --write and a change fragment; what goes keeps working for one more release."
    )


def test_the_listing_holds_what_the_guides_call() -> None:
    lines = LISTING.read_text(encoding="utf-8").splitlines()

    for module, call in (
        ("ascend.profiler", "    class Profiler(config: ProfilerConfig | None = None, **settings: object) -> None"),
        ("asc_tools.profiler", "    Profiler: the same as ascend.profiler.Profiler"),
        ("asc_tools.advisor", "    Analyzer: the same as ascend_sn.Analyzer"),
    ):
        assert call in lines[lines.index(module) :], module


def test_a_signature_is_shown_as_it_is_written() -> None:
    def called(self: ModuleType, path: str | None = "a", *, count: SimpleNamespace) -> list[int]:
        return []

    assert signature(called) == "(path: str | None = 'a', *, count: SimpleNamespace) -> list[int]"
