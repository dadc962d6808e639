import { expect, it } from "vitest";

import { placeOf, scaleOf } from "../src/charts/heat";

it("puts the median in the middle of the scale, half and twice of it at the ends", () => {
  const scale = scaleOf([100, 40, 1000]);

  expect(scale).toEqual([50, 200]);
  expect(placeOf(100, scale)).toBeCloseTo(0.5);
  expect(placeOf(50, scale)).toBe(0);
  expect(placeOf(1000, scale)).toBe(1);
});

it("reaches to the most where it is wide, so that the worst stands out among the bad", () => {
  const scale = scaleOf([10, 20, 1000, 40, 20], true);

  expect(scale).toEqual([10, 1000]);
  expect(placeOf(1000, scale)).toBe(1);
  expect(placeOf(100, scale)).toBeCloseTo(0.5);
});

it("keeps small differences small", () => {
  const scale = scaleOf([100, 101, 102]);

  expect(Math.abs(placeOf(102, scale) - placeOf(100, scale))).toBeLessThan(0.02);
});

it("has a scale where nothing is known", () => {
  expect(scaleOf([])).toEqual([0.5, 2]);
  expect(placeOf(0, [0.5, 2])).toBe(0);
});

it("ends where the values do where it is close, so that a fifth more stands out", () => {
  const scale = scaleOf([10, 10, 10, 12], false, true);

  expect(scale).toEqual([8, 12.5]);
  expect(placeOf(12, scale)).toBeGreaterThan(0.9);
  expect(scaleOf([10, 10, 40], false, true)).toEqual([2.5, 40]);
  expect(scaleOf([], false, true)).toEqual([0.8, 1.25]);
});
