/** Marks: moments and parts of the time with names. They are saved beside the cache, never in the input. */

import { getJson, putJson, runPath } from "../api/client";
import type { Mark } from "../api/timeline";
import { t } from "../shell/words";
import { download } from "./csv";
import type { Model } from "./model";
import { MARK_COLOURS } from "./palette";

export class Marker {
  readonly #model: Model;
  readonly #run: string;
  /** The mark whose name is being asked for. */
  fresh: string | null = null;
  #isLoaded = false;

  constructor(model: Model, run: string) {
    this.#model = model;
    this.#run = run;
  }

  /** Asks for the marks that are kept, unless they are here. */
  async load(): Promise<void> {
    if (this.#isLoaded) return;
    this.#model.marks.value = await getJson<Mark[]>(runPath(this.#run, "marks"));
    this.#isLoaded = true;
  }

  /** Marks the range, else the chosen slice, else a moment. */
  add(moment: number): void {
    const model = this.#model;
    const pick = model.pick.peek();
    const span = model.range.peek() ?? (pick ? model.spanOf(pick) : null);
    const number = model.marks.peek().length;
    const mark: Mark = {
      id: `${Date.now().toString(36)}${Math.random().toString(36).slice(2, 8)}`,
      from: span?.from ?? moment,
      to: span?.to ?? null,
      name: !model.range.peek() && pick ? pick.ref.name.slice(0, 80) : t("timeline.mark.name", { number: number + 1 }),
      colour: MARK_COLOURS[number % MARK_COLOURS.length] ?? "#e69f00",
    };
    this.fresh = mark.id;
    this.#save([...model.marks.peek(), mark]);
    model.panel.value = "marks";
    model.panelOpen.value = true;
  }

  change(id: string, change: Partial<Mark>): void {
    this.#save(this.#model.marks.peek().map((mark) => (mark.id === id ? { ...mark, ...change } : mark)));
  }

  remove(id: string): void {
    this.#save(this.#model.marks.peek().filter((mark) => mark.id !== id));
  }

  export(): void {
    download(`marks-${this.#run}.json`, "application/json", `${JSON.stringify(this.#model.marks.peek(), null, 2)}\n`);
  }

  /** Adds the marks of a file that was saved here or elsewhere; one with the id of a mark takes its place. */
  import(text: string): void {
    const read = marksOf(text);
    if (read === null) {
      this.#model.said.value = t("timeline.mark.not-marks");
      return;
    }
    const ids = new Set(read.map((mark) => mark.id));
    this.#save([...this.#model.marks.peek().filter((mark) => !ids.has(mark.id)), ...read]);
    this.#model.said.value = t("timeline.mark.imported", { count: read.length });
  }

  #save(marks: readonly Mark[]): void {
    this.#isLoaded = true; // what was not to be read is put aside by the server
    this.#model.marks.value = marks;
    putJson(runPath(this.#run, "marks"), marks).catch((error: unknown) => {
      this.#model.failure.value = error;
    });
  }
}

/** The marks of a file; null where it holds something else. */
export function marksOf(text: string): Mark[] | null {
  let read: unknown;
  try {
    read = JSON.parse(text);
  } catch {
    return null;
  }
  return Array.isArray(read) && read.every(isMark) ? read.map(({ id, from, to, name, colour }) => ({ id, from, to, name, colour })) : null;
}

function isMark(one: unknown): one is Mark {
  if (typeof one !== "object" || one === null) return false;
  const { id, from, to, name, colour } = one as Record<string, unknown>;
  const isTimed = Number.isFinite(from) && (to === null || (Number.isFinite(to) && Number(to) >= Number(from)));
  return isTimed && [id, name].every((text) => typeof text === "string" && text.length <= 200) && typeof colour === "string" && /^#[0-9a-f]{6}$/i.test(colour);
}
