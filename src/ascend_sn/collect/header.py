"""What stands at the beginning of a recording: the format, the process, its settings and its clock."""

from __future__ import annotations

import json
import os
import platform

from ascend_sn._version import __version__
from ascend_sn.model.trace_schema import CLOCK_KEY, CONFIG_KEY, PROCESS_KEY, TRACE_VERSION, VERSION_KEY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ascend_sn.collect.config import ProfilerConfig
    from ascend_sn.collect.environment import JobPlace
    from ascend_sn.collect.recorder import Clock

__all__ = ["metadata", "session_text"]


def metadata(config: ProfilerConfig, place: JobPlace, clock: Clock, host: str) -> dict[str, str]:
    """Return the metadata of the stream's schema: version, process, settings, clock."""

    process = {
        "host": host,
        "pid": os.getpid(),
        "start_ns": clock.realtime_ns,
        "rank": place.rank,
        "world_size": place.world_size,
        "local_rank": place.local_rank,
        "device_kind": "host",
        "device_id": config.device_id,
        "versions": {"ascend-sn": __version__, "python": platform.python_version()},
    }
    anchor = {
        "realtime_ns": clock.realtime_ns,
        "monotonic_ns": clock.monotonic_ns,
        "source": "CLOCK_MONOTONIC",
    }
    return {
        VERSION_KEY: str(TRACE_VERSION),
        PROCESS_KEY: json.dumps(process),
        CONFIG_KEY: json.dumps(config.as_json_object()),
        CLOCK_KEY: json.dumps(anchor),
    }


def session_text(config: ProfilerConfig) -> str:
    """Return the settings as the row that opens a session holds them."""
    return json.dumps(config.as_json_object())
