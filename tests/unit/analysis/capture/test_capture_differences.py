"""Captures of one job that were taken with different settings are named, setting by setting."""

from __future__ import annotations

from typing import Any

from duckdb import DuckDBPyConnection

from ascend_sn.analysis.capture.capture_differences import ANALYSIS
from ascend_sn.analysis.registry import evaluate
from tests.timeline import empty_tables, insert, together


def captures(*configs: tuple[int | None, str]) -> DuckDBPyConnection:
    db = empty_tables()
    with together(db):
        for profile_id, (rank, config) in enumerate(configs):
            about: dict[str, Any] = {"format": "drawn", "source": "x", "device_kind": "npu", "versions": "{}"}
            insert(db, "profile", profile_id=profile_id, rank=rank, config=config, **about)
    return db


def test_captures_alike_have_no_differences() -> None:
    db = captures((0, '{"stack":true}'), (1, '{"stack":true}'))

    assert evaluate(ANALYSIS, db).fetchall() == []


def test_the_unusual_value_is_named_with_its_ranks() -> None:
    db = captures((0, '{"a":{"stack":true}}'), (1, '{"a":{"stack":true}}'), (2, '{"a":{"stack":false}}'))

    assert evaluate(ANALYSIS, db).fetchall() == [("config.a.stack", "true", 2, "false", "2", 1)]


def test_a_setting_that_one_capture_lacks_is_a_difference() -> None:
    db = captures((0, '{"memory":1}'), (1, '{"memory":1}'), (None, "{}"))

    assert evaluate(ANALYSIS, db).fetchall() == [("config.memory", "1", 2, "absent", "?", 1)]


def test_of_two_equally_frequent_values_that_of_the_first_profile_is_usual() -> None:
    db = captures((5, '{"level":"b"}'), (6, '{"level":"a"}'))

    assert evaluate(ANALYSIS, db).fetchall() == [("config.level", '"b"', 1, '"a"', "6", 1)]


def test_what_differs_on_every_rank_by_nature_is_left_out() -> None:
    db = captures((0, '{"rank_id":0,"device_id":0}'), (1, '{"rank_id":1,"device_id":1}'))

    assert evaluate(ANALYSIS, db).fetchall() == []


def test_a_lone_capture_differs_from_nothing() -> None:
    assert evaluate(ANALYSIS, captures((0, '{"stack":true}'))).fetchall() == []
