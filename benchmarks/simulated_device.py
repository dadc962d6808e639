"""An accelerator that waits instead of computing: a process of its own that runs what it is sent, in order.

It is recorded as a real one is: the program's calls that launch and synchronise, and the kernels with the times at
which they really ran, become rows of our own trace (in the classes of a CUDA capture). A kernel takes what it was told
to and what the system adds to a sleep of that length; a launch is a message to the process.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.connection import Connection
from threading import get_native_id
from time import perf_counter_ns, sleep
from typing import TYPE_CHECKING, Any, Final
from unittest.mock import patch

import numpy as np

from ascend_sn.collect.names import NameTable
from ascend_sn.collect.recorder import Clock
from ascend_sn.model.trace_schema import CAPTURE, HOST_CALL, KERNEL, NOT_GIVEN, OPERATOR

if TYPE_CHECKING:
    from ascend_sn.collect.backends import Backend

QUEUE_LENGTH: Final = 32
"""Kernels that may be under way; a further launch waits, as it does on a real device."""

_TYPES: Final = (np.uint8, np.int32, np.int32, np.int64, np.int64, np.int64, np.int64)


class SimulatedDevice:
    """A device with one stream, and the recording of what the program does with it."""

    def __init__(self) -> None:
        context = get_context("spawn")
        self._pipe, far = context.Pipe()
        self._process = context.Process(target=_run, args=(far,), daemon=True)
        self._process.start()
        self._pipe.recv()
        self._rows: list[tuple[Any, ...]] = []
        self._kernels: list[tuple[str, int, int, int]] = []
        self._names: dict[int, str] = {}
        self._count = 0
        self._under_way = 0

    def operator(self, name: str, kernel_s: float, host_s: float, shapes: str = "") -> None:
        """Run an operator of one kernel: the host takes its time over it, then launches."""
        begin = perf_counter_ns()
        sleep(host_s)
        called = perf_counter_ns()
        self._take_back(QUEUE_LENGTH - 1)
        self._count += 1
        self._names[self._count] = name
        self._pipe.send((self._count, kernel_s))
        self._under_way += 1
        end = perf_counter_ns()
        self._rows.append((HOST_CALL, "cudaLaunchKernel", "cuda_runtime", "", called, end, self._count))
        self._rows.append((OPERATOR, f"aten::{name}", "cpu_op", shapes, begin, end, self._count))

    def synchronize(self, call: str = "cudaStreamSynchronize") -> None:
        """Wait until the device has done everything."""
        begin = perf_counter_ns()
        self._take_back(0)
        self._count += 1
        self._rows.append((HOST_CALL, call, "cuda_runtime", "", begin, perf_counter_ns(), self._count))

    def close(self) -> None:
        """End the process."""
        self._pipe.send(None)
        self._process.join()

    @contextmanager
    def recorded(self) -> Iterator[None]:
        """Let the profiler find this device where it looks for that of a framework."""

        def window(_config: object, clock: Clock, _folder: str) -> Backend:
            return _Window(self, clock)

        with patch("ascend_sn.collect.framework.backend_of", window):
            yield

    def taken(self) -> tuple[list[tuple[Any, ...]], list[tuple[str, int, int, int]]]:
        """Return what was recorded so far, once: host rows, and kernels by name, start, end, number."""
        self._take_back(0)
        rows, self._rows = self._rows, []
        kernels, self._kernels = self._kernels, []
        return rows, kernels

    def _take_back(self, allowed: int) -> None:
        while self._under_way > allowed:
            number, begin, end = self._pipe.recv()
            self._kernels.append((self._names.pop(number), begin, end, number))
            self._under_way -= 1


class _Window:
    """What the profiler starts, stops and empties."""

    def __init__(self, device: SimulatedDevice, clock: Clock) -> None:
        self._device, self._clock = device, clock

    def warm_up(self) -> None:
        """Nothing to prepare."""

    def cancel(self) -> None:
        """Nothing to undo."""

    def start(self) -> None:
        """Forget what was before."""
        self._device.taken()

    def stop(self) -> None:
        """Nothing to stop: the device goes on."""

    def device_memory(self) -> dict[str, int]:
        """Nothing is known."""
        return {}

    def device_capacity(self) -> int:
        """Nothing is known."""
        return 0

    def rows(self, names: NameTable) -> list[tuple[Any, ...]]:
        """Return one batch of rows."""
        rows, kernels = self._device.taken()
        shift, thread = self._clock.offset_ns, get_native_id()
        about = {
            "profiler": "torch.profiler",
            "record_shapes": 1,
            "deviceProperties": [{"id": 0, "name": "simulated device"}],
        }
        columns: list[list[int]] = [[] for _ in _TYPES]

        def add(kind: int, name: int, begin: int, end: int, number: int) -> None:
            for column, value in zip(
                columns, (kind, thread, name, begin + shift, end - begin, number, NOT_GIVEN), strict=True
            ):
                column.append(value)

        begin = min((row[4] for row in rows), default=0)
        add(CAPTURE, names.document(json.dumps(about)), begin, begin, NOT_GIVEN)
        for kind, name, category, shapes, begin, end, number in rows:
            given = (("Input Dims", shapes), ("Input type", _types_of(shapes))) if shapes else ()
            add(kind, names.of_framework(name, category, given), begin, end, number)
        for name, begin, end, number in kernels:
            at = (("device", "0"), ("stream", "7"))
            add(KERNEL, names.of_framework(f"{name}_kernel", "kernel", at), begin, end, number)
        return [tuple(np.array(column, kind) for column, kind in zip(columns, _TYPES, strict=True))]


def _types_of(shapes: str) -> str:
    return json.dumps(["float"] * len(json.loads(shapes)))


def _run(pipe: Connection) -> None:
    pipe.send(None)
    while (message := pipe.recv()) is not None:
        number, seconds = message
        begin = perf_counter_ns()
        sleep(seconds)
        pipe.send((number, begin, perf_counter_ns()))
