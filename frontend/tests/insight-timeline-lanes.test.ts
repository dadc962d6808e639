import { describe, expect, it } from "vitest";
import type { Profile, Side, Track } from "../src/insight/api/timeline";
import type { Block } from "../src/insight/api/viewport";
import { itemAt, itemsIn, nearestItem } from "../src/insight/timeline/hit";
import { Loader, type Shown, nextJob, stale } from "../src/insight/timeline/loader";
import { added, covered, pieceOf, reached, segmentsOf } from "../src/insight/timeline/pieces";
import { moveTo, placesOf, runShift } from "../src/insight/timeline/places";
import { COUNTER, HEADING, ROW, foldedAtFirst, rowsBetween, treeOf } from "../src/insight/timeline/tree";

function profile(profile_id: number, label: string): Profile {
  const clock = { offset_ns: null, error_ns: null, method: null, reason: null };
  return { profile_id, rank: profile_id, host: "h", label, device_kind: "npu", device_name: null, origin_ns: "0", dur_ns: 1000, clock, place_ns: 10 * profile_id };
}

function track(profile_id: number, number: number, side: Side, label: string, depths = 1, parent = ""): Track {
  return { profile_id, track: number, side, table: "kernel", label, parent, depths, slice_count: 10, unit: null };
}

const PROFILES = [profile(0, "rank 0"), profile(1, "rank 1")];
const TRACKS = [
  track(0, 0, "device", "stream 1"), track(0, 1, "host", "thread 7", 12, "python"), track(0, 2, "counter", "HBM"),
  track(1, 0, "device", "stream 1"), track(1, 1, "overlap", "compute"),
];
const RUN = { run: "a", name: "run", profiles: PROFILES, tracks: TRACKS };
const NOTHING = { folded: new Set<string>(), pinned: [], hidden: new Set<string>(), deep: new Set<string>(), filter: "" };

function block(rows: [start: number, end: number, count?: number][], depth = 0): Block {
  const column = (value: (row: [number, number, number?]) => number): Float64Array => Float64Array.from(rows, value);
  const counts = rows.map((row) => row[2] ?? 1);
  return {
    profile: 0, track: 0, depth, slices: counts.reduce((all, count) => all + count, 0), inLane: 100,
    start: column((row) => row[0]), end: column((row) => row[1]), busy: column((row) => row[1] - row[0]),
    slice: Float64Array.from(rows.keys()), count: Uint32Array.from(counts), name: new Uint32Array(rows.length), kind: new Uint8Array(rows.length),
  };
}

describe("the tree", () => {
  const outline = (choice: Partial<typeof NOTHING>): string[] =>
    treeOf([RUN], { ...NOTHING, ...choice }, (side) => side).rows.map((row) => `${" ".repeat(row.level)}${row.label}`);

  it("holds ranks, and in them what lanes are about", () => {
    expect(outline({})).toEqual([
      "rank 0", " python", "  thread 7", " device", "  stream 1", " counter", "  HBM", "rank 1", " overlap", "  compute", " device", "  stream 1",
    ]);
  });

  it("folds, hides, and shows what a text names with the headings above it", () => {
    expect(outline({ folded: new Set(["a.0", "a.1.device"]) })).toEqual(["rank 0", "rank 1", " overlap", "  compute", " device"]);
    expect(outline({ hidden: new Set(["a.1.0", "a.1.1"]) }).includes("rank 1")).toBe(false);
    expect(outline({ filter: "HBM", folded: new Set(["a.0"]) })).toEqual(["rank 0", " counter", "  HBM"]);
  });

  it("keeps pinned lanes apart, and counts what it leaves out", () => {
    const tree = treeOf([RUN], { ...NOTHING, pinned: ["a.1.0"], hidden: new Set(["a.0.0"]), filter: "stream" }, (side) => side);

    expect(tree.pinned.map((row) => row.label)).toEqual(["rank 1 \u00b7 stream 1"]);
    expect(tree.rows.map((row) => row.label)).toEqual(["rank 1", "device"]);
    expect([tree.hiddenCount, tree.filteredCount]).toEqual([1, 3]);
  });

  it("lays rows without holes; deep lanes show five depths until they are asked for all", () => {
    const { rows, height } = treeOf([RUN], NOTHING, (side) => side);
    const deep = treeOf([RUN], { ...NOTHING, deep: new Set(["a.0.1"]) }, (side) => side);

    expect(rows.every((row, at) => row.top === (at === 0 ? 0 : (rows[at - 1]?.top ?? 0) + (rows[at - 1]?.height ?? 0)))).toBe(true);
    expect(height).toBe(7 * HEADING + 3 * (ROW + 5) + (5 * ROW + 5) + COUNTER + 5);
    expect(deep.height - height).toBe(7 * ROW);
    expect(rowsBetween(rows, HEADING, 2 * HEADING + 1).map((row) => row.label)).toEqual(["python", "thread 7"]);
  });

  it("of two runs begins with the runs; of many ranks two are open at first", () => {
    const two = treeOf([RUN, { ...RUN, run: "b", name: "other" }], { ...NOTHING, folded: new Set(["a"]) }, (side) => side);
    const many = { run: "a", name: "", profiles: [0, 1, 2, 3, 4].map((id) => profile(id, "")), tracks: TRACKS };

    expect(two.rows.slice(0, 3).map((row) => row.label)).toEqual(["run", "other", "rank 0"]);
    expect([...foldedAtFirst([many])]).toEqual(["a.2", "a.3", "a.4", "a.0.counter"]);
  });
});

