from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ascend_sn.formats.torch_npu.collectives import CommOps, assemble_collectives
from ascend_sn.formats.torch_npu.communication_parts import (
    OpParts,
    TaskParts,
    Traffic,
    parts_from_json,
    parts_from_tasks,
    step_number,
)
from ascend_sn.formats.torch_npu.links import group_members, link_rows, links_from_json
from ascend_sn.model.ledger import Ledger
from ascend_sn.model.rows import Nullable, Text, conform
from ascend_sn.model.tables import COMM_TASK


def time_info(transit_ms: float, wait_ms: float, sync_ms: float = 0.0) -> dict[str, float]:
    return {
        "Start Timestamp(us)": 1736408883732241.5,
        "Elapse Time(ms)": 10.0,
        "Transit Time(ms)": transit_ms,
        "Wait Time(ms)": wait_ms,
        "Synchronization Time(ms)": sync_ms,
        "Idle Time(ms)": 10.0 - transit_ms - wait_ms,
    }


def band(size_mb: float, time_ms: float) -> dict[str, Any]:
    return {"Transit Size(MB)": size_mb, "Transit Time(ms)": time_ms, "Size Distribution": {}}


def write(tmp_path: Path, value: Any) -> Path:
    path = tmp_path / "communication.json"
    path.write_text(value if isinstance(value, str) else json.dumps(value))
    return path


def ops(*named: tuple[str, int, int], dtype: str | None = "FP32", count: int | None = 10) -> CommOps:
    length = len(named)
    counts = Nullable(np.full(length, count or 0, np.int64), np.full(length, count is not None))
    return CommOps(
        name=Text.of(name for name, _, _ in named),
        ts=np.array([ts for _, ts, _ in named], np.int64),
        dur=np.array([dur for _, _, dur in named], np.int64),
        kernel_id=Nullable(np.arange(length), np.ones(length, np.bool_)),
        group=Text.constant(None, length),
        count=counts,
        dtype=Text.constant(dtype, length),
    )


def part(name: str, start: int = 0, transit: int = 3, wait: int = 2, moved: int = 0, group: str = "77") -> OpParts:
    traffic = [Traffic("HCCS", 1000, moved)] if moved else []
    return OpParts(name, group, 5, start, 10, transit, wait, 1, traffic)


def test_times_are_rounded_as_in_the_text_files(tmp_path: Path) -> None:
    entry = {"Communication Time Info": time_info(0.0000025, 0.0000035), "Communication Bandwidth Info": {}}
    path = write(tmp_path, {"step1": {"collective": {"hcom_allReduce__1_0_1@7": entry}}})

    (found,) = parts_from_json(path, "communication.json", Ledger())

    assert (found.transit_ns, found.wait_ns) == (3, 4)  # 2.5 and 3.5 ns


def test_a_number_of_a_million_digits_is_left_out_and_not_worked_out(tmp_path: Path) -> None:
    times = json.dumps(time_info(1, 1)).replace("10.0", "1e999990", 1)
    path = write(
        tmp_path,
        f'{{"step1": {{"collective": {{"hcom_allReduce__1_0_1@7": {{"Communication Time Info": {times}}}}}}}}}',
    )
    ledger = Ledger()

    assert parts_from_json(path, "communication.json", ledger) == []
    assert [(entry.kind, entry.count) for entry in ledger.entries] == [("unreadable_entry", 1)]


def test_times_keep_every_nanosecond(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        {
            "step50": {
                "p2p": {},
                "collective": {
                    "hcom_allReduce__210_0_1@77": {
                        "Communication Time Info": time_info(0.239184, 5.646633, 5.615692),
                        "Communication Bandwidth Info": {
                            "HCCS": band(28.647232, 1.816836),
                            "PCIE": band(0, 0),
                            "SDMA": band(28.647232, 1.816836),
                            "RDMA": band(4, 2),
                        },
                    },
                    "Total Op Info": {},
                },
            }
        },
    )
    ledger = Ledger()

    (found,) = parts_from_json(path, "communication.json", ledger)

    assert (found.name, found.group_hash, found.step) == ("hcom_allReduce__210_0_1", "77", 50)
    assert found.start_ns == 1_736_408_883_732_241_500
    assert (found.transit_ns, found.wait_ns, found.sync_ns) == (239_184, 5_646_633, 5_615_692)
    # SDMA is the sum of the others: not a transport beside them.
    assert found.traffic == [Traffic("HCCS", 28_647_232, 1_816_836), Traffic("RDMA", 4_000_000, 2_000_000)]
    assert not ledger.entries


