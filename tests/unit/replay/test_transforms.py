"""W1 to W15 where the hand trace and the meetings do not show them."""

from __future__ import annotations

import numpy as np
import pytest
from duckdb import DuckDBPyConnection

from ascend_sn.replay import (
    Gain,
    Insert,
    MemoryChange,
    MoveStream,
    Replay,
    Transform,
    Unpriced,
    Where,
    activation_bytes,
    batch_doubled,
    buckets_merged,
    comm_compressed,
    comm_faster,
    copies_pinned,
    gc_removed,
    input_hidden,
    launches_removed,
    lower_precision,
    operators_to,
    operators_to_cohort,
    recomputed,
    results_read_later,
    silence_removed,
    straggler_normalised,
    syncs_removed,
)
from ascend_sn.replay.communication_transforms import alpha_beta
from tests.timeline import insert, timeline, together
from tests.unit.replay.drawings import launch, meet, node_of, replay_of, step_after, wait


def bounds(replay: Replay, transform: Transform | Unpriced) -> tuple[int, int, int]:
    gain = replay.gain(transform)
    assert isinstance(gain, Gain), gain
    return gain.low_ns, gain.expected_ns, gain.high_ns


def reason(found: object) -> str:
    assert isinstance(found, Unpriced)
    return found.reason.message_id


def with_copy(size_bytes: int | None) -> Replay:
    """The host copies a batch for 10 and waits for it, then launches 10 of computing and waits for them."""
    db = timeline(f"r0 step |{'1' * 24}|\n r0 s1 |...{'H' * 10}.{'A' * 10}|", kinds={"H": "copy"})
    launch(db, f".HH{'s' * 10}A{'s' * 10}")
    db.execute("update kernel set copy_direction = 'h2d', size_bytes = ? where name = 'H'", [size_bytes])
    return replay_of(db)


@pytest.mark.parametrize("size_bytes", [20, None])
def test_w2_copies_that_were_issued_in_the_step_before(size_bytes: int | None) -> None:
    replay = with_copy(size_bytes)

    # The copy of 10 runs beside the step before, so A starts when it is launched, at 4. At least the copy runs from 0
    # to 10 beside the host, and A, which uses what it brings, from 10 to 20.
    assert bounds(replay, copies_pinned(replay.graph)) == (4, 10, 10)


def test_w2_a_step_takes_as_long_as_its_copies() -> None:
    db = timeline(f"r0 step |{'1' * 24}|\n r0 s1 |{'H' * 18}{'A' * 6}|", kinds={"H": "copy"})
    db.execute("update kernel set copy_direction = 'h2d' where name = 'H'")
    replay = replay_of(db)

    assert bounds(replay, copies_pinned(replay.graph)) == (0, 6, 18)


def test_w2_results_that_are_read_a_step_later() -> None:
    # The host launches A, then a copy back, and waits for it; then it launches B and waits.
    db = timeline(f"r0 step |{'1' * 30}|\n r0 s1 |..{'A' * 6}{'D' * 8}..{'B' * 10}|", kinds={"D": "copy"})
    launch(db, f"AD{'s' * 14}B{'s' * 12}")
    db.execute("update kernel set copy_direction = 'd2h' where name = 'D'")
    replay = replay_of(db)

    low, expected, high = bounds(replay, results_read_later(replay.graph))

    assert (low, expected) == (0, 8)
    assert high >= 8


def test_w2_the_other_way_needs_copies_back() -> None:
    none = results_read_later(replay_of(timeline("r0 step |11|\n r0 s1 |AA|")).graph)

    assert reason(none) == "replay.no-device-to-host-copies"


def test_w2_needs_copies() -> None:
    none = copies_pinned(replay_of(timeline("r0 step |11|\n r0 s1 |AA|")).graph)

    assert reason(none) == "replay.no-host-to-device-copies"


