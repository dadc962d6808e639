/** Places ranks on the common time: by clock, by steps, at a collective, at chosen slices, or by hand. */

import { getJson, runPath } from "../api/client";
import type { Place } from "../api/timeline";
import { t } from "../shell/words";
import type { Model } from "./model";
import { moveTo } from "./places";

export class Aligner {
  readonly #model: Model;

  constructor(model: Model) {
    this.#model = model;
  }

  /** `clock`, `steps`, `none`, or `collective:P:KEY` of the first run. */
  async by(way: string): Promise<void> {
    const model = this.#model;
    const [kind = "", profile, ...key] = way.split(":");
    model.offsets.value = {};
    if (kind === "" || kind === "none") {
      model.aligned.value = new Map();
      model.align.value = kind;
      return;
    }
    const query = kind === "collective" ? { by: kind, profile, collective: key.join(":") } : { by: kind };
    const before = model.align.peek();
    model.align.value = way;
    const runs = kind === "collective" ? model.runs.peek().slice(0, 1) : model.runs.peek();
    try {
      const answers = await Promise.all(
        runs.map(async ({ run }) => [run, (await getJson<{ places: Place[] }>(runPath(run, "alignment"), query)).places] as const),
      );
      if (model.align.peek() === way) model.aligned.value = new Map(answers);
    } catch (error) {
      model.align.value = before;
      model.failure.value = error;
    }
  }

  /** Moves one rank, in nanoseconds from where the alignment places it. */
  offset(id: string, by: number): void {
    this.#model.offsets.value = { ...this.#model.offsets.peek(), [id]: by };
  }

  /** The first slice becomes the base; the rank of each further one moves so that the edges meet. */
  edge(edge: "left" | "right"): void {
    const model = this.#model;
    const pick = model.pick.peek();
    if (!pick) return;
    const base = model.base.peek();
    const id = `${pick.run}.${pick.ref.profile_id}`;
    if (!base || id === `${base.run}.${base.ref.profile_id}`) {
      model.base.value = pick;
      model.said.value = t("timeline.align.base", { name: pick.ref.name });
      return;
    }
    const by = moveTo(edge, model.spanOf(base), model.spanOf(pick));
    this.offset(id, (model.offsets.peek()[id] ?? 0) + by);
    model.said.value = t("timeline.align.moved", { name: pick.ref.name });
  }
}
