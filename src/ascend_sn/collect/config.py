"""What to record and where: the arguments of `ProfilerConfig`."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from collections.abc import Iterable

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
)
_ALIASES = ("enable通信",)


class ProfilerConfig:
    """Settings of a recording; every argument can be read back under its own name.

    Args:
        output_path: Folder for the files; created when it is not there.
        trace_ops: Operator types to record, such as `["MatMul", "Conv2d"]`; None records all. It chooses
            among the operators that a framework runs; what the program marks with `start_op` is always
            recorded.
        enable_ops: Record the framework's operators.
        enable_comm: Record the framework's communication. `enable通信` is the same argument.
        enable_memory: Record memory.
        sample_interval: Time between two samples in microseconds. Every source has a floor; the interval that
            was reached is stored beside the one asked for.
        device_id: Accelerator of this process on its host.

    Raises:
        TypeError: An argument that does not exist; the message names the nearest one that does.
        ValueError: A value that has no meaning.
    """

    __slots__ = FIELDS

    output_path: str | os.PathLike[str]
    trace_ops: tuple[str, ...] | None
    enable_ops: bool
    enable_comm: bool
    enable_memory: bool
    sample_interval: float
    device_id: int | None

    def __init__(
        self,
        output_path: str | os.PathLike[str] = DEFAULT_OUTPUT_PATH,
        *,
        trace_ops: Iterable[str] | str | None = None,
        enable_ops: bool = True,
        enable_comm: bool | None = None,
        enable通信: bool | None = None,
        enable_memory: bool = False,
        sample_interval: float = DEFAULT_SAMPLE_INTERVAL_US,
        device_id: int | None = None,
        **unknown: object,
    ) -> None:
        for name in unknown:
            raise TypeError(_unknown_argument(name))
        if not output_path:
            raise ValueError("output_path is empty")
        if not sample_interval > 0:
            raise ValueError(f"sample_interval is in microseconds and above 0, not {sample_interval!r}")
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
        return ProfilerConfig(**{**arguments, **given})

    def as_json_object(self) -> dict[str, object]:
        """Return the settings as they stand in the trace; the path is left out, it is where the file lies."""
        settings: dict[str, object] = {name: getattr(self, name) for name in FIELDS if name != "output_path"}
        settings["trace_ops"] = None if self.trace_ops is None else list(self.trace_ops)
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