def buckets(sizes: list[int], transits: list[int], *, dtype: str = "float32") -> Replay:
    """All-reduces one after another, with their parts as recorded; nothing else."""
    stream = "".join(letter * transit for letter, transit in zip("RSTUV", transits, strict=False))
    db = timeline(f"r0 step |{'1' * len(stream)}|\n r0 s1 |{stream}|", kinds=dict.fromkeys("RSTUV", "communication"))
    for letter, transit in zip("RSTUV", transits, strict=False):
        meet(db, letter, profiles=(0,), group_size=4, transit_ns=transit)
    for at, size in enumerate(sizes):
        db.execute(
            "update collective set size_bytes = ?, dtype = ?, group_id = 'g', sequence = ? where collective_id = ?",
            [size, dtype, at, at],
        )
    db.execute("update comm_group_member set group_id = 'g'")
    return replay_of(db)


def test_w4_transit_at_a_share_of_the_links_bandwidth() -> None:
    # 40 bytes x 2 x 3 / 4 = 60 bytes per link; at 3 bytes/ns 20 ns, at 0.8 of that 25, at 0.6 33.
    replay = buckets([40], [50])

    assert bounds(replay, comm_faster(replay.graph, bytes_per_s=3e9, alpha_ns=0)) == (17, 25, 30)


def test_w4_never_makes_a_collective_slower() -> None:
    replay = buckets([40], [50])

    assert bounds(replay, comm_faster(replay.graph, bytes_per_s=1e8, alpha_ns=0)) == (0, 0, 0)


def test_w4_needs_a_known_transit() -> None:
    db = timeline("r0 step |11111|\n r0 s1 |RRRRR|", kinds={"R": "communication"})
    meet(db, "R", profiles=(0,), group_size=4, size_bytes=10)

    assert reason(comm_faster(replay_of(db).graph, bytes_per_s=1e9)) == "replay.transit-unknown"


def test_w5_halves_what_depends_on_the_size() -> None:
    # alpha 20, 1 ns per byte: 40 -> 60, 80 -> 100, 160 -> 180; half the bytes save 20 + 40 + 80 in the high case.
    # Encoding and decoding 280 bytes at 200 bytes/ns take 0.4 + 0.8 + 1.6, at 50 bytes/ns 1.6 + 3.2 + 6.4.
    replay = buckets([40, 80, 160], [60, 100, 180])

    assert bounds(replay, comm_compressed(replay.graph)) == (140 - 11, 140 - 3, 140)


def test_w5_sends_only_float32_smaller() -> None:
    assert reason(comm_compressed(buckets([40], [60], dtype="bfloat16").graph)) == "replay.no-float32-communication"


def test_w6_small_messages_in_one_save_their_fixed_cost() -> None:
    # alpha 20, 0.25 ns per byte: 4 -> 21, 8 -> 22 and 400 -> 120; the two small ones become one of 23 bytes' time.
    replay = buckets([4, 8, 400], [21, 22, 120])

    assert bounds(replay, buckets_merged(replay.graph)) == (20, 20, 20)


def test_w6_needs_small_messages() -> None:
    assert reason(buckets_merged(buckets([400, 800, 1600], [120, 220, 420]).graph)) == "replay.no-small-messages"


@pytest.mark.parametrize(
    ("sizes", "fits"),
    [([1, 2, 4], True), ([1, 2, 3], False), ([1, 4], False)],
    ids=["three of a range of four", "too narrow", "two sizes"],
)
def test_a_fit_needs_three_sizes_of_a_range_of_four(sizes: list[int], fits: bool) -> None:
    given = np.array(sizes, np.int64)

    found = alpha_beta(given, 20 + 100 * given)

    assert (found is not None) == fits
    if found is not None:
        assert (found.alpha_ns, found.bytes_per_ns) == (20.0, 0.01)


