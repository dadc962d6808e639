/** The canvases: draws a frame whenever something changed, and tells the loader what is on the screen. */

import { computed, effect } from "@preact/signals";
import { themeOf } from "../../charts/theme";
import { colours, theme } from "../shell/settings";
import { axisOf } from "./axis";
import { AXIS, MINI, TOP } from "./bands";
import type { Loader, Shown } from "./loader";
import type { LaneOf, Model } from "./model";
import { type Box, type Placing, drawOverlay } from "./overlay";
import { type Look, type Strip, paintCounter, paintSlices } from "./paint";
import { Palette, changeColour } from "./palette";
import { Hatches } from "./patterns";
import { reached } from "./pieces";
import { type Span, lengthOf, xOf } from "./scale";
import { type HeadingRow, type LaneRow, type Row, laneId, rowsBetween } from "./tree";

/** Ranks that the strip of the whole capture shows. */
const MINI_RANKS = 4;

export interface Counts {
  slices: number;
  rects: number;
  inLane: number;
}

export interface Frames {
  frames: number;
  lastDrawMs: number;
  rects: number;
}

export class Stage implements Placing {
  readonly frames: Frames = { frames: 0, lastDrawMs: 0, rects: 0 };
  /** What was drawn of each lane on the screen. */
  readonly counts = new Map<string, Counts>();
  /** The box that is being drawn, from the corner of the canvas. */
  box: Box | null = null;
  pointer: { x: number; y: number } | null = null;
  readonly #main: HTMLCanvasElement;
  readonly #over: HTMLCanvasElement;
  readonly #model: Model;
  readonly #loader: Loader;
  readonly #drawn: () => void;
  readonly #palettes = new Map<string, Palette>();
  #look: Omit<Look, "palette"> | null = null;
  #dark = false;
  #frame = 0;
  #mainIsStale = true;
  readonly #miniCanvas = document.createElement("canvas");
  #miniState: unknown[] = [];
  readonly #stop: (() => void)[] = [];

