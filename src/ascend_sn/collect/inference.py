"""Latency of a model by its parts, and its throughput by batch size. Works on any callable."""

from __future__ import annotations

import sys
from time import perf_counter_ns

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AbstractContextManager
    from typing import Any

__all__ = ["InferenceProfiler", "LatencyTable", "measure_throughput"]

WARMUP_RUNS = 10
PARTS = ("copy_in", "inference", "copy_out", "total")


class LatencyTable(dict[str, "dict[str, float]"]):
    """Per part (`copy_in`, `inference`, `copy_out`, `total`): `mean_ms`, `p50_ms`, `p90_ms`, `p99_ms`, `share_ratio`.

    `share_ratio` is the part's share of the total, 0 to 1. Printed, it is the table.
    """

    run_count = 0
    has_device = False

    def __str__(self) -> str:
        lines = [f"latency over {self.run_count} runs" + ("" if self.has_device else " (no device: nothing is copied)")]
        lines.append(f"{'part':<12}{'mean ms':>10}{'p50 ms':>10}{'p90 ms':>10}{'p99 ms':>10}{'share %':>10}")
        for part, row in self.items():
            figures = "".join(f"{row[name]:>10.3f}" for name in ("mean_ms", "p50_ms", "p90_ms", "p99_ms"))
            lines.append(f"{part:<12}{figures}{100 * row['share_ratio']:>10.1f}")
        return "\n".join(lines)


class InferenceProfiler:
    """Measures where the time of an inference goes.

    Args:
        model: Called as `model.predict(x)` where it has that method, else as `model(x)`.
    """

    def __init__(self, model: Any) -> None:
        self.model = model

    def profile(self, input_data: Any, num_runs: int = 100) -> LatencyTable:
        """Run the model `num_runs` times after 10 warm-up runs; print the table and return it.

        Args:
            input_data: What the model takes. Where a device exists and the model is on it, the input is copied
                there and the output back, and both are timed.
            num_runs: Timed runs, at least 1.

        Raises:
            ValueError: `num_runs` is below 1.
        """
        if num_runs < 1:
            raise ValueError(f"num_runs is at least 1, not {num_runs!r}")
        device = _Device(self.model)
        call = _call_of(self.model)
        with device.without_gradients():
            for _ in range(WARMUP_RUNS):
                device.copy_out(call(device.copy_in(input_data)))
            samples: dict[str, list[int]] = {part: [] for part in PARTS}
            for _ in range(num_runs):
                times = [device.now_ns()]
                there = device.copy_in(input_data)
                times.append(device.now_ns())
                result = call(there)
                times.append(device.now_ns())
                device.copy_out(result)
                times.append(device.now_ns())
                for part, begin_ns, end_ns in zip(PARTS, times, times[1:], strict=False):
                    samples[part].append(end_ns - begin_ns)
                samples["total"].append(times[-1] - times[0])
        table = _table(samples)
        table.has_device = device.name is not None
        print(table)
        return table


def measure_throughput(
    model: Any,
    input_shape: Sequence[int],
    batch_sizes: Sequence[int] = (1, 4, 8, 16, 32),
    *,
    latency_limit_ms: float | None = None,
    num_runs: int = 100,
) -> list[dict[str, Any]]:
    """Measure the throughput for each batch size: 10 warm-up runs, then `num_runs` timed ones; print a line each.

    Args:
        model: Called as `model.predict(x)` where it has that method, else as `model(x)`.
        input_shape: Shape of one sample; the input is float32.
        batch_sizes: Sizes to try.
        latency_limit_ms: Pick the best size whose 99th percentile stays below it.
        num_runs: Timed runs per size.

    Returns:
        One dict per size: `batch_size`, `avg_latency`, `p50_latency`, `p99_latency` (ms), `throughput` (samples
        per second), `is_best` (the highest throughput within the limit; nowhere when none keeps it).
    """
    import numpy

    random = numpy.random.default_rng(seed=1)
    call, device = _call_of(model), _Device(model)
    results: list[dict[str, Any]] = []
    with device.without_gradients():
        for batch_size in batch_sizes:
            data = device.as_input(random.standard_normal((batch_size, *input_shape), dtype=numpy.float32))
            for _ in range(WARMUP_RUNS):
                call(data)
            samples = []
            for _ in range(num_runs):
                begin_ns = device.now_ns()
                call(data)
                samples.append(device.now_ns() - begin_ns)
            row = _throughput(batch_size, samples)
            results.append(row)
            print(
                f"Batch {batch_size:2d}: latency {row['avg_latency']:6.2f}ms, "
                f"p99 {row['p99_latency']:6.2f}ms, throughput {row['throughput']:7.1f} samples/s"
            )
    within = [row for row in results if latency_limit_ms is None or row["p99_latency"] <= latency_limit_ms]
    if within:
        best = max(within, key=lambda row: float(row["throughput"]))
        best["is_best"] = True
    if latency_limit_ms is not None:
        said = f"batch size {best['batch_size']}" if within else "no batch size"
        print(f"best within {latency_limit_ms:g} ms (p99): {said}")
    return results


