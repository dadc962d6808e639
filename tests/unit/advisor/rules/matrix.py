"""Matrix kernels with shapes, on a chip of the table, in a step."""

from __future__ import annotations

from collections.abc import Mapping

from duckdb import DuckDBPyConnection

from tests.timeline import insert, timeline, together

__all__ = ["measured", "product", "step_of"]


def step_of(step_ns: int, *, device_kind: str = "npu") -> DuckDBPyConnection:
    """Return a step of one rank without any kernel; step 5, so no warm-up."""
    db = timeline("r0 step |5|")
    db.execute("update step set dur_ns = ?", [step_ns])
    db.execute("update profile set device_name = 'Ascend910B3', device_kind = ?", [device_kind])
    return db


def product(
    db: DuckDBPyConnection,
    kernel_id: int,
    ts_ns: int,
    dur_ns: int,
    *,
    shapes: str = "1024,1024;1024,1024",
    output: str = "1024,1024",
    dtype: str = "FLOAT16",
    op_type: str = "MatMulV2",
) -> None:
    """Insert a kernel."""
    count = len(shapes.split(";"))
    insert(db, "kernel", rank=0, kernel_id=kernel_id, device_id=0, stream="1", name=op_type, op_type=op_type,
           kind="compute", core_type="AI_CORE", ts_ns=ts_ns, dur_ns=dur_ns, step_id=0, input_shapes=shapes,
           input_dtypes=";".join([dtype] * count), output_shapes=output, output_dtypes=dtype)  # fmt: skip


def measured(db: DuckDBPyConnection, kernel_id: int, ratios: Mapping[str, float]) -> None:
    """Insert ratios of the hardware for a kernel."""
    with together(db):
        for metric, value in ratios.items():
            insert(db, "kernel_metric", rank=0, kernel_id=kernel_id, metric=metric, value=value)
