"""Every table of a run, defined once.

The DuckDB DDL, the Arrow schema of the store and the reference page are all made from `TABLES`.
`profile_id` and `rank` lead every table and are added by `_table`.
"""

from __future__ import annotations

from typing import Literal

import msgspec

__all__ = ["BY_NAME", "TABLES", "Column", "ColumnType", "Table", "ddl"]

ColumnType = Literal["int64", "int32", "float64", "text", "bool"]

_DUCKDB_TYPE: dict[ColumnType, str] = {
    "int64": "bigint",
    "int32": "integer",
    "float64": "double",
    "text": "varchar",
    "bool": "boolean",
}


class Column(msgspec.Struct, frozen=True):
    """One column; a unit suffix in the name (`_ns`, `_bytes`, `_count`, `_ratio`) is its unit."""

    name: str
    type: ColumnType
    doc: str

    @property
    def duckdb_type(self) -> str:
        """The DuckDB name of the type."""
        return _DUCKDB_TYPE[self.type]


class Table(msgspec.Struct, frozen=True):
    """One table: `row` says what one row is; any column may be null (not collected), but `profile_id` and the `needed`.

    A reader gives the needed ones in every row, see `store.needed_columns`.
    """

    name: str
    row: str
    columns: tuple[Column, ...]
    needed: tuple[str, ...] = ()

    def column(self, name: str) -> Column:
        """Return a column by name; KeyError when the table has none of that name."""
        for column in self.columns:
            if column.name == name:
                return column
        raise KeyError(f"table {self.name} has no column {name}")

    @property
    def names(self) -> tuple[str, ...]:
        """Column names in order."""
        return tuple(column.name for column in self.columns)


def ddl(table: Table) -> str:
    """Return the `create table` statement of a table."""
    columns = ",\n".join(
        f"    {column.name} {column.duckdb_type}{' not null' if column.name == 'profile_id' else ''}"
        for column in table.columns
    )
    return f"create table {table.name} (\n{columns}\n)"


def _table(name: str, row: str, *columns: Column, needed: tuple[str, ...] = ()) -> Table:
    identity = (
        Column("profile_id", "int32", "The captured process; dense in the run."),
        Column("rank", "int32", "Position in the job; null when it is not known."),
    )
    return Table(name, row, identity + columns, needed)


def _int(name: str, doc: str) -> Column:
    return Column(name, "int64", doc)


def _text(name: str, doc: str) -> Column:
    return Column(name, "text", doc)


def _real(name: str, doc: str) -> Column:
    return Column(name, "float64", doc)


_TS = _int("ts_ns", "Start, nanoseconds in the profile's own clock (Unix epoch where the source has one).")
_DUR = _int("dur_ns", "Length in nanoseconds.")

PROFILE = _table(
    "profile",
    "a captured process",
    _text("host", "Host name."),
    _int("pid", "Process id on the host."),
    _int("start_ns", "Start of the capture."),
    Column("session_count", "int32", "How many start/stop sessions it holds."),
    _text("phase", "Phase folder the capture lies in (an RL stage, for instance)."),
    _text(
        "device_kind",
        "Kind of capture: npu, cuda, rocm, xpu, cpu (framework on the host), host (no framework).",
    ),
    Column("device_id", "int32", "Accelerator on the host; it is not the rank."),
    _text("device_name", "Chip name as the source gives it."),
    _text("format", "Name of the reader."),
    _text("source", "Path relative to what was opened."),
    Column("world_size", "int32", "Ranks of the job as the source states it."),
    _text("versions", "JSON object: versions of the tools that wrote the capture."),
    _text("config", "JSON object: the capture's configuration."),
)

