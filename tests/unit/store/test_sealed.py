"""Small files that are kept carry the sum of what they hold."""

from __future__ import annotations

import json
import os
import zlib
from pathlib import Path

import pytest

from ascend_sn.store.sealed import BrokenSealError, check_object, decoded, read_sealed, sealed_object, write_sealed

HELD = b'{"dur_ns":[120,480]}'


def test_what_is_written_is_read_back_and_nothing_else_is_left(tmp_path: Path) -> None:
    write_sealed(tmp_path / "kept", HELD)

    assert read_sealed(tmp_path / "kept") == HELD
    assert decoded(tmp_path / "kept", dict[str, list[int]]) == {"dur_ns": [120, 480]}
    assert os.listdir(tmp_path) == ["kept"]


def test_a_changed_bit_anywhere_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "kept"
    write_sealed(path, HELD)
    whole = path.read_bytes()
    for at in range(len(whole)):
        for bit in range(8):
            path.write_bytes(whole[:at] + bytes([whole[at] ^ (1 << bit)]) + whole[at + 1 :])

            with pytest.raises(BrokenSealError):
                decoded(path, dict[str, list[int]])


def test_a_file_of_an_earlier_version_has_no_sum(tmp_path: Path) -> None:
    (tmp_path / "kept").write_bytes(HELD)

    assert read_sealed(tmp_path / "kept") == HELD


@pytest.mark.parametrize("content", [b"", b"[" * 100_000, b"\xff", b"null", b'{"dur_ns":["x"]}'])
def test_what_is_no_such_json_is_said(tmp_path: Path, content: bytes) -> None:
    write_sealed(tmp_path / "kept", content)

    with pytest.raises(BrokenSealError):
        decoded(tmp_path / "kept", dict[str, list[int]])


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "kept")

    with pytest.raises(BrokenSealError, match="no file"):
        read_sealed(tmp_path / "kept")


@pytest.mark.parametrize("written", [HELD, b'{\n "dur_ns": [\n  120,\n  480\n ]\n}\n'])
def test_an_object_gets_the_sum_of_what_stands_before_it_and_stays_json(written: bytes) -> None:
    sealed = sealed_object(written)

    check_object(sealed)
    before = sealed[: sealed.index(b',\n "crc32"')]
    assert json.loads(sealed) == {"dur_ns": [120, 480], "crc32": f"{zlib.crc32(before):08x}"}


def test_a_changed_bit_of_an_object_is_noticed_or_leaves_what_it_says() -> None:
    sealed = sealed_object(HELD)
    end = sealed.index(b"]")
    for at in range(len(sealed)):
        for bit in range(8):
            changed = sealed[:at] + bytes([sealed[at] ^ (1 << bit)]) + sealed[at + 1 :]
            try:
                check_object(changed)
            except BrokenSealError:
                continue
            assert changed[: end + 1] == sealed[: end + 1]


def test_an_object_of_an_earlier_version_has_no_sum() -> None:
    check_object(HELD)
    check_object(b"")
