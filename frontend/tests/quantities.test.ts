import { describe, expect, it } from "vitest";

import { axisText, quantityOf, quantityText, ticks } from "../src/text/quantities";

describe("quantities as text", () => {
  it.each([
    [8_870_000, "ns", "8.87 ms"],
    [137_000_000, "ns", "137 ms"],
    [999, "ns", "999 ns"],
    [-1500, "ns", "-1.50 us"],
    [1_245_540_515, "bytes", "1.16 GiB"],
    [512, "bytes", "512 B"],
    [18_400_000_000, "bytes_per_s", "18.4 GB/s"],
    [0.035, "ratio", "3.5 %"],
    [0.0001, "ratio", "<0.1 %"],
    [0.997, "ratio", ">99 %"],
    [1, "ratio", "100 %"],
    [12345, "count", "12,345"],
  ] as const)("writes %d %s as %s", (value, unit, text) => {
    expect(quantityText(value, unit)).toBe(text);
  });

  it("writes what was not collected as a dash, never as zero", () => {
    expect(quantityText(null, "ns")).toBe("-");
  });
});

describe("quantities from text", () => {
  it.each([
    ["8.87 ms", 8_870_000],
    ["198 ms (90 %)", 198_000_000],
    ["1.50 GiB", 1.5 * 2 ** 30],
    ["12,345", 12345],
    ["3.5 %", 0.035],
    ["-2 us", -2000],
    ["~1.20 s", 1_200_000_000],
  ])("reads %s", (text, value) => {
    expect(quantityOf(text)).toBeCloseTo(value, 6);
  });

  it.each(["-", "", "MatMul", "aten::mm", "0 -> 1"])("finds no quantity of a unit in %s", (text) => {
    expect([null, 0]).toContain(quantityOf(text));
  });
});

describe("ticks", () => {
  it("are round", () => {
    expect(ticks(102, "ns")).toEqual([0, 50, 100]);
    expect(ticks(3.5 * 2 ** 30, "bytes", 4)).toEqual([0, 2 ** 30, 2 * 2 ** 30, 3 * 2 ** 30]);
    expect(ticks(0, "ns")).toEqual([0]);
  });
});

describe("texts of axes", () => {
  it.each([
    [0, "ns", "0"],
    [50_000_000, "ns", "50 ms"],
    [1_500_000, "ns", "1.5 ms"],
    [100_000_000, "ns", "100 ms"],
    [1_250, "ns", "1.25 us"],
    [2 ** 30, "bytes", "1 GiB"],
    [700, "ns", "700 ns"],
  ] as const)("writes %d %s as %s", (value, unit, text) => {
    expect(axisText(value, unit)).toBe(text);
  });
});
