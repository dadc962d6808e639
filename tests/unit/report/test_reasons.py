"""Why something was not collected, in the reader's language: what the readers say is known in both."""

from __future__ import annotations

import re

import pytest

from ascend_sn.report.documents.health import Coverage
from ascend_sn.report.words.language import Language
from ascend_sn.report.words.reasons import REASONS, TURN_ON, reason_text, turn_on_text
from ascend_sn.report.words.wording import absence_text
from tests.shared_data import requires_shared, shared_path

ENGLISH, CHINESE = Language.load("en"), Language.load("zh")
SAMPLES = (
    ("data", "torch_npu", "text", "level1"), ("data", "torch_npu", "text", "level0"),
    ("data", "kineto", "nccl_parser_config"), ("data", "kineto", "cpu_only"),
)  # fmt: skip


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("profile_memory was off", "未开启 profile_memory"),
        ("requested (record_shapes), but nothing was recorded", "已请求采集（record_shapes），但没有记录到数据"),
        (
            "requested, but nothing was recorded (looked in kernel_details.csv)",
            "已请求采集，但没有记录到数据（已查找 kernel_details.csv）",
        ),
        ("the host made 12 launches, the device recorded nothing", "主机侧有 12 次下发，设备侧没有记录"),
        ("a sentence of a reader from elsewhere", "a sentence of a reader from elsewhere"),
        ("", ""),
    ],
)
def test_a_reason_is_told_in_chinese(said: str, expected: str) -> None:
    assert reason_text(said, CHINESE) == expected
    assert reason_text(said, ENGLISH) == said


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("profile_memory=True, of a program whose graphs are compiled for static shapes",
         "profile_memory=True，且程序的图按静态 shape 编译"),
        ("ProfilerConfig(enable_memory=True) or A=1", "ProfilerConfig(enable_memory=True) 或 A=1"),
        ("with_stack=True", "with_stack=True"),
        ("prof.add_metadata_json(...) or a torch_npu that writes parallel_group_info",
         "prof.add_metadata_json(...)，或能写出 parallel_group_info 的 torch_npu 版本"),
        ("schedule=torch_npu.profiler.schedule(...) and prof.step() after each step",
         "schedule=torch_npu.profiler.schedule(...)，并在每个 step 之后调用 prof.step()"),
    ],
)  # fmt: skip
def test_what_collects_it_keeps_its_code(said: str, expected: str) -> None:
    assert turn_on_text(said, CHINESE) == expected
    assert turn_on_text(said, ENGLISH) == said


def test_the_reason_is_part_of_what_is_said() -> None:
    absent = Coverage(
        table="memory_event", column=None, state="not_requested", reason="profile_memory was off",
        turn_on="profile_memory=True", profile_count=1,
    )  # fmt: skip

    assert absence_text(absent, CHINESE) == "未采集：未开启 profile_memory（开启方式：profile_memory=True）"


@pytest.mark.parametrize("message_id", [*REASONS, *TURN_ON])
def test_the_english_text_is_found_by_itself(message_id: str) -> None:
    family = reason_text if message_id in REASONS else turn_on_text
    said = re.sub(r"\{\w+\}", "X", ENGLISH.template(message_id))

    assert family(said, CHINESE) == re.sub(r"\{\w+\}", "X", CHINESE.template(message_id))


@requires_shared
@pytest.mark.parametrize("words", SAMPLES)
def test_the_reasons_of_the_samples_are_known(words: tuple[str, ...]) -> None:
    from ascend_sn import open as open_run

    with open_run(shared_path(*words)) as run:
        reasons = [row[0] for row in run.sql("select distinct reason from coverage where reason <> ''").fetchall()]

    assert reasons
    assert [said for said in reasons if reason_text(said, CHINESE) == said] == []
