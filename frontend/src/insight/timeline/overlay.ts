/** Draws what lies above the lanes: pointer, chosen slice, links, range, marks, and the window in the whole. */

import { quantityText } from "../../text/quantities";
import type { Link } from "../api/timeline";
import { AXIS, MINI, TOP } from "./bands";
import { type Flag, labelsOf } from "./mark-labels";
import type { Model, Pick } from "./model";
import { type Look, type Strip, chosenRect } from "./paint";
import { lengthOf, timeOf, xOf } from "./scale";
import { type HeadingRow, type LaneRow, type Row, headingsOf } from "./tree";

const LINKS_AT_MOST = 64;
/** Height of labels on the axis: over the text of its ticks. */
const TAG = MINI + AXIS / 2 - 1;

export interface Box {
  x0: number;
  y0: number;
  x1: number;
  y1: number;
}

/** Where rows stand on the canvas, and what is being pointed at or drawn with the pointer. */
export interface Placing {
  /** The box that is being drawn, from the corner of the canvas. */
  readonly box: Box | null;
  readonly pointer: { x: number; y: number } | null;
  topOf(row: Row, pinned: boolean): number;
  stripOf(row: LaneRow | HeadingRow, top: number): Strip;
}

interface Point {
  left: number;
  right: number;
  y: number;
  /** Whether the lane itself is seen, and not the folded heading above it or the edge of the canvas. */
  exact: boolean;
}

export function drawOverlay(context: CanvasRenderingContext2D, placing: Placing, model: Model, look: Look): void {
  const width = model.width.peek();
  const height = model.height.peek() + TOP;
  context.clearRect(0, 0, width, height);
  window(context, model, look, width);
  range(context, model, look, width, height);
  marks(context, model, look, width, height);
  context.save();
  context.beginPath();
  context.rect(0, TOP, width, height - TOP);
  context.clip();
  chosen(context, placing, model, look);
  hover(context, placing, model, look);
  context.restore();
  cursor(context, placing, model, look, width, height);
  if (placing.box) box(context, placing, look);
}

function window(context: CanvasRenderingContext2D, model: Model, look: Look, width: number): void {
  const whole = model.whole.peek();
  const span = model.span.peek();
  const left = Math.max(0, xOf(span.from, whole, width));
  const right = Math.min(width, xOf(span.to, whole, width));
  context.fillStyle = look.card;
  context.globalAlpha = 0.62;
  context.fillRect(0, 0, left, MINI);
  context.fillRect(right, 0, width - right, MINI);
  context.globalAlpha = 1;
  context.strokeStyle = look.accent;
  context.lineWidth = 2;
  const shown = Math.max(4, right - left);
  context.strokeRect(Math.min(left, width - 4) + 1, 1, shown - 2, MINI - 2);
  context.lineWidth = 1;
}

function range(context: CanvasRenderingContext2D, model: Model, look: Look, width: number, height: number): void {
  const shown = model.range.peek();
  if (!shown) return;
  const left = Math.max(-2, xOf(shown.from, model.span.peek(), width));
  const right = Math.min(width + 2, xOf(shown.to, model.span.peek(), width));
  if (right < 0 || left > width) return;
  context.fillStyle = look.accent;
  context.globalAlpha = 0.1;
  context.fillRect(left, MINI, right - left, height - MINI);
  context.globalAlpha = 1;
  context.fillRect(left, MINI, 1.5, height - MINI);
  context.fillRect(right - 1.5, MINI, 1.5, height - MINI);
  tag(context, look, quantityText(lengthOf(shown), "ns"), (Math.max(0, left) + Math.min(width, right)) / 2, TAG, look.accent);
}