COMM_GROUP_MEMBER = _table(
    "comm_group_member",
    "a rank's place in a communicator",
    _text("group_id", "Communicator, the same text on every rank."),
    _text("kind", "tp, pp, dp, ep, cp, embd, default; null when not named."),
    Column("group_rank", "int32", "Position of the member inside the group."),
    Column("group_size", "int32", "Ranks in the group; a lower bound where `size_is_exact` is false."),
    Column("size_is_exact", "bool", "False where the size is only the highest member seen plus one."),
    Column("member_rank", "int32", "Global rank of the member; null when only the place in the group is known."),
)

STEP = _table(
    "step",
    "a training step",
    Column("step_id", "int32", "Dense per profile, in time order."),
    _int("step", "Step number as recorded; null when the source gives none."),
    Column("epoch", "int32", "Epoch, where known."),
    Column("session", "int32", "Start/stop session, from 0."),
    _TS,
    _int("dur_ns", "Wall time between the marks."),
    _text("origin", "What marked it: mark, optimizer, data loader, inferred."),
    needed=("step_id", "ts_ns", "dur_ns", "origin"),
)

OPERATOR = _table(
    "operator",
    "a framework call on the host",
    _int("operator_id", "Dense per profile."),
    _int("parent_id", "Operator that encloses it on the same thread."),
    _text("thread", "Thread it ran on."),
    _text("name", "Name, such as aten::mm."),
    _TS,
    _DUR,
    _int("self_ns", "Length without its children."),
    Column("depth", "int32", "Nesting depth on the thread, 0 at the top."),
    _text("phase", "data, forward, backward, optimizer, other."),
    _text("module", "Module path, where recorded."),
    _text("input_shapes", "Shapes: tensors by ';', dimensions by ','."),
    _text("input_dtypes", "Data types by ';'."),
    _text("output_shapes", "As input_shapes."),
    _text("output_dtypes", "As input_dtypes."),
    _int("input_bytes", "Bytes of the inputs."),
    _int("output_bytes", "Bytes of the outputs."),
    _int("stack_id", "Call stack."),
    needed=("operator_id", "ts_ns", "dur_ns"),
)

HOST_CALL = _table(
    "host_call",
    "a runtime or driver call on the host",
    _int("host_call_id", "Dense per profile."),
    _text("thread", "Thread it ran on."),
    _text("level", "acl, node, model, runtime, communication, queue, python, cuda, gc."),
    _text("name", "Name without the level."),
    _TS,
    _DUR,
    _text("connection", "The source's own id that ties it to device work; text, may exceed 64 bits."),
    needed=("host_call_id", "ts_ns", "dur_ns"),
)

KERNEL = _table(
    "kernel",
    "a device task of its own",
    _int("kernel_id", "Dense per profile."),
    Column("device_id", "int32", "Accelerator on the host."),
    _text("stream", "In-order queue of the device."),
    _text("name", "Kernel name."),
    _text("op_type", "Operator type the kernel implements."),
    _text("kind", "compute, communication, fused, copy, sync, other."),
    _text("core_type", "Part of the chip that ran it (AI_CORE, AI_VECTOR_CORE, AI_CPU, ...)."),
    _text("op_state", "dynamic or static: built for changing or for fixed shapes, as the source states it."),
    _TS,
    _DUR,
    _int("wait_ns", "Time since the previous task ended, as the exporter states it; not a queue time."),
    _int("operator_id", "Framework operator that launched it."),
    _int("host_call_id", "Host call that launched it."),
    Column("step_id", "int32", "Step that launched it; where no link exists, the step in which it starts."),
    Column("block_count", "int32", "Cores used."),
    _text("input_shapes", "Shapes: tensors by ';', dimensions by ','."),
    _text("input_dtypes", "Data types by ';'."),
    _text("input_formats", "Memory formats by ';'."),
    _text("output_shapes", "As input_shapes."),
    _text("output_dtypes", "As input_dtypes."),
    _text("output_formats", "As input_formats."),
    _text("copy_direction", "h2d, d2h, d2d, h2h, for copies."),
    _int("size_bytes", "Bytes moved, for copies."),
    needed=("kernel_id", "ts_ns", "dur_ns"),
)

