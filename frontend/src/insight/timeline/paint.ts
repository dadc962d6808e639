/** Draws lanes of slices and counters of a window on a canvas. Nothing here asks for data. */

import { axisText, type Unit } from "../../text/quantities";
import { type Block, firstRow } from "../api/viewport";
import { type Palette, inkOn } from "./palette";
import type { Hatches } from "./patterns";
import { type Segment, segmentsOf, type Piece } from "./pieces";
import { type Span, xOf } from "./scale";
import { ROW } from "./tree";

export interface Look {
  palette: Palette;
  hatches: Hatches;
  ink: string;
  soft: string;
  line: string;
  card: string;
  strip: string;
  accent: string;
  font: string;
}

/** A part of the canvas: one lane, its rows from `top` on. */
export interface Strip {
  top: number;
  rowHeight: number;
  depths: number;
  /** The window in the time of the profile. */
  span: Span;
  width: number;
}

export interface Drawn {
  /** Rectangles. */
  rects: number;
  /** Slices that they stand for. */
  slices: number;
  inLane: number;
}

/** Where a name is known, its text; `lit` is the name whose slices are all marked; `tint` replaces the colour by name. */
export interface Reading {
  name: (id: number) => string | null;
  lit: number | null;
  tint: ((name: string) => string) | null;
  /** All slices of a kind have one colour: their names say no more than it. */
  plain?: boolean;
}

const LABEL_FROM = 36;
const HATCH_FROM = 5;
/** Pixels up to which several slices drawn as one are crowded. */
const CROWDED = 2;
const LEVELS = 4;
const CHARACTER = 6.3;
/** Chinese characters, which take as much room as two others. */
const WIDE = /[\u2e80-\uffef]/;

interface Text {
  x: number;
  y: number;
  room: number;
  text: string;
  ink: string;
}

/** Rectangles of one look, drawn as one path. */
class Batch {
  readonly places: number[] = [];
  constructor(
    readonly fill: string | CanvasPattern,
    readonly alpha: number,
  ) {}
}

export function paintSlices(
  context: CanvasRenderingContext2D, pieces: readonly Piece[], strip: Strip, look: Look, reading: Reading,
): Drawn {
  const perPixel = (strip.span.to - strip.span.from) / strip.width;
  const batches = new Map<number, Batch>();
  const hatched = new Map<string, Batch>();
  const texts: Text[] = [];
  const outlines: number[] = [];
  const drawn = { rects: 0, slices: 0, inLane: inLaneOf(pieces) };
  for (const segment of segmentsOf(pieces, strip.span, perPixel)) {
    for (const block of segment.piece.blocks) {
      if (block.depth < strip.depths) paintBlock(block, segment, strip, look, reading, { batches, hatched, texts, outlines, drawn });
    }
  }
  for (const batch of batches.values()) fill(context, batch);
  for (const batch of hatched.values()) fill(context, batch);
  context.globalAlpha = 1;
  context.font = `11px ${look.font}`;
  context.textBaseline = "middle";
  context.textAlign = "left";
  for (const text of texts) {
    context.fillStyle = text.ink;
    context.fillText(fitted(context, text.text, text.room), text.x, text.y);
  }
  if (outlines.length > 0) {
    context.strokeStyle = look.ink;
    context.lineWidth = 1;
    context.beginPath();
    for (let at = 0; at < outlines.length; at += 4) {
      context.rect((outlines[at] ?? 0) + 0.5, (outlines[at + 1] ?? 0) + 0.5, Math.max(0, (outlines[at + 2] ?? 0) - 1), (outlines[at + 3] ?? 0) - 1);
    }
    context.stroke();
  }
  return drawn;
}

interface Target {
  batches: Map<number, Batch>;
  hatched: Map<string, Batch>;
  texts: Text[];
  outlines: number[];
  drawn: Drawn;
}

