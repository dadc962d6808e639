/** Searches names and arguments; the server searches, the page goes through what was found. */

import { getJson, runPath, wasAborted } from "../api/client";
import type { Hits } from "../api/timeline";
import type { Chooser } from "./choosing";
import type { Found, Model, Search } from "./model";

const PAUSE_MS = 180;
export const PAGE = 200;

export class Searcher {
  readonly #model: Model;
  readonly #chooser: Chooser;
  #asking: AbortController | null = null;
  /** The text whose answer is shown. */
  answered = "";
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** What is asked for now has no answer yet. */
  #isOpen = false;
  /** Where to go once it has: that was asked for meanwhile. */
  #wanted = 0;

  constructor(model: Model, chooser: Chooser) {
    this.#model = model;
    this.#chooser = chooser;
  }

  /** Searches soon: more is being typed. */
  change(change: Partial<Search>): void {
    const model = this.#model;
    model.search.value = { ...model.search.peek(), ...change };
    this.#isOpen = true;
    this.#wanted = 0;
    this.#asking?.abort(); // the answer to an older text is none to this one
    this.#asking = null;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#ask(0), PAUSE_MS);
  }

  more(): Promise<void> {
    return this.#ask(this.#model.hits.peek().length);
  }

  /** The next hit, or the one before; while what is typed has no answer, its first or last one, once it has. */
  go(by: number): void {
    if (this.#isOpen) {
      this.#wanted = by;
      return;
    }
    const { hits, hitAt } = this.#model;
    const count = hits.peek().length;
    if (count > 0) this.at((hitAt.peek() + by + (hitAt.peek() < 0 && by < 0 ? 1 : 0) + count) % count);
  }

  at(number: number): void {
    const hit = this.#model.hits.peek()[number];
    if (!hit) return;
    this.#model.hitAt.value = number;
    const { panel } = this.#model;
    const before = panel.peek();
    this.#chooser.choose({ run: hit.run, ref: hit.ref }, true);
    panel.value = before; // the list stays in view
  }

  async #ask(from: number): Promise<void> {
    const model = this.#model;
    this.#asking?.abort();
    this.#isOpen = true;
    const { text, where, matchCase, wholeWord } = model.search.peek();
    if (text.trim() === "") {
      model.hits.value = [];
      model.hitCount.value = null;
      model.hitAt.value = -1;
      this.#isOpen = false;
      return;
    }
    const asking = new AbortController();
    this.#asking = asking;
    try {
      const answers = await Promise.all(
        model.runs.peek().map(async ({ run }) => {
          const query = { text, where, match_case: matchCase, whole_word: wholeWord, limit: PAGE, from };
          return { run, ...(await getJson<Hits>(runPath(run, "search"), query, asking.signal)) };
        }),
      );
      if (this.#asking !== asking) return;
      const found = answers.flatMap(({ run, hits }) =>
        hits.map(({ profile_label: profileLabel, track_label: trackLabel, ...ref }): Found => ({ run, ref, profileLabel, trackLabel })),
      );
      model.hits.value = from === 0 ? found : [...model.hits.peek(), ...found];
      model.hitCount.value = answers.reduce((all, answer) => all + answer.count, 0);
      if (from === 0) model.hitAt.value = -1;
      this.answered = text;
      this.#isOpen = false;
      const by = this.#wanted;
      this.#wanted = 0;
      if (by !== 0) this.go(by);
    } catch (error) {
      if (this.#asking === asking) this.#isOpen = false;
      if (!wasAborted(error)) model.failure.value = error;
    }
  }
}
