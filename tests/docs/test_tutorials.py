"""Whoever follows the tutorials sees what they say."""

from __future__ import annotations

import http.client
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest

import ascend_sn
from tests.docs.blocks import REPOSITORY, blocks
from tests.docs.pages import Played, files_of, play
from tests.integration.demo_repository import shell_environment

BLOCK_BYTES = 2_000 * 256 * 8
"""What the training of the page keeps a step."""


def told(text: str) -> str:
    """What was printed, in one line: a screen breaks lines where they end."""
    return " ".join(text.split())


def output_of(played: Played, command: str) -> str:
    """What the one block that ends with a command printed."""
    (output,) = [output for block, output in played if block.rstrip().endswith(command)]
    return output


def test_the_first_run(tmp_path: Path) -> None:
    page = "tutorials/first-run.md"
    played = play(page, tmp_path)

    said = told(output_of(played, "ascend-sn demo"))
    assert all(line in said for line in files_of(page)["demo says"].splitlines())
    with ascend_sn.open(tmp_path / "result") as run:
        ((steps, origin),) = run.sql("select count(*), any_value(origin) from step").fetchall()
    assert (steps, origin) == (20, "optimizer")
    assert "aten::mm" in output_of(played, "ascend-sn analyze result")
    assert "leaf operators stand for kernels" in told(output_of(played, "ascend-sn analyze result"))
    assert re.search(r'(src|href)="https?://', (tmp_path / "report.html").read_text(encoding="utf-8")) is None
    assert answered(files_of(page)["look"], tmp_path) == 200


def answered(command: str, folder: Path) -> int:
    """Start the web page as a page of docs says, ask for what its first line names, and end it."""
    words = shlex.split(command)
    home = folder / "viewing"
    home.mkdir()
    viewed = subprocess.Popen(
        [sys.executable, "-m", "ascend_sn", *words[1:], "--no-browser"],
        cwd=folder,
        env=shell_environment(home),
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert viewed.stdout is not None
        address = urlsplit(viewed.stdout.readline().strip())
        assert (address.hostname, address.port is None) == ("127.0.0.1", False)
        connection = http.client.HTTPConnection("127.0.0.1", address.port, timeout=300)
        token = address.query.removeprefix("token=")
        connection.request("GET", "/api/v1/session", headers={"Authorization": f"Bearer {token}"})
        status = connection.getresponse().status
        connection.close()
    finally:
        viewed.send_signal(signal.SIGINT)
        viewed.communicate(timeout=300)
    return status


def test_the_leak_is_found_and_repaired(tmp_path: Path) -> None:
    page = "tutorials/find-a-leak.md"
    played = play(page, tmp_path)

    before, after = (told(output_of(played, f"ascend-sn analyze {name}")) for name in ("before", "after"))
    assert all(line in before for line in files_of(page)["before says"].splitlines())
    rising = re.search(r"rises by ([0-9.]+) MiB a step", before)
    assert rising is not None
    assert float(rising[1]) == pytest.approx(BLOCK_BYTES / 2**20, rel=0.1)
    assert "(R-MEM-2)" not in after
    assert "When it keeps silent" in output_of(played, "--explain R-MEM-2")
    # Seventy steps: the middles of the first and the last quarter lie 52 steps apart.
    grown, kept = re.findall(r"^-?[0-9.]+$", output_of(played, "python growth.py after"), re.MULTILINE)
    assert float(grown) == pytest.approx(52.5 * BLOCK_BYTES / 2**20, rel=0.25)
    assert abs(float(kept)) < 20
    assert "Verdict" in output_of(played, "ascend-sn compare before after")


@pytest.mark.parametrize("name", ["first-run", "find-a-leak"])
def test_the_front_page_leads_to_the_tutorials(name: str) -> None:
    assert f"](tutorials/{name}.md)" in (REPOSITORY / "docs" / "index.md").read_text(encoding="utf-8")


def test_the_chinese_first_run_holds_the_same_programs_and_commands() -> None:
    english, chinese = (
        [
            (block.language, block.text)
            for block in blocks(REPOSITORY / "docs" / page)
            if block.language in {"sh", "python"}
        ]
        for page in ("tutorials/first-run.md", "zh/first-run.md")
    )

    assert english == chinese


@pytest.mark.parametrize(
    ("page", "other", "link"),
    [
        ("index.md", "zh/index.md", "zh/index.md"),
        ("zh/index.md", "index.md", "../index.md"),
        ("tutorials/first-run.md", "zh/first-run.md", "../zh/first-run.md"),
        ("zh/first-run.md", "tutorials/first-run.md", "../tutorials/first-run.md"),
    ],
)
def test_both_languages_lead_to_each_other(page: str, other: str, link: str) -> None:
    docs = REPOSITORY / "docs"

    assert (docs / page).parent.joinpath(link).resolve() == (docs / other).resolve()
    assert f"]({link})" in (docs / page).read_text(encoding="utf-8")
