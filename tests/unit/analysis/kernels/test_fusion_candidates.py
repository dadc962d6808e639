from __future__ import annotations

from itertools import pairwise
from typing import Any

from hypothesis import given, settings, strategies as st

from ascend_sn.analysis.kernels.fusion_candidates import fusion_candidates, fusion_instances
from ascend_sn.analysis.kernels.kernel_chains import chains, recurring
from tests.unit.analysis.traces import Row, database, dicts, kernel, numbered, operator, results

SHAPED: dict[str, Any] = {
    "input_shapes": "8,8",
    "input_dtypes": "FLOAT",
    "output_shapes": "8,8",
    "output_dtypes": "FLOAT",
}
NAMES = {"M": "Mul", "A": "Add", "R": "Relu", "X": "Exp", "|": "EVENT_WAIT"}


def drawn(letters: str, dur_ns: int = 10, **more: Any) -> list[Row]:
    """One kernel per letter on one stream, each handing 256 bytes to the next; | is a wait."""
    return numbered([
        kernel(20 * at, dur_ns, NAMES[letter], "sync" if letter == "|" else "compute", **SHAPED, **more)
        for at, letter in enumerate(letters)
    ])  # fmt: skip


def found(rows: list[Row]) -> list[tuple[str, int]]:
    return [(row["op_types"], row["instances"]) for row in results(fusion_candidates, rows)]


def test_mar_recurs_three_times_in_marmarxmar() -> None:
    (row,) = results(fusion_candidates, drawn("MARMARXMAR"))

    assert (row["pattern"], row["op_types"], row["length"], row["instances"]) == ("Mul+Add+ReLU", "Mul Add Relu", 3, 3)
    assert (row["state"], row["example_kernel_id"], row["fusion_ratio"], row["is_estimate"]) == (
        "candidate",
        0,
        0.0,
        False,
    )
    # each instance moves 3 x 512 bytes, of which 2 x 256 are intermediate and written and read: a third is left of 30
    assert (row["before_ns"], row["after_ns"], row["saving_ns"]) == (90, 30.0, 60.0)
    assert row["share_ratio"] == 0.9


def test_b_and_c_of_the_hand_trace_fuse_to_10() -> None:
    # 10 bytes in 5 ns and 20 bytes in 10 ns, 5 of them handed over; at 2 bytes per ns that is (30 - 2 x 5) / 2
    b = {"input_shapes": "5", "output_shapes": "5", "input_dtypes": "INT8", "output_dtypes": "INT8"}
    c = {"input_shapes": "5", "output_shapes": "15", "input_dtypes": "INT8", "output_dtypes": "INT8"}
    rows = [
        one
        for at in (0, 100)
        for one in (kernel(at, 5, "B", **b), kernel(at + 5, 10, "C", **c), kernel(at + 50, 2, "Z"))
    ]

    (row,) = results(fusion_candidates, numbered(rows))

    assert (row["op_types"], row["before_ns"], row["after_ns"]) == ("B C", 30, 20.0)


def test_a_wait_between_them_or_another_stream_breaks_a_chain() -> None:
    assert found(drawn("M|A|M|A|M|A")) == []
    assert found(numbered([kernel(20 * at, 10, "MA"[at % 2], stream=str(at % 2), **SHAPED) for at in range(4)])) == []


def test_what_does_not_hand_its_output_on_is_no_chain() -> None:
    other = {**SHAPED, "input_shapes": "4,4", "output_shapes": "2,2"}
    rows = [
        one for at in range(3) for one in (kernel(40 * at, 10, "M", **SHAPED), kernel(40 * at + 20, 10, "A", **other))
    ]

    assert found(numbered(rows)) == []


def test_without_shapes_the_module_ties_kernels_together_and_the_saving_is_not_known() -> None:
    rows: list[Row] = [operator("a", 0, 1, module="Net.act"), operator("b", 0, 1, module="Net.other")]
    rows += [kernel(20 * at, 10, "MAX"[at % 3], operator_id=int(at % 3 == 2)) for at in range(9)]

    (row,) = results(fusion_candidates, numbered(rows))

    assert (row["op_types"], row["instances"], row["before_ns"]) == ("M A", 3, 60)
    assert (row["after_ns"], row["saving_ns"], row["saving_ratio"]) == (None, None, None)


