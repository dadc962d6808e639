/** Nested parts: where keys lead, what a frame is called in little room, and its shade. */

import type { MemoryPart } from "../../api/types";

const SHADES = 5;

/** Place of the part that a key leads to: beside, above (outer) or below (inner); the same where there is none. */
export function neighbour(parts: readonly MemoryPart[], at: number, key: string): number {
  const here = parts[at];
  if (!here) return at;
  const end = here.offset_bytes + here.held_bytes;
  const found = (fits: (part: MemoryPart) => boolean, last = false): number => {
    const places = parts.flatMap((part, place) => (fits(part) ? [place] : []));
    return (last ? places.at(-1) : places[0]) ?? at;
  };
  if (key === "ArrowRight") return found((part) => part.depth === here.depth && part.offset_bytes >= end);
  if (key === "ArrowLeft") return found((part) => part.depth === here.depth && part.offset_bytes < here.offset_bytes, true);
  if (key === "ArrowDown") return found((part) => part.depth === here.depth + 1 && part.offset_bytes >= here.offset_bytes && part.offset_bytes < end);
  if (key === "ArrowUp") return found((part) => part.depth === here.depth - 1 && part.offset_bytes <= here.offset_bytes && part.offset_bytes + part.held_bytes >= end);
  return at;
}

/** What of a frame `file(line): name` tells most in little room. */
export function shortName(frame: string): string {
  const parts = /^(.*)\((\d+|\?)\): (.*)$/.exec(frame);
  return parts ? `${parts[3]} ${(parts[1] ?? "").split("/").at(-1)}:${parts[2]}` : frame;
}

/** One of a few shades, the same for the same frame. */
export function shadeOf(name: string): number {
  let sum = 0;
  for (const sign of name) sum = (sum * 31 + (sign.codePointAt(0) ?? 0)) % 9973;
  return sum % SHADES;
}
