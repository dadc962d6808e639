/** Nested parts: where keys lead, what a frame is called in little room, and its shade. */

const SHADES = 5;

/** A part of a whole: it lies from `offset` on, `size` wide, within the part above it. */
export interface NestedPart {
  name: string;
  depth: number;
  offset: number;
  size: number;
}

/** Place of the part that a key leads to: beside, above (outer) or below (inner); the same where there is none. */
export function neighbour(parts: readonly NestedPart[], at: number, key: string): number {
  const here = parts[at];
  if (!here) return at;
  const end = here.offset + here.size;
  const places = parts.map((_, place) => place).sort((one, other) => (parts[one]?.offset ?? 0) - (parts[other]?.offset ?? 0));
  const found = (fits: (part: NestedPart) => boolean, last = false): number => {
    const fitting = places.filter((place) => fits(parts[place] as NestedPart));
    return (last ? fitting.at(-1) : fitting[0]) ?? at;
  };
  if (key === "ArrowRight") return found((part) => part.depth === here.depth && part.offset >= end && part !== here);
  if (key === "ArrowLeft") return found((part) => part.depth === here.depth && part.offset < here.offset, true);
  if (key === "ArrowDown") return found((part) => part.depth === here.depth + 1 && part.offset >= here.offset && part.offset < end);
  if (key === "ArrowUp") return found((part) => part.depth === here.depth - 1 && part.offset <= here.offset && part.offset + part.size >= end);
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
