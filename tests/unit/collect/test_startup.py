"""The start-up file: free without the variables, and a hook behind the imports of torch with them."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from ascend_sn.collect.imports import call_after_import
from tests.unit.collect.recorded import SOURCES, script_environment

FILE = Path(SOURCES) / "ascend_sn_startup.pth"


def run_with_file(script: str, **environment: str) -> subprocess.CompletedProcess[str]:
    start = f"import site, sys; sys.path.insert(0, {SOURCES!r}); site.addsitedir({str(FILE.parent)!r})\n"
    return subprocess.run(
        [sys.executable, "-I", "-S", "-c", start + script],
        env=script_environment(**environment),
        capture_output=True,
        text=True,
        timeout=300,
    )


def test_without_the_variables_nothing_of_ours_is_loaded() -> None:
    done = run_with_file("print(sorted(name for name in sys.modules if 'ascend' in name), len(sys.meta_path))")

    assert done.stdout.split("]")[0] == "["
    assert done.stderr == ""


def test_a_misspelt_variable_alone_is_said_at_the_start() -> None:
    done = run_with_file("print('trained')", ASCEND_PROFILING_ENABLED="1")

    assert done.stdout == "trained\n"
    assert done.stderr.count("\n") == 1
    assert "did you mean ASCEND_PROFILING_ENABLE?" in done.stderr


def test_the_file_is_one_line_without_imports_of_its_own() -> None:
    (line,) = FILE.read_text(encoding="utf-8").splitlines()

    assert line.startswith("import os; (any(map(os.environ.__contains__, (")


def test_the_names_in_the_file_are_the_switches() -> None:
    from ascend_sn.collect.environment import SWITCHES

    named = FILE.read_text(encoding="utf-8").split("((")[-1].split("__contains__, (")[-1].split(")")[0]
    assert {name.strip().strip('"') for name in named.split(",")} == set(SWITCHES)


def test_with_a_variable_the_program_runs_as_before_and_torch_is_not_imported() -> None:
    done = run_with_file("print('torch' in sys.modules)", ASCEND_PROFILING_ENABLE="1")

    assert (done.stdout, done.stderr, done.returncode) == ("False\n", "", 0)


def test_a_file_that_is_read_twice_arms_one_recording() -> None:
    twice = f"site.addsitedir({str(FILE.parent)!r})\n"
    counted = "print([type(finder).__name__ for finder in sys.meta_path].count('_Finder'))"

    done = run_with_file(twice + counted, ASCEND_PROFILING_ENABLE="1")

    assert (done.stdout, done.stderr) == ("1\n", "")


def test_an_action_follows_the_import_of_its_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "watched_module.py").write_text("state = 'loaded'\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    seen: list[str] = []

    call_after_import({"watched_module": lambda: seen.append(sys.modules["watched_module"].state)})
    assert seen == []
    import watched_module  # type: ignore[import-not-found]

    assert seen == ["loaded"]
    assert type(watched_module.__loader__).__name__ == "SourceFileLoader"
    del sys.modules["watched_module"]


def test_an_action_for_a_loaded_module_runs_at_once() -> None:
    seen: list[int] = []

    call_after_import({"sys": lambda: seen.append(1)})

    assert seen == [1]


OWN = """
from ascend.profiler import Profiler

with Profiler({given}) as profiler:
    with profiler.op("encode"):
        pass
    profiler.step()
print(profiler.output_folder)
"""


def test_a_profiler_of_the_program_records_into_the_folder_that_was_asked_for(tmp_path: Path) -> None:
    asked = tmp_path / "asked"
    program = tmp_path / "program.py"
    program.write_text(OWN.format(given=""), encoding="utf-8")

    done = run_program(program, ASCEND_PROFILING_ENABLE="1", ASCEND_PROFILING_OUTPUT_PATH=str(asked))

    assert (done.returncode, done.stdout) == (0, f"{asked}\n")
    assert (asked / "train.trace").stat().st_size > 0
    assert "nothing recorded" not in done.stderr


def test_a_folder_that_the_program_names_itself_wins(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(OWN.format(given=f"output_path={str(tmp_path / 'own')!r}"), encoding="utf-8")

    done = run_program(program, ASCEND_PROFILING_ENABLE="1", ASCEND_PROFILING_OUTPUT_PATH=str(tmp_path / "asked"))

    assert done.stdout == f"{tmp_path / 'own'}\n"
    assert not (tmp_path / "asked").exists()
    assert "nothing recorded" not in done.stderr


def test_a_program_in_which_nothing_records_is_still_told(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text("pass\n", encoding="utf-8")

    assert "nothing recorded" in run_program(program, ASCEND_PROFILING_ENABLE="1").stderr


@pytest.mark.parametrize(("process", "told"), [("os.getpid()", 1), ("os.getppid()", 0)])
def test_a_command_that_run_started_is_told_and_others_are_not(tmp_path: Path, process: str, told: int) -> None:
    program = tmp_path / "a-command"
    program.write_text("pass\n", encoding="utf-8")
    before = f"import os; os.environ['_ASCEND_SN_STARTED'] = str({process}); "

    done = run_program(program, before, ASCEND_PROFILING_ENABLE="1")

    assert done.stderr.count("nothing recorded") == told


def run_program(program: Path, before: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a script with the start-up file in force, as an installed package has it."""
    packages = sysconfig.get_path("purelib")
    start = f"{before}import site, sys; sys.path[:0] = [{SOURCES!r}, {packages!r}]; sys.argv[0] = {str(program)!r}\n"
    start += (
        f"site.addsitedir({str(FILE.parent)!r}); import runpy; runpy.run_path({str(program)!r}, run_name='__main__')"
    )
    return subprocess.run(
        [sys.executable, "-I", "-S", "-c", start],
        env=script_environment(**environment),
        capture_output=True,
        text=True,
        timeout=300,
        cwd=program.parent,
    )
