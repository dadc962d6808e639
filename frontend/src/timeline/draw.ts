/** Draws the lanes of a window on a canvas. */

import type { Theme } from "../charts/theme";
import type { TimelineData } from "../report/data";
import { quantityText, ticks } from "../text/quantities";
import { AXIS, LABEL, ROW, type Placed, type Window, xOf } from "./layout";
import { FIELDS } from "./model";

const LABEL_FROM = 40;
const AGGREGATE_ALPHA = 0.55;

export interface Chosen {
  lane: number;
  slice: number;
}

export function draw(
  context: CanvasRenderingContext2D,
  timeline: TimelineData,
  placed: Placed[],
  window: Window,
  size: { width: number; height: number },
  theme: Theme,
  chosen: Chosen | null,
): void {
  context.clearRect(0, 0, size.width, size.height);
  context.textBaseline = "middle";
  drawAxis(context, window, size, theme);
  const colours = timeline.kinds.map((kind) => theme.colour(kind));
  const inks = timeline.kinds.map((kind) => theme.colour(`on-${kind}`));
  placed.forEach((place, number) => {
    drawLabels(context, place, size.width, theme);
    context.save();
    context.beginPath();
    context.rect(LABEL, place.top, size.width - LABEL, place.height);
    context.clip();
    drawLane(context, timeline, place, window, size.width, { colours, inks, font: theme.font });
    if (chosen?.lane === number) drawChosen(context, place, chosen.slice, window, size.width, theme);
    context.restore();
  });
}

function drawAxis(context: CanvasRenderingContext2D, window: Window, size: { width: number; height: number }, theme: Theme): void {
  const length = window.to - window.from;
  const step = ticks(length, "ns", Math.max(2, (size.width - LABEL) / 110))[1] ?? length;
  context.font = `11.5px ${theme.font}`;
  context.textAlign = "center";
  for (let time = Math.ceil(window.from / step) * step; time <= window.to; time += step) {
    const x = Math.round(xOf(time, window, size.width)) + 0.5;
    context.strokeStyle = theme.line;
    context.beginPath();
    context.moveTo(x, AXIS - 4);
    context.lineTo(x, size.height);
    context.stroke();
    context.fillStyle = theme.soft;
    if (x < size.width - 24) context.fillText(time === 0 ? "0" : quantityText(time, "ns"), Math.max(x, LABEL + 12), 10);
  }
}

function drawLabels(context: CanvasRenderingContext2D, place: Placed, width: number, theme: Theme): void {
  context.textAlign = "left";
  if (place.heading !== null) {
    context.font = `600 12.5px ${theme.font}`;
    context.fillStyle = theme.ink;
    context.fillText(fitted(context, place.lane.group, width - 8), 2, place.heading + 13);
  }
  context.font = `12px ${theme.font}`;
  context.fillStyle = theme.soft;
  context.fillText(fitted(context, place.lane.label, LABEL - 18), 8, place.top + ROW / 2);
}

function drawLane(
  context: CanvasRenderingContext2D,
  timeline: TimelineData,
  place: Placed,
  window: Window,
  width: number,
  look: { colours: string[]; inks: string[]; font: string },
): void {
  const slices = place.lane.slices;
  context.font = `11px ${look.font}`;
  for (let base = 0; base < slices.length; base += FIELDS) {
    const start = slices[base] ?? 0;
    const dur = slices[base + 1] ?? 0;
    if (start + dur < window.from || start > window.to) continue;
    const left = Math.max(LABEL, Math.round(xOf(start, window, width)));
    const right = Math.min(width, Math.round(xOf(start + dur, window, width)));
    const long = Math.max(1, right - left - (right - left > 3 ? 1 : 0)); // neighbours of one colour stay apart
    const kind = slices[base + 4] ?? 0;
    const count = slices[base + 5] ?? 1;
    const y = place.top + (slices[base + 2] ?? 0) * ROW;
    context.globalAlpha = count > 1 ? AGGREGATE_ALPHA : 1;
    context.fillStyle = look.colours[kind] ?? "#999";
    context.fillRect(left, y, long, ROW - 2);
    context.globalAlpha = 1;
    if (long < LABEL_FROM) continue;
    const name = timeline.names[slices[base + 3] ?? -1] ?? "";
    context.fillStyle = look.inks[kind] || "#000";
    context.fillText(fitted(context, count > 1 ? `${count} \u00d7 ${name}` : name, long - 8), left + 4, y + ROW / 2 - 1);
  }
}

function drawChosen(
  context: CanvasRenderingContext2D, place: Placed, slice: number, window: Window, width: number, theme: Theme,
): void {
  const base = slice * FIELDS;
  const start = place.lane.slices[base] ?? 0;
  const left = xOf(start, window, width);
  const right = xOf(start + (place.lane.slices[base + 1] ?? 0), window, width);
  context.strokeStyle = theme.ink;
  context.lineWidth = 2;
  context.strokeRect(left, place.top + (place.lane.slices[base + 2] ?? 0) * ROW, Math.max(2, right - left), ROW - 2);
  context.lineWidth = 1;
}

/** The text, cut so that it fits; names are long, so the width is estimated before it is measured. */
function fitted(context: CanvasRenderingContext2D, text: string, room: number): string {
  if (text.length * 8 < room || context.measureText(text).width <= room) return text;
  const kept = Math.max(0, Math.floor((room / context.measureText(text).width) * text.length) - 2);
  return kept > 1 ? `${text.slice(0, kept)}\u2026` : "";
}
