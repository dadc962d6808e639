"""Thresholds: from the package, a file, the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from ascend_sn.advisor import rules
from ascend_sn.advisor.thresholds import FILE_NAME, Thresholds
from ascend_sn.errors import UnknownNameError, UsageError

UNITS = ("_ratio", "_ns", "_bytes", "_count", "_bytes_per_s", "_z")


def test_the_command_line_goes_before_the_file_and_the_file_before_the_package(tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).write_text("[advisor.R-COMM-1]\noverlap_below_ratio = 0.4\nexposed_from_ratio = 0.2\n")

    in_force = Thresholds.in_force(tmp_path, ["R-COMM-1.exposed_from_ratio=0.1"])

    limits = in_force.of("R-COMM-1")
    assert (limits["overlap_below_ratio"], limits["exposed_from_ratio"]) == (0.4, 0.1)
    assert limits["contention_from_ratio"] == Thresholds.of_package().of("R-COMM-1")["contention_from_ratio"]
    assert in_force.changed == {"R-COMM-1.overlap_below_ratio", "R-COMM-1.exposed_from_ratio"}


def test_what_holds_for_all_rules_can_be_set_too(tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).write_text("[advisor]\ncritical_from_ratio = 0.2\n")

    assert Thresholds.in_force(tmp_path).of("advisor")["critical_from_ratio"] == 0.2


def test_other_tables_of_the_file_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).write_text("[gate]\nepoch = 1\n")

    assert Thresholds.in_force(tmp_path).changed == frozenset()


@pytest.mark.parametrize(
    "text",
    ["[advisor", "advisor = 1", "[advisor.R-COMM-1]\nnothing = 1", "[advisor.R-NONE-1]\nx_ratio = 1",
     '[advisor.R-COMM-1]\nexposed_from_ratio = "much"', "[advisor.R-COMM-1]\nexposed_from_ratio = -1",
     "[advisor.R-COMM-1]\nexposed_from_ratio = nan"],
)  # fmt: skip
def test_a_file_that_makes_no_sense_is_a_usage_error(tmp_path: Path, text: str) -> None:
    (tmp_path / FILE_NAME).write_text(text)

    with pytest.raises(UsageError):
        Thresholds.in_force(tmp_path)


@pytest.mark.parametrize("option", ["R-COMM-1", "R-COMM-1=1", "R-COMM-1.exposed_from_ratio=", "=", ""])
def test_an_option_of_another_form_is_a_usage_error(option: str) -> None:
    with pytest.raises(UsageError, match=r"CODE\.name=number"):
        Thresholds.of_package().with_options([option])


def test_the_nearest_name_is_told() -> None:
    with pytest.raises(UnknownNameError, match="overlap_below_ratio"):
        Thresholds.of_package().with_options(["R-COMM-1.overlap_bellow_ratio=1"])


def test_every_threshold_names_its_unit_and_its_rule() -> None:
    tables = Thresholds.of_package().tables()

    assert set(tables) - set(rules.CODES) == {"advisor"}
    assert [name for values in tables.values() for name in values if not name.endswith(UNITS)] == []


def test_the_key_tells_different_settings_apart() -> None:
    one, other = (Thresholds.of_package().with_options([f"R-COMM-1.exposed_from_ratio={x}"]) for x in (0.1, 0.2))

    assert Thresholds.of_package().key == ""
    assert one.key != other.key
