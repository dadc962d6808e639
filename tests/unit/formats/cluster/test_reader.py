from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from ascend_sn.derive import derive
from ascend_sn.errors import EmptyInputError, FormatError
from ascend_sn.formats.cluster_output.reader import READER
from ascend_sn.formats.csv_columns import Cells, CsvColumns
from ascend_sn.formats.discover import discover
from ascend_sn.formats.reader import Candidate, Source
from ascend_sn.model.capture import Capture
from tests.unit.formats.cluster.outputs import GROUP, NAME, OP, open_ranks, write_cluster_database, write_text
from tests.unit.formats.torch_npu.runs import kernel_csv, write_info


@pytest.fixture(params=["text", "db"])
def ranks(request: pytest.FixtureRequest, tmp_path: Path) -> dict[int | None, Capture]:
    folder = tmp_path / NAME
    if request.param == "text":
        write_text(folder)
    else:
        write_cluster_database(folder / "cluster_analysis.db")
    captures = open_ranks(folder)
    assert {capture.header.format for capture in captures.values()} == {f"cluster-{request.param}"}
    assert captures[0].ledger.entries == []
    return captures


def test_each_rank_has_its_own_step_trace_and_stages_are_left_out(ranks: dict[int | None, Capture]) -> None:
    assert sorted(ranks, key=str) == [0, 4]
    found = {
        rank: {row["name"]: (row["step"], row["value"]) for row in capture.rows("metric").to_dicts()}
        for rank, capture in ranks.items()
    }
    prefix = "exporter.step_trace."
    assert found[0][prefix + "Computing"] == (2, 100_500.0)
    assert found[4][prefix + "Computing"] == (2, 110_000.0)
    assert found[4][prefix + "Communication(Not Overlapped)"] == (2, 10_000.0)
    assert found[0][prefix + "Stage"] == (2, 150_500.0)
    assert len(found[0]) == len(found[4]) == 9
    assert ranks[4].header.config["parallel_places"] == {"dp": 0, "pp": 1, "tp": 1}


def test_collectives_have_the_recorded_parts(ranks: dict[int | None, Capture]) -> None:
    for rank, dur, wait, sync in ((0, 10_000_000, 5_000_000, 4_500_000), (4, 5_000_000, 500_000, 0)):
        (row,) = ranks[rank].rows("collective").to_dicts()
        assert (row["name"], row["op"], row["group_id"], row["sequence"]) == (OP, "allreduce", GROUP, 3)
        assert (row["dur_ns"], row["transit_ns"], row["wait_ns"], row["sync_ns"]) == (dur, 4_000_000, wait, sync)
        assert (row["kernel_id"], row["method"]) == (None, "recorded")
    starts = [int(ranks[rank].rows("collective").values("ts_ns")[0]) for rank in (0, 4)]
    assert starts[1] - starts[0] == 5_000_000


def test_links_stand_with_the_sender_and_ranks_are_global(ranks: dict[int | None, Capture]) -> None:
    for rank, other, size, dur in ((0, 4, 1_000_000, 2_000_000), (4, 0, 3_000_000, 2_500_000)):
        whole, pair = ranks[rank].rows("link").to_dicts()
        assert (whole["collective_id"], whole["size_bytes"], whole["src_rank"]) == (0, 2_000_000, None)
        assert (pair["src_rank"], pair["dst_rank"], pair["rank_scope"], pair["step"]) == (rank, other, "global", 2)
        assert (pair["size_bytes"], pair["dur_ns"], pair["op"]) == (size, dur, "allreduce")


def test_groups_are_named_by_their_hash(ranks: dict[int | None, Capture]) -> None:
    members = ranks[4].rows("comm_group_member").to_dicts()

    assert [(row["group_id"], row["kind"], row["group_size"], row["member_rank"]) for row in members] == [
        (GROUP, "tp", 2, 0),
        (GROUP, "tp", 2, 4),
    ]
    alone = [row for row in ranks[0].rows("comm_group_member").to_dicts() if row["group_size"] == 1]
    assert len(alone) == 1


