"""The advising snippets of the guides as written; the tests bring the recordings that they take for granted."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path

import pytest

from tests.shared_data import requires_shared, shared_path

TRACE = Path(__file__).resolve().parents[1] / "golden" / "train_trace" / "v1"
DATABASES = shared_path("data", "torch_npu", "db", "level1")
SLOW_RANK = shared_path("cases", "dv15_slow_rank")

FINDINGS = """
from asc_tools.advisor import Analyzer

# WHY: Analyzer加载采集数据并执行自动分析，返回结构化的瓶颈报告
analyzer = Analyzer(profiler_data_dir="./profiler_data")
report = analyzer.analyze()

# 报告中包含多个发现项，每个发现项有严重度评级和建议描述
for finding in report.findings:
    severity = finding["severity"]  # critical / warning / info
    location = finding["location"]  # 瓶颈所在的算子或代码位置
    suggestion = finding["suggestion"]  # 优化建议
    if severity == "critical":
        print(f"【严重】{location}: {suggestion}")
"""

PAIRS = """
from asc_tools.advisor import Analyzer, AnalysisProfile

# WHY: 指定分析模式为通信专项分析，专门针对多卡场景下的梯度同步瓶颈
analyzer = Analyzer(profiler_data_dir="./profiler_data")
comm_report = analyzer.analyze(profile=AnalysisProfile.COMMUNICATION)

# 通信报告包含各卡间通信对的带宽利用率和同步等待时间
for comm_pair in comm_report.comm_pairs:
    card_src = comm_pair["src_card"]
    card_dst = comm_pair["dst_card"]
    bandwidth_util = comm_pair["bandwidth_utilization"]  # 百分比
    avg_wait_ms = comm_pair["avg_wait_time_ms"]  # 平均等待时间
    if bandwidth_util < 30:
        print(f"卡{card_src}→卡{card_dst} 带宽利用率仅{bandwidth_util}%，存在优化空间")
    if avg_wait_ms > 5:
        print(f"卡{card_src}→卡{card_dst} 平均等待{avg_wait_ms}ms，建议检查通信与计算的Overlap")
"""


def run(snippet: str, data: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run a snippet in a folder that holds the data under the name of the guide."""
    (folder / "profiler_data").symlink_to(data)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("ASCEND_SN_LANG", "zh")
    exec(compile(snippet, "<guide>", "exec"), {})


@requires_shared
def test_a_slow_rank_is_critical_and_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run(FINDINGS, SLOW_RANK, tmp_path, monkeypatch)

    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("【严重】")]
    assert lines[0].startswith("【严重】rank 2")


@requires_shared
def test_waits_between_pairs_are_those_of_the_recorded_tasks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run(PAIRS, DATABASES, tmp_path, monkeypatch)

    # Straight from the profiler's database: Notify_Wait tasks of rank 0 for the chip in place 6, per collective.
    file = DATABASES / "rank0_ascend_pt" / "ASCEND_PROFILER_OUTPUT" / "ascend_pytorch_profiler_0.db"
    with sqlite3.connect(f"file:{file}?mode=ro", uri=True) as database:
        ((waited_ns, calls),) = database.execute(
            """
            select sum(task.endNs - task.startNs), count(distinct comm.opId)
            from COMMUNICATION_TASK_INFO comm
            join TASK task using (globalTaskId)
            join STRING_IDS kind on kind.id = comm.taskType
            where kind.value = 'Notify_Wait' and comm.srcRank = 0 and comm.dstRank = 6
            """
        )
    out = capsys.readouterr().out
    assert f"卡0→卡6 平均等待{round(waited_ns / calls / 1e6, 3)}ms，建议检查通信与计算的Overlap" in out
    assert "卡1→卡6 平均等待" in out
    assert "带宽利用率仅" not in out  # all links reach more than half of their peak


@requires_shared
def test_the_bandwidth_of_a_pair_is_that_of_its_copies(tmp_path: Path) -> None:
    from asc_tools.advisor import AnalysisProfile, Analyzer

    report = Analyzer(DATABASES, cache_dir=tmp_path / "cache").analyze(profile=AnalysisProfile.COMMUNICATION)

    # 61,210,624 bytes in 1,814,697 ns of copies and 2,277,166 ns of reductions, of 28 GB/s
    pair = next(pair for pair in report.comm_pairs if (pair.src_card, pair.dst_card) == (0, 6))
    assert pair["bandwidth_bytes_per_s"] == pytest.approx(61_210_624 / 4_091_863e-9, rel=1e-3)
    assert pair["bandwidth_utilization"] == pytest.approx(53.4, abs=0.1)


@pytest.mark.parametrize("snippet", [FINDINGS, PAIRS], ids=["findings", "pairs"])
def test_the_snippets_run_on_a_recording_of_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, snippet: str) -> None:
    shutil.copytree(TRACE, tmp_path / "recording")

    run(snippet, tmp_path / "recording", tmp_path, monkeypatch)
