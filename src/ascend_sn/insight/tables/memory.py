"""The tables of the memory page: blocks, who holds the peak, leaks; and the memory of compiled graphs."""

from __future__ import annotations

from typing import Final

from ascend_sn.analysis.registry import Need
from ascend_sn.insight.tables.definition import Filter, PageTable

__all__ = ["GRAPHS", "MEMORY"]

_COMPONENT: Final = Filter("component", "text", "component = $component")

_BLOCKS: Final = """
    with events as (
        select profile_id, rank, kind, ts_ns, size_bytes, address, coalesce(device, 'device') as device, stream,
               operator_id, operator_name, stack_id,
               row_number() over (partition by profile_id order by ts_ns, kind desc) as place
        from memory_event
        where kind in ('alloc', 'free') and address is not null
    ),
    paired as (
        select *, case when lead(kind) over block = 'free' then lead(ts_ns) over block end as freed_ts_ns,
               lead(kind) over block is null as is_last
        from events
        window block as (partition by profile_id, device, address order by ts_ns, kind desc)
    )
    select paired.profile_id, paired.rank, coalesce(operator_name, operator.name) as operator_name, device,
           paired.stream, address, size_bytes,
           case when is_last then rounded.rounded_bytes end as rounded_bytes, ts_ns,
           freed_ts_ns, freed_ts_ns - ts_ns as held_ns, place,
           operator.module, coalesce(paired.stack_id, operator.stack_id) as stack_id
    from paired
    left join (select profile_id, operator_id, name, module, stack_id from operator) operator
        using (profile_id, operator_id)
    left join (select profile_id, device, address, max(size_bytes) as rounded_bytes from memory_block group by all)
        rounded using (profile_id, device, address)
    where kind = 'alloc'
"""

_FRAMES: Final = """
    left join (select profile_id, stack_id, frames, split_part(frames, chr(10), 1) as site from stack) stack
        using (profile_id, stack_id)
"""
_IN_FRAMES: Final = """
    coalesce((profile_id, stack_id) in (
        select (profile_id, stack_id) from stack where contains(lower(frames), lower($contains))), false)
"""

