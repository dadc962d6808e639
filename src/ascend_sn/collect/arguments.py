"""A script's own `--profile`: command line arguments that turn recording on."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from ascend_sn.collect.config import ProfilerConfig

__all__ = ["add_arguments", "config_of"]


def add_arguments(parser: ArgumentParser) -> None:
    """Add `--profile` and the options that go with it; `Profiler.from_args` reads them."""
    group = parser.add_argument_group("profiling")
    group.add_argument("--profile", action="store_true", help="record this run")
    group.add_argument("--profile-output", metavar="DIR", help="folder of the recording (./ascend_profiling)")
    group.add_argument("--profile-ops", nargs="+", metavar="TYPE", help="record only these operator types")
    group.add_argument("--profile-memory", action="store_true", help="record memory too")
    group.add_argument("--profile-level", type=int, choices=(1, 2, 3), help="1: times, 2: and shapes, 3: and stacks")


def config_of(args: Namespace) -> ProfilerConfig:
    """Return the settings that the arguments ask for; arguments that a script does not have count as not given.

    Without `--profile` the backend is `off`: the profiler takes every call and records nothing.
    """
    from ascend_sn.collect.config import ProfilerConfig

    return ProfilerConfig(
        output_path=getattr(args, "profile_output", None) or None,
        trace_ops=getattr(args, "profile_ops", None),
        enable_memory=bool(getattr(args, "profile_memory", False)),
        trace_level=getattr(args, "profile_level", None) or 2,
        backend="auto" if getattr(args, "profile", False) else "off",
    )
