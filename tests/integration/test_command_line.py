"""The command line on real captures and on the demo, as a user calls it."""

from __future__ import annotations

import csv
import hashlib
import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import jsonschema
import pytest

from tests.shared_data import requires_shared, shared_path

REFERENCE = Path(__file__).resolve().parents[2] / "docs" / "reference"
LEVEL1 = shared_path("data", "torch_npu", "text", "level1")


def ascend_sn(*words: object, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "ascend_sn.cli.main", *map(str, words)],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


def state(folder: Path) -> dict[str, tuple[int, str]]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {str(path): (path.stat().st_mtime_ns, hashlib.sha256(path.read_bytes()).hexdigest()) for path in files}


@requires_shared
def test_the_verdict_on_two_of_eight_ranks_tells_exposed_communication_and_its_parts() -> None:
    before = state(LEVEL1)

    document = json.loads(ascend_sn("analyze", LEVEL1, "--format", "json").stdout)

    said = {statement["message_id"]: statement["params"] for statement in document["verdict"]}
    # communication.json and step_trace_time.csv of rank 0: 101.96 of 136.58 ms; 3.68 and 5.94 of 105.99 ms.
    assert said["verdict.communication-limits-stage"]["exposed_ratio"] == pytest.approx(
        101_963_203 / 136_581_000, abs=1e-3
    )
    assert 0.03 < said["verdict.parts-members"]["transit_ratio"] < 0.04
    assert 0.05 < said["verdict.parts-members"]["wait_ratio"] < 0.06
    assert said["verdict.parts-members"]["members"]["params"] == {"present": 2, "expected": 8}
    # The Notify_Wait tasks of both ranks in trace_view.json: most of them by far wait for place 5 of the group.
    waited_ns = Counter[int]()
    for rank in ("rank0_ascend_pt", "rank1_ascend_pt"):
        for event in json.loads((LEVEL1 / rank / "ASCEND_PROFILER_OUTPUT" / "trace_view.json").read_bytes()):
            if event["name"] == "Notify_Wait" and "dst rank" in event.get("args", {}):
                waited_ns[int(event["args"]["dst rank"])] += round(float(event["dur"]) * 1000)
    ((place, most_ns),) = waited_ns.most_common(1)
    awaited = said["verdict.awaited"]
    assert awaited["member"] == {"message_id": "member.place", "params": {"place": place}}
    assert awaited["wait_ns"] == pytest.approx(most_ns, rel=1e-3)
    assert "2 of at least 8 members" in " ".join(statement["text"] for statement in document["verdict"])
    jsonschema.validate(document, json.loads((REFERENCE / "analyze.schema.json").read_text(encoding="utf-8")))
    assert state(LEVEL1) == before


@requires_shared
def test_the_screen_of_real_ranks_fits_and_names_the_largest_kernels() -> None:
    done = ascend_sn("analyze", LEVEL1)

    lines = done.stdout.splitlines()
    assert done.returncode == 0
    assert len(lines) <= 72
    # op_statistic.csv of rank 0 and golden.json: the largest kernel types.
    table = lines[next(number for number, line in enumerate(lines) if line.startswith("Kernels by type")) :]
    assert [line.split()[0] for line in table[2:5]] == ["ForeachAddList", "TransData", "MatMulV2"]


@requires_shared
@pytest.mark.parametrize("code", ["en", "zh"])
def test_the_report_of_real_ranks_is_one_small_file(tmp_path: Path, code: str) -> None:
    page = tmp_path / "报告 report.html"

    done = ascend_sn("report", "--input", LEVEL1, "--output", page, "--lang", code)

    text = page.read_text(encoding="utf-8")
    assert done.returncode == 0
    written = re.sub(r"<script>.*?</script>", "", text, flags=re.DOTALL)  # the bundle names addresses of standards
    assert len(text) < 1_000_000
    assert re.findall(r"https?://|<script (?!type=\"application/json\")", written) == []
    assert ("2 of at least 8" if code == "en" else "至少 8") in text


@requires_shared
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("report", "--input", "D", "--output", "r.html"), "Communication limits"),
        (("analyze", "--input", "D", "--output", "out/report.html", "--op_time_threshold", "1.0"), ""),
        (("analyze", "--input", "D", "--fusion_report", "True"), "Could be fused"),
        (("analyze", "--input", "D", "--memory_report", "True"), "Memory by operator"),
        (("analyze", "--input", "D", "--comm_report", "True"), "Exposed communication"),
        (("analyze", "--input", "D", "--top_k", "20"), "top 20 of 33"),
    ],
)
def test_the_spellings_of_the_guides_work_as_written(tmp_path: Path, words: tuple[str, ...], said: str) -> None:
    (tmp_path / "out").mkdir()
    source = LEVEL1 / "rank0_ascend_pt"

    done = ascend_sn(*(source if word == "D" else word for word in words), folder=tmp_path)

    assert done.returncode == 0
    assert "Traceback" not in done.stderr
    assert said in done.stdout


@requires_shared
def test_the_memory_report_counts_the_rows_of_the_profiler() -> None:
    # operator_memory.csv of rank 0: its rows are allocations.
    with (LEVEL1 / "rank0_ascend_pt" / "ASCEND_PROFILER_OUTPUT" / "operator_memory.csv").open(newline="") as file:
        counts = Counter(row["Name"] for row in csv.DictReader(file))

    document = json.loads(ascend_sn("analyze", LEVEL1 / "rank0_ascend_pt", "--format", "json").stdout)

    rows = {row["operator_name"]: row["allocation_count"] for row in document["memory"]["operators"]}
    assert {name: rows[name] for name in counts} == dict(counts)
    assert document["memory"]["total"]["allocation_count"] == sum(counts.values())


def test_the_demo_trains_analyses_and_writes_its_report(tmp_path: Path) -> None:
    done = ascend_sn("demo", "--output", tmp_path / "demo", "--format", "json")

    document = json.loads(done.stdout)
    assert done.returncode == 0
    assert document["health"]["ranks"]["present"] == 2
    assert document["breakdown"]["ranks"][0]["step_count"] > 10
    assert document["communication"]["total"]["calls"] > 0
    assert document["verdict"][0]["message_id"].startswith("verdict.")
    assert (tmp_path / "demo" / "ascend-sn-report.html").is_file()
