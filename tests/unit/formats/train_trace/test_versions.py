"""Files of every version are read for ever; those of later versions are refused by name."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from ascend_sn.errors import FormatError
from ascend_sn.model.trace_schema import TRACE_VERSION
from tests.unit.formats.train_trace.written import START_NS, Writing, read, table

GOLDEN: Final = Path(__file__).parents[3] / "golden" / "train_trace"

COLUMNS: Final = {
    "step": ("step_id", "step", "session", "ts_ns", "dur_ns"),
    "span": ("name", "kind", "thread", "ts_ns", "dur_ns"),
    "operator": ("name", "phase"),
    "kernel": ("name", "kind", "ts_ns", "dur_ns", "operator_id", "size_bytes"),
    "collective": ("kernel_id", "op", "group_id", "sequence", "size_bytes", "dtype", "ts_ns", "dur_ns"),
    "comm_group_member": ("group_id", "group_rank", "group_size", "member_rank"),
    "metric": ("name", "step", "ts_ns", "value"),
    "counter": ("name", "unit", "ts_ns", "value"),
    "memory_event": ("kind", "size_bytes"),
}


def test_there_is_a_file_of_every_version() -> None:
    assert sorted(path.name for path in GOLDEN.iterdir()) == [f"v{n}" for n in range(1, TRACE_VERSION + 1)]


@pytest.mark.parametrize("case", sorted(GOLDEN.iterdir()), ids=lambda path: path.name)
def test_a_file_of_a_version_gives_its_tables(case: Path) -> None:
    (capture,) = read(case)

    lines = []
    for name, columns in COLUMNS.items():
        lines += [name, *(f"  {' | '.join(map(str, row))}" for row in table(capture, name, *columns))]
    damage = [f"  {entry.kind} | {entry.severity} | {entry.count}" for entry in capture.ledger.entries]
    written = (case / "expected.txt").read_text(encoding="utf-8").splitlines()
    assert [*lines, "damage", *damage] == [line for line in written if not line.startswith("#")]
    assert (capture.header.rank, capture.header.world_size, capture.header.start_ns) == (1, 2, START_NS)


def test_a_newer_version_is_refused_by_name(tmp_path: Path) -> None:
    trace = Writing(tmp_path, version=TRACE_VERSION + 1)
    trace.span("forward", 0, 1)

    with pytest.raises(FormatError, match=rf"version {TRACE_VERSION + 1} is newer .*\({TRACE_VERSION}\)"):
        trace.read()