def test_a_matrix_product_may_only_stand_first_and_keeps_its_time() -> None:
    def chain(at: int) -> list[Row]:
        product = {
            "input_shapes": "8,8;8,8",
            "input_dtypes": "FLOAT;FLOAT",
            "output_shapes": "8,8",
            "output_dtypes": "FLOAT",
        }
        return [
            kernel(at, 10, "Mul", **SHAPED),
            kernel(at + 20, 100, "MatMul", **product),
            kernel(at + 130, 10, "Relu", **SHAPED),
            kernel(at + 150, 1, "MemSet"),
        ]

    (row,) = results(fusion_candidates, numbered([one for at in (0, 1000) for one in chain(at)]))

    assert (row["op_types"], row["before_ns"]) == ("MatMul Relu", 220)
    assert row["after_ns"] == 2 * (100 + 5)  # the ReLU no longer reads


def test_kernels_are_used_once_and_the_better_sequence_takes_them() -> None:
    rows = results(fusion_candidates, drawn("MARMARMA"))

    assert [(row["op_types"], row["instances"]) for row in rows] == [("Mul Add Relu", 2)]


def test_fused_kernels_show_what_their_parts_would_take_as_an_estimate() -> None:
    fused_ones = [kernel(1000 + 40 * at, 7, "SwiGlu", kernel_id=90 + at, **SHAPED) for at in range(3)]
    rows = drawn("MARMAR") + fused_ones
    rows.append(
        (
            "kernel",
            {"kernel_id": 99, "name": "Sigmoid", "op_type": "Sigmoid", "kind": "compute", "ts_ns": 2000, "dur_ns": 6},
        )
    )

    (fused,) = (row for row in results(fusion_candidates, rows) if row["state"] == "fused")

    assert (fused["pattern"], fused["op_types"], fused["instances"]) == ("Sigmoid+Mul", "SwiGlu", 3)
    assert (fused["before_ns"], fused["after_ns"], fused["saving_ns"]) == (3 * (6 + 10), 21.0, 27.0)
    assert (fused["is_estimate"], fused["fusion_ratio"]) == (True, 1.0)


def test_a_fused_kernel_whose_parts_do_not_occur_alone_has_no_before() -> None:
    (row,) = results(fusion_candidates, numbered([kernel(0, 7, "FlashAttentionScore")]))

    assert (row["state"], row["before_ns"], row["saving_ns"], row["share_ratio"]) == ("fused", None, None, None)


def test_the_instances_name_their_kernels() -> None:
    rows = dicts(fusion_instances(database(drawn("MARXMAR"))))

    assert [(row["instance"], row["place"], row["kernel_id"]) for row in rows] == [
        (0, 0, 0), (0, 1, 1), (0, 2, 2), (1, 0, 4), (1, 1, 5), (1, 2, 6),
    ]  # fmt: skip


def counted(letters: str, pattern: str) -> int:
    count = at = 0
    while (at := letters.find(pattern, at)) >= 0:
        count, at = count + 1, at + len(pattern)
    return count


@settings(max_examples=30, deadline=None)
@given(st.text("MARX", min_size=2, max_size=16))
def test_recurring_sequences_are_those_that_plain_search_finds(letters: str) -> None:
    (found_chains,) = chains(database(drawn(letters)))
    texts = {"".join(next(letter for letter, name in NAMES.items() if name == found_chains.types[code])
                     for code in found_chains.code[one.starts[0]:one.starts[0] + one.length]): len(one.starts)
             for one in recurring(found_chains)}  # fmt: skip
    grams = {letters[at : at + size] for size in range(2, 11) for at in range(len(letters) - size + 1)}
    counts = {gram: counted(letters, gram) for gram in grams if counted(letters, gram) >= 2}
    longer = {gram: [other for other in counts if len(other) == len(gram) + 1 and gram in other] for gram in counts}

    assert all(counted(letters, gram) == number for gram, number in texts.items())
    assert set(texts) <= set(counts)
    # what is missing is part of a sequence that is as frequent
    assert all(any(counts[other] >= counts[gram] for other in longer[gram]) for gram in set(counts) - set(texts))


@settings(max_examples=10, deadline=None)
@given(st.text("MARX|", min_size=2, max_size=16))
def test_instances_never_share_a_kernel(letters: str) -> None:
    kernels = [row["kernel_id"] for row in dicts(fusion_instances(database(drawn(letters))))]

    assert len(kernels) == len(set(kernels))
    assert all(first != second for first, second in pairwise(kernels))