describe("pieces of a lane", () => {
  const fine = pieceOf({ from: 0, to: 100 }, 1, [block([[0, 10], [20, 30, 4]])]);
  const coarse = pieceOf({ from: 0, to: 1000 }, 10, [block([[0, 1000, 100]])]);

  it("cover a window where they are sharp, or hold every slice", () => {
    expect(covered([coarse], { from: 0, to: 1000 }, 10)).toBe(true);
    expect(covered([coarse], { from: 0, to: 100 }, 1)).toBe(false);
    expect(covered([pieceOf({ from: 0, to: 100 }, 50, [block([[0, 10]])])], { from: 5, to: 9 }, 0.01)).toBe(true);
  });

  it("share a window: the sharp one first, the coarse one beside it", () => {
    const parts = segmentsOf([coarse, fine], { from: 50, to: 150 }, 1);

    expect(parts.map((part) => [part.from, part.to, part.piece === fine])).toEqual([[50, 100, true], [100, 150, false]]);
  });

  it("reach a window when they know all of it, however coarsely", () => {
    const next = pieceOf({ from: 100, to: 130 }, 1, []);

    expect(reached([], { from: 0, to: 1 })).toBe(false);
    expect(reached([coarse], { from: 400, to: 401 })).toBe(true);
    expect(reached([next, fine], { from: 50, to: 130 })).toBe(true);
    expect(reached([next, fine], { from: 50, to: 131 })).toBe(false);
    expect(reached([next], { from: 90, to: 110 })).toBe(false);
  });

  it("replace what they make needless, and the whole of the lane stays", () => {
    const shifted = [1, 2, 3, 4].map((by) => pieceOf({ from: by, to: by + 50 }, 0.1, fine.blocks));
    const kept = shifted.reduce((pieces, piece) => added(pieces, piece), [coarse]);

    expect(kept).toHaveLength(3);
    expect(kept).toContain(coarse);
    expect(added([fine], pieceOf({ from: 0, to: 200 }, 1, fine.blocks))).toHaveLength(1);
  });

  it("are hit within a few pixels, and listed by start", () => {
    const pieces = [pieceOf({ from: 0, to: 100 }, 1, [block([[10, 20], [40, 41]]), block([[12, 14]], 1)])];
    const window = { from: 0, to: 100 };

    expect(itemAt(pieces, 0, 15, window, 1)?.slice).toBe(0);
    expect(itemAt(pieces, 0, 43, window, 1)?.slice).toBe(1);
    expect(itemAt(pieces, 0, 30, window, 1)).toBeNull();
    expect(itemAt(pieces, 1, 13, window, 1)?.depth).toBe(1);
    expect(itemsIn(pieces, window, 1).map((item) => item.start)).toEqual([10, 12, 40]);
    expect(nearestItem(itemsIn(pieces, window, 1), 34)?.slice).toBe(1);
  });
});

