import { describe, expect, it } from "vitest";
import { FrameError, decodeViewport, firstRow, queryOf } from "../src/insight/api/viewport";
import { CHUNK, Names } from "../src/insight/api/names";

// Two blocks: profile 1, track 2, depth 0 with two rows that stand for 5 of 9 slices; depth 1 with one row for 1 of 1.
// The server writes the same bytes: tests/unit/insight/test_viewport_frame.py.
const GOLDEN =
  "4153563101000000" + "0200000003000000" +
  "01000000020000000000000002000000" + "0000000000001440" + "0000000000002240" +
  "01000000020000000100000001000000" + "000000000000f03f" + "000000000000f03f" +
  "0000000000000040" + "0000000000002440" + "0000000000000840" + // starts 2, 10, 3
  "0000000000001840" + "0000000000003440" + "0000000000001440" + // ends 6, 20, 5
  "0000000000001040" + "0000000000001c40" + "0000000000000040" + // busy 4, 7, 2
  "0000000000000000" + "0000000000000840" + "0000000000000000" + // slices 0, 3, 0
  "010000000400000001000000" + // counts 1, 4, 1
  "070000000300000000000000" + // names 7, 3, 0
  "020105"; // kinds

function bytes(hex: string): ArrayBuffer {
  return Uint8Array.from(hex.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16)).buffer;
}

describe("a viewport", () => {
  it("is read as it was written", () => {
    const [first, second] = decodeViewport(bytes(GOLDEN));

    expect(first).toMatchObject({ profile: 1, track: 2, depth: 0, slices: 5, inLane: 9 });
    expect([first?.start, first?.end, first?.busy, first?.slice].map((column) => [...(column ?? [])])).toEqual([[2, 10], [6, 20], [4, 7], [0, 3]]);
    expect([first?.count, first?.name, first?.kind].map((column) => [...(column ?? [])])).toEqual([[1, 4], [7, 3], [2, 1]]);
    expect(second).toMatchObject({ depth: 1, slices: 1, inLane: 1 });
    expect([...(second?.start ?? []), ...(second?.kind ?? [])]).toEqual([3, 5]);
  });

  it("that is cut, of another kind or of a later version is refused", () => {
    for (const wrong of ["", GOLDEN.slice(0, 100), GOLDEN.slice(0, -2), `00${GOLDEN.slice(2)}`, GOLDEN.replace("3101", "3102")]) {
      expect(() => decodeViewport(bytes(wrong))).toThrow(FrameError);
    }
  });

  it("is searched by time", () => {
    const [first] = decodeViewport(bytes(GOLDEN));

    expect([0, 6, 6.5, 20, 21].map((time) => first && firstRow(first, time))).toEqual([0, 0, 1, 1, 2]);
  });

  it("is asked for with lanes by profile, in plain numbers", () => {
    expect(queryOf([{ profile: 0, from: -1.5, to: 1e21 / 1e12, tracks: [3, 4] }, { profile: 7, from: 0.0004, to: 10, tracks: [] }]))
      .toBe("0:-1.5:1000000000:3,4;7:0:10:");
  });
});

it("names come in chunks, once, and again only after a failure", async () => {
  const asked: number[] = [];
  let arrived = 0;
  let fail = true;
  const names = new Names((chunk) => {
    asked.push(chunk);
    if (chunk === 1 && fail) return Promise.reject(new Error("gone"));
    return Promise.resolve([`first of ${chunk}`, `second of ${chunk}`]);
  }, () => arrived++);

  const before = [names.of(1), names.of(0), names.of(CHUNK)];
  await Promise.resolve().then(() => undefined).then(() => undefined);
  fail = false;
  const after = [names.of(0), names.of(1), names.of(CHUNK)];

  expect(before).toEqual([null, null, null]);
  expect(after).toEqual(["first of 0", "second of 0", null]);
  expect(asked).toEqual([0, 1, 1]);
  expect(arrived).toBe(1);
});
