"""What the categories and names of a PyTorch trace mean."""

from __future__ import annotations

import re
from typing import Final

import numpy as np

from ascend_sn.model.kinds import UNKNOWN_OPERATION
from ascend_sn.model.rows import Text

__all__ = [
    "ANNOTATION",
    "COPY",
    "DEVICE_ANNOTATION",
    "DEVICE_CLASSES",
    "HOST_CALL",
    "HOST_CLASSES",
    "KERNEL",
    "OPERATOR",
    "PYTHON",
    "SET",
    "SPAN",
    "SYNC",
    "UNKNOWN",
    "class_of_category",
    "collective_op",
    "copy_direction",
    "dtype_bytes",
    "dtype_of_kernel",
    "is_communication_kernel",
    "is_communication_request",
    "is_host_communication",
    "known_op",
    "own_step",
    "step_number",
]

OPERATOR, ANNOTATION, HOST_CALL, KERNEL, COPY, SET, SYNC, DEVICE_ANNOTATION, PYTHON, SPAN, UNKNOWN = range(11)

HOST_CLASSES: Final = (OPERATOR, ANNOTATION)
DEVICE_CLASSES: Final = (KERNEL, COPY, SET, SYNC)

_CLASSES: Final = {
    "cpu_op": OPERATOR,
    "operator": OPERATOR,
    "user_annotation": ANNOTATION,
    "gpu_user_annotation": DEVICE_ANNOTATION,
    "runtime": HOST_CALL,
    "kernel": KERNEL,
    "mtia_ccp_events": KERNEL,
    "hpu_op": KERNEL,
    "gpu_memcpy": COPY,
    "memcpy": COPY,
    "gpu_memset": SET,
    "memset": SET,
    "cuda_sync": SYNC,
    "cuda_event": SYNC,
    "xpu_sync": SYNC,
    "python_function": PYTHON,
    "trace": SPAN,
    "overhead": SPAN,
}

_HOST_SUFFIXES: Final = ("_runtime", "_driver")

_STEP: Final = re.compile(r"ProfilerStep\*?#(\d{1,9})")

_OWN_STEP: Final = re.compile(
    r"(?:(?:train|training|global)[ _]?)?(?:step|iteration|iter)[ _:#=-]{1,3}(\d{1,9})", re.IGNORECASE | re.ASCII
)

# The libraries' own device kernels by the start of the name, so that a kernel which only mentions one of
# them (`my_nccl_like_...`) stays compute; then the well-known kernels of engines that bypass the libraries.
_COMMUNICATION: Final = re.compile(
    r"(?:void\s+)?(?:[A-Za-z_]\w*::)*(?:(?:nccl|rccl|msccl|mscclpp|oneccl)[A-Za-z0-9]*Kernel"
    r"|(?:mscclpp|oneccl)(?:::|_)\w*(?:reduce|gather|scatter|broadcast|all_?to_?all)"
    r"|cross_device_reduce_\dstage|(?:one|two)_?[sS]hot_?[aA]ll_?[rR]educe|multimem_(?:one_shot_)?all_?(?:reduce|gather))"
    r"|(?:void\s+)?deep_ep::(?:\w+::)*(?:dispatch|combine)\b"
)
_REQUEST: Final = re.compile(r"(?:c10d::|_c10d_functional::|(?:nccl|rccl|hccl|xccl|oneccl|ucc):)\w")
_HOST_COMMUNICATION: Final = re.compile(r"(?:gloo|mpi):\w")

# Longest first: an all-to-all-v is no all-to-all, a reduce-scatter neither a reduce nor a scatter.
_OPS: Final = (
    ("alltoallv", "alltoallv"),
    ("alltoallbase", "alltoallv"),
    ("alltoall", "alltoall"),
    ("reducescatter", "reducescatter"),
    ("allgather", "allgather"),
    ("allreduce", "allreduce"),
    ("crossdevicereduce", "allreduce"),
    ("broadcast", "broadcast"),
    ("barrier", "barrier"),
    ("sendrecv", "sendrecv"),
    ("deepep", "alltoallv"),
    ("reduce", "reduce"),
    ("gather", "gather"),
    ("scatter", "scatter"),
    ("send", "send"),
    ("recv", "receive"),
    ("receive", "receive"),
)

_KERNEL_DTYPE: Final = re.compile(r"_(?:Sum|Prod|MinMax|Min|Max|Avg|PreMulSum|SumPostDiv)_([A-Za-z]+\d*(?:e\dm\d)?)")

