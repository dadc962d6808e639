"""`ascend-sn view` as a process on the loopback: what it says, what it answers, and how it ends."""

from __future__ import annotations

import http.client
import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ascend_sn.store import open_run
from tests.integration.viewed import PATIENCE_S
from tests.timeline import timeline
from tests.unit.insight.drawn_runs import write_run
from tests.unit.report.drawn import two_ranks


@pytest.fixture
def drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ASCEND_SN_CACHE_DIR", str(tmp_path / "cache"))
    return write_run(two_ranks().db, tmp_path / "run")


def test_it_prints_an_address_serves_the_run_and_ends_at_ctrl_c(drawn: Path, start: Any) -> None:
    before = sorted((path, path.stat().st_mtime_ns) for path in drawn.rglob("*"))
    viewed = start(drawn)

    (run,) = viewed.runs()
    tracks = json.loads(viewed.get("/api/v1/runs/a/tracks")[1])
    status, frame = viewed.get("/api/v1/runs/a/viewport?q=0:0:20:")
    code, said = viewed.interrupted()

    assert viewed.url.startswith("http://127.0.0.1:")
    assert viewed.lines[1].startswith(f"ssh -N -L {viewed.port}:127.0.0.1:{viewed.port} ")
    assert (run["id"], run["name"], run["state"]) == ("a", "run", "ready")
    assert [profile["label"] for profile in tracks["profiles"]] == ["rank 0", "rank 1"]
    assert (status, frame[:4]) == (200, b"ASV1")
    assert code == 130
    assert said.splitlines() == ["The page is served until Ctrl-C.", "interrupted"]
    assert sorted((path, path.stat().st_mtime_ns) for path in drawn.rglob("*")) == before


def test_a_wrong_token_sees_nothing_and_the_right_one_enters_once(drawn: Path, start: Any) -> None:
    viewed = start(drawn)

    wrong = [viewed.get(path, Authorization="Bearer wrong") for path in ("/", "/api/v1/session", "/assets/x.js")]
    entered = viewed.raw(f"GET /?token={viewed.token} HTTP/1.0\r\nHost: localhost\r\n\r\n".encode())

    assert {status for status, _ in wrong} == {403}
    said = "no access: open the address that `ascend-sn view` printed"
    assert [content for _, content in wrong[::2]] == [f"{said}\n".encode()] * 2
    assert json.loads(wrong[1][1])["error"]["message"] == said  # the API says everything in JSON
    assert entered.startswith(b"HTTP/1.1 303")
    assert b"HttpOnly" in entered


def test_two_servers_and_two_runs_at_once(drawn: Path, tmp_path: Path, start: Any) -> None:
    other = write_run(timeline("r0 s1 |AAB|"), tmp_path / "other")
    first, second = start(drawn, other), start(other)

    assert [run["name"] for run in first.runs()] == ["run", "other"]
    assert [run["name"] for run in second.runs()] == ["other"]
    assert first.get("/api/v1/session", Authorization=f"Bearer {second.token}")[0] == 403
    assert second.get("/api/v1/runs/b/tracks")[0] == 404
    assert json.loads(first.get("/api/v1/runs/b/tracks")[1])["slice_count"] == 3


def test_hostile_requests_are_answered_shortly(drawn: Path, start: Any) -> None:
    viewed = start(drawn)
    host = f"Host: 127.0.0.1:{viewed.port}\r\nAuthorization: Bearer {viewed.token}\r\n".encode()
    with socket.create_connection(("127.0.0.1", viewed.port)) as slow:
        slow.sendall(b"GET / HTTP/1.1\r\nHos")  # and nothing more
        answers = {
            "not http": viewed.raw(b"\x16\x03\x01\x00\xa5\r\n\r\n"),
            "huge header": viewed.raw(b"GET / HTTP/1.1\r\n" + host + b"X: " + b"a" * 1_000_000 + b"\r\n\r\n"),
            "huge address": viewed.raw(b"GET /" + b"a" * 1_000_000 + b" HTTP/1.0\r\n" + host + b"\r\n"),
            "traversal": viewed.raw(b"GET /assets/../../../../etc/passwd HTTP/1.0\r\n" + host + b"\r\n"),
            "no host": viewed.raw(b"GET / HTTP/1.0\r\n\r\n"),
            "other host": viewed.raw(b"GET / HTTP/1.0\r\nHost: evil.example\r\n\r\n"),
        }
        still = viewed.get("/api/v1/session")[0]
    code, said = viewed.interrupted()

    statuses = {what: answer.split(b" ")[1] for what, answer in answers.items() if answer}
    assert statuses.items() <= {
        "not http": b"400", "huge header": b"400", "huge address": b"400", "traversal": b"404", "no host": b"421",
        "other host": b"421",
    }.items()  # fmt: skip
    assert statuses.keys() >= {"not http", "traversal", "no host", "other host"}
    assert all(len(answer) < 2_000 and b"Traceback" not in answer for answer in answers.values())
    assert still == 200
    assert (code, "Traceback" in said) == (130, False)


