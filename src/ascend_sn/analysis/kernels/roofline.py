"""A12: what limits each operator, and how close it comes to what the chip can do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from duckdb import DuckDBPyConnection

from ascend_sn.analysis.kernels.chips import Chip, chip_of
from ascend_sn.analysis.kernels.op_flops import family_of, flops_of
from ascend_sn.analysis.registry import Analysis, Need
from ascend_sn.analysis.relations import Result, listed, selected
from ascend_sn.analysis.shapes import Shape, plain_dtypes, shapes_of, total_bytes
from ascend_sn.model.kinds import COMPUTE_KINDS

__all__ = ["ANALYSIS", "OperatorGroup", "operator_groups", "roofline"]

COMPUTE_BOUND_RATIO: Final = 0.8
"""Share of its cycles that the matrix (or vector) unit works from which a kernel is compute bound."""

MEMORY_BOUND_RATIO: Final = 0.95
"""Share of cycles in which data is brought in from which a kernel is memory bound."""

BANDWIDTH_BOUND_RATIO: Final = 0.7
"""Share of the memory bandwidth from which a kernel is memory bound."""

LATENCY_BOUND_RATIO: Final = 0.5
"""A kernel is latency bound when the units and the memory path all work for less than this share."""

_METRICS: Final = ("mac", "vec", "mte2", "cube")

_TYPES: Final = {
    "profile_id": "integer",
    "rank": "integer",
    "op_type": "varchar",
    "family": "varchar",
    "core_type": "varchar",
    "input_shapes": "varchar",
    "input_dtypes": "varchar",
    "output_shapes": "varchar",
    "calls": "bigint",
    "total_ns": "bigint",
    "mean_ns": "double",
    "share_ratio": "double",
    "flops": "bigint",
    "bytes": "bigint",
    "flops_per_byte": "double",
    "flops_per_s": "double",
    "bytes_per_s": "double",
    "chip": "varchar",
    "ridge_flops_per_byte": "double",
    "peak_flops_per_s": "double",
    "roof_ns": "double",
    "efficiency_ratio": "double",
    "is_anomaly": "boolean",
    "mac_ratio": "double",
    "vec_ratio": "double",
    "mte2_ratio": "double",
    "utilisation_ratio": "double",
    "utilisation_source": "varchar",
    "bound": "varchar",
    "bound_source": "varchar",
}


class OperatorGroup:
    """Equal calls of an operator in one profile, with what one call computes and moves.

    Attributes:
        row: The columns of the group as `roofline` returns them, up to `share_ratio`, and the metrics.
        flops: Operations of one call, None where they cannot be told.
        bytes: Bytes of inputs and outputs of one call, None where they cannot be told.
        dtype: Plain data type of the first input.
        chip: The chip it ran on, None when it is not in the table.
    """

    def __init__(self, row: dict[str, Any], table: Sequence[Chip] | None) -> None:
        self.row = row
        self.chip = chip_of(row.pop("device_name"), table)
        operator_shapes, formats, output_dtypes = (
            row.pop(name) for name in ("operator_shapes", "input_formats", "output_dtypes")
        )
        inputs, outputs = shapes_of(row["input_shapes"]), shapes_of(row["output_shapes"])
        self.dtype = (plain_dtypes(row["input_dtypes"]) or (None,))[0]
        weight = _logical_weight(row["family"], operator_shapes)
        self.flops = None if inputs is None else flops_of(row["op_type"], inputs, outputs, formats, weight)
        read = total_bytes(row["input_shapes"], row["input_dtypes"])
        written = total_bytes(row["output_shapes"], output_dtypes)
        self.bytes = None if read is None or written is None else read + written


def roofline(db: DuckDBPyConnection, table: Sequence[Chip] | None = None) -> Result:
    """Hold the operators of each profile against the roofline of its chip, by type and shape.

    Operations are counted for matrix products, convolutions and attention (`op_flops`); bytes are those of all inputs
    and outputs, once. The peak is that of the first input's type; float32 convolutions are held against tf32 (HF32),
    which they use by default. roof = max(operations / peak, bytes / bandwidth); efficiency = roof / mean duration.
    Vector work has a memory roof only. An efficiency above 1 is an anomaly: data in the cache, or shapes that do not
    describe the work. Kernels without shapes of their own are taken together per framework operator, if that has
    shapes.

    `bound` comes from the hardware's own ratios where they were collected: compute from 80 % of the cycles of the
    matrix or vector unit, memory from 95 % of the cycles bringing data in or 70 % of the memory bandwidth, latency
    where all of them are below 50 %, mixed else. Without them it is the side of the roofline that is higher: compute or
    memory. Where the chip is not in the table and no ratios were collected, it is null, like every utilisation.

    Args:
        db: A connection with the tables `profile`, `kernel`, `kernel_metric`, `operator`.
        table: The chips, instead of those that come with the package.

    Returns:
        profile_id, rank, op_type, family (matmul, grouped_matmul, convolution, attention or null), core_type,
        input_shapes, input_dtypes, output_shapes, calls, total_ns, mean_ns, share_ratio (of the profile's
        summed kernel time), flops and bytes (of one call, null where they cannot be told), flops_per_byte =
        flops / bytes, flops_per_s and bytes_per_s (each: achieved), chip, ridge_flops_per_byte (peak over
        memory bandwidth), peak_flops_per_s (of the first input's type), roof_ns (shortest duration that the chip
        allows), efficiency_ratio = roof_ns / mean_ns, is_anomaly, mac_ratio, vec_ratio, mte2_ratio (each: mean of the
        hardware's ratio, weighted by duration), utilisation_ratio (mac_ratio or vec_ratio, else efficiency_ratio) and
        utilisation_source, bound and bound_source (hardware, roofline); sorted by profile and total.
    """
    return listed(db, [_rated(group) for group in operator_groups(db, table)], _TYPES)


def operator_groups(
    db: DuckDBPyConnection, table: Sequence[Chip] | None = None, *, only_steps: bool = False
) -> list[OperatorGroup]:
    """Return the groups of equal calls of every profile that has shapes, by profile and total time.

    Args:
        db: A connection with the tables of `roofline`; `step` too with `only_steps`.
        table: The chips, instead of those that come with the package.
        only_steps: In profiles with marked steps, leave out kernels that belong to none.
    """
    in_a_step = "(step_id is not null or profile_id not in (select profile_id from step where origin <> 'inferred'))"
    pivots = ",\n".join(
        f"max(value) filter (where metric in ({_spellings(name)})) as {name}_ratio" for name in _METRICS
    )
    averages = ",\n".join(
        f"sum({name}_ratio * dur_ns) filter (where {name}_ratio is not null)"
        f" / nullif(sum(dur_ns) filter (where {name}_ratio is not null), 0) as {name}_ratio"
        for name in _METRICS
    )
    found = selected(
        db,
        f"""
        with metrics as (
            select profile_id, kernel_id, {pivots}
            from kernel_metric
            group by profile_id, kernel_id
        ),
        busy as (
            select kernel.*, operator.name as operator_name, operator.input_shapes as operator_shapes,
                   operator.input_dtypes as operator_dtypes, operator.output_shapes as operator_outputs,
                   operator.output_dtypes as operator_output_dtypes,
                   mac_ratio, vec_ratio, mte2_ratio, cube_ratio
            from kernel
            left join operator using (profile_id, operator_id)
            left join metrics using (profile_id, kernel_id)
            where kind in {COMPUTE_KINDS} and {in_a_step if only_steps else "true"}
        ),
        calls as (
            select profile_id, rank, coalesce(op_type, name) as op_type, core_type, input_shapes, input_dtypes,
                   input_formats, output_shapes, output_dtypes, operator_shapes, dur_ns,
                   mac_ratio, vec_ratio, mte2_ratio, cube_ratio
            from busy
            where input_shapes is not null
            union all
            select profile_id, any_value(rank), any_value(operator_name), null, any_value(operator_shapes),
                   any_value(operator_dtypes), null, any_value(operator_outputs), any_value(operator_output_dtypes),
                   null, sum(dur_ns)::bigint, null, null, null, null
            from busy
            where input_shapes is null and operator_shapes is not null
            group by profile_id, operator_id
        ),
        total as (
            select profile_id, sum(dur_ns) as kernel_ns
            from busy
            group by profile_id
        ),
        grouped as (
            select profile_id, any_value(rank) as rank, op_type, core_type, input_shapes, input_dtypes, input_formats,
                   output_shapes, output_dtypes, min(operator_shapes) as operator_shapes,
                   count(*) as calls, sum(dur_ns)::bigint as total_ns, avg(dur_ns) as mean_ns, {averages}
            from calls
            group by profile_id, op_type, core_type, input_shapes, input_dtypes, input_formats, output_shapes,
                     output_dtypes
        )
        select grouped.*, profile.device_name, grouped.total_ns / nullif(kernel_ns, 0)::double as share_ratio
        from grouped
        join total using (profile_id)
        left join profile using (profile_id)
        order by profile_id, total_ns desc, op_type, input_shapes, input_dtypes, input_formats, output_shapes,
                 output_dtypes, core_type
    """,
    )
    return [OperatorGroup({**row, "family": family_of(row["op_type"])}, table) for row in found.dicts()]


def _spellings(name: str) -> str:
    if name == "cube":
        return "'cube_utilization'"
    return ", ".join(f"'{prefix}{name}_ratio'" for prefix in ("aic_", "aiv_", ""))


def _logical_weight(family: str | None, operator_shapes: str | None) -> Shape | None:
    """The weight of a convolution as the framework passed it; the kernel may have it blocked and padded."""
    if family != "convolution":
        return None
    tensors = [shape for shape in shapes_of(operator_shapes) or () if len(shape) >= 3]
    if len(tensors) < 2:
        return None
    # (input, weight) forwards, (gradient, input, weight) backwards; both weights count input channels in place 1.
    return tensors[1] if len(tensors) == 2 else tensors[2]


def _rated(group: OperatorGroup) -> dict[str, Any]:
    row, chip = group.row, group.chip
    seconds = row["mean_ns"] / 1e9
    flops, moved = group.flops, group.bytes
    peak = None if chip is None else _peak(chip, row["family"], group.dtype)
    bandwidth = chip.memory_bytes_per_s if chip is not None else None
    compute_s = flops / peak if flops is not None and peak else None
    memory_s = moved / bandwidth if moved is not None and bandwidth else None
    needed = [time for time in (compute_s, memory_s) if time is not None]
    # A matrix product without its compute roof would look better than it is.
    complete = memory_s is not None and (row["family"] is None or compute_s is not None)
    roof_s = max(needed) if complete else None
    efficiency = roof_s / seconds if roof_s is not None and seconds > 0 else None
    utilisation, source = _utilisation(row, efficiency)
    bound, bound_source = _bound(row, compute_s, memory_s, complete, seconds)
    return {
        **{name: row[name] for name in _TYPES if name in row},
        "flops": flops,
        "bytes": moved,
        "flops_per_byte": flops / moved if flops is not None and moved else None,
        "flops_per_s": flops / seconds if flops is not None and seconds > 0 else None,
        "bytes_per_s": moved / seconds if moved is not None and seconds > 0 else None,
        "chip": None if chip is None else chip.name,
        "ridge_flops_per_byte": peak / bandwidth if peak and bandwidth else None,
        "peak_flops_per_s": peak,
        "roof_ns": None if roof_s is None else roof_s * 1e9,
        "efficiency_ratio": efficiency,
        "is_anomaly": None if efficiency is None else efficiency > 1,
        "utilisation_ratio": utilisation,
        "utilisation_source": source,
        "bound": bound,
        "bound_source": bound_source,
    }


def _peak(chip: Chip, family: str | None, dtype: str | None) -> float | None:
    """The peak of the matrix unit; frameworks let float32 convolutions use the shorter format by default."""
    if family is None:
        return None
    if family == "convolution" and dtype == "float32":
        return chip.peak("tf32") or chip.peak("float32")
    return chip.peak(dtype)


def _utilisation(row: dict[str, Any], efficiency: float | None) -> tuple[float | None, str | None]:
    unit = max(
        ((row[name], name) for name in ("mac_ratio", "vec_ratio") if row[name] is not None), default=(None, None)
    )
    if unit[0] is not None:
        return unit
    return efficiency, None if efficiency is None else "efficiency"


def _bound(
    row: dict[str, Any], compute_s: float | None, memory_s: float | None, complete: bool, seconds: float
) -> tuple[str | None, str | None]:
    units = [row[name] for name in ("mac_ratio", "vec_ratio") if row[name] is not None]
    path = row["mte2_ratio"]
    if units and path is not None:
        bandwidth_used = memory_s / seconds if memory_s is not None and seconds > 0 else 0.0
        if max(units) > COMPUTE_BOUND_RATIO:
            return "compute", "hardware"
        if path > MEMORY_BOUND_RATIO or bandwidth_used > BANDWIDTH_BOUND_RATIO:
            return "memory", "hardware"
        if max(*units, path, bandwidth_used) < LATENCY_BOUND_RATIO:
            return "latency", "hardware"
        return "mixed", "hardware"
    if not complete or memory_s is None:
        return None, None
    return ("compute" if compute_s is not None and compute_s > memory_s else "memory"), "roofline"


ANALYSIS = Analysis(
    code="A12",
    name="roofline",
    title="Operators against the roofline",
    per_profile=roofline,
    needs=(Need("kernel"), Need("kernel", "input_shapes", alternatives=("operator.input_shapes",))),
)
