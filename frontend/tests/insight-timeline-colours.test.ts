import { describe, expect, it } from "vitest";
import { csvText } from "../src/insight/timeline/csv";
import { ACTIONS, KEYS, isFast } from "../src/insight/timeline/keys";
import { Palette, changeColour, contrast, inkOn } from "../src/insight/timeline/palette";

const KINDS = ["compute", "communication", "exposed_communication", "overlapped_communication", "free", "copy", "forward", "operator", "data"];

describe("colours", () => {
  it("mean the same everywhere, and names on them can be read", () => {
    for (const dark of [false, true]) {
      const palette = new Palette(KINDS, dark);
      for (let kind = 0; kind < KINDS.length; kind++) {
        for (let name = 0; name < 40; name++) {
          const paint = palette.paint(palette.look(kind, name));
          expect(contrast(paint.fill, paint.ink)).toBeGreaterThanOrEqual(4.5);
        }
      }
    }
    const palette = new Palette(KINDS, false);
    expect(palette.paint(2 * 5).fill).toBe("#d55e00");
    expect(palette.paint(3 * 5).fill).toBe("#56b4e9");
  });

  it("are not all there is to tell the parts of a step: each has a hatch of its own", () => {
    const palette = new Palette(KINDS, false);

    expect([0, 2, 3, 4].map((kind) => palette.pattern(kind))).toEqual(["none", "back", "dots", "diagonal"]);
  });

  it("of a difference go from blue to orange, and are grey where nothing is known", () => {
    expect(changeColour(1, false)).toBe("#d55e00");
    expect(changeColour(-1, false)).toBe("#0072b2");
    expect(changeColour(null, false)).toBe("#c3c8ce");
    expect(inkOn("#f0e442")).toBe("#000000");
  });
});

it("no key does two things", () => {
  const keys = ACTIONS.flatMap((action) => KEYS[action]);

  expect(new Set(keys).size).toBe(keys.length);
  expect([isFast({ key: "W", shiftKey: true }), isFast({ key: "ArrowLeft", shiftKey: true }), isFast({ key: "+", shiftKey: true })]).toEqual([true, true, false]);
});

it("files of tables hold no formula", () => {
  expect(csvText(["name", "ns"], [["=1+1", 5], ['a "b", c', null]])).toBe('name,ns\r\n\'=1+1,5\r\n"a ""b"", c",\r\n');
});
