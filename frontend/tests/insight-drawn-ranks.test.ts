import { expect, test } from "vitest";
import { BARS, drawnRanks } from "../src/insight/pages/overview/drawn-ranks";

test("few ranks are all drawn", () => {
  const rows = Array.from({ length: BARS }, (_, rank) => ({ rank, length: 1 }));

  expect(drawnRanks(rows, (row) => row.length)).toBe(rows);
});

test("of many those with the longest steps are drawn, in their order", () => {
  const rows = Array.from({ length: 1024 }, (_, rank) => ({ rank, length: rank % 16 }));

  const drawn = drawnRanks(rows, (row) => row.length).map((row) => row.rank);

  expect(drawn).toEqual(Array.from({ length: BARS }, (_, at) => 16 * at + 15));
});
