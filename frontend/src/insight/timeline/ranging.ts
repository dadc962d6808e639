/** Selects a part of the time: what ran in it is worked out by the server. */

import { getJson, runPath, wasAborted } from "../api/client";
import type { Selection } from "../api/timeline";
import { type Wanted, queryOf } from "../api/viewport";
import type { Model, Range } from "./model";

export class Ranger {
  readonly #model: Model;
  #asking: AbortController | null = null;

  constructor(model: Model) {
    this.#model = model;
  }

  clear(): void {
    this.#asking?.abort();
    this.#model.range.value = null;
    this.#model.selection.value = null;
    this.#model.selecting.value = false;
  }

  /** Shows a range while it is drawn with the pointer. */
  draw(range: Range): void {
    this.#model.range.value = range;
  }

  async select(range: Range): Promise<void> {
    const model = this.#model;
    this.#asking?.abort();
    const asking = new AbortController();
    this.#asking = asking;
    model.range.value = range;
    model.panel.value = "range";
    model.panelOpen.value = true;
    model.selecting.value = true;
    try {
      const queries = queriesOf(model, range);
      const found = await Promise.all(
        queries.map(async ([run, wanted]) => ({
          run, found: await getJson<Selection>(runPath(run, "selection"), { q: queryOf(wanted) }, asking.signal),
        })),
      );
      if (this.#asking === asking) model.selection.value = found;
    } catch (error) {
      if (!wasAborted(error)) model.failure.value = error;
    } finally {
      if (this.#asking === asking) model.selecting.value = false;
    }
  }

  /** The time of the chosen slice. */
  ofSlice(): void {
    const pick = this.#model.pick.peek();
    if (pick) void this.select({ ...this.#model.spanOf(pick), lanes: null });
  }

  ofWindow(): void {
    void this.select({ ...this.#model.span.peek(), lanes: null });
  }
}

/** The range in the time of each profile; of the lanes that were chosen, else of all that are not hidden. */
export function queriesOf(model: Pick<Model, "lanes" | "hidden" | "placeOf">, range: Range): [run: string, wanted: Wanted[]][] {
  const byRun = new Map<string, Map<number, Wanted & { tracks: number[] }>>();
  const chosen = range.lanes === null ? null : new Set(range.lanes);
  for (const [id, { run, profile, track }] of model.lanes.peek()) {
    if (track.side === "counter" || (chosen === null ? model.hidden.peek().has(id) : !chosen.has(id))) continue;
    const profiles = byRun.get(run.run) ?? new Map<number, Wanted & { tracks: number[] }>();
    byRun.set(run.run, profiles);
    const place = model.placeOf(run.run, profile.profile_id);
    const wanted = profiles.get(profile.profile_id) ?? { profile: profile.profile_id, from: range.from - place, to: range.to - place, tracks: [] };
    wanted.tracks.push(track.track);
    profiles.set(profile.profile_id, wanted);
  }
  return [...byRun].map(([run, profiles]) => [run, [...profiles.values()]]);
}
