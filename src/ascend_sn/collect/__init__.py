"""What runs inside the user's process: the Profiler and the file it writes.

Importing this package is cheap on purpose (no numpy, no nanoarrow, no framework); what writing the file needs
is loaded when recording starts.
"""

from __future__ import annotations

from ascend_sn.collect.config import ProfilerConfig
from ascend_sn.collect.profiler import Profiler

__all__ = ["Profiler", "ProfilerConfig"]