def host_bound() -> Replay:
    """Two operators of 20 of which 4 are the launch; the device follows each with 10."""
    db = timeline(f"r0 step |{'1' * 50}|\n r0 host |{'f' * 20}{chr(39)}{'f' * 19}{'.' * 10}|\n r0 s1 |{'.' * 50}|")
    with together(db):
        for kernel, (called, start) in enumerate(((14, 20), (34, 40))):
            insert(
                db, "host_call", host_call_id=kernel, thread="host", level="node", name="launch", ts_ns=called, dur_ns=4
            )
            insert(
                db,
                "kernel",
                kernel_id=kernel,
                device_id=0,
                stream="1",
                name="A",
                kind="compute",
                ts_ns=start,
                dur_ns=10,
                host_call_id=kernel,
                operator_id=kernel,
                step_id=0,
            )
    insert(
        db, "host_call", host_call_id=2, thread="host", level="acl", name="aclrtSynchronizeDevice", ts_ns=40, dur_ns=10
    )
    return replay_of(db)


def test_w8_a_captured_graph_costs_the_host_little() -> None:
    # The first kernel may start at 9, 4 and 0 (of 20), the second at once behind it: the gap of 10 was the host's.
    replay = host_bound()

    assert bounds(replay, launches_removed(replay.graph)) == (21, 26, 30)


def test_w8_needs_launches() -> None:
    assert reason(launches_removed(replay_of(timeline("r0 step |11|\n r0 s1 |AA|")).graph)) == "replay.no-launches"


def test_w10_no_longer_than_given() -> None:
    replay = replay_of(timeline("r0 step |1111111111|\n r0 s1 |AAAAABBBBB|"))

    assert bounds(replay, operators_to(Where(names=("A",)), 4, 3, 1)) == (1, 2, 4)


def test_w10_no_longer_than_the_cohort() -> None:
    # Of 2, 2 and 10 the third quartile is 6, the median and the least are 2.
    db = timeline("r0 step |11111111111111|\n r0 s1 |AA'A'AAAAAAAAA|")
    db.execute("update kernel set input_shapes = '4,4', input_dtypes = 'float16'")
    replay = replay_of(db)

    assert bounds(replay, operators_to_cohort(replay.graph, Where(names=("A",)))) == (4, 8, 8)


def test_w10_needs_peers() -> None:
    replay = replay_of(timeline("r0 step |11|\n r0 s1 |AA|"))

    assert reason(operators_to_cohort(replay.graph, Where(names=("A",)))) == "replay.no-cohort"


def test_w11_keeps_a_synchronisation_in_one_of_fifty_steps() -> None:
    # Two kernels of 50 on two streams, each waited for; without that they run beside each other, and the host (2)
    # runs ahead of them.
    db = timeline(f"r0 step |{'1' * 102}|\n r0 s1 |.{'A' * 50}|\n r0 s2 |{'.' * 52}{'B' * 50}|")
    launch(db, f"A{'s' * 50}B{'s' * 50}")
    replay = replay_of(db)

    assert bounds(replay, syncs_removed(replay.graph, Where(names=("aclrtSynchronizeDevice",)))) == (51, 52, 52)
    assert reason(syncs_removed(replay.graph, Where(names=("other",)))) == "replay.no-blocking-calls"


def with_types(first: str, second: str) -> Replay:
    db = timeline("r0 step |11111111111111111111|\n r0 s1 |AAAAAAAAAABBBBB.....|")
    db.execute("update kernel set op_type = 'MatMulV2', input_shapes = '4,4;4,4', output_shapes = '4,4'")
    db.execute("update kernel set input_dtypes = ? where name = 'A'", [f"{first};{first}"])
    db.execute("update kernel set input_dtypes = ? where name = 'B'", [f"{second};{second}"])
    db.execute("update step set dur_ns = 15")
    return replay_of(db)


def test_w12_as_the_same_product_in_half_precision_measures() -> None:
    # 5 of 10: half; 0.6 in the low case.
    replay = with_types("FLOAT", "DT_BF16")

    assert bounds(replay, lower_precision(replay.graph)) == (4, 5, 5)


