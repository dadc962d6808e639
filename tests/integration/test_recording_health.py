"""`ascend-sn doctor` tells whether a recording is complete."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ascend_sn.cli.main import main
from tests.unit.collect.recorded import script_environment

RECORDED = """
import os, signal, sys
from ascend.profiler import Profiler
profiler = Profiler(output_path=sys.argv[1], max_size=int(sys.argv[3]))
profiler.start()
for _ in range(300):
    with profiler.op("forward"):
        pass
    profiler.step()
    if sys.argv[2] == "full":
        profiler.save()
if sys.argv[2] == "killed":
    profiler.start_op("unfinished")
    os.kill(os.getpid(), signal.SIGKILL)
profiler.stop()
"""


def health_of(folder: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, tuple[int, str]]:
    with pytest.raises(SystemExit) as ended:
        main(["doctor", str(folder), "--format", "json"])
    assert not ended.value.code
    said: dict[str, Any] = json.loads(capsys.readouterr().out)
    entries = said["health"]["damage"]
    return {entry["kind"]: (entry["count"], entry["severity"]) for entry in entries if entry["kind"] != "no_rank"}


@pytest.mark.parametrize(
    ("how", "max_size", "told"),
    [
        ("whole", 1 << 30, {}),
        (
            "killed",
            1 << 30,
            {"recovered_rows": (..., "info"), "open_spans": (1, "info"), "session_not_ended": (1, "info")},
        ),
        ("full", 30_000, {"lost_rows": (..., "damage")}),
    ],
)
def test_a_whole_a_killed_and_a_full_recording(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], how: str, max_size: int, told: dict[str, tuple[Any, str]]
) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", RECORDED, str(tmp_path), how, str(max_size)], env=script_environment(), check=False
    )
    assert ended.returncode == (-9 if how == "killed" else 0)

    found = health_of(tmp_path, capsys)

    assert {kind: severity for kind, (_, severity) in found.items()} == {
        kind: severity for kind, (_, severity) in told.items()
    }
    for kind, (count, _) in told.items():
        assert found[kind][0] > 0 if count is ... else found[kind][0] == count