def test_a_lone_sum_is_kept(tmp_path: Path) -> None:
    entry = {"Communication Time Info": time_info(1, 1), "Communication Bandwidth Info": {"SDMA": band(1, 1)}}

    (found,) = parts_from_json(write(tmp_path, {"step": {"collective": {"a__1_0_1@7": entry}}}), "c", Ledger())

    assert found.step is None
    assert [traffic.transport for traffic in found.traffic] == ["SDMA"]


@pytest.mark.parametrize("text", ["", "{", "[1, 2]", '{"step1": 3}', '{"step1": {"collective": {"a": {}}}}', "\x00"])
def test_a_broken_file_is_told(tmp_path: Path, text: str) -> None:
    ledger = Ledger()

    assert parts_from_json(write(tmp_path, text), "communication.json", ledger) == []
    assert [entry.file for entry in ledger.entries] == ["communication.json"]


def test_step_numbers() -> None:
    assert (step_number("step50"), step_number("step"), step_number("50"), step_number("None")) == (50, None, 50, None)


def test_the_parts_sum_to_the_collective() -> None:
    collectives, links = assemble_collectives(
        ops(("hcom_allReduce__077_4_1", 100, 12)), [part("hcom_allReduce__077_4_1", 100, moved=8)], None, []
    )

    (row,) = collectives.to_dicts()
    assert (row["transit_ns"], row["wait_ns"], row["sync_ns"], row["idle_ns"]) == (3, 2, 1, 7)
    assert (row["op"], row["sequence"], row["group_id"], row["size_bytes"]) == ("allreduce", 4, "77", 40)
    assert row["method"] == "recorded"
    (link,) = links.to_dicts()
    assert (link["collective_id"], link["transport"], link["size_bytes"], link["dur_ns"]) == (0, "HCCS", 1000, 8)
    assert link["bandwidth_bytes_per_s"] == pytest.approx(125e9)


def test_a_recorded_transit_of_zero_with_bytes_is_the_time_of_the_transport() -> None:
    (row,) = assemble_collectives(ops(("a__1_0_1", 0, 12)), [part("a__1_0_1", transit=0, moved=8)], None, [])[
        0
    ].to_dicts()
    (capped,) = assemble_collectives(ops(("a__1_0_1", 0, 12)), [part("a__1_0_1", transit=0, moved=800)], None, [])[
        0
    ].to_dicts()

    assert (row["transit_ns"], row["wait_ns"], row["idle_ns"]) == (8, 2, 2)
    # Planes run side by side: their sum can exceed the collective.
    assert (capped["transit_ns"], capped["wait_ns"], capped["idle_ns"]) == (10, 2, 0)


def test_a_repeated_name_is_matched_by_its_start() -> None:
    named = ops(("a__1_0_1", 0, 10), ("a__1_0_1", 1_000_000, 10))
    parts = [part("a__1_0_1", 1_000_100, wait=9), part("a__1_0_1", 50, wait=1)]

    rows = assemble_collectives(named, parts, None, [])[0].to_dicts()

    assert [row["wait_ns"] for row in rows] == [1, 9]


def test_an_entry_without_an_operator_is_a_collective_without_a_kernel() -> None:
    rows = assemble_collectives(ops(("a__1_0_1", 0, 10)), [part("b__1_0_1", 500)], None, [])[0].to_dicts()

    assert [(row["name"], row["kernel_id"], row["method"]) for row in rows] == [
        ("a__1_0_1", 0, None),
        ("b__1_0_1", None, "recorded"),
    ]
    assert [row["dur_ns"] for row in rows] == [10, 10]


def test_what_was_not_recorded_is_null() -> None:
    (row,) = assemble_collectives(ops(("a__123_0_1", 0, 10), dtype=None), [], None, [])[0].to_dicts()

    assert [row[key] for key in ("wait_ns", "sync_ns", "transit_ns", "idle_ns", "method", "size_bytes")] == [None] * 6
    assert row["group_id"] == "*123"


def test_the_digits_of_a_name_are_completed_by_the_metadata() -> None:
    known = ["9000123", "9000456"]

    (row,) = assemble_collectives(ops(("a__123_0_1", 0, 10)), [], None, known)[0].to_dicts()
    (two,) = assemble_collectives(ops(("a__123_0_1", 0, 10)), [], None, [*known, "8000123"])[0].to_dicts()

    assert (row["group_id"], two["group_id"]) == ("9000123", "*123")