KERNEL_METRIC = _table(
    "kernel_metric",
    "a hardware figure of a kernel",
    _int("kernel_id", "The kernel."),
    _text("metric", "Name as the source gives it."),
    _real("value", "Value; ratios from 0 to 1, times in nanoseconds."),
)

COLLECTIVE = _table(
    "collective",
    "a collective or point-to-point call",
    _int("collective_id", "Dense per profile."),
    _int("kernel_id", "The kernel row (kind communication) that is its whole, where a device ran it."),
    _text("op", "allreduce, allgather, reducescatter, broadcast, alltoall, alltoallv, send, receive, ...; unknown."),
    _text("name", "Name as recorded."),
    _text("group_id", "Communicator."),
    _int("sequence", "Number of this call in its group, the key that matches it across ranks."),
    _int("size_bytes", "Payload."),
    _text("dtype", "Data type."),
    _TS,
    _DUR,
    _int("wait_ns", "Recorded waiting (or, from all members, until the last one arrives)."),
    _int("sync_ns", "First part of the waiting: for the last rank to arrive."),
    _int("transit_ns", "Bytes are moving; null where not recorded."),
    _int("idle_ns", "Neither waiting nor moving: dur - wait - transit."),
    _text("method", "Where the parts come from: recorded, members; null: they are unknown."),
    needed=("collective_id", "op", "ts_ns", "dur_ns"),
)

COMM_TASK = _table(
    "comm_task",
    "a plane task inside a collective",
    _int("collective_id", "The collective."),
    _text("stream", "Plane or stream."),
    _text("name", "Kind of task (Memcpy, Notify_Wait, ...)."),
    _TS,
    _DUR,
    _int("size_bytes", "Bytes."),
    Column("src_rank", "int32", "Source, place inside the group."),
    Column("dst_rank", "int32", "Destination, place inside the group; null on chip."),
    _text("transport", "SDMA, RDMA, LOCAL and the link type behind it."),
)

LINK = _table(
    "link",
    "traffic of a pair of ranks",
    _int("step", "Step number; null when unknown."),
    _int("collective_id", "The collective, where the row belongs to one."),
    _text("group_id", "Communicator."),
    _text("op", "Collective operation."),
    Column("src_rank", "int32", "Source."),
    Column("dst_rank", "int32", "Destination."),
    _text("rank_scope", "global, or group when ranks are places inside the group."),
    _text("transport", "LOCAL, HCCS, PCIE, SIO, RDMA, ..."),
    _int("size_bytes", "Bytes sent."),
    _int("dur_ns", "Sum of transfer times over parallel streams."),
    _real("bandwidth_bytes_per_s", "Bytes over time of one stream."),
)

MEMORY_EVENT = _table(
    "memory_event",
    "an allocation or a free",
    _TS,
    _text("kind", "alloc, free, free_requested, segment_alloc, segment_free, oom."),
    _int("size_bytes", "Bytes, positive; those of a block of a memory snapshot as they were asked for."),
    _text("address", "Address as text."),
    _text("device", "Device the memory belongs to."),
    _text("stream", "Stream."),
    _int("operator_id", "Operator that asked for it."),
    _text("operator_name", "Its name, where only the name is recorded."),
    _int("stack_id", "Call stack."),
    _int("allocated_bytes", "Allocated after the event."),
    _int("reserved_bytes", "Reserved after the event."),
    _int("active_bytes", "Active after the event."),
    needed=("size_bytes",),
)

MEMORY_BLOCK = _table(
    "memory_block",
    "a block in use when a memory snapshot was taken",
    _text("device", "Device the memory belongs to."),
    _text("stream", "Stream of its segment."),
    _text("address", "Address as text."),
    _int("size_bytes", "Bytes that the allocator gave: rounded up."),
    _int("requested_bytes", "Bytes that were asked for."),
    _text("state", "allocated; pending_free: freed, and a stream may still use it."),
    _int("stack_id", "Call stack."),
    needed=("size_bytes",),
)

