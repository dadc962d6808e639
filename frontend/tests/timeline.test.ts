import { describe, expect, it } from "vitest";

import type { LaneData, TimelineData } from "../src/report/data";
import { LABEL, moved, place, timeOf, xOf, zoomed } from "../src/timeline/layout";
import { sliceAt, sliceCount, within } from "../src/timeline/model";

// start, duration, depth, name, kind, count, busy
const lane: LaneData = {
  group: "rank 0", label: "stream 7", depths: 2, total: 12,
  slices: [0, 100, 0, 0, 0, 1, 100, 100, 50, 0, 1, 1, 10, 25, 120, 10, 1, 0, 0, 1, 10],
};
const timeline: TimelineData = { dur_ns: 1000, names: ["MatMul", "Add"], kinds: ["compute", "wait"], kindLabels: ["", ""], lanes: [lane] };

describe("slices", () => {
  it("are unpacked as they were packed", () => {
    expect(sliceCount(lane)).toBe(3);
    expect(sliceAt(timeline, lane, 1)).toEqual({ start: 100, dur: 50, depth: 0, name: "Add", kind: 1, count: 10, busy: 25 });
    expect(sliceAt(timeline, lane, 3)).toBeNull();
  });

  it("say how many stand in a window, and what share of it they ran", () => {
    expect(within(lane, 0, 1000)).toEqual({ count: 12, busy: 125 });
    expect(within(lane, 50, 125)).toEqual({ count: 12, busy: 50 + 12.5 });
    expect(within(lane, 500, 1000)).toEqual({ count: 0, busy: 0 });
  });
});

describe("windows", () => {
  it("keep the time under the pointer where it is", () => {
    const near = zoomed({ from: 0, to: 100_000 }, 25_000, 0.5, 100_000);

    expect(near).toEqual({ from: 12_500, to: 62_500 });
    expect(xOf(25_000, near, 1190)).toBeCloseTo(xOf(25_000, { from: 0, to: 100_000 }, 1190));
  });

  it("never leave the step and never get shorter than a microsecond", () => {
    expect(zoomed({ from: 0, to: 100_000 }, 0, 0.0001, 100_000)).toEqual({ from: 0, to: 1000 });
    expect(zoomed({ from: 0, to: 1000 }, 500, 1e9, 100_000)).toEqual({ from: 0, to: 100_000 });
    expect(moved({ from: 0, to: 1000 }, -500, 100_000)).toEqual({ from: 0, to: 1000 });
    expect(moved({ from: 99_000, to: 100_000 }, 500, 100_000)).toEqual({ from: 99_000, to: 100_000 });
  });

  it("map times to places and back", () => {
    const window = { from: 100, to: 300 };

    expect(xOf(100, window, 1190)).toBe(LABEL);
    expect(timeOf(xOf(250, window, 1190), window, 1190)).toBeCloseTo(250);
  });
});

it("gives each group one heading, and every lane its rows", () => {
  const { placed } = place([lane, { ...lane, label: "stream 9" }, { ...lane, group: "rank 1" }]);

  expect(placed.map((one) => one.heading !== null)).toEqual([true, false, true]);
  expect(placed.every((one, at) => at === 0 || one.top >= (placed[at - 1]?.top ?? 0) + (placed[at - 1]?.height ?? 0))).toBe(true);
});
