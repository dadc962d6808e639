"""The user's line among those of libraries."""

from __future__ import annotations

import pytest

from ascend_sn.advisor.user_frame import user_frame


@pytest.mark.parametrize(
    "library",
    [
        "<built-in method relu of type object at 0x7f>",
        "torch/nn/functional.py(1760): relu",
        "nn.Module: ReLU_0",
        "/usr/lib/python3.11/threading.py(953): run",
        "/venv/lib/python3.11/site-packages/torch_npu/x.py(1): f",
        "ascend_sn/collect/backends/torch_steps.py(33): next_batch",
        "<frozen importlib._bootstrap>(241): _call_with_frames_removed",
    ],
)
def test_the_innermost_line_outside_libraries_counts(library: str) -> None:
    assert (
        user_frame(f"{library}\ntorchmodel/train.py(15): step\nmain.py(3): <module>") == "torchmodel/train.py(15): step"
    )


def test_a_stack_of_libraries_alone_has_none() -> None:
    assert user_frame("torch/nn/functional.py(1760): relu\nnn.Module: ReLU_0") is None
    assert user_frame("") is None
