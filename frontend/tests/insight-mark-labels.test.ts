import { describe, expect, it } from "vitest";
import { labelsOf } from "../src/insight/timeline/mark-labels";

/** Ten pixels a character. */
const measure = (text: string): number => 10 * text.length;
const texts = (flags: { x: number; name: string }[], width = 1000): [number, string][] =>
  labelsOf(flags, width, measure).map((label) => [label.x, label.text]);

describe("names of marks", () => {
  it("stand beside their flags where there is room", () => {
    expect(texts([{ x: 400, name: "second" }, { x: 100, name: "first" }])).toEqual([[112, "first"], [412, "second"]]);
  });

  it("are cut before the next flag, and left out where only a letter or two would remain", () => {
    // From 112 to 100 + 80 - 4 there are 64 pixels: five characters and the dots.
    expect(texts([{ x: 100, name: "checkpoint" }, { x: 180, name: "b" }])).toEqual([[112, "check\u2026"], [192, "b"]]);
    expect(texts([{ x: 100, name: "checkpoint" }, { x: 140, name: "b" }])).toEqual([[152, "b"]]);
    expect(texts([{ x: 100, name: "one" }, { x: 100, name: "two" }])).toEqual([[112, "two"]]);
  });

  it("stay in the window, over their own flag only", () => {
    expect(texts([{ x: 990, name: "end" }])).toEqual([[966, "end"]]);
    expect(texts([{ x: -300, name: "before" }])).toEqual([[2, "before"]]);
    // From 926, behind the first name, to 996 there are seven characters; from 966 only three.
    expect(texts([{ x: 900, name: "b" }, { x: 980, name: "end of it" }])).toEqual([[912, "b"], [926, "end of\u2026"]]);
    expect(texts([{ x: 940, name: "b" }, { x: 980, name: "end of it" }])).toEqual([[952, "b"]]);
    expect(texts([{ x: 100, name: "in view" }, { x: 1002, name: "beyond" }])[0]).toEqual([112, "in view"]);
  });

  it("never cover each other", () => {
    const flags = [3, 40, 41, 90, 300, 340, 600, 985, 995].map((x) => ({ x, name: `mark at ${x}` }));
    const labels = labelsOf(flags, 1000, measure);

    expect(labels.length).toBeGreaterThan(2);
    labels.slice(1).forEach((label, at) => expect(label.x).toBeGreaterThanOrEqual(labels[at]!.x + labels[at]!.width));
    for (const label of labels) expect(label.x + label.width).toBeLessThanOrEqual(1000);
  });
});