function paintBlock(block: Block, segment: Segment, strip: Strip, look: Look, reading: Reading, target: Target): void {
  const { start, end, busy, count, name, kind } = block;
  const scale = strip.width / (strip.span.to - strip.span.from);
  const y = strip.top + block.depth * strip.rowHeight;
  const height = strip.rowHeight - 1;
  let before: Batch | null = null;
  let beforeRight = 0;
  let taken = -Infinity; // right edge of what was drawn last in this row
  for (let row = firstRow(block, segment.from); row < start.length; row++) {
    const begin = start[row] ?? 0;
    const finish = end[row] ?? 0;
    if (begin > segment.to) break;
    // What begins before a later part was counted in the part before.
    if (begin >= segment.from || segment.from <= strip.span.from) target.drawn.slices += count[row] ?? 0;
    const left = Math.max(-2, Math.round((begin - strip.span.from) * scale));
    const right = Math.min(strip.width + 2, Math.round((finish - strip.span.from) * scale));
    const long = Math.max(1, right - left - (right - left > 4 ? 1 : 0)); // neighbours of one colour stay apart
    if (left + long <= taken) continue; // under a pixel that is drawn already
    taken = left + long;
    target.drawn.rects++;
    const stands = count[row] ?? 1;
    const share = stands > 1 && finish > begin ? Math.min(1, (busy[row] ?? 0) / (finish - begin)) : 1;
    const level = stands > 1 ? Math.min(LEVELS - 1, Math.floor(share * LEVELS)) : LEVELS;
    const id = name[row] ?? 0;
    const kindOf = kind[row] ?? 0;
    // Of many that share a pixel the name of one says nothing: they have the colour of their kind, and join.
    const crowded = stands > 1 && long <= CROWDED;
    const tint = reading.tint;
    let fillStyle: string;
    let ink: string;
    let key: number;
    if (tint !== null) {
      fillStyle = tint(reading.name(id) ?? "");
      ink = inkOn(fillStyle);
      key = (Number.parseInt(fillStyle.slice(1), 16) + 1) * 8 + level;
    } else {
      const number = look.palette.look(kindOf, reading.plain || crowded ? null : id);
      const paint = look.palette.paint(number);
      fillStyle = paint.fill;
      ink = paint.ink;
      key = number * 8 + level;
    }
    let batch = target.batches.get(key);
    if (!batch) {
      batch = new Batch(fillStyle, level === LEVELS ? 1 : 0.45 + (0.5 * level) / (LEVELS - 1));
      target.batches.set(key, batch);
    }
    if (crowded && batch === before && left <= beforeRight) {
      const { places } = batch;
      places[places.length - 2] = left + long - (places[places.length - 4] ?? left);
    } else batch.places.push(left, y, long, height);
    before = crowded ? batch : null;
    beforeRight = left + long;
    if (reading.lit === id && long > 2) target.outlines.push(left, y, long, height);
    if (long < HATCH_FROM) continue;
    const pattern = stands > 1 ? "diagonal" : look.palette.pattern(kindOf);
    if (pattern !== "none") hatch(target, look, pattern, ink, left, y, long, height);
    if (long < LABEL_FROM) continue;
    const shownLeft = Math.max(left, 0);
    const room = Math.min(left + long, strip.width) - shownLeft - 8;
    const known = reading.name(id);
    if (known === null || room < LABEL_FROM - 12) continue;
    target.texts.push({ x: shownLeft + 4, y: y + height / 2 + 0.5, room, text: stands > 1 ? `${stands} \u00d7 ${known}` : known, ink });
  }
}

function hatch(target: Target, look: Look, pattern: "diagonal" | "back" | "dots" | "cross", ink: string, ...place: number[]): void {
  const key = `${pattern}${ink}`;
  let batch = target.hatched.get(key);
  if (!batch) {
    const made = look.hatches.of(pattern, ink === "#ffffff" ? "rgba(255,255,255,.32)" : "rgba(0,0,0,.26)");
    if (!made) return;
    batch = new Batch(made, 1);
    target.hatched.set(key, batch);
  }
  batch.places.push(...place);
}

function fill(context: CanvasRenderingContext2D, batch: Batch): void {
  const { places } = batch;
  context.globalAlpha = batch.alpha;
  context.fillStyle = batch.fill;
  context.beginPath();
  for (let at = 0; at < places.length; at += 4) {
    context.rect(places[at] ?? 0, places[at + 1] ?? 0, places[at + 2] ?? 0, places[at + 3] ?? 0);
  }
  context.fill();
}

