/** Answers of the server, as `docs/reference` describes them; only what the page reads. */

export type Unit =
  | "ns" | "at_ns" | "bytes" | "bytes_per_s" | "flops" | "flops_per_s" | "ratio" | "count" | "number" | "text" | "id" | "flag";

export type Value = string | number | boolean | null;

export interface Column {
  name: string;
  unit: Unit;
}

/** A page of a table. */
export interface TableAnswer {
  table: string;
  columns: Column[];
  rows: Value[][];
  row_count: number;
  slices: { table: string; profile: string; key: string } | null;
  /** Of how many ranks of a large job the rows are; null where of all that were asked for. */
  looked_into: { profiles: number; of: number } | null;
  state: string;
  reason: string;
  turn_on: string;
}

export interface Statement {
  message_id: string;
  text: string;
}

export interface Section {
  collected: boolean;
  state: string;
  reason?: string;
  turn_on?: string;
}

export interface Profile {
  profile_id: number;
  rank: number | null;
  host: string | null;
  device_kind: string;
  device_id: number | null;
  device_name: string | null;
  format: string;
  source: string;
}

export interface Health {
  damage_count: number;
  note_count: number;
  checks: { check: string; violations: number; checked: number | null }[];
  score: number | null;
  rows_checked: number;
  ranks: {
    present: number;
    expected: number | null;
    expected_is_exact: boolean;
    profiles: number;
    missing_ranks: number[];
    duplicate_ranks: number[];
    unknown_rank_count: number;
    extra_ranks?: number[];
  } | null;
  silent_devices: { rank: number | null; device_kind: string }[];
  not_collected: { table: string; column: string | null; state: string; reason: string; turn_on: string; profile_count: number }[];
  differences?: { setting: string; usual_value: string; usual_count: number; other_value: string; other_ranks: string; other_count: number }[];
}

export interface MedianStep {
  profile_id: number;
  rank: number | null;
  scope: "step" | "whole capture";
  step_count: number;
  step_id: number | null;
  step: number | null;
  window_ns: number;
  window_min_ns: number;
  window_max_ns: number;
  compute_ns: number;
  overlapped_ns: number;
  exposed_comm_ns: number;
  exposed_copy_ns: number;
  free_ns: number;
}

export interface Phases {
  profile_id: number;
  rank: number | null;
  window_ns: number;
  data_ns: number;
  forward_ns: number;
  backward_ns: number;
  communication_ns: number;
  optimizer_ns: number;
  other_ns: number;
}

export interface Gain {
  low_ns: number;
  expected_ns: number;
  high_ns: number;
  low_ratio: number;
  expected_ratio: number;
  high_ratio: number;
  base_ns: number;
  method: "replay" | "direct";
  per?: string;
  remarks?: string[];
}

export interface Location {
  profile_ids?: number[];
  ranks?: number[];
  steps?: number[];
  stage?: number | null;
  group_id?: string | null;
  streams?: string[];
  names?: string[];
  site?: string;
  /** The costliest slice it is about. */
  slice?: { table: string; profile_id: number; key: string } | null;
}

export interface Evidence {
  name: string;
  value: number | string;
  source: string;
  ranks?: number[];
  steps?: number[];
  start_ns?: number | null;
  end_ns?: number | null;
}

export interface Finding {
  id: string;
  rule: string;
  topic: string;
  severity: "critical" | "warning" | "info";
  grade: string | null;
  confidence: string;
  title: string;
  description: string;
  suggestion: string;
  next_step: string;
  location: Location;
  evidence: Evidence[];
  gain: Gain | null;
  unpriced: string;
  at_stake_ns: number | null;
  effort: string;
}

export interface Suppressed {
  id: string;
  rule: string;
  title: string;
  description: string;
  reason: string;
  location: Location;
  evidence: Evidence[];
  gain: Gain | null;
}

export interface Plan {
  base_ns: number;
  steps: {
    id: string;
    rule: string;
    title: string;
    effort: string;
    confidence: string;
    low_ns: number;
    expected_ns: number;
    high_ns: number;
    step_ns: number;
  }[];
}

export interface Findings extends Section {
  rows?: Finding[];
  suppressed?: Suppressed[];
  lacking?: { rule: string; title: string; what: string; reason: string; turn_on: string }[];
  quiet?: string[];
  plan?: Plan | null;
  replay?: { observed_ns: number; base_ns: number; identity_error_ratio: number; confidence: string; remarks: string[]; refused?: string } | null;
}

