"""What could not be read and what was asked for, as tables."""

from __future__ import annotations

from typing import get_args

from ascend_sn.model.capture import Capture, ProfileHeader
from ascend_sn.model.ledger import CoverageEntry, Ledger, State, coverage_rows
from ascend_sn.model.tables import COVERAGE, DAMAGE


def test_damage_is_an_entry_with_place_count_and_example() -> None:
    ledger = Ledger()

    ledger.add("trace.json", "truncated", place="byte 17842", example='{"ph": "X", "na')

    (row,) = ledger.rows().to_dicts()
    assert row == {
        "profile_id": None,
        "rank": None,
        "file": "trace.json",
        "place": "byte 17842",
        "kind": "truncated",
        "severity": "damage",
        "count": 1,
        "example": '{"ph": "X", "na',
    }


def test_a_long_example_is_cut_to_two_hundred_characters() -> None:
    ledger = Ledger()

    ledger.add("trace.json", "bad_row", example="x" * 1_000)
    ledger.add("trace.json", "bad_row", example="y" * 200)

    cut, whole = (entry.example for entry in ledger.entries)
    assert (len(cut), cut[-1]) == (200, "…")
    assert whole == "y" * 200


def test_nothing_noted_gives_empty_tables() -> None:
    assert Ledger().rows().length == 0
    assert coverage_rows([]).length == 0


def test_coverage_keeps_the_four_kinds_of_nothing_apart() -> None:
    states = [state for state in get_args(State) if state != "collected"]

    rows = coverage_rows([CoverageEntry("memory_event", state, reason=state) for state in states])

    assert [row["state"] for row in rows.to_dicts()] == ["empty", "missing", "not_requested", "damaged", "unsupported"]
    assert rows.table is COVERAGE


def test_the_documented_states_are_the_ones_of_the_type() -> None:
    assert COVERAGE.column("state").doc == ", ".join(get_args(State)) + "."
    assert DAMAGE.column("severity").doc.startswith("info: ")


def test_a_table_that_no_reader_gave_is_empty_with_all_columns() -> None:
    capture = Capture(ProfileHeader(format="drawing", source="r0", device_kind="cpu"))

    rows = capture.rows("kernel")

    assert rows.length == 0
    assert "core_type" in rows.columns


def test_the_header_is_one_row_of_the_profile_table() -> None:
    header = ProfileHeader(
        format="kineto", source="a/trace.json", device_kind="cuda", rank=3, config={"with_stack": True}, versions={}
    )

    (row,) = header.rows().to_dicts()

    given = {name: value for name, value in row.items() if value is not None}
    assert given == {
        "rank": 3,
        "session_count": 1,
        "device_kind": "cuda",
        "format": "kineto",
        "source": "a/trace.json",
        "versions": "{}",
        "config": '{"with_stack":true}',
    }
