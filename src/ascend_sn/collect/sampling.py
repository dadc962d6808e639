"""Figures that nobody reports by himself: load and memory of the process, the host and the device.

Each source is asked as often as was wished for, but no more often than its floor allows. The writing thread asks
the quick ones; devices' tools take long and have a thread of their own.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import threading
from time import perf_counter

from ascend_sn.model.trace_schema import RESIDENT_COUNTER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ascend_sn.collect.recorder import Recorder

__all__ = ["DEVICE_FLOOR_S", "HOST_FLOOR_S", "Sampler", "utilisation_source"]

HOST_FLOOR_S = 0.01
DEVICE_FLOOR_S = 1.0

INTERVAL_METRIC = "profiler.sample_interval_us"
_NPU_USAGE = re.compile(r"Aicore Usage Rate\(%\)\s*:\s*(\d+)")
_TIMEOUT_S = 10.0


class Sampler:
    """Samples from `start` to `stop`, and then records how often it came to it.

    Args:
        recorder: Takes the samples.
        interval_us: Wished for, microseconds.
        device_memory: Gives what the device's allocator holds, bytes by series.
        utilisation: Gives the load of devices, 0 to 1 by series; takes long. None where no tool is there.
    """

    def __init__(
        self,
        recorder: Recorder,
        interval_us: float,
        device_memory: Callable[[], dict[str, int]],
        utilisation: Callable[[], dict[str, float]] | None,
    ) -> None:
        import psutil  # here: recordings without samples do without it

        self._psutil: Any = psutil
        self._process: Any = psutil.Process()
        self._recorder = recorder
        self._interval_us = interval_us
        self._device_memory = device_memory
        self._utilisation = utilisation
        self._counts = {"host": 0, "device": 0}
        self._begin_s = self._last_s = 0.0
        self._last_cpu_s = 0.0
        self._ending = threading.Event()
        self._thread: threading.Thread | None = None

    @property
    def interval_s(self) -> float:
        """How often `sample` should be called."""
        return max(self._interval_us / 1e6, HOST_FLOOR_S)

    def start(self) -> None:
        """Begin; figures of load are those since the call before."""
        self._begin_s = self._last_s = perf_counter()
        self._last_cpu_s = self._cpu_s()
        self._psutil.cpu_percent()
        if self._utilisation is not None:
            self._thread = threading.Thread(target=self._ask_devices, name="ascend-sn-devices", daemon=True)
            self._thread.start()

    def sample(self) -> None:
        """Ask the quick sources."""
        record = self._recorder.counter
        now_s, cpu_s = perf_counter(), self._cpu_s()
        record(RESIDENT_COUNTER, "bytes", self._process.memory_info().rss)
        passed_s = now_s - self._last_s
        if passed_s > 0:
            record("process.cpu_ratio", "ratio", (cpu_s - self._last_cpu_s) / passed_s)
            record("host.cpu_ratio", "ratio", self._psutil.cpu_percent() / 100)
        self._last_s, self._last_cpu_s = now_s, cpu_s
        for series, held_bytes in self._device_memory().items():
            record(series, "bytes", held_bytes)
        self._counts["host"] += 1

    def stop(self) -> None:
        """End, and record for each source the interval that was wished for and the one that was reached."""
        self._ending.set()
        if self._thread is not None:
            self._thread.join(_TIMEOUT_S)
        passed_us = (perf_counter() - self._begin_s) * 1e6
        self._recorder.metric(f"{INTERVAL_METRIC}.requested", self._interval_us)
        for source, count in self._counts.items():
            if count:
                self._recorder.metric(f"{INTERVAL_METRIC}.{source}", passed_us / count)

    def _cpu_s(self) -> float:
        times = self._process.cpu_times()
        return float(times.user + times.system)

    def _ask_devices(self) -> None:
        if self._utilisation is None:
            return
        pause_s = max(self._interval_us / 1e6, DEVICE_FLOOR_S)
        while not self._ending.wait(pause_s):
            for series, load in self._utilisation().items():
                self._recorder.counter(series, "ratio", load)
            self._counts["device"] += 1


def utilisation_source(device_id: int | None) -> Callable[[], dict[str, float]] | None:
    """Return what asks the tool of the device in this machine: npu-smi or nvidia-smi; None without one."""
    number = device_id or 0
    if shutil.which("npu-smi"):
        return lambda: _npu_load(number)
    if shutil.which("nvidia-smi"):
        return lambda: _cuda_load(number)
    return None


def _npu_load(device_id: int) -> dict[str, float]:
    said = _output("npu-smi", "info", "-t", "usages", "-i", str(device_id), "-c", "0")
    found = _NPU_USAGE.search(said)
    return {} if found is None else {f"npu:{device_id}.utilisation_ratio": int(found[1]) / 100}


def _cuda_load(device_id: int) -> dict[str, float]:
    query = "--query-gpu=utilization.gpu"
    said = _output("nvidia-smi", query, "--format=csv,noheader,nounits", "-i", str(device_id)).strip()
    return {f"cuda:{device_id}.utilisation_ratio": int(said) / 100} if said.isdecimal() else {}


def _output(*command: str) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout if done.returncode == 0 else ""
