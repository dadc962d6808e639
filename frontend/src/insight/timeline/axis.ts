/** Labels of the time axis: round times, and where they would be long, round times after a stated one. */

import { axisText } from "../../text/quantities";
import { type Span, lengthOf } from "./scale";

export interface Tick {
  time: number;
  text: string;
}

export interface Axis {
  /** What the labels count from, where that is not zero. */
  base: number;
  ticks: Tick[];
  step: number;
}

/** Labels have three digits: where those would not tell them apart, they count from a base. */
const DIGITS = 100;

export function axisOf(span: Span, width: number, room = 110): Axis {
  const step = stepOf(lengthOf(span), Math.max(1, width / room));
  const far = Math.max(Math.abs(span.from), Math.abs(span.to)) / step > DIGITS;
  const unit = 10 ** Math.ceil(Math.log10(Math.max(step, 1) * 100));
  const base = far ? Math.floor(span.from / unit) * unit : 0;
  const ticks: Tick[] = [];
  const first = Math.ceil((span.from - base) / step);
  const last = Math.floor((span.to - base) / step);
  for (let number = first; number <= last; number++) {
    const after = number * step;
    ticks.push({ time: base + after, text: `${far ? "+" : ""}${axisText(after, "ns")}` });
  }
  return { base, ticks, step };
}

/** 1, 2 or 5 times a power of ten, so that about `count` of them fit. */
export function stepOf(length: number, count: number): number {
  const raw = Math.max(length / count, 1);
  const power = 10 ** Math.floor(Math.log10(raw) + 1e-9);
  return ([1, 2, 5, 10].find((factor) => factor * power >= raw * (1 - 1e-9)) ?? 10) * power;
}

/** Every digit of a time: seconds, then thousands apart. */
export function exactText(time: number): string {
  const nanoseconds = Math.round(Math.abs(time));
  const seconds = Math.floor(nanoseconds / 1e9);
  const rest = String(nanoseconds % 1e9).padStart(9, "0");
  return `${time < 0 ? "-" : ""}${seconds}.${rest.slice(0, 3)} ${rest.slice(3, 6)} ${rest.slice(6)} s`;
}
