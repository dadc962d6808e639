from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from ascend_sn.analysis.shapes import plain_dtype, plain_dtypes, shapes_of, total_bytes


def test_tensors_are_parted_by_semicolons_and_a_scalar_is_empty() -> None:
    assert shapes_of("32,3,224,224;64") == ((32, 3, 224, 224), (64,))
    assert shapes_of("4096,1,2048;;;2048") == ((4096, 1, 2048), (), (), (2048,))
    assert shapes_of("") == ((),)


@pytest.mark.parametrize("text", [None, "a,b", "3,-1", "1.5"])
def test_what_is_no_shape_is_none(text: str | None) -> None:
    assert shapes_of(text) is None


@pytest.mark.parametrize(
    ("written", "plain"),
    [
        ("FLOAT", "float32"), ("DT_BF16", "bfloat16"), ("c10::BFloat16", "bfloat16"), ("Half", "float16"),
        ("c10::Half", "float16"), ("FLOAT16", "float16"), ("INT64", "int64"), ("long int", "int64"),
        ("BOOL", "bool"), ("torch.float32", "float32"), ("c10::Float8_e4m3fn", "float8"),
        ("Scalar", None), (None, None),
        ("double", "float64"),
    ],
)  # fmt: skip
def test_a_data_type_has_one_plain_name(written: str | None, plain: str | None) -> None:
    assert plain_dtype(written) == plain


def test_bytes_are_summed_over_tensors() -> None:
    assert total_bytes("4096,4096;4096,4096", "FLOAT16;FLOAT16") == 2 * 4096 * 4096 * 2
    assert total_bytes("8;;4", "FLOAT;;INT64") == 32 + 0 + 32
    assert total_bytes(";", "FLOAT;FLOAT") == 8  # two scalars


@pytest.mark.parametrize(("shapes", "dtypes"), [("8", None), (None, "FLOAT"), ("8;8", "FLOAT"), ("8", "TensorList")])
def test_unknown_bytes_are_none_and_not_zero(shapes: str | None, dtypes: str | None) -> None:
    assert total_bytes(shapes, dtypes) is None


@given(st.text(max_size=20))
def test_any_text_gives_shapes_or_none(text: str) -> None:
    shapes_of(text)
    plain_dtypes(text)
    total_bytes(text, text)