  constructor(main: HTMLCanvasElement, over: HTMLCanvasElement, model: Model, loader: Loader, drawn: () => void) {
    this.#main = main;
    this.#over = over;
    this.#model = model;
    this.#loader = loader;
    this.#drawn = drawn;
    this.#stop.push(
      effect(() => {
        const { span, tree, scrollTop, width, height, places, arrived, changes, compare, pick } = model;
        void [span.value, tree.value, scrollTop.value, width.value, height.value, places.value, arrived.value, changes.value, compare.value, pick.value];
        this.invalidate();
      }),
      effect(() => {
        void [colours.value, theme.value, model.runs.value];
        this.#look = null;
        this.#palettes.clear();
        this.invalidate();
      }),
      effect(() => {
        const { hover, range, marks, detail, base, lane } = model;
        void [hover.value, range.value, marks.value, detail.value, base.value, lane.value];
        this.overlay();
      }),
    );
  }

  /** Whether what is on the screen is older than what is known: a frame is still to come. */
  get stale(): boolean {
    return this.#frame !== 0;
  }

  destroy(): void {
    for (const stop of this.#stop) stop();
    cancelAnimationFrame(this.#frame);
  }

  /** Draws lanes and overlay with the next frame. */
  invalidate(): void {
    this.#mainIsStale = true;
    this.overlay();
  }

  /** Draws only what lies above the lanes with the next frame. */
  overlay(): void {
    if (this.#frame === 0) this.#frame = requestAnimationFrame(() => this.#draw());
  }

  resize(width: number, height: number): void {
    const ratio = devicePixelRatio || 1;
    for (const canvas of [this.#main, this.#over]) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
      canvas.style.width = `${width}px`;
      canvas.style.height = `${height}px`;
    }
    this.#model.width.value = width;
    this.#model.height.value = Math.max(0, height - TOP);
    this.#look = null;
    this.invalidate();
  }

  /** Top of a row on the canvas; null where it is scrolled out of sight. */
  topOf(row: Row, pinned: boolean): number {
    return TOP + row.top + (pinned ? 0 : this.#model.tree.peek().pinnedHeight - this.#model.scrollTop.peek());
  }

  /** The row at a height of the canvas. */
  rowAt(y: number): { row: Row; top: number } | null {
    const tree = this.#model.tree.peek();
    const inPinned = y < TOP + tree.pinnedHeight;
    const rows: readonly Row[] = inPinned ? tree.pinned : tree.rows;
    const at = y - TOP - (inPinned ? 0 : tree.pinnedHeight - this.#model.scrollTop.peek());
    const row = y < TOP ? undefined : rowsBetween(rows, at, at + 1)[0];
    return row ? { row, top: this.topOf(row, inPinned) } : null;
  }

  stripOf(row: LaneRow | HeadingRow, top: number): Strip {
    const model = this.#model;
    const place = row.profile ? model.placeOf(row.run, row.profile.profile_id) : 0;
    const span = model.span.peek();
    const isLane = row.type === "lane";
    return {
      top: isLane ? top + 2 : top + 7,
      rowHeight: isLane ? row.rowHeight : 11,
      depths: isLane ? row.depths : 1,
      span: { from: span.from - place, to: span.to - place },
      width: model.width.peek(),
    };
  }

  look(run: string): Look | null {
    const base = this.#base();
    const data = this.#model.dataOf(run) ?? this.#model.runs.peek()[0];
    if (!base || !data) return null;
    let palette = this.#palettes.get(data.run);
    if (!palette) {
      palette = new Palette(data.tracks.kinds, this.#dark);
      this.#palettes.set(data.run, palette);
    }
    return { ...base, palette };
  }

  #draw(): void {
    this.#frame = 0;
    const began = performance.now();
    const model = this.#model;
    const context = this.#main.getContext("2d", { alpha: false });
    const over = this.#over.getContext("2d");
    const look = this.look("");
    if (!context || !over || !look || model.width.peek() < 10) return;
    const ratio = devicePixelRatio || 1;
    if (this.#mainIsStale) {
      this.#mainIsStale = false;
      context.setTransform(ratio, 0, 0, ratio, 0, 0);
      const shown = this.#drawMain(context, look);
      this.frames.frames++;
      this.frames.lastDrawMs = performance.now() - began;
      this.#loader.want({ span: model.span.peek(), width: model.width.peek(), shown });
      this.#drawn();
    }
    over.setTransform(ratio, 0, 0, ratio, 0, 0);
    drawOverlay(over, this, model, look);
  }

  #drawMain(context: CanvasRenderingContext2D, look: Look): Shown[] {
    const model = this.#model;
    const { width, height, tree, scrollTop, span } = {
      width: model.width.peek(), height: model.height.peek(), tree: model.tree.peek(), scrollTop: model.scrollTop.peek(), span: model.span.peek(),
    };
    const shown = new Map<string, Shown>();
    context.globalAlpha = 1;
    context.fillStyle = look.card;
    context.fillRect(0, 0, width, height + TOP);
    this.#grid(context, look, span, width, height + TOP);
    this.counts.clear();
    this.frames.rects = 0;
    const part = (rows: readonly Row[], pinned: boolean, from: number, to: number): void => {
      context.save();
      context.beginPath();
      context.rect(0, from, width, to - from);
      context.clip();
      for (const row of rows) this.#row(context, row, this.topOf(row, pinned), look, shown, pinned);
      context.restore();
    };
    const below = TOP + tree.pinnedHeight;
    part(rowsBetween(tree.rows, scrollTop, scrollTop + height - tree.pinnedHeight), false, below, TOP + height);
    if (tree.pinned.length > 0) {
      part(tree.pinned, true, TOP, below);
      context.fillStyle = look.soft;
      context.fillRect(0, below - 1, width, 1);
    }
    this.#mini(context, look, shown);
    this.#axis(context, look, span, width);
    return [...shown.values()];
  }

  #row(context: CanvasRenderingContext2D, row: Row, top: number, look: Look, shown: Map<string, Shown>, pinned: boolean): void {
    const width = this.#model.width.peek();
    if (row.type === "heading") {
      context.fillStyle = look.strip;
      context.globalAlpha = row.side === null ? 1 : 0.55;
      context.fillRect(0, top, width, row.height);
      context.globalAlpha = 1;
      if (row.open || !row.summary || !row.profile) return;
      const id = laneId(row.run, row.summary);
      this.#want(shown, row.run, id);
      paintSlices(context, this.#loader.pieces(id), this.stripOf(row, top), this.look(row.run) ?? look, { name: () => null, lit: null, tint: null, plain: row.summary.side === "overlap" });
      return;
    }
    if (pinned) {
      context.fillStyle = look.card;
      context.fillRect(0, top, width, row.height);
    }
    context.fillStyle = look.line;
    context.globalAlpha = 0.6;
    context.fillRect(0, top + row.height - 1, width, 1);
    context.globalAlpha = 1;
    this.#want(shown, row.run, row.id);
    const pieces = this.#loader.pieces(row.id);
    const strip = this.stripOf(row, top);
    const own = this.look(row.run) ?? look;
    const data = this.#model.dataOf(row.run);
    const drawn =
      row.track.side === "counter"
        ? paintCounter(context, pieces, strip, own, row.track.unit)
        : paintSlices(context, pieces, strip, own, { name: (id) => (data ? this.#model.nameOf(data, row.track, id) : null), lit: this.#lit(row.run), tint: this.#tint(row), plain: row.track.side === "overlap" });
    this.frames.rects += drawn.rects;
    // Before its pieces have come, nothing is known of what lies in the window.
    if (reached(pieces, withinCapture(strip.span, row.profile.dur_ns))) this.counts.set(row.id, drawn);
  }

  /** The name of the chosen slice: all that have it are marked. */
  #lit(run: string): number | null {
    const name = this.#model.pick.peek()?.ref.name;
    return name ? (this.#model.dataOf(run)?.names.idOf(name) ?? null) : null;
  }

  /** In a comparison kernels have the colour of their change. */
  #tint(row: LaneRow): ((name: string) => string) | null {
    const changes = this.#model.compare.peek() ? this.#model.changes.peek() : null;
    if (changes === null || row.track.table !== "kernel") return null;
    return (name) => changeColour(changes.get(name)?.change_ratio ?? null, this.#dark);
  }

  #want(shown: Map<string, Shown>, run: string, id: string): void {
    const lane: LaneOf | undefined = this.#model.lanes.peek().get(id);
    if (!lane || shown.has(id)) return;
    const profile = lane.profile.profile_id;
    shown.set(id, { id, run, profile, track: lane.track.track, place: this.#model.placeOf(run, profile), dur: lane.profile.dur_ns });
  }

  #grid(context: CanvasRenderingContext2D, look: Look, span: Span, width: number, height: number): void {
    context.fillStyle = look.line;
    context.globalAlpha = 0.7;
    for (const tick of axisOf(span, width).ticks) context.fillRect(Math.round(xOf(tick.time, span, width)), TOP, 1, height);
    context.globalAlpha = 1;
  }

  #axis(context: CanvasRenderingContext2D, look: Look, span: Span, width: number): void {
    context.fillStyle = look.card;
    context.fillRect(0, MINI, width, AXIS);
    context.fillStyle = look.line;
    context.fillRect(0, TOP - 1, width, 1);
    context.font = `11.5px ${look.font}`;
    context.textAlign = "center";
    context.textBaseline = "middle";
    for (const tick of axisOf(span, width).ticks) {
      const x = Math.round(xOf(tick.time, span, width));
      context.fillStyle = look.soft;
      context.fillRect(x, TOP - 6, 1, 5);
      context.fillText(tick.text, Math.min(Math.max(x, 26), width - 30), MINI + AXIS / 2 - 1);
    }
  }

  /** The whole capture, one thin lane for each of the first ranks; it is drawn anew only when it changed. */
  #mini(context: CanvasRenderingContext2D, look: Look, shown: Map<string, Shown>): void {
    const model = this.#model;
    const width = model.width.peek();
    const ratio = devicePixelRatio || 1;
    const lanes = this.#miniLanes.value;
    for (const { id, lane } of lanes) this.#want(shown, lane.run.run, id);
    const state = [width, ratio, this.#dark, model.arrived.peek(), model.whole.peek(), model.places.peek(), lanes];
    if (this.#miniState.length !== state.length || state.some((one, at) => one !== this.#miniState[at])) {
      this.#miniState = state;
      this.#miniCanvas.width = Math.round(width * ratio);
      this.#miniCanvas.height = Math.round(MINI * ratio);
      const own = this.#miniCanvas.getContext("2d");
      if (!own) return;
      own.setTransform(ratio, 0, 0, ratio, 0, 0);
      own.fillStyle = look.strip;
      own.fillRect(0, 0, width, MINI);
      const each = Math.floor((MINI - 6) / Math.max(1, lanes.length));
      for (const [at, one] of lanes.entries()) this.#miniLane(own, one, { top: 3 + at * each, rowHeight: each, depths: 1, width }, look);
    }
    context.drawImage(this.#miniCanvas, 0, 0, width, MINI);
  }

  #miniLane(context: CanvasRenderingContext2D, { id, lane }: { id: string; lane: LaneOf }, strip: Omit<Strip, "span">, look: Look): void {
    const place = this.#model.placeOf(lane.run.run, lane.profile.profile_id);
    const whole = this.#model.whole.peek();
    const span = { from: whole.from - place, to: whole.to - place };
    const plain = lane.track.side === "overlap";
    paintSlices(context, this.#loader.pieces(id), { ...strip, span }, this.look(lane.run.run) ?? look, { name: () => null, lit: null, tint: null, plain });
  }

  /** Of each of the first ranks the lane that says most about it. */
  readonly #miniLanes = computed(() => {
    const best = new Map<string, { id: string; lane: LaneOf }>();
    for (const [id, lane] of this.#model.lanes.value) {
      const key = `${lane.run.run}.${lane.profile.profile_id}`;
      const known = best.get(key);
      if (lane.track.side === "counter" || (!known && best.size >= MINI_RANKS)) continue;
      if (!known || (known.lane.track.side !== "overlap" && (lane.track.side === "overlap" || lane.track.slice_count > known.lane.track.slice_count))) {
        best.set(key, { id, lane });
      }
    }
    return [...best.values()];
  });

  #base(): Omit<Look, "palette"> | null {
    if (this.#look) return this.#look;
    const context = this.#main.getContext("2d", { alpha: false });
    if (!context) return null;
    const found = themeOf(this.#main);
    const style = getComputedStyle(this.#main);
    const named = (name: string): string => style.getPropertyValue(name).trim();
    this.#dark = isDark(found.card);
    this.#look = {
      hatches: new Hatches(context), ink: found.ink, soft: found.soft, line: found.line, card: found.card,
      strip: named("--strip") || "#f4f5f7", accent: named("--accent") || "#0072b2", font: found.font,
    };
    return this.#look;
  }
}

/** The part of a window in which a profile recorded. */
function withinCapture(window: Span, dur: number): Span {
  return { from: Math.max(window.from, 0), to: Math.min(window.to, dur) };
}

/** Length of a window on the screen. */
export function perPixelOf(model: Model): number {
  return lengthOf(model.span.peek()) / Math.max(1, model.width.peek());
}

function isDark(colour: string): boolean {
  const parts = /^#([\da-f]{2})([\da-f]{2})([\da-f]{2})$/i.exec(colour);
  return parts !== null && Number.parseInt(parts[1] ?? "ff", 16) + Number.parseInt(parts[2] ?? "ff", 16) + Number.parseInt(parts[3] ?? "ff", 16) < 380;
}