export interface CriticalPath extends Section {
  step_ns?: number | null;
  classes?: { time_class: string; dur_ns: number; share_ratio: number }[];
  slice_count?: number;
  slices?: {
    profile_id: number;
    rank: number | null;
    start_ns: number;
    dur_ns: number;
    time_class: string;
    name: string;
    table: string | null;
    row_id: number | null;
  }[];
  remarks?: string[];
}

export interface Grade {
  profile_id: number;
  rank: number | null;
  window_ns: number;
  exposed_comm_ns: number;
  exposed_transit_ns: number;
  exposed_wait_ns: number;
  exposed_idle_ns: number;
  exposed_unknown_ns: number;
  exposed_share_ratio: number | null;
  exposed_transit_ratio: number | null;
  grade: string | null;
}

export interface Operation {
  op: string;
  calls: number;
  total_ns: number;
  transit_ns: number | null;
  wait_ns: number | null;
  idle_ns: number | null;
  unknown_ns: number;
  exposed_ns: number | null;
  size_bytes: number | null;
}

export interface Holder {
  operator_name: string;
  module: string | null;
  held_bytes: number;
  block_count: number;
  share_ratio: number | null;
}

/** Only for sixteen ranks and more. */
export interface Cluster {
  rank_count: number;
  detailed_ranks: (number | null)[] | null;
  lost: string[];
  lost_count: number;
  stages: { stage: number | null; ranks: number; window_ns: number; compute_ns: number; exposed_comm_ns: number; free_ns: number; bubble_ratio: number | null }[];
  straggler_count: number;
  worst: {
    rank: number | null;
    profile_id: number;
    host: string | null;
    stage: number | null;
    own_ns: number;
    peer_own_ns: number | null;
    caused_wait_ns: number;
    is_straggler: boolean;
    cause: string | null;
  }[];
  steps: number[];
  heat: { rank: number | null; stage: number | null; own_ns: (number | null)[] }[];
}

/** A profile as `runs/RUN/profiles` lists it. */
export interface ListedProfile {
  profile_id: number;
  rank: number | null;
  host: string | null;
  source: string;
  origin_ns: string;
  dur_ns: number;
  /** Null unless places were asked for. */
  place_ns: number | null;
}

export interface DocumentProgress {
  state: "absent" | "making" | "made";
  done: number;
  total: number;
  /** A field of the document, or the code of a rule. */
  part: string;
}

export interface Document {
  input: string;
  job: string;
  jobs: string[];
  capture_ns: number | null;
  verdict: Statement[];
  health: Health;
  profiles: Profile[];
  steps: Section & { step_count?: number; job_step_count?: number; inferred_count?: number };
  breakdown: Section & { scope?: string; ranks?: MedianStep[]; phases?: Phases[] };
  operators: Section & { kernel_calls?: number | null; operator_calls?: number | null; kernel_type_count?: number; operator_count?: number };
  communication: Section & { total?: Operation | null; operations?: Operation[]; grades?: Grade[]; link_count?: number };
  memory: Section & {
    peaks?: { profile_id: number; rank: number | null; component: string; peak_allocated_bytes: number | null; peak_reserved_bytes: number | null }[];
    hot_spots?: { rank: number | null; device: string; device_bytes: number; holder_count: number; holders: Holder[] } | null;
  };
  critical_path?: CriticalPath | null;
  cluster?: Cluster | null;
  findings: Findings;
}

export interface Judgement {
  metric: string;
  unit: "ns" | "bytes" | "ratio";
  change_kind: "relative" | "points";
  worse: "up" | "down";
  base: number;
  candidate: number;
  base_spread: [number, number] | null;
  candidate_spread: [number, number] | null;
  change: number;
  low: number | null;
  high: number | null;
  limit: number | null;
  verdict: string | null;
}

export interface Contribution {
  kind: string;
  name: string;
  shapes: string | null;
  module: string | null;
  state: "both" | "new" | "removed";
  base_calls: number | null;
  candidate_calls: number | null;
  base_total_ns: number;
  candidate_total_ns: number;
  delta_ns: number;
}

export interface CollectiveSide {
  calls: number;
  total_ns: number;
}

export interface ComparedRun {
  name: string;
  median_step_ns: number | null;
  step_count: number;
  size: number;
  /** Whose memory the peak is. */
  peak_component: string | null;
}

