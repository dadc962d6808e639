"""Numbers as text: units, three digits, and the unit in a parameter's name."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from ascend_sn.report.words.quantities import (
    bytes_text,
    count_text,
    duration_text,
    percent_text,
    quantity_text,
    rate_text,
)


@pytest.mark.parametrize(
    ("ns", "text"),
    [
        (0, "0 ns"),
        (999, "999 ns"),
        (1_000, "1.00 us"),
        (8_873_756, "8.87 ms"),
        (101_963_203, "102 ms"),
        (999_499, "999 us"),
        (999_999, "1.00 ms"),
        (1_234_000_000, "1.23 s"),
        (90_000_000_000, "90.0 s"),
        (-1_500, "-1.50 us"),
    ],
)
def test_a_duration_takes_the_unit_that_leaves_three_digits(ns: int, text: str) -> None:
    assert duration_text(ns) == text


@pytest.mark.parametrize(
    ("size", "text"),
    [(0, "0 B"), (1023, "1023 B"), (1024, "1.00 KiB"), (500, "500 B"), (6 << 28, "1.50 GiB"), (1 << 40, "1.00 TiB")],
)
def test_sizes_are_binary_and_say_so(size: int, text: str) -> None:
    assert bytes_text(size) == text


def test_rates_are_decimal() -> None:
    assert [rate_text(18.44e9), rate_text(999), rate_text(2e12)] == ["18.4 GB/s", "999 B/s", "2.00 TB/s"]


@pytest.mark.parametrize(
    ("ratio", "text"),
    [(0.0, "0 %"), (0.0004, "<0.1 %"), (0.0347, "3.5 %"), (0.0996, "10 %"), (0.7465, "75 %"), (1.0, "100 %")],
)
def test_a_ratio_becomes_percent(ratio: float, text: str) -> None:
    assert percent_text(ratio) == text


def test_a_small_share_is_never_shown_as_nothing() -> None:
    assert percent_text(1e-9) != percent_text(0)


def test_counts_have_thousands_separated() -> None:
    assert [count_text(1234567), count_text(2.5)] == ["1,234,567", "2.5"]


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("wait_ns", 1500, "1.50 us"),
        ("wait_ratio", 0.5, "50 %"),
        ("peak_bytes", 2048, "2.00 KiB"),
        ("bandwidth_bytes_per_s", 2e9, "2.00 GB/s"),
        ("launch_count", 12345, "12,345"),
        ("rank", 3, "3"),
        ("name", "add", "add"),
    ],
)
def test_a_parameter_is_formatted_by_the_unit_in_its_name(name: str, value: object, text: str) -> None:
    assert quantity_text(name, value) == text


@given(st.integers(min_value=0, max_value=2**62))
def test_durations_never_show_more_than_four_digits_before_the_unit(ns: int) -> None:
    digits = duration_text(ns).split()[0].replace(".", "")

    assert len(digits) <= 4 or ns >= 9_999_500_000_000
