/** The timeline of one step: keys and mouse move through it, what is chosen is said in words. */

import type { Mounted } from "../charts/mount";
import { themeOf } from "../charts/theme";
import { tooltipElement } from "../charts/tooltip";
import type { TimelineData } from "../report/data";
import { percentText, quantityText } from "../text/quantities";
import { type Chosen, draw } from "./draw";
import { LABEL, ROW, type Window, moved, place, timeOf, xOf, zoomed } from "./layout";
import { type Slice, sliceAt, sliceCount, within } from "./model";

const ZOOM = 1.5;
const PAN = 0.2;

export function mountTimeline(box: HTMLElement, timeline: TimelineData, texts: (name: string) => string): Mounted {
  const { placed, height } = place(timeline.lanes);
  const whole = Math.max(1, timeline.dur_ns);
  const canvas = document.createElement("canvas");
  canvas.tabIndex = 0;
  canvas.setAttribute("role", "application");
  canvas.setAttribute("aria-label", `${texts("timeline.title")}. ${texts("timeline.keys")}`);
  const said = document.createElement("p");
  said.className = "said";
  said.setAttribute("aria-live", "polite");
  const tip = document.createElement("div");
  tip.className = "floating";
  tip.hidden = true;
  const keys = document.createElement("p");
  keys.className = "note";
  keys.textContent = texts("timeline.keys");
  box.replaceChildren(keys, canvas, said, tip);

  let window: Window = { from: 0, to: whole };
  let chosen: Chosen | null = null;
  let width = 0;
  let pending = false;
  let pointer = LABEL;

  const redraw = (): void => {
    if (pending) return;
    pending = true;
    requestAnimationFrame(() => {
      pending = false;
      const context = canvas.getContext("2d");
      if (!context || width === 0) return;
      const ratio = devicePixelRatio || 1;
      context.setTransform(ratio, 0, 0, ratio, 0, 0);
      draw(context, timeline, placed, window, { width, height }, themeOf(box), chosen);
    });
  };
  const resize = (): void => {
    width = Math.max(LABEL + 120, box.clientWidth);
    const ratio = devicePixelRatio || 1;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
    redraw();
  };
  const show = (next: Window): void => {
    window = next;
    say();
    redraw();
  };
  const say = (): void => {
    const place = chosen ? placed[chosen.lane] : undefined;
    const slice = chosen && place ? sliceAt(timeline, place.lane, chosen.slice) : null;
    if (place && slice) said.textContent = sentence(place.lane.group, place.lane.label, slice);
    else said.textContent = `${quantityText(window.from, "ns")} - ${quantityText(window.to, "ns")}`;
  };
  const sentence = (group: string, lane: string, slice: Slice): string =>
    [group, lane, slice.count > 1 ? `${slice.count} \u00d7 ${slice.name}` : slice.name, quantityText(slice.dur, "ns")].join(" \u00b7 ");

  const found = (x: number, y: number): Chosen | null => {
    const lane = placed.findIndex((one) => y >= one.top && y < one.top + one.height);
    const at = placed[lane];
    if (!at || x < LABEL) return null;
    const depth = Math.floor((y - at.top) / ROW);
    let best: Chosen | null = null;
    let nearest = 3;
    for (let slice = 0; slice < sliceCount(at.lane); slice++) {
      const one = sliceAt(timeline, at.lane, slice);
      if (!one || one.depth !== depth) continue;
      const left = xOf(one.start, window, width);
      const distance = Math.max(left - x, x - Math.max(left + 1, xOf(one.start + one.dur, window, width)), 0);
      if (distance < nearest) {
        nearest = distance;
        best = { lane, slice };
      }
    }
    return best;
  };

  const hover = (event: PointerEvent): void => {
    pointer = event.offsetX;
    const at = found(event.offsetX, event.offsetY);
    const lane = at ? placed[at.lane]?.lane : undefined;
    const slice = at && lane ? sliceAt(timeline, lane, at.slice) : null;
    tip.hidden = !slice;
    if (!slice || !lane) return;
    const kind = timeline.kinds[slice.kind] ?? "";
    const rows = [
      { kind, label: timeline.kindLabels[slice.kind] ?? "", value: quantityText(slice.dur, "ns") },
      { label: texts("timeline.start"), value: quantityText(slice.start, "ns") },
    ];
    if (slice.count > 1) {
      rows.push({ label: texts("timeline.slices"), value: quantityText(slice.count, "count") });
      rows.push({ label: texts("timeline.busy"), value: percentText(slice.dur > 0 ? slice.busy / slice.dur : 0) });
    }
    tip.replaceChildren(tooltipElement(slice.name, rows));
    tip.style.left = `${Math.min(event.offsetX + 14, Math.max(0, width - 300))}px`;
    tip.style.top = `${canvas.offsetTop + event.offsetY + 16}px`;
  };

  let dragged: { x: number; window: Window } | null = null;
  canvas.addEventListener("pointerdown", (event) => {
    dragged = { x: event.offsetX, window };
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!dragged) return hover(event);
    const by = ((dragged.x - event.offsetX) / (width - LABEL)) * (dragged.window.to - dragged.window.from);
    show(moved(dragged.window, by, whole));
  });
  canvas.addEventListener("pointerup", (event) => {
    if (dragged && Math.abs(dragged.x - event.offsetX) < 3) {
      chosen = found(event.offsetX, event.offsetY);
      say();
      redraw();
    }
    dragged = null;
  });
  canvas.addEventListener("pointerleave", () => {
    tip.hidden = true;
  });
  canvas.addEventListener(
    "wheel",
    (event) => {
      if (!event.ctrlKey && !event.metaKey) return; // the page scrolls
      event.preventDefault();
      show(zoomed(window, timeOf(event.offsetX, window, width), event.deltaY < 0 ? 1 / ZOOM : ZOOM, whole));
    },
    { passive: false },
  );
  const step = (by: number): void => {
    const lane = chosen?.lane ?? placed.findIndex((one) => sliceCount(one.lane) > 0);
    const at = placed[lane];
    if (!at) return;
    const next = Math.min(Math.max(0, (chosen?.slice ?? -1) + by), sliceCount(at.lane) - 1);
    chosen = { lane, slice: next };
    const slice = sliceAt(timeline, at.lane, next);
    if (slice && (slice.start > window.to || slice.start + slice.dur < window.from)) {
      window = moved(window, slice.start - (window.from + window.to) / 2, whole);
    }
    say();
    redraw();
  };
  const changeLane = (by: number): void => {
    const lane = Math.min(Math.max(0, (chosen?.lane ?? -by) + by), placed.length - 1);
    const at = placed[lane];
    if (!at) return;
    const middle = (window.from + window.to) / 2;
    let slice = 0;
    while (slice + 1 < sliceCount(at.lane) && (sliceAt(timeline, at.lane, slice)?.start ?? 0) < middle) slice++;
    chosen = { lane, slice };
    say();
    const inside = within(at.lane, window.from, window.to);
    said.textContent += ` \u00b7 ${texts("timeline.slices")} ${inside.count}`;
    redraw();
  };
  const frame = (): void => {
    const lane = chosen ? placed[chosen.lane]?.lane : undefined;
    const slice = chosen && lane ? sliceAt(timeline, lane, chosen.slice) : null;
    if (slice) show(zoomed({ from: slice.start, to: slice.start + Math.max(1, slice.dur) }, slice.start + slice.dur / 2, 1.25, whole));
  };
  const acts: Record<string, () => void> = {
    w: () => show(zoomed(window, timeOf(Math.max(LABEL, pointer), window, width), 1 / ZOOM, whole)),
    s: () => show(zoomed(window, timeOf(Math.max(LABEL, pointer), window, width), ZOOM, whole)),
    a: () => show(moved(window, -PAN * (window.to - window.from), whole)),
    d: () => show(moved(window, PAN * (window.to - window.from), whole)),
    "0": () => show({ from: 0, to: whole }),
    f: frame,
    "[": () => step(-1),
    "]": () => step(1),
    ArrowLeft: () => step(-1),
    ArrowRight: () => step(1),
    ArrowUp: () => changeLane(-1),
    ArrowDown: () => changeLane(1),
  };
  canvas.addEventListener("keydown", (event) => {
    const act = event.ctrlKey || event.metaKey || event.altKey ? undefined : acts[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });
  resize();
  return { redraw, resize };
}
