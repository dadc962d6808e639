"""Both catalogues hold the same messages, and the code uses exactly these."""

from __future__ import annotations

import re
import string
from typing import Any, get_args

import pytest

from ascend_sn.advisor import rules
from ascend_sn.cli.main import COMMANDS
from ascend_sn.report.documents.cluster import Figure
from ascend_sn.report.documents.critical_path import TimeClassName
from ascend_sn.report.words.language import CODES, DOMAIN, LOCALE_FOLDER

pofile = pytest.importorskip("babel.messages.pofile", reason="babel reads the catalogues")

PACKAGE = LOCALE_FOLDER.parent
SOURCES = [
    path
    for folder in ("advisor", "cli", "compare", "insight", "replay", "report")
    for path in sorted((PACKAGE / folder).rglob("*"))
    if path.suffix in (".py", ".j2")
]

# Families of ids that are put together from a stable word of the data; every word of a family must have its message.
FAMILIES = {
    "absent": ("missing", "not_requested", "unsupported", "damaged", "empty"),
    "bottleneck": ("data", "compute"),
    "confidence": ("high", "medium", "low"),
    "link": ("sender", "receiver", "link", "rank"),
    "effort": ("config", "code", "model"),
    "rule-page": ("why", "advice", "verify", "not-when"),
    "severity": ("critical", "warning", "info"),
    "cause": ("compute", "data", "host", "copy"),
    "cli": (),
    "column": (),
    "copy": ("h2d", "d2h", "d2d", "h2h", "unknown"),
    "direction": ("normal", "slight", "severe", "extreme", "wait", "idle", "unknown"),
    "figure": get_args(Figure),
    "fusion": ("fused", "candidate"),
    "grade": ("normal", "slight", "severe", "extreme"),
    "kind": ("exposed_copy", "exposed_comm", "compute", "other"),
    "lane": ("host", "device", "communication"),
    "latency": ("total", "copy_in", "inference", "copy_out", "gap"),
    "leak": ("leak", "cache", "steady", "insufficient"),
    "place": ("host", "device", "communication"),
    "host-memory": ("pageable", "pinned"),
    "pair": ("chip-unknown", "link-unknown", "no-transfers"),
    "waiting": ("none", "moderate", "high"),
    "health": ("ranks-of-exactly", "ranks-of-at-least"),
    "loss": ("exposed-comm", "exposed-copy", "free"),
    "part": (
        "compute_ns",
        "exposed_comm_ns",
        "exposed_copy_ns",
        "free_ns",
        "transit_ns",
        "wait_ns",
        "idle_ns",
        "unknown_ns",
    ),
    "critical_path": ("of-step", "of-inferred-step", "of-whole-capture"),
    "path": get_args(TimeClassName),
    "pattern": ("sender", "receiver", "link"),
    "per": ("step", "request", "sample"),
    "phase": ("data", "forward", "backward", "communication", "optimizer", "other"),
    "report": ("operators", "communication", "memory", "copies", "fusion", "inference"),
    "rule": tuple(
        f"{code.lower()}.{part}"
        for code in rules.CODES
        for part in ("title", "message", "advice", "verify", "why", "not-when")
    ),
    "stage": ("copy_in", "inference", "copy_out", "gap"),
    "verdict": ("cpu-capture", "host-capture"),
}

# Chinese words that had a second one beside them: what stands for each of them now.
ONE_WORD = {
    "可信度": "置信度", "诊断建议": "优化建议", "通信组": "通信域", "回放": "重放", "已保留": "已预留",
    "传输方式": "链路类型",
    "未掩盖": "暴露", "气泡": "空泡", "自身耗时": "自身时间", "总耗时": "总时间", "总时长": "总时间", "总览": "概览",
    "重叠分析": "掩盖分析", "归约": "规约", "限值": "阈值", "单步": "step", "每步": "每个 step", "流水级": "stage",
    "launch 时延": "下发时延", "峰值内存": "内存峰值",
}  # fmt: skip

# Ids whose last part is a word of the data: kinds of damage and names of checks come from readers and analyses.
OPEN_FAMILIES = ("damage.", "check.", "term.")


def catalogue(code: str) -> Any:
    with (LOCALE_FOLDER / code / "LC_MESSAGES" / f"{DOMAIN}.po").open("rb") as file:
        return pofile.read_po(file, locale=code)


def messages(code: str) -> dict[str, list[str]]:
    """Return message ids with their texts, one per plural form."""
    found = {}
    for message in catalogue(code):
        if message.id:
            key = message.id[0] if isinstance(message.id, tuple) else message.id
            found[key] = list(message.string) if isinstance(message.string, tuple) else [message.string]
    return found


