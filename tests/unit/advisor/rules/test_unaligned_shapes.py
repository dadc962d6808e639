"""R-OP-5: matrix shapes that do not fill the blocks of the cores."""

from __future__ import annotations

import pytest
from duckdb import DuckDBPyConnection

from ascend_sn.advisor.rules.unaligned_shapes import padding_ratio
from ascend_sn.advisor.thresholds import Thresholds
from tests.unit.advisor.advised import advised, found, suppressed
from tests.unit.advisor.rules.matrix import product, step_of

ODD = "1024,1000;1000,1024"


def products(odd_ns: int, aligned_ns: int, *, rest_ns: int = 0, device_kind: str = "npu") -> DuckDBPyConnection:
    """A product over 1000, one over 1024 of nearly the same work, and other work."""
    db = step_of(odd_ns + aligned_ns + rest_ns, device_kind=device_kind)
    if odd_ns:
        product(db, 1, 0, odd_ns, shapes=ODD)
    if aligned_ns:
        product(db, 2, odd_ns, aligned_ns)
    if rest_ns:
        product(db, 3, odd_ns + aligned_ns, rest_ns, shapes="1024", output="1024", op_type="Mul")
    return db


def test_an_unaligned_product_is_priced_at_the_rate_of_an_aligned_one() -> None:
    # The aligned one takes half of the time for 1024 / 1000 of the work; padded, both are the same work.
    finding = found(products(40_000, 20_000), "R-OP-5")

    assert finding is not None
    assert finding.message.params["shapes"] == ODD
    assert finding.message.params["padding_ratio"] == pytest.approx(0.008)
    assert finding.gain is not None
    # Padding 1000 to 1008: (1000 / 40) / (1024 / 20) of the time, and 0.8 % more work.
    assert finding.gain.expected_ns == pytest.approx(40_000 * (1 - 1000 / 1024 / 2 * 1.008), rel=0.001)


def test_the_share_counts_from_the_threshold_on() -> None:
    assert advised(products(3_000, 1_500, rest_ns=95_500), "R-OP-5").quiet == ()
    assert advised(products(2_900, 1_450, rest_ns=95_650), "R-OP-5").quiet == ("R-OP-5",)


def test_aligned_products_are_quiet() -> None:
    assert advised(products(0, 20_000), "R-OP-5").quiet == ("R-OP-5",)


def test_without_an_aligned_peer_nothing_is_promised() -> None:
    assert suppressed(products(40_000, 0), "R-OP-5") == ["suppressed.no-aligned-peer"]


def test_a_product_of_other_shapes_says_nothing_about_padding() -> None:
    # 1707 tokens of an expert at a lower rate than 2048 of a product that is a quarter as wide.
    db = step_of(60_000)
    product(db, 1, 0, 40_000, shapes="1707,1024;1024,4096")
    product(db, 2, 40_000, 5_000, shapes="2048,1024;1024,1024")

    assert suppressed(db, "R-OP-5") == ["suppressed.no-aligned-peer"]


def test_the_same_product_with_more_rows_says_what_padding_gains() -> None:
    db = step_of(60_000)
    product(db, 1, 0, 40_000, shapes="1707,1024;1024,4096")
    product(db, 2, 40_000, 20_000, shapes="2048,1024;1024,4096")

    assert found(db, "R-OP-5") is not None


def test_padding_that_costs_more_is_not_advised() -> None:
    assert suppressed(products(20_000, 20_500), "R-OP-5") == ["suppressed.padding-costs-more"]


def test_other_devices_have_other_blocks() -> None:
    assert advised(products(40_000, 20_000, device_kind="cuda"), "R-OP-5").quiet == ("R-OP-5",)


@pytest.mark.parametrize(
    ("family", "shapes", "expected"),
    [
        ("matmul", "32,64;64,16", 0.0),
        ("matmul", "1,64;64,16", 0.0),  # a vector is no padded matrix
        ("matmul", "32,60;60,16", 64 / 60 - 1),
        ("attention", "1,8,128,100", 128 / 100 - 1),
        ("attention", "1,8,100,128", 0.0),
    ],
)
def test_padding_is_that_of_the_blocked_axes(family: str, shapes: str, expected: float) -> None:
    limits = Thresholds.of_package().of("R-OP-5")

    assert padding_ratio(family, shapes, limits) == pytest.approx(expected)
