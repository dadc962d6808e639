/** Where call paths lie in an icicle: each within the one that calls it, the longest first. */

import type { CallPath } from "../../api/types";
import type { NestedPart } from "../../controls/nested";

export interface PlacedCall extends NestedPart {
  path: CallPath;
}

/** Paths by the place of the one around them, each list with the largest first; -1 for the outermost. */
function inside(paths: readonly CallPath[], value: (path: CallPath) => number): Map<number, number[]> {
  const found = new Map<number, number[]>();
  paths.forEach((path, at) => found.set(path.parent, [...(found.get(path.parent) ?? []), at]));
  for (const places of found.values()) places.sort((one, other) => value(paths[other] as CallPath) - value(paths[one] as CallPath));
  return found;
}

/** Calls that cross on their thread may add up to more than what calls them: they then share its width. */
export function placed(paths: readonly CallPath[], whole: number, value: (path: CallPath) => number): PlacedCall[] {
  const below = inside(paths, value);
  const parts: PlacedCall[] = [];
  const waiting: { at: number; offset: number; size: number; depth: number }[] = [];
  const lay = (parent: number, offset: number, size: number, depth: number): void => {
    const places = below.get(parent) ?? [];
    const sum = places.reduce((all, at) => all + value(paths[at] as CallPath), 0);
    const scale = sum > size ? size / sum : 1;
    let from = offset;
    for (const at of places) {
      const own = scale * value(paths[at] as CallPath);
      waiting.push({ at, offset: from, size: own, depth });
      from += own;
    }
  };
  lay(-1, 0, whole, 0);
  for (let next = waiting.shift(); next; next = waiting.shift()) {
    const path = paths[next.at] as CallPath;
    parts.push({ name: path.name, depth: next.depth, offset: next.offset, size: next.size, path });
    lay(next.at, next.offset, next.size, next.depth + 1);
  }
  return parts;
}