def test_w12_without_a_measured_pair_is_trusted_little() -> None:
    replay = with_types("FLOAT", "FLOAT")

    gain = replay.gain(lower_precision(replay.graph))

    # 0.7, 0.5 and 0.35 of 10 and of 5, in whole ns.
    assert isinstance(gain, Gain)
    assert (gain.low_ns, gain.expected_ns, gain.high_ns) == (15 - 7 - 4, 15 - 5 - 2, 15 - 4 - 2)
    assert gain.confidence == "low"
    assert reason(lower_precision(with_types("FLOAT16", "FLOAT16").graph)) == "replay.no-float32-kernels"


def with_modules() -> DuckDBPyConnection:
    db = timeline(
        "r0 step |1111111111|\n r0 s1 |FFFGGBBBBB|", launched_by={"F": "forward", "G": "forward", "B": "backward"}
    )
    db.execute("update operator set module = 'net.layer1' where phase = 'forward'")
    return db


def test_w13_costs_the_second_forward_pass() -> None:
    replay = replay_of(with_modules())

    # 5 again, 5.5 in the low case, before the backward pass.
    assert bounds(replay, recomputed(replay.graph, ("net",))) == (-6, -5, -5)
    assert reason(recomputed(replay.graph, ("net.layer2",))) == "replay.modules-unknown"


def test_w13_frees_what_the_forward_pass_holds_at_the_peak() -> None:
    db = with_modules()
    events = [("alloc", 100, "a"), ("alloc", 40, "b"), ("free", 40, "b"), ("alloc", 60, "c")]
    with together(db):
        for at, (kind, size, address) in enumerate(events):
            insert(db, "memory_event", ts_ns=at, kind=kind, size_bytes=size, address=address, operator_id=0)
    insert(db, "memory_event", ts_ns=9, kind="alloc", size_bytes=10, address="d")
    replay = replay_of(db)

    found = activation_bytes(db, replay.choice.windows[0], ("net",))

    # Peak at the end: 100 + 60 + 10, of which the last was not asked for by the forward pass.
    assert found == MemoryChange(peak_bytes=170, activation_bytes=160)
    empty = timeline("r0 step |11|\n r0 s1 |AA|")
    assert reason(activation_bytes(empty, replay.choice.windows[0])) == "replay.memory-not-collected"


def test_w14_twice_the_batch_per_sample() -> None:
    # A of 10 and B of 2 on the device, and 8 of the step around them. t0 is 0 in the low case: 24 + 8 for two
    # batches, 16 each. With t0 = 2 (the shortest kernel): A 18, B 2, and 8: 14 each.
    db = timeline(f"r0 step |{'1' * 20}|\n r0 s1 |{'.' * 4}{'A' * 10}BB{'.' * 4}|")
    launch(db, f"..AA{'.' * 16}")
    launch(db, f"{'.' * 4}B{'s' * 11}{'.' * 4}")
    replay = replay_of(db)

    assert bounds(replay, batch_doubled(replay.graph)) == (4, 6, 6)
    assert reason(batch_doubled(replay.graph, fits=False)) == "replay.batch-does-not-fit"


def test_w15_without_garbage_collection_in_most_steps() -> None:
    db = timeline(f"r0 step |{'1' * 100}|\n r0 host |{'f' * 100}|")
    insert(db, "host_call", host_call_id=0, thread="host", level="gc", name="gc", ts_ns=20, dur_ns=50)
    replay = replay_of(db)

    assert bounds(replay, gc_removed(replay.graph)) == (49, 49, 50)
    assert reason(gc_removed(replay_of(timeline("r0 step |11|\n r0 s1 |AA|")).graph)) == "replay.no-gc"


def test_silent_stretches_of_a_thread_are_taken_out() -> None:
    # Nothing is recorded from 6 to 14 and from 16 to 18; half of what is long enough stays in the low case.
    db = timeline("r0 step |11111111111111111111|\n r0 host |ffffff........bb..bb|\n r0 s1 |AAAAAA........BB..BB|")
    db.execute("update profile set device_kind = 'cpu'")
    replay = replay_of(db)

    assert bounds(replay, silence_removed(replay.graph, 0, 3)) == (4, 8, 8)
    assert bounds(replay, silence_removed(replay.graph, 0, 2)) == (5, 10, 10)
    assert reason(silence_removed(replay.graph, 0, 9)) == "replay.no-silence"
    assert reason(silence_removed(replay.graph, 7, 1)) == "replay.no-silence"


