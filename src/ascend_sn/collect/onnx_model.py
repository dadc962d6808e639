"""Operators of an ONNX model: run it with ONNX Runtime and its profiler on."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from ascend_sn.errors import ProfilerError, ProfilerPathError, UsageError

__all__ = ["profile_onnx_model"]

PROVIDERS: Final = ("CANNExecutionProvider", "CUDAExecutionProvider", "CPUExecutionProvider")
_TYPES: Final = {
    "tensor(float)": np.float32,
    "tensor(double)": np.float64,
    "tensor(float16)": np.float16,
    "tensor(int64)": np.int64,
    "tensor(int32)": np.int32,
    "tensor(int8)": np.int8,
    "tensor(uint8)": np.uint8,
    "tensor(bool)": np.bool_,
}


def profile_onnx_model(
    model: str | os.PathLike[str], output: str | os.PathLike[str], *, shapes: Sequence[str] = (), run_count: int = 20
) -> str:
    """Run a model on random input and leave the profile of its operators in `output`.

    Args:
        model: The model's file.
        output: Folder, created where it is not there.
        shapes: Shapes of inputs, `1,3,224,224` for the only one or `name:1,3,224,224`. Open dimensions are 1
            where nothing is said.
        run_count: Runs.

    Returns:
        The name of the execution provider: that of CANN, else of CUDA, else of the processor.

    Raises:
        ProfilerError: ONNX Runtime is not installed, or cannot load or run the model.
        ProfilerPathError: The folder cannot be written.
        UsageError: A shape that has no meaning, or that names no input.
    """
    try:
        import onnxruntime
    except ImportError as error:
        raise ProfilerError("ONNX Runtime is not installed: pip install 'ascend-sn[onnx]'") from error
    if not os.path.isfile(model):
        raise ProfilerPathError(os.fspath(model), "no such model file")
    try:
        os.makedirs(output, exist_ok=True)
    except OSError as error:
        raise ProfilerPathError(os.fspath(output), f"cannot be written: {error.strerror}") from error
    options = onnxruntime.SessionOptions()
    options.enable_profiling = True
    options.profile_file_prefix = os.path.join(output, "onnxruntime_profile")
    available = onnxruntime.get_available_providers()
    try:
        session = onnxruntime.InferenceSession(
            os.fspath(model), options, providers=[name for name in PROVIDERS if name in available]
        )
        inputs = _inputs(session.get_inputs(), shapes)
        for _ in range(run_count):
            session.run(None, inputs)
    except _errors() as error:
        raise ProfilerError(f"{os.fspath(model)}: ONNX Runtime: {str(error).splitlines()[0]}") from error
    session.end_profiling()
    return str(session.get_providers()[0])


def _inputs(nodes: Sequence[Any], shapes: Sequence[str]) -> dict[str, np.ndarray[Any, Any]]:
    wanted = dict(_shape(text, nodes) for text in shapes)
    random = np.random.default_rng(seed=1)
    inputs: dict[str, np.ndarray[Any, Any]] = {}
    for node in nodes:
        dims = wanted.get(node.name) or tuple(size if isinstance(size, int) else 1 for size in node.shape)
        dtype = _TYPES.get(node.type)
        if dtype is None:
            raise UsageError(f"input {node.name} is of type {node.type}, which cannot be made up")
        is_float = np.issubdtype(dtype, np.floating)
        inputs[node.name] = (random.standard_normal(dims) if is_float else np.ones(dims)).astype(dtype)
    return inputs


def _shape(text: str, nodes: Sequence[Any]) -> tuple[str, tuple[int, ...]]:
    name, colon, sizes = text.rpartition(":")
    if not colon and len(nodes) == 1:
        name = nodes[0].name
    known = [node.name for node in nodes]
    if name not in known:
        raise UsageError(f"shape {text!r} names no input; the inputs are {', '.join(known)}: NAME:1,3,224,224")
    try:
        dims = tuple(int(size) for size in sizes.replace("x", ",").split(","))
    except ValueError as error:
        raise UsageError(f"shape {text!r} is no list of sizes such as 1,3,224,224") from error
    return name, dims


def _errors() -> tuple[type[Exception], ...]:
    """Return what the runtime raises; its classes have no common base of their own."""
    from onnxruntime.capi import onnxruntime_pybind11_state as state

    classes = [found for found in vars(state).values() if isinstance(found, type) and issubclass(found, Exception)]
    return (*classes, RuntimeError, ValueError)
