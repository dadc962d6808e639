"""Tables of steps, shapes, leaks and requests: what stands in which cell."""

from __future__ import annotations

import msgspec
import pytest

from ascend_sn.report.documents.inference import BatchSize, Inference, RequestStage
from ascend_sn.report.documents.memory import LeakVerdict, Memory
from ascend_sn.report.documents.operators import KernelShape, Operators
from ascend_sn.report.documents.steps import Step, Steps
from ascend_sn.report.documents.views import View
from ascend_sn.report.tables.inference import inference_tables
from ascend_sn.report.tables.text import leak_table, shape_table, step_table
from ascend_sn.report.words.language import Language

ENGLISH, CHINESE = Language.load("en"), Language.load("zh")


def step_of(profile: int, number: int, dur_ns: int, origin: str = "mark") -> Step:
    return Step(profile_id=profile, rank=profile, step_id=number, step=number, origin=origin, ts_ns=0, dur_ns=dur_ns)


def leak_of(verdict: str, **more: object) -> LeakVerdict:
    known = {"slope_bytes_per_step": None, "growth_bytes": None, "onset_step": None, "phase": None, "steps_left": None}
    made: dict[str, object] = {"profile_id": 0, "rank": 0, "component": "PTA", "source": "curve", "steps": 40}
    return msgspec.convert({**made, **known, **more, "verdict": verdict}, LeakVerdict)


def test_steps_are_told_per_rank_and_guessed_ones_are_not() -> None:
    rows = [step_of(0, n, dur) for n, dur in enumerate((4_000_000, 1_000_000, 2_000_000))]
    rows += [step_of(1, 0, 9, "inferred"), step_of(1, 1, 9, "inferred")]

    table = step_table(Steps(collected=True, state="collected", rows=rows), ENGLISH)

    assert table is not None
    assert table.rows == (("rank 0", "3", "1.00 ms", "2.00 ms", "4.00 ms"),)


def test_one_step_makes_no_table() -> None:
    assert step_table(Steps(collected=True, state="collected", rows=[step_of(0, 0, 1)]), ENGLISH) is None


def test_shapes_say_types_once_and_how_many_rows_there_are() -> None:
    row = KernelShape(op_type="MatMul", kind="compute", core_type="AI_CORE", input_shapes="2,3;3,4",
                      input_dtypes="FLOAT;FLOAT", calls=2, total_ns=4_000, mean_ns=2_000, min_ns=1_000, max_ns=3_000,
                      share_ratio=0.4)  # fmt: skip
    section = Operators(collected=True, state="collected", shapes=[row], shape_count=9)

    table = shape_table(section, ENGLISH, View())

    assert table is not None
    assert table.rows == (("MatMul", "2,3; 3,4", "FLOAT", "2", "4.00 us", "2.00 us", "3.00 us", "40 %"),)
    assert table.note == "top 1 of 9"


def test_a_leak_is_told_with_its_growth_and_what_is_left() -> None:
    leaks = [leak_of("leak", slope_bytes_per_step=2 << 20, growth_bytes=80 << 20, onset_step=12, steps_left=800.4),
             leak_of("insufficient")]  # fmt: skip

    table = leak_table(Memory(collected=True, state="collected", leaks=leaks, leak_count=2), ENGLISH)

    assert table is not None
    assert table.rows == (("rank 0 \u00b7 PTA", "leaks", "40", "2.00 MiB", "80.0 MiB", "12", "800"),)
    assert "1 of 2 curves" in table.note


@pytest.mark.parametrize(("language", "said"), [(ENGLISH, "too few steps"), (CHINESE, "步数太少")])
def test_no_verdict_is_said_rather_than_no_leak(language: Language, said: str) -> None:
    section = Memory(collected=True, state="collected", leaks=[leak_of("insufficient")], leak_count=1)

    table = leak_table(section, language)

    assert table is not None
    assert (table.rows, said in table.note) == ((), True)


def test_requests_and_batch_sizes_have_a_table_each() -> None:
    stage = RequestStage(profile_id=0, rank=0, stage="total", source="request", requests=7, mean_ns=2e6, p50_ns=1e6,
                         p90_ns=3e6, p99_ns=4e6, max_ns=5_000_000, share_ratio=1.0, first_ns=5_000_000,
                         steady_mean_ns=1.5e6)  # fmt: skip
    size = BatchSize(profile_id=0, rank=0, batch_size=8, runs=3, mean_ns=4e6, p50_ns=4e6, p99_ns=5e6,
                     samples_per_s=2000.0, is_knee=True, is_highest=False)  # fmt: skip
    section = Inference(collected=True, state="collected", stages=[stage], batch_sizes=[size])

    requests, sizes = inference_tables(section, ENGLISH)

    assert requests.note == "7 requests"
    assert requests.rows == (
        ("total", "2.00 ms", "1.00 ms", "3.00 ms", "4.00 ms", "5.00 ms", "100 %", "5.00 ms", "1.50 ms"),
    )
    assert sizes.rows == (("8", "3", "4.00 ms", "4.00 ms", "5.00 ms", "2,000", "95 % of the highest"),)
    assert inference_tables(None, ENGLISH) == []
