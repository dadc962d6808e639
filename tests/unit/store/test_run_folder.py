"""Run folders of ours: old ones open, newer ones are refused by name, cut copies are named."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ascend_sn.errors import RunVersionError, StoreError
from ascend_sn.model.manifest import RUN_VERSION
from ascend_sn.model.tables import TABLES
from ascend_sn.store import Run, open_run, upgrade
from ascend_sn.store.input import Input
from tests.unit.store.drawn_reader import DrawnReader

FIXTURES = Path(__file__).parents[2] / "golden" / "run_folder"


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """A writable copy of the run folder of version 1."""
    return Path(shutil.copytree(FIXTURES / "v1", tmp_path / "run"))


def edit_manifest(run: Path, **changes: Any) -> None:
    raw = msgspec.json.decode((run / "manifest.json").read_bytes())
    (run / "manifest.json").write_bytes(msgspec.json.encode({**raw, **changes}))


def test_there_is_a_fixture_of_every_version() -> None:
    assert sorted(path.name for path in FIXTURES.iterdir() if path.is_dir()) == [
        f"v{version}" for version in range(1, RUN_VERSION + 1)
    ]


@pytest.mark.parametrize("version", range(1, RUN_VERSION + 1))
def test_a_run_of_an_old_version_opens_and_says_the_same(drawn: DrawnReader, version: int) -> None:
    with open_run(FIXTURES / f"v{version}") as run:
        ranks = run.sql("select profile_id, rank, source from profile order by 1").fetchall()
        kernels = run.sql(
            "select profile_id, count(*), min(ts_ns), min(name) from kernel group by 1 order by 1"
        ).fetchall()
        damage = run.sql('select profile_id, kind, "count" from damage order by 1').fetchall()
        steps = run.sql("select profile_id, step, dur_ns from step order by 1").fetchall()

    assert ranks == [(0, 0, "second.txt"), (1, 1, "first.txt")]
    assert kernels == [(0, 2, 1_736_408_883_704_643_212, "矩阵乘0"), (1, 3, 1_736_408_883_704_643_212, "矩阵乘0")]
    assert damage == [(-1, "foreign_files", 1), (1, "bad_row", 2)]
    assert steps == [(0, 5, 100), (1, 5, 100)]
    assert drawn.calls == []


def test_an_old_run_has_every_table_of_today() -> None:
    with open_run(FIXTURES / "v1") as run:
        for table in TABLES:
            assert run.sql(f"select * from {table.name}").columns == list(table.names)


def test_a_run_folder_is_only_read(copied: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in copied.rglob("*")}

    with open_run(copied) as run:
        run.sql("select count(*) from kernel").fetchall()

    assert {path: path.stat().st_mtime_ns for path in copied.rglob("*")} == before


def test_a_newer_version_is_refused_by_name(copied: Path) -> None:
    edit_manifest(copied, version=RUN_VERSION + 4, something_new=[1])

    with pytest.raises(RunVersionError) as refused:
        open_run(copied)

    assert (refused.value.found, refused.value.supported) == (RUN_VERSION + 4, RUN_VERSION)
    assert str(refused.value).startswith(f"{copied}: run folder version {RUN_VERSION + 4} is newer")
    assert "upgrade ascend-sn" in str(refused.value)
    assert refused.value.exit_code == 3


def test_an_upgrader_is_called_for_every_version_between(copied: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def from_1(folder: Path, raw: dict[str, Any]) -> dict[str, Any]:
        return {**raw, "version": 2, "tool_version": f"{raw['tool_version']}+1"}

    def from_2(folder: Path, raw: dict[str, Any]) -> dict[str, Any]:
        return {**raw, "version": 3, "tool_version": f"{raw['tool_version']}+2"}

    edit_manifest(copied, version=1, tool_version="old")
    monkeypatch.setattr(upgrade, "RUN_VERSION", 3)
    monkeypatch.setattr(upgrade, "UPGRADERS", {1: from_1, 2: from_2})

    assert upgrade.load_manifest(copied).tool_version == "old+1+2"


def test_every_version_before_today_has_its_upgrader() -> None:
    assert sorted(upgrade.UPGRADERS) == list(range(1, RUN_VERSION))


NO_VERSION = "it states no version of the run folder"


@pytest.mark.parametrize(
    ("manifest", "said"),
    [
        (b'{"format": "ascend-sn-run"', "Input data was truncated"),
        (b'{"format": "ascend-sn-run"}', NO_VERSION),
        (b'["ascend-sn-run"]', "Expected `object`, got `array`"),
        (b'{"format": "ascend-sn-run", "version": "one"}', NO_VERSION),
        (b'{"format": "ascend-sn-run", "version": true}', NO_VERSION),
        (b'{"format": "ascend-sn-run", "version": 1}', "Object missing required field `tool_version`"),
        (b'{"format": "ascend-sn-run", "version": 0}', "there is no version 0"),
        (b'{"format": "ascend-sn-run", "version": -3}', "there is no version -3"),
        (b'{"format": "ascend-sn-run", "x": ' + b"[" * 100_000, "nested too deeply"),
    ],
)
def test_a_damaged_manifest_is_named(copied: Path, manifest: bytes, said: str) -> None:
    (copied / "manifest.json").write_bytes(manifest)

    with pytest.raises(StoreError) as refused:
        open_run(copied)

    assert str(refused.value) == f"{copied}/manifest.json: the manifest is damaged: {said}"


def test_a_missing_table_is_named(copied: Path) -> None:
    shutil.rmtree(copied / "kernel" / "profile=1")

    with pytest.raises(StoreError, match=r"kernel/profile=1: missing in the run folder"):
        open_run(copied)


@pytest.mark.parametrize("size", [0, 3, 300])
@pytest.mark.parametrize("profile", [0, 1])
def test_a_cut_file_is_named(copied: Path, profile: int, size: int) -> None:
    part = copied / "kernel" / f"profile={profile}" / "part-0.parquet"
    part.write_bytes(part.read_bytes()[:size])

    with pytest.raises(StoreError, match=rf"kernel/profile={profile}/part-0\.parquet: cut or damaged"):
        open_run(copied)


@pytest.mark.parametrize("opened", [open_run, lambda run: Run(run, Input.of(run))], ids=["by a user", "as it lies"])
def test_a_pipe_in_the_place_of_a_table_is_not_waited_for(copied: Path, opened: Callable[[Path], Run]) -> None:
    part = copied / "kernel" / "profile=0" / "part-0.parquet"
    part.unlink()
    os.mkfifo(part)

    with pytest.raises(StoreError, match=r"kernel/profile=0/part-0\.parquet: is no file"):
        opened(copied)


def test_a_file_with_damaged_insides_is_named(copied: Path) -> None:
    part = copied / "kernel" / "profile=0" / "part-0.parquet"
    whole = part.read_bytes()
    part.write_bytes(whole[:4] + b"\0" * (len(whole) - 8) + whole[-4:])

    with pytest.raises(StoreError, match="kernel: the table cannot be read"):
        open_run(copied)
