/** Where call paths lie in an icicle: each within the one that calls it, the longest first. */

import type { NestedPart } from "./nested";

/** A path by its name and the place of the one around it, -1 for the outermost. */
export interface Nested {
  name: string;
  parent: number;
}

export interface Placed<T extends Nested> extends NestedPart {
  path: T;
}

/** Calls that cross on their thread may add up to more than what calls them: they then share its width. */
export function placed<T extends Nested>(paths: readonly T[], whole: number, value: (path: T) => number): Placed<T>[] {
  const below = inside(paths, value);
  const parts: Placed<T>[] = [];
  const waiting: { at: number; offset: number; size: number; depth: number }[] = [];
  const lay = (parent: number, offset: number, size: number, depth: number): void => {
    const places = below.get(parent) ?? [];
    const sum = places.reduce((all, at) => all + value(paths[at] as T), 0);
    const scale = sum > size ? size / sum : 1;
    let from = offset;
    for (const at of places) {
      const own = scale * value(paths[at] as T);
      waiting.push({ at, offset: from, size: own, depth });
      from += own;
    }
  };
  lay(-1, 0, whole, 0);
  for (let next = 0; next < waiting.length; next++) {
    const { at, offset, size, depth } = waiting[next] as (typeof waiting)[number];
    const path = paths[at] as T;
    parts.push({ name: path.name, depth, offset, size, path });
    lay(at, offset, size, depth + 1);
  }
  return parts;
}

/** Places by that of the path around them, the largest first. */
function inside<T extends Nested>(paths: readonly T[], value: (path: T) => number): Map<number, number[]> {
  const found = new Map<number, number[]>();
  for (const [at, path] of paths.entries()) {
    const places = found.get(path.parent);
    if (places) places.push(at);
    else found.set(path.parent, [at]);
  }
  for (const places of found.values()) places.sort((one, other) => value(paths[other] as T) - value(paths[one] as T));
  return found;
}
