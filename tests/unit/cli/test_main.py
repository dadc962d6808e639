"""Exit codes, one line per error, help in two languages, and nothing heavy for it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from ascend_sn.cli import main as cli
from ascend_sn.errors import InputError

Capture = pytest.CaptureFixture[str]
Patch = pytest.MonkeyPatch

TRACE = Path(__file__).resolve().parents[2] / "golden" / "train_trace" / "v1"


def run(capsys: Capture, *words: str) -> tuple[int, str, str]:
    """Run the command line in this process; returns exit code, stdout, stderr."""
    with pytest.raises(SystemExit) as stop:
        cli.main(list(words))
    told = capsys.readouterr()
    assert isinstance(stop.value.code, int)
    return stop.value.code, told.out, told.err


@pytest.mark.parametrize("command", cli.COMMANDS)
@pytest.mark.parametrize("code", ["en", "zh"])
def test_every_command_has_a_page_of_help_with_examples(capsys: Capture, command: str, code: str) -> None:
    exit_code, out, _ = run(capsys, command, "--help", "--lang", code)

    assert exit_code == 0
    assert f"ascend-sn {command}" in out
    assert ("Examples" if code == "en" else "示例") in out
    assert ("Show this message and exit." if code == "en" else "显示本帮助并退出。") in out
    assert "cli." not in out


def test_the_program_s_help_names_every_command(capsys: Capture) -> None:
    exit_code, out, _ = run(capsys, "--help")

    assert exit_code == 0
    assert all(f"  {command} " in out for command in cli.COMMANDS)


def test_help_loads_neither_the_database_nor_arrays() -> None:
    asked = [["--version"], ["--help"], *([command, "--help"] for command in cli.COMMANDS)]
    code = (
        "import sys\nfrom ascend_sn.cli.main import main\n"
        f"for words in {asked!r}:\n"
        "    try:\n        main(words)\n    except SystemExit:\n        pass\n"
        "    found = sorted({'duckdb', 'numpy', 'jinja2', 'rich', 'nanoarrow', 'sqlalchemy'} & set(sys.modules))\n"
        "    if found:\n        print(words[0], 'loads', *found, file=sys.stderr)\n        break"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stderr == ""


@pytest.mark.parametrize(
    "words",
    [
        ["analyze"],
        ["analyze", "--no-such-option", "d"],
        ["no-such-command"],
        ["analyze", "d", "--top-k", "many"],
        ["analyze", "d", "--output", "x.pdf"],
        ["analyze", "d", "--output", "x"],
    ],
)
def test_a_wrong_call_exits_with_2(capsys: Capture, words: list[str]) -> None:
    exit_code, out, err = run(capsys, *words)

    assert exit_code == 2
    assert out == ""
    assert "Traceback" not in err


@pytest.mark.parametrize("make", ["absent", "empty_folder", "empty_file", "text_file", "folder_of_text"])
def test_input_that_cannot_be_used_is_one_line_and_exit_3(capsys: Capture, tmp_path: Path, make: str) -> None:
    path = tmp_path / "input 中文 #&%"
    if make == "empty_folder":
        path.mkdir()
    elif make == "empty_file":
        path.touch()
    elif make == "text_file":
        path.write_text("just some words\n")
    elif make == "folder_of_text":
        path.mkdir()
        (path / "notes.txt").write_text("just some words\n")

    exit_code, out, err = run(capsys, "analyze", str(path))

    assert exit_code == 3
    assert out == ""
    assert len(err.splitlines()) == 1
    assert str(path) in err


def test_a_defect_prints_its_traceback_and_exits_with_4(capsys: Capture, monkeypatch: Patch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("a defect")

    monkeypatch.setattr("ascend_sn.cli.analyze.document_of", broken)

    exit_code, _, err = run(capsys, "analyze", "d")

    assert exit_code == 4
    assert "ZeroDivisionError: a defect" in err


def test_control_c_exits_with_130(capsys: Capture, monkeypatch: Patch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("ascend_sn.cli.analyze.document_of", interrupted)

    exit_code, _, err = run(capsys, "analyze", "d")

    assert exit_code == 130
    assert "Traceback" not in err


def test_names_in_error_messages_cannot_reach_the_terminal_as_commands(capsys: Capture, monkeypatch: Patch) -> None:
    def refused(*_: object, **__: object) -> None:
        raise InputError("a\x1b[2Jb", "is odd")

    monkeypatch.setattr("ascend_sn.cli.analyze.document_of", refused)

    _, _, err = run(capsys, "analyze", "d")

    assert "\x1b" not in err


def test_a_misspelt_command_is_named_with_the_likeliest_meant_one(capsys: Capture) -> None:
    exit_code, out, err = run(capsys, "analyse", "result")

    assert (exit_code, out, err) == (2, "", "ascend-sn: unknown command 'analyse'; did you mean 'analyze'?\n")


def test_a_reader_of_the_pipe_that_stops_early_is_no_error(tmp_path: Path) -> None:
    code = "from ascend_sn.cli.main import main; main()"
    process = subprocess.Popen(
        [sys.executable, "-c", code, "analyze", str(TRACE), "--format", "json", "--cache-dir", str(tmp_path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()

    err = process.stderr.read()
    process.stderr.close()

    assert process.wait() == 0
    assert err == ""


def test_the_language_may_stand_anywhere(capsys: Capture) -> None:
    for words in (["--lang", "zh", "analyze", str(TRACE)], ["analyze", str(TRACE), "--lang=zh"]):
        exit_code, out, _ = run(capsys, *words)

        assert exit_code == 0
        assert "数据健康" in out
