"""Full disks, damaged caches, unreadable folders, odd names: one clear line, and whatever is whole is used."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

TRACE = (
    '{"schemaVersion":1,"traceEvents":['
    '{"ph":"X","name":"aten::mm","cat":"cpu_op","pid":1,"tid":1,"ts":1,"dur":5},'
    '{"ph":"X","name":%s,"cat":"cpu_op","pid":1,"tid":1,"ts":10,"dur":5}]}'
)


def ascend_sn(*words: str | bytes, stdout: int | None = subprocess.PIPE) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "ascend_sn.cli.main", "--lang", "en", *words]
    return subprocess.run(command, stdout=stdout, stderr=subprocess.PIPE, text=True, errors="replace", check=False)


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    path = tmp_path / "in" / "trace.json"
    path.parent.mkdir()
    path.write_text(TRACE % '"aten::add"')
    return path


def cached_files(cache: Path) -> list[Path]:
    return [path for path in (cache / "runs").rglob("*.parquet") if path.is_file()]


@pytest.mark.parametrize("left", [0, 1000])
def test_a_damaged_cache_is_read_anew(trace: Path, tmp_path: Path, left: int) -> None:
    cache = tmp_path / "cache"
    assert ascend_sn("analyze", str(trace), "--cache-dir", str(cache)).returncode == 0
    for path in cached_files(cache):
        os.truncate(path, min(left, path.stat().st_size))

    again = ascend_sn("analyze", str(trace), "--top-k", "3", "--cache-dir", str(cache))

    assert (again.returncode, again.stderr) == (0, "")
    assert "aten::mm" in again.stdout


def test_a_users_run_folder_that_is_damaged_is_named_and_left_alone(trace: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    assert ascend_sn("ingest", str(trace), "--output", str(run)).returncode == 0
    damaged = next(run.glob("kernel/*/part-0.parquet"))
    size = damaged.stat().st_size
    damaged.write_bytes(b"PAR1" + b"\xff" * (size - 8) + b"PAR1")

    told = ascend_sn("analyze", str(run))

    assert told.returncode == 3
    assert len(told.stderr.splitlines()) == 1
    assert damaged.stat().st_size == size


def test_an_event_without_a_name_does_not_cost_the_others(tmp_path: Path) -> None:
    path = tmp_path / "nameless.json"
    path.write_text(TRACE % "null")

    told = ascend_sn("analyze", str(path))

    assert (told.returncode, "(unnamed)" in told.stdout, "aten::mm" in told.stdout) == (0, True, True)


def test_a_name_that_is_no_utf8_is_shown_with_a_mark(tmp_path: Path) -> None:
    path = os.fsencode(tmp_path) + b"/x\xff.json"
    with open(path, "w") as file:
        file.write(TRACE % '"aten::add"')

    assert ascend_sn("analyze", path, "--format", "json").returncode == 0


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_full_standard_output_is_said_in_one_line(trace: Path) -> None:
    with open("/dev/full", "w") as full:
        told = ascend_sn("analyze", str(trace), stdout=full.fileno())

    assert (told.returncode, told.stderr) == (3, "ascend-sn: the output cannot be written: No space left on device\n")


def test_a_loop_of_links_is_no_input(tmp_path: Path) -> None:
    loop = tmp_path / "loop"
    loop.symlink_to(loop)

    told = ascend_sn("analyze", str(loop))

    assert (told.returncode, told.stderr) == (3, f"ascend-sn: {loop}: no such file or folder\n")


def test_links_do_not_lead_out_of_the_input(trace: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "stranger.json").write_text(TRACE % '"stranger"')
    (trace.parent / "link").symlink_to(elsewhere)

    assert "stranger" not in ascend_sn("analyze", str(trace.parent)).stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [(("--input", ""), "empty text"), (("/dev/null",), "neither a file nor a folder")],
)
def test_what_is_no_input_is_said(words: tuple[str, ...], said: str) -> None:
    told = ascend_sn("analyze", *words)

    assert told.returncode in (2, 3)
    assert said in told.stderr


def test_a_run_is_never_kept_inside_its_input(trace: Path) -> None:
    told = ascend_sn("ingest", str(trace.parent), "--output", str(trace.parent / "run"))

    assert (told.returncode, list(trace.parent.iterdir())) == (2, [trace])


def test_a_single_job_has_no_name_to_choose(trace: Path) -> None:
    assert ascend_sn("analyze", str(trace), "--job", "x").returncode == 2


def test_a_cut_database_is_called_one(tmp_path: Path) -> None:
    path = tmp_path / "cut.db"
    path.write_bytes(b"SQLite format 3\x00" + b"\x00" * 200)

    told = ascend_sn("analyze", str(path))

    assert (told.returncode, "SQLite" in told.stderr) == (3, True)


@pytest.mark.parametrize("given", ["--cache-dir", "ASCEND_SN_CACHE_DIR", "XDG_CACHE_HOME"])
@pytest.mark.parametrize("place", [".", "cache/deep"])
def test_a_cache_inside_the_input_is_refused(
    trace: Path, given: str, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    inside = str(trace.parent / place)
    options = (given, inside) if given.startswith("--") else ()
    if not options:
        monkeypatch.setenv(given, inside)
        monkeypatch.delenv("ASCEND_SN_CACHE_DIR" if given != "ASCEND_SN_CACHE_DIR" else "XDG_CACHE_HOME", raising=False)

    told = ascend_sn("analyze", str(trace.parent), *options)

    assert told.returncode == 2
    assert len(told.stderr.splitlines()) == 1
    assert "the cache lies inside the input" in told.stderr
    assert list(trace.parent.iterdir()) == [trace]


def test_a_cache_beside_a_lone_file_is_no_writing_into_it(trace: Path) -> None:
    assert ascend_sn("analyze", str(trace), "--cache-dir", str(trace.parent / "cache")).returncode == 0


def test_a_link_to_a_cache_inside_the_input_is_seen_through(trace: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(trace.parent)

    assert ascend_sn("analyze", str(trace.parent), "--cache-dir", str(tmp_path / "link")).returncode == 2


def test_tables_at_a_path_that_is_no_utf8_are_refused_in_one_line(trace: Path, tmp_path: Path) -> None:
    odd = os.fsencode(tmp_path) + b"/x\xff"
    run = tmp_path / "run"
    assert ascend_sn("ingest", str(trace), "--output", str(run)).returncode == 0

    told = [
        ascend_sn("ingest", str(trace), "--output", odd),
        ascend_sn("analyze", str(trace), "--cache-dir", odd),
    ]
    assert not os.path.exists(odd)
    os.rename(run, odd)
    told.append(ascend_sn("analyze", odd))

    assert [(one.returncode, len(one.stderr.splitlines()), "no UTF-8" in one.stderr) for one in told] == [
        (3, 1, True)
    ] * 3


@pytest.mark.parametrize(
    "variables",
    [
        {"LC_ALL": "tr_TR.UTF-8"},
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        {"LC_ALL": "C", "PYTHONIOENCODING": "ascii"},
        {"LC_ALL": "zh_CN.GB18030", "PYTHONIOENCODING": "gb18030"},
        {"HOME": "/nonexistent/home"},
        {"TZ": ":/etc/passwd"},
    ],
    ids=lambda variables: "_".join(variables.values()).replace("/", "_"),
)
def test_odd_surroundings_change_no_figure(tmp_path: Path, variables: dict[str, str]) -> None:
    path = tmp_path / "trace.json"
    path.write_text(TRACE % '"\u8ba1\u7b97"', encoding="utf-8")
    words = ["analyze", str(path), "--lang", "zh", "--format", "json", "--cache-dir", str(tmp_path / "cache")]
    command = [sys.executable, "-m", "ascend_sn.cli.main", *words]

    told = subprocess.run(command, env=os.environ | variables, capture_output=True, check=False)

    assert (told.returncode, told.stderr) == (0, b"")
    rows = json.loads(told.stdout.decode(variables.get("PYTHONIOENCODING", "utf-8")))["operators"]["operators"]
    assert {row["name"] for row in rows} == {"aten::mm", "\u8ba1\u7b97"}


@pytest.mark.parametrize("closed", ["1", "2"])
def test_a_closed_stream_is_no_defect(tmp_path: Path, closed: str) -> None:
    line = f'"$0" -m ascend_sn.cli.main analyze "$1" {closed}>&-'

    told = subprocess.run(
        ["sh", "-c", line, sys.executable, str(tmp_path / "no such")], capture_output=True, check=False
    )

    assert told.returncode == 3
