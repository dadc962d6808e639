"""Trainings beside a simulated device, as they are and changed, recorded by our own profiler.

python -m benchmarks.prediction_device VARIANT OUTPUT [VARIANT OUTPUT ...]
"""

from __future__ import annotations

import json
import sys
from time import sleep
from typing import Final

from ascend_sn.collect import Profiler
from benchmarks.simulated_device import SimulatedDevice

STEPS: Final = 48
IN_STEP: Final = "cudaStreamSynchronize"
"""The call that the first training makes within its steps."""

AT_END: Final = "cudaDeviceSynchronize"
"""The call that trainings make at the end of each step."""

CHAIN: Final = ("mul", "add", "sigmoid", "mul", "sub", "tanh")
"""Operators of a chain that one could do."""

ELEMENTS: Final = [512, 1024]


def four_parts(device: SimulatedDevice, profiler: Profiler, waits: bool) -> None:
    """Four parts, each of which looks at its result before the next begins; or only the last one does."""
    for _ in range(4):
        with profiler.op("forward"):
            sleep(0.0015)
            for _ in range(3):
                device.operator("mm", 0.0025, 0.0002)
        if waits:
            device.synchronize(IN_STEP)
    device.synchronize(AT_END)


def loss_read(device: SimulatedDevice, profiler: Profiler, waits: bool) -> None:
    """The loss is read at the end of every step, or never."""
    with profiler.op("dataloader"):
        sleep(0.008)
    for _ in range(12):
        with profiler.op("forward"):
            device.operator("mm", 0.002, 0.0002)
    if waits:
        device.synchronize(AT_END)


def long_chains(device: SimulatedDevice, profiler: Profiler, is_fused: bool) -> None:
    """Chains of kernels that the device is busy with, after a product each."""
    with profiler.op("dataloader"):
        sleep(0.002)
    for _ in range(5):
        with profiler.op("forward"):
            device.operator("mm", 0.004, 0.0001)
            _chain(device, is_fused, 0.0005, 0.0001)
    device.synchronize(AT_END)


def short_chains(device: SimulatedDevice, profiler: Profiler, is_fused: bool) -> None:
    """Chains of kernels for which the host takes longer than the device."""
    for _ in range(5):
        with profiler.op("forward"):
            sleep(0.001)
            device.operator("mm", 0.001, 0.0005)
            _chain(device, is_fused, 0.0001, 0.0005)
    device.synchronize(AT_END)


def _chain(device: SimulatedDevice, is_fused: bool, kernel_s: float, host_s: float) -> None:
    # Each reads and writes the same number of bytes; together and without what lies between they move no more.
    for name in ("fused",) if is_fused else CHAIN:
        device.operator(name, kernel_s, host_s, json.dumps([ELEMENTS]))


TRAININGS: Final = {
    "four parts, each waits": (four_parts, True),
    "four parts, the last waits": (four_parts, False),
    "loss read": (loss_read, True),
    "loss not read": (loss_read, False),
    "long chains": (long_chains, False),
    "long chains fused": (long_chains, True),
    "short chains": (short_chains, False),
    "short chains fused": (short_chains, True),
}


def main() -> None:
    device = SimulatedDevice()
    for variant, output in zip(sys.argv[1::2], sys.argv[2::2], strict=True):
        train, choice = TRAININGS[variant]
        profiler = Profiler(output_path=output)
        with device.recorded(), profiler:
            for _ in range(STEPS):
                train(device, profiler, choice)
                profiler.step()
            device.synchronize(AT_END)
        if profiler.fault_counts:
            raise SystemExit(f"the recording is not whole: {profiler.fault_counts}")
    device.close()


if __name__ == "__main__":
    main()