_DTYPE_BYTES: Final = {
    **dict.fromkeys(("double", "f64", "fp64", "float64", "long", "long int", "i64", "int64", "u64"), 8),
    **dict.fromkeys(("uint64", "unsigned long", "unsigned long int", "c10::complex<float>", "complexfloat"), 8),
    **dict.fromkeys(("float", "f32", "fp32", "float32", "int", "i32", "int32", "u32", "uint32"), 4),
    **dict.fromkeys(("unsigned int", "c10::complex<c10::half>", "complexhalf"), 4),
    **dict.fromkeys(("half", "c10::half", "f16", "fp16", "float16", "bfloat16", "c10::bfloat16", "bf16"), 2),
    **dict.fromkeys(("short", "short int", "int16", "i16", "unsigned short", "uint16", "u16"), 2),
    **dict.fromkeys(("bool", "byte", "char", "signed char", "unsigned char", "int8", "uint8", "i8", "u8"), 1),
    **dict.fromkeys(("c10::complex<double>", "complexdouble"), 16),
}

_DIRECTIONS: Final = {
    "htod": "h2d",
    "htoa": "h2d",
    "dtoh": "d2h",
    "atoh": "d2h",
    "dtod": "d2d",
    "ptop": "d2d",
    "atoa": "d2d",
    "atod": "d2d",
    "dtoa": "d2d",
    "htoh": "h2h",
}
_DIRECTION: Final = re.compile(r"\b([HDAP]to[HDAP])\b|\b(Host|Device)[ _]?To[ _]?(Host|Device)\b", re.IGNORECASE)


def class_of_category(category: str) -> int:
    """Return the class of an event category; UNKNOWN for one that only its process label can place."""
    name = category.lower()
    found = _CLASSES.get(name)
    if found is not None:
        return found
    if name.endswith(_HOST_SUFFIXES):
        return HOST_CALL
    if name.endswith("_user_annotation"):
        return DEVICE_ANNOTATION
    if name.endswith("_memcpy"):
        return COPY
    if name.endswith("_memset"):
        return SET
    return UNKNOWN


def step_number(name: str) -> int | None:
    """Return N of `ProfilerStep#N`, None for any other name."""
    found = _STEP.fullmatch(name)
    return int(found[1]) if found else None


def own_step(name: str) -> tuple[str, int] | None:
    """Return what stands before N, and N, of a range that may be a training's own step (`step 3`, `Iteration#3`)."""
    found = _OWN_STEP.fullmatch(name)
    return (name[: found.start(1)], int(found[1])) if found else None


def is_communication_kernel(name: str) -> bool:
    """Whether a device kernel moves data between ranks, by the start of its name."""
    return _COMMUNICATION.match(name) is not None


def is_host_communication(name: str) -> bool:
    """Whether a range on the host is a call of a communication library that works there."""
    return _HOST_COMMUNICATION.match(name) is not None


def collective_op(text: str) -> str | None:
    """Return the operation that a collective's name or a kernel's name states, None when it states none."""
    name = text.split("(", 1)[0].split("<", 1)[0].lower().replace("_", "").replace(":", "")
    return next((op for part, op in _OPS if part in name), None)


def is_communication_request(name: str) -> bool:
    """Whether a range on the host is the framework's call of a collective on a device."""
    return _REQUEST.match(name) is not None and collective_op(name) is not None


def known_op(op: Text) -> Text:
    """Return the operations with `unknown` for those that nothing states: a collective it is all the same."""
    unstated = op.codes < 0
    if not unstated.any():
        return op
    return Text(np.where(unstated, np.int32(len(op.values)), op.codes), [*op.values, UNKNOWN_OPERATION])


def dtype_of_kernel(name: str) -> str | None:
    """Return the data type in the name of a reduction kernel, None when it has none."""
    found = _KERNEL_DTYPE.search(name)
    return found[1] if found else None


def dtype_bytes(dtype: str) -> int | None:
    """Return the bytes of one element, None for what is no tensor type (`Scalar`, `TensorList`)."""
    name = dtype.lower()
    if name.startswith(("c10::float8", "float8", "f8", "fp8")):
        return 1
    return _DTYPE_BYTES.get(name)


def copy_direction(name: str) -> str | None:
    """Return h2d, d2h, d2d or h2h from the name of a copy, None when the name does not say."""
    found = _DIRECTION.search(name)
    if found is None:
        return None
    key = found[1] or f"{found[2][0]}to{found[3][0]}"
    return _DIRECTIONS.get(key.lower())
