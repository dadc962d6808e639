"""Arguments of the wrong kind are refused in one line, before anything is worked out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import ascend_sn
from ascend_sn.advisor.thresholds import Thresholds
from ascend_sn.errors import UnknownNameError
from tests.timeline import timeline
from tests.unit.insight.drawn_runs import write_run


@pytest.fixture
def drawn(tmp_path: Path) -> Path:
    return write_run(timeline("r0 s1 |AA|"), tmp_path / "run")


def test_a_path_is_no_run() -> None:
    given: Any = "slow"

    with pytest.raises(TypeError, match=r"run must be an opened run, such as ascend_sn.open\(PATH\), not str"):
        ascend_sn.advise(given)
    with pytest.raises(TypeError, match="run must be an opened run"):
        ascend_sn.analysis.step_breakdown(given)
    with pytest.raises(TypeError, match="each side must be one or more opened runs"):
        ascend_sn.compare(given, given)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"codes": "R-DATA-1"}, r"codes must be a list, such as \['R-DATA-1'\], not a text"),
        ({"topics": "memory"}, "topics must be a list"),
        ({"thresholds": {"R-DATA-1": {}}}, r"thresholds must be a Thresholds, such as Thresholds.of_package\(\)"),
    ],
)
def test_what_is_of_another_kind_is_named(drawn: Path, given: dict[str, Any], said: str) -> None:
    with ascend_sn.open(drawn) as run, pytest.raises(TypeError, match=said):
        ascend_sn.advise(run, **given)


def test_a_misspelt_topic_is_named(drawn: Path) -> None:
    topics: Any = ["comunication"]

    with ascend_sn.open(drawn) as run, pytest.raises(UnknownNameError, match="did you mean 'communication'"):
        ascend_sn.advise(run, topics=topics)


def test_a_misspelt_table_of_the_settings_is_named(tmp_path: Path) -> None:
    (tmp_path / "ascend-sn.toml").write_text("[advisr]\nworth_from_ratio = 0.1\n")

    with pytest.raises(UnknownNameError, match=r"unknown table in ascend-sn\.toml 'advisr'; did you mean 'advisor'"):
        Thresholds.in_force(tmp_path)


def test_what_is_public_is_listed_and_nothing_else() -> None:
    assert {"open", "analyze", "advise", "compare", "analysis", "replay"} <= set(dir(ascend_sn))
    assert not {"TYPE_CHECKING", "annotations"} & set(dir(ascend_sn))
    assert {"step_breakdown", "result"} <= set(dir(ascend_sn.analysis))
    assert not {"Callable", "get_close_matches", "annotations"} & set(dir(ascend_sn.analysis))


def test_a_run_lists_its_tables(drawn: Path) -> None:
    with ascend_sn.open(drawn) as run:
        assert run.tables == {"profile": 1, "kernel": 1}