def test_silence_at_the_edges_of_a_step_counts_unless_the_recording_begins_or_ends_there() -> None:
    db = timeline("r0 step |11111111111111111111|\n r0 host |....ffff....bbbb....|\n r0 s1 |....AAAA....BBBB....|")
    db.execute("update profile set device_kind = 'cpu'")
    replay = replay_of(db)

    assert bounds(replay, silence_removed(replay.graph, 0, 4)) == (6, 12, 12)
    assert bounds(replay, silence_removed(replay.graph, 0, 4, edges=False)) == (2, 4, 4)


def test_w1_says_when_nothing_is_waited_for() -> None:
    assert reason(input_hidden(replay_of(timeline("r0 step |11|\n r0 s1 |AA|")).graph)) == "replay.no-data-wait"


def test_w1_with_a_number_of_workers() -> None:
    # 40 of 100 are loading. One worker makes a batch in 40, two in 20: the rest of 60 and its hand-over (5, or 10)
    # count. On two cores two workers leave the program half as much again: 90 and 10.
    replay = replay_of(timeline(f"r0 step |{'1' * 100}|\n r0 host |{'d' * 40}{'f' * 60}|"))

    def of(workers: int) -> tuple[int, int, int]:
        return bounds(replay, input_hidden(replay.graph, workers=0, cores=2, to_workers=workers, hand_over_ns=5))

    assert of(1) == (30, 35, 40)
    assert of(2) == (0, 35, 40)


def test_w1_with_workers_that_do_not_keep_up() -> None:
    # 20 of 100 are waited for with 2 workers: a batch takes 200; 4 make one in 50, below the rest of 80 and its 5
    # (10 in the low case).
    db = timeline(f"r0 step |{'1' * 100}|\n r0 host |{'d' * 20}{'f' * 80}|")
    db.execute("update operator set name = '_MultiProcessingDataLoaderIter' where phase = 'data'")
    replay = replay_of(db)

    assert bounds(replay, input_hidden(replay.graph, workers=2, cores=64, hand_over_ns=5)) == (10, 15, 20)
    unknown = replay.gain(input_hidden(replay.graph, hand_over_ns=5))
    assert isinstance(unknown, Gain)
    assert "replay.workers-unknown" in [remark.message_id for remark in unknown.remarks]
    assert unknown.confidence == "low"


def test_w9_needs_ranks() -> None:
    assert reason(straggler_normalised(replay_of(timeline("r0 step |11|\n r0 s1 |AA|")).graph)) == "replay.one-rank"


def test_inserted_work_delays_what_it_is_put_before() -> None:
    replay = replay_of(timeline("r0 step |1111111111|\n r0 s1 |AAAAABBBBB|"))

    extra = Insert(3, node_of(replay.graph, "A"), node_of(replay.graph, "B"))

    assert step_after(replay, extra) == 13
    assert step_after(replay, extra, extra) == 13


def test_moved_tasks_run_beside_their_old_neighbours() -> None:
    db = timeline(f"r0 step |{'1' * 15}|\n r0 s1 |AAAAABBBBBCCCCC|")
    replay = replay_of(db)

    # C still uses what B makes; without that, ahead of the step, B costs nothing.
    assert step_after(replay, MoveStream(Where(names=("B",)))) == 10
    assert step_after(replay, MoveStream(Where(names=("B",)), ahead=True)) == 10


def test_waits_keep_their_events_when_tasks_move() -> None:
    db = timeline(f"r0 step |{'1' * 15}|\n r0 s1 |AAAAABBBBBCCCCC|")
    wait(db, {"B": "A"})
    replay = replay_of(db)

    assert step_after(replay, MoveStream(Where(names=("B",)))) == 15
