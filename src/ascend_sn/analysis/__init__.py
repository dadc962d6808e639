"""Pure functions from the tables of a run to one table; every public one takes a run.

`ANALYSES` is the registry; `result` gives the relation of an analysis by name, or says why it was not collected.
"""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches

from duckdb import DuckDBPyRelation

from ascend_sn._native.memory import release_free
from ascend_sn.analysis.capture import (
    capture_differences as _capture_differences,
    clock_offsets as _clock_offsets,
    data_quality as _data_quality,
    profiler_overhead as _profiler_overhead,
    rank_presence as _rank_presence,
)
from ascend_sn.analysis.communication import (
    alpha_beta as _alpha_beta,
    collective_parts as _collective_parts,
    communication_grade as _communication_grade,
    communication_summary as _communication_summary,
    link_matrix as _link_matrix,
    overlap_contention as _overlap_contention,
    step_collectives as _step_collectives,
)
from ascend_sn.analysis.host import (
    call_paths as _call_paths,
    free_time_causes as _free_time_causes,
    host_pauses as _host_pauses,
    launch_queue as _launch_queue,
    launch_statistics as _launch_statistics,
    operator_statistics as _operator_statistics,
)
from ascend_sn.analysis.kernels import (
    affinity_matches as _affinity_matches,
    copies as _copies,
    core_types as _core_types,
    format_waste as _format_waste,
    frequency as _frequency,
    fusion_candidates as _fusion_candidates,
    kernel_shapes as _kernel_shapes,
    kernel_statistics as _kernel_statistics,
    mfu as _mfu,
    roofline as _roofline,
    slow_instances as _slow_instances,
    utilisation_map as _utilisation_map,
)
from ascend_sn.analysis.memory import (
    allocator_cost as _allocator_cost,
    fragmentation as _fragmentation,
    leak_sites as _leak_sites,
    memory_at_peak as _memory_at_peak,
    memory_breakdown as _memory_breakdown,
    memory_by_operator as _memory_by_operator,
    memory_leak as _memory_leak,
    memory_peak as _memory_peak,
    static_memory as _static_memory,
    temporary_churn as _temporary_churn,
)
from ascend_sn.analysis.ranks import (
    pipeline_bubble as _pipeline_bubble,
    rank_pairs as _rank_pairs,
    rank_waits as _rank_waits,
    stage_imbalance as _stage_imbalance,
    stragglers as _stragglers,
)
from ascend_sn.analysis.registry import Analysis, Missing, evaluate, is_summarised, missing_needs
from ascend_sn.analysis.relations import Result
from ascend_sn.analysis.steps import (
    exported_steps as _exported_steps,
    inference_latency as _inference_latency,
    input_pipeline as _input_pipeline,
    module_tree as _module_tree,
    step_breakdown as _step_breakdown,
    step_jitter as _step_jitter,
    step_phases as _step_phases,
    step_work as _step_work,
    throughput_sweep as _throughput_sweep,
)
from ascend_sn.errors import NotCollectedError, UnknownNameError
from ascend_sn.store import Run

BY_NAME: dict[str, Analysis] = {}
"""The analyses by name; filled by the list of the public ones below."""


def result(run: Run, name: str) -> DuckDBPyRelation | Missing:
    """Return an analysis of a run by name, or why what it needs was not collected.

    Raises:
        UnknownNameError: No analysis of that name.
    """
    found = worked_out(run, name)
    return found if isinstance(found, Missing) else found.relation()


def worked_out(run: Run, name: str) -> Result | Missing:
    """Do as `result` does, without a relation: for the parts of this package, which read or keep the rows once.

    Raises:
        UnknownNameError: No analysis of that name.
    """
    missing = absence(run, name)
    if missing is not None:
        return missing
    found = evaluate(BY_NAME[name], run.db)
    release_free(run.row_count)
    return found


def absence(run: Run, name: str) -> Missing | None:
    """Say why what an analysis needs was not collected, None where it was; nothing is worked out for that.

    Raises:
        UnknownNameError: No analysis of that name.
    """
    analysis = BY_NAME.get(name)
    if analysis is None:
        nearest = next(iter(get_close_matches(name, BY_NAME, n=1)), None)
        raise UnknownNameError("analysis", name, tuple(BY_NAME), nearest)
    return None if is_summarised(analysis, run.db) else missing_needs(analysis.needs, run.db)


