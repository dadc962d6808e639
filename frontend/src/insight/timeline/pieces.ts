/** What is known of a lane: pieces of its time at some resolution, and which of them a window is drawn from. */

import type { Block } from "../api/viewport";
import type { Span } from "./scale";

/** Blocks of one lane over a part of its time (profile time); `perPixel` is what one pixel stood for. */
export interface Piece extends Span {
  perPixel: number;
  blocks: Block[];
  /** No row stands for several slices: zooming in shows nothing new. */
  complete: boolean;
}

export interface Segment extends Span {
  piece: Piece;
}

/** Pieces that are kept of a lane beside the one of its whole time. */
const KEPT = 3;
/** Of a resolution a little coarser than the pixels nothing is seen. */
const COARSER = 1.05;

export function pieceOf(span: Span, perPixel: number, blocks: Block[]): Piece {
  const complete = blocks.every((block) => block.count.every((count) => count === 1));
  return { from: span.from, to: span.to, perPixel, blocks, complete };
}

export function fits(piece: Piece, perPixel: number): boolean {
  return piece.complete || piece.perPixel <= perPixel * COARSER;
}

/** Whether a window can be drawn from the pieces as sharp as the screen is. */
export function covered(pieces: readonly Piece[], window: Span, perPixel: number): boolean {
  return pieces.some((piece) => piece.from <= window.from && piece.to >= window.to && fits(piece, perPixel));
}

/** Whether something is known of every moment of a window, however coarse. */
export function reached(pieces: readonly Piece[], window: Span): boolean {
  let known = window.from;
  for (const piece of [...pieces].sort((one, other) => one.from - other.from)) {
    if (piece.from > known) break;
    known = Math.max(known, piece.to);
  }
  return known >= window.to;
}

/** Adds a piece, newest first; what it makes needless goes, but the piece of the longest time stays. */
export function added(pieces: readonly Piece[], piece: Piece): Piece[] {
  const others = pieces.filter((old) => !(piece.from <= old.from && piece.to >= old.to && fits(piece, old.perPixel)));
  const longest = others.reduce<Piece | null>((best, old) => (best === null || old.to - old.from > best.to - best.from ? old : best), null);
  const kept = others.slice(0, KEPT - 1);
  return longest === null || kept.includes(longest) ? [piece, ...kept] : [piece, ...kept.slice(0, KEPT - 2), longest];
}

/** The window, cut into parts that are each drawn from one piece: a sharp one where there is one, else the sharpest. */
export function segmentsOf(pieces: readonly Piece[], window: Span, perPixel: number): Segment[] {
  const order = [...pieces].sort((one, other) => {
    const sharp = Number(fits(other, perPixel)) - Number(fits(one, perPixel));
    if (sharp !== 0) return sharp;
    return fits(one, perPixel) ? coverage(other, window) - coverage(one, window) : one.perPixel - other.perPixel;
  });
  let open: Span[] = [window];
  const segments: Segment[] = [];
  for (const piece of order) {
    const left: Span[] = [];
    for (const span of open) {
      const from = Math.max(span.from, piece.from);
      const to = Math.min(span.to, piece.to);
      if (from >= to) {
        left.push(span);
        continue;
      }
      segments.push({ piece, from, to });
      if (span.from < from) left.push({ from: span.from, to: from });
      if (to < span.to) left.push({ from: to, to: span.to });
    }
    open = left;
    if (open.length === 0) break;
  }
  return segments;
}

function coverage(piece: Piece, window: Span): number {
  return Math.max(0, Math.min(piece.to, window.to) - Math.max(piece.from, window.from));
}
