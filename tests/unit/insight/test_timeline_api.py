"""The API of the timeline over drawn runs; every number is counted from the drawing."""

from __future__ import annotations

import struct
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from duckdb import DuckDBPyConnection

from ascend_sn.insight.viewport import BLOCK, COLUMNS
from tests.timeline import empty_tables, insert, timeline, together
from tests.unit.insight.drawn_runs import ApiClient, as_large_jobs, client_of
from tests.unit.report.drawn import add_rank

ORIGIN = 1_700_000_000_000_000_000
SHIFT = 2_500


def two_ranks() -> DuckDBPyConnection:
    """Two hosts that met in three all-reduces; the clock of rank 1 is 2,500 ns ahead, and it starts 2 ns later."""
    db = timeline(
        """
        r0 step |..11111111112222222222|
        r0 s1   |..AAAA..B...AAAA..B...|
        r0 s2   |.....CC..CC.....CC....|
        r0 host |ddfffffb..............|
        r1 step |..11111111112222222222|
        r1 s1   |..AAAAAA.B..AAAAAA.B..|
        r1 s2   |....CCC.CCC....CCC....|
        """,
        kinds={"C": "communication"},
        launched_by={"A": "forward"},
    )
    db.execute("delete from profile")
    db.execute("delete from operator where ts_ns < 0")
    for rank in (0, 1):
        add_rank(db, rank, host=f"node-{rank}")
    for table in ("kernel", "step", "operator"):
        db.execute(f"update {table} set ts_ns = ts_ns + {ORIGIN} + profile_id * {SHIFT}")
    # The first operator of rank 0 launched its kernels A.
    db.execute("update kernel set operator_id = case when profile_id = 0 and name = 'A' then 1 end")
    calls = db.sql("select profile_id, kernel_id, ts_ns, dur_ns from kernel where name = 'C' order by 1, 2").fetchall()
    with together(db):
        for at, (profile, kernel, ts, dur) in enumerate(calls):
            insert(
                db,
                "collective",
                profile_id=profile,
                rank=profile,
                collective_id=at % 3,
                kernel_id=kernel,
                op="allreduce",
                name="hcom_allReduce_",
                group_id="g",
                sequence=at % 3,
                ts_ns=ts,
                dur_ns=dur,
            )
    insert(db, "kernel_metric", kernel_id=0, metric="mac_ratio", value=0.5)
    insert(db, "flow", src_table="operator", src_id=0, dst_table="operator", dst_id=2, kind="fwdbwd")
    return db


