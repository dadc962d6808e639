"""The environment variables that the store, the history and notifications read."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = [
    "cache_folder",
    "cache_limit_bytes",
    "history_file",
    "history_place",
    "launched_as",
    "notebook_prefix",
    "notify_targets",
    "pipeline_link",
    "program_version",
    "variable",
]

_DEFAULT_LIMIT_BYTES = 20_000_000_000


def cache_folder() -> Path:
    """`ASCEND_SN_CACHE_DIR`, else `$XDG_CACHE_HOME/ascend-sn`, else `~/.cache/ascend-sn`."""
    explicit = os.environ.get("ASCEND_SN_CACHE_DIR")
    if explicit:
        return Path(explicit)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "ascend-sn"


def cache_limit_bytes() -> int:
    """`ASCEND_SN_CACHE_MAX` in bytes, else 20 GB."""
    text = os.environ.get("ASCEND_SN_CACHE_MAX", "")
    return int(text) if text.isdigit() else _DEFAULT_LIMIT_BYTES


def history_place() -> str | None:
    """`ASCEND_SN_HISTORY`: file or URL of the history of baselines."""
    return os.environ.get("ASCEND_SN_HISTORY") or None


def history_file() -> Path:
    """The usual history: `$XDG_DATA_HOME/ascend-sn/history.db`, else below `~/.local/share`."""
    base = os.environ.get("XDG_DATA_HOME")
    return (Path(base) if base else Path.home() / ".local" / "share") / "ascend-sn" / "history.db"


def notebook_prefix() -> str | None:
    """Path under which JupyterHub shows the user's server; None outside of a hub."""
    return os.environ.get("JUPYTERHUB_SERVICE_PREFIX") or None


def program_version() -> tuple[str | None, str | None]:
    """Revision and branch of the program as GitHub or GitLab tell their pipelines; None where neither does."""
    revision = os.environ.get("GITHUB_SHA") or os.environ.get("CI_COMMIT_SHA")
    branch = os.environ.get("GITHUB_HEAD_REF") or os.environ.get("GITHUB_REF_NAME")
    return revision or None, branch or os.environ.get("CI_COMMIT_REF_NAME") or None


def pipeline_link() -> str | None:
    """Address of the pipeline that runs, as GitHub or GitLab tell it."""
    names = ("GITHUB_SERVER_URL", "GITHUB_REPOSITORY", "GITHUB_RUN_ID")
    server, repository, run = (os.environ.get(name) for name in names)
    if server and repository and run:
        return f"{server}/{repository}/actions/runs/{run}"
    return os.environ.get("CI_JOB_URL") or None


def notify_targets() -> list[str]:
    """`ASCEND_SN_NOTIFY`: whom to notify, parted by blanks."""
    return os.environ.get("ASCEND_SN_NOTIFY", "").split()


def launched_as() -> tuple[int, int] | None:
    """Place (from 0) and number of processes as Slurm, torchrun, Open MPI or MPICH tell them; None without one."""
    for place, count in (
        ("SLURM_PROCID", "SLURM_NTASKS"),
        ("RANK", "WORLD_SIZE"),
        ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
        ("PMI_RANK", "PMI_SIZE"),
    ):
        at, of = os.environ.get(place, ""), os.environ.get(count, "")
        if at.isdigit() and of.isdigit() and int(at) < int(of):
            return int(at), int(of)
    return None


def variable(name: str) -> str | None:
    """A variable that the user's settings name, such as one that holds a secret; None where it is not set or empty."""
    return os.environ.get(name) or None
