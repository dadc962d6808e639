/** Mouse and touch on the canvases: choose, select a box, move, zoom. */

import type { Chooser } from "./choosing";
import { MINI, TOP } from "./bands";
import { type Item, itemAt } from "./hit";
import type { Loader } from "./loader";
import type { Model, Range } from "./model";
import type { Mover } from "./moving";
import type { Ranger } from "./ranging";
import { type Span, lengthOf, moved, timeOf } from "./scale";
import { type Stage, perPixelOf } from "./stage";
import { type LaneRow, laneId, rowsBetween } from "./tree";

const CLICK = 4;
const WHEEL = 0.0016;

type Drag =
  | { what: "move"; x: number; y: number; span: Span; top: number }
  | { what: "box"; x: number; y: number }
  | { what: "time"; x: number }
  | { what: "mini" };

export interface Parts {
  model: Model;
  stage: Stage;
  loader: Loader;
  mover: Mover;
  chooser: Chooser;
  ranger: Ranger;
}

/** Listens on the upper canvas; returns what ends it. */
export function listen(canvas: HTMLCanvasElement, parts: Parts): () => void {
  const { model, stage, mover, chooser, ranger } = parts;
  let drag: Drag | null = null;
  let went = false;
  const stop = new AbortController();
  const on = <K extends keyof HTMLElementEventMap>(name: K, act: (event: HTMLElementEventMap[K]) => void, passive = true): void =>
    canvas.addEventListener(name, act, { signal: stop.signal, passive });

  on("pointerdown", (event) => {
    if (event.button > 1) return;
    const { offsetX: x, offsetY: y } = event;
    canvas.setPointerCapture(event.pointerId);
    went = false;
    model.hover.value = null;
    if (y < MINI) {
      drag = { what: "mini" };
      toMini(parts, x);
    } else if (y < TOP) drag = { what: "time", x };
    else if (event.shiftKey || event.button === 1 || model.dragMoves.peek()) {
      drag = { what: "move", x, y, span: model.span.peek(), top: model.scrollTop.peek() };
    } else drag = { what: "box", x, y };
    if (event.button === 1) event.preventDefault();
  }, false);

  on("pointermove", (event) => {
    const { offsetX: x, offsetY: y } = event;
    stage.pointer = { x, y };
    stage.overlay();
    if (!drag) {
      const at = sliceAt(parts, x, y);
      model.hover.value = at && { x, y, ...at };
      return;
    }
    if (drag.what === "mini") {
      toMini(parts, x);
      return;
    }
    went ||= Math.abs(x - drag.x) > CLICK || (drag.what !== "time" && Math.abs(y - drag.y) > CLICK);
    if (!went) return;
    if (drag.what === "move") {
      const by = ((drag.x - x) / model.width.peek()) * lengthOf(drag.span);
      mover.follow(moved(drag.span, by, model.whole.peek()));
      const room = model.height.peek() - model.tree.peek().pinnedHeight;
      model.scrollTop.value = Math.max(0, Math.min(drag.top + drag.y - y, model.tree.peek().height - room));
    } else {
      ranger.draw(rangeOf(parts, drag, x, y));
      stage.box = drag.what === "box" ? { x0: drag.x, y0: drag.y, x1: x, y1: y } : null;
    }
  });

  on("pointerup", (event) => {
    const done = drag;
    drag = null;
    stage.box = null;
    stage.overlay();
    if (!done || done.what === "mini") return;
    if (went && done.what !== "move") void ranger.select(rangeOf(parts, done, event.offsetX, event.offsetY));
    if (went || done.what === "time") return;
    const at = sliceAt(parts, event.offsetX, event.offsetY);
    if (at) chooser.item(at.lane, at.item);
    else {
      const row = stage.rowAt(event.offsetY)?.row;
      chooser.clear();
      ranger.clear();
      if (row?.type === "lane") model.lane.value = row.id;
    }
  });

  on("pointercancel", () => {
    drag = null;
    stage.box = null;
    stage.overlay();
  });

  on("pointerleave", () => {
    stage.pointer = null;
    model.hover.value = null;
    stage.overlay();
  });

  on("dblclick", (event) => {
    const at = sliceAt(parts, event.offsetX, event.offsetY);
    if (!at) return;
    const place = model.placeOf(at.lane.run, at.lane.profile.profile_id);
    mover.fit(place + at.item.start, place + at.item.end);
  });

  on("wheel", (event) => {
    const lines = event.deltaMode === 1 ? 16 : 1;
    if (event.ctrlKey || event.metaKey) {
      event.preventDefault();
      const about = timeOf(event.offsetX, model.span.peek(), model.width.peek());
      // A pinch sends small steps, a wheel large ones.
      const by = Math.max(-240, Math.min(240, event.deltaY * lines));
      mover.zoom(about, Math.exp(by * (Math.abs(by) < 20 ? 5 : 1) * WHEEL));
    } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      event.preventDefault();
      mover.pan((event.shiftKey && event.deltaX === 0 ? event.deltaY : event.deltaX) * lines * perPixelOf(model));
    }
  }, false);

  return () => stop.abort();
}

/** The slice at a point of the canvas. */
export function sliceAt(parts: Pick<Parts, "model" | "stage" | "loader">, x: number, y: number): { lane: LaneRow; item: Item } | null {
  const { model, stage, loader } = parts;
  const found = stage.rowAt(y);
  if (found?.row.type !== "lane") return null;
  const strip = stage.stripOf(found.row, found.top);
  const depth = found.row.track.side === "counter" ? 0 : Math.floor((y - strip.top) / strip.rowHeight);
  if (depth < 0 || depth >= found.row.depths) return null;
  const item = itemAt(loader.pieces(found.row.id), depth, timeOf(x, strip.span, strip.width), strip.span, perPixelOf(model));
  return item && { lane: found.row, item };
}

/** The window moves so that its middle is at a place of the strip that shows the whole. */
function toMini(parts: Parts, x: number): void {
  const { model, mover } = parts;
  const whole = model.whole.peek();
  const span = model.span.peek();
  mover.follow(moved(span, timeOf(x, whole, model.width.peek()) - (span.from + span.to) / 2, whole));
}

/** What a box covers: its time, and the lanes that it touches; folded headings stand for all below them. */
function rangeOf(parts: Parts, drag: { x: number; y?: number }, x: number, y: number): Range {
  const { model } = parts;
  const span = model.span.peek();
  const width = model.width.peek();
  const from = timeOf(Math.max(0, Math.min(drag.x, x)), span, width);
  const to = timeOf(Math.min(width, Math.max(drag.x, x)), span, width);
  if (drag.y === undefined) return { from, to, lanes: null };
  const tree = model.tree.peek();
  const [top, bottom] = [Math.max(TOP, Math.min(drag.y, y)) - TOP, Math.max(drag.y, y) - TOP];
  const lanes = rowsBetween(tree.pinned, top, Math.min(bottom, tree.pinnedHeight)).map((row) => row.id);
  const scrolled = model.scrollTop.peek() - tree.pinnedHeight;
  for (const row of bottom > tree.pinnedHeight ? rowsBetween(tree.rows, Math.max(top, tree.pinnedHeight) + scrolled, bottom + scrolled) : []) {
    if (row.type === "lane") lanes.push(row.id);
    else if (!row.open) lanes.push(...row.tracks.map((track) => laneId(row.run, track)));
  }
  return { from, to, lanes };
}
