"""`run` sets the variables and becomes the program; `attach` speaks to programs in standby."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ascend_sn.cli.main import main
from ascend_sn.collect.automatic import AutomaticRun
from ascend_sn.collect.config import ProfilerConfig
from ascend_sn.collect.standby import ask, listen, socket_folder
from ascend_sn.errors import ProfilerStateError
from ascend_sn.model.trace_schema import STEP
from tests.unit.collect.recorded import rows


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, list[str], dict[str, str]]]:
    calls: list[tuple[str, list[str], dict[str, str]]] = []
    monkeypatch.setattr(os, "execvpe", lambda *arguments: calls.append(arguments))
    return calls


class Stepping(AutomaticRun):
    """A program that takes a step whenever somebody asks for its state."""

    def command(self, request: dict[str, Any]) -> dict[str, Any]:
        self.optimizer_stepped(self)
        return super().command(request)


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stepping]:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    run = Stepping(ProfilerConfig(tmp_path / "run", backend="host"), starts_by_step=False)
    listen(run)
    yield run
    run.profiler.stop()


def call(*words: str) -> int:
    with pytest.raises(SystemExit) as stopped:
        main(words)
    return int(stopped.value.code or 0)


def test_run_becomes_the_program_with_the_variables_of_the_guide(
    started: list[tuple[str, list[str], dict[str, str]]], tmp_path: Path
) -> None:
    options = "--level 3 --ops MatMul --comm --memory --interval 100 --schedule wait=1,active=2 --max_size 1000"
    call("run", "--output", str(tmp_path), *options.split(), "--", *["python", "train.py", "--lr", "1", "--level", "9"])

    ((program, words, environment),) = started
    assert program == "python"
    assert words == ["python", "train.py", "--lr", "1", "--level", "9"]
    assert {name: value for name, value in environment.items() if name.startswith("ASCEND_")} == {
        "ASCEND_PROFILING_ENABLE": "1",
        "ASCEND_PROFILING_OUTPUT_PATH": str(tmp_path),
        "ASCEND_PROFILING_TRACE_LEVEL": "3",
        "ASCEND_PROFILING_OP_LIST": "MatMul",
        "ASCEND_PROFILING_FREQ": "10000.0",
        "ASCEND_PROFILING_SCHEDULE": "wait=1,active=2",
        "ASCEND_PROFILING_MAX_SIZE": "1000",
        "ASCEND_HCCL_PROFILING_ENABLE": "1",
        "ASCEND_MEMORY_PROFILING_ENABLE": "1",
    }


@pytest.mark.parametrize("options", [(), ("--comm",), ("--comm", "True"), ("--level=3",), ("--level", "3")])
def test_the_words_behind_the_program_are_its_own(
    started: list[tuple[str, list[str], dict[str, str]]], options: tuple[str, ...]
) -> None:
    words = ["python", "train.py", "--output", "B", "--level", "1", "--comm", "--batch_size", "2", "--", "x"]
    call("run", *options, *words)

    ((_, program, environment),) = started
    assert program == words
    assert "ASCEND_PROFILING_OUTPUT_PATH" not in environment


def test_a_file_takes_no_recording(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    taken = tmp_path / "train.py"
    taken.touch()

    assert call("run", "--output", str(taken), "--", "python", "train.py") == 2
    assert capsys.readouterr().err == f"ascend-sn: {taken}: is a file; name a folder\n"
    assert call("demo", "--output", str(taken)) == 3
    assert capsys.readouterr().err == f"ascend-sn: {taken}/run: cannot be made: Not a directory\n"


def test_run_without_options_asks_for_operators_only(started: list[tuple[str, list[str], dict[str, str]]]) -> None:
    call("run", "--", "torchrun", "train.py")

    environment = started[0][2]
    assert [name for name in environment if name.startswith("ASCEND_")] == ["ASCEND_PROFILING_ENABLE"]


def test_run_names_a_wrong_schedule_and_a_missing_program(capsys: pytest.CaptureFixture[str]) -> None:
    assert call("run", "--schedule", "often", "--", "python") == 2
    assert "'often'" in capsys.readouterr().err
    assert call("run", "--", "no-such-program-here") == 2
    assert "no-such-program-here" in capsys.readouterr().err


def test_attach_starts_and_stops_at_a_step(program: Stepping, tmp_path: Path) -> None:
    pid = str(os.getpid())

    assert call("attach", pid, "start", "--step", "6") == 0
    was_recording = program.profiler.is_recording
    for _ in range(3):
        program.optimizer_stepped(program)
    assert call("attach", pid, "stop") == 0

    assert (was_recording, program.profiler.is_recording) == (True, False)
    steps = [row.value for row in rows(tmp_path / "run", STEP)]
    assert steps[0] == 6
    assert steps == list(range(6, 6 + len(steps)))
    assert len(steps) >= 3


def test_attach_shows_the_state(program: Stepping, capsys: pytest.CaptureFixture[str]) -> None:
    call("attach", str(os.getpid()), "status", "--format", "json")

    (state,) = json.loads(capsys.readouterr().out)["processes"]
    assert (state["pid"], state["is_recording"], state["folder"]) == (os.getpid(), False, None)


def test_attach_says_why_a_recording_cannot_start(
    program: Stepping, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()

    assert call("attach", str(os.getpid()), "start", "--output", str(tmp_path / "file" / "x")) == 3
    assert "cannot record" in capsys.readouterr().err


def test_attach_to_another_process_says_what_it_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))

    assert call("attach", "1", "start") == 3
    assert "--standby" in capsys.readouterr().err


def test_the_socket_is_for_its_user_only(program: Stepping) -> None:
    socket = Path(socket_folder(), f"{os.getpid()}.sock")

    assert socket.stat().st_mode & 0o777 == 0o600
    assert Path(socket_folder()).stat().st_mode & 0o777 == 0o700


def test_a_folder_that_others_can_open_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    (tmp_path / "ascend-sn").mkdir(mode=0o755)

    with pytest.raises(PermissionError, match="only you"):
        listen(Stepping(ProfilerConfig(tmp_path), starts_by_step=False))


def test_a_process_that_is_too_busy_to_answer_is_not_said_to_be_out_of_standby(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.setattr("ascend_sn.collect.standby._ANSWER_S", 0.01)
    Path(socket_folder()).mkdir()

    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as busy:
        busy.bind(str(Path(socket_folder()) / "7.sock"))
        busy.listen()
        with pytest.raises(ProfilerStateError, match="process 7 is in standby and has not answered"):
            ask(7, {"command": "status"})
