/** Colour and words of a change: orange and + where it takes longer, blue and - where it takes less; never by colour alone. */

import { percentText } from "../../../text/quantities";

/** Change from which the colour is full. */
const FULL = 0.3;
/** Shares of the colour in the background: text stays readable on all of them. */
const LEAST = 12;
const MOST = 50;

export function changeText(before: number, after: number, words: { fresh: string; gone: string }): string {
  if (before === 0) return after === 0 ? "\u00b1 0 %" : words.fresh;
  if (after === 0) return words.gone;
  const ratio = after / before - 1;
  return ratio === 0 ? "\u00b1 0 %" : `${ratio > 0 ? "+" : "-"}${percentText(Math.abs(ratio))}`;
}

export function tint(before: number, after: number): { background: string; color: string } {
  const ratio = before === 0 ? (after === 0 ? 0 : FULL) : after / before - 1;
  const share = Math.min(1, Math.abs(ratio) / FULL);
  const colour = ratio === 0 ? "var(--soft)" : ratio > 0 ? "#d55e00" : "#0072b2";
  return { background: `color-mix(in srgb, ${colour} ${ratio === 0 ? 12 : Math.round(LEAST + (MOST - LEAST) * share)}%, var(--card))`, color: "var(--ink)" };
}
