"""Kernels by shape."""

from __future__ import annotations

from ascend_sn.analysis.kernels.kernel_shapes import kernel_shapes
from tests.timeline import timeline


def test_each_shape_of_a_type_has_its_own_row() -> None:
    db = timeline("r0 s1 |AAA.A.BB..CCCC|")
    db.execute("update kernel set op_type = 'MatMul', input_shapes = '2,3;3,4' where name = 'A'")
    db.execute("update kernel set op_type = 'MatMul', input_shapes = '8,8;8,8' where name = 'B'")

    found = kernel_shapes(db).dicts()

    # C has no shapes: it has no row, but counts in the whole of 10 ns.
    shown = [(row["op_type"], row["input_shapes"], row["calls"], row["total_ns"], row["max_ns"]) for row in found]
    assert shown == [("MatMul", "2,3;3,4", 2, 4, 3), ("MatMul", "8,8;8,8", 1, 2, 2)]
    assert [row["share_ratio"] for row in found] == [0.4, 0.2]
