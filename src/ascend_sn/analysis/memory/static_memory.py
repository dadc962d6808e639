"""A20 for compiled graphs: memory over the nodes of a graph, its peak, and which operators hold it there."""

from __future__ import annotations

from typing import Final

from duckdb import DuckDBPyConnection

from ascend_sn.analysis.registry import Analysis, Need
from ascend_sn.analysis.relations import Result, selected

__all__ = ["OWNERS", "PEAK", "static_memory_at_peak", "static_memory_curve", "static_memory_peak"]

_LEVELS: Final = """
    named as (
        select profile_id, rank, coalesce(device, 'unknown') as device, coalesce(model, 'unknown') as model,
               coalesce(graph_id, 'unknown') as graph_id, coalesce(operator_name, 'unknown') as operator_name,
               first_node, last_node, size_bytes, is_total
        from static_memory
    ),
    held as (
        select * from named where not is_total and first_node is not null
    ),
    ends as (
        select profile_id, device, model, graph_id, max(greatest(first_node, last_node)) as end_node
        from held
        group by profile_id, device, model, graph_id
    ),
    changes as (
        select profile_id, device, model, graph_id, first_node as node, size_bytes as change_bytes
        from held
        union all
        select profile_id, device, model, graph_id, last_node + 1, -size_bytes
        from held
        where last_node is not null
    ),
    sums as (
        select profile_id, device, model, graph_id, node, sum(change_bytes) as change_bytes
        from changes
        group by profile_id, device, model, graph_id, node
    ),
    levels as (
        select profile_id, device, model, graph_id, node, end_node,
               least(sum(change_bytes) over (partition by profile_id, device, model, graph_id order by node),
                     9223372036854775807)::bigint as held_bytes
        from sums
        join ends using (profile_id, device, model, graph_id)
        qualify node <= end_node
    ),
    peaks as (
        select profile_id, device, model, graph_id, max(held_bytes) as peak_bytes,
               arg_max(node, (held_bytes, -node)) as peak_node, max(end_node) as end_node
        from levels
        group by profile_id, device, model, graph_id
    )
"""
"""`levels`: what is held from each node at which it changes, up to the last node that any operator names."""


def static_memory_curve(
    db: DuckDBPyConnection, *, profile_id: int, device: str, model: str, graph_id: str
) -> list[tuple[int, int]]:
    """Add up what the operators of a compiled graph hold while its nodes run, one after another.

    An operator holds its memory from its first to its last node, both included; one without a last node to the end of
    the graph, which is the highest node that any of its operators names. What the compiler states for the whole graph
    is not part of it.

    Args:
        db: A connection with the table `static_memory`.
        profile_id: The profile.
        device: Device, model and graph as `static_memory_peak` names them.
        model: The model.
        graph_id: The graph.

    Returns:
        Index of each node at which the sum may change, and the bytes that are held from it on; the last node of the
        graph comes last. Empty where there is no such graph.
    """
    rows = db.execute(
        f"""
        with {_LEVELS}
        select node, held_bytes, end_node
        from levels
        where profile_id = $profile and device = $device and model = $model and graph_id = $graph
        order by node
        """,
        {"profile": profile_id, "device": device, "model": model, "graph": graph_id},
    ).fetchall()
    curve = [(node, held) for node, held, _ in rows]
    return curve if not rows or rows[-1][0] == rows[-1][2] else [*curve, (rows[-1][2], rows[-1][1])]


def static_memory_peak(db: DuckDBPyConnection) -> Result:
    """Return the highest memory of each compiled graph, beside what the compiler states for the whole graph.

    An operator holds its memory from its first to its last node, both included.

    Args:
        db: A connection with the table `static_memory`.

    Returns:
        profile_id, rank, device, model, graph_id (each `unknown` where not recorded), peak_bytes (the highest sum that
        the operators hold at a node; null where only the whole is stated), peak_node (the first such node), end_node
        (the highest node that an operator names), total_bytes (stated for the whole graph; null where it is not),
        piece_count (pieces of memory that operators hold), sorted by profile and peak.
    """
    return selected(
        db,
        f"""
        with {_LEVELS},
        graphs as (
            select profile_id, any_value(rank) as rank, device, model, graph_id,
                   max(size_bytes) filter (where is_total)                             as total_bytes,
                   count(*) filter (where not is_total and first_node is not null) as piece_count
            from named
            group by profile_id, device, model, graph_id
        )
        select graphs.profile_id, rank, device, model, graph_id, peak_bytes, peak_node, end_node, total_bytes,
               piece_count
        from graphs
        left join peaks using (profile_id, device, model, graph_id)
        order by graphs.profile_id, greatest(peak_bytes, total_bytes) desc nulls last, device, model, graph_id
    """,
    )


def static_memory_at_peak(db: DuckDBPyConnection) -> Result:
    """Return which operators hold the memory of each compiled graph at the node where it is highest.

    Args:
        db: A connection with the table `static_memory`.

    Returns:
        profile_id, rank, device, model, graph_id, operator_name (each `unknown` where not recorded), peak_node (the
        first node with the highest memory), held_bytes (held by this operator while it runs), piece_count (pieces of
        held_bytes), graph_bytes (held by all operators then), share_ratio = held_bytes / graph_bytes; by graph and
        size.
    """
    return selected(
        db,
        f"""
        with {_LEVELS},
        owners as (
            select profile_id, any_value(rank) as rank, device, model, graph_id, operator_name,
                   any_value(peak_node) as peak_node,
                   least(sum(size_bytes), 9223372036854775807)::bigint as held_bytes, count(*) as piece_count,
                   any_value(peak_bytes) as graph_bytes
            from held
            join peaks using (profile_id, device, model, graph_id)
            where size_bytes > 0 and first_node <= peak_node and coalesce(last_node >= peak_node, true)
            group by profile_id, device, model, graph_id, operator_name
        )
        select profile_id, rank, device, model, graph_id, operator_name, peak_node, held_bytes, piece_count,
               graph_bytes, held_bytes / nullif(graph_bytes, 0)::double as share_ratio
        from owners
        order by profile_id, graph_bytes desc, device, model, graph_id, held_bytes desc, operator_name
    """,
    )


_NEEDS: Final = (Need("static_memory"),)

PEAK = Analysis(
    code="A20",
    name="static_memory_peak",
    title="Memory peak of compiled graphs",
    per_profile=static_memory_peak,
    needs=_NEEDS,
)
OWNERS = Analysis(
    code="A20",
    name="static_memory_at_peak",
    title="Memory at the peak of a compiled graph",
    per_profile=static_memory_at_peak,
    needs=_NEEDS,
)
