"""Telling people: through a real service on loopback; whatever goes wrong leaves the verdict as it is."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from ascend_sn.compare.notify import Delivery, Notification, NotifySettings, deliver, service_of
from ascend_sn.errors import UnknownNameError, UsageError
from tests.unit.cli.conftest import run

pytest.importorskip("apprise", reason="apprise delivers")

Capture = pytest.CaptureFixture[str]
Patch = pytest.MonkeyPatch
TOKEN = "very-secret-token"
TOLD = Notification(title="Title", body="Body 模型", kind="failure")


class Service(ThreadingHTTPServer):
    """Accepts what is posted, or refuses everything."""

    def __init__(self, status: int) -> None:
        self.status = status
        self.received: list[tuple[str, dict[str, Any]]] = []
        super().__init__(("127.0.0.1", 0), _Handler)

    @property
    def target(self) -> str:
        return f"json://127.0.0.1:{self.server_port}/{TOKEN}"


class _Handler(BaseHTTPRequestHandler):
    server: Service

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.received.append((self.path, json.loads(body)))
        self.send_response(self.server.status)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture(params=[200])
def service(request: pytest.FixtureRequest) -> Iterator[Service]:
    running = Service(request.param)
    thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    yield running
    running.shutdown()
    thread.join()
    running.server_close()


def test_a_service_gets_the_title_and_the_body(service: Service) -> None:
    assert deliver([service.target], TOLD) == [Delivery(service="json")]

    ((path, message),) = service.received
    assert path == f"/{TOKEN}"
    assert (message["title"], message["message"], message["type"]) == ("Title", "Body 模型", "failure")


@pytest.mark.parametrize("service", [500], indirect=True)
def test_each_target_is_told_apart(service: Service) -> None:
    found = deliver([service.target, "nonsense", f"nobody://{TOKEN}"], TOLD)

    assert [(one.service, one.problem) for one in found] == [
        ("json", "notify.refused"),
        ("?", "notify.unknown-target"),
        ("nobody", "notify.unknown-target"),
    ]


def test_the_services_that_the_docs_name_are_understood() -> None:
    targets = [
        "dingtalk://aabbccddeeff00112233445566778899/",
        "feishu://aabbccddeeff00112233/",
        "wecombot://aabbccdd-eeff-0011-2233-445566778899/",
        "slack://T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7FQ/#general",
        "mailtos://user:password@example.com?to=team@example.com",
        "jsons://example.com/hook",
    ]
    program = "import apprise, sys; print([apprise.Apprise().add(one) for one in sys.argv[1:]])"

    done = subprocess.run([sys.executable, "-c", program, *targets], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == str([True] * len(targets))


def test_a_process_that_does_not_end_or_crashes_is_told(monkeypatch: Patch) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    crashed = deliver(["json://x/", "slack://y/"], TOLD)
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    absent = deliver(["json://x/"], TOLD)
    monkeypatch.undo()
    late = deliver(["json://127.0.0.1:9/"], TOLD, patience_s=0.0)

    assert [(one.service, one.problem) for one in crashed] == [("json", "notify.ended"), ("slack", "notify.ended")]
    assert absent == [Delivery(service="json", problem="notify.ended")]
    assert late == [Delivery(service="json", problem="notify.late")]


def test_of_a_target_only_its_service_is_shown() -> None:
    assert [service_of(one) for one in ("DingTalk://secret", "secret", "se cret://x")] == ["dingtalk", "?", "?"]


def test_settings_fill_in_variables_and_leave_out_what_is_not_set(tmp_path: Path, monkeypatch: Patch) -> None:
    (tmp_path / "ascend-sn.toml").write_text(
        '[notify]\ntargets = ["dingtalk://${DING}/", "slack://${NOT_SET_ANYWHERE}/"]\n'
        'on = ["passed"]\nlanguage = "zh"\n'
    )
    monkeypatch.setenv("DING", TOKEN)
    monkeypatch.setenv("ASCEND_SN_NOTIFY", "json://a/ json://b/")

    found = NotifySettings.in_force(tmp_path)

    assert found.targets == (f"dingtalk://{TOKEN}/", "json://a/", "json://b/")
    assert found.unset == ("NOT_SET_ANYWHERE",)
    assert found.on == {"passed"}
    assert found.language == "zh"


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("[notify]\ntarget = []", UnknownNameError),
        ("[notify]\ntargets = 'x'", UsageError),
        ("[notify]\non = ['late']", UsageError),
        ("[notify]\nlanguage = 'fr'", UsageError),
    ],
)
def test_wrong_settings_are_told(tmp_path: Path, text: str, error: type[Exception]) -> None:
    (tmp_path / "ascend-sn.toml").write_text(text)

    with pytest.raises(error):
        NotifySettings.in_force(tmp_path)


def test_a_gate_that_fails_tells_people_in_their_language_and_no_secret_is_left_behind(
    capsys: Capture, runs: Path, service: Service, monkeypatch: Patch, tmp_path: Path
) -> None:
    Path("ascend-sn.toml").write_text(
        f'[notify]\ntargets = ["json://127.0.0.1:{service.server_port}/${{T}}"]\nlanguage = "zh"\n'
    )
    monkeypatch.setenv("T", TOKEN)
    monkeypatch.setenv("CI_JOB_URL", "https://gitlab.example/job/7")
    words = ("--baseline", runs / "base", "--history", tmp_path / "h.db", "--record", "--output", tmp_path / "g.json")

    code, out, err = run(capsys, "gate", runs / "slow", *words, "--notify", "--cache-dir", tmp_path / "cache")

    ((_, message),) = service.received
    assert code == 1
    assert "notify: sent to json" in err
    assert message["title"].startswith("性能门禁未通过：")
    assert "sgemm" in message["message"]
    assert "https://gitlab.example/job/7" in message["message"]
    assert len(message["message"]) < 2000
    left = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert left
    assert TOKEN not in out + err
    assert [path for path in left if TOKEN.encode() in path.read_bytes()] == []


def test_a_gate_that_passes_is_not_told_unless_asked_for(
    capsys: Capture, runs: Path, service: Service, monkeypatch: Patch
) -> None:
    monkeypatch.setenv("ASCEND_SN_NOTIFY", service.target)
    words = ("gate", runs / "same", "--baseline", runs / "base", "--notify")

    code, _, err = run(capsys, *words)
    Path("ascend-sn.toml").write_text('[notify]\non = ["passed", "unsure"]\n')
    told, _, _ = run(capsys, *words)

    assert (code, told) == (0, 0)
    assert "this verdict is not told" in err
    assert [message["type"] for _, message in service.received] in (["success"], ["warning"])


def test_a_dry_run_sends_nothing_and_shows_what_it_would(
    capsys: Capture, runs: Path, service: Service, monkeypatch: Patch
) -> None:
    monkeypatch.setenv("ASCEND_SN_NOTIFY", service.target)

    code, out, err = run(capsys, "gate", runs / "slow", "--baseline", runs / "base", "--notify-dry-run")

    assert code == 1
    assert service.received == []
    assert "would be sent to: json" in err
    assert "Performance gate failed" in err
    assert TOKEN not in out + err


@pytest.mark.parametrize(
    ("targets", "said"),
    [
        ("json://127.0.0.1:9/very-secret-token", "not sent to json: the service could not be reached"),
        ("nonsense-very-secret-token", "not sent to ?: no service understands"),
        ("", "no targets"),
        ("slack://${NOT_SET_ANYWHERE}/", "NOT_SET_ANYWHERE is not set"),
    ],
)
@pytest.mark.parametrize(("candidate", "verdict"), [("slow", 1), ("same", 0)])
def test_a_failure_to_notify_never_changes_the_verdict(
    capsys: Capture, runs: Path, monkeypatch: Patch, targets: str, said: str, candidate: str, verdict: int
) -> None:
    Path("ascend-sn.toml").write_text('[notify]\non = ["passed", "failed", "unsure"]\n')
    monkeypatch.setenv("ASCEND_SN_NOTIFY", targets)

    code, out, err = run(capsys, "gate", runs / candidate, "--baseline", runs / "base", "--notify")

    assert code == verdict
    assert said in err
    assert TOKEN not in out + err
