"""What `ascend-sn compare` says of fusion: six steps whose kernels are counted by hand."""

from __future__ import annotations

import html
import json
from pathlib import Path

import jsonschema
import pytest

from ascend_sn.cli import main as cli
from ascend_sn.compare.fused import FusedChanges
from ascend_sn.report.documents.comparison_schema import compare_schema
from ascend_sn.report.tables.comparison import fused_sentences
from ascend_sn.report.terminal.wrapping import cell_width
from ascend_sn.report.words.language import Language
from tests.unit.compare.recorded import sequence

Capture = pytest.CaptureFixture[str]

PLAIN = [("gemm", 500), ("scale", 100), ("mask", 50), ("softmax", 150), ("gemm", 500)]
FLASH = [("gemm", 500), ("flash", 120), ("gemm", 500)]
# Per step: scale, mask and softmax take 300 us and are three kernels of five; flash takes 120 us and is one of three.


def told(capsys: Capture, *words: object) -> str:
    with pytest.raises(SystemExit):
        cli.main([str(word) for word in words])
    return capsys.readouterr().out


@pytest.fixture(scope="module")
def fusing(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("fusing")
    sequence(folder / "plain", PLAIN)
    sequence(folder / "flash", FLASH)
    return folder


def test_the_json_holds_the_chain(capsys: Capture, fusing: Path) -> None:
    document = json.loads(told(capsys, "compare", fusing / "plain", fusing / "flash", "--format", "json"))

    jsonschema.validate(document, compare_schema())
    fused = document["fused"]
    (chain,) = fused.pop("chains")
    assert fused == {"rank_count": 1, "unlike_count": 0, "base_kernels": 5, "candidate_kernels": 3}
    assert [chain[name] for name in ("state", "before", "after", "before_kernels", "after_kernels", "count")] == [
        *("fused", "scale, mask, softmax", "flash", 3, 1, 1),
    ]
    assert [chain[name] for name in ("before_ns", "after_ns", "gain_ns")] == [300_000, 120_000, 180_000]


@pytest.mark.parametrize(
    ("language", "title", "state", "said"),
    [
        (
            "en",
            "What was fused or split",
            "fused",
            "Fusion saves 180 us per step and rank: 5 compute kernels before, 3",
        ),
        (
            "zh",
            "被融合或拆开的 kernel 序列",
            "已融合",
            "融合使每个 rank 每个 step 节省 180 us：之前 5 个计算 kernel，之后 3 个",
        ),
    ],
)
def test_every_form_says_it_in_both_languages(
    capsys: Capture, fusing: Path, tmp_path: Path, language: str, title: str, state: str, said: str
) -> None:
    sides = (fusing / "plain", fusing / "flash", "--lang", language)

    screen = told(capsys, "compare", *sides)
    markdown = told(capsys, "compare", *sides, "--format", "md")
    told(capsys, "compare", *sides, "--output", tmp_path / "diff.html")

    page = html.unescape((tmp_path / "diff.html").read_text(encoding="utf-8"))
    row = next(line for line in screen.splitlines() if "softmax \u2192 flash" in line)
    assert row.split() == [
        *["scale,", "mask,", "softmax", "\u2192", "flash"],
        state,
        *["3", "\u2192", "1", "1", "300", "us", "120", "us", "180", "us"],
    ]
    assert f"| scale, mask, softmax | flash | {state} | 3 \u2192 1 | 1 | 300 us | 120 us | 180 us |" in markdown
    cells = ("scale, mask, softmax", "flash", "3 \u2192 1", "1", "300 us", "120 us", "180 us")
    assert [cell for cell in cells if f">{cell}</td>" not in page] == []
    for text in (screen, markdown, page):
        assert title in text
        assert said in " ".join(text.split())


def test_what_fell_apart_costs(capsys: Capture, fusing: Path) -> None:
    out = " ".join(told(capsys, "compare", fusing / "flash", fusing / "plain").split())

    assert "flash \u2192 scale, mask, softmax split 1 \u2192 3 1 120 us 300 us -180 us" in out
    assert "The changed chains cost 180 us more per step and rank: 3 compute kernels before, 5 after." in out


@pytest.mark.parametrize("columns", [80, 110])
@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_long_chain_stays_within_the_screen(
    capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, columns: int, language: str
) -> None:
    parts = [(f"elementwise_kernel_of_the_part_{number}", 10) for number in range(9)]
    base = sequence(tmp_path / "base", [("gemm", 500), *parts, ("gemm", 500)])
    candidate = sequence(tmp_path / "candidate", [("gemm", 500), ("one_kernel_for_all_of_them", 30), ("gemm", 500)])
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.chdir(tmp_path)

    out = told(capsys, "compare", base.name, candidate.name, "--lang", language)

    assert "elementwise" in out
    assert "90.0 us" in out
    assert [line for line in out.splitlines() if cell_width(line) > columns] == []


def test_nothing_is_said_where_nothing_was_fused(capsys: Capture, runs: Path) -> None:
    out = told(capsys, "compare", runs / "base", runs / "slow")
    document = json.loads(told(capsys, "compare", runs / "base", runs / "slow", "--format", "json"))

    assert "fused" not in out
    assert document["fused"]["chains"] == []


def test_without_device_kernels_it_is_not_known(capsys: Capture, tmp_path: Path) -> None:
    for name in ("base", "candidate"):
        sequence(tmp_path / name, [])

    document = json.loads(told(capsys, "compare", tmp_path / "base", tmp_path / "candidate", "--format", "json"))

    assert document["fused"] is None


def test_runs_that_cannot_be_compared_are_not_looked_into(capsys: Capture, tmp_path: Path) -> None:
    for rank in (0, 1):
        sequence(tmp_path / "base" / f"rank{rank}", PLAIN, rank=rank, size=2)
    sequence(tmp_path / "candidate" / "rank0", FLASH, size=2)

    document = json.loads(told(capsys, "compare", tmp_path / "base", tmp_path / "candidate", "--format", "json"))

    assert (document["verdict"], document["fused"]) == ("cannot compare", None)


def test_of_several_runs_per_side_the_middle_ones_are_aligned(capsys: Capture, tmp_path: Path) -> None:
    lengths = {"short": 100.0, "middle": 500.0, "long": 900.0}
    words: list[object] = []
    for name, length in lengths.items():
        words += ["--baseline", sequence(tmp_path / f"b-{name}", [("gemm", length), *PLAIN[1:]])]
        words += ["--candidate", sequence(tmp_path / f"c-{name}", [("gemm", length), ("flash", length), FLASH[2]])]

    document = json.loads(told(capsys, "compare", *words, "--format", "json"))

    (chain,) = document["fused"]["chains"]
    assert (chain["before_ns"], chain["after_ns"]) == (300_000, 500_000)


def test_names_stay_names_in_every_form(capsys: Capture, tmp_path: Path) -> None:
    base = sequence(tmp_path / "base", [("gemm", 500), ("<b>scale", 100), ("mask", 50), ("gemm", 500)])
    candidate = sequence(tmp_path / "candidate", [("gemm", 500), ("fl\x1b[31mash", 120), ("gemm", 500)])

    screen = told(capsys, "compare", base, candidate)
    told(capsys, "compare", base, candidate, "--output", tmp_path / "diff.html")

    assert "\x1b" not in screen
    assert "<b>scale" in screen
    assert "<b>scale" not in (tmp_path / "diff.html").read_text(encoding="utf-8")


def test_of_many_ranks_eight_are_opened(capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ascend_sn.compare.fused_runs.LOOKED_INTO_WHOLE", 8)
    for rank in range(10):
        sequence(tmp_path / "base" / f"rank{rank}", PLAIN, count=3, rank=rank, size=10)
        sequence(tmp_path / "candidate" / f"rank{rank}", FLASH, count=3, rank=rank, size=10)

    document = json.loads(told(capsys, "compare", tmp_path / "base", tmp_path / "candidate", "--format", "json"))

    (chain,) = document["fused"]["chains"]
    assert (document["fused"]["rank_count"], chain["count"], chain["gain_ns"]) == (8, 1, 180_000)


def test_ranks_that_are_left_out_are_said() -> None:
    found = FusedChanges(chains=[], rank_count=3, unlike_count=2, base_kernels=9000, candidate_kernels=1)

    assert fused_sentences(found, Language.load("en")) == [
        "The kernels of 2 of 3 ranks differ too much to be compared in order; these ranks are left out."
    ]