def test_an_unusable_run_beside_another_is_told_in_the_page_and_on_the_terminal(
    drawn: Path, tmp_path: Path, start: Any
) -> None:
    (tmp_path / "broken.json").write_text("nothing of a trace")
    viewed = start(tmp_path / "broken.json", drawn)

    broken, good = viewed.runs()
    _, said = viewed.interrupted()

    assert (broken["state"], good["state"]) == ("failed", "ready")
    assert "broken.json" in broken["error"]
    assert "broken.json: not a profile" in said


def test_it_ends_by_itself_when_nobody_asks(drawn: Path, start: Any) -> None:
    viewed = start(drawn, "--idle-exit", "0.001")

    viewed.process.communicate(timeout=PATIENCE_S)

    assert viewed.process.returncode == 0


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["nowhere"], "no such file or folder"),
        (["{run}", "{run}", "--port", "{taken}"], "cannot listen on 127.0.0.1"),
        (["{run}", "--base-url", "hub.example"], "a URL or a path"),
        (["{run}", "--base-url", "//evil.example/"], "a URL or a path"),
        (["{run}", "--base-url", "https://hub.example/x?y=1"], "a URL or a path"),
        (["{run}", "--base-url", "https://hub.example:99999/"], "a URL or a path"),
        (["{run}", "a", "b"], "one run, or two to compare"),
        ([], "no input"),
        (["{empty}"], "folder is empty"),
        (["{empty}", "--background"], "folder is empty"),
        (["{run}", "--job", "nope"], "one job only"),
        (["{run}", "--idle-exit", "nan"], "no number"),
    ],
)
def test_what_cannot_be_served_is_said_in_one_line(drawn: Path, words: list[str], told: str) -> None:
    empty = drawn.parent / "empty"
    empty.mkdir()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        given = [word.format(run=drawn, empty=empty, taken=taken.getsockname()[1]) for word in words]
        done = subprocess.run(
            [sys.executable, "-m", "ascend_sn.cli.main", "view", "--no-browser", *given],
            capture_output=True,
            text=True,
            check=False,
        )

    assert done.returncode in (2, 3)
    assert len(done.stderr.splitlines()) == 1
    assert told in done.stderr


def test_a_run_shows_itself_in_a_notebook(drawn: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JUPYTERHUB_SERVICE_PREFIX", "/user/me/")
    with open_run(drawn) as run:
        hub = run.view(height=300)
        monkeypatch.delenv("JUPYTERHUB_SERVICE_PREFIX")
        page = run.view()
    try:
        frame = page._repr_html_().partition('src="')[2].partition('"')[0]
        address, _, path = frame.removeprefix("http://").partition("/")
        connection = http.client.HTTPConnection(address, timeout=PATIENCE_S)
        connection.request("GET", f"/{path}api/v1/session")
        answer = json.loads(connection.getresponse().read())
        connection.close()
    finally:
        hub.close()
        page.close()

    assert answer["runs"][0]["name"] == "run"
    assert repr(page).startswith("http://127.0.0.1:")
    port = hub.url.split(":")[2].split("/")[0]
    assert f'<iframe src="/user/me/proxy/{port}/t/' in hub._repr_html_()


def test_the_report_can_stay_in_a_notebook(drawn: Path) -> None:
    with open_run(drawn) as run:
        page = run.view(inline=True)

    assert page._repr_html_().startswith('<iframe srcdoc="&lt;!doctype html&gt;')
    assert 'sandbox="allow-scripts' in page._repr_html_()
    assert (page.url, page.pid) == ("", None)


def test_a_recording_shows_itself(tmp_path: Path) -> None:
    program = f"""
import os, signal
from ascend.profiler import Profiler
profiler = Profiler(output_path={str(tmp_path / "out")!r})
profiler.start()
profiler.start_op("matmul")
profiler.stop_op("matmul")
profiler.stop()
print(profiler.view())
"""
    environment = {**os.environ, "ASCEND_SN_CACHE_DIR": str(tmp_path / "cache")}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environment)
    lines = done.stdout.splitlines()
    port, token = int(lines[0].split(":")[2].split("/")[0]), lines[0].partition("token=")[2]
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
    connection.request("GET", "/api/v1/session", headers={"Authorization": f"Bearer {token}"})
    answer = json.loads(connection.getresponse().read())
    connection.close()
    _end_listener(port)

    assert lines[0] == lines[-1]
    assert lines[1].startswith("ssh -N -L")
    assert answer["runs"][0]["name"] == "out"


def _end_listener(port: int) -> None:
    """End the process of ours that listens on a port."""
    import psutil

    for process in psutil.process_iter(["cmdline"]):
        if "ascend_sn.cli.main" in (process.info["cmdline"] or []) and any(
            connection.laddr.port == port for connection in process.net_connections() if connection.laddr
        ):
            process.terminate()
            return
