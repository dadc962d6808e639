from __future__ import annotations

import pytest

from ascend_sn.analysis.operator_names import plain_name, type_of


@pytest.mark.parametrize(
    ("name", "type_"),
    [
        ("aten::addmm", "MatMul"), ("MatMulV2", "MatMul"), ("Gemm", "MatMul"), ("aten::convolution", "Conv2d"),
        ("Conv2D", "Conv2d"), ("aten::_softmax", "Softmax"), ("Relu", "ReLU"), ("MyKernel", "MyKernel"),
        ("custom::thing", "thing"),
    ],
)  # fmt: skip
def test_an_operator_has_one_type_under_all_its_names(name: str, type_: str) -> None:
    assert type_of(name) == type_


def test_plain_names_have_no_case_name_space_or_punctuation() -> None:
    assert plain_name("aten::_log_softmax") == plain_name("LogSoftmax") == "logsoftmax"
