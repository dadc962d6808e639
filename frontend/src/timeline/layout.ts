/** Where lanes and times lie on the canvas. */

import type { LaneData } from "../report/data";

export const ROW = 17;
export const AXIS = 24;
export const LABEL = 190;
const LANE_GAP = 7;
const GROUP = 24;

export interface Placed {
  lane: LaneData;
  top: number;
  height: number;
  /** Top of the heading of its group, where it is the first of it. */
  heading: number | null;
}

export interface Window {
  from: number;
  to: number;
}

export function place(lanes: LaneData[]): { placed: Placed[]; height: number } {
  let top = AXIS;
  let group: string | null = null;
  const placed = lanes.map((lane): Placed => {
    let heading: number | null = null;
    if (lane.group !== group) {
      heading = top;
      group = lane.group;
      top += GROUP;
    }
    const height = lane.depths * ROW + LANE_GAP;
    const made = { lane, top, height, heading };
    top += height;
    return made;
  });
  return { placed, height: top + 4 };
}

export function xOf(time: number, window: Window, width: number): number {
  return LABEL + ((time - window.from) / (window.to - window.from)) * (width - LABEL);
}

export function timeOf(x: number, window: Window, width: number): number {
  return window.from + ((x - LABEL) / (width - LABEL)) * (window.to - window.from);
}

/** A window changed about a time, kept inside the whole and no shorter than a microsecond. */
export function zoomed(window: Window, about: number, factor: number, whole: number): Window {
  const length = Math.min(whole, Math.max(1000, (window.to - window.from) * factor));
  const share = (about - window.from) / (window.to - window.from);
  return moved({ from: about - share * length, to: about + (1 - share) * length }, 0, whole);
}

export function moved(window: Window, by: number, whole: number): Window {
  const length = window.to - window.from;
  const from = Math.min(Math.max(0, window.from + by), Math.max(0, whole - length));
  return { from, to: from + length };
}
