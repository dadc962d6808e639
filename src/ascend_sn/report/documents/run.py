"""The document of a run: everything that any view shows, typed. `analyze --format json` is this, encoded.

Every section has `collected` and `state`; an absent one also `reason` and `turn_on`. Times are int64 ns, sizes bytes,
shares ratios from 0 to 1; null means that a figure was not collected, never zero. Lists that grow with the run are
bounded and stand beside their full count (`..._count`).
"""

from __future__ import annotations

from typing import Any, Final, Literal

import msgspec

from ascend_sn.advisor.device_data import SilentDevice
from ascend_sn.advisor.median_step import MedianStep, Phases
from ascend_sn.report.documents.cluster import Cluster
from ascend_sn.report.documents.critical_path import OperatorSlack, PathClass, PathSlice
from ascend_sn.report.documents.findings import FindingEntry, LackingRule, PlanOfChanges, ReplayFigures, SuppressedEntry
from ascend_sn.report.documents.inference import BatchSize, RequestStage
from ascend_sn.report.documents.timeline import StepTimeline
from ascend_sn.report.words.language import Code

__all__ = [
    "SCHEMA",
    "Breakdown",
    "Check",
    "Clock",
    "Communication",
    "CommunicationGrade",
    "Copies",
    "Copy",
    "Coverage",
    "CriticalPathSection",
    "Curve",
    "Damage",
    "Difference",
    "Document",
    "ExportedStep",
    "Findings",
    "Fusion",
    "FusionPattern",
    "Health",
    "HotSpots",
    "Inference",
    "InputPipeline",
    "KernelShape",
    "KernelType",
    "LeakVerdict",
    "Link",
    "Memory",
    "MemoryHolder",
    "MemoryOperator",
    "MemoryPeak",
    "MemoryTotal",
    "Operation",
    "Operator",
    "Operators",
    "Profile",
    "RankPair",
    "Ranks",
    "Section",
    "State",
    "Statement",
    "Step",
    "StepGain",
    "Steps",
]

SCHEMA: Final = "ascend-sn/analyze/1"

State = Literal["collected", "empty", "missing", "not_requested", "damaged", "unsupported"]


