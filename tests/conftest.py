"""What every test relies on: its own cache and language, reproducible Hypothesis runs, honest skips."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("default", deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", settings.get_profile("default"), derandomize=True, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "default")

# Marker -> what it says about the missing behaviour.
ABSENT = {"notimpl": "not built here yet", "notyet": "upstream lacks it", "never": "this device cannot"}

# What a user or a pipeline may have set, and no test may see.
OTHERS_VARIABLES = (
    *("ASCEND_PROFILING_", "ASCEND_HCCL_", "ASCEND_MEMORY_", "HCCL_", "ASCEND_SN_HISTORY", "ASCEND_SN_NOTIFY"),
    *("GITHUB_", "CI_"),
)


@pytest.fixture(autouse=True, scope="session")
def _own_surroundings(tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config) -> Iterator[None]:
    """Keep the user's cache, configuration, language and recording variables out of the tests."""
    with pytest.MonkeyPatch.context() as patch:
        # One for all processes of a test run: a sample is read and analysed once, whichever file asks for it first.
        together = tmp_path_factory.getbasetemp()
        if hasattr(pytestconfig, "workerinput"):  # of pytest-xdist: it gives each process a folder in that of the run
            together = together.parent
        patch.setenv("XDG_CACHE_HOME", str(together / "cache"))
        (together / "cache").mkdir(exist_ok=True)
        patch.setenv("XDG_CONFIG_HOME", str(tmp_path_factory.mktemp("config")))
        patch.setenv("XDG_DATA_HOME", str(tmp_path_factory.mktemp("data")))
        patch.setenv("LC_ALL", "C.UTF-8")
        patch.setenv("COLUMNS", "120")
        for name in list(os.environ):
            if name.startswith(OTHERS_VARIABLES):
                patch.delenv(name)
        for name in ("LANGUAGE", "LC_MESSAGES", "LANG", "NO_COLOR", "FORCE_COLOR", "RANK", "WORLD_SIZE"):
            patch.delenv(name, raising=False)
        yield


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Turn `notimpl` and `notyet` into strict xfails and `never` into a skip, each with its reason."""
    for item in items:
        for name, meaning in ABSENT.items():
            for mark in item.iter_markers(name):
                if not mark.kwargs.get("reason"):
                    raise pytest.UsageError(f"{item.nodeid}: @pytest.mark.{name} needs a reason=")
                reason = f"{meaning}: {mark.kwargs['reason']}"
                item.add_marker(
                    pytest.mark.skip(reason=reason)
                    if name == "never"
                    else pytest.mark.xfail(strict=True, reason=reason)
                )
