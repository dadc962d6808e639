"""A26: the model as a tree of phases and modules, with what each costs on host and device."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt
from duckdb import DuckDBPyConnection

from ascend_sn._native.nesting import enclosing, nest
from ascend_sn.analysis.activity import grouped
from ascend_sn.analysis.kernels.op_flops import family_of, flops_of
from ascend_sn.analysis.registry import Analysis, Need
from ascend_sn.analysis.relations import Result, listed
from ascend_sn.analysis.shapes import shapes_of
from ascend_sn.model.kinds import COMPUTE_KINDS, OWN_WORK_KINDS
from ascend_sn.model.rows import Int64

__all__ = ["ANALYSIS", "module_tree"]

MODULE_PREFIX: Final = "nn.Module: "
"""What the name of a Python frame that is a module begins with."""

MODULE_DOMAINS: Final = ("module", "Module")
"""Domains of ranges that are modules whatever their name."""

_NONE: Final = -1

_TYPES: Final = {
    "profile_id": "integer",
    "rank": "integer",
    "phase": "varchar",
    "path": "varchar",
    "name": "varchar",
    "depth": "integer",
    "operators": "bigint",
    "host_self_ns": "bigint",
    "host_ns": "bigint",
    "device_self_ns": "bigint",
    "device_ns": "bigint",
    "share_ratio": "double",
    "kernels": "bigint",
    "flops": "bigint",
    "allocated_bytes": "bigint",
}


def module_tree(db: DuckDBPyConnection) -> Result:
    """Sum operators and the kernels they launched by phase and module, each module with all below it.

    An operator belongs to the module recorded with it; where a profile has none, to the innermost module range
    (`nn.Module: ...` frames, or ranges of the domain `module`) that is open on its thread; else to the module of the
    forward operator that a forward-backward arrow ties it to; else to that of the operator around it.

    Args:
        db: A connection with the tables `operator`, `kernel`, `span`, `flow`, `memory_event`.

    Returns:
        One row per phase (path empty, depth 0) and one per module in it, for profiles in which a module is known:
        profile_id, rank, phase, path (modules by '.', outermost first), name (its last part; the phase for the
        root), depth (0 for the phase), operators (of the module and all inside), host_self_ns (self time of its
        own operators), host_ns (with those of modules inside), device_self_ns (kernels that its own operators
        launched, summed) and device_ns (with those of modules inside), share_ratio (of the profile's device_ns;
        null without linked kernels), kernels, flops (counted ones, null where none could be), allocated_bytes
        (null where no allocation is tied to an operator); totals include the modules inside. By profile, phase
        and path.
    """
    operators = db.execute(f"""
        with launched as (
            select profile_id, operator_id, sum(dur_ns)::bigint as device_ns, count(*) as kernels
            from kernel
            where kind in {OWN_WORK_KINDS} and operator_id is not null
            group by profile_id, operator_id
        ),
        held as (
            select profile_id, operator_id, sum(size_bytes)::bigint as allocated_bytes
            from memory_event
            where kind = 'alloc' and operator_id is not null
            group by profile_id, operator_id
        )
        select operator.profile_id, operator.rank, operator.operator_id, coalesce(parent_id, -1)::bigint as parent_id,
               coalesce(depth, 0)::bigint as depth, phase, module, thread, ts_ns, coalesce(self_ns, dur_ns) as self_ns,
               coalesce(device_ns, 0)::bigint as device_ns, coalesce(kernels, 0)::bigint as kernels,
               coalesce(allocated_bytes, 0)::bigint as allocated_bytes
        from operator
        left join launched using (profile_id, operator_id)
        left join held using (profile_id, operator_id)
        order by operator.profile_id, operator.operator_id
    """).fetchnumpy()
    rows: list[dict[str, Any]] = []
    for profile_id, part in grouped(operators["profile_id"]).items():
        own = {name: column[part] for name, column in operators.items()}
        path, names = _paths(db, profile_id, own)
        if names:
            rows.extend(_tree(db, profile_id, own, path, names))
    return listed(db, rows, _TYPES)


def _paths(db: DuckDBPyConnection, profile_id: int, own: dict[str, Any]) -> tuple[Int64, list[str]]:
    """Number of the module path of every operator (_NONE where unknown), and the paths."""
    recorded = own["module"]
    known = ~np.ma.getmaskarray(recorded)
    names: list[str] = []
    path = np.full(len(known), _NONE, np.int64)
    if bool(known.any()):
        texts = np.ma.getdata(recorded)[known].astype(str)
        distinct, codes = np.unique(texts, return_inverse=True)
        path[known] = codes
        names = distinct.tolist()
    else:
        names = _from_ranges(db, profile_id, own, path)
    if names:
        _from_forward(db, profile_id, own, path)
        _inherit(own, path)
    return path, names


def _from_ranges(db: DuckDBPyConnection, profile_id: int, own: dict[str, Any], path: Int64) -> list[str]:
    spans = db.execute(
        """
        select thread, name, ts_ns, dur_ns
        from span
        where profile_id = $profile and (starts_with(name, $prefix) or domain in (select unnest($domains)))
        order by thread, ts_ns, dur_ns desc
        """,
        {"profile": profile_id, "prefix": MODULE_PREFIX, "domains": list(MODULE_DOMAINS)},
    ).fetchnumpy()
    if not len(spans["ts_ns"]):
        return []
    threads: dict[str, int] = {}
    of_span, of_operator = (
        np.fromiter((threads.setdefault(str(name), len(threads)) for name in column), np.int64, len(column))
        for column in (spans["thread"], own["thread"])
    )
    start, dur = np.asarray(spans["ts_ns"], np.int64), np.asarray(spans["dur_ns"], np.int64)
    tree = nest(of_span, start, dur)
    names: dict[str, int] = {}
    number = np.full(len(start), _NONE, np.int64)
    texts: list[str] = [""] * len(start)
    for at in np.argsort(tree.depth, kind="stable").tolist():
        above = int(tree.parent[at])
        plain = str(spans["name"][at]).removeprefix(MODULE_PREFIX)
        texts[at] = f"{texts[above]}.{plain}" if above >= 0 else plain
        number[at] = names.setdefault(texts[at], len(names))
    around = enclosing(of_span, start, dur, of_operator, np.asarray(own["ts_ns"], np.int64))
    path[:] = np.append(number, _NONE)[around]
    return list(names)


def _from_forward(db: DuckDBPyConnection, profile_id: int, own: dict[str, Any], path: Int64) -> None:
    flows = db.execute(
        "select src_id, dst_id from flow where profile_id = $profile and kind = 'fwdbwd' order by src_id, dst_id",
        {"profile": profile_id},
    ).fetchnumpy()
    ids = np.asarray(own["operator_id"], np.int64)
    src, dst = (_positions(ids, np.asarray(flows[name], np.int64)) for name in ("src_id", "dst_id"))
    usable = (src >= 0) & (dst >= 0)
    src, dst = src[usable], dst[usable]
    open_ = path[dst] == _NONE
    path[dst[open_]] = path[src[open_]]


def _inherit(own: dict[str, Any], path: Int64) -> None:
    """Give operators the module of the one around them, level by level."""
    ids, depth = np.asarray(own["operator_id"], np.int64), np.asarray(own["depth"], np.int64)
    parent = _positions(ids, np.asarray(own["parent_id"], np.int64))
    order = np.argsort(depth, kind="stable")
    bounds = np.searchsorted(depth[order], np.arange(int(depth.max()) + 2))
    for level in range(1, len(bounds) - 1):
        at = order[bounds[level] : bounds[level + 1]]
        at = at[(path[at] == _NONE) & (parent[at] >= 0)]
        path[at] = path[parent[at]]


def _positions(ids: Int64, wanted: Int64) -> Int64:
    at = np.searchsorted(ids, wanted).clip(max=max(len(ids) - 1, 0))
    return np.where(ids[at] == wanted, at, _NONE) if len(ids) else np.full(len(wanted), _NONE, np.int64)


_SUMS: Final = ("operators", "host_self_ns", "device_self_ns", "kernels", "flops", "allocated_bytes")


def _tree(
    db: DuckDBPyConnection, profile_id: int, own: dict[str, Any], path: Int64, names: list[str]
) -> list[dict[str, Any]]:
    phases, phase = np.unique(np.ma.filled(own["phase"], "other").astype(str), return_inverse=True)
    key = phase * (len(names) + 1) + path + 1
    flops = _flops(db, profile_id, np.asarray(own["operator_id"], np.int64))
    columns = {
        "operators": np.ones(len(path), np.int64),
        "host_self_ns": own["self_ns"],
        "device_self_ns": own["device_ns"],
        "kernels": own["kernels"],
        "flops": flops,
        "allocated_bytes": own["allocated_bytes"],
    }
    totals: dict[tuple[str, str], dict[str, int]] = {}
    own_values: dict[tuple[str, str], tuple[int, int]] = {}
    order = np.argsort(key, kind="stable")
    found, first = np.unique(key[order], return_index=True)
    sums = {name: np.add.reduceat(np.asarray(column, np.int64)[order], first) for name, column in columns.items()}
    for at, one in enumerate(found.tolist()):
        values = {name: int(column[at]) for name, column in sums.items()}
        number = one % (len(names) + 1) - 1
        place = (str(phases[one // (len(names) + 1)]), names[number] if number >= 0 else "")
        own_values[place] = (values["host_self_ns"], values["device_self_ns"])
        for prefix in _prefixes(place[1]):
            total = totals.setdefault((place[0], prefix), dict.fromkeys(_SUMS, 0))
            for name, value in values.items():
                total[name] += value
    rank = own["rank"][0]
    whole = int(np.asarray(own["device_ns"]).sum())
    counted, held = bool(flops.any()), bool(np.asarray(own["allocated_bytes"]).any())
    return [
        {
            "profile_id": profile_id,
            "rank": None if rank is np.ma.masked else int(rank),
            "phase": place[0],
            "path": place[1],
            "name": place[1].rsplit(".", 1)[-1] or place[0],
            "depth": place[1].count(".") + 1 if place[1] else 0,
            "operators": total["operators"],
            "host_self_ns": own_values.get(place, (0, 0))[0],
            "host_ns": total["host_self_ns"],
            "device_self_ns": own_values.get(place, (0, 0))[1],
            "device_ns": total["device_self_ns"],
            "share_ratio": total["device_self_ns"] / whole if whole else None,
            "kernels": total["kernels"],
            "flops": total["flops"] if counted else None,
            "allocated_bytes": total["allocated_bytes"] if held else None,
        }
        for place, total in sorted(totals.items())
    ]


def _prefixes(path: str) -> list[str]:
    """The root, every module around a path, and the path itself."""
    parts = path.split(".") if path else []
    return ["", *(".".join(parts[: at + 1]) for at in range(len(parts)))]


def _flops(db: DuckDBPyConnection, profile_id: int, ids: Int64) -> npt.NDArray[np.int64]:
    """Counted operations of the kernels that each operator launched; of the operator, where only it has shapes."""
    rows = db.execute(
        f"""
        select operator_id, coalesce(op_type, name), input_shapes, output_shapes, input_formats
        from kernel
        where profile_id = $profile and operator_id is not null and kind in {COMPUTE_KINDS}
          and input_shapes is not null
        union all
        select operator_id, name, input_shapes, output_shapes, null
        from operator
        where profile_id = $profile and input_shapes is not null
          and operator_id in (
              select operator_id from kernel
              where profile_id = $profile and kind in {COMPUTE_KINDS}
              group by operator_id having count(input_shapes) = 0)
        """,
        {"profile": profile_id},
    ).fetchall()
    flops = np.zeros(len(ids), np.int64)
    known: dict[tuple[Any, ...], int] = {}
    for operator_id, op, inputs, outputs, formats in rows:
        if family_of(op) is None:
            continue
        key = (op, inputs, outputs, formats)
        if key not in known:
            shapes = shapes_of(inputs)
            known[key] = 0 if shapes is None else flops_of(op, shapes, shapes_of(outputs), formats) or 0
        at = int(np.searchsorted(ids, operator_id))
        if at < len(ids) and ids[at] == operator_id:
            flops[at] += known[key]
    return flops


ANALYSIS = Analysis(
    code="A26",
    name="module_tree",
    title="Phases and modules",
    per_profile=module_tree,
    needs=(Need("operator"), Need("operator", "module", alternatives=("span",))),
)
