"""The tutorial of the guarded repository holds: its commands run as written, and say what it says they say."""

from __future__ import annotations

from pathlib import Path

from tests.integration.demo_repository import blocks, shell, shell_environment, write_files


def test_the_page_runs_as_it_is_written(tmp_path: Path) -> None:
    write_files(tmp_path)
    env = shell_environment(tmp_path)
    said = ""
    checked = 0
    for language, name, text in blocks():
        if language == "sh":
            done = shell(text, tmp_path, env)
            said = " ".join(done.stdout.split())
            assert done.returncode == 0, said
        elif language == "text" and not name:
            checked += 1
            assert [line for line in text.splitlines() if line not in said] == [], said

    assert checked == 3
    assert (tmp_path / "trend.html").read_text(encoding="utf-8").count("point failed") > 0
