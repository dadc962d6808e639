"""What to record and where: the arguments of `ProfilerConfig`."""

from __future__ import annotations

from ascend_sn.collect.environment import asked_output_path
from ascend_sn.collect.schedule import Schedule

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping

__all__ = ["ProfilerConfig"]

DEFAULT_OUTPUT_PATH = "./ascend_profiling"
DEFAULT_SAMPLE_INTERVAL_US = 1000

FIELDS = (
    "output_path",
    "trace_ops",
    "enable_ops",
    "enable_comm",
    "enable_memory",
    "sample_interval",
    "device_id",
    "trace_level",
    "comm_level",
    "backend",
    "schedule",
    "max_size",
)
BACKENDS = ("auto", "host", "torch", "torch_npu", "off")
DEFAULT_MAX_SIZE = 2 << 30
_ALIASES = ("enable通信",)


class ProfilerConfig:
    """Settings of a recording; every argument can be read back under its own name.

    Args:
        output_path: Folder for the files; created when it is not there. Where none is given, that of
            `ASCEND_PROFILING_OUTPUT_PATH` (`ascend-sn run --output`), else `./ascend_profiling`.
        trace_ops: Operator types to record, such as `["MatMul", "Conv2d"]`; None records all. It chooses
            among the operators that a framework runs; what the program marks with `start_op` is always
            recorded.
        enable_ops: Record the framework's operators.
        enable_comm: Record the framework's communication. `enable通信` is the same argument.
        enable_memory: Record memory.
        sample_interval: Time between two samples in microseconds. Every source has a floor; the interval that
            was reached is stored beside the one asked for.
        device_id: Accelerator of this process on its host.
        trace_level: 1 records times of operators, 2 also the shapes and types of their inputs, 3 also call
            stacks and modules.
        comm_level: 1 records the time of each collective, 2 also size and group, 3 also its parts where the
            device gives them.
        backend: `host` records what the program marks and nothing else, `torch` records through PyTorch's
            profiler (processor and CUDA), `torch_npu` through that of Ascend, `auto` through that of the framework
            that the program has loaded.
            `off` records nothing at all: every call is taken and does nothing.
        schedule: Which steps to record, counted by `step()`; None records all. A `Schedule`, or its parts as a
            dict.
        max_size: Bytes that the files of this process may take; recording ends there, and says so.

    Raises:
        TypeError: An argument that does not exist; the message names the nearest one that does.
        ValueError: A value that has no meaning.
    """

    __slots__ = (*FIELDS, "environment")

    output_path: str | os.PathLike[str]
    trace_ops: tuple[str, ...] | None
    enable_ops: bool
    enable_comm: bool
    enable_memory: bool
    sample_interval: float
    device_id: int | None
    trace_level: int
    comm_level: int
    backend: str
    schedule: Schedule | None
    max_size: int
    environment: dict[str, str]
    """Variables that these settings were read from; empty otherwise."""

    def __init__(
        self,
        output_path: str | os.PathLike[str] | None = None,
        *,
        trace_ops: Iterable[str] | str | None = None,
        enable_ops: bool = True,
        enable_comm: bool | None = None,
        enable通信: bool | None = None,
        enable_memory: bool = False,
        sample_interval: float = DEFAULT_SAMPLE_INTERVAL_US,
        device_id: int | None = None,
        trace_level: int = 2,
        comm_level: int = 3,
        backend: str = "auto",
        schedule: Schedule | Mapping[str, int] | None = None,
        max_size: int = DEFAULT_MAX_SIZE,
        **unknown: object,
    ) -> None:
        for name in unknown:
            raise TypeError(_unknown_argument(name))
        if output_path is None:
            output_path = asked_output_path() or DEFAULT_OUTPUT_PATH
        if not output_path:
            raise ValueError("output_path is empty")
        if not sample_interval > 0:
            raise ValueError(f"sample_interval is in microseconds and above 0, not {sample_interval!r}")
        for name, level in (("trace_level", trace_level), ("comm_level", comm_level)):
            if level not in (1, 2, 3):
                raise ValueError(f"{name} is 1, 2 or 3, not {level!r}")
        if backend not in BACKENDS:
            raise ValueError(f"backend is one of {', '.join(BACKENDS)}, not {backend!r}")
        if not max_size > 0:
            raise ValueError(f"max_size is in bytes and above 0, not {max_size!r}")
        if None not in (enable_comm, enable通信) and bool(enable_comm) != bool(enable通信):
            raise ValueError("enable_comm and enable通信 are one argument and were given different values")
        communication = enable_comm if enable_comm is not None else enable通信
        self.output_path = output_path
        self.trace_ops = _operator_types(trace_ops)
        self.enable_ops = bool(enable_ops)
        self.enable_comm = True if communication is None else bool(communication)
        self.enable_memory = bool(enable_memory)
        self.sample_interval = sample_interval
        self.device_id = device_id
        self.trace_level = trace_level
        self.comm_level = comm_level
        self.backend = backend
        self.schedule = schedule if schedule is None or isinstance(schedule, Schedule) else Schedule(**schedule)
        self.max_size = max_size
        self.environment = {}

    @property
    def enable通信(self) -> bool:
        """The same as `enable_comm`."""
        return self.enable_comm

    def replaced(self, **changes: object) -> ProfilerConfig:
        """Return a copy with the given arguments changed; None leaves an argument as it is."""
        arguments = {name: getattr(self, name) for name in FIELDS}
        given = {name: value for name, value in changes.items() if value is not None}
        if "enable通信" in given and "enable_comm" not in given:
            given["enable_comm"] = given.pop("enable通信")
        copy = ProfilerConfig(**{**arguments, **given})
        copy.environment = self.environment
        return copy

    def as_json_object(self) -> dict[str, object]:
        """Return the settings as they stand in the trace; the path is left out, it is where the file lies."""
        settings: dict[str, object] = {name: getattr(self, name) for name in FIELDS if name != "output_path"}
        settings["trace_ops"] = None if self.trace_ops is None else list(self.trace_ops)
        settings["schedule"] = None if self.schedule is None else self.schedule.as_json_object()
        if self.environment:
            settings["environment"] = self.environment
        settings["sample_interval_us"] = settings.pop("sample_interval")
        return settings

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ProfilerConfig):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in FIELDS)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"ProfilerConfig({', '.join(f'{name}={getattr(self, name)!r}' for name in FIELDS)})"


def _operator_types(trace_ops: Iterable[str] | str | None) -> tuple[str, ...] | None:
    if trace_ops is None:
        return None
    if isinstance(trace_ops, str):  # a comma list, as the environment variable has it
        trace_ops = trace_ops.split(",")
    return tuple(name.strip() for name in trace_ops if name.strip())


def _unknown_argument(name: str) -> str:
    from difflib import get_close_matches

    nearest = get_close_matches(name, (*FIELDS, *_ALIASES), n=1, cutoff=0.0)
    return f"ProfilerConfig has no argument {name!r}; the nearest is {nearest[0]!r}"
