/** Which slice lies under the pointer, and which are its neighbours on the screen. */

import { type Block, firstRow } from "../api/viewport";
import { type Piece, segmentsOf } from "./pieces";
import type { Span } from "./scale";

/** A row of a block: a slice, or several that are drawn as one. Times of the profile. */
export interface Item {
  depth: number;
  start: number;
  end: number;
  busy: number;
  slice: number;
  count: number;
  name: number;
  kind: number;
}

/** Pixels beside a slice that still choose it: short ones would else be out of reach. */
const NEAR = 4;

/** The slice at a time in one depth, or the nearest within a few pixels. */
export function itemAt(pieces: readonly Piece[], depth: number, time: number, window: Span, perPixel: number): Item | null {
  const reach = NEAR * perPixel;
  let best: Item | null = null;
  let nearest = reach;
  for (const segment of segmentsOf(pieces, window, perPixel)) {
    if (segment.to < time - reach || segment.from > time + reach) continue;
    for (const block of segment.piece.blocks) {
      if (block.depth !== depth) continue;
      for (let row = firstRow(block, time - reach); row < block.start.length; row++) {
        const start = block.start[row] ?? 0;
        if (start > time + reach) break;
        const distance = Math.max(start - time, time - (block.end[row] ?? 0), 0);
        if (distance < nearest || (distance === 0 && best === null)) {
          nearest = distance;
          best = itemOf(block, row);
        }
      }
    }
  }
  return best;
}

/** Everything that is drawn of a lane in the window, by start and depth. */
export function itemsIn(pieces: readonly Piece[], window: Span, perPixel: number, depths = Infinity): Item[] {
  const items: Item[] = [];
  for (const segment of segmentsOf(pieces, window, perPixel)) {
    for (const block of segment.piece.blocks) {
      if (block.depth >= depths) continue;
      for (let row = firstRow(block, segment.from); row < block.start.length; row++) {
        const start = block.start[row] ?? 0;
        if (start > segment.to) break;
        if (start >= segment.from || segment.from <= window.from) items.push(itemOf(block, row));
      }
    }
  }
  return items.sort((one, other) => one.start - other.start || one.depth - other.depth);
}

/** The slice of a depth that begins nearest to a time. */
export function nearestItem(items: readonly Item[], time: number, depth = 0): Item | null {
  let best: Item | null = null;
  for (const item of items) {
    if (item.depth !== depth) continue;
    const distance = Math.max(item.start - time, time - item.end, 0);
    if (best === null || distance < Math.max(best.start - time, time - best.end, 0)) best = item;
  }
  return best;
}

function itemOf(block: Block, row: number): Item {
  return {
    depth: block.depth,
    start: block.start[row] ?? 0,
    end: block.end[row] ?? 0,
    busy: block.busy[row] ?? 0,
    slice: block.slice[row] ?? 0,
    count: block.count[row] ?? 1,
    name: block.name[row] ?? 0,
    kind: block.kind[row] ?? 0,
  };
}
