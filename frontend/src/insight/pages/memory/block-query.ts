/** Which blocks of memory are looked at: those of a range in time, or of a moment. */

import type { Query } from "../../api/client";

export const MODES = ["alive", "made", "freed", "inside", "moment"] as const;
export type Mode = (typeof MODES)[number];

const EVER_NS = Number.MAX_SAFE_INTEGER;

/** The filters of the table for a mode; a moment is a range of no length. What was never released is in no range of releases. */
export function blockQuery(mode: Mode, from: number | null, to: number | null, moment: number | null): Query {
  if (mode === "moment") return { alive_from_ns: moment, alive_to_ns: moment };
  const within = (name: string): Query => ({ [`${name}_from_ns`]: from, [`${name}_to_ns`]: to });
  const freed = { freed_from_ns: from, freed_to_ns: to ?? EVER_NS };
  return mode === "inside" ? { ...within("made"), ...freed } : mode === "freed" ? freed : within(mode);
}