class Section(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What every section tells about itself.

    Attributes:
        collected: Whether the section has figures.
        state: `collected`; `empty` (asked for, none happened); `missing` (asked for, nothing came);
            `not_requested`; `damaged`; `unsupported`.
        reason: Why it is absent, in words.
        turn_on: The option of the source tool that collects it.
    """

    collected: bool
    state: State
    reason: str = ""
    turn_on: str = ""


class Statement(msgspec.Struct, kw_only=True):
    """A sentence: the id of the message, its parameters, and the text in the document's language."""

    message_id: str
    params: dict[str, Any]
    text: str


class Damage(msgspec.Struct, kw_only=True):
    """One entry of the damage ledger; `severity` is `damage` where something was lost, else `info`."""

    rank: int | None
    file: str
    place: str | None
    kind: str
    severity: Literal["info", "damage"]
    count: int
    example: str | None


class Check(msgspec.Struct, kw_only=True):
    """One check of the data, summed over the profiles; only those that found something are listed."""

    check: str
    violations: int
    checked: int | None


class Coverage(msgspec.Struct, kw_only=True):
    """A table or column that was not collected, and how to collect it."""

    table: str
    column: str | None
    state: State
    reason: str
    turn_on: str
    profile_count: int


class Ranks(msgspec.Struct, kw_only=True):
    """Which ranks of the job are here. `expected` is a lower bound unless `expected_is_exact`."""

    present: int
    expected: int | None
    expected_is_exact: bool
    basis: Literal["world_size", "group", "none"]
    profiles: int
    missing_ranks: list[int]
    duplicate_ranks: list[int]
    unknown_rank_count: int
    extra_ranks: list[int] = []


class Difference(msgspec.Struct, kw_only=True):
    """A setting in which some captures differ from the others; `other_ranks` names at most ten, by commas."""

    setting: str
    usual_value: str
    usual_count: int
    other_value: str
    other_ranks: str
    other_count: int


class Clock(msgspec.Struct, kw_only=True):
    """How a rank's clock stands to the reference's; `offset_ns` is null where it cannot be known, see `reason`."""

    rank: int | None
    offset_ns: int | None
    error_ns: int | None
    calls: int
    method: str
    reason: str | None


class ExportedStep(msgspec.Struct, kw_only=True):
    """A figure of the exporter's own step trace, under its own name."""

    rank: int | None
    step: int | None
    figure: str
    dur_ns: int


class Health(msgspec.Struct, kw_only=True):
    """Whether the data can be believed; shown first everywhere.

    Attributes:
        damage_count: Damaged things: the counts of the ledger's entries of severity `damage`.
        note_count: Entries of severity `info`.
        silent_devices: Profiles of an accelerator that hold no device record.
        score: 1 - rows that contradict themselves / rows, the worst of all profiles.
        differences: Settings in which captures of the job differ.
        clocks: Offsets between the clocks of several ranks, with the error that remains.
    """

    damage_count: int
    note_count: int
    damage: list[Damage]
    checks: list[Check]
    score: float | None
    rows_checked: int
    ranks: Ranks | None
    silent_devices: list[SilentDevice]
    not_collected: list[Coverage]
    differences: list[Difference] = []
    clocks: list[Clock] = []


class Profile(msgspec.Struct, kw_only=True):
    """A captured process."""

    profile_id: int
    rank: int | None
    host: str | None
    pid: int | None
    device_kind: str
    device_id: int | None
    device_name: str | None
    format: str
    source: str
    phase: str | None
    world_size: int | None
    session_count: int | None
    start_ns: int | None


class Step(msgspec.Struct, kw_only=True):
    """A training step of one profile; `origin` says what marked it, `inferred` ones are guesses."""

    profile_id: int
    rank: int | None
    step_id: int
    step: int | None
    origin: str
    ts_ns: int
    dur_ns: int


class Steps(Section, kw_only=True):
    """The steps; at most the first thousand are listed.

    `step_count` counts those of all profiles, `job_step_count` those of the job: a step that all its ranks took is one.
    Neither counts inferred ones.
    """

    step_count: int = 0
    job_step_count: int = 0
    inferred_count: int = 0
    rows: list[Step] = []


class InputPipeline(msgspec.Struct, kw_only=True):
    """Time per step that waits for data, as means."""

    profile_id: int
    rank: int | None
    steps: int
    data_ns: int
    compute_ns: int
    window_ns: int
    data_share_ratio: float
    grade: str
    bottleneck: str
    source: str


class Breakdown(Section, kw_only=True):
    """The step breakdown, one row per profile, by rank."""

    scope: Literal["step", "whole capture", "mixed"] = "step"
    ranks: list[MedianStep] = []
    phases: list[Phases] = []
    input_pipeline: list[InputPipeline] = []
    exported: list[ExportedStep] = []


class KernelType(msgspec.Struct, kw_only=True):
    """Kernels of one type and core, summed over the profiles; shares are of the summed compute time."""

    op_type: str | None
    kind: str
    core_type: str | None
    calls: int
    total_ns: int
    mean_ns: int
    min_ns: int
    max_ns: int
    share_ratio: float | None
    cumulative_ratio: float | None


class KernelShape(msgspec.Struct, kw_only=True):
    """Kernels of one type, core, and shapes and types of inputs, summed over the profiles.

    Tensors are parted by `;`, dimensions by commas; shares are of the summed compute time.
    """

    op_type: str
    kind: str
    core_type: str | None
    input_shapes: str
    input_dtypes: str | None
    calls: int
    total_ns: int
    mean_ns: int
    min_ns: int
    max_ns: int
    share_ratio: float | None


class Operator(msgspec.Struct, kw_only=True):
    """A framework operator, summed over the profiles: device time it launched, host time of its own."""

    name: str
    calls: int
    device_ns: int | None
    host_ns: int
    mean_device_ns: int | None
    input_bytes: int | None
    output_bytes: int | None
    share_ratio: float | None


class Operators(Section, kw_only=True):
    """The largest kernel types and operators; the time limit, if any, is on a row's total."""

    op_time_threshold_ns: int | None = None
    kernel_time_ns: int | None = None
    kernel_type_count: int = 0
    kernels: list[KernelType] = []
    operator_count: int = 0
    operators: list[Operator] = []
    kernel_calls: int | None = None
    operator_calls: int | None = None
    shape_count: int = 0
    shapes: list[KernelShape] = []


class Operation(msgspec.Struct, kw_only=True):
    """Collectives of one primitive, summed over the profiles: total = transit + wait + idle + unknown."""

    op: str
    calls: int
    total_ns: int
    mean_ns: int
    transit_ns: int | None
    wait_ns: int | None
    idle_ns: int | None
    unknown_ns: int
    exposed_ns: int | None
    share_ratio: float | None
    exposed_share_ratio: float | None
    size_bytes: int | None
    members_present: int | None
    members_expected: int | None
    members_exact: bool


class Link(msgspec.Struct, kw_only=True):
    """Traffic of one pair of ranks; `pattern` names a slow sender, receiver or link."""

    group_id: str | None
    src_rank: int
    dst_rank: int
    rank_scope: str
    transport: str | None
    size_bytes: int
    dur_ns: int
    bandwidth_bytes_per_s: float | None
    robust_z: float | None
    pattern: str | None


class CommunicationGrade(msgspec.Struct, kw_only=True):
    """How bad the communication of one profile is: exposed = transit + wait + idle + unknown.

    `grade` is on the exposed transit alone; null where the unknown part could change it. `main_part` is the largest.
    """

    profile_id: int
    rank: int | None
    window_ns: int
    exposed_comm_ns: int
    exposed_transit_ns: int
    exposed_wait_ns: int
    exposed_idle_ns: int
    exposed_unknown_ns: int
    exposed_share_ratio: float | None
    exposed_transit_ratio: float | None
    main_part: Literal["transit", "wait", "idle", "unknown"]
    grade: Literal["normal", "slight", "severe", "extreme"] | None


class RankPair(msgspec.Struct, kw_only=True):
    """Two ranks: how well the links between them are used, and how long the source waits for the destination.

    Attributes:
        group_id: Communicator in which the two numbers are places; null where they are ranks of the job.
        transports: Kinds of links, by commas; null where no transfer was recorded, as size and bandwidth.
        bandwidth_bytes_per_s: Of one stream.
        bandwidth_ratio: Of the peak of the links; null where `bandwidth_reason` says why.
        mean_wait_ns: Per collective; null where nothing was recorded.
    """

    src_rank: int
    dst_rank: int
    group_id: str | None
    transports: str | None
    size_bytes: int | None
    bandwidth_bytes_per_s: float | None
    bandwidth_ratio: float | None
    bandwidth_reason: Literal["no-transfers", "chip-unknown", "link-unknown"] | None
    mean_wait_ns: int | None


class Communication(Section, kw_only=True):
    """Communication by primitive, its sum, its grade per rank, the traffic between pairs of ranks, and their waits."""

    total: Operation | None = None
    operations: list[Operation] = []
    grades: list[CommunicationGrade] = []
    fused_ns: int | None = None
    link_count: int = 0
    links: list[Link] = []
    pair_count: int = 0
    pairs: list[RankPair] = []


class MemoryPeak(msgspec.Struct, kw_only=True):
    """The highest memory of one component of one profile."""

    profile_id: int
    rank: int | None
    component: str
    peak_allocated_bytes: int | None
    peak_reserved_bytes: int | None
    peak_active_bytes: int | None
    peak_ts_ns: int | None
    source: str
    end_allocated_bytes: int | None = None


class MemoryOperator(msgspec.Struct, kw_only=True):
    """What an operator holds at the end, the most it held at once, and how often it allocated, on its worst rank."""

    rank: int | None
    operator_name: str
    retained_bytes: int
    peak_bytes: int
    allocation_count: int


class MemoryTotal(msgspec.Struct, kw_only=True):
    """The curve behind the operators, on the rank that holds most: it is not the sum of their rows."""

    rank: int | None
    component: str
    retained_bytes: int | None
    peak_bytes: int | None
    allocation_count: int


class MemoryHolder(msgspec.Struct, kw_only=True):
    """What an operator, in a module, holds at the peak."""

    operator_name: str
    module: str | None
    held_bytes: int
    block_count: int
    share_ratio: float | None


class HotSpots(msgspec.Struct, kw_only=True):
    """Who holds the memory at the peak, on the device that holds most; what was there before the capture is not in it.

    `device_bytes` is what all of them hold.
    """

    rank: int | None
    device: str
    peak_ts_ns: int
    device_bytes: int
    holder_count: int
    holders: list[MemoryHolder]


class LeakVerdict(msgspec.Struct, kw_only=True):
    """What the lowest memory level of each step does over the steps, for one component of one profile.

    `verdict` is leak, cache, steady or insufficient; the onset is null unless it leaks, `steps_left` unless the
    capacity is known as well.
    """

    profile_id: int
    rank: int | None
    component: str
    source: str
    verdict: Literal["leak", "cache", "steady", "insufficient"]
    steps: int
    slope_bytes_per_step: float | None
    growth_bytes: float | None
    onset_step: int | None
    phase: str | None
    steps_left: float | None


class Curve(msgspec.Struct, kw_only=True):
    """A memory curve, thinned out to its highest point per interval; times from the start of the curves."""

    profile_id: int
    rank: int | None
    component: str
    ts_ns: list[int]
    allocated_bytes: list[int | None]
    reserved_bytes: list[int | None]


class Memory(Section, kw_only=True):
    """Memory peaks, curves of the first ranks, operators by peak with the total, who holds the peak, leaks or none."""

    peaks: list[MemoryPeak] = []
    operators: list[MemoryOperator] = []
    operator_count: int = 0
    total: MemoryTotal | None = None
    hot_spots: HotSpots | None = None
    curves: list[Curve] = []
    leak_count: int = 0
    leaks: list[LeakVerdict] = []


class Copy(msgspec.Struct, kw_only=True):
    """Copies of one direction and kind of host memory, summed over the profiles.

    `direction` is h2d, d2h, d2d or h2h; `host_memory` pageable or pinned; each null where not recorded.
    """

    direction: str | None
    host_memory: str | None
    calls: int
    total_ns: int
    mean_ns: int
    exposed_ns: int
    overlapped_ns: int
    exposed_share_ratio: float | None
    size_bytes: int | None
    bandwidth_bytes_per_s: float | None


class Copies(Section, kw_only=True):
    """Memory copies by direction; `exposed_ns` is the time with a copy and nothing else, of all profiles' windows."""

    window_ns: int | None = None
    exposed_ns: int | None = None
    rows: list[Copy] = []


class StepGain(msgspec.Struct, kw_only=True):
    """How much shorter the median step would be, by replay; shares are of that step."""

    low_ns: int
    expected_ns: int
    high_ns: int
    expected_ratio: float
    confidence: Literal["high", "medium", "low"]


class FusionPattern(msgspec.Struct, kw_only=True):
    """Kernels that could be one (`candidate`), or are (`fused`), summed over the profiles.

    Attributes:
        pattern: Operator types by '+'.
        op_types: Operator types as recorded, by blanks.
        before_ns: Time of all instances unfused; null where unknown.
        after_ns: The same when fused.
        is_estimate: `before_ns` is what unfused kernels of the parts take elsewhere in the run.
        fusion_ratio: Fused instances of the pattern over all of them.
        gain: What fusing the candidate is worth for the step; null where that has no price.
    """

    pattern: str
    state: Literal["candidate", "fused"]
    op_types: str
    instances: int
    before_ns: int | None
    after_ns: float | None
    saving_ns: float | None
    saving_ratio: float | None
    share_ratio: float | None
    is_estimate: bool
    fusion_ratio: float
    gain: StepGain | None = None


class Fusion(Section, kw_only=True):
    """Fused kernels and candidates, and the fusion rate of all their instances.

    `unpriced` says why candidates have no price by replay.
    """

    fused_instances: int = 0
    candidate_instances: int = 0
    fusion_ratio: float | None = None
    pattern_count: int = 0
    patterns: list[FusionPattern] = []
    unpriced: str = ""


class Inference(Section, kw_only=True):
    """Requests by stage, and throughput by batch size; either may be empty."""

    stages: list[RequestStage] = []
    batch_sizes: list[BatchSize] = []


class CriticalPathSection(Section, kw_only=True):
    """What holds the median step: the longest path through its dependencies, over host, device, links and ranks.

    Attributes:
        scope: What was followed: `step`, `inferred step` or `whole capture`.
        ranks: Ranks that were followed together.
        step_ns: Length of the step; the classes add up to it.
        identity_error_ratio: How far the replayed step is off the captured one.
        classes: Time on the path by class, most first.
        slice_count: Slices on the path; `slices` are the longest hundred of them, in order.
        operator_count: Operators and kernel names of the step; `operators` are those with most time on the path.
        remarks: What limits the confidence in the path.
    """

    scope: str = ""
    ranks: list[int | None] = []
    step_ns: int | None = None
    identity_error_ratio: float | None = None
    classes: list[PathClass] = []
    slice_count: int = 0
    slices: list[PathSlice] = []
    operator_count: int = 0
    operators: list[OperatorSlack] = []
    remarks: list[str] = []


class Findings(Section, kw_only=True):
    """What the advisor says: findings by the time that is to be had, what was held back, which rules could not look.

    `quiet` are the rules that looked and found nothing; `plan` is null where nothing has a price, `replay` where
    nothing was replayed. `changed_thresholds` are those that the user has set.
    """

    rows: list[FindingEntry] = []
    suppressed: list[SuppressedEntry] = []
    lacking: list[LackingRule] = []
    quiet: list[str] = []
    plan: PlanOfChanges | None = None
    replay: ReplayFigures | None = None
    changed_thresholds: list[str] = []


class Document(msgspec.Struct, kw_only=True):
    """One run, as every view shows it.

    Where the input holds several jobs that have nothing to do with each other, `jobs` names them and `job` is the
    one that is shown; else both are empty. `capture_ns` is the longest profile's, from its first record to its last;
    null where nobody asked for the timeline. `copies`, `fusion` and `critical_path` are null where nobody asked for
    them, `inference` where nothing was inferred, `cluster` for fewer than sixteen ranks. `timeline` is for the HTML
    report; in JSON it is always null.
    """

    schema: Literal["ascend-sn/analyze/1"]
    generator: str
    language: Code
    input: str
    job: str = ""
    jobs: list[str] = []
    capture_ns: int | None = None
    verdict: list[Statement]
    health: Health
    cluster: Cluster | None = None
    profiles: list[Profile]
    steps: Steps
    breakdown: Breakdown
    operators: Operators
    communication: Communication
    memory: Memory
    copies: Copies | None = None
    fusion: Fusion | None = None
    inference: Inference | None = None
    critical_path: CriticalPathSection | None = None
    timeline: StepTimeline | None = None
    findings: Findings

    def json(self) -> str:
        """Return the document as indented JSON, as `ascend-sn analyze --format json` writes it."""
        from ascend_sn.report.documents.as_json import json_text

        return json_text(self)

    def markdown(self) -> str:
        """Return the document as Markdown."""
        from ascend_sn.report.documents.views import View
        from ascend_sn.report.markdown.run import markdown_text
        from ascend_sn.report.words.language import Language

        return markdown_text(self, Language.load(self.language), View())

    def html(self) -> str:
        """Return the document as one self-contained HTML page of 3 MB at most."""
        from ascend_sn.report.documents.views import View
        from ascend_sn.report.html.run import html_text
        from ascend_sn.report.words.language import Language

        return html_text(self, Language.load(self.language), View())

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the summary, all texts escaped."""
        from ascend_sn.report.html.notebook import document_html

        return document_html(self)
