"""The line of a call stack that belongs to the user's program."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["user_frame"]

_LIBRARY: Final = re.compile(
    r"site-packages|dist-packages|/lib/python|<built-in|<frozen|^nn\.Module: "
    r"|^(torch|torch_npu|torchvision|torchair|numpy|ascend_sn|ascend|asc_tools)/"
)
"""Frames of the interpreter, of frameworks and of the recorder; torch.profiler cuts off the folder of packages."""


def user_frame(frames: str) -> str | None:
    """Return the innermost line of the user's own program; None where the stack has none.

    Args:
        frames: Frames by line feeds, innermost first.
    """
    return next((frame for frame in frames.split("\n") if frame and not _LIBRARY.search(frame)), None)
