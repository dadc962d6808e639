"""Recognise PyTorch traces by their first bytes."""

from __future__ import annotations

import re
from typing import Final

from ascend_sn.formats.reader import Candidate

__all__ = ["is_execution_trace", "is_kineto"]

_MARKS: Final = re.compile(rb'"(?:schemaVersion|deviceProperties|distributedInfo|baseTimeNanoseconds)"\s*:')
_PLACED_MARKS: Final = re.compile(rb'"(?:deviceProperties|distributedInfo|baseTimeNanoseconds|traceEvents)"\s*:')
_CATEGORY: Final = re.compile(
    rb'"cat"\s*:\s*"(?:cpu_op|user_annotation|gpu_user_annotation|kernel|gpu_memcpy|gpu_memset|cuda_runtime'
    rb'|cuda_driver|xpu_runtime|mtia_runtime|privateuse1_runtime|python_function|ac2g|cpu_instant_event)"',
)
_OLD_CATEGORY: Final = re.compile(rb'"cat"\s*:\s*"(?:Operator|Kernel|Runtime)"')
_OLD_ARGUMENT: Final = re.compile(rb'"(?:External id|correlation|external id)"\s*:')
_EVENTS: Final = re.compile(rb'"traceEvents"\s*:\s*\[')
_FIRST: Final = re.compile(rb"\s*+(?:\xef\xbb\xbf)?+\s*+([\[{])")
# Ascend traces are lists with these process names, and write every time as text.
_ASCEND: Final = re.compile(rb'"(?:Ascend Hardware|CANN|Overlap Analysis)"')
_TIME_AS_TEXT: Final = re.compile(rb'"ts"\s*:\s*"')
_EXECUTION_TRACE: Final = re.compile(rb'"schema"\s*:\s*"[0-9][^"]*".*"nodes"\s*:\s*\[', re.DOTALL)


def is_kineto(candidate: Candidate) -> bool:
    """Whether the file is a PyTorch trace: its own keys, or events of its categories."""
    head = candidate.head
    first = _FIRST.match(head)
    if first is None or _ASCEND.search(head):
        return False
    if first[1] == b"{" and _MARKS.search(head) and _PLACED_MARKS.search(head):
        return True
    if _TIME_AS_TEXT.search(head):
        return False
    if first[1] == b"{" and not _EVENTS.search(head):
        return False
    return bool(_CATEGORY.search(head) or (_OLD_CATEGORY.search(head) and _OLD_ARGUMENT.search(head)))


def is_execution_trace(candidate: Candidate) -> bool:
    """Whether the file is a PyTorch execution trace (nodes without times), which is another format."""
    first = _FIRST.match(candidate.head)
    return first is not None and first[1] == b"{" and bool(_EXECUTION_TRACE.search(candidate.head))
