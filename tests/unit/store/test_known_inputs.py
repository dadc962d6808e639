"""An unchanged input is recognised without looking for readers; any change is noticed."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from ascend_sn.store import known_inputs
from ascend_sn.store.input import Input
from ascend_sn.store.known_inputs import recall, remember

KEY = "input-state"


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    run = tmp_path / "cache" / "runs" / KEY
    run.mkdir(parents=True)
    (run / "manifest.json").write_text("{}")
    return tmp_path / "cache"


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(known_inputs, "SETTLED_AFTER_NS", 0)
    root = tmp_path / "run"
    (root / "rank0").mkdir(parents=True)
    (root / "empty").mkdir()
    (root / "rank0" / "trace.json").write_text("[1, 2, 3]")
    (root / "notes.txt").write_text("mine")
    return root


def kept(tree: Path, cache: Path) -> None:
    searched = [tree, tree / "rank0", tree / "empty", tree / "notes.txt"]
    remember(Input.of(tree), cache, KEY, searched, [tree / "rank0" / "trace.json"])


def test_an_unchanged_input_is_recalled(tree: Path, cache: Path) -> None:
    kept(tree, cache)

    assert recall(Input.of(tree), cache) == cache / "runs" / KEY


def test_an_input_never_opened_is_not(tree: Path, cache: Path) -> None:
    assert recall(Input.of(tree), cache) is None


CHANGES: dict[str, Callable[[Path], object]] = {
    "a file grew": lambda tree: (tree / "rank0" / "trace.json").write_text("[1, 2, 3, 4]"),
    "a file came": lambda tree: (tree / "rank0" / "second.json").write_text("[]"),
    "a file came into an empty folder": lambda tree: (tree / "empty" / "trace.json").write_text("[]"),
    "a foreign file grew": lambda tree: (tree / "notes.txt").write_text("mine, and more"),
    "a file went": lambda tree: (tree / "rank0" / "trace.json").unlink(),
    "the input went": lambda tree: tree.rename(tree.with_name("elsewhere")),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_any_change_is_noticed(change: Callable[[Path], object], tree: Path, cache: Path) -> None:
    kept(tree, cache)

    change(tree)

    assert recall(Input.of(tree), cache) is None


def test_a_change_behind_an_old_time_stamp_is_noticed(tree: Path, cache: Path) -> None:
    kept(tree, cache)
    path = tree / "rank0" / "trace.json"
    status = path.stat()

    with path.open("r+") as file:
        file.write("[9")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))

    assert recall(Input.of(tree), cache) is None


def test_a_run_that_left_the_cache_is_not_recalled(tree: Path, cache: Path) -> None:
    kept(tree, cache)

    (cache / "runs" / KEY / "manifest.json").unlink()

    assert recall(Input.of(tree), cache) is None


def test_what_other_code_made_is_not_recalled(tree: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept(tree, cache)

    monkeypatch.setattr(known_inputs, "code_state", lambda: "another state")

    assert recall(Input.of(tree), cache) is None


def test_a_file_given_alone_is_recalled_with_what_it_belongs_to(tree: Path, cache: Path) -> None:
    path = tree / "rank0" / "trace.json"
    beside = tree / "rank0" / "names.json"
    beside.write_text("{}")
    remember(Input.of(path), cache, KEY, [], [path, beside])
    assert recall(Input.of(path), cache) == cache / "runs" / KEY

    beside.write_text("{1}")

    assert recall(Input.of(path), cache) is None


def test_a_folder_that_just_changed_is_not_trusted(tree: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known_inputs, "SETTLED_AFTER_NS", 3_600_000_000_000)

    kept(tree, cache)

    assert recall(Input.of(tree), cache) is None
