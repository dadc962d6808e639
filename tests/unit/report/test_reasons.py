"""What readers say of absent and damaged data is known in both languages: why, what collects it, one case."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import ascend_sn
from ascend_sn.report.documents.health import Coverage, Damage
from ascend_sn.report.words.language import Language
from ascend_sn.report.words.reasons import (
    EXAMPLES,
    REASONS,
    TURN_ON,
    example_text,
    reason_text,
    turn_on_text,
)
from ascend_sn.report.words.wording import absence_text, damage_text
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


@pytest.mark.parametrize("message_id", [*REASONS, *TURN_ON, *EXAMPLES])
def test_the_english_text_is_found_by_itself(message_id: str) -> None:
    family = {"reason": reason_text, "turn-on": turn_on_text, "example": example_text}[message_id.split(".")[0]]
    said, expected = (
        re.sub(r"\{\w+\}", "X", language.template(message_id).replace("{count}", "7"))
        for language in (ENGLISH, CHINESE)
    )

    assert family(said, CHINESE) == expected


@requires_shared
@pytest.mark.parametrize("words", SAMPLES)
def test_the_reasons_of_the_samples_are_known(words: tuple[str, ...]) -> None:
    from ascend_sn import open as open_run

    with open_run(shared_path(*words)) as run:
        reasons = [row[0] for row in run.sql("select distinct reason from coverage where reason <> ''").fetchall()]

    assert reasons
    assert [said for said in reasons if reason_text(said, CHINESE) == said] == []


# What the command says instead of making a run: no table holds it.
ENDS_THE_COMMAND = {
    "nothing usable was found",
    "numbers in it are too large to be added up (X)",
    "the shards hold no profile",
    "the summary cannot be read: X",
}


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("left out", "已略去"),
        ("the file ends early; 12 events were read", "文件提前结束；已读取 12 个事件"),
        ("the file ends early; 12 complete events were read", "文件提前结束；已读取 12 个完整的事件"),
        ("2 exports of torch_npu for 3 windows; was it stopped before it had parsed them?",
         "3 个采集窗口只有 2 份 torch_npu 导出；是否在解析完成前被停止？"),
        ("not a SQLite database (at table TASK); the text export beside it is read instead",
         "不是 SQLite 数据库（位置：table TASK）；改读旁边的文本导出"),
        ("Duration(us) = 'N/A'", "Duration(us) = 'N/A'"),
        ("", ""),
    ],
)  # fmt: skip
def test_an_example_is_told_in_chinese_and_data_stays(said: str, expected: str) -> None:
    assert example_text(said, CHINESE) == expected
    assert example_text(said, ENGLISH) == said


def test_a_line_about_damage_holds_no_english_sentence() -> None:
    damage = Damage(
        rank=None, file="trace.json", place="byte 7", kind="truncated", severity="damage", count=1,
        example="the file ends early; 12 events were read",
    )  # fmt: skip

    assert damage_text(damage, CHINESE) == "trace.json (byte 7): 文件提前结束：已读取 12 个事件"
    assert damage_text(damage, ENGLISH) == "trace.json (byte 7): ends early: 12 events were read"


def sentences_of_readers() -> list[str]:
    """Every sentence in the code that ends as an example of the damage table; X for what differs."""
    package = Path(ascend_sn.__file__).parent
    paths = [path for folder in ("formats", "store", "derive") for path in sorted((package / folder).rglob("*.py"))]
    return sorted({one for path in paths for one in sentences_of(ast.parse(path.read_text(encoding="utf-8")))})


def sentences_of(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        found: list[ast.expr] = []
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            found = [node.value] if node.targets[0].id in ("example", "told", "problem") else []
        elif isinstance(node, ast.Call):
            called = getattr(node.func, "id", getattr(node.func, "attr", ""))
            found = [word.value for word in node.keywords if word.arg in ("example", "lost")]
            if called in ("FormatError", "EmptyInputError", "NotParsedError"):
                found += node.args[1:2]
            elif called in ("NoSnapshotError", "_record"):
                found += node.args
        for value in found:
            for part in (value.body, value.orelse) if isinstance(value, ast.IfExp) else (value,):
                said = text_of(part)
                # `Index = X` is the cell of a file, and one word is a name.
                if re.search(r"[a-z] [a-z]", said) and not re.fullmatch(r"[A-Z]\w* = X", said):
                    yield said


def text_of(value: ast.expr) -> str:
    if isinstance(value, ast.Constant) and isinstance(value.value, str):
        return value.value
    if isinstance(value, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "X" for part in value.values)
    return ""


def test_every_sentence_of_the_readers_is_known() -> None:
    # A number for what differs: it fits wherever a name or a number stands.
    said = [re.sub(r"\bX\b", "7", one) for one in sentences_of_readers() if one not in ENDS_THE_COMMAND]

    assert len(said) > 60
    assert [one for one in said if example_text(one, CHINESE) == one] == []
