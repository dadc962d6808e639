"""Opening an input: its tables come out as they went in, profiles are told apart, nothing is written into it."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import duckdb
import pytest

from ascend_sn.errors import EmptyInputError, FormatError, InputError
from ascend_sn.model.rows import conform
from ascend_sn.model.tables import COUNTER, TABLES
from ascend_sn.store import Run, open_run
from ascend_sn.store.parquet import show_table, write_parquet
from tests.unit.store.drawn_reader import DrawnReader, write_drawn

pytestmark = pytest.mark.usefixtures("cache")


def contents(folder: Path) -> dict[str, tuple[int, str]]:
    """Every file and folder below, with its time and a hash of its bytes."""
    return {
        str(path.relative_to(folder)): (
            path.stat().st_mtime_ns,
            hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "",
        )
        for path in sorted(folder.rglob("*"))
    }


def test_rows_come_out_as_the_reader_gave_them(drawn: DrawnReader, tmp_path: Path) -> None:
    source = write_drawn(tmp_path / "in" / "p.txt", rank=4, kernels=4)

    with open_run(source) as run:
        kernels = run.sql("select profile_id, rank, name, op_type, ts_ns, block_count from kernel order by ts_ns")
        rows = kernels.fetchall()

    assert rows == [
        (0, 4, "矩阵乘0", "MatMulV2", 1_736_408_883_704_643_212, 24),
        (0, 4, "矩阵乘1", None, 1_736_408_883_704_643_222, None),
        (0, 4, "矩阵乘0", "MatMulV2", 1_736_408_883_704_643_232, None),
        (0, 4, "矩阵乘1", None, 1_736_408_883_704_643_242, 24),
    ]


def test_derived_columns_are_stored(drawn: DrawnReader, tmp_path: Path) -> None:
    source = write_drawn(tmp_path / "p.txt", rank=0, kernels=1)

    with open_run(source) as run:
        nested = run.sql("select name, parent_id, depth, self_ns from operator order by operator_id").fetchall()
        steps = run.sql("select step_id from kernel").fetchall()

    assert nested == [("outer", None, 0, 50), ("inner", 0, 1, 50)]
    assert steps == [(0,)]


def test_every_table_is_visible_with_its_types(drawn: DrawnReader, tmp_path: Path) -> None:
    with open_run(write_drawn(tmp_path / "p.txt")) as run:
        for table in TABLES:
            described = run.sql(f"describe {table.name}").fetchall()
            assert [(name, kind.lower()) for name, kind, *_ in described] == [
                (column.name, column.duckdb_type) for column in table.columns
            ]
        assert run.sql("select * from collective").fetchall() == []


def test_properties_of_a_run(drawn: DrawnReader, tmp_path: Path) -> None:
    source = write_drawn(tmp_path / "p.txt", rank=0, lost=2)

    with open_run(source) as run:
        assert run.profiles.project("rank, host, versions, config").fetchall() == [
            (0, "host-0", '{"drawn":"1"}', '{"名":"值"}')
        ]
        assert run.steps.project("step, origin").fetchall() == [(5, "mark")]
        assert run.damage.project('file, place, kind, severity, "count"').fetchall() == [
            ("p.txt", "line 3", "bad_row", "damage", 2)
        ]
        assert run.coverage.project("table_name, state, turn_on").fetchall() == [
            ("memory_event", "not_requested", "memory=True")
        ]
        assert repr(run) == f"Run({str(source)!r}, profiles=1)"


def test_a_query_takes_parameters_by_name(drawn: DrawnReader, tmp_path: Path) -> None:
    with open_run(write_drawn(tmp_path / "p.txt", kernels=5)) as run:
        found = run.sql("select count(*) from kernel where name = $name", name="矩阵乘0").fetchall()

    assert found == [(3,)]


def test_profiles_are_numbered_by_rank_and_not_by_path(drawn: DrawnReader, tmp_path: Path) -> None:
    for folder, rank in (("a", 11), ("b", 2), ("c", 10)):
        write_drawn(tmp_path / "in" / folder / "p.txt", rank=rank, kernels=rank)
    write_drawn(tmp_path / "in" / "d" / "p.txt", kernels=1)

    with open_run(tmp_path / "in") as run:
        counted = run.sql("select profile_id, rank, count(*) from kernel group by all order by all").fetchall()
        named = run.sql("select profile_id, rank, source, phase from profile order by profile_id").fetchall()

    assert counted == [(0, 2, 2), (1, 10, 10), (2, 11, 11), (3, 0, 1)]
    assert named == [
        (0, 2, "b/p.txt", "b"),
        (1, 10, "c/p.txt", "c"),
        (2, 11, "a/p.txt", "a"),
        (3, 0, "d/p.txt", "d"),  # alone in its folder, and so a job of its own
    ]


def test_two_processes_with_one_rank_are_two_profiles(drawn: DrawnReader, tmp_path: Path) -> None:
    write_drawn(tmp_path / "in" / "first" / "p.txt", rank=0, kernels=2)
    write_drawn(tmp_path / "in" / "second" / "p.txt", rank=0, kernels=3)

    with open_run(tmp_path / "in") as run:
        assert run.sql("select profile_id, count(*) from kernel group by 1 order by 1").fetchall() == [(0, 2), (1, 3)]


def test_one_file_may_hold_several_processes(drawn: DrawnReader, tmp_path: Path) -> None:
    source = write_drawn(tmp_path / "p.txt", rank=0, processes=3)

    with open_run(source) as run:
        assert run.sql("select profile_id, rank, pid from profile order by 1").fetchall() == [
            (0, 0, 100),
            (1, 1, 101),
            (2, 2, 102),
        ]


def test_a_lone_profile_without_rank_is_rank_zero_and_says_so(drawn: DrawnReader, tmp_path: Path) -> None:
    with open_run(write_drawn(tmp_path / "p.txt")) as run:
        ranks = run.sql("select distinct rank from kernel").fetchall()
        ledger = run.sql("select kind, severity from damage").fetchall()

    assert ranks == [(0,)]
    assert ledger == [("no_rank", "info")]


def test_an_unusable_source_beside_a_usable_one_is_damage_and_not_the_end(drawn: DrawnReader, tmp_path: Path) -> None:
    write_drawn(tmp_path / "in" / "good.txt", rank=0)
    write_drawn(tmp_path / "in" / "bad.txt", trouble="nothing usable is left")

    with open_run(tmp_path / "in") as run:
        assert run.sql("select profile_id, file, kind, example from damage").fetchall() == [
            (-1, "bad.txt", "unreadable", "nothing usable is left")
        ]
        assert len(run.manifest.profiles) == 1


def test_an_input_without_any_usable_source_is_an_error_that_names_it(drawn: DrawnReader, tmp_path: Path) -> None:
    write_drawn(tmp_path / "in" / "bad.txt", trouble="nothing usable is left")

    with pytest.raises(FormatError, match=r"bad\.txt: nothing usable is left"):
        open_run(tmp_path / "in")


def test_files_of_no_profile_are_counted_and_left_alone(drawn: DrawnReader, tmp_path: Path) -> None:
    write_drawn(tmp_path / "in" / "p.txt", rank=0)
    (tmp_path / "in" / "notes.md").write_text("mine", encoding="utf-8")
    (tmp_path / "in" / "report.html").write_text("<!-- generated by ascend-sn -->", encoding="utf-8")

    with open_run(tmp_path / "in") as run:
        assert run.sql('select kind, severity, "count", example from damage').fetchall() == [
            ("foreign_files", "info", 1, "files that belong to no profile, left alone: notes.md")
        ]


def test_a_path_that_is_not_there(drawn: DrawnReader, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file or folder"):
        open_run(tmp_path / "nowhere")


def test_an_empty_folder_and_an_empty_file(drawn: DrawnReader, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "empty.json").touch()

    with pytest.raises(EmptyInputError, match="folder is empty"):
        open_run(tmp_path / "in")
    with pytest.raises(EmptyInputError, match=r"file is empty; was the session ended\?"):
        open_run(tmp_path / "empty.json")


def test_a_file_that_no_reader_knows(drawn: DrawnReader, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("hello", encoding="utf-8")

    with pytest.raises(InputError, match="not a profile that ascend-sn can read"):
        open_run(tmp_path / "notes.txt")


def test_nothing_is_written_into_the_input(drawn: DrawnReader, tmp_path: Path) -> None:
    write_drawn(tmp_path / "in" / "a" / "p.txt", rank=0)
    write_drawn(tmp_path / "in" / "b" / "p.txt", rank=1, trouble="cut")
    before = contents(tmp_path / "in")

    with open_run(tmp_path / "in") as run:
        run.sql("select count(*) from kernel").fetchall()

    assert contents(tmp_path / "in") == before


@pytest.mark.parametrize(
    "name", ["训练 结果", "a #1 & 100%", "it's", "q?*[1]", "rank=7", "profile=9/kernel", "{a,b}", 'say "x"', "a\\b"]
)
def test_any_name_of_a_folder_will_do(drawn: DrawnReader, tmp_path: Path, name: str) -> None:
    source = write_drawn(tmp_path / name / "p.txt", rank=3, kernels=2)

    with open_run(source, cache_dir=tmp_path / name / "cache") as run:
        rows = run.sql("select distinct profile_id, rank from kernel").fetchall()
    with open_run(run.path) as again:
        same = again.sql("select distinct profile_id, rank from kernel").fetchall()

    assert rows == same == [(0, 3)]


def test_a_folder_name_is_never_taken_for_a_pattern(drawn: DrawnReader, tmp_path: Path) -> None:
    runs = {}
    for name, rank in (("a1", 1), ("a[1]", 2)):
        source = write_drawn(tmp_path / name / "p.txt", rank=rank)
        runs[name] = open_run(source, cache_dir=tmp_path / name / "cache")

    ranks = {name: run.sql("select distinct rank from kernel").fetchall() for name, run in runs.items()}

    assert ranks == {"a1": [(1,)], "a[1]": [(2,)]}


def test_a_run_outlives_a_change_of_the_working_folder(
    drawn: DrawnReader, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_drawn(tmp_path / "p.txt", kernels=2)
    monkeypatch.chdir(tmp_path)
    run: Run = open_run("p.txt", cache_dir=Path("cache"))

    monkeypatch.chdir("/")

    assert run.sql("select count(*) from kernel").fetchall() == [(2,)]


def test_progress_names_every_source(drawn: DrawnReader, tmp_path: Path) -> None:
    for rank in range(3):
        write_drawn(tmp_path / "in" / f"rank{rank}.txt", rank=rank)
    said: list[tuple[int, int, str]] = []

    open_run(tmp_path / "in", progress=lambda done, of, name: said.append((done, of, name)))

    assert said == [(0, 3, "rank0.txt"), (1, 3, "rank1.txt"), (2, 3, "rank2.txt")]


def test_a_name_that_is_no_utf8_is_shown_with_a_replacement_mark(drawn: DrawnReader, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    write_drawn(folder / "p.txt", rank=0, lost=1).rename(os.fsdecode(os.fsencode(folder) + b"/\xff.txt"))
    (folder / os.fsdecode(b"\xfe.md")).touch()
    for settled in (*folder.iterdir(), folder):  # so that it will be recognised the next time
        os.utime(settled, (1_000, 1_000))

    with open_run(folder) as run:
        assert run.sql("select source from profile").fetchall() == [("\ufffd.txt",)]
        assert run.sql("select distinct rank from kernel").fetchall() == [(0,)]
    assert open_run(folder).path == run.path
    assert len(drawn.calls) == 1


def test_half_a_surrogate_pair_in_a_name_is_replaced(tmp_path: Path) -> None:
    rows = conform(COUNTER, name=["a\ud83d", "\U0001f600", "\udc00b", None], value=[1.0, 2.0, 3.0, 4.0])
    db = duckdb.connect()
    path = tmp_path / "profile=0" / "part-0.parquet"

    write_parquet(db, rows, path, rank=None)
    show_table(db, COUNTER, [path])

    assert db.sql("select name, rank from counter order by value").fetchall() == [
        ("a\ufffd", None),
        ("\U0001f600", None),
        ("\ufffdb", None),
        (None, None),
    ]
