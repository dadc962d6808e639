"""Small files that are kept carry the sum of what they hold."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ascend_sn.store.sealed import BrokenSealError, decoded, read_sealed, write_sealed

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
