"""The readers of this package, strictest first."""

from __future__ import annotations

from ascend_sn.formats import memory_snapshot, memory_timeline, onnxruntime
from ascend_sn.formats.chrome import reader as chrome
from ascend_sn.formats.cluster_output import reader as cluster_output
from ascend_sn.formats.kineto import reader as kineto
from ascend_sn.formats.mindspore import run_folder as mindspore
from ascend_sn.formats.msprof import database_file, reader as msprof
from ascend_sn.formats.reader import Reader
from ascend_sn.formats.torch_npu import run_folder as torch_npu, trace_file as torch_npu_trace
from ascend_sn.formats.train_trace import reader as train_trace

READERS: tuple[Reader, ...] = (
    train_trace.READER,
    mindspore.READER,
    mindspore.RAW_READER,
    torch_npu.READER,
    torch_npu.RAW_READER,
    msprof.READER,
    msprof.RAW_READER,
    cluster_output.READER,
    database_file.READER,
    torch_npu_trace.READER,
    kineto.READER,
    kineto.EXECUTION_TRACE,
    onnxruntime.READER,
    memory_snapshot.READER,
    memory_timeline.READER,
    chrome.READER,
)