function marks(context: CanvasRenderingContext2D, model: Model, look: Look, width: number, height: number): void {
  const span = model.span.peek();
  const flags: Flag[] = [];
  for (const mark of model.marks.peek()) {
    const left = xOf(mark.from, span, width);
    const right = mark.to === null ? left : xOf(mark.to, span, width);
    if (right < -4 || left > width + 4) continue;
    context.fillStyle = mark.colour;
    if (mark.to !== null) {
      context.globalAlpha = 0.12;
      context.fillRect(left, TOP, right - left, height - TOP);
      context.globalAlpha = 1;
      context.fillRect(left, TOP - 4, Math.max(1, right - left), 4);
    }
    for (const x of mark.to === null ? [left] : [left, right]) context.fillRect(Math.round(x), TOP - 4, 1.5, height - TOP + 4);
    // A flag, so that marks are seen without their colour.
    context.beginPath();
    context.moveTo(left, MINI + 1);
    context.lineTo(left + 10, MINI + 5);
    context.lineTo(left, MINI + 9);
    context.fill();
    context.fillRect(Math.round(left), MINI + 1, 1.5, 28);
    flags.push({ x: left, name: mark.name });
  }
  context.font = `600 11px ${look.font}`;
  context.textAlign = "left";
  context.textBaseline = "middle";
  for (const label of labelsOf(flags, width, (text) => context.measureText(text).width)) {
    context.fillStyle = look.card;
    context.globalAlpha = 0.9;
    context.fillRect(label.x - 2, MINI - 1, label.width + 4, 13);
    context.globalAlpha = 1;
    context.fillStyle = look.ink;
    context.fillText(label.text, label.x, MINI + 6);
  }
}

function chosen(context: CanvasRenderingContext2D, placing: Placing, model: Model, look: Look): void {
  const base = model.base.peek();
  if (base) outline(context, placing, model, base, look, look.accent);
  const pick = model.pick.peek();
  if (!pick) return;
  outline(context, placing, model, pick, look, look.ink);
  const from = pointOf(placing, model, pick);
  if (!from) return;
  for (const link of (model.detail.peek()?.links ?? []).slice(0, LINKS_AT_MOST)) {
    const to = pointOf(placing, model, { run: pick.run, ref: link.ref });
    if (to) arrow(context, look, from, to, link);
  }
}

function outline(context: CanvasRenderingContext2D, placing: Placing, model: Model, pick: Pick, look: Look, colour: string): void {
  const row = laneRow(model, model.laneOf(pick));
  if (!row || pick.ref.depth >= row.row.depths) return;
  const place = chosenRect(pick.ref.start, pick.ref.dur, pick.ref.depth, placing.stripOf(row.row, placing.topOf(row.row, row.pinned)));
  if (hiddenByPins(model, place.y, row.pinned)) return;
  context.lineWidth = 4;
  context.strokeStyle = look.card;
  context.strokeRect(place.x - 1, place.y - 1, place.width + 2, place.height + 2);
  context.lineWidth = 2;
  context.strokeStyle = colour;
  context.strokeRect(place.x - 1, place.y - 1, place.width + 2, place.height + 2);
  context.lineWidth = 1;
}

/** From where one slice leads to where the other begins: launches go forward, partners of a collective stand side by side. */
function arrow(context: CanvasRenderingContext2D, look: Look, from: Point, to: Point, link: Link): void {
  const partner = link.kind === "collective";
  const forward = to.left >= from.left;
  const x0 = partner ? from.left : forward ? Math.min(from.right, Math.max(from.left, to.left)) : from.left;
  const x1 = partner || forward ? to.left : Math.min(to.right, from.left);
  const bend = partner ? 0 : Math.min(60, Math.max(14, Math.abs(x1 - x0) / 2));
  for (const [colour, wide] of [[look.card, 4], [look.ink, 1.6]] as const) {
    context.strokeStyle = colour;
    context.lineWidth = wide;
    context.setLineDash(to.exact ? [] : [5, 4]);
    context.beginPath();
    context.moveTo(x0, from.y);
    context.bezierCurveTo(x0 + (forward ? bend : -bend), from.y, x1 - (forward ? bend : -bend), to.y, x1, to.y);
    context.stroke();
  }
  context.setLineDash([]);
  context.lineWidth = 1;
  context.fillStyle = look.ink;
  context.beginPath();
  if (partner) {
    const down = to.y > from.y ? -1 : 1;
    context.moveTo(x1, to.y);
    context.lineTo(x1 - 4, to.y + 7 * down);
    context.lineTo(x1 + 4, to.y + 7 * down);
  } else {
    const back = forward ? -7 : 7;
    context.moveTo(x1, to.y);
    context.lineTo(x1 + back, to.y - 4);
    context.lineTo(x1 + back, to.y + 4);
  }
  context.fill();
}

