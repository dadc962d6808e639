/** Where each profile stands on the common time: what the server aligned, moved by hand, and the second run by its steps. */

import type { Place, Profile, Ref, Step } from "../api/timeline";

export interface Placing {
  /** By `run.profile`. */
  places: ReadonlyMap<string, number>;
}

/** Places of the profiles of one run; those that an alignment knows nothing of keep their own. */
export function placesOf(profiles: readonly Profile[], aligned: readonly Place[] | null): Map<number, number> {
  const places = new Map(profiles.map((profile) => [profile.profile_id, profile.place_ns]));
  for (const place of aligned ?? []) if (place.place_ns !== null) places.set(place.profile_id, place.place_ns);
  return places;
}

/** By how much a profile is moved so that a slice begins (or ends) where the base does. Times are common times. */
export function moveTo(edge: "left" | "right", base: { from: number; to: number }, slice: { from: number; to: number }): number {
  return edge === "left" ? base.from - slice.from : base.to - slice.to;
}

/** By how much the second run is moved so that the first step which both have begins together. */
export function runShift(
  first: readonly Step[], firstPlaces: ReadonlyMap<number, number>, second: readonly Step[], secondPlaces: ReadonlyMap<number, number>,
): { by: number; step: number | null } | null {
  const one = startsOf(first, firstPlaces);
  const other = startsOf(second, secondPlaces);
  for (const [step, start] of one) {
    const match = other.get(step);
    if (match !== undefined) return { by: start - match, step };
  }
  const [earliest] = [...one.values()].sort((a, b) => a - b);
  const [earliestOther] = [...other.values()].sort((a, b) => a - b);
  return earliest === undefined || earliestOther === undefined ? null : { by: earliest - earliestOther, step: null };
}

/** Common time of a slice. */
export function spanOf(ref: Pick<Ref, "start" | "dur">, place: number): { from: number; to: number } {
  return { from: place + ref.start, to: place + ref.start + ref.dur };
}

/** Earliest start of each numbered step over the profiles, in the order of their starts. */
function startsOf(steps: readonly Step[], places: ReadonlyMap<number, number>): Map<number, number> {
  const starts: [number, number][] = steps.flatMap((step) => {
    const place = places.get(step.profile_id);
    return step.step === null || place === undefined ? [] : [[step.step, place + step.start]];
  });
  const found = new Map<number, number>();
  for (const [step, start] of starts.sort((one, other) => one[1] - other[1])) if (!found.has(step)) found.set(step, start);
  return found;
}
