"""The reader of a trace of torch_npu on its own: `export_chrome_trace`, or a trace_view.json taken elsewhere."""

from __future__ import annotations

import re
from pathlib import Path

from ascend_sn.formats.reader import Candidate, Reader, Source
from ascend_sn.model.capture import Capture
from ascend_sn.model.ledger import Ledger

__all__ = ["READER"]

_LIST = re.compile(rb"^(\xef\xbb\xbf)?\s*\[")
_OURS = re.compile(
    rb'"Fwd thread id"|"Ascend Hardware"|"name":\s*"CANN"|"(AscendCL|Node|Runtime|Hccl)@'
    rb'|"(torch_to_npu|enqueue_to_dequeue)"'
)


def _claims(candidate: Candidate) -> bool:
    if candidate.is_folder:
        return False
    head = candidate.head
    return _LIST.match(head) is not None and _OURS.search(head) is not None


def _members(path: Path) -> list[Path]:
    return [path]


def _read(source: Source) -> list[Capture]:
    # Loaded for such a file only: every input is shown to every reader.
    from ascend_sn.formats.torch_npu.captures import capture_of
    from ascend_sn.formats.torch_npu.layout import RunInfo
    from ascend_sn.formats.torch_npu.text_export import read_text_export

    ledger = Ledger()
    export = read_text_export(source, {"trace_view.json": source.path}, RunInfo(), ledger)
    return [capture_of(source, RunInfo(), export, ledger)]


READER = Reader("torch_npu-trace", _claims, _members, _read)
