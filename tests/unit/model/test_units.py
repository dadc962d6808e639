"""Text of other tools to whole nanoseconds and bytes."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given, strategies as st

from ascend_sn.model import units
from ascend_sn.model.units import decimal_text_to_int, reals, scaled


@pytest.mark.parametrize(
    ("text", "ns"),
    [
        ("1736408883704643.212", 1_736_408_883_704_643_212),
        ("1736408883704643.212\t", 1_736_408_883_704_643_212),
        ('"1736408883704643.912\t"', 1_736_408_883_704_643_912),
        (" 20.5 ", 20_500),
        ("1695115378713661", 1_695_115_378_713_661_000),
        ("1695115715400.2", 1_695_115_715_400_200),
        ("1.69512E+15", 1_695_120_000_000_000_000),
        ("5e-3", 5),
        ("0", 0),
        ("0.0004", 0),
        ("0.0005", 1),
        ("-0.5", -500),
        ("-0.0005", -1),
        (".25", 250),
        ("3.", 3_000),
        ("007.010", 7_010),
    ],
)
def test_microseconds_become_nanoseconds_exactly(text: str, ns: int) -> None:
    assert decimal_text_to_int(text, 3) == ns


@pytest.mark.parametrize(
    "text",
    ["", "\t", '""', "N/A", "N/A\t", "NA", "nan", "NaN", "null", "None", "inf", "-Infinity", "1,5", "abc", "0x10"],
)
def test_what_is_no_number_is_absent_and_not_zero(text: str) -> None:
    assert decimal_text_to_int(text, 3) is None


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("9223372036854775807", 9_223_372_036_854_775_807),
        ("9223372036854775808", None),
        ("-9223372036854775808", -9_223_372_036_854_775_808),
        ("-9223372036854775809", None),
        ("18446744073709551615", None),
        ("1e400", None),
        ("1e999999999", None),
        ("-1e999999", None),
        ("9" * 5_000, None),
        ("0." + "3" * 5_000, 0),
        ("1e-999999999", 0),
    ],
)
def test_numbers_outside_int64_are_absent(text: str, number: int | None) -> None:
    assert decimal_text_to_int(text, 0) == number


@pytest.mark.parametrize(
    ("text", "factor", "count"),
    [
        ("1187.9814", units.BYTES_PER_MIB, 1_245_688_784),  # 1187.9814 x 1048576 = 1245688784.4864
        ("147456.5", units.BYTES_PER_KIB, 150_995_456),
        ("427.5961", units.BYTES_PER_MB, 427_596_100),
        ("0.0000001", units.BYTES_PER_MB, 0),
    ],
)
def test_sizes_are_scaled_to_the_nearest_byte(text: str, factor: int, count: int) -> None:
    assert scaled(Decimal(text), factor) == count


@pytest.mark.parametrize("text", ["1e30", "9007199254740992", "1e999990", "1e999999999"])
def test_sizes_outside_int64_are_absent(text: str) -> None:
    assert scaled(Decimal(text), units.BYTES_PER_KIB) is None


def test_reals_accept_ratios_and_refuse_what_is_not_finite() -> None:
    column = reals(["0.25", "1e-3\t", "inf", "", None])

    assert column.values[column.valid].tolist() == [0.25, 0.001]
    assert column.valid.tolist() == [True, True, False, False, False]


@given(st.integers(min_value=-(2**63) + 1, max_value=2**63 - 1))
def test_every_nanosecond_survives_the_way_through_text(ns: int) -> None:
    sign, rest = ("-", -ns) if ns < 0 else ("", ns)

    assert decimal_text_to_int(f"{sign}{rest // 1000}.{rest % 1000:03}", 3) == ns


@given(st.decimals(min_value=-(10**15), max_value=10**15, allow_nan=False, allow_infinity=False))
def test_any_spelling_rounds_half_away_from_zero(number: Decimal) -> None:
    nearest = int((abs(number) * 1000 + Decimal("0.5")).to_integral_value(rounding="ROUND_FLOOR"))

    assert decimal_text_to_int(str(number), 3) == (-nearest if number < 0 else nearest)
