/** Where on the timeline a finding or a step lies. */

import { useAsked } from "../api/asked";
import { runPath } from "../api/client";
import type { Document, Evidence, Location } from "../api/types";
import { type Changes, href } from "../shell/router";
import { sliceHref } from "./links";

interface PlacedProfile {
  profile_id: number;
  rank: number | null;
  origin_ns: string;
  dur_ns: number;
  place_ns: number;
}

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
  profiles: readonly PlacedProfile[];
  steps: readonly PlacedStep[];
}

export function usePlaces(run: string): Places {
  const tracks = useAsked<{ profiles: PlacedProfile[] }>(runPath(run, "tracks"), {}, true);
  const steps = useAsked<PlacedStep[]>(runPath(run, "steps"), {}, true);
  return {
    settled: [tracks, steps].every((one) => one.value !== null || one.error !== null),
    profiles: tracks.value?.profiles ?? [],
    steps: steps.value ?? [],
  };
}

/**
 * Address of the costliest slice of a finding, chosen and framed. Where nothing is drawn that it is about: of the time of
 * its evidence, else its step, else the step that stands for the rank. Undefined until that is known.
 */
export function findingHref(places: Places, document: Document, location: Location, evidence: readonly Evidence[]): string | undefined {
  const { slice } = location;
  if (slice) return sliceHref({ table: slice.table, profile: slice.profile_id, key: slice.key });
  if (!places.settled) return undefined;
  return href("timeline", { ...windowOf(places, document, location, evidence), text: location.names?.[0] });
}

function windowOf(places: Places, document: Document, location: Location, evidence: readonly Evidence[]): Changes {
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

function profileOf(places: Places, location: Location, evidence: readonly Evidence[]): PlacedProfile | undefined {
  const id = location.profile_ids?.[0];
  const rank = location.ranks?.[0] ?? evidence.find((one) => one.ranks?.length)?.ranks?.[0];
  const { profiles } = places;
  return profiles.find((one) => one.profile_id === id) ?? profiles.find((one) => rank !== undefined && one.rank === rank) ?? profiles[0];
}

function span(profile: PlacedProfile, start: number, dur: number): Changes {
  const from = profile.place_ns + start;
  return { t: `${from}:${from + Math.max(dur, 1)}` };
}
