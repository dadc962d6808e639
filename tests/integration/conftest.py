"""What tests of several commands start."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from tests.integration.viewed import Viewed


@pytest.fixture
def start() -> Iterator[Any]:
    """Start servers that are gone after the test."""
    with ExitStack() as stack:

        def started(*words: object) -> Viewed:
            viewed = Viewed(*words)
            stack.callback(viewed.process.communicate)
            stack.callback(viewed.process.kill)
            return viewed

        yield started
