"""The Analyzer of the guides: items that answer by name, numbers where nothing was recorded."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from asc_tools.advisor import AnalysisProfile, Analyzer
from ascend_sn.advisor.facts import Facts
from ascend_sn.errors import InputError, UnknownNameError
from ascend_sn.report.analyzer import AnalysisReport, report_of
from ascend_sn.report.words.language import Language
from ascend_sn.store import Run
from tests.timeline import empty_tables, insert, together
from tests.unit.analysis.rows import collective, group, profile
from tests.unit.report.drawn import DrawnRun, nothing, two_ranks

TRACE = Path(__file__).resolve().parents[2] / "golden" / "train_trace" / "v1"


def analysed(run: Run, about: AnalysisProfile = AnalysisProfile.COMMUNICATION) -> AnalysisReport:
    return report_of(Facts(run), about, Language.load("en"))


def test_a_pair_answers_by_name_and_by_attribute() -> None:
    # 14 bytes in 1 ns on a link of 28 GB/s; two waits of 6 and 8 ms for rank 1, in two collectives
    db = empty_tables()
    profile(db, 0, device_name="Ascend910B3")
    insert(db, "link", rank=0, group_id="g", src_rank=0, dst_rank=1, rank_scope="global", transport="HCCS",
           size_bytes=1_400, dur_ns=100)  # fmt: skip
    with together(db):
        for number, dur in enumerate((6_000_000, 8_000_000)):
            insert(db, "collective", rank=0, collective_id=number, op="allreduce", group_id="g", ts_ns=0, dur_ns=dur)
            insert(
                db, "comm_task", rank=0, collective_id=number, name="Notify_Wait", src_rank=0, dst_rank=1, dur_ns=dur
            )

    pairs = analysed(DrawnRun(db)).comm_pairs

    by_link = next(pair for pair in pairs if pair.transports)
    assert (by_link["src_card"], by_link["dst_card"], by_link["bandwidth_utilization"]) == (0, 1, 50.0)
    assert dict(by_link)["bandwidth_bytes_per_s"] == by_link.bandwidth_bytes_per_s == 14e9
    assert [pair["avg_wait_time_ms"] for pair in pairs if not math.isnan(pair["avg_wait_time_ms"])] == [7.0]


def test_unknown_figures_are_numbers_with_a_reason() -> None:
    run = two_ranks()
    run.db.execute("update profile set device_name = null")

    (first, _) = analysed(run).comm_pairs

    assert math.isnan(first["bandwidth_utilization"])
    assert math.isnan(first["avg_wait_time_ms"])
    assert not first["bandwidth_utilization"] < 30
    assert not first["avg_wait_time_ms"] > 5
    assert "HCCS" in first["reason"]
    assert "waiting" in first["reason"]


def test_where_no_pair_was_recorded_the_members_tell_who_waits_for_whom() -> None:
    db = empty_tables()
    for rank in (0, 1):
        profile(db, rank, host="one")
    group(db, "g", 2, 0, 1)
    collective(db, 0, 0, 10, 30_000_000)
    collective(db, 1, 0, 20_000_010, 30_000_000)

    (pair,) = analysed(DrawnRun(db)).comm_pairs

    assert (pair.src_card, pair.dst_card, pair.avg_wait_time_ms) == (0, 1, 20.0)
    assert math.isnan(pair.bandwidth_utilization)
    assert "no transfer" in pair.reason


def test_a_finding_answers_by_name_and_by_attribute() -> None:
    report = analysed(two_ranks())

    finding = report.findings[0]
    assert list(report) == list(report.findings)
    assert (finding["severity"], finding["rule"]) == (finding.severity, "R-COMM-0")
    assert finding.severity in ("critical", "warning", "info")
    assert finding["location"].startswith("rank 0")
    assert "2 of at least 8" in finding["description"]
    assert finding["suggestion"]
    assert finding["priority"] == {"critical": "high", "warning": "medium", "info": "low"}[finding.severity]
    assert {"severity", "location", "description", "suggestion", "rule", "evidence", "expected_gain", "confidence"} <= (
        set(dict(finding))
    )


def test_an_unknown_field_is_a_key_error() -> None:
    with pytest.raises(KeyError, match="colour"):
        analysed(two_ranks()).findings[0]["colour"]


def test_pairs_belong_to_communication() -> None:
    assert analysed(two_ranks(), AnalysisProfile.MEMORY).comm_pairs == ()
    assert len(analysed(two_ranks(), AnalysisProfile.ALL).comm_pairs) == 2


def test_a_run_without_anything_has_no_findings_and_no_pairs() -> None:
    report = analysed(nothing(), AnalysisProfile.ALL)

    assert (report.findings, report.comm_pairs) == ((), ())
    assert any(line.startswith("R-COMM-0: ") for line in report.not_collected)


def test_texts_are_in_the_language_that_was_asked_for(tmp_path: Path) -> None:
    chinese = report_of(Facts(two_ranks()), AnalysisProfile.COMMUNICATION, Language.load("zh"))

    assert "通信" in chinese.findings[0].description
    assert "等待" in chinese.comm_pairs[0].reason


def test_a_recording_is_opened_by_its_folder(tmp_path: Path) -> None:
    with Analyzer(profiler_data_dir=TRACE, language="en", cache_dir=tmp_path / "cache") as analyzer:
        report = analyzer.analyze("data")

    assert report.profile is AnalysisProfile.DATA


def test_a_wrong_name_of_a_profile_says_which_one_is_meant(tmp_path: Path) -> None:
    analyzer = Analyzer(TRACE, cache_dir=tmp_path / "cache")

    with pytest.raises(UnknownNameError, match="did you mean 'memory'"):
        analyzer.analyze("memroy")


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nowhere"):
        Analyzer(tmp_path / "nowhere")