def _public(analysis: Analysis) -> Callable[[Run], DuckDBPyRelation]:
    """Enter an analysis into the registry, and return the function of a run that stands for it."""

    def analyse(run: Run) -> DuckDBPyRelation:
        if not isinstance(run, Run):
            raise TypeError(f"run must be an opened run, such as ascend_sn.open(PATH), not {type(run).__name__}")
        found = result(run, analysis.name)
        if isinstance(found, Missing):
            raise NotCollectedError(analysis.name, found.reason, found.turn_on)
        return found

    BY_NAME[analysis.name] = analysis
    final = analysis.combine or analysis.per_profile
    analyse.__name__ = analyse.__qualname__ = analysis.name
    analyse.__doc__ = f"{analysis.code} {analysis.title}.\n\n{final.__doc__}\n\nRaises NotCollectedError when absent."
    return analyse


data_quality = _public(_data_quality.QUALITY)
data_score = _public(_data_quality.DATA_SCORE)
rank_presence = _public(_rank_presence.ANALYSIS)
capture_differences = _public(_capture_differences.ANALYSIS)
clock_offsets = _public(_clock_offsets.ANALYSIS)
step_breakdown = _public(_step_breakdown.ANALYSIS)
exported_steps = _public(_exported_steps.ANALYSIS)
step_phases = _public(_step_phases.ANALYSIS)
input_pipeline = _public(_input_pipeline.ANALYSIS)
kernel_statistics = _public(_kernel_statistics.ANALYSIS)
kernel_shapes = _public(_kernel_shapes.ANALYSIS)
operator_statistics = _public(_operator_statistics.ANALYSIS)
collective_parts = _public(_collective_parts.ANALYSIS)
step_collectives = _public(_step_collectives.ANALYSIS)
communication_summary = _public(_communication_summary.ANALYSIS)
communication_grade = _public(_communication_grade.ANALYSIS)
copies = _public(_copies.ANALYSIS)
link_matrix = _public(_link_matrix.ANALYSIS)
rank_pairs = _public(_rank_pairs.ANALYSIS)
rank_waits = _public(_rank_waits.ANALYSIS)
memory_peak = _public(_memory_peak.ANALYSIS)
memory_by_operator = _public(_memory_by_operator.ANALYSIS)
memory_at_peak = _public(_memory_at_peak.ANALYSIS)
memory_breakdown = _public(_memory_breakdown.ANALYSIS)
static_memory_peak = _public(_static_memory.PEAK)
static_memory_at_peak = _public(_static_memory.OWNERS)
free_time_causes = _public(_free_time_causes.ANALYSIS)
utilisation_map = _public(_utilisation_map.ANALYSIS)
launch_queue = _public(_launch_queue.QUEUE)
host_bound = _public(_launch_queue.HOST_BOUND)
launch_statistics = _public(_launch_statistics.ANALYSIS)
slow_instances = _public(_slow_instances.ANALYSIS)
core_types = _public(_core_types.ANALYSIS)
roofline = _public(_roofline.ANALYSIS)
mfu = _public(_mfu.ANALYSIS)
alpha_beta = _public(_alpha_beta.ANALYSIS)
stragglers = _public(_stragglers.ANALYSIS)
stage_imbalance = _public(_stage_imbalance.ANALYSIS)
pipeline_bubble = _public(_pipeline_bubble.ANALYSIS)
communication_overlap = _public(_overlap_contention.OVERLAP)
contention = _public(_overlap_contention.CONTENTION)
fragmentation = _public(_fragmentation.ANALYSIS)
memory_leak = _public(_memory_leak.ANALYSIS)
leak_sites = _public(_leak_sites.ANALYSIS)
allocator_cost = _public(_allocator_cost.ANALYSIS)
temporary_churn = _public(_temporary_churn.ANALYSIS)
module_tree = _public(_module_tree.ANALYSIS)
call_paths = _public(_call_paths.ANALYSIS)
fusion_candidates = _public(_fusion_candidates.ANALYSIS)
affinity_matches = _public(_affinity_matches.ANALYSIS)
format_waste = _public(_format_waste.ANALYSIS)
frequency = _public(_frequency.ANALYSIS)
step_jitter = _public(_step_jitter.JITTER)
step_changes = _public(_step_jitter.CHANGES)
host_pauses = _public(_host_pauses.ANALYSIS)
inference_latency = _public(_inference_latency.ANALYSIS)
throughput_sweep = _public(_throughput_sweep.ANALYSIS)
profiler_overhead = _public(_profiler_overhead.ANALYSIS)
step_work = _public(_step_work.ANALYSIS)

ANALYSES: tuple[Analysis, ...] = tuple(BY_NAME.values())

__all__ = ["ANALYSES", "Missing", "absence", "result"]
__all__ += [analysis.name for analysis in ANALYSES]


def __dir__() -> list[str]:
    """Name what is public: the analyses, and what answers by name."""
    return sorted(__all__)
