"""What the public Profiler promises, call by call."""

from __future__ import annotations

import logging
import threading
from pathlib import Path

import pytest

from ascend.profiler import Profiler, ProfilerConfig
from ascend_sn.errors import ProfilerPathError, ProfilerStateError
from ascend_sn.model.trace_schema import (
    LOST,
    METRIC,
    OPEN_FLAG,
    SESSION_END,
    SESSION_START,
    SPAN,
    SPAN_COMMUNICATION,
    SPAN_DATA,
    STEP,
    THREAD,
)
from tests.unit.collect.recorded import names, rows


def test_nested_spans_lie_inside_each_other(tmp_path: Path) -> None:
    profiler = Profiler(output_path=tmp_path)

    profiler.start()
    profiler.start_op("outer")
    profiler.start_op("inner")
    profiler.stop_op("inner")
    profiler.stop_op("outer")
    profiler.stop()

    inner, outer = rows(tmp_path, SPAN)
    assert (inner.name, outer.name) == ("inner", "outer")
    assert outer.ts_ns <= inner.ts_ns <= inner.end_ns <= outer.end_ns


def test_spans_that_cross_are_both_kept(tmp_path: Path) -> None:
    profiler = Profiler(output_path=tmp_path)

    profiler.start()
    profiler.start_op("first")
    profiler.start_op("second")
    profiler.stop_op("first")
    profiler.stop_op("second")
    profiler.stop()

    first, second = rows(tmp_path, SPAN)
    assert (first.name, second.name) == ("first", "second")
    assert first.ts_ns <= second.ts_ns <= first.end_ns <= second.end_ns


