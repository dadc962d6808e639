/** The slices of a lane as they were packed: seven numbers each, by start. */

import type { LaneData, TimelineData } from "../report/data";

export const FIELDS = 7;

export interface Slice {
  start: number;
  dur: number;
  depth: number;
  name: string;
  /** Index into the kinds of the timeline. */
  kind: number;
  /** How many slices it stands for; above 1 the name is that of the longest. */
  count: number;
  /** Time in which one of them ran. */
  busy: number;
}

export function sliceAt(timeline: TimelineData, lane: LaneData, at: number): Slice | null {
  const base = at * FIELDS;
  if (at < 0 || base + FIELDS > lane.slices.length) return null;
  const field = (offset: number): number => lane.slices[base + offset] ?? 0;
  return {
    start: field(0),
    dur: field(1),
    depth: field(2),
    name: timeline.names[field(3)] ?? "",
    kind: field(4),
    count: field(5),
    busy: field(6),
  };
}

export function sliceCount(lane: LaneData): number {
  return lane.slices.length / FIELDS;
}

/** Number of slices a lane stands for in a window, and the time in which one of them ran. */
export function within(lane: LaneData, from: number, to: number): { count: number; busy: number } {
  let count = 0;
  let busy = 0;
  for (let base = 0; base < lane.slices.length; base += FIELDS) {
    const start = lane.slices[base] ?? 0;
    const dur = lane.slices[base + 1] ?? 0;
    const overlap = Math.min(start + dur, to) - Math.max(start, from);
    if (overlap < 0 || (overlap === 0 && dur > 0)) continue;
    count += lane.slices[base + 5] ?? 0;
    if ((lane.slices[base + 2] ?? 0) === 0) busy += dur > 0 ? ((lane.slices[base + 6] ?? 0) * overlap) / dur : 0;
  }
  return { count, busy };
}