MEMORY: Final = (
    PageTable(
        name="memory_blocks",
        sql=_BLOCKS,
        joined=_FRAMES,
        needs=(Need("memory_event"), Need("memory_event", "address")),
        columns=(
            "profile_id", "rank", "operator_name", "module", "device", "size_bytes", "rounded_bytes", "ts_ns",
            "freed_ts_ns", "held_ns", "stream", "address", "site", "frames",
        ),
        order="size_bytes desc, profile_id, place",
        search=("operator_name", "module", "device", "address", "stream"),
        search_also=_IN_FRAMES,
        filters=(
            Filter("alive_from_ns", "integer", "(freed_ts_ns is null or freed_ts_ns > $alive_from_ns + origin_ns)"),
            Filter("alive_to_ns", "integer", "ts_ns <= $alive_to_ns + origin_ns"),
            Filter("made_from_ns", "integer", "ts_ns >= $made_from_ns + origin_ns"),
            Filter("made_to_ns", "integer", "ts_ns <= $made_to_ns + origin_ns"),
            Filter("freed_from_ns", "integer", "freed_ts_ns >= $freed_from_ns + origin_ns"),
            Filter("freed_to_ns", "integer", "freed_ts_ns <= $freed_to_ns + origin_ns"),
            Filter("device", "text", "device = $device"),
        ),
    ),
    PageTable(
        name="memory_parts",
        analysis="memory_breakdown",
        columns=(
            "profile_id", "rank", "family", "part", "held_bytes", "share_ratio", "part_peak_bytes", "whole_bytes",
            "peak_ts_ns",
        ),
        order="profile_id, family, held_bytes desc, part_peak_bytes desc, part",
        search=("part",),
        filters=(Filter("family", "text", "family = $family"),),
    ),
    PageTable(
        name="memory_operators",
        analysis="memory_by_operator",
        columns=("profile_id", "rank", "operator_name", "peak_bytes", "retained_bytes", "allocation_count"),
        order="peak_bytes desc, operator_name",
        search=("operator_name",),
    ),
    PageTable(
        name="memory_owners",
        analysis="memory_at_peak",
        columns=(
            "profile_id", "rank", "device", "operator_name", "module", "held_bytes", "share_ratio", "block_count",
            "device_bytes", "peak_ts_ns",
        ),
        order="held_bytes desc, operator_name",
        search=("operator_name", "module", "device"),
    ),
    PageTable(
        name="memory_leaks",
        analysis="memory_leak",
        columns=(
            "profile_id", "rank", "component", "source", "verdict", "steps", "slope_bytes_per_step", "growth_bytes",
            "onset_step", "phase", "steps_left",
        ),
        order="verdict = 'leak' desc, growth_bytes desc nulls last, profile_id, component",
        search=("component", "verdict"),
    ),
    PageTable(
        name="memory_peaks",
        is_summed=True,
        uses=("memory_peak",),
        sql="""
            select * from {memory_peak}
            where peak_allocated_bytes > 0 or peak_reserved_bytes > 0 or peak_active_bytes > 0
        """,
        columns=(
            "profile_id", "rank", "component", "peak_allocated_bytes", "peak_reserved_bytes", "peak_active_bytes",
            "peak_ts_ns", "source",
        ),
        order="peak_allocated_bytes is null, greatest(peak_allocated_bytes, peak_reserved_bytes) desc nulls last",
        search=("component",),
        filters=(_COMPONENT,),
    ),
    PageTable(
        name="leak_sites",
        analysis="leak_sites",
        columns=(
            "profile_id", "rank", "site", "operator_name", "device", "is_leak", "bytes_per_step", "count_per_step",
            "surviving_bytes", "surviving_count", "steps",
        ),
        order="is_leak desc, bytes_per_step desc, site",
        search=("site", "operator_name"),
    ),
    PageTable(
        name="fragmentation",
        analysis="fragmentation",
        columns=(
            "profile_id", "rank", "component", "ts_ns", "reserved_bytes", "allocated_bytes", "unused_bytes",
            "rounding_bytes", "fragmentation_ratio", "largest_free_bytes", "free_bytes", "oom_count",
            "unaccounted_bytes",
        ),
        order="reserved_bytes desc, profile_id, component",
        search=("component",),
        filters=(_COMPONENT,),
    ),
)  # fmt: skip

_OF_GRAPH: Final = (
    Filter("device", "text", "device = $device"),
    Filter("model", "text", "model = $model"),
    Filter("graph_id", "text", "graph_id = $graph_id"),
)

GRAPHS: Final = (
    PageTable(
        name="static_graphs",
        analysis="static_memory_peak",
        columns=(
            "profile_id", "rank", "device", "model", "graph_id", "peak_bytes", "total_bytes", "peak_node", "end_node",
            "piece_count",
        ),
        order="greatest(peak_bytes, total_bytes) desc nulls last, profile_id, device, model, graph_id",
        search=("device", "model", "graph_id"),
    ),
    PageTable(
        name="static_owners",
        analysis="static_memory_at_peak",
        columns=(
            "profile_id", "rank", "device", "model", "graph_id", "operator_name", "held_bytes", "share_ratio",
            "piece_count", "peak_node",
        ),
        order="held_bytes desc, operator_name, profile_id, device, model, graph_id",
        search=("operator_name",),
        filters=_OF_GRAPH,
    ),
    PageTable(
        name="static_memory",
        sql="""
            select profile_id, rank, coalesce(device, 'unknown') as device, coalesce(model, 'unknown') as model,
                   coalesce(graph_id, 'unknown') as graph_id, operator_name, size_bytes, first_node, last_node
            from static_memory
            where not is_total
        """,
        needs=(Need("static_memory"),),
        columns=(
            "profile_id", "rank", "device", "model", "graph_id", "operator_name", "size_bytes", "first_node",
            "last_node",
        ),
        order="size_bytes desc, first_node, operator_name, profile_id, device, model, graph_id",
        search=("operator_name",),
        filters=(
            *_OF_GRAPH,
            Filter("from_node", "integer", "(last_node is null or last_node >= $from_node)"),
            Filter("to_node", "integer", "first_node <= $to_node"),
        ),
    ),
)  # fmt: skip
