"""What is kept of every profile of a cluster: the rows that its questions combine, and the tables that are small."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from ascend_sn.analysis import BY_NAME
from ascend_sn.analysis.registry import missing_needs, summary_of
from ascend_sn.analysis.steps.step_work import WORK_OF_STEPS, work_of_steps
from ascend_sn.errors import AscendSnError
from ascend_sn.store.ingest import Progress
from ascend_sn.store.locate import Location
from ascend_sn.store.mapping import Mapping
from ascend_sn.store.run import Run
from ascend_sn.store.summaries import SUMMARY, Batch, BatchMade, show_profiles, summaries_of, write_result

__all__ = ["SUMMARISED", "SUMMED", "TABLES", "open_summaries", "summarise"]

SUMMARISED: Final = (
    "rank_presence",
    "capture_differences",
    "clock_offsets",
    "data_quality",
    "data_score",
    "step_breakdown",
    "step_phases",
    "input_pipeline",
    "free_time_causes",
    "kernel_statistics",
    "operator_statistics",
    "collective_parts",
    "step_collectives",
    "communication_summary",
    "communication_grade",
    "link_matrix",
    "rank_pairs",
    "memory_peak",
    "memory_leak",
    "stragglers",
    "stage_imbalance",
    "pipeline_bubble",
    "mfu",
    "step_work",
)
"""Analyses of which the rows per profile are kept."""

SUMMED: Final = {"step_work": (WORK_OF_STEPS, work_of_steps)}
"""Analyses of which the sums over the profiles of a batch are kept as well, their name, and the query that sums rows.

The first profile of the batch stands for all.
"""

TABLES: Final = {
    "profile": "select * from profile",
    "step": "select * from step order by profile_id, step_id",
    "damage": "select * from damage",
    "coverage": "select * from coverage",
    # A rank's own place in its groups: each rank lists all members, which together would grow with their square.
    "comm_group_member": """
        select * exclude (rank), rank
        from comm_group_member
        where member_rank is null or member_rank = rank
        order by profile_id, group_id, group_rank
    """,
}
"""Tables that are kept whole, or as far as the combining queries read them."""


def open_summaries(
    location: Location,
    *,
    mapping: Mapping,
    job: str | None = None,
    cache_dir: Path | None = None,
    progress: Progress | None = None,
) -> Run:
    """Open a run by the summaries of its profiles, which are made first where there are none.

    Analyses of `SUMMARISED` give what they give of the run itself; tables other than those of `TABLES` are empty.

    Args:
        location: The run.
        mapping: How the work is dealt out.
        job: Show only the profiles of this job.
        cache_dir: The cache; default as for `open_run`.
        progress: Called while they are made.

    Raises:
        StoreError: They cannot be written, or no profile could be summarised.
    """
    summaries = summaries_of(location, summarise, mapping=mapping, cache_dir=cache_dir, progress=progress)
    return Run(location.folder, location.input, job=job, summaries=summaries)


def summarise(batch: Batch) -> BatchMade:
    """Work out the summaries of a batch of profiles; what cannot be read is left out, profile by profile.

    Raises:
        OSError: They cannot be written.
    """
    failed: dict[int, str] = {}
    _summarise(batch, batch.profiles, failed)
    return BatchMade(failed)


def _summarise(batch: Batch, profiles: Sequence[int], failed: dict[int, str]) -> None:
    part = batch.profiles.index(profiles[0])
    try:
        with show_profiles(batch, profiles) as db:
            for name, query in TABLES.items():
                write_result(db, batch, name, query, part)
            for analysis in {BY_NAME[name].per_profile: BY_NAME[name] for name in SUMMARISED}.values():
                if missing_needs(analysis.needs, db) is None:
                    name = summary_of(analysis.per_profile).removeprefix(SUMMARY)
                    analysis.per_profile(db).keep("summarised_rows")
                    write_result(db, batch, name, "from summarised_rows", part)
                    if analysis.name in SUMMED:
                        summed, sums_of = SUMMED[analysis.name]
                        rows = f"select {profiles[0]} as profile_id, * from ({sums_of('summarised_rows')}) order by all"
                        write_result(db, batch, summed, rows, part)
    except AscendSnError as error:
        if len(profiles) == 1:
            failed[part] = str(error)
            return
        for path in batch.place.glob(f"*.{part}.parquet"):
            path.unlink()
        half = len(profiles) // 2
        _summarise(batch, profiles[:half], failed)
        _summarise(batch, profiles[half:], failed)