def test_parts_from_the_master_plane() -> None:
    # Plane 0 only copies on chip; plane 1 waits 4, moves 3, waits 2; plane 2 moves too but is not master.
    plane = ["Plane 0", "Plane 1", "Plane 1", "Plane 1", "Plane 2", "Plane 7"]
    name = ["Memcpy", "Notify_Wait", "Memcpy", "Notify_Wait", "Reduce_Inline", "Notify_Wait"]
    transport = ["SDMA/ON_CHIP", "LOCAL", "SDMA/HCCS", "LOCAL", "SDMA/HCCS", "LOCAL"]
    tasks = conform(
        COMM_TASK,
        collective_id=np.zeros(6, np.int64),
        name=name,
        transport=transport,
        size_bytes=np.array([8, 0, 8, 0, 8, 0]),
        ts_ns=np.array([0, 0, 4, 7, 1, 0]),
        dur_ns=np.array([1, 4, 3, 2, 5, 9]),
    )

    found = parts_from_tasks(2, tasks, Text.of(plane))

    assert found.known.tolist() == [True, False]
    assert (found.transit_ns[0], found.wait_ns[0], found.sync_ns[0]) == (3, 6, 4)
    (row,) = assemble_collectives(ops(("a__1_0_1", 0, 10)), [], found, [])[0].to_dicts()
    assert (row["transit_ns"], row["wait_ns"], row["idle_ns"], row["method"]) == (3, 6, 1, "recorded")


def test_tasks_without_planes_tell_nothing() -> None:
    tasks = conform(COMM_TASK, 1, collective_id=0, name="Notify Wait", ts_ns=0, dur_ns=9)

    found = parts_from_tasks(1, tasks, Text.constant(None, 1))

    assert isinstance(found, TaskParts)
    assert found.known.tolist() == [False]


def matrix(tmp_path: Path) -> Path:
    path = tmp_path / "communication_matrix.json"
    link = {"Transport Type": "HCCS", "Transit Size(MB)": 2.5, "Transit Time(ms)": 0.5, "Bandwidth(GB/s)": 5.0}
    path.write_text(
        json.dumps(
            {
                "step7": {
                    "p2p": {},
                    "collective": {
                        "reduce-top1@77": {"0-1": {**link, "Op Name": "hcom_reduceScatter__077_0_1"}},
                        "reduce-total@77": {"0-1": link, "1-1": {**link, "Transport Type": "LOCAL"}},
                        "allgather-total@88": {"0-3": link},
                    },
                }
            }
        )
    )
    return path


def test_only_totals_count_and_reduce_is_named_after_its_operators(tmp_path: Path) -> None:
    ledger = Ledger()

    entries = links_from_json(matrix(tmp_path), "communication_matrix.json", ledger)

    assert [(entry.op, entry.src, entry.dst, entry.transport) for entry in entries] == [
        ("reducescatter", 0, 1, "HCCS"),
        ("reducescatter", 1, 1, "LOCAL"),
        ("allgather", 0, 3, "HCCS"),
    ]
    assert {(entry.step, entry.size_bytes, entry.dur_ns) for entry in entries} == {(7, 2_500_000, 500_000)}
    assert not ledger.entries


def test_ranks_become_global_where_the_members_are_known(tmp_path: Path) -> None:
    entries = links_from_json(matrix(tmp_path), "m", Ledger())

    rows = link_rows(entries, {"77": [4, 6]}).to_dicts()

    assert [(row["src_rank"], row["dst_rank"], row["rank_scope"]) for row in rows] == [
        (4, 6, "global"),
        (6, 6, "global"),
        (0, 3, "group"),
    ]


def test_members_by_metadata_are_exact_and_by_traffic_at_least() -> None:
    rows = group_members({"77": ("tp", [4, 6])}, {"77": 1, "88": 2}, {"88": 1}, 9).to_dicts()

    assert [(row["group_id"], row["kind"], row["group_rank"], row["member_rank"]) for row in rows] == [
        ("77", "tp", 0, 4),
        ("77", "tp", 1, 6),
        ("88", None, 0, None),
        ("88", None, 1, 9),
        ("88", None, 2, None),
    ]
    assert [(row["group_size"], row["size_is_exact"]) for row in rows] == [(2, True)] * 2 + [(3, False)] * 3
