"""Every finding leads to a slice that is drawn and that it is about; the costliest, by the raw files."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import ascend_sn
from ascend_sn.advisor.finding import Finding, Suppressed
from tests.shared_data import requires_shared, shared_path, shared_root
from tests.unit.insight.drawn_runs import ApiClient, opened_of

pytestmark = requires_shared

LEVEL1 = shared_path("data", "torch_npu", "text", "level1")
KINETO = ("amd_trace", "cpu_only", "critical_path/cuda_event_sync", "critical_path/simple_add", "nccl_parser_config")
WITHOUT_PROFILE = {
    "dv06_metadata_only", "dv07_large_trace", "dv13_raw_only", "dv18_short_schedule", "dv19_restart_and_bad_path",
}  # fmt: skip
"""Cases that hold nothing to open: programs to record, raw data, a trace without events."""

_NAMES = """
    select [name, op_type, (select name from operator where operator_id = kernel.operator_id and profile_id = $profile)]
    from kernel where kernel_id = $key and profile_id = $profile
"""


def _inputs() -> Iterator[Any]:
    if shared_root() is None:
        return
    for dump in ("text/level1", "text/level0", "db/level1"):
        yield pytest.param(shared_path("data", "torch_npu", dump), id=dump)
    for name in KINETO:
        yield pytest.param(shared_path("data", "kineto", name), id=name)
    for case in sorted(path for path in shared_path("cases").iterdir() if path.is_dir()):
        if case.name not in WITHOUT_PROFILE:
            yield pytest.param(case, id=case.name)


def _about(run: ascend_sn.Run, finding: Finding | Suppressed, ref: dict[str, Any]) -> bool:
    """Whether a slice is what the texts of a finding name: by name, by class, or by time."""
    found = finding.location.slice
    assert found is not None
    names = set(finding.location.names)
    if found.table == "overlap":
        return ref["name"] == "free" and any(one.name in ("free_ns", "gc_guess_ns") for one in finding.evidence)
    if found.table == "kernel":
        own = run.db.execute(_NAMES, {"key": int(found.key), "profile": found.profile_id}).fetchall()[0][0]
        return not names or bool(names & set(own)) or any(set(own[1:2]) <= set(name.split("+")) for name in names)
    if found.table in ("operator", "host_call") and names and finding.code != "R-HOST-2":
        return ref["name"] in names
    return bool(ref["dur"] > 0)


@pytest.mark.parametrize("place", list(_inputs()))
def test_each_finding_leads_to_a_slice_that_it_is_about(place: Path) -> None:
    served = opened_of(place)
    run, api = served.opened("a").run, ApiClient(served)

    advice = ascend_sn.advise(run)

    said: list[Finding | Suppressed] = [*advice.findings, *advice.suppressed]
    for finding in said:
        if finding.topic == "collection" and not finding.location.profile_ids:
            continue  # about the capture, not about a time in it
        found = finding.location.slice
        assert found is not None, finding.id
        ref = api.get("find", table=found.table, profile=found.profile_id, key=found.key)
        assert not finding.location.profile_ids or found.profile_id in finding.location.profile_ids
        assert _about(run, finding, ref), (finding.id, ref)


def _longest_in_trace(rank: int, name: str) -> int:
    """The longest slice of a name in the trace of a rank, ns."""
    trace = json.loads((LEVEL1 / f"rank{rank}_ascend_pt/ASCEND_PROFILER_OUTPUT/trace_view.json").read_text("utf-8"))
    return max(round(float(event["dur"]) * 1000) for event in trace if name in event["name"] and "dur" in event)


@pytest.mark.parametrize(
    ("code", "name"),
    [("R-HOST-2", "aclrtSynchronizeStreamWithTimeout"), ("R-COMM-0", "hcom_allReduce__586_0_1")],
)
def test_level1_is_led_to_what_costs_most(code: str, name: str) -> None:
    with ascend_sn.open(LEVEL1) as run:
        (finding,) = (one for one in ascend_sn.advise(run, codes=[code]).findings if one.id == code)
    found = finding.location.slice
    assert found is not None

    ref = ApiClient(opened_of(LEVEL1)).get("find", table=found.table, profile=found.profile_id, key=found.key)

    assert (ref["name"], ref["dur"]) == (name, _longest_in_trace(0, name))


def test_the_exposed_stretch_of_level1_leads_to_the_collective_beneath() -> None:
    api = ApiClient(opened_of(LEVEL1))
    lane = next(one for one in api.get("tracks")["tracks"] if "timeline.exposed-communication" in one["label"])
    names = {"text": "exposed_communication"}
    hits = [hit for hit in api.get("search", **names)["hits"] if hit["profile_id"] == lane["profile_id"]]
    longest = max(hits, key=lambda hit: int(hit["dur"]))

    told = api.get("slice", profile=longest["profile_id"], track=longest["track"], depth=0, slice=longest["slice"])

    (link,) = told["links"]
    assert (link["kind"], link["ref"]["name"]) == ("beneath", "hcom_allReduce__586_0_1")