class _Device:
    """The accelerator that a model is on; without one nothing is copied and nothing waited for."""

    def __init__(self, model: Any) -> None:
        self._torch: Any = sys.modules.get("torch")
        self._is_module = self._torch is not None and isinstance(model, self._torch.nn.Module)
        self.name = self._found(model)

    def copy_in(self, data: Any) -> Any:
        """Return the data on the device."""
        return data if self.name is None else _mapped(data, self.name)

    def copy_out(self, data: Any) -> Any:
        """Return the data on the host."""
        return data if self.name is None else _mapped(data, "cpu")

    def as_input(self, array: Any) -> Any:
        """Return an array in the form that the model takes."""
        return self.copy_in(self._torch.from_numpy(array)) if self._is_module else array

    def now_ns(self) -> int:
        """Return the time at which the device has done all that was asked of it."""
        if self.name is not None:
            getattr(self._torch, self.name).synchronize()
        return perf_counter_ns()

    def without_gradients(self) -> AbstractContextManager[Any]:
        """Return a context in which torch keeps nothing for a backward pass."""
        from contextlib import nullcontext

        context: AbstractContextManager[Any] = nullcontext() if self._torch is None else self._torch.no_grad()
        return context

    def _found(self, model: Any) -> str | None:
        if self._torch is None:
            return None
        if self._is_module:
            kinds = {parameter.device.type for parameter in model.parameters()}
            if kinds == {"cpu"} and not getattr(self._torch, "npu", None):
                return None
        for name in ("npu", "cuda"):
            module = getattr(self._torch, name, None)
            if module is not None and module.is_available():
                return name
        return None


def _mapped(data: Any, method: str) -> Any:
    """Call a method of every tensor in nested data; what has no such method stays as it is."""
    if isinstance(data, dict):
        return {key: _mapped(value, method) for key, value in data.items()}
    if isinstance(data, (list, tuple)):
        return type(data)(_mapped(value, method) for value in data)
    move = getattr(data, method, None)
    return move() if callable(move) else data


def _call_of(model: Any) -> Callable[[Any], Any]:
    predict = getattr(model, "predict", None)
    call: Callable[[Any], Any] = predict if callable(predict) else model
    return call


def _table(samples: dict[str, list[int]]) -> LatencyTable:
    table = LatencyTable()
    table.run_count = len(samples["total"])
    total_ns = sum(samples["total"])
    for part, values in samples.items():
        table[part] = {
            "mean_ms": sum(values) / len(values) / 1e6,
            "p50_ms": _percentile(values, 0.50) / 1e6,
            "p90_ms": _percentile(values, 0.90) / 1e6,
            "p99_ms": _percentile(values, 0.99) / 1e6,
            "share_ratio": sum(values) / total_ns if total_ns else 0.0,
        }
    return table


def _throughput(batch_size: int, samples: list[int]) -> dict[str, Any]:
    mean_ns = sum(samples) / len(samples)
    return {
        "batch_size": batch_size,
        "avg_latency": mean_ns / 1e6,
        "p50_latency": _percentile(samples, 0.50) / 1e6,
        "p99_latency": _percentile(samples, 0.99) / 1e6,
        "throughput": batch_size / mean_ns * 1e9 if mean_ns else float("inf"),
        "is_best": False,
    }


def _percentile(values: Sequence[int], ratio: float) -> float:
    """Return a percentile, linear between the two nearest values."""
    ordered = sorted(values)
    place = ratio * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)
