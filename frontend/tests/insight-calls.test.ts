import { describe, expect, it } from "vitest";
import type { CallPath } from "../src/insight/api/types";
import { changeText, tint } from "../src/insight/pages/compare/call-colour";
import { placed } from "../src/insight/controls/call-layout";

const path = (id: number, parent: number, total_ns: number): CallPath => ({
  id, parent, depth: 0, name: String(id), calls: 1, total_ns, self_ns: 0, device_ns: null, device_self_ns: null, longest: { profile_id: 0, table: "span", key: "0", dur_ns: 0 },
});
const lie = (paths: CallPath[], whole: number) => placed(paths, whole, (one) => one.total_ns).map((part) => [part.name, part.depth, part.offset, part.size]);

describe("call paths in an icicle", () => {
  it("lie within the one that calls them, the longest first", () =>
    expect(lie([path(0, -1, 10), path(1, 0, 2), path(2, 0, 5), path(3, -1, 20)], 35)).toEqual([
      ["3", 0, 0, 20], ["0", 0, 20, 10], ["2", 1, 20, 5], ["1", 1, 25, 2],
    ]));
  it("share the width where they cross", () =>
    expect(lie([path(0, -1, 12), path(1, 0, 12), path(2, 0, 4)], 12)).toEqual([["0", 0, 0, 12], ["1", 1, 0, 9], ["2", 1, 9, 3]]));
});

describe("colours of a change", () => {
  it.each([[10, 10, "\u00b1 0 %"], [10, 11, "+10 %"], [10, 5, "-50 %"], [0, 0, "\u00b1 0 %"], [0, 5, "new"], [5, 0, "gone"]])("%i to %i is %s", (before, after, text) => expect(changeText(before, after, { fresh: "new", gone: "gone" })).toBe(text));
  it("are orange for more, blue for less, and full from a change of 30 %", () => {
    expect([tint(10, 13), tint(10, 30)].map((one) => one.background)).toEqual(Array(2).fill("color-mix(in srgb, #d55e00 50%, var(--card))"));
    expect(tint(10, 7).background).toBe("color-mix(in srgb, #0072b2 50%, var(--card))");
    expect(tint(0, 5).background).toBe(tint(10, 13).background);
  });
});
