"""The readers of this package, strictest first."""

from __future__ import annotations

from ascend_sn.formats.reader import Reader
from ascend_sn.formats.torch_npu import run_folder as torch_npu
from ascend_sn.formats.train_trace import reader as train_trace

READERS: tuple[Reader, ...] = (train_trace.READER, torch_npu.READER, torch_npu.RAW_READER)