def test_steps_have_no_time_and_nothing_is_made_up(ranks: dict[int | None, Capture]) -> None:
    capture = ranks[0]
    derive(capture)

    assert not len(capture.rows("step"))
    told = {entry.table_name: entry for entry in capture.coverage if entry.column_name is None}
    assert [entry.state for entry in capture.coverage if entry.table_name == "step"] == ["unsupported"]
    assert told["kernel"].state == "unsupported"
    assert told["collective"].state == "collected"


def test_the_database_names_hosts_devices_and_the_size_of_the_job(tmp_path: Path) -> None:
    write_cluster_database(tmp_path / "cluster_analysis.db")

    header = open_ranks(tmp_path)[4].header

    assert (header.host, header.device_id, header.world_size) == ("node-a", 6, 8)


def test_old_files_have_point_to_point_apart_and_groups_without_a_name(tmp_path: Path) -> None:
    folder = write_text(tmp_path / NAME)
    text = (folder / "cluster_communication.json").read_text()
    (folder / "cluster_communication.json").write_text(text.replace("(0, 4)", "p2p").replace("allReduce", "send"))
    (folder / "communication_group.json").write_text('{"collective": [[4, 0]], "p2p": [[0, 4]]}')

    captures = open_ranks(folder)

    assert captures[0].rows("collective").text("op").decode() == ["send"]
    members = captures[0].rows("comm_group_member").to_dicts()
    assert [(row["group_id"], row["kind"], row["member_rank"]) for row in members] == [
        ("(0, 4)", None, 0),
        ("(0, 4)", None, 4),
    ]


@pytest.mark.parametrize(
    "name", ["cluster_step_trace_time.csv", "cluster_communication.json", "cluster_communication_matrix.json"]
)
def test_a_renamed_file_on_its_own_is_known_by_its_content(tmp_path: Path, name: str) -> None:
    folder = write_text(tmp_path / NAME)
    renamed = tmp_path / "mine.dat"
    shutil.copyfile(folder / name, renamed)

    assert sorted(open_ranks(renamed), key=str) == [0, 4]
    assert READER.members(renamed) == [renamed]


def test_a_renamed_database_and_a_renamed_folder_are_known(tmp_path: Path) -> None:
    renamed = write_cluster_database(tmp_path / "mine.dat")
    write_text(tmp_path / "my results")

    assert len(open_ranks(renamed)) == len(open_ranks(tmp_path / "my results")) == 2


def test_files_in_the_folder_belong_to_it(tmp_path: Path) -> None:
    folder = write_text(tmp_path / NAME)

    (source,) = discover(folder / "cluster_communication.json").sources

    assert (source.reader, source.path) == (READER, folder)
    assert [path.name for path in READER.members(folder)] == [
        "cluster_communication.json",
        "cluster_communication_matrix.json",
        "cluster_step_trace_time.csv",
        "communication_group.json",
    ]


def test_beside_the_captures_themselves_it_is_left_alone(tmp_path: Path) -> None:
    write_text(tmp_path / NAME)
    run = tmp_path / "h_1_20251009081320123_ascend_pt"
    write_info(run, rank=0)
    kernel_csv(run, [{"Name": "mm", "Start Time(us)": "1", "Duration(us)": "2", "Accelerator Core": "AI_CORE"}])

    found = discover(tmp_path)

    assert [source.reader.name for source in found.sources] == ["torch_npu"]
    assert found.foreign == [NAME]


