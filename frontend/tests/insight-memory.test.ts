import { describe, expect, it } from "vitest";
import { neighbour, shortName } from "../src/insight/controls/nested";
import { blockQuery } from "../src/insight/pages/memory/block-query";

const part = (depth: number, offset: number, size: number) => ({ name: "", depth, offset, size });
// main 0..10 holds a 0..6 and b 6..10; a holds c 0..6.
const PARTS = [part(0, 0, 10), part(1, 0, 6), part(1, 6, 4), part(2, 0, 6)];

describe("keys in nested parts", () => {
  it.each([
    [0, "ArrowDown", 1], [1, "ArrowRight", 2], [2, "ArrowLeft", 1], [1, "ArrowDown", 3],
    [2, "ArrowUp", 0], [2, "ArrowDown", 2], [0, "ArrowUp", 0], [2, "ArrowRight", 2], [0, "x", 0],
  ])("from %i by %s to %i", (at, key, to) => expect(neighbour(PARTS, at, key)).toBe(to));
});

describe("frames in little room", () => {
  it("keep function, file and line", () => expect(shortName("/a/b/net.py(12): forward")).toBe("forward net.py:12"));
  it("are left alone where they are none", () => expect(shortName("aten::mm")).toBe("aten::mm"));
});


describe("blocks of a range", () => {
  it("are held in it at some time", () => expect(blockQuery("alive", 1, 2, 9)).toEqual({ alive_from_ns: 1, alive_to_ns: 2 }));
  it("are held at a moment that is a range of no length", () => expect(blockQuery("moment", 1, 2, 9)).toEqual({ alive_from_ns: 9, alive_to_ns: 9 }));
  it("came and went in it", () => expect(blockQuery("inside", 1, 2, 9)).toEqual({ made_from_ns: 1, made_to_ns: 2, freed_from_ns: 1, freed_to_ns: 2 }));
  it("were released at all where the range is open", () => {
    expect(blockQuery("freed", null, null, null)["freed_to_ns"]).toBe(Number.MAX_SAFE_INTEGER);
    expect(blockQuery("inside", null, null, null)["freed_to_ns"]).toBe(Number.MAX_SAFE_INTEGER);
  });
});
