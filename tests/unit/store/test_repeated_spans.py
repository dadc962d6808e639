"""Spans that are the operators of their capture lie on the disk once."""

from __future__ import annotations

from pathlib import Path

import duckdb
import numpy as np
import pytest

import ascend_sn
from ascend.profiler import Profiler
from ascend_sn.model.rows import Rows, conform
from ascend_sn.model.tables import OPERATOR, SPAN
from ascend_sn.model.trace_schema import SPAN as SPAN_ROW, SPAN_COMMUNICATION
from ascend_sn.store.parquet import show_table, write_parquet
from ascend_sn.store.repeated_spans import MANY_SPANS, REPEATING_PART, without_repeated
from ascend_sn.store.sandbox import Sandbox
from tests.unit.collect.recorded import rows as recorded_rows

COLUMNS = "span_id, name, domain, kind, ts_ns, dur_ns, depth"


def operators(names: list[str], **other: object) -> Rows:
    times = np.arange(len(names)) * 10
    columns = {"operator_id": np.arange(len(names)), "thread": "main", "depth": 0, "ts_ns": times, "dur_ns": 5}
    return conform(OPERATOR, len(names), name=names, **{**columns, **other})


def spans(names: list[str], **other: object) -> Rows:
    times = np.arange(len(names)) * 10
    columns = {"span_id": np.arange(len(names)), "thread": "main", "depth": 0, "ts_ns": times, "dur_ns": 5}
    return conform(SPAN, len(names), name=names, domain="user", **{**columns, **other})


@pytest.fixture
def few_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ascend_sn.store.repeated_spans.MANY_SPANS", 1)


@pytest.mark.usefixtures("few_are_many")
def test_marked_spans_are_read_as_they_were_recorded(tmp_path: Path, cache: Path) -> None:
    profiler = Profiler(output_path=tmp_path / "run", backend="host")
    with profiler:
        profiler.start_op("forward")
        profiler.start_op("all_reduce", kind="communication", size_bytes=8)
        profiler.stop_op("all_reduce")
        profiler.stop_op("forward")
    inner, outer = recorded_rows(tmp_path / "run", SPAN_ROW, SPAN_COMMUNICATION)

    with ascend_sn.open(tmp_path / "run") as run:
        found = run.sql(f"select {COLUMNS} from span").fetchall()
        with Sandbox(run) as sandbox, sandbox.answer(f"select {COLUMNS} from span order by span_id") as answer:
            shown = list(answer.rows())
        (file,) = run.files["span"]

    assert found == [
        (0, "forward", "user", "compute", outer.ts_ns, outer.dur_ns, 0),
        (1, "all_reduce", "user", "communication", inner.ts_ns, inner.dur_ns, 1),
    ]
    assert shown == found
    assert file.name == REPEATING_PART
    assert duckdb.read_parquet(str(file)).project("span_id, kind, name, ts_ns").fetchall() == [
        (0, "compute", None, None),
        (1, "communication", None, None),
    ]


def test_a_span_and_its_operator_take_at_most_eight_bytes(tmp_path: Path, cache: Path) -> None:
    profiler = Profiler(output_path=tmp_path / "run", backend="host")
    with profiler:
        for step in range(1000):
            for layer in range(20):
                profiler.start_op(f"layer {layer}")
                profiler.start_op("linear")
                profiler.stop_op("linear")
                profiler.stop_op(f"layer {layer}")
            if step % 100 == 0:
                profiler.save()  # no row is lost where the machine is busy

    with ascend_sn.open(tmp_path / "run") as run:
        ((count,),) = run.sql("select count(*) from span").fetchall()
        size = sum(file.stat().st_size for name in ("span", "operator") for file in run.files[name])

    assert count == 40_000
    assert size <= 8 * count


@pytest.mark.usefixtures("few_are_many")
@pytest.mark.parametrize("in_memory", [True, False])
def test_profiles_of_both_sorts_stand_side_by_side(tmp_path: Path, in_memory: bool) -> None:
    db = duckdb.connect()
    marked, whole = spans(["a", "b"]), spans(["c"])
    bare = without_repeated({"span": marked, "operator": operators(["a", "b"])})
    assert bare is not None
    write_parquet(db, operators(["a", "b"]), tmp_path / "operator/profile=0/part-0.parquet", rank=3)
    write_parquet(db, operators(["other"]), tmp_path / "operator/profile=1/part-0.parquet", rank=4)
    write_parquet(db, bare, tmp_path / "span/profile=0" / REPEATING_PART, rank=3)
    write_parquet(db, whole, tmp_path / "span/profile=1/part-0.parquet", rank=4)

    for table in (OPERATOR, SPAN):
        files = sorted(tmp_path.glob(f"{table.name}/profile=*/part-*.parquet"))
        show_table(db, table, files, in_memory=in_memory)

    assert db.sql("select profile_id, rank, span_id, name, ts_ns from span order by all").fetchall() == [
        (0, 3, 0, "a", 0),
        (0, 3, 1, "b", 10),
        (1, 4, 0, "c", 0),
    ]


@pytest.mark.usefixtures("few_are_many")
@pytest.mark.parametrize(
    "other",
    [
        operators(["a", "c"]),
        operators(["a"]),
        operators(["a", "b"], dur_ns=6),
        operators(["a", "b"], ts_ns=np.array([0, 11])),
        operators(["a", "b"], depth=1),
        operators(["a", "b"], thread="other"),
        operators(["a", "b"], operator_id=np.array([1, 0])),
        operators([]),
    ],
)
def test_spans_that_are_other_rows_are_kept_whole(other: Rows) -> None:
    assert without_repeated({"span": spans(["a", "b"]), "operator": other}) is None


def test_few_spans_are_kept_whole() -> None:
    few, many = ["a"] * (MANY_SPANS - 1), ["a"] * MANY_SPANS

    assert without_repeated({"span": spans(few), "operator": operators(few)}) is None
    assert without_repeated({"span": spans(many), "operator": operators(many)}) is not None


@pytest.mark.usefixtures("few_are_many")
def test_without_operators_or_spans_nothing_is_left_out() -> None:
    assert without_repeated({"span": spans(["a"])}) is None
    assert without_repeated({"operator": operators(["a"])}) is None
    assert without_repeated({"span": spans([]), "operator": operators([])}) is None