@pytest.fixture(scope="module", params=["few ranks", "many ranks"])
def api(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> ApiClient:
    with as_large_jobs() if request.param == "many ranks" else nullcontext():
        return client_of(two_ranks(), tmp_path_factory.mktemp("drawn"))


def decoded(content: bytes) -> tuple[np.ndarray[Any, Any], dict[str, list[float]]]:
    """Blocks and columns of a frame, read by their description alone."""
    magic, version, blocks, rows = struct.unpack_from("<4I", content)
    assert (magic, version) == (0x31565341, 1)
    found = np.frombuffer(content, BLOCK, blocks, 16)
    at = 16 + 32 * blocks
    columns = {}
    for name, type_ in COLUMNS:
        columns[name] = np.frombuffer(content, type_, rows, at).tolist()
        at += rows * np.dtype(type_).itemsize
    assert at == len(content)
    return found, columns


def frame(api: ApiClient, q: str, px: int = 1000) -> tuple[np.ndarray[Any, Any], dict[str, list[float]]]:
    found = api.http.get("/api/v1/runs/a/viewport", params={"q": q, "px": px})
    assert found.status_code == 200, found.text
    assert found.headers["content-type"] == "application/octet-stream"
    return decoded(found.content)


def track(api: ApiClient, table: str, label: str = "", profile: int = 0) -> dict[str, Any]:
    found = [
        one
        for one in api.get("tracks")["tracks"]
        if one["table"] == table and one["profile_id"] == profile and label in one["label"]
    ]
    return dict(found[0])


def ref(one: dict[str, Any], depth: int, place: int) -> dict[str, int]:
    return {"profile": one["profile_id"], "track": one["track"], "depth": depth, "slice": place}


def test_tracks_say_where_profiles_stand(api: ApiClient) -> None:
    found = api.get("tracks", lang="zh")

    first, second = found["profiles"]
    assert (first["rank"], first["host"], first["origin_ns"], first["dur_ns"]) == (0, "node-0", str(ORIGIN), 22)
    assert (second["origin_ns"], second["dur_ns"]) == (str(ORIGIN + SHIFT + 2), 20)
    assert second["clock"] == {"offset_ns": str(SHIFT), "error_ns": 0, "method": "collectives", "reason": None}
    assert (first["place_ns"], second["place_ns"]) == (0, 2)
    assert found["alignments"] == ["clock", "steps", "none"]
    assert found["tracks"][0] == {
        "profile_id": 0, "track": 0, "side": "marks", "table": "step", "label": "zh timeline.steps",
        "parent": "zh timeline.marks", "depths": 1, "slice_count": 2, "unit": None,
    }  # fmt: skip
    stream = next(one for one in found["tracks"] if one["label"] == "zh timeline.stream 1")
    assert (stream["side"], stream["parent"], stream["slice_count"]) == ("device", "zh timeline.device 0", 4)
    assert found["slice_count"] == sum(one["slice_count"] for one in found["tracks"])


def test_names_come_in_chunks(api: ApiClient) -> None:
    names = api.get("names")

    assert {"A", "B", "C", "step 1", "forward"} <= set(names)
    assert len(names) == api.get("tracks")["name_count"]
    assert api.get("names", chunk=1) == []


def test_a_viewport_gives_slices_with_name_and_kind(api: ApiClient) -> None:
    one = track(api, "kernel", "stream 1")
    names, kinds = api.get("names"), api.get("tracks")["kinds"]

    blocks, columns = frame(api, f"0:3.5:15:{one['track']}")

    assert blocks.tolist() == [(0, one["track"], 0, 3, 3.0, 4.0)]
    assert columns["start"] == [2.0, 8.0, 12.0]
    assert columns["end"] == [6.0, 9.0, 16.0]
    assert columns["busy"] == [4.0, 1.0, 4.0]
    assert columns["slice"] == [0.0, 1.0, 2.0]
    assert columns["count"] == [1, 1, 1]
    assert [names[int(name)] for name in columns["name"]] == ["A", "B", "A"]
    assert [kinds[int(kind)] for kind in columns["kind"]] == ["compute"] * 3


def test_narrow_slices_say_how_many_they_are(api: ApiClient) -> None:
    one = track(api, "kernel", "stream 1")

    blocks, columns = frame(api, f"0:-100000:100000:{one['track']}", px=10)

    assert blocks.tolist() == [(0, one["track"], 0, 1, 4.0, 4.0)]
    assert (columns["count"], columns["busy"], columns["slice"]) == ([4], [10.0], [0.0])


def test_several_windows_are_answered_together(api: ApiClient) -> None:
    own, other = track(api, "kernel", "stream 2"), track(api, "kernel", "stream 2", profile=1)

    blocks, columns = frame(api, f"0:0:8:{own['track']};1:0:5:{other['track']}")

    assert blocks["profile_id"].tolist() == [0, 1]
    assert columns["start"] == [5.0, 2.0]
    assert len(frame(api, "0:0:8:;1:0:5:")[0]) == sum(one["depths"] for one in api.get("tracks")["tracks"])


def test_curves_give_the_highest_value(tmp_path: Path) -> None:
    db = empty_tables()
    add_rank(db, 0)
    with together(db):
        for at in range(100):
            insert(db, "counter", name="load", ts_ns=at, value=float(at * 7 % 100))
    api = client_of(db, tmp_path)

    _, columns = frame(api, "0:0:100:0", px=5)

    # A point lasts until the next, so that a row holds those of its own nanoseconds; five pixels give five rows.
    covered = [range(int(start), int(end)) for start, end in zip(columns["start"], columns["end"], strict=True)]
    covered[-1] = range(covered[-1].start, 100)  # the last point lasts no time
    assert [at for row in covered for at in row] == list(range(100))
    assert columns["count"] == [len(row) for row in covered]
    assert columns["busy"] == [float(max(at * 7 % 100 for at in row)) for row in covered]
    assert len(covered) <= 10
    assert api.get("slice", profile=0, track=0, depth=0, slice=9)["arguments"] == {"value": 63.0, "unit": None}


def test_a_slice_tells_its_row_its_neighbours_and_its_launch(api: ApiClient) -> None:
    one = track(api, "kernel", "stream 1")

    found = api.get("slice", **ref(one, 0, 0))

    assert (found["name"], found["kind"], found["table"], found["key"]) == ("A", "compute", "kernel", "0")
    assert (found["start"], found["dur"], found["ts_ns"], found["self_ns"]) == (2, 4, str(ORIGIN + 2), 4)
    assert found["step"] == 1
    assert found["arguments"]["op_type"] == "A"
    assert found["arguments"]["mac_ratio"] == 0.5
    assert found["previous"] is None
    assert (found["next"]["name"], found["next"]["start"]) == ("B", 8)
    (launch,) = found["links"]
    assert (launch["kind"], launch["ref"]["name"], launch["ref"]["start"]) == ("launch", "forward", 2)


def test_an_operator_leads_to_its_kernels_and_along_arrows(api: ApiClient) -> None:
    one = track(api, "operator")

    launcher = api.get("slice", **ref(one, 0, 1))
    first = api.get("slice", **ref(one, 0, 0))

    assert [(link["kind"], link["ref"]["name"], link["ref"]["start"]) for link in launcher["links"]] == [
        ("kernel", "A", 2),
        ("kernel", "A", 12),
    ]
    assert [(link["kind"], link["ref"]["name"]) for link in first["links"]] == [("fwdbwd", "backward")]


def test_a_lane_of_a_communicator_says_what_its_group_is_for(tmp_path: Path) -> None:
    labels = []
    for kind in ("tp", "default", None):
        db = two_ranks()
        insert(db, "comm_group_member", profile_id=0, rank=0, group_id="g", kind=kind, member_rank=0, group_size=2)
        api = client_of(db, tmp_path / str(kind))
        labels.append(track(api, "collective")["label"])

    assert labels == ["en timeline.group-of-kind TP g", "en timeline.group g", "en timeline.group g"]


def test_a_collective_leads_to_the_other_ranks(api: ApiClient) -> None:
    kernel = track(api, "kernel", "stream 2")
    (whole,) = api.get("slice", **ref(kernel, 0, 1))["links"]
    assert (whole["kind"], whole["ref"]["name"]) == ("collective", "hcom_allReduce_")

    found = api.get("slice", **ref(track(api, "collective"), 0, 1))

    assert [(link["kind"], link["ref"]["profile_id"], link["ref"]["start"]) for link in found["links"]] == [
        ("kernel", 0, 9),
        ("collective", 1, 6),
    ]


def test_a_nested_slice_leads_to_its_parent(tmp_path: Path) -> None:
    db = empty_tables()
    add_rank(db, 0)
    with together(db):
        for key, (name, start, end) in enumerate((("outer", 0, 9), ("middle", 1, 8), ("inner", 2, 3))):
            insert(db, "operator", operator_id=key, thread="7", name=name, ts_ns=start, dur_ns=end - start)
    api = client_of(db, tmp_path)

    found = api.get("slice", profile=0, track=0, depth=2, slice=0)

    assert [(link["kind"], link["ref"]["name"]) for link in found["links"]] == [("parent", "middle")]
    assert api.get("slice", profile=0, track=0, depth=1, slice=0)["self_ns"] == 6


def test_a_row_of_a_table_is_found_on_the_timeline(api: ApiClient) -> None:
    found = api.get("find", table="kernel", profile=1, key=1)

    assert (found["profile_id"], found["start"], found["dur"], found["name"]) == (1, 7, 1, "B")
    assert api.refused("find", table="kernel", profile=1, key=99) == (404, "no_slice")
    assert api.refused("find", table="stack", profile=1, key=1) == (404, "unknown_name")


def test_a_stretch_of_activity_is_found_by_its_begin_and_says_what_lies_beneath(api: ApiClient) -> None:
    # On rank 0 A ends at 6, communication C runs from 5 to 7, B from 8 to 9.
    exposed = api.get("find", table="overlap", profile=0, key=ORIGIN + 6)
    free = api.get("find", table="overlap", profile=0, key=ORIGIN + 7)

    def beneath(ref: dict[str, Any]) -> list[tuple[str, str, int]]:
        told = api.get("slice", profile=0, track=ref["track"], depth=0, slice=ref["slice"])
        return [(link["kind"], link["ref"]["name"], link["ref"]["start"]) for link in told["links"]]

    assert (exposed["name"], exposed["start"], exposed["dur"]) == ("exposed_communication", 6, 1)
    assert (free["name"], free["start"], free["dur"]) == ("free", 7, 1)
    assert beneath(exposed) == [("beneath", "hcom_allReduce_", 5)]
    assert beneath(free) == [("ended_by", "B", 8)]
    assert api.refused("find", table="overlap", profile=0, key=1) == (404, "no_slice")


def test_search_finds_names_and_counts_all_hits(api: ApiClient) -> None:
    found = api.get("search", text="b", limit=2)
    case = api.get("search", text="b", match_case=1)
    word = api.get("search", text="back", whole_word=1)

    # B four times, the operator `backward`; curves and classes have no b.
    assert found["count"] == 5
    assert [hit["name"] for hit in found["hits"]] == ["backward", "B"]
    assert found["hits"][1]["track_label"] == "en timeline.stream 1"
    assert found["hits"][1]["profile_label"] == "en timeline.rank 0"
    assert (case["count"], word["count"]) == (1, 0)
    rest = api.get("search", text="b", limit=10, **{"from": 2})
    assert [hit["profile_id"] for hit in rest["hits"]] == [0, 1, 1]
    assert api.get("search", text="b", profile=1)["count"] == 2
    assert api.get("search", text="(")["count"] == 0


def test_search_looks_into_arguments(api: ApiClient) -> None:
    found = api.get("search", text="ALLreduce", where="arguments")

    assert found["count"] == 6
    assert [(hit["profile_id"], hit["start"]) for hit in found["hits"]] == [
        (0, 5),
        (0, 9),
        (0, 16),
        (1, 2),
        (1, 6),
        (1, 13),
    ]
    assert api.get("search", text="ALLreduce", where="arguments", match_case=1)["count"] == 0
    assert api.get("search", text="all", where="arguments", whole_word=1)["count"] == 0
    assert len(api.get("search", text="allreduce", where="arguments", limit=2, **{"from": 3})["hits"]) == 2


def test_a_selection_adds_up_slices_and_divides_the_time(api: ApiClient) -> None:
    one = track(api, "kernel", "stream 1")

    found = api.get("selection", q=f"0:5:13:{one['track']}")

    assert [(row["name"], row["count"], row["total_ns"], row["self_ns"]) for row in found["rows"]] == [
        ("A", 2, 8, 8),
        ("B", 1, 1, 1),
    ]
    assert (found["rows"][0]["mean_ns"], found["rows"][0]["min_ns"], found["rows"][0]["max_ns"]) == (4.0, 4, 4)
    # From 5 to 13: A until 6, B at 8, A from 12; C from 5 to 7 and from 9 to 11.
    assert found["breakdown"] == [
        {"profile_id": 0, "window_ns": 8, "compute_ns": 3, "exposed_comm_ns": 3, "overlapped_ns": 1,
         "exposed_copy_ns": 0, "free_ns": 2}
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("asked", "places"),
    [
        ({"by": "clock"}, [0, 2]),
        ({"by": "none"}, [0, 0]),
        ({"by": "steps"}, [0, 2]),
        ({"by": "steps", "step": 2}, [0, 2]),
        # The first all-reduce ends at 7 on rank 0 and, counted from its origin, at 5 on rank 1.
        ({"by": "collective", "profile": 0, "collective": 0}, [0, 2]),
    ],
)
def test_alignments(api: ApiClient, asked: dict[str, Any], places: list[int]) -> None:
    assert [place["place_ns"] for place in api.get("alignment", **asked)["places"]] == places


def test_a_profile_that_cannot_take_part_says_why(tmp_path: Path) -> None:
    db = two_ranks()
    db.execute("delete from collective where profile_id = 1; delete from step where profile_id = 1")
    api = client_of(db, tmp_path)

    first, second = api.get("alignment", by="collective", profile=0, collective=1)["places"]

    assert (first["reason"], second["reason"]) == (None, "it is no member of this collective")
    assert api.get("alignment", by="steps")["places"][1]["reason"] == "the step was not recorded here"
    assert api.get("alignment")["places"][1]["reason"]
    assert api.get("tracks")["alignments"] == ["none"]
    assert api.refused("alignment", by="collective", profile=1, collective=1) == (404, "no_collective")


@pytest.mark.parametrize("op", ["send", "unknown"])
def test_a_call_that_numbers_do_not_match_has_no_other_ranks(tmp_path: Path, op: str) -> None:
    db = two_ranks()
    db.execute("update collective set op = ?", [op])
    api = client_of(db, tmp_path)

    found = api.get("slice", **ref(track(api, "collective"), 0, 1))
    places = api.get("alignment", by="collective", profile=0, collective=0)["places"]

    assert [link["kind"] for link in found["links"]] == ["kernel"]
    assert [place["reason"] for place in places] == [None, "it is no member of this collective"]


def test_steps_are_listed(api: ApiClient) -> None:
    assert api.get("steps")[:2] == [
        {"profile_id": 0, "step_id": 0, "step": 1, "start": 2, "dur": 10},
        {"profile_id": 0, "step_id": 1, "step": 2, "start": 12, "dur": 10},
    ]


def test_marks_are_kept_beside_the_cache(tmp_path: Path) -> None:
    api = client_of(two_ranks(), tmp_path)
    before = sorted((tmp_path / "run").rglob("*"))
    given = [{"id": "1", "from": 3.0, "to": 9.5, "name": "<b>slow</b>", "colour": "#0072B2"}]

    assert api.get("marks") == []
    api.http.put("/api/v1/runs/a/marks", json=given)

    assert api.get("marks") == given
    assert sorted((tmp_path / "run").rglob("*")) == before


def test_marks_that_cannot_be_read_are_put_aside_by_new_ones(tmp_path: Path) -> None:
    api = client_of(two_ranks(), tmp_path)
    given = [{"id": "1", "from": 3.0, "to": None, "name": "slow", "colour": "#0072b2"}]
    api.http.put("/api/v1/runs/a/marks", json=given)
    (kept,) = tmp_path.rglob("marks/*.json")
    kept.write_text('[{"id": "1", "from": 3.0', encoding="utf-8")

    refused = api.http.get("/api/v1/runs/a/marks")
    api.http.put("/api/v1/runs/a/marks", json=given)

    assert (refused.status_code, str(kept) in refused.json()["error"]["message"]) == (422, True)
    assert api.get("marks") == given
    assert kept.with_suffix(".damaged.json").read_text(encoding="utf-8") == '[{"id": "1", "from": 3.0'


@pytest.mark.parametrize(
    "given",
    [
        [{"from": 5, "to": 1}],
        [{"from": 1, "to": 5}, {"from": 2, "to": 6}],  # of one id
        [{"from": 1, "to": 5, "colour": "red;background:url(http://elsewhere)"}],
    ],
)
def test_marks_that_cannot_be_are_refused(api: ApiClient, given: list[dict[str, object]]) -> None:
    marks = [{"id": "1", "name": "", "colour": "#0072b2", **one} for one in given]

    found = api.http.put("/api/v1/runs/a/marks", json=marks)

    assert (found.status_code, found.json()["error"]["code"]) == (400, "bad_marks")
    assert api.get("marks") == []


@pytest.mark.parametrize(
    "body", ["{}", "[", "[1]", '[{"id": ""}]', '[{"id":"1","from":1e30,"to":null,"name":"","colour":""}]', "[" * 20_000]
)
def test_what_is_no_list_of_marks_is_refused(api: ApiClient, body: str) -> None:
    found = api.http.put("/api/v1/runs/a/marks", content=body.encode(), headers={"Content-Type": "application/json"})

    assert (found.status_code, found.json()["error"]["code"]) == (400, "bad_marks")


@pytest.mark.parametrize(
    ("path", "given", "status"),
    [
        ("viewport", {}, 400),
        ("viewport", {"q": ""}, 400),
        ("viewport", {"q": "0:0:1"}, 400),
        ("viewport", {"q": "0:1:1:"}, 400),
        ("viewport", {"q": "0:nan:1:"}, 400),
        ("viewport", {"q": "0:-inf:1:"}, 400),
        ("viewport", {"q": "0:0:1:x"}, 400),
        ("viewport", {"q": "0:0:1:-1"}, 400),
        ("viewport", {"q": "0:0:1:99"}, 404),
        ("viewport", {"q": "7:0:1:"}, 404),
        ("viewport", {"q": "0:0:1:" + "0," * 15_500 + "0"}, 400),
        ("viewport", {"q": "0:0:1:", "px": "0"}, 400),
        ("viewport", {"q": "0:0:1:", "px": "1e9"}, 400),
        ("slice", {"profile": 0, "track": 0, "depth": 9, "slice": 0}, 404),
        ("slice", {"profile": 0, "track": 0, "depth": 0, "slice": 99}, 404),
        ("slice", {"profile": 0, "track": "٣", "depth": 0, "slice": 0}, 400),
        ("search", {"text": "a", "where": "everywhere"}, 400),
        ("search", {"text": "a", "limit": -1}, 400),
        ("tracks", {"lang": "xx"}, 400),
        ("alignment", {"by": "magic"}, 400),
        ("nothing", {}, 404),
    ],
)
def test_bad_requests_are_answered_in_one_line(api: ApiClient, path: str, given: dict[str, Any], status: int) -> None:
    found = api.http.get(f"/api/v1/runs/a/{path}", params=given)

    assert found.status_code == status
    assert set(found.json()["error"]) == {"code", "message", "hint"}
    assert "Traceback" not in found.text


def test_runs_that_are_not_there_or_not_ready(tmp_path: Path) -> None:
    from starlette.testclient import TestClient

    from ascend_sn.insight.app import application
    from ascend_sn.insight.runs import Served
    from ascend_sn.store.input import Input
    from tests.unit.insight.drawn_runs import NoDocuments

    (tmp_path / "broken.json").write_text("{")
    served = Served([Input.of(tmp_path / "broken.json")], NoDocuments(), cache_dir=tmp_path / "cache")
    http = TestClient(application(served, pages=[]))

    reading = http.get("/api/v1/runs/a/tracks")
    state = http.get("/api/v1/session").json()["runs"][0]
    served.runs[0].read()
    failed = http.get("/api/v1/runs/a/tracks")

    assert (reading.status_code, reading.json()["error"]["code"]) == (503, "still_reading")
    assert (state["state"], state["progress"]) == ("reading", {"done": 0, "total": 0, "text": ""})
    assert (failed.status_code, failed.json()["error"]["code"]) == (422, "unusable_input")
    assert "broken.json" in http.get("/api/v1/session").json()["runs"][0]["error"]
    assert http.get("/api/v1/runs/b/tracks").status_code == 404


def requests_of_a_server() -> DuckDBPyConnection:
    """A [0, 10) and, inside of it, B [2, 6); a copy, work and a copy run meanwhile; A has a recorded phase."""
    db = empty_tables()
    insert(db, "profile", rank=0, source="r0", device_kind="npu")
    for key, name, start, end in ((0, "A", 0, 10), (1, "B", 2, 6)):
        insert(db, "span", span_id=key, name=name, domain="request", thread="main", ts_ns=start, dur_ns=end - start)
    insert(db, "span", span_id=2, name="decode", domain="request phase", thread="main", ts_ns=4, dur_ns=5)
    insert(db, "flow", src_table="span", src_id=0, dst_table="span", dst_id=2, kind="phase")
    for key, kind, start, end in ((0, "copy", 1, 3), (1, "compute", 3, 7), (2, "copy", 7, 8)):
        direction = {0: "h2d", 2: "d2h"}.get(key)
        insert(
            db, "kernel", kernel_id=key, name=kind, kind=kind, copy_direction=direction, ts_ns=start, dur_ns=end - start
        )
    return db


def test_a_request_tells_its_stages_and_phases_and_is_found_from_its_row(tmp_path: Path) -> None:
    api = client_of(requests_of_a_server(), tmp_path)
    found = [one for one in api.get("tracks")["tracks"] if one["side"] == "requests"]
    assert [(one["label"], one["parent"], one["depths"]) for one in found] == [
        ("en timeline.requests-all", "en timeline.requests", 2),
        ("decode", "en timeline.requests", 1),
    ]

    place = api.get("find", table="span", profile=0, key=1)
    assert (place["track"], place["depth"], place["name"]) == (found[0]["track"], 1, "B")
    inner = api.get("slice", **{name: place[name] for name in ("track", "depth", "slice")}, profile=0)
    # Of B: 1 ns of copying in, 3 ns of work; nothing of what comes after it.
    assert inner["stages"] == {"copy_in": 1, "inference": 3, "copy_out": 0, "gap": 0}
    assert (inner["links"], inner["self_ns"], inner["arguments"]["thread"]) == ([], 4, "main")

    outer = api.get("slice", **ref(found[0], 0, 0))
    assert outer["stages"] == {"copy_in": 2, "inference": 4, "copy_out": 1, "gap": 3}
    assert [(one["kind"], one["ref"]["name"], one["ref"]["dur"]) for one in outer["links"]] == [("phase", "decode", 5)]
    phase = api.get("slice", **ref(found[1], 0, 0))
    assert [(one["kind"], one["ref"]["name"]) for one in phase["links"]] == [("request", "A")]
    assert phase["stages"] is None
