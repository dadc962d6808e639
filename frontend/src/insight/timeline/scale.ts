/** The window on the common time of all ranks, and how it moves. Times are nanoseconds. */

export interface Span {
  readonly from: number;
  readonly to: number;
}

/** Shorter windows would show rounding of the times. */
export const SHORTEST = 20;
/** Part of the window that may lie beside what was captured. */
const BESIDE = 0.5;

export function lengthOf(span: Span): number {
  return span.to - span.from;
}

export function xOf(time: number, span: Span, width: number): number {
  return ((time - span.from) / (span.to - span.from)) * width;
}

export function timeOf(x: number, span: Span, width: number): number {
  return span.from + (x / width) * (span.to - span.from);
}

/** A window changed about a time, which stays where it is on the screen. */
export function zoomed(span: Span, about: number, factor: number, whole: Span): Span {
  const length = lengthOf(span);
  const next = Math.min(Math.max(length * factor, SHORTEST), 1.1 * lengthOf(whole));
  const share = (about - span.from) / length;
  const from = about - share * next;
  return kept({ from, to: from + next }, whole);
}

export function moved(span: Span, by: number, whole: Span): Span {
  return kept({ from: span.from + by, to: span.to + by }, whole);
}

/** A window around something, with air on both sides. */
export function framed(from: number, to: number, whole: Span, air = 0.15): Span {
  const length = Math.max(to - from, SHORTEST / 2);
  const middle = (from + to) / 2;
  const half = Math.min(length * (0.5 + air), 0.55 * lengthOf(whole));
  return kept({ from: middle - half, to: middle + half }, whole);
}

/** A window that somebody asked for, as far as it can be shown: one too long becomes the whole, one beside it comes near. */
export function within(span: Span, whole: Span): Span {
  const length = lengthOf(span);
  if (length > 1.1 * lengthOf(whole)) return all(whole);
  return length < SHORTEST ? framed(span.from, span.to, whole, 0.5) : kept(span, whole);
}

/** The part of a range that was captured; null where nothing was. */
export function inside(range: Span, whole: Span): Span | null {
  const from = Math.max(range.from, whole.from);
  const to = Math.min(range.to, whole.to);
  return from < to ? { from, to } : null;
}

/** The whole with a little air, which every reset returns to. */
export function all(whole: Span): Span {
  const air = 0.01 * lengthOf(whole);
  return { from: whole.from - air, to: whole.to + air };
}

/** A window of the same length around a time, or unchanged where the time is well inside. */
export function showing(span: Span, from: number, to: number, whole: Span): Span {
  const air = 0.05 * lengthOf(span);
  if (from >= span.from + air && to <= span.to - air) return span;
  if (to - from > lengthOf(span) * 0.9) return framed(from, to, whole);
  return moved(span, (from + to) / 2 - (span.from + span.to) / 2, whole);
}

function kept(span: Span, whole: Span): Span {
  const length = lengthOf(span);
  const lowest = whole.from - BESIDE * length;
  const highest = Math.max(lowest, whole.to - (1 - BESIDE) * length);
  const from = Math.min(Math.max(span.from, lowest), highest);
  return { from, to: from + length };
}
