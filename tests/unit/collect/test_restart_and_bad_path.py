"""Start, stop, start again, and paths that do not work: the six steps of the field case."""

from __future__ import annotations

from pathlib import Path

import pytest

from ascend.profiler import Profiler
from ascend_sn.errors import ProfilerPathError, ProfilerStateError
from ascend_sn.model.trace_schema import SESSION_END, SESSION_START, SPAN
from tests.unit.collect.recorded import rows


def test_restart_after_a_bad_path_and_a_program_that_raises(tmp_path: Path) -> None:
    (tmp_path / "file.txt").write_text("x")
    bad, good = tmp_path / "file.txt" / "x", tmp_path / "good"
    profiler = Profiler()

    with pytest.raises(ProfilerPathError, match=r"file\.txt/x"):  # 1
        profiler.start(output_dir=bad)
    profiler.start(output_dir=good)  # 2
    profiler.start_op("session 0")
    with pytest.raises(ProfilerStateError):  # 3
        profiler.start(output_dir=good)
    profiler.stop_op("session 0")
    profiler.stop()
    profiler.stop()  # 4
    first_session = rows(good)
    profiler.start()  # 5
    profiler.start_op("session 1")
    profiler.stop_op("session 1")
    profiler.stop()
    with pytest.raises(RuntimeError, match="in the model"), profiler:  # noqa: PT012 - 6
        profiler.start_op("session 2")
        raise RuntimeError("in the model")

    recorded = rows(good)
    assert recorded[: len(first_session)] == first_session
    assert [row.value for row in rows(good, SESSION_START)] == [0, 1, 2]
    assert [row.value for row in rows(good, SESSION_END)] == [0, 1, 2]
    assert [row.name for row in rows(good, SPAN)] == ["session 0", "session 1"]
    assert [row.name for row in recorded if row.kind > SPAN] == ["session 2"]
    assert not profiler.is_recording
