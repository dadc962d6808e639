/** Windows that were left, to return to. Moves that follow each other at once are one. */

import type { Span } from "./scale";

const KEPT = 100;
const TOGETHER = 500;

export class Undo {
  readonly #left: Span[] = [];
  #last = -Infinity;

  /** Remembers the window that is about to be left; `now` in milliseconds. */
  leave(span: Span, now: number): void {
    const together = now - this.#last < TOGETHER;
    this.#last = now;
    if (together) return;
    this.#left.push(span);
    if (this.#left.length > KEPT) this.#left.shift();
  }

  back(): Span | null {
    this.#last = -Infinity;
    return this.#left.pop() ?? null;
  }

  get depth(): number {
    return this.#left.length;
  }
}
