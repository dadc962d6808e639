/** What the server says about lanes, slices and marks; see the reference of the API. */

export interface Clock {
  offset_ns: string | null;
  error_ns: number | null;
  method: string | null;
  reason: string | null;
}

export interface Profile {
  profile_id: number;
  rank: number | null;
  host: string | null;
  label: string;
  device_kind: string;
  device_name: string | null;
  origin_ns: string;
  dur_ns: number;
  clock: Clock;
  /** Where its origin stands on the common time of the run. */
  place_ns: number;
}

export type Side = "host" | "device" | "communication" | "marks" | "requests" | "overlap" | "counter";

export interface Track {
  profile_id: number;
  track: number;
  side: Side;
  table: string;
  label: string;
  parent: string;
  depths: number;
  slice_count: number;
  unit: string | null;
}

export interface Tracks {
  profiles: Profile[];
  kinds: string[];
  tracks: Track[];
  name_count: number;
  slice_count: number;
  alignments: string[];
}

/** A slice by its place; times from the origin of its profile. */
export interface Ref {
  profile_id: number;
  track: number;
  depth: number;
  slice: number;
  start: number;
  dur: number;
  name: string;
}

export interface Link {
  kind: string;
  ref: Ref;
}

export type Value = string | number | boolean | null;

export interface SliceDetail {
  name: string;
  kind: string;
  table: string;
  /** Null where its table names no rows. */
  key: string | null;
  start: number;
  dur: number;
  ts_ns: string;
  self_ns: number | null;
  step: number | null;
  depth: number;
  arguments: Record<string, Value>;
  stages?: Record<string, number> | null;
  previous: Ref | null;
  next: Ref | null;
  links: Link[];
}

export interface Hit extends Ref {
  profile_label: string;
  track_label: string;
}

export interface Hits {
  count: number;
  hits: Hit[];
}

export interface SelectionRow {
  profile_id: number;
  track: number;
  track_label: string;
  name: string;
  kind: string;
  count: number;
  total_ns: number;
  self_ns: number | null;
  mean_ns: number;
  min_ns: number;
  max_ns: number;
}

export interface Breakdown {
  profile_id: number;
  compute_ns: number | null;
  exposed_comm_ns: number | null;
  overlapped_ns: number | null;
  exposed_copy_ns: number | null;
  free_ns: number | null;
}

export interface Selection {
  rows: SelectionRow[];
  row_count: number;
  breakdown: Breakdown[];
}

export interface Place {
  profile_id: number;
  place_ns: number | null;
  error_ns: number | null;
  reason: string | null;
}

export interface Mark {
  id: string;
  from: number;
  /** Null for a moment, which has no length. */
  to: number | null;
  name: string;
  colour: string;
}

export interface Step {
  profile_id: number;
  step_id: number;
  step: number | null;
  start: number;
  dur: number;
}

/** Kernels of one name in two runs. */
export interface KernelChange {
  name: string;
  base_count: number;
  candidate_count: number;
  base_mean_ns: number;
  candidate_mean_ns: number;
  /** Of the mean: 0.1 is a tenth longer. */
  change_ratio: number | null;
}
