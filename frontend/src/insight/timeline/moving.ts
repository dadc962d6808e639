/** Moves the window: by steps that are eased, for as long as a key is held, or at once. */

import type { Model } from "./model";
import { type Span, all, framed, lengthOf, moved, showing, zoomed } from "./scale";

export type Direction = "zoom-in" | "zoom-out" | "left" | "right";

const STEP = 1.35;
const PAN = 0.18;
const FASTER = 3;
/** Two slices are shown together while the shorter one is not less than this part of the window. */
const BOTH = 150;
/** How long a key is down before it counts as held. */
const HELD_MS = 220;
/** Part of the way to the target that is gone in a 60th of a second. */
const EASE = 0.34;

export class Mover {
  readonly #model: Model;
  /** Time under the pointer; zooming keeps it in place. */
  #about: () => number;
  #target: Span | null = null;
  #held: { key: string; direction: Direction; fast: boolean; since: number } | null = null;
  #frame = 0;
  #last = 0;
  readonly #calm = matchMedia("(prefers-reduced-motion: reduce)");

  constructor(model: Model, about: () => number) {
    this.#model = model;
    this.#about = about;
  }

  get moving(): boolean {
    return this.#target !== null;
  }

  /** A key went down: one step, and then on until it is released. */
  press(direction: Direction, fast: boolean, event: KeyboardEvent): void {
    if (event.repeat && !this.#calm.matches) return;
    this.#step(direction, fast ? FASTER : 1);
    if (!this.#calm.matches) this.#held = { key: event.code, direction, fast, since: performance.now() };
  }

  release(code: string | null): void {
    if (code === null || this.#held?.key === code) this.#held = null;
  }

  /** Goes to a window, which can be left again by undo. */
  go(span: Span): void {
    this.#remember();
    if (this.#calm.matches) {
      this.set(span);
      return;
    }
    this.#target = span;
    this.#run();
  }

  /** As `go`, without easing: for what follows a pointer. */
  follow(span: Span): void {
    this.#remember();
    this.set(span);
  }

  set(span: Span): void {
    this.#target = null;
    this.#model.span.value = span;
  }

  zoom(about: number, factor: number): void {
    this.follow(zoomed(this.#model.span.peek(), about, factor, this.#model.whole.peek()));
  }

  pan(by: number): void {
    this.follow(moved(this.#model.span.peek(), by, this.#model.whole.peek()));
  }

  fit(from: number, to: number): void {
    this.go(framed(from, to, this.#model.whole.peek()));
  }

  /** Moves only where the slice is not in the window. */
  show(from: number, to: number): void {
    const now = this.#aim();
    const next = showing(now, from, to, this.#model.whole.peek());
    if (next !== now) this.go(next);
  }

  /** Shows two slices at once where both can still be seen, else the second one. */
  showBoth(one: Span, other: Span): void {
    const both = { from: Math.min(one.from, other.from), to: Math.max(one.to, other.to) };
    const shorter = Math.max(1, Math.min(lengthOf(one), lengthOf(other)));
    const now = this.#aim();
    if (both.from >= now.from && both.to <= now.to) return;
    if (lengthOf(both) < BOTH * shorter) this.go(framed(both.from, both.to, this.#model.whole.peek()));
    else this.show(other.from, other.to);
  }

  reset(): void {
    this.go(all(this.#model.whole.peek()));
  }

  back(): void {
    const span = this.#model.undo.back();
    if (!span) return;
    if (this.#calm.matches) this.set(span);
    else {
      this.#target = span;
      this.#run();
    }
  }

  #step(direction: Direction, times: number): void {
    const now = this.#aim();
    const whole = this.#model.whole.peek();
    if (direction === "left" || direction === "right") {
      this.go(moved(now, (direction === "left" ? -1 : 1) * PAN * times * lengthOf(now), whole));
    } else {
      const factor = direction === "zoom-in" ? 1 / STEP : STEP;
      this.go(zoomed(now, this.#inside(now), factor ** times, whole));
    }
  }

  /** The window that the running motion leads to. */
  #aim(): Span {
    return this.#target ?? this.#model.span.peek();
  }

  #inside(span: Span): number {
    const about = this.#about();
    return about >= span.from && about <= span.to ? about : (span.from + span.to) / 2;
  }

  #remember(): void {
    this.#model.undo.leave(this.#model.span.peek(), performance.now());
  }

  #run(): void {
    if (this.#frame !== 0) return;
    this.#last = performance.now();
    this.#frame = requestAnimationFrame((now) => this.#tick(now));
  }

  #tick(now: number): void {
    this.#frame = 0;
    const passed = Math.min(100, Math.max(1, now - this.#last));
    this.#last = now;
    const held = this.#held;
    if (held && performance.now() - held.since > HELD_MS) this.#goOn(held.direction, held.fast, passed);
    const target = this.#target;
    if (target === null) return;
    const span = this.#model.span.peek();
    const share = 1 - (1 - EASE) ** (passed / 16.7);
    const next = { from: span.from + (target.from - span.from) * share, to: span.to + (target.to - span.to) * share };
    const pixel = lengthOf(target) / Math.max(1, this.#model.width.peek());
    const there = Math.abs(next.from - target.from) < pixel / 3 && Math.abs(next.to - target.to) < pixel / 3;
    this.#model.span.value = there ? target : next;
    if (there && !this.#held) this.#target = null;
    else this.#run();
  }

  /** Motion while a key is held: the same speed on every screen. */
  #goOn(direction: Direction, fast: boolean, passed: number): void {
    const now = this.#aim();
    const whole = this.#model.whole.peek();
    const speed = (passed / 1000) * (fast ? FASTER : 1);
    if (direction === "left" || direction === "right") {
      this.#target = moved(now, (direction === "left" ? -1 : 1) * 1.1 * speed * lengthOf(now), whole);
    } else {
      const factor = Math.exp((direction === "zoom-in" ? -2.6 : 2.6) * speed);
      this.#target = zoomed(now, this.#inside(now), factor, whole);
    }
  }
}