MEMORY_SAMPLE = _table(
    "memory_sample",
    "a point of a memory curve",
    _TS,
    _text("component", "Who holds the memory (PTA, GE, PTA+GE, APP, a module, host)."),
    _int("allocated_bytes", "Allocated."),
    _int("reserved_bytes", "Reserved."),
    _int("active_bytes", "Active."),
    needed=("ts_ns", "component"),
)

STATIC_MEMORY = _table(
    "static_memory",
    "memory that an operator of a compiled graph holds while some of its nodes run; or the memory of a whole graph",
    _text("device", "Device as the source names it; host where the host states it for all of them."),
    _text("model", "Model the graph belongs to."),
    _text("graph_id", "The graph."),
    _text("operator_name", "Operator that holds the memory."),
    _int("first_node", "Index of the first node, in order of execution, during which it is held."),
    _int("last_node", "Index of the last such node; null: to the end of the graph."),
    _int("size_bytes", "Bytes."),
    Column("is_total", "bool", "The row is the memory of the whole graph as the compiler states it, of no operator."),
    needed=("size_bytes", "is_total"),
)

COUNTER = _table(
    "counter",
    "a sampled value",
    _text("name", "Name of the series."),
    _text("unit", "Unit as recorded."),
    _TS,
    _real("value", "Value."),
    needed=("ts_ns",),
)

SPAN = _table(
    "span",
    "a user range",
    _int("span_id", "Dense per profile."),
    _text("name", "Name."),
    _text("domain", "Where it comes from (user, mstx, annotation, gpu_annotation, request, request phase)."),
    _text("kind", "compute, communication, data, copy, other; null when not given."),
    _text("thread", "Thread or stream."),
    _TS,
    _DUR,
    Column("depth", "int32", "Nesting depth."),
    needed=("span_id", "ts_ns", "dur_ns"),
)

METRIC = _table(
    "metric",
    "a value that the program logged",
    _text("name", "Name."),
    _int("step", "Step number; null outside a step."),
    _TS,
    _real("value", "Value."),
)

FLOW = _table(
    "flow",
    "an arrow between two slices",
    _text("src_table", "Table of the source."),
    _int("src_id", "Id in it."),
    _text("dst_table", "Table of the destination."),
    _int("dst_id", "Id in it."),
    _text("kind", "launch, queue, fwdbwd, event, annotation, phase (from a request to a part of it)."),
)

STACK = _table(
    "stack",
    "a call stack",
    _int("stack_id", "Dense per profile."),
    _text("frames", "Frames by line feeds, innermost first."),
)

DAMAGE = _table(
    "damage",
    "something that could not be read, or that a reader had to assume",
    _text("file", "File, relative to what was opened."),
    _text("place", "Byte offset, line or table."),
    _text("kind", "What is wrong, a stable word."),
    _text("severity", "info: nothing is lost; damage: something is."),
    _int("count", "How often."),
    _text("example", "One case, shortened."),
)

COVERAGE = _table(
    "coverage",
    "what was asked for and what came",
    _text("table_name", "Table."),
    _text("column_name", "Column; null for the whole table."),
    _text("state", "collected, empty, missing, not_requested, damaged, unsupported."),
    _text("reason", "Why, in words."),
    _text("turn_on", "The option to collect it."),
)

TABLES: tuple[Table, ...] = (
    PROFILE,
    COMM_GROUP_MEMBER,
    STEP,
    OPERATOR,
    HOST_CALL,
    KERNEL,
    KERNEL_METRIC,
    COLLECTIVE,
    COMM_TASK,
    LINK,
    MEMORY_EVENT,
    MEMORY_BLOCK,
    MEMORY_SAMPLE,
    STATIC_MEMORY,
    COUNTER,
    SPAN,
    METRIC,
    FLOW,
    STACK,
    DAMAGE,
    COVERAGE,
)

BY_NAME: dict[str, Table] = {table.name: table for table in TABLES}