describe("the loader", () => {
  const lane: Shown = { id: "a.0.0", run: "a", profile: 0, track: 0, place: 1000, dur: 10_000 };
  const settled = async (): Promise<void> => {
    for (let turn = 0; turn < 20; turn++) await Promise.resolve();
  };

  it("asks for the window, then for one on each side, then for the whole, and then for nothing", async () => {
    const asked: string[] = [];
    const loader = new Loader((run, wanted, pixels) => {
      asked.push(`${run} ${wanted[0]?.from}-${wanted[0]?.to} ${pixels}`);
      return Promise.resolve([block([[0, 10_000, 3]])]);
    }, () => undefined, () => undefined);

    loader.want({ span: { from: 5000, to: 6000 }, width: 100, shown: [lane] });
    await settled();

    expect(asked).toEqual(["a 4000-5000 100", "a 3000-6000 300", "a 0-10000 1000"]);
    expect(loader.pieces("a.0.0").length).toBeGreaterThan(0);
  });

  it("asks for nothing where all slices are known, nor beside the capture", async () => {
    let requests = 0;
    const loader = new Loader(() => {
      requests++;
      return Promise.resolve([block([[0, 10]])]);
    }, () => undefined, () => undefined);
    const view = { width: 100, shown: [lane] };

    loader.want({ ...view, span: { from: 900, to: 11_100 } });
    await settled();
    const before = requests;
    loader.want({ ...view, span: { from: 2000, to: 2010 } });
    await settled();
    loader.want({ ...view, span: { from: 20_000, to: 20_010 } });
    await settled();

    expect(before).toBe(1);
    expect(requests).toBe(before);
  });

  it("gives up a request that shows nothing of the window any more", async () => {
    const given: AbortSignal[] = [];
    const loader = new Loader((_run, _wanted, _pixels, signal) => {
      given.push(signal);
      return new Promise(() => undefined);
    }, () => undefined, () => undefined);

    loader.want({ span: { from: 1000, to: 2000 }, width: 100, shown: [lane] });
    loader.want({ span: { from: 1100, to: 2100 }, width: 100, shown: [lane] });
    loader.want({ span: { from: 8000, to: 9000 }, width: 100, shown: [lane] });
    await settled();

    expect(given.map((signal) => signal.aborted)).toEqual([true, false]);
    expect(stale({ from: 0, to: 1000, pixels: 100 }, { span: { from: 0, to: 100 }, width: 100, shown: [] })).toBe(true);
    expect(stale({ from: 0, to: 1000, pixels: 100 }, { span: { from: 0, to: 500 }, width: 100, shown: [] })).toBe(false);
  });

  it("says that it failed, and asks no more until it is told to", async () => {
    let requests = 0;
    const failures: unknown[] = [];
    const loader = new Loader(() => {
      requests++;
      return Promise.reject(new Error("gone"));
    }, () => undefined, (error) => failures.push(error));

    loader.want({ span: { from: 1000, to: 2000 }, width: 100, shown: [lane] });
    await settled();
    loader.want({ span: { from: 1000, to: 2001 }, width: 100, shown: [lane] });
    await settled();
    const before = requests;
    loader.retry();
    await settled();

    expect([before, requests, failures.length]).toEqual([1, 2, 2]);
  });

  it("has nothing to do without lanes or width", () => {
    expect(nextJob({ span: { from: 0, to: 10 }, width: 0, shown: [lane] }, () => [])).toBeNull();
    expect(nextJob({ span: { from: 0, to: 10 }, width: 100, shown: [] }, () => [])).toBeNull();
  });
});

describe("places of ranks", () => {
  it("are those of the server unless an alignment says otherwise", () => {
    const aligned = [{ profile_id: 0, place_ns: null, error_ns: null, reason: "no match" }, { profile_id: 1, place_ns: 77, error_ns: 5, reason: null }];

    expect([...placesOf(PROFILES, null)]).toEqual([[0, 0], [1, 10]]);
    expect([...placesOf(PROFILES, aligned)]).toEqual([[0, 0], [1, 77]]);
  });

  it("move so that beginnings or ends meet", () => {
    expect(moveTo("left", { from: 100, to: 150 }, { from: 120, to: 190 })).toBe(-20);
    expect(moveTo("right", { from: 100, to: 150 }, { from: 120, to: 190 })).toBe(-40);
  });

  it("of a second run meet those of the first at the first step that both have", () => {
    const steps = (numbers: [step: number | null, start: number][]) =>
      numbers.map(([step, start], step_id) => ({ profile_id: 0, step_id, step, start, dur: 1 }));
    const places = new Map([[0, 1000]]);

    expect(runShift(steps([[1, 0], [2, 50]]), places, steps([[2, 7], [3, 9]]), new Map([[0, 0]]))).toEqual({ by: 1043, step: 2 });
    expect(runShift(steps([[1, 0]]), places, steps([[5, 7]]), places)).toEqual({ by: -7, step: null });
    expect(runShift(steps([[1, 0]]), places, [], places)).toBeNull();
  });
});