def used_words() -> set[str]:
    """Return every string of the sources that looks like a message id, or like the last part of one."""
    text = "\n".join(path.read_text(encoding="utf-8") for path in SOURCES)
    return set(re.findall(r"[\"']([a-z][a-z0-9_.-]+)[\"']", text))


def test_both_languages_hold_the_same_messages() -> None:
    english, chinese = (set(messages(code)) for code in CODES)

    assert english == chinese


@pytest.mark.parametrize("code", CODES)
def test_no_text_is_empty_or_fuzzy(code: str) -> None:
    assert [key for key, texts in messages(code).items() if not all(texts)] == []
    assert [message.id for message in catalogue(code) if message.id and message.fuzzy] == []


def test_both_languages_fill_in_the_same_parameters() -> None:
    def placeholders(text: str) -> set[str]:
        return {name for _, name, _, _ in string.Formatter().parse(text) if name is not None}

    english, chinese = (messages(code) for code in CODES)

    odd = {key for key in english if len({frozenset(placeholders(text)) for text in english[key] + chinese[key]}) > 1}

    assert odd - {"rank.number", "rank.unknown"} == set()


def test_every_used_id_has_a_message() -> None:
    ids = {
        word
        for word in used_words()
        if "." in word and word.split(".")[0] in {key.split(".")[0] for key in messages("en")}
    }

    missing = ids - set(messages("en"))

    assert {word for word in missing if not word.endswith((".", ".py", ".md", ".html", ".js", ".json", ".j2"))} == set()


def test_every_word_of_a_family_has_a_message() -> None:
    known = set(messages("en"))

    assert {f"{family}.{word}" for family, words in FAMILIES.items() for word in words} - known == set()


def test_every_message_is_used() -> None:
    words = used_words()
    made = {f"{family}.{word}" for family, parts in FAMILIES.items() for word in parts}
    made |= {f"cli.{command}.{part}" for command in COMMANDS for part in ("summary", "help", "examples")}
    made |= {f"column.{word}" for word in words} | {
        f"term.{word}.{part}" for word in words for part in ("name", "text")
    }

    unused = {key for key in messages("en") if key not in words | made and not key.startswith(OPEN_FAMILIES[:2])}

    assert unused == set()


def test_readers_name_no_kind_of_damage_without_a_text() -> None:
    folders = ("formats", "derive", "store")
    text = "\n".join(
        path.read_text(encoding="utf-8") for name in folders for path in sorted((PACKAGE / name).rglob("*.py"))
    )
    kinds = set(re.findall(r"ledger\.add\(\s*[^\"()]*(?:\([^()]*\))?[^\"()]*,\s*\"([a-z_]+)\"", text))

    assert len(kinds) > 10
    assert {kind for kind in kinds if f"damage.{kind}" not in messages("en")} == set()


def test_the_scanner_names_no_kind_of_damage_without_a_text() -> None:
    native = PACKAGE / "_native"
    kinds = set(re.findall(r'\] = "([a-z_0-9]+)"', (native / "c" / "scan_window.c").read_text(encoding="utf-8")))
    kinds |= set(re.findall(r'_end\("([a-z_]+)"', (native / "byte_source.py").read_text(encoding="utf-8")))
    kinds |= set(re.findall(r'damage\.append\(\("([a-z_]+)"', (native / "trace_scan.py").read_text(encoding="utf-8")))

    assert len(kinds) > 25
    assert {kind for kind in kinds if f"damage.{kind}" not in messages("en")} == set()


def test_the_catalogues_are_compiled_from_their_sources() -> None:
    mofile = pytest.importorskip("babel.messages.mofile", reason="babel compiles the catalogues")

    def texts(read: Any) -> dict[str, Any]:
        return {str(message.id): list(message.string) for message in read if message.id}

    for code in CODES:
        with (LOCALE_FOLDER / code / "LC_MESSAGES" / f"{DOMAIN}.mo").open("rb") as file:
            compiled = texts(mofile.read_mo(file))
        source = {key.replace("(", "[").replace(")", "]"): value for key, value in texts(catalogue(code)).items()}

        assert {key.replace("(", "[").replace(")", "]"): value for key, value in compiled.items()} == source, (
            "compile them: python hatch_build.py"
        )


@pytest.mark.parametrize("word", ONE_WORD)
def test_one_thing_has_one_word_in_chinese(word: str) -> None:
    paths = sorted((LOCALE_FOLDER / "zh" / "LC_MESSAGES").glob("*.po"))
    said = [line for path in paths for line in path.read_text(encoding="utf-8").splitlines() if word in line]

    assert len(paths) == 3
    assert said == [], f"say {ONE_WORD[word]}"
