/** The profiles of a run: known at once, whatever its size. */

import { useAsked } from "./asked";
import { runPath } from "./client";
import type { ListedProfile } from "./types";

const NONE: readonly ListedProfile[] = [];

export function useProfiles(run: string): readonly ListedProfile[] {
  return useAsked<ListedProfile[]>(runPath(run, "profiles"), {}, true).value ?? NONE;
}
