"""A recording that lasts, and many short ones, leave nothing behind in the process."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks.soak import SETTLED_AFTER_STARTS, slope_of

ROOT = Path(__file__).resolve().parents[2]
MB = 1_000_000

RECORDS = """
import json, sys
from dataclasses import asdict
from pathlib import Path
from benchmarks.soak import held_over_starts, trained

folder = Path(sys.argv[1])
print(json.dumps({
    "samples": [asdict(sample) for sample in trained(folder / "run", float(sys.argv[2]))],
    "sessions": [asdict(held) for held in held_over_starts(folder / "sessions", int(sys.argv[3]), anew=False)],
    "profilers": [asdict(held) for held in held_over_starts(folder / "profilers", int(sys.argv[3]), anew=True)],
}))
"""


def recorded(folder: Path, seconds: float, starts: int) -> Any:
    """What a process of its own held while it recorded."""
    command = [sys.executable, "-c", RECORDS, str(folder), str(seconds), str(starts)]
    return json.loads(subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout)


@pytest.mark.slow
def test_a_minute_of_recording_and_500_starts_hold_no_more_at_the_end(tmp_path: Path) -> None:
    told = recorded(tmp_path, seconds=60, starts=500)

    resident = [sample["resident_bytes"] for sample in told["samples"]]
    settled = resident[len(resident) // 2 :]
    assert statistics.median(settled[-5:]) - statistics.median(settled[:5]) < 4 * MB
    for kind in ("sessions", "profilers"):
        early, late = told[kind][SETTLED_AFTER_STARTS - 1], told[kind][-1]
        assert (late["threads"], late["descriptors"]) == (early["threads"], early["descriptors"]), kind
        assert late["resident_bytes"] - early["resident_bytes"] < 8 * MB, kind


def test_a_profiler_that_is_gone_holds_no_file(tmp_path: Path) -> None:
    told = recorded(tmp_path, seconds=0, starts=12)

    assert len({held["descriptors"] for held in told["profilers"][2:]}) == 1
    assert len({held["threads"] for held in told["profilers"] + told["sessions"]}) == 1


def test_the_slope_of_a_straight_line_is_exact_and_that_of_noise_holds_zero() -> None:
    at_s = [float(second) for second in range(120)]
    noise = [(-1.0) ** second for second in range(120)]

    rising = slope_of(at_s, [100 + second / 60 for second in at_s])
    level = slope_of(at_s, noise)

    assert rising.per_minute == pytest.approx(1)
    assert rising.low == pytest.approx(1)
    assert level.low <= 0 <= level.high