function hover(context: CanvasRenderingContext2D, placing: Placing, model: Model, look: Look): void {
  const at = model.hover.peek();
  if (!at) return;
  const found = laneRow(model, at.lane.id);
  if (!found) return;
  const strip = placing.stripOf(found.row, placing.topOf(found.row, found.pinned));
  const place = chosenRect(at.item.start, at.item.end - at.item.start, at.item.depth, strip);
  context.strokeStyle = look.ink;
  context.lineWidth = 1.5;
  context.strokeRect(place.x - 0.5, place.y - 0.5, place.width + 1, place.height + 1);
  context.lineWidth = 1;
}

function cursor(context: CanvasRenderingContext2D, placing: Placing, model: Model, look: Look, width: number, height: number): void {
  const at = placing.pointer;
  if (!at || at.y < MINI) return;
  context.fillStyle = look.soft;
  context.globalAlpha = 0.55;
  context.fillRect(Math.round(at.x), TOP, 1, height - TOP);
  context.globalAlpha = 1;
  tag(context, look, quantityText(timeOf(at.x, model.span.peek(), width), "ns"), at.x, TAG, look.soft);
}

function box(context: CanvasRenderingContext2D, placing: Placing, look: Look): void {
  const at = placing.box;
  if (!at) return;
  context.strokeStyle = look.accent;
  context.setLineDash([4, 3]);
  context.strokeRect(Math.min(at.x0, at.x1) + 0.5, Math.min(at.y0, at.y1) + 0.5, Math.abs(at.x1 - at.x0), Math.abs(at.y1 - at.y0));
  context.setLineDash([]);
}

/** A small label on the axis. */
function tag(context: CanvasRenderingContext2D, look: Look, text: string, x: number, y: number, colour: string): void {
  context.font = `600 11px ${look.font}`;
  context.textAlign = "center";
  context.textBaseline = "middle";
  const half = context.measureText(text).width / 2 + 5;
  const middle = Math.min(Math.max(x, half), context.canvas.clientWidth - half);
  context.fillStyle = colour;
  context.beginPath();
  context.roundRect(middle - half, y - 8, 2 * half, 16, 4);
  context.fill();
  context.fillStyle = look.card;
  context.fillText(text, middle, y + 0.5);
}

function laneRow(model: Model, id: string): { row: LaneRow; pinned: boolean } | null {
  const tree = model.tree.peek();
  const pinned = tree.pinned.find((row) => row.id === id);
  if (pinned) return { row: pinned, pinned: true };
  const row = tree.rows.find((one): one is LaneRow => one.type === "lane" && one.id === id);
  return row ? { row, pinned: false } : null;
}

/** Where a slice is on the canvas; where its lane is folded away, the heading above it; else the edge it lies behind. */
function pointOf(placing: Placing, model: Model, pick: Pick): Point | null {
  const width = model.width.peek();
  const span = model.spanOf(pick);
  const left = xOf(span.from, model.span.peek(), width);
  const right = xOf(span.to, model.span.peek(), width);
  const found = laneRow(model, model.laneOf(pick));
  if (found) {
    const strip = placing.stripOf(found.row, placing.topOf(found.row, found.pinned));
    const depth = Math.min(pick.ref.depth, found.row.depths - 1);
    return { left, right, y: edge(model, strip.top + (depth + 0.5) * strip.rowHeight, found.pinned), exact: true };
  }
  const lane = model.lanes.peek().get(model.laneOf(pick));
  const above = lane ? headingsOf(lane.run.run, lane.track) : [];
  const heading = model.tree.peek().rows.filter((row): row is HeadingRow => row.type === "heading" && above.includes(row.id)).at(-1);
  return heading ? { left, right, y: edge(model, placing.topOf(heading, false) + heading.height / 2, false), exact: false } : null;
}

function edge(model: Model, y: number, pinned: boolean): number {
  return pinned ? y : Math.min(Math.max(y, TOP + model.tree.peek().pinnedHeight), TOP + model.height.peek());
}

function hiddenByPins(model: Model, y: number, pinned: boolean): boolean {
  return !pinned && y < TOP + model.tree.peek().pinnedHeight - 4;
}
