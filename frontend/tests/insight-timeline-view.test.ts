import { describe, expect, it } from "vitest";
import { axisOf, exactText, stepOf } from "../src/insight/timeline/axis";
import { readLink, writeLink } from "../src/insight/timeline/link";
import { SHORTEST, all, framed, inside, lengthOf, moved, showing, timeOf, within, xOf, zoomed } from "../src/insight/timeline/scale";
import { Undo } from "../src/insight/timeline/undo";

const WHOLE = { from: 0, to: 1_000_000 };

describe("the window", () => {
  it("keeps the time under the pointer where it is", () => {
    const before = { from: 100_000, to: 300_000 };
    const near = zoomed(before, 150_000, 0.5, WHOLE);

    expect(near).toEqual({ from: 125_000, to: 225_000 });
    expect(xOf(150_000, near, 800)).toBe(xOf(150_000, before, 800));
    expect(timeOf(200, near, 800)).toBe(150_000);
  });

  it("gets no shorter than can be drawn and hardly longer than what was captured", () => {
    expect(lengthOf(zoomed({ from: 0, to: 30 }, 10, 0.001, WHOLE))).toBe(SHORTEST);
    expect(lengthOf(zoomed({ from: 0, to: 1000 }, 500, 1e9, WHOLE))).toBeCloseTo(1_100_000);
  });

  it("moves until half of it is empty", () => {
    expect(moved({ from: 0, to: 1000 }, -9e9, WHOLE)).toEqual({ from: -500, to: 500 });
    expect(moved({ from: 0, to: 1000 }, 9e9, WHOLE)).toEqual({ from: 999_500, to: 1_000_500 });
  });

  it("frames a slice with air around it, and shows it without a change of length where it can", () => {
    expect(framed(1000, 2000, WHOLE)).toEqual({ from: 850, to: 2150 });
    expect(framed(500, 500, WHOLE, 0).to).toBe(505);
    expect(showing({ from: 0, to: 1000 }, 400, 500, WHOLE)).toEqual({ from: 0, to: 1000 });
    expect(showing({ from: 0, to: 1000 }, 5000, 5100, WHOLE)).toEqual({ from: 4550, to: 5550 });
    expect(lengthOf(showing({ from: 0, to: 1000 }, 5000, 9000, WHOLE))).toBe(4000 * 1.3);
    expect(all(WHOLE)).toEqual({ from: -10_000, to: 1_010_000 });
  });

  it("that a link asks for stays near the run, however absurd it is", () => {
    expect(within({ from: 200, to: 900 }, WHOLE)).toEqual({ from: 200, to: 900 });
    expect(within({ from: 1e18, to: 1e18 + 2048 }, WHOLE)).toEqual({ from: 998_976, to: 1_001_024 });
    expect(within({ from: -1e18, to: -1e18 + 2048 }, WHOLE)).toEqual({ from: -1024, to: 1024 });
    expect(within({ from: -1e300, to: 1e300 }, WHOLE)).toEqual(all(WHOLE));
    expect(within({ from: -Number.MAX_VALUE, to: Number.MAX_VALUE }, WHOLE)).toEqual(all(WHOLE));
    expect(within({ from: 500, to: 500.001 }, WHOLE)).toEqual({ from: 490.0005, to: 510.0005 });
    expect(within({ from: 0, to: 9e9 }, { from: 0, to: 0 })).toEqual(all({ from: 0, to: 0 }));
  });

  it("has ranges where something was captured", () => {
    expect(inside({ from: -1e300, to: 1e300 }, WHOLE)).toEqual(WHOLE);
    expect(inside({ from: 5, to: 9 }, WHOLE)).toEqual({ from: 5, to: 9 });
    expect(inside({ from: 2e6, to: 3e6 }, WHOLE)).toBeNull();
  });
});

describe("the axis", () => {
  it("has round steps", () => {
    expect([stepOf(1000, 10), stepOf(1001, 10), stepOf(3, 10), stepOf(4_100, 2)]).toEqual([100, 200, 1, 5000]);
    expect(axisOf({ from: -50, to: 320 }, 440).ticks).toEqual([
      { time: 0, text: "0" }, { time: 100, text: "100 ns" }, { time: 200, text: "200 ns" }, { time: 300, text: "300 ns" },
    ]);
  });

  it("counts from a stated time where labels would be long", () => {
    const axis = axisOf({ from: 5_000_000_120, to: 5_000_000_520 }, 440);

    expect(axis.base).toBe(5_000_000_000);
    expect(axis.ticks.map((tick) => tick.text)).toEqual(["+200 ns", "+300 ns", "+400 ns", "+500 ns"]);
    expect(exactText(axis.base + 1_234)).toBe("5.000 001 234 s");
    expect(exactText(-20)).toBe("-0.000 000 020 s");
  });
});

describe("the address", () => {
  const full = {
    t: "-1.5:2000", slice: "b:1:2:0:17", range: "5:9", profile: "1", pin: "a.0.1,a.0.host.x%2Cy", hide: "a.1.2", fold: "a.0",
    lanes: "stream", align: "steps", move: "a.1:-250", compare: "1", text: "MatMul",
  };

  it("is written as it was read", () => {
    const state = readLink(full, "a");

    expect(state.chosen).toEqual({ run: "b", profile: 1, track: 2, depth: 0, slice: 17 });
    expect(state.pinned).toEqual(["a.0.1", "a.0.host.x,y"]);
    expect(state.offsets).toEqual({ "a.1": -250 });
    expect(writeLink(state)).toEqual(full);
  });

  it("of other pages names a row of a table, or a slice of the only run", () => {
    expect(readLink({ find: "kernel:3:12345678901234567890" }, "a").find).toEqual({ table: "kernel", profile: 3, key: "12345678901234567890" });
    expect(readLink({ slice: "0:1:2:3" }, "a").chosen).toEqual({ run: "a", profile: 0, track: 1, depth: 2, slice: 3 });
  });

  it("that makes no sense leaves everything as it is at first", () => {
    const wrong = readLink({ t: "9:5", slice: "a:b", range: "x:y", move: "a", find: "kernel:1", profile: "-1" }, "a");

    expect(writeLink(wrong)).toEqual({});
    expect(wrong.find).toBeNull();
  });

  it("tells nothing folded from nothing said", () => {
    expect(writeLink({ ...readLink({}, "a"), folded: [] })).toEqual({ fold: "-" });
    expect(readLink({ fold: "-" }, "a").folded).toEqual([]);
    expect(readLink({}, "a").folded).toBeNull();
  });
});

it("goes back to windows that were left; moves in one go are one", () => {
  const undo = new Undo();
  undo.leave({ from: 0, to: 1 }, 0);
  undo.leave({ from: 0, to: 2 }, 100);
  undo.leave({ from: 0, to: 3 }, 300);
  undo.leave({ from: 0, to: 4 }, 2000);

  expect([undo.back(), undo.back(), undo.back()]).toEqual([{ from: 0, to: 4 }, { from: 0, to: 1 }, null]);
});