export interface Comparison {
  baseline: ComparedRun[];
  candidate: ComparedRun[];
  verdict: string;
  confidence: "normal" | "low";
  decided_by: string[];
  said: Statement[];
  remarks: Statement[];
  metrics: Judgement[];
  lacking: Record<string, "baseline" | "candidate">;
  parts: { part: string; base_ns: number; candidate_ns: number }[];
  difference: {
    difference_ns: number;
    matched_by: string;
    matched_ratio: number;
    explained_ratio: number | null;
    row_count: number;
    rows: Contribution[];
    others_ns: number;
  } | null;
  recoveries: { kind: string; name: string; delta_ns: number; recovered_ns: number; recovered_ratio: number; method: string; confidence: string }[];
  operators: { kind: string; name: string; delta_ns: number; is_slower: boolean; p_value: number }[];
  collectives: { op: string; base: CollectiveSide | null; candidate: CollectiveSide | null }[];
}

export interface Trend {
  where: string;
  series: string;
  setup: string;
  other_setup_count: number;
  fewest: number;
  metrics: {
    metric: string;
    unit: "ns" | "bytes" | "ratio";
    points: { run: number; label: string; recorded_ns: number; value: number; verdict: string | null; pinned: boolean }[];
    changes: { run: number; before: number; after: number; change: number; is_worse: boolean }[];
  }[];
}

export interface CurvePart {
  at_ns: number[];
  allocated_bytes: (number | null)[];
  reserved_bytes: (number | null)[];
  active_bytes: (number | null)[];
  recorded: number;
}

/** What each part of memory holds at moments that all have in common. */
export interface PartCurves {
  at_ns: number[];
  parts: { part: string; held_bytes: number[] }[];
}

/** Bytes that a compiled graph holds from each node to the next one listed. */
export interface GraphCurve {
  state: string;
  nodes: number[];
  held_bytes: number[];
  recorded: number;
}

/** Blocks whose stacks begin with the same frames. */
export interface MemoryPart {
  name: string;
  depth: number;
  offset_bytes: number;
  held_bytes: number;
  block_count: number;
}

export interface PoolSegment {
  address: string;
  stream: string;
  size_bytes: number;
  free_bytes: number;
  largest_free_bytes: number;
  block_count: number;
  /** Offset, bytes, innermost frame. */
  blocks: [number, number, string][];
}

export interface MemoryMoment {
  state: string;
  reason: string;
  turn_on: string;
  devices: string[];
  device: string;
  at_ns: number;
  peak_ns: number;
  held_bytes: number;
  block_count: number;
  allocated_bytes: number | null;
  reserved_bytes: number | null;
  parts: MemoryPart[];
  part_count: number;
  segments: PoolSegment[];
  segment_count: number;
}

/** Calls of the host of one path; `parent` is the place of the path around it in the answer, -1 for the outermost. */
export interface CallPath {
  id: number;
  parent: number;
  depth: number;
  name: string;
  calls: number;
  total_ns: number;
  self_ns: number;
  device_ns: number | null;
  device_self_ns: number | null;
  longest: { profile_id: number; table: string; key: string; dur_ns: number };
}

export interface CallPaths {
  state: string;
  reason: string;
  turn_on: string;
  first_step: number | null;
  last_step: number | null;
  looked_into: number;
  profile_count: number;
  has_device: boolean;
  whole_ns: number;
  path_count: number;
  left_out_paths: number;
  left_out_calls: number;
  above: { id: number; name: string }[];
  paths: CallPath[];
}

/** Calls of the host of one path in two runs, ns per step; null in a run without it. */
export interface ChangedPath {
  id: number;
  parent: number;
  depth: number;
  name: string;
  base_calls: number | null;
  candidate_calls: number | null;
  base_ns: number;
  candidate_ns: number;
  more_ns: number;
  base_longest: CallPath["longest"] | null;
  candidate_longest: CallPath["longest"] | null;
}

export interface CallPathChanges {
  state: string;
  reason: string;
  turn_on: string;
  base_steps: number;
  candidate_steps: number;
  is_per_step: boolean;
  first_step: number | null;
  last_step: number | null;
  has_device: boolean;
  base_ns: number;
  candidate_ns: number;
  path_count: number;
  left_out_paths: number;
  above: { id: number; name: string }[];
  paths: ChangedPath[];
}

/** A chain of kernels in the place of which the other run has fewer; times and counts per step and rank. */
export interface FusedChain {
  state: "fused" | "split";
  before: string;
  after: string;
  before_kernels: number;
  after_kernels: number;
  count: number;
  before_ns: number;
  after_ns: number;
  gain_ns: number;
  base_example: [profile: number, kernel: number];
  candidate_example: [profile: number, kernel: number];
}

export interface FusedAnswer {
  state: string;
  reason: string;
  turn_on: string;
  rank_count: number;
  unlike_count: number;
  base_kernels: number;
  candidate_kernels: number;
  chains: FusedChain[];
}