def test_a_stop_without_a_start_is_said_once_and_counted(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    profiler = Profiler(output_path=tmp_path)

    profiler.start()
    with caplog.at_level(logging.WARNING):
        profiler.stop_op("never started")
        profiler.stop_op("never started")
    profiler.start_op("real")
    profiler.stop_op("real")
    profiler.stop()

    assert [row.name for row in rows(tmp_path, SPAN)] == ["real"]
    assert len(caplog.records) == 1
    assert "'never started'" in caplog.text
    assert profiler.fault_counts == {"unmatched stop_op": 2}


def test_threads_record_at_the_same_time_each_with_its_own_nesting(tmp_path: Path) -> None:
    profiler = Profiler(output_path=tmp_path)
    barrier = threading.Barrier(4)

    def work(number: int) -> None:
        barrier.wait()
        for _ in range(500):
            with profiler.op(f"outer {number}"), profiler.op("inner"):
                pass

    profiler.start()
    threads = [threading.Thread(target=work, args=(number,), name=f"loader-{number}") for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    profiler.stop()

    spans = rows(tmp_path, SPAN)
    assert len(spans) == 4 * 500 * 2
    thread_names = {row.thread: row.name for row in rows(tmp_path, THREAD)}
    for number in range(4):
        outer = [row for row in spans if row.name == f"outer {number}"]
        assert len(outer) == 500
        assert {thread_names[row.thread] for row in outer} == {f"loader-{number}"}
        inner = [row for row in spans if row.name == "inner" and row.thread == outer[0].thread]
        assert all(o.ts_ns <= i.ts_ns <= i.end_ns <= o.end_ns for i, o in zip(inner, outer, strict=True))


def test_more_rows_than_the_buffer_holds_all_arrive(tmp_path: Path) -> None:
    profiler = Profiler(output_path=tmp_path)

    profiler.start()
    for _ in range(50_000):
        profiler.start_op("x")
        profiler.stop_op("x")
    profiler.stop()

    assert len(rows(tmp_path, SPAN)) == 50_000
    assert rows(tmp_path, LOST) == []


def test_a_span_still_open_at_stop_is_cut_there(tmp_path: Path) -> None:
    profiler = Profiler(output_path=tmp_path)

    profiler.start()
    profiler.start_op("endless")
    profiler.stop()

    (span,) = rows(tmp_path, SPAN | OPEN_FLAG)
    (session,) = rows(tmp_path, SESSION_END)
    assert span.name == "endless"
    assert span.end_ns == session.end_ns


def test_steps_follow_each_other_without_gaps_from_the_start_of_the_session(tmp_path: Path) -> None:
    profiler = Profiler(output_path=tmp_path)

    profiler.start()
    profiler.step()
    profiler.step(10)
    profiler.step()
    profiler.stop()

    first, second, third = rows(tmp_path, STEP)
    (session,) = rows(tmp_path, SESSION_START)
    assert [row.value for row in (first, second, third)] == [0, 10, 11]
    assert (first.ts_ns, second.ts_ns, third.ts_ns) == (session.ts_ns, first.end_ns, second.end_ns)


def test_a_collective_carries_bytes_group_ranks_and_its_number_in_the_group(tmp_path: Path) -> None:
    profiler = Profiler(output_path=tmp_path)

    profiler.start()
    for group in ("dp", "tp", "dp"):
        with profiler.op("all_reduce", "communication", size_bytes=4096, group=group, ranks=[0, 1], dtype="float32"):
            pass
    profiler.stop()

    collectives = rows(tmp_path, SPAN_COMMUNICATION)
    described = [record for record in names(tmp_path).values() if "group" in record]
    assert [(row.value, row.ref) for row in collectives] == [(4096, 0), (4096, 0), (4096, 1)]
    assert [(record["group"], record["ranks"], record["dtype"]) for record in described] == [
        ("dp", [0, 1], "float32"),
        ("tp", [0, 1], "float32"),
    ]


def test_an_unknown_kind_is_said_and_the_span_is_kept(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    profiler = Profiler(output_path=tmp_path)

    profiler.start()
    profiler.start_op("x", kind="comunication")
    profiler.stop_op("x")
    profiler.stop()

    assert [row.name for row in rows(tmp_path, SPAN)] == ["x"]
    assert "'comunication'" in caplog.text
    assert "communication" in caplog.text


def test_nothing_wrong_in_a_call_reaches_the_program(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    profiler = Profiler(output_path=tmp_path)

    profiler.start()
    profiler.log_metric("loss", "not a number")  # type: ignore[arg-type]
    profiler.log_metric("loss", "not a number")  # type: ignore[arg-type]
    profiler.start_op("x", size_bytes="many")  # type: ignore[arg-type]
    profiler.step("last")  # type: ignore[arg-type]
    profiler.log_metric("loss", 0.5)
    profiler.stop()

    assert next(row.name for row in rows(tmp_path, METRIC)) == "loss"
    assert len([record for record in caplog.records if record.exc_info]) == 3


def test_sessions_are_numbered_parts_of_one_file(tmp_path: Path) -> None:
    profiler = Profiler(output_path=tmp_path)

    for name in ("first", "second"):
        profiler.start()
        profiler.start_op(name)
        profiler.stop_op(name)
        profiler.stop()
        profiler.start_op("between the sessions")
        profiler.stop_op("between the sessions")

    assert [row.value for row in rows(tmp_path, SESSION_START)] == [0, 1]
    assert [row.name for row in rows(tmp_path, SPAN)] == ["first", "second"]
    first, second = rows(tmp_path, SESSION_END)
    assert first.end_ns <= second.ts_ns
    assert sorted(path.name for path in tmp_path.iterdir()) == ["names.trace", "train.trace"]


def test_another_output_folder_begins_another_trace(tmp_path: Path) -> None:
    profiler = Profiler(output_path=tmp_path / "a")

    profiler.start()
    profiler.stop()
    profiler.start(output_dir=tmp_path / "b")
    profiler.stop()

    assert len(rows(tmp_path / "a", SESSION_START)) == 1
    assert [row.value for row in rows(tmp_path / "b", SESSION_START)] == [0]


def test_a_folder_cleared_between_sessions_is_filled_again(tmp_path: Path) -> None:
    profiler = Profiler(output_path=tmp_path)

    profiler.start()
    profiler.stop()
    for path in tmp_path.iterdir():
        path.unlink()
    profiler.start()
    profiler.stop()

    assert [row.value for row in rows(tmp_path, SESSION_START)] == [0]


def test_saved_in_the_middle_is_readable_at_once(tmp_path: Path) -> None:
    profiler = Profiler(output_path=tmp_path)

    profiler.start()
    profiler.start_op("done")
    profiler.stop_op("done")
    profiler.save(intermediate=True)
    in_the_middle = rows(tmp_path, SPAN)
    profiler.stop()

    assert [row.name for row in in_the_middle] == ["done"]


def test_save_before_and_after_everything_is_harmless(tmp_path: Path) -> None:
    profiler = Profiler(output_path=tmp_path / "out")

    profiler.save()
    profiler.save(intermediate=True)
    nothing_there = not (tmp_path / "out").exists()
    profiler.start()
    profiler.stop()
    profiler.save()
    profiler.save()

    assert nothing_there
    assert len(rows(tmp_path / "out", SESSION_END)) == 1


def test_the_first_use_starts_recording(tmp_path: Path) -> None:
    profiler = Profiler(output_path=tmp_path)

    profiler.log_metric("lr", 0.1)
    profiler.stop()
    profiler.log_metric("lr", 0.2)

    assert not profiler.is_recording
    assert next(row.name for row in rows(tmp_path, METRIC)) == "lr"
    assert len([row for row in rows(tmp_path, METRIC) if row.name == "lr"]) == 1


def test_start_after_the_first_use_goes_over_into_a_session_of_its_own(tmp_path: Path) -> None:
    profiler = Profiler(output_path=tmp_path)

    profiler.log_metric("lr", 0.1)
    profiler.start()
    profiler.stop()

    assert [row.value for row in rows(tmp_path, SESSION_START)] == [0, 1]


def test_a_path_that_cannot_be_written_is_only_logged_when_use_started_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file.txt").write_text("x")
    profiler = Profiler(output_path=tmp_path / "file.txt" / "out")

    for _ in range(3):
        profiler.start_op("x")
        profiler.stop_op("x")

    assert len(caplog.records) == 1
    assert "file.txt/out" in caplog.text


def test_with_records_and_lets_exceptions_through(tmp_path: Path) -> None:
    with pytest.raises(KeyError, match="from the program"), Profiler(output_path=tmp_path) as profiler:  # noqa: PT012
        profiler.start_op("before")
        profiler.stop_op("before")
        raise KeyError("from the program")

    assert not profiler.is_recording
    assert [row.name for row in rows(tmp_path, SPAN)] == ["before"]
    assert len(rows(tmp_path, SESSION_END)) == 1


def test_op_closes_its_span_when_the_body_raises(tmp_path: Path) -> None:
    with Profiler(output_path=tmp_path) as profiler:
        with pytest.raises(ZeroDivisionError), profiler.op("divide", kind="data"):
            _ = 1 / 0
        profiler.start_op("after")
        profiler.stop_op("after")

    assert [row.name for row in rows(tmp_path, SPAN_DATA, SPAN)] == ["divide", "after"]


def test_a_decorated_function_is_a_session_outside_and_a_span_inside_one(tmp_path: Path) -> None:
    profiler = Profiler(output_path=tmp_path)

    @profiler
    def add(a: int, b: int) -> int:
        """Add."""
        return a + b if a == 0 else add(a - 1, b + 1)

    result = add(1, 2)

    assert (result, add.__name__, add.__doc__) == (3, "add", "Add.")
    assert len(rows(tmp_path, SESSION_START)) == 1
    inner, outer = rows(tmp_path, SPAN)
    assert inner.name is not None
    assert inner.name.endswith("add")
    assert outer.ts_ns <= inner.ts_ns <= inner.end_ns <= outer.end_ns


def test_a_coroutine_function_cannot_be_decorated(tmp_path: Path) -> None:
    async def train() -> None:
        pass

    with pytest.raises(TypeError, match="asynchronous"):
        Profiler(output_path=tmp_path)(train)


def test_a_second_start_is_refused_and_the_session_goes_on(tmp_path: Path) -> None:
    profiler = Profiler(output_path=tmp_path)
    profiler.start()
    profiler.start_op("long")

    with pytest.raises(ProfilerStateError, match=str(tmp_path)):
        profiler.start()

    profiler.stop_op("long")
    profiler.stop()
    assert [row.name for row in rows(tmp_path, SPAN)] == ["long"]
    assert len(rows(tmp_path, SESSION_START)) == 1


@pytest.mark.parametrize("path", ["file.txt/x", "file.txt", "nul\0byte"])
def test_a_bad_path_raises_at_start_and_names_it(tmp_path: Path, path: str) -> None:
    (tmp_path / "file.txt").write_text("mine")
    profiler = Profiler()

    with pytest.raises(ProfilerPathError) as raised:
        profiler.start(output_dir=f"{tmp_path}/{path}")

    assert path in str(raised.value)
    assert not profiler.is_recording
    assert profiler.output_folder is None
    assert (tmp_path / "file.txt").read_text() == "mine"


def test_two_profilers_lie_side_by_side(tmp_path: Path) -> None:
    one, two = Profiler(output_path=tmp_path), Profiler(output_path=tmp_path)

    one.start()
    two.start()
    one.start_op("of one")
    one.stop_op("of one")
    one.stop()
    two.stop()

    assert one.output_folder == str(tmp_path)
    assert two.output_folder is not None
    assert Path(two.output_folder).parent == tmp_path
    assert rows(two.output_folder, SPAN) == []


def test_settings_by_name_win_over_the_configuration(tmp_path: Path) -> None:
    config = ProfilerConfig(output_path=tmp_path, enable_memory=True)

    profiler = Profiler(config, device_id=3, enable_memory=False)

    assert profiler.config == ProfilerConfig(output_path=tmp_path, device_id=3)
    assert config.enable_memory


def test_a_path_given_as_configuration_is_explained() -> None:
    with pytest.raises(TypeError, match="output_path="):
        Profiler("out")  # type: ignore[arg-type]


def test_a_copy_of_a_profiler_is_silent_until_started(tmp_path: Path) -> None:
    import copy

    profiler = Profiler(output_path=tmp_path)
    profiler.start()

    twin = copy.deepcopy(profiler)
    twin.start_op("x")
    twin.stop_op("x")
    profiler.stop()

    assert twin.config == profiler.config
    assert twin.output_folder is None
    assert rows(tmp_path, SPAN) == []