def test_other_things_are_not_claimed(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("Step,Computing\n1,2\n")
    (tmp_path / "b.json").write_text('{"step1": {"p2p": {}}}')
    (tmp_path / "c.db").write_bytes(b"SQLite format 3\0 and then nothing")

    for path in (tmp_path, *tmp_path.iterdir()):
        assert not READER.claims(Candidate(path))


def test_a_cut_file_leaves_the_others(tmp_path: Path) -> None:
    folder = write_text(tmp_path / NAME)
    path = folder / "cluster_communication.json"
    path.write_bytes(path.read_bytes()[:-50])

    captures = open_ranks(folder)

    assert not len(captures[0].rows("collective"))
    assert len(captures[0].rows("metric")) == 9
    assert [entry.kind for entry in captures[0].ledger.entries] == ["json_syntax"]
    assert captures[4].ledger.entries == []
    states = {entry.table_name: entry.state for entry in captures[0].coverage}
    assert (states["collective"], states["link"]) == ("damaged", "collected")


def test_rows_that_cannot_be_read_are_counted(tmp_path: Path) -> None:
    folder = write_text(tmp_path / NAME)
    path = folder / "cluster_step_trace_time.csv"
    path.write_text(path.read_text().replace("rank,4,110", "rank,x,110").replace("100.5", "?"))

    captures = open_ranks(folder)

    assert [(entry.kind, entry.count, entry.place) for entry in captures[0].ledger.entries] == [
        ("unreadable_cell", 1, "line 3"),
        ("unreadable_cell", 1, ""),
    ]
    assert len(captures[0].rows("metric")) == 8


def test_columns_of_the_step_trace_are_fetched_once_however_many_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write_text(tmp_path / NAME)
    path = folder / "cluster_step_trace_time.csv"
    row = next(line for line in path.read_text().splitlines() if "rank,4," in line)
    path.write_text(path.read_text() + "".join(row.replace("rank,4,", f"rank,{rank},") + "\n" for rank in range(8, 58)))
    fetched: list[str] = []
    numbers = CsvColumns.numbers

    def counted(table: CsvColumns, *names: str) -> Cells | None:
        fetched.extend(names)
        return numbers(table, *names)

    monkeypatch.setattr(CsvColumns, "numbers", counted)

    captures = open_ranks(folder)

    assert len(captures) == 52
    assert len(fetched) == len(set(fetched))


def test_empty_files(tmp_path: Path) -> None:
    for name in ("cluster_step_trace_time.csv", "cluster_communication.json"):
        (tmp_path / name).write_bytes(b"")

    with pytest.raises(FormatError):
        open_ranks(tmp_path)
    (tmp_path / "cluster_communication.json").unlink()
    (tmp_path / "cluster_step_trace_time.csv").write_text("Step,Type,Index,Computing\n")
    with pytest.raises(EmptyInputError):
        open_ranks(tmp_path)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_random_bytes_raise_nothing_but_format_errors(tmp_path: Path, data: st.DataObject) -> None:
    folder = tmp_path / NAME
    shutil.rmtree(folder, ignore_errors=True)
    write_text(folder)
    paths = [*sorted(folder.iterdir()), folder / "cluster_analysis.db"]
    for path in data.draw(st.lists(st.sampled_from(paths), min_size=1, max_size=4)):
        front = data.draw(
            st.sampled_from([b"", b"SQLite format 3\0", b'{"(0, 1)": {"step1": ', b"Type,Index,Computing\n"])
        )
        path.write_bytes(front + data.draw(st.binary(min_size=1, max_size=200)))

    try:
        for capture in READER.read(Source(READER, folder, folder)):
            derive(capture)
    except (FormatError, EmptyInputError):
        pass


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["(0, 1)", "step1", "a@7", "0", "0-1", "collective"]), inner, max_size=3)
    ),
    max_leaves=12,
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(name=st.sampled_from(["cluster_communication.json", "communication_group.json"]), value=JSON)
def test_other_structures_raise_nothing(tmp_path: Path, name: str, value: object) -> None:
    folder = write_text(tmp_path / NAME)
    (folder / name).write_text(json.dumps(value))

    assert 0 in {capture.header.rank for capture in READER.read(Source(READER, folder, folder))}