/** A curve of steps: each value holds until the next; where several share a pixel the highest is drawn. */
export function paintCounter(context: CanvasRenderingContext2D, pieces: readonly Piece[], strip: Strip, look: Look, unit: string | null): Drawn {
  const perPixel = (strip.span.to - strip.span.from) / strip.width;
  const segments = segmentsOf(pieces, strip.span, perPixel).sort((one, other) => one.from - other.from);
  const drawn = { rects: 0, slices: 0, inLane: inLaneOf(pieces) };
  let highest = 0;
  eachRow(segments, (block, row) => {
    highest = Math.max(highest, block.busy[row] ?? 0);
  });
  const height = strip.rowHeight - 6;
  const bottom = strip.top + strip.rowHeight - 3;
  const scale = strip.width / (strip.span.to - strip.span.from);
  if (highest > 0) {
    context.beginPath();
    let last = bottom;
    let open = false;
    eachRow(segments, (block, row) => {
      const x = Math.max(-1, ((block.start[row] ?? 0) - strip.span.from) * scale);
      const right = Math.min(strip.width + 1, ((block.end[row] ?? 0) - strip.span.from) * scale);
      const y = bottom - ((block.busy[row] ?? 0) / highest) * height;
      if (!open) context.moveTo(x, bottom);
      else context.lineTo(x, last);
      open = true;
      context.lineTo(x, y);
      context.lineTo(Math.max(x + 0.5, right), y);
      last = y;
      drawn.rects++;
      drawn.slices += block.count[row] ?? 0;
    });
    context.globalAlpha = 1;
    context.strokeStyle = look.accent;
    context.lineWidth = 1.25;
    context.stroke();
    context.lineTo(strip.width + 1, bottom);
    context.globalAlpha = 0.16;
    context.fillStyle = look.accent;
    context.fill();
    context.globalAlpha = 1;
    context.font = `10.5px ${look.font}`;
    context.textAlign = "left";
    context.textBaseline = "top";
    label(context, amountText(highest, unit), 4, strip.top + 1, look);
  }
  return drawn;
}

export function amountText(value: number, unit: string | null): string {
  const known: Record<string, Unit> = { ns: "ns", bytes: "bytes", B: "bytes", "bytes/s": "bytes_per_s", bytes_per_s: "bytes_per_s", ratio: "ratio" };
  const mapped = unit === null ? undefined : known[unit];
  if (mapped) return axisText(value, mapped);
  return `${value.toLocaleString("en-US", { maximumFractionDigits: 2 })}${unit ? ` ${unit}` : ""}`;
}

/** Text on a ground of its own, so that it is read over lines. */
export function label(context: CanvasRenderingContext2D, text: string, x: number, y: number, look: Look): void {
  const width = context.measureText(text).width;
  context.fillStyle = look.card;
  context.globalAlpha = 0.82;
  context.fillRect(x - 2, y - 1, width + 4, 13);
  context.globalAlpha = 1;
  context.fillStyle = look.soft;
  context.fillText(text, x, y);
}

export function chosenRect(start: number, dur: number, depth: number, strip: Strip): { x: number; y: number; width: number; height: number } {
  const left = Math.max(-4, xOf(start, strip.span, strip.width));
  const right = Math.min(strip.width + 4, xOf(start + dur, strip.span, strip.width));
  return { x: left, y: strip.top + depth * strip.rowHeight, width: Math.max(2, right - left), height: (strip.rowHeight || ROW) - 1 };
}

function eachRow(segments: readonly Segment[], act: (block: Block, row: number) => void): void {
  for (const segment of segments) {
    const block = segment.piece.blocks[0];
    if (!block) continue;
    for (let row = firstRow(block, segment.from); row < block.start.length; row++) {
      if ((block.start[row] ?? 0) > segment.to) break;
      act(block, row);
    }
  }
}

function inLaneOf(pieces: readonly Piece[]): number {
  return (pieces[0]?.blocks ?? []).reduce((all, block) => all + block.inLane, 0);
}

/** The text, cut so that it fits; it is measured only where an estimate leaves doubt. */
export function fitted(context: CanvasRenderingContext2D, text: string, room: number): string {
  if (text.length * CHARACTER * (WIDE.test(text) ? 2.2 : 1.35) < room) return text;
  const shown = text.length > 200 ? text.slice(0, 200) : text;
  const width = context.measureText(shown).width;
  if (width <= room && shown.length === text.length) return text;
  const kept = Math.floor((room / width) * shown.length) - 1;
  return kept > 1 ? `${shown.slice(0, kept)}\u2026` : "";
}
