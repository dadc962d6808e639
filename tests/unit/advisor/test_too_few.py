"""What rules say that found too few of something has its text in every language."""

from __future__ import annotations

import pytest

from ascend_sn.advisor import too_few
from ascend_sn.advisor.rule import Lacking
from ascend_sn.report.words.language import Language
from ascend_sn.report.words.reasons import reason_text, turn_on_text


@pytest.mark.parametrize(
    ("lacking", "reason", "turn_on"),
    [
        (
            too_few.too_few_steps("x", 27, 30, record=34),
            "step 数不足：可判断的有 27 个，至少需要 30 个",
            "采集 34 个以上的 step",
        ),
        (too_few.too_few_epochs("x", 1, 2), "epoch 数不足：只有 1 个，至少需要 2 个", "采集 2 个以上的 epoch"),
        (too_few.too_few_calls("x", 4, 5), "相同调用的次数不足：同一 kernel 最多 4 次，至少需要 5 次", "采集更多 step"),
        (too_few.too_few_requests("x", 9, 50), "请求数不足：采集到 9 个，至少需要 50 个", "采集 50 个以上的请求"),
        (
            too_few.too_few_sizes("x", 1, 2),
            "batch 大小的种类不足：只测了 1 种，至少需要 2 种",
            "用多种 batch 大小运行 ascend-sn throughput",
        ),
        (
            Lacking(
                "x", "too few ranks: 1 of 8 was recorded, 2 are needed", "open the folder with the ranks' own captures"
            ),
            "rank 数不足：8 个中采集了 1 个，至少需要 2 个",
            "打开各 rank 自身采集所在的文件夹",
        ),
    ],
)
def test_a_reason_is_told_in_chinese(lacking: Lacking, reason: str, turn_on: str) -> None:
    chinese = Language.load("zh")

    assert reason_text(lacking.reason, chinese) == reason
    assert turn_on_text(lacking.turn_on, chinese) == turn_on


@pytest.mark.parametrize(
    ("lacking", "reason"),
    [
        (too_few.too_few_epochs("x", 2, 3), "too few epochs: 2 seen, 3 are needed"),
        (too_few.too_few_requests("x", 1, 50), "too few requests: 1 recorded, 50 are needed"),
        (too_few.too_few_sizes("x", 2, 3), "too few batch sizes: 2 measured, 3 are needed"),
    ],
)
def test_a_reason_reads_right_for_one_and_for_several(lacking: Lacking, reason: str) -> None:
    assert lacking.reason == reason
    assert reason_text(reason, Language.load("zh")) != reason
