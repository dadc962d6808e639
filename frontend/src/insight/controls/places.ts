/** Where on the timeline a finding or a step lies. */

import { useAsked } from "../api/asked";
import { runPath } from "../api/client";
import type { Document, Evidence, ListedProfile, Location } from "../api/types";
import { type Changes, href } from "../shell/router";
import { sliceHref } from "./links";

interface PlacedStep {
  profile_id: number;
  step_id: number;
  step: number | null;
  start: number;
  dur: number;
}

export interface Places {
  /** Whether the server has said where everything lies, or that it cannot: a place told earlier may be a wrong one. */
  settled: boolean;
  profiles: readonly ListedProfile[];
  steps: readonly PlacedStep[];
}

export function usePlaces(run: string): Places {
  const profiles = useAsked<ListedProfile[]>(runPath(run, "profiles"), { places: true }, true);
  const steps = useAsked<PlacedStep[]>(runPath(run, "steps"), {}, true);
  return {
    settled: [profiles, steps].every((one) => one.value !== null || one.error !== null),
    profiles: profiles.value ?? [],
    steps: steps.value ?? [],
  };
}

/**
 * Address of the costliest slice of a finding, chosen and framed. Where nothing is drawn that it is about: of the time of
 * its evidence, else its step, else the step that stands for the rank. Undefined until that is known.
 */
export function findingHref(places: Places, document: Pick<Document, "breakdown">, location: Location, evidence: readonly Evidence[]): string | undefined {
  const { slice } = location;
  if (slice) return sliceHref({ table: slice.table, profile: slice.profile_id, key: slice.key });
  if (!places.settled) return undefined;
  return href("timeline", { ...windowOf(places, document, location, evidence), text: location.names?.[0] });
}

function windowOf(places: Places, document: Pick<Document, "breakdown">, location: Location, evidence: readonly Evidence[]): Changes {
  const profile = profileOf(places, location, evidence);
  if (!profile) return {};
  const timed = evidence.find((one) => one.start_ns != null && one.end_ns != null);
  if (timed?.start_ns != null && timed.end_ns != null) {
    const origin = Number(BigInt(profile.origin_ns));
    return span(profile, timed.start_ns - origin, timed.end_ns - timed.start_ns);
  }
  const number = location.steps?.[0] ?? evidence.find((one) => one.steps?.length)?.steps?.[0];
  const median = document.breakdown.ranks?.find((row) => row.profile_id === profile.profile_id);
  const ofProfile = places.steps.filter((step) => step.profile_id === profile.profile_id);
  const step = ofProfile.find((one) => number !== undefined && one.step === number) ?? ofProfile.find((one) => one.step_id === median?.step_id);
  return step ? span(profile, step.start, step.dur) : span(profile, 0, profile.dur_ns);
}

function profileOf(places: Places, location: Location, evidence: readonly Evidence[]): ListedProfile | undefined {
  const id = location.profile_ids?.[0];
  const rank = location.ranks?.[0] ?? evidence.find((one) => one.ranks?.length)?.ranks?.[0];
  const { profiles } = places;
  return profiles.find((one) => one.profile_id === id) ?? profiles.find((one) => rank !== undefined && one.rank === rank) ?? profiles[0];
}

function span(profile: ListedProfile, start: number, dur: number): Changes {
  const from = (profile.place_ns ?? 0) + start;
  return { t: `${from}:${from + Math.max(dur, 1)}` };
}
