"""W7: chains of kernels, what they move, and what calling them costs."""

from __future__ import annotations

import numpy as np
import pytest
from duckdb import DuckDBPyConnection

from ascend_sn.replay import Gain, Merge, Replay, Unpriced, chains_of, chains_within, fused
from ascend_sn.replay.chain_bytes import _line, moved_by
from ascend_sn.replay.engine import Draft
from tests.timeline import insert, timeline
from tests.unit.replay.drawings import node_of, replay_of

FLOATS = "float;float"


def called(*, outputs: bool = False) -> DuckDBPyConnection:
    """Operators A, B, C of 4 each with their launch at the end, 2 of the program between them; the kernels take 2."""
    db = timeline("r0 step |1111111111111111111111|\n r0 s1 |....AA....BB....CC....|")
    for number, name in enumerate("ABC"):
        start = 6 * number
        common = {"profile_id": 0, "rank": 0, "thread": "host"}
        insert(
            db,
            "operator",
            operator_id=number,
            name=f"aten::{name.lower()}",
            ts_ns=start,
            dur_ns=4,
            input_shapes="8,4;8,4",
            input_dtypes=FLOATS,
            **common,
        )
        insert(db, "host_call", host_call_id=number, level="acl", name="launch", ts_ns=start + 3, dur_ns=1, **common)
        db.execute("update kernel set operator_id = ?, host_call_id = ? where name = ?", [number, number, name])
    if outputs:
        db.execute("update kernel set output_shapes = '8,4', output_dtypes = 'float'")
    return db


def chain(replay: Replay) -> list[int]:
    (found,) = chains_of(replay.graph, ["A", "B", "C"])
    return [int(node) for node in found]


@pytest.mark.parametrize("outputs", [True, False])
def test_bytes_of_a_chain_come_from_its_operators(outputs: bool) -> None:
    replay = replay_of(called(outputs=outputs))
    moved = moved_by(replay.graph, chains_of(replay.graph, ["A", "B", "C"])[0])

    # Each reads 2 x 128 bytes and writes 128; two of the outputs are read again.
    assert moved is not None
    assert (moved.total_bytes, moved.intermediate_bytes, moved.longest_ns, moved.kernel_count) == (1152, 256, 2, 3)
    assert moved.is_inferred == (not outputs)


@pytest.mark.parametrize(
    ("moved", "times", "line"),
    [
        ([100, 300, 100, 300], [30, 50, 30, 50], (20.0, 0.1)),
        ([100, 100], [30, 50], (40.0, 0.0)),  # alike: all of the time is fixed
        ([100, 300], [50, 30], (40.0, 0.0)),  # the larger one is quicker: bytes do not tell
        ([100, 300], [10, 90], (0.0, 0.25)),  # more than in proportion: nothing is fixed
    ],
)
def test_a_line_divides_the_time_of_kernels(moved: list[float], times: list[float], line: tuple[float, float]) -> None:
    assert _line(np.array(moved, np.float64), np.array(times, np.float64)) == pytest.approx(line)


def test_a_reduction_writes_what_the_next_one_reads_least() -> None:
    db = called()
    db.execute("update kernel set op_type = 'ReduceMean' where name = 'A'")
    db.execute("update operator set input_shapes = '8,4;8,1' where operator_id = 1")
    replay = replay_of(db)
    (found,) = chains_of(replay.graph, ["ReduceMean", "B", "C"])
    moved = moved_by(replay.graph, found)

    # 256 + 32, then 128 + 32 + 128, then 256 + 128; 32 and 128 lie between.
    assert moved is not None
    assert (moved.total_bytes, moved.intermediate_bytes) == (960, 160)


def test_without_shapes_there_is_no_price() -> None:
    db = called()
    db.execute("update operator set input_shapes = null")
    found = replay_of(db)
    transform = fused(found.graph, chains_of(found.graph, ["A", "B", "C"]))

    assert isinstance(transform, Unpriced)
    assert transform.reason.message_id == "replay.chain-bytes-unknown"


def test_a_kernel_without_a_type_goes_by_its_name() -> None:
    db = called()
    db.execute("update kernel set op_type = null")

    assert len(chains_of(replay_of(db).graph, ["A", "B", "C"])) == 1


def test_a_fused_chain_is_called_once() -> None:
    replay = replay_of(called(outputs=True))
    gain = replay.gain(fused(replay.graph, chains_of(replay.graph, ["A", "B", "C"])))

    # 640 bytes are left of 1152 in 6: 3.33, rounded 3. The step ends with the host at 22; B and C are no longer called
    # (8), and of the program between them a third stays: of 2 each 1 (rounded). In the low case all of it.
    assert isinstance(gain, Gain)
    assert (gain.low_ns, gain.expected_ns) == (8, 10)


def in_a_module(names: list[str]) -> Gain:
    """The gain of fusing a chain where a slice holds all three operators and goes on for 4 behind the last."""
    db = called(outputs=True)
    insert(db, "operator", profile_id=0, rank=0, operator_id=9, thread="host", name="norm", ts_ns=0, dur_ns=20)
    replay = replay_of(db)
    gain = replay.gain(fused(replay.graph, chains_of(replay.graph, names)))
    assert isinstance(gain, Gain)
    return gain


def test_what_a_slice_does_behind_its_chain_may_go_with_the_intermediate_results() -> None:
    gain = in_a_module(["A", "B", "C"])

    # As above: 8, and 2 of the program between. At best a third stays of the 4 behind C, too: 1.
    assert (gain.low_ns, gain.expected_ns, gain.high_ns) == (8, 10, 13)


def test_a_slice_that_launches_more_than_the_chain_stays() -> None:
    gain = in_a_module(["B", "C"])

    # C is no longer called (4), of the 2 between half stays; the slice calls A as well.
    assert (gain.expected_ns, gain.high_ns) == (5, 5)


def test_what_is_not_recorded_is_said_and_trusted_less() -> None:
    replay = replay_of(called())
    gain = replay.gain(fused(replay.graph, chains_of(replay.graph, ["A", "B", "C"])))

    assert isinstance(gain, Gain)
    assert "replay.chain-outputs-inferred" in [remark.message_id for remark in gain.remarks]
    assert gain.confidence != "high"


def test_an_operator_that_launches_something_else_stays() -> None:
    db = called(outputs=True)
    db.execute("update kernel set operator_id = 1 where name = 'A'")
    replay = replay_of(db)
    graph = replay.graph
    merged = Merge([node_of(graph, "B"), node_of(graph, "C")], 2)
    draft = Draft(graph)
    merged.apply(draft)
    host = {int(graph.tasks.operator_id[task]): 0 for task in graph.nodes.task if task >= 0}
    for node, task in enumerate(graph.nodes.task.tolist()):
        if task >= 0 and graph.nodes.kernel[node] < 0:
            host[int(graph.tasks.operator_id[task])] += int(draft.dur[node])

    assert host[1] == 3  # its launch is a call of its own
    assert host[2] == 0


def test_kernels_within_a_slice() -> None:
    db = called()
    insert(db, "operator", profile_id=0, rank=0, operator_id=9, thread="host", name="norm", ts_ns=5, dur_ns=12)
    replay = replay_of(db)
    names = [
        [replay.graph.tasks.name.decode()[int(replay.graph.nodes.kernel[node])] for node in found]
        for found in chains_within(replay.graph, ["norm"])
    ]

    assert names == [["B", "C"]]
    assert chains_within(replay.graph, ["other"]) == []
